//! Moves the release counter: measures, lets the pace decide, writes by compare-and-set, and leaves the figures
//! for whoever tells the line.

use std::sync::Arc;

use super::pace::{self, Input};
use crate::ledger::{Failure, ReleaseRow};
use crate::room::{Method, Phase, Room, Rooms, Tick, micros_per_s};
use crate::upstream::Pulse;

/// Carries out one tick of `room` at `now` (ms). With `pulse` the booking figures are replaced as well.
///
/// # Errors
/// Where the ledger did not take the move; the counter stands where it stood.
pub async fn tick(
    rooms: &Rooms,
    room: &Room,
    pulse: Option<Pulse>,
    now: i64,
) -> Result<(), Failure> {
    // Held to the end: whoever lets a late comer in holds it too, so that both see the same room inside.
    let mut row = room.release().await;
    let last = room.tick();
    let stored = room.row();
    let document = &stored.document;
    let counts = rooms.store().counts(room.id(), now.div_euclid(1000)).await;
    let absent = rooms.store().absent(room.id()).await;
    let ranked = room.draw().ranked;
    let number_at = |rank| {
        ranked
            .as_ref()
            .map_or(rank, |ranked| ranked.number_at(rank))
    };

    let per_s_u = micros_per_s(document.per_s);
    let claim_ms = i64::try_from(document.claim_s.saturating_mul(1000)).unwrap_or(i64::MAX);
    let (elapsed_ms, called, owed_u) = {
        let mut cohorts = room.cohorts();
        cohorts.expire(now, claim_ms);
        (
            cohorts.elapsed_ms(row.ticked_at, now),
            cohorts.called(),
            cohorts.owed_u(),
        )
    };
    let input = Input {
        elapsed_ms,
        remainder_u: row.remainder_u,
        per_s_u: (document.method != Method::Open).then_some(per_s_u),
        max_inside: document.max_inside,
        inside: counts.inside,
        called,
        owed_u,
        selling: room.phase(now) == Phase::Selling && !stored.facts.paused,
        released: row.released,
        end: counts.joined,
    };
    let decided = pace::step(&input, |rank| absent.contains(number_at(rank)));
    let to = ReleaseRow {
        released: decided.released,
        remainder_u: decided.remainder_u,
        ticked_at: now,
    };
    // A room with nobody to call is not written every second; what it could earn in the meantime is capped anyway.
    let idle = !input.selling || input.released >= input.end;
    let moved = idle || rooms.ledger().advance(room.id(), *row, to).await?;
    if moved {
        let mut cohorts = room.cohorts();
        cohorts.ticked(
            now,
            decided.owed_u,
            pace::credit_u(per_s_u, elapsed_ms),
            per_s_u,
        );
        if !idle {
            cohorts.released(row.released, to.released, decided.people, now);
            *row = to;
        }
    } else {
        *row = rooms.ledger().release(room.id()).await?;
    }

    let mut absent_ranks: Vec<u64> = absent
        .iter()
        .filter_map(|number| room.rank(number))
        .filter(|rank| *rank >= row.released)
        .collect();
    absent_ranks.sort_unstable();
    let behind = counts.joined.saturating_sub(row.released);
    room.set_tick(Tick {
        released: row.released,
        waiting: behind.saturating_sub(absent_ranks.len() as u64),
        absent_ranks,
        counts,
        pulse: pulse.unwrap_or_else(|| Arc::unwrap_or_clone(last).pulse),
        full: counts.inside + room.cohorts().called() >= document.max_inside,
        at: now,
    });
    Ok(())
}
