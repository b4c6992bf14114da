//! What a tick reads: the store's figures, booking's figures, and who is at each rank of the line.

use std::sync::Arc;

use fairgate_rules::entry_history::AGES_S;
use fairgate_rules::limits::PaceMeasurements;
use fairgate_rules::odds::SeatSupply;
use fairgate_rules::pace::RankPresence;
use fairgate_rules::presence_bitmap::PresenceBitmap;
use fairgate_rules::release_cohorts::RankCall;
use fairgate_rules::room_document::{LineMethod, RoomDocument};
use fairgate_rules::vitals::{self, NodeMeasurements};
use fairgate_rules::waits::age_limits_s;

use crate::room::{RankedLine, Room, RoomRegistry, RoomTick};
use crate::store::{
    AwayNumbers, CalledRanks, NumberSet, StoreFailure, TickFigures, TickFiguresRequest,
};
use crate::upstream::BookingPulse;

/// In a room with at most this many numbers, the tick of each second reads who is away. In a larger
/// room, a tick reads it every [`LOOK_EVERY_MS`].
const LOOKED_AT_ALWAYS: u64 = 200_000;
const LOOK_EVERY_MS: i64 = 5000;

/// In a room without a line, a visitor is expected for at most this long (ms) after the call.
/// There, a page claims as soon as it has its place. So whoever has not claimed by then keeps
/// nobody else out.
const OPEN_WINDOW_MS: i64 = 5_000;

/// What one tick has read.
pub(super) struct TickFindings {
    pub(super) figures: TickFigures,
    pub(super) pulse: BookingPulse,
    /// Whether booking has ever given figures.
    pub(super) known: bool,
    pub(super) line: LineSnapshot,
    /// Whether this tick has read who is away.
    pub(super) looked: bool,
    /// Whether everybody in the line has a rank.
    pub(super) is_ordered: bool,
    pub(super) now: i64,
}

impl TickFindings {
    /// Returns the measurements that the pace's limits are worked out from.
    pub(super) fn measure_for_limits(&self) -> PaceMeasurements {
        let (figures, pulse) = (&self.figures, &self.pulse);
        let nodes: Vec<_> = figures
            .vitals
            .iter()
            .filter_map(|text| NodeMeasurements::parse(text))
            .collect();
        PaceMeasurements {
            now: self.now,
            inside: by_age(
                &figures.beyond[..AGES_S.len().min(figures.beyond.len())],
                figures.counts.inside,
            ),
            told_none: vitals::told_none(&nodes),
            called: figures.expected,
            entering: figures.entering,
            show_up: figures.show_up,
            done: figures.counts.done,
            ended: figures.counts.ended,
            seats: SeatSupply {
                free: pulse.free,
                held: pulse.held,
                sold: pulse.sold,
                lapsing: pulse.lapsing_soon,
                baskets: pulse.baskets,
                left_behind: pulse.left_behind,
                gone: pulse.gone,
            },
            reading: vitals::combined_reading(&nodes),
            owed_u: figures.owed_u,
            asking: figures.asking,
            claimed: figures.counts.claimed,
        }
    }

    /// Returns, for each age of [`age_limits_s`], how many visitors have been inside for less.
    pub(super) fn younger(&self) -> &[u64] {
        self.figures.beyond.get(AGES_S.len()..).unwrap_or_default()
    }

    /// Notes that the ranks `from..to` are called now, and returns what the store has to record.
    /// `people` of their visitors are present.
    pub(super) fn call_ranks(&mut self, from: u64, to: u64, people: u64) -> CalledRanks {
        let away = (from..to)
            .filter(|rank| self.line.who_at_rank(*rank) == RankPresence::Away)
            .collect();
        self.figures.calls.push(RankCall {
            from,
            to,
            at: self.now,
        });
        CalledRanks {
            from,
            to,
            people,
            away,
        }
    }

    /// Returns which visitors at rank `released` and behind it are here. Whoever was counted as
    /// away is not counted again before the call, so that nobody sees more people ahead than
    /// before.
    pub(super) fn crowd(&self, released: u64, last: &RoomTick) -> Arc<PresenceBitmap> {
        let next = self.figures.counts.next;
        // If somebody leaves, the visitors after that place move up at once. A short line is
        // therefore counted anew on each tick.
        if !self.looked && next.saturating_sub(released) > LOOKED_AT_ALWAYS {
            return Arc::clone(&last.crowd);
        }
        // The draw has given other ranks to the visitors.
        let is_same_order = self.is_ordered && last.is_ordered;
        Arc::new(PresenceBitmap::from_presence(released, next, |rank| {
            // The store may have lost who was away.
            if self.line.was_away(rank) || (is_same_order && last.crowd.lacks(rank)) {
                RankPresence::Away
            } else {
                self.line.who_at_rank(rank)
            }
        }))
    }
}

/// Reads from the store what a tick needs to know. With `pulse`, booking's figures are replaced as
/// well.
///
/// # Errors
/// Fails if the store did not answer.
pub(super) async fn gather_findings(
    rooms: &RoomRegistry,
    room: &Room,
    pulse: Option<BookingPulse>,
    is_regular: bool,
    now: i64,
) -> Result<TickFindings, StoreFailure> {
    let (last, row) = (room.last_tick(), room.row());
    let now_s = now.div_euclid(1000);
    let pass_s = row.document.pass_s;
    let ages_s = AGES_S.into_iter().chain(age_limits_s(pass_s));
    let ends_s = ages_s.map(|age_s| {
        now_s
            .saturating_add_unsigned(pass_s)
            .saturating_sub_unsigned(age_s)
    });
    let vitals = NodeMeasurements {
        told_none: room.told_none().by_age(now_s),
        ..rooms.health().vitals()
    };
    let request = TickFiguresRequest {
        now,
        claim_ms: window_ms(&row.document),
        ends_s: ends_s.collect(),
        vitals: vitals.to_text(),
    };
    let figures = rooms.store().tick_figures(room.id(), request).await?;
    let looked = now - last.looked_at >= LOOK_EVERY_MS
        || (is_regular && figures.counts.next <= LOOKED_AT_ALWAYS);
    let ranked = room.draw_state().ranked;
    let is_ordered = ranked.is_some() || row.document.method != LineMethod::Draw;
    let line = LineSnapshot {
        vacant: rooms.store().absent_numbers(room.id()).await?,
        away: if looked {
            let store = rooms.store();
            store.away_numbers(room.id(), now_s, is_ordered).await?
        } else {
            last.away.clone()
        },
        ranked,
    };
    Ok(TickFindings {
        figures,
        known: pulse.is_some() || last.known,
        pulse: pulse.unwrap_or_else(|| last.pulse.clone()),
        line,
        looked,
        is_ordered,
        now,
    })
}

/// Returns how long (ms) a called visitor is expected to come.
fn window_ms(document: &RoomDocument) -> i64 {
    let claim_ms = i64::try_from(document.claim_s.saturating_mul(1000)).unwrap_or(i64::MAX);
    match document.method {
        LineMethod::Open => claim_ms.min(OPEN_WINDOW_MS),
        LineMethod::Draw | LineMethod::Fifo => claim_ms,
    }
}

/// Who is at each rank. The absences may come from an earlier tick.
pub(super) struct LineSnapshot {
    vacant: NumberSet,
    pub(super) away: AwayNumbers,
    ranked: Option<Arc<RankedLine>>,
}

impl LineSnapshot {
    fn number_at(&self, rank: u64) -> u64 {
        let ranked = self.ranked.as_ref();
        ranked.map_or(rank, |ranked| ranked.number_at(rank))
    }

    /// Returns whether the visitor of a rank has ever been away since the line was ordered.
    fn was_away(&self, rank: u64) -> bool {
        self.away.ever.contains(self.number_at(rank))
    }

    /// Returns whether the visitor of a rank is here or away, or nobody has the rank.
    pub(super) fn who_at_rank(&self, rank: u64) -> RankPresence {
        let number = self.number_at(rank);
        if self.vacant.contains(number) {
            RankPresence::Nobody
        } else if self.away.now.contains(number) {
            RankPresence::Away
        } else {
            RankPresence::Here
        }
    }
}

/// Returns the count of visitors in each age group. `younger` has the count below each age limit,
/// and `all` is the count of all visitors.
fn by_age(younger: &[u64], all: u64) -> [u64; 4] {
    let mut before = 0;
    let mut ages = [0; 4];
    for (slot, count) in ages.iter_mut().zip(younger.iter().copied().chain([all])) {
        *slot = count.saturating_sub(before);
        before = count.max(before);
    }
    ages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_groups_add_up_to_all_visitors_inside() {
        assert_eq!(by_age(&[3, 5, 9], 20), [3, 2, 4, 11]);
        assert_eq!(by_age(&[0, 0, 0], 0), [0; 4]);
    }
}
