//! What is kept how long, and how it goes: the oldest first, in small batches with pauses between
//! them, so that nobody who buys waits for it. The crate's `pruner` is the worker.

use std::time::Duration;

/// Rows deleted in one transaction at most.
pub const BATCH_MAX: u32 = 100;
/// After a batch the worker rests for so many times as long as the batch took.
const RESTS: u32 = 29;
/// It rests for so long at least, and no longer than the other.
const REST_MIN: Duration = Duration::from_millis(20);
const REST_MAX: Duration = Duration::from_secs(10);

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// What goes once it is old.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetentionKind {
    /// Answers kept for retries under an `Idempotency-Key`.
    Answers,
    /// Tries to make an order that were given up: no call lasts so long.
    GivenUpTries,
    /// Parties of the waitlist that ended: they are told why for so long.
    Waiters,
    /// Rows of the seat outbox that are in the store. One that lacks them, since it was set back,
    /// is opened anew.
    SeatRows,
    /// Who has finished. Gateways read it behind a cursor, within seconds; passes live for hours.
    Finished,
    /// What was done at the provider. Captured money is read back for 120 days, and may be owed
    /// again by then.
    Effects,
    /// Events of providers, which may deliver one again after a long time: it is known by its id.
    ProviderEvents,
}

impl RetentionKind {
    /// All kinds, those that grow fastest first.
    pub const ALL: [Self; 7] = [
        Self::Answers,
        Self::SeatRows,
        Self::Finished,
        Self::Effects,
        Self::ProviderEvents,
        Self::Waiters,
        Self::GivenUpTries,
    ];

    /// How long it is kept at least, in milliseconds.
    #[must_use]
    pub const fn for_ms(self) -> i64 {
        match self {
            Self::Answers | Self::GivenUpTries | Self::Waiters | Self::SeatRows => DAY_MS,
            Self::Finished => 7 * DAY_MS,
            Self::Effects | Self::ProviderEvents => 180 * DAY_MS,
        }
    }

    /// What ended before this moment may go.
    #[must_use]
    pub const fn before_ms(self, now_ms: i64) -> i64 {
        now_ms - self.for_ms()
    }

    /// Its name in metrics and logs.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Answers => "answers",
            Self::GivenUpTries => "given_up_tries",
            Self::Waiters => "waiters",
            Self::SeatRows => "seat_rows",
            Self::Finished => "finished",
            Self::Effects => "effects",
            Self::ProviderEvents => "provider_events",
        }
    }
}

/// How long to rest after a batch that took so long: a slow ledger is left alone for longer.
#[must_use]
pub fn rest_after(took: Duration) -> Duration {
    (took * RESTS).clamp(REST_MIN, REST_MAX)
}

/// A row as it is looked at: its id, and when it ended, if it has.
pub type RetentionRow = (i64, Option<i64>);

/// Of rows in the order in which they were made, looked at `batch_max` at a time: those that ended
/// before a moment, and behind which id to look on. `None` where all that follow are younger, or
/// there are none.
#[must_use]
pub fn old_among(rows: &[RetentionRow], before_ms: i64, batch_max: u32) -> (Vec<i64>, Option<i64>) {
    let is_old = |(_, ended_ms): &&RetentionRow| ended_ms.is_some_and(|at_ms| at_ms < before_ms);
    let old: Vec<i64> = rows.iter().filter(is_old).map(|(id, _)| *id).collect();
    let is_young = |(_, ended_ms): &RetentionRow| ended_ms.is_some_and(|at_ms| at_ms >= before_ms);
    // Rows that have not ended tell nothing of the age of those behind them.
    let rest_is_younger = old.is_empty() && rows.iter().any(is_young);
    let more = rows.len() >= batch_max as usize && !rest_is_younger;
    let next = rows.last().filter(|_| more).map(|(id, _)| *id);
    (old, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worker_takes_at_most_a_thirtieth_of_the_ledgers_time() {
        let took = Duration::from_millis(10);
        assert_eq!(rest_after(took), took * 29);
        assert_eq!(rest_after(Duration::ZERO), REST_MIN, "and never spins");
        assert_eq!(rest_after(Duration::from_secs(60)), REST_MAX);
    }

    #[test]
    fn an_event_id_outlives_the_time_in_which_captured_money_is_read_back() {
        let read_for_ms = crate::ledger::TAKEN_READ_FOR_MS;
        assert!(RetentionKind::Effects.for_ms() > read_for_ms);
        assert_eq!(RetentionKind::ProviderEvents.for_ms(), 180 * DAY_MS);
    }

    fn check(rows: &[RetentionRow], old: &[i64], next: Option<i64>) {
        assert_eq!(old_among(rows, 100, 3), (old.to_vec(), next), "{rows:?}");
    }

    #[test]
    fn looking_for_old_rows_ends_where_the_young_ones_begin() {
        check(&[], &[], None);
        check(
            &[(1, Some(5)), (2, Some(6)), (3, Some(7))],
            &[1, 2, 3],
            Some(3),
        );
        check(&[(1, Some(5)), (2, Some(6))], &[1, 2], None);
        check(&[(1, Some(5)), (2, None), (3, Some(100))], &[1], Some(3));
        check(&[(4, Some(100)), (5, None), (6, None)], &[], None);
        check(&[(4, None), (5, None), (6, None)], &[], Some(6));
    }
}
