//! Moves the release counter. A tick measures, lets the pace decide, writes by compare-and-set, and
//! leaves the figures for the sockets and polls. Every node ticks once a second. The first node to
//! come makes the second's tick, and the others take over its result.

use std::sync::Arc;

use crate::ledger::ReleaseRow;
use crate::room::{
    LineMethod, Room, RoomDocument, RoomPhase, RoomRegistry, RoomTick, micros_per_s,
};
use crate::store::{
    CalledRanks, NumberSet, StoreFailure, TickCarryover, TickEnd, TickFigures, TickFiguresRequest,
};
use crate::upstream::{BookingPulse, vitals};
use fairgate_rules::cohort::{RankCall, elapsed_ms};
use fairgate_rules::counter::ReleaseCounter;
use fairgate_rules::crowd::PresenceBitmap;
use fairgate_rules::limits::{PaceLimits, PaceMeasurements, PaceMemory};
use fairgate_rules::odds::{AGES_S, SeatSupply};
use fairgate_rules::pace::{self, PaceInput, RankPresence, ReleaseDecision};
use fairgate_rules::settings::PaceSettings;

/// A line up to this long is read anew every second; a longer one every [`LOOK_EVERY_MS`].
const LOOKED_AT_ALWAYS: u64 = 200_000;
const LOOK_EVERY_MS: i64 = 5000;
/// How much of a second (ms) must have passed since another node's tick before the next one begins,
/// because that node may be a little early or late.
const OTHERS_SECOND_MS: u64 = 800;

/// What one tick found.
struct TickFindings {
    figures: TickFigures,
    pulse: BookingPulse,
    /// Whether booking has ever given figures.
    known: bool,
    line: LineSnapshot,
    /// Whether the line was read anew in this tick.
    looked: bool,
    now: i64,
}

/// Carries out one tick of `room` at `now` (ms). With `second` it is the regular tick of a second;
/// without it, a visitor's claim asked for it in between. With `pulse` the booking figures are
/// replaced too. Until they are known, nobody in a line is called.
///
/// # Errors
/// Fails if the store did not answer, or the ledger did not take the move. The counter then stays
/// where it was.
pub async fn run_tick(
    rooms: &RoomRegistry,
    room: &Room,
    pulse: Option<BookingPulse>,
    second: bool,
    now: i64,
) -> Result<(), StoreFailure> {
    // The lock is held to the end, so that a node makes one tick at a time.
    let mut counter = room.release().await;
    let settings = settings_of(&room.row().document);
    let mut found = gather_findings(rooms, room, pulse, second, now).await?;
    if let Some(left) = found.figures.left_by_other.take() {
        adopt_carryover(room, &mut counter, left);
    }
    // A ledger that lost moves lies behind what visitors were told. Visitors who were called stay
    // called.
    let told = counter
        .release_row()
        .released
        .max(room.last_tick().released);
    let counted_until = counter
        .release_row()
        .ticked_at
        .max(found.figures.counted_until);
    let (elapsed_ms, until) = elapsed_ms(counted_until, now);
    let others = found.figures.by_other && elapsed_ms < OTHERS_SECOND_MS;
    let measured = measure_for_limits(&found.figures, &found.pulse, now);
    let mut memory = *room.memory();
    let limits = if second && !others {
        memory.limits(&settings, &measured)
    } else {
        memory.peek_limits(&settings, &measured)
    };
    let input = PaceInput {
        elapsed_ms,
        remainder_u: counter.release_row().remainder_u,
        rate_u: limits.rate_u,
        trickle_u: limits.trickle_u,
        room: limits.room,
        wanted: limits.wanted,
        owed_u: found.figures.owed_u,
        selling: room.phase(now) == RoomPhase::Selling
            && !room.row().facts.paused
            && (found.known || !settings.line),
        released: told,
        end: found.figures.counts.next,
    };
    // A room with nobody to call is not written every second. What it could gain in the meantime is
    // capped anyway.
    let idle = (!input.selling || told >= input.end) && told == counter.release_row().released;
    // In a room without a line, nobody waits for a second that belongs to another node.
    if !others || !(settings.line || idle) {
        let decided = pace::decide_release(&input, |rank| found.line.who_at_rank(rank));
        memory.record_tick(
            decided.people,
            decided.bound,
            elapsed_ms,
            &settings,
            &measured,
        );
        let made = DecidedTick {
            decided,
            until,
            memory,
            per_s_u: settings.per_s_u,
            idle,
            told,
        };
        commit_tick(rooms, room, &mut counter, &mut found, made).await?;
    }
    publish_tick(
        room,
        told.max(counter.release_row().released),
        found,
        &limits,
        &settings,
    );
    Ok(())
}

async fn gather_findings(
    rooms: &RoomRegistry,
    room: &Room,
    pulse: Option<BookingPulse>,
    second: bool,
    now: i64,
) -> Result<TickFindings, StoreFailure> {
    let (last, stored) = (room.last_tick(), room.row());
    let now_s = now.div_euclid(1000);
    let pass_s = stored.document.pass_s;
    let ends_s = AGES_S.map(|age_s| {
        now_s
            .saturating_add_unsigned(pass_s)
            .saturating_sub_unsigned(age_s)
    });
    let moment = TickFiguresRequest {
        now,
        claim_ms: i64::try_from(stored.document.claim_s.saturating_mul(1000)).unwrap_or(i64::MAX),
        ends_s: ends_s.to_vec(),
        vitals: rooms.health().vitals().to_text(),
    };
    let figures = rooms.store().tick_figures(room.id(), moment).await?;
    let looked = now - last.looked_at >= LOOK_EVERY_MS
        || (second && figures.counts.next <= LOOKED_AT_ALWAYS);
    let line = LineSnapshot {
        nobody: rooms.store().absent_numbers(room.id()).await?,
        away: if looked {
            rooms.store().away_numbers(room.id(), now_s).await?
        } else {
            last.away.clone()
        },
        ranked: room.draw_state().ranked,
    };
    Ok(TickFindings {
        figures,
        known: pulse.is_some() || last.known,
        pulse: pulse.unwrap_or_else(|| last.pulse.clone()),
        line,
        looked,
        now,
    })
}

/// Continues from what another node's tick left, unless this node knows better from the ledger.
fn adopt_carryover(room: &Room, counter: &mut ReleaseCounter, left: TickCarryover) {
    if counter.heard(left.row) {
        *room.memory() = PaceMemory::parse(&left.memory);
    }
}

/// Reads the counter from the ledger again, after it had another row than this node thought. Either
/// another node was first, or the ledger is an older copy.
async fn reload_release_row(
    rooms: &RoomRegistry,
    room: &Room,
    counter: &mut ReleaseCounter,
) -> Result<(), StoreFailure> {
    let stands = rooms.ledger().release(room.id()).await?;
    *room.memory() = PaceMemory::parse(&stands.memory);
    let (known, has) = (counter.release_row().released, stands.released);
    if counter.stands(stands) {
        rooms.troubles().set_back(room.id(), rooms.now_ms());
        tracing::error!(
            room = room.id(),
            known,
            has,
            "the ledger has lost releases: it is an older copy of what it was; nobody is called back, and the counter goes on"
        );
    }
    Ok(())
}

/// What a tick decided, before it is written.
struct DecidedTick {
    decided: ReleaseDecision,
    until: i64,
    memory: PaceMemory,
    per_s_u: u64,
    idle: bool,
    /// Ranks below this have been told that they are called.
    told: u64,
}

/// Writes the tick by the ledger's compare-and-set. If it stands, tells the store.
async fn commit_tick(
    rooms: &RoomRegistry,
    room: &Room,
    counter: &mut ReleaseCounter,
    found: &mut TickFindings,
    made: DecidedTick,
) -> Result<(), StoreFailure> {
    let DecidedTick {
        decided,
        until,
        told,
        ..
    } = made;
    let mut called = None;
    let memory = made.memory.to_text();
    // A tick that writes nothing leaves the ledger's row as it is, and only updates the memory.
    if !made.idle {
        let to = ReleaseRow {
            released: decided.released.max(told),
            remainder_u: decided.remainder_u,
            ticked_at: until,
            memory: memory.clone(),
        };
        let ledger = rooms.ledger();
        if !ledger
            .advance(room.id(), counter.release_row(), &to)
            .await?
        {
            return reload_release_row(rooms, room, counter).await;
        }
        if to.released > told {
            let away = (told..to.released)
                .filter(|rank| found.line.who_at_rank(*rank) == RankPresence::Away)
                .collect();
            found.figures.calls.push(RankCall {
                from: told,
                to: to.released,
                at: found.now,
            });
            called = Some(CalledRanks {
                from: told,
                to: to.released,
                people: decided.people,
                away,
            });
        }
        counter.moved(to);
    }
    let end = TickEnd {
        since: found.figures.counted_until,
        until,
        owed_u: decided.owed_u,
        credit_u: decided.late_u,
        per_s_u: made.per_s_u,
        called,
        left: TickCarryover {
            row: counter.release_row().clone(),
            memory,
        },
        now: found.now,
    };
    if rooms.store().end_tick(room.id(), end).await? {
        *room.memory() = made.memory;
        found.figures.owed_u = decided.owed_u;
    }
    Ok(())
}

/// Leaves the figures for the sockets and polls.
fn publish_tick(
    room: &Room,
    released: u64,
    found: TickFindings,
    limits: &PaceLimits,
    settings: &PaceSettings,
) {
    let last = room.last_tick();
    let TickFindings {
        figures, line, now, ..
    } = found;
    let next = figures.counts.next;
    // Visitors behind a place that was left are told at once, so a short line is counted anew on
    // each tick.
    let crowd = if found.looked || next.saturating_sub(released) <= LOOKED_AT_ALWAYS {
        Arc::new(PresenceBitmap::from_presence(released, next, |rank| {
            line.who_at_rank(rank)
        }))
    } else {
        Arc::clone(&last.crowd)
    };
    room.set_tick(RoomTick {
        released,
        waiting: crowd.between(released, next),
        crowd,
        looked_at: if found.looked { now } else { last.looked_at },
        away: line.away,
        counts: figures.counts,
        owed_u: figures.owed_u,
        calls: Arc::new(figures.calls),
        pulse: found.pulse,
        known: found.known,
        rates: room.memory().rates(settings.per_s_u),
        inside_max: limits.inside_max,
        demand: limits.demand,
        at: now,
    });
}

/// Who is at each rank, as the store knows it now.
struct LineSnapshot {
    nobody: NumberSet,
    away: NumberSet,
    ranked: Option<Arc<crate::room::RankedLine>>,
}

impl LineSnapshot {
    fn who_at_rank(&self, rank: u64) -> RankPresence {
        let number = self
            .ranked
            .as_ref()
            .map_or(rank, |ranked| ranked.number_at(rank));
        if self.nobody.contains(number) {
            RankPresence::Nobody
        } else if self.away.contains(number) {
            RankPresence::Away
        } else {
            RankPresence::Here
        }
    }
}

fn settings_of(document: &RoomDocument) -> PaceSettings {
    PaceSettings {
        mode: document.mode,
        line: document.method != LineMethod::Open,
        per_s_u: micros_per_s(document.per_s),
        max_inside: document.max_inside,
        p99_ms: document.p99_ms,
    }
}

fn measure_for_limits(figures: &TickFigures, pulse: &BookingPulse, now: i64) -> PaceMeasurements {
    let nodes: Vec<_> = figures
        .vitals
        .iter()
        .filter_map(|text| vitals::NodeMeasurements::parse(text))
        .collect();
    PaceMeasurements {
        now,
        inside: by_age(&figures.beyond, figures.counts.inside),
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
            gone: pulse.gone,
        },
        reading: vitals::combined_reading(&nodes),
    }
}

/// Turns counts of visitors younger than each age, and of all visitors, into counts for each age.
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
    fn ages_add_up_to_all_who_are_inside() {
        assert_eq!(by_age(&[3, 5, 9], 20), [3, 2, 4, 11]);
        assert_eq!(by_age(&[0, 0, 0], 0), [0; 4]);
    }
}
