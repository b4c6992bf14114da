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
    let elapsed_ms = u64::try_from(now - row.ticked_at)
        .unwrap_or(0)
        .min(pace::BANKED_MS_MAX);
    let credit_u = per_s_u.saturating_mul(elapsed_ms) / 1000;
    let claim_ms = i64::try_from(document.claim_s.saturating_mul(1000)).unwrap_or(i64::MAX);
    let (called, owed_u) = room.cohorts().tick(now, claim_ms, credit_u, per_s_u);
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
    if !idle {
        if rooms.ledger().advance(room.id(), *row, to).await? {
            room.cohorts()
                .released(row.released, to.released, decided.people, now);
            room.cohorts().set_owed(decided.owed_u);
            *row = to;
        } else {
            *row = rooms.ledger().release(room.id()).await?;
        }
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
