//! Decides when a provider counts as away. One call without an answer may be an accident of the
//! network, so only several of them in a row begin an outage. If the provider does not know the
//! installation's keys, the outage begins at once.

use std::time::{Duration, Instant};

use super::siteverify::SiteverifyFault;

/// How many calls in a row must fail before an outage begins. One attempt of a visitor makes at
/// most two calls, so at least two attempts must fail.
const FAILURES_MIN: u32 = 3;
/// If the last failure was this long ago or longer, the next failure starts a new count.
const FAILURES_WITHIN: Duration = Duration::from_secs(60);

/// What the last calls to a provider have shown. Pure.
#[derive(Debug, Default)]
pub(super) struct ProviderHealth {
    /// How many calls have failed in a row.
    in_a_row: u32,
    failed_at: Option<Instant>,
    /// Why the provider is away, during an outage.
    outage: Option<SiteverifyFault>,
}

impl ProviderHealth {
    /// Notes that the provider answered a call. Only [`Self::end_outage`] ends an outage.
    pub(super) fn note_answer(&mut self) {
        self.in_a_row = 0;
    }

    /// Notes that a call failed. Returns whether an outage begins with it.
    pub(super) fn note_failure(&mut self, fault: SiteverifyFault, now: Instant) -> bool {
        // If the provider does not know the keys, it refuses every visitor's call.
        let is_sure = match &fault {
            SiteverifyFault::Crowded => return false,
            SiteverifyFault::Keys(_) => true,
            SiteverifyFault::Silent(_) => false,
        };
        let recent = self
            .failed_at
            .is_some_and(|at| now.saturating_duration_since(at) < FAILURES_WITHIN);
        self.in_a_row = if recent { self.in_a_row + 1 } else { 1 };
        self.failed_at = Some(now);
        let begins = self.outage.is_none() && (is_sure || self.in_a_row >= FAILURES_MIN);
        if begins || self.outage.is_some() {
            self.outage = Some(fault);
        }
        begins
    }

    /// Notes that the provider answers again.
    pub(super) fn end_outage(&mut self) {
        *self = Self::default();
    }

    /// Returns why the provider is away, if it is.
    pub(super) fn outage(&self) -> Option<&SiteverifyFault> {
        self.outage.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silent() -> SiteverifyFault {
        SiteverifyFault::Silent("timed out".to_owned())
    }

    #[test]
    fn three_failures_in_a_row_begin_an_outage_and_only_an_end_ends_it() {
        let (mut health, now) = (ProviderHealth::default(), Instant::now());
        assert!(!health.note_failure(silent(), now));
        assert!(!health.note_failure(silent(), now));
        assert_eq!(health.outage(), None);
        assert!(health.note_failure(silent(), now));
        assert_eq!(health.outage(), Some(&silent()));
        assert!(!health.note_failure(silent(), now), "it has begun already");
        health.note_answer();
        assert_eq!(health.outage(), Some(&silent()));
        health.end_outage();
        assert_eq!(health.outage(), None);
        assert!(!health.note_failure(silent(), now), "counted from new");
    }

    #[test]
    fn an_answer_or_a_quiet_minute_between_failures_begins_the_count_anew() {
        let (mut health, begun) = (ProviderHealth::default(), Instant::now());
        for second in 0..100 {
            let now = begun + Duration::from_secs(second);
            assert!(!health.note_failure(silent(), now));
            assert!(!health.note_failure(silent(), now));
            health.note_answer();
        }
        for minute in 10..100 {
            let now = begun + Duration::from_secs(minute * 60);
            assert!(!health.note_failure(silent(), now), "minute {minute}");
        }
    }

    #[test]
    fn wrong_keys_begin_an_outage_at_once_and_a_crowd_begins_none() {
        let (mut health, now) = (ProviderHealth::default(), Instant::now());
        for _ in 0..1_000 {
            assert!(!health.note_failure(SiteverifyFault::Crowded, now));
        }
        let keys = SiteverifyFault::Keys("invalid-input-secret".to_owned());
        assert!(health.note_failure(keys.clone(), now));
        assert_eq!(health.outage(), Some(&keys));
    }
}
