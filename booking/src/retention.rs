//! Says how long data is stored, and how it is deleted: the oldest first, in small batches with
//! pauses between them, so that no buyer has to wait. The worker is in the crate's `pruner`.

use std::time::Duration;

/// How many rows one transaction deletes, at most.
pub const BATCH_MAX: u32 = 100;
/// After a batch the worker rests this many times as long as the batch took.
const REST_FACTOR: u32 = 29;
/// The shortest and the longest rest.
const REST_MIN: Duration = Duration::from_millis(20);
const REST_MAX: Duration = Duration::from_secs(10);

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// A kind of row that is deleted once it is old.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetentionKind {
    /// Answers stored for retries under an `Idempotency-Key`.
    Answers,
    /// Marks of holds that were given up. If an attempt to order a hold began before the hold was
    /// given up, the mark makes the ledger refuse the attempt. The marks are stored longer than any
    /// such attempt lasts.
    GivenUpTries,
    /// Waitlist parties that have ended. Until a party is deleted, its visitor can read why it
    /// ended.
    Waiters,
    /// Seat outbox rows that were delivered to the store. If a store goes back to older data and
    /// needs rows that were deleted, its shows are opened anew from the claims.
    SeatRows,
    /// Visitors whose orders were ticketed. Gateways read these rows within seconds, and need no
    /// row after the visitor's pass has expired, which takes hours.
    Finished,
    /// Payment effects that were carried out. A captured payment is read back from the provider for
    /// 120 days, and in that time an effect may have to be repeated.
    Effects,
    /// Events of providers. A provider may send an event again after a long time. The stored id
    /// shows that the event is a repetition.
    ProviderEvents,
}

impl RetentionKind {
    /// All kinds, the fastest-growing first.
    pub const ALL: [Self; 7] = [
        Self::Answers,
        Self::SeatRows,
        Self::Finished,
        Self::Effects,
        Self::ProviderEvents,
        Self::Waiters,
        Self::GivenUpTries,
    ];

    /// Returns for how many milliseconds a row is stored at least.
    #[must_use]
    pub const fn kept_for_ms(self) -> i64 {
        match self {
            Self::Answers | Self::GivenUpTries | Self::Waiters | Self::SeatRows => DAY_MS,
            Self::Finished => 7 * DAY_MS,
            Self::Effects | Self::ProviderEvents => 180 * DAY_MS,
        }
    }

    /// Returns a moment. Rows that ended before this moment are deleted.
    #[must_use]
    pub const fn before_ms(self, now_ms: i64) -> i64 {
        now_ms - self.kept_for_ms()
    }

    /// Returns the kind's name in metrics and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
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

/// Returns how long to rest after a batch that took `took`, so that a slow ledger rests longer.
#[must_use]
pub fn rest_after(took: Duration) -> Duration {
    (took * REST_FACTOR).clamp(REST_MIN, REST_MAX)
}

/// A row's id, and the time at which it ended, if it has ended.
pub type RetentionRow = (i64, Option<i64>);

/// Takes up to `batch_max` rows in the order in which they were made. Returns the ids of the rows
/// that ended before `before_ms`, and the id after which the next batch begins. That id is `None`
/// after the last rows. It is also `None` if no row is old and at least one ended at `before_ms` or
/// later: then the later rows are not old, either.
#[must_use]
pub fn old_among(rows: &[RetentionRow], before_ms: i64, batch_max: u32) -> (Vec<i64>, Option<i64>) {
    let is_old = |(_, ended_ms): &&RetentionRow| ended_ms.is_some_and(|at_ms| at_ms < before_ms);
    let old: Vec<i64> = rows.iter().filter(is_old).map(|(id, _)| *id).collect();
    let is_young = |(_, ended_ms): &RetentionRow| ended_ms.is_some_and(|at_ms| at_ms >= before_ms);
    // A row that has not ended does not show how old the later rows are.
    let rest_is_younger = old.is_empty() && rows.iter().any(is_young);
    let has_more = rows.len() >= batch_max as usize && !rest_is_younger;
    let next = rows.last().filter(|_| has_more).map(|(id, _)| *id);
    (old, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worker_rests_29_times_as_long_as_its_batch_took_within_limits() {
        let took = Duration::from_millis(10);
        assert_eq!(rest_after(took), took * 29);
        assert_eq!(
            rest_after(Duration::ZERO),
            REST_MIN,
            "it rests even after a batch that took no time"
        );
        assert_eq!(rest_after(Duration::from_secs(60)), REST_MAX);
    }

    #[test]
    fn effects_and_event_ids_are_kept_longer_than_captured_money_is_read_back() {
        let read_for_ms = crate::ledger::TAKEN_READ_FOR_MS;
        assert!(RetentionKind::Effects.kept_for_ms() > read_for_ms);
        assert_eq!(RetentionKind::ProviderEvents.kept_for_ms(), 180 * DAY_MS);
    }

    fn check(rows: &[RetentionRow], old: &[i64], next: Option<i64>) {
        assert_eq!(old_among(rows, 100, 3), (old.to_vec(), next), "{rows:?}");
    }

    #[test]
    fn the_search_ends_at_a_batch_with_young_but_no_old_rows() {
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
