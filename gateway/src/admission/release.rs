//! Moves the release counter: measures, lets the pace decide, writes by compare-and-set, and leaves the figures
//! for whoever tells the line.

use std::sync::Arc;

use super::crowd::Crowd;
use super::demand::{AGES_S, Seats};
use super::limits::{Asked, Measured};
use super::pace::{self, Input, Who};
use crate::ledger::{Failure, ReleaseRow};
use crate::room::{Document, Method, Phase, Room, Rooms, Tick, micros_per_s};
use crate::store::{Counts, Numbers};
use crate::upstream::Pulse;

/// A line up to this long is looked at anew every second; a longer one every so often.
const LOOKED_AT_ALWAYS: u64 = 200_000;
const LOOK_EVERY_MS: i64 = 5000;

/// Carries out one tick of `room` at `now` (ms): the `second`'s own, or one in between, because somebody came. With
/// `pulse` the booking figures are replaced as well; before they were ever known, nobody in a line is called.
///
/// # Errors
/// Where the ledger did not take the move; the counter stands where it stood.
pub async fn tick(
    rooms: &Rooms,
    room: &Room,
    pulse: Option<Pulse>,
    second: bool,
    now: i64,
) -> Result<(), Failure> {
    // Held to the end: whoever lets a late comer in holds it too, so that both see the same room inside.
    let mut row = room.release().await;
    let last = room.tick();
    let stored = room.row();
    let document = &stored.document;
    let known = pulse.is_some() || last.known;
    let pulse = pulse.unwrap_or_else(|| last.pulse.clone());
    let asked = asked(document);
    let claim_ms = i64::try_from(document.claim_s.saturating_mul(1000)).unwrap_or(i64::MAX);
    room.cohorts().expire(now, claim_ms);
    let counts = rooms.store().counts(room.id(), now.div_euclid(1000)).await;
    let behind = counts.joined.saturating_sub(row.released);
    let looks =
        now - last.looked_at >= LOOK_EVERY_MS || (second && counts.joined <= LOOKED_AT_ALWAYS);
    let line = Line {
        nobody: rooms.store().absent(room.id()).await,
        away: if looks {
            rooms.store().away(room.id(), now.div_euclid(1000)).await
        } else {
            last.away.clone()
        },
        ranked: room.draw().ranked,
    };
    let measured = measure(rooms, room, &counts, &pulse, now).await;
    let limits = if second {
        room.memory().limits(&asked, &measured)
    } else {
        room.memory().peek(&asked, &measured)
    };
    let (elapsed_ms, until, owed_u) = {
        let cohorts = room.cohorts();
        let (elapsed_ms, until) = cohorts.elapsed_ms(row.ticked_at, now);
        (elapsed_ms, until, cohorts.owed_u())
    };
    let input = Input {
        elapsed_ms,
        remainder_u: row.remainder_u,
        rate_u: limits.rate_u,
        trickle_u: limits.trickle_u,
        room: limits.room,
        wanted: limits.wanted,
        owed_u,
        selling: room.phase(now) == Phase::Selling
            && !stored.facts.paused
            && (known || !asked.line),
        released: row.released,
        end: counts.joined,
    };
    let decided = pace::step(&input, |rank| line.who(rank));
    let to = ReleaseRow {
        released: decided.released,
        remainder_u: decided.remainder_u,
        ticked_at: until,
        memory: row.memory.clone(),
    };
    // A room with nobody to call is not written every second; what it could earn in the meantime is capped anyway.
    let idle = !input.selling || input.released >= input.end;
    let moved = idle || rooms.ledger().advance(room.id(), &row, &to).await?;
    if moved {
        let mut cohorts = room.cohorts();
        cohorts.ticked(until, decided.owed_u, decided.late_u, asked.per_s_u);
        if !idle {
            let called = row.released..to.released;
            let away = called.filter(|rank| line.who(*rank) == Who::Away).collect();
            cohorts.released(row.released, to.released, decided.people, away, now);
            *row = to;
        }
        drop(cohorts);
        room.memory()
            .went(decided.people, decided.bound, elapsed_ms, &asked, &measured);
    } else {
        *row = rooms.ledger().release(room.id()).await?;
    }

    // Who leaves in between is told to whoever stands behind: a short line is counted anew each time.
    let crowd = if looks || behind <= LOOKED_AT_ALWAYS {
        let crowd = Crowd::take(row.released, counts.joined, |rank| line.who(rank));
        Arc::new(crowd)
    } else {
        Arc::clone(&last.crowd)
    };
    room.set_tick(Tick {
        released: row.released,
        waiting: crowd.between(row.released, counts.joined),
        crowd,
        looked_at: if looks { now } else { last.looked_at },
        away: line.away,
        counts,
        pulse,
        known,
        rates: room.memory().rates(asked.per_s_u),
        inside_max: limits.inside_max,
        demand: limits.demand,
        at: now,
    });
    Ok(())
}

/// Who stands where, as the store knows it now.
struct Line {
    nobody: Numbers,
    away: Numbers,
    ranked: Option<Arc<crate::room::Ranked>>,
}

impl Line {
    fn who(&self, rank: u64) -> Who {
        let number = self
            .ranked
            .as_ref()
            .map_or(rank, |ranked| ranked.number_at(rank));
        if self.nobody.contains(number) {
            Who::Nobody
        } else if self.away.contains(number) {
            Who::Away
        } else {
            Who::Here
        }
    }
}

fn asked(document: &Document) -> Asked {
    Asked {
        mode: document.mode,
        line: document.method != Method::Open,
        per_s_u: micros_per_s(document.per_s),
        max_inside: document.max_inside,
        p99_ms: document.p99_ms,
    }
}

async fn measure(rooms: &Rooms, room: &Room, counts: &Counts, pulse: &Pulse, now: i64) -> Measured {
    let (now_s, pass_s) = (now.div_euclid(1000), room.row().document.pass_s);
    let ends = AGES_S.map(|age_s| {
        now_s
            .saturating_add_unsigned(pass_s)
            .saturating_sub_unsigned(age_s)
    });
    let younger = rooms.store().inside_beyond(room.id(), &ends).await;
    let cohorts = room.cohorts();
    Measured {
        now,
        inside: by_age(&younger, counts.inside),
        called: cohorts.expected(),
        entering: cohorts.entering(),
        show_up: cohorts.show_up(),
        done: counts.done,
        ended: counts.ended,
        seats: Seats {
            free: pulse.free,
            held: pulse.held,
            sold: pulse.sold,
            lapsing: pulse.lapsing_soon,
            baskets: pulse.baskets,
        },
        reading: rooms.health().read(),
    }
}

/// How many are younger than each age, and all, become how many are of each age.
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
