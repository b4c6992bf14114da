//! Tracks whether an HTTP server outside Fairgate still answers.

use parking_lot::Mutex;
use std::sync::Arc;

use reqwest::Url;

use super::OriginFailure;

/// How many calls in a row must fail before the server counts as away. A single call may fail
/// because of what it asks for.
const FAILURES_MIN: u32 = 3;

/// What the last calls to the server have shown; a cheap handle.
#[derive(Debug, Clone, Default)]
pub struct OriginHealth {
    failed: Arc<Mutex<FailedCalls>>,
}

/// The calls that failed since the last answer.
#[derive(Debug, Clone, Default)]
struct FailedCalls {
    in_a_row: u32,
    last: String,
}

impl OriginHealth {
    /// Notes how a call to the server at `base` ended.
    pub(super) fn note<T>(&self, base: &Url, answer: &Result<T, OriginFailure>) {
        let mut failed = self.failed.lock();
        match answer {
            Ok(_) => *failed = FailedCalls::default(),
            Err(failure) => {
                failed.in_a_row = failed.in_a_row.saturating_add(1);
                failed.last = format!("{base}: {failure}");
            }
        }
    }

    /// If the server is away, returns how many calls have failed in a row, and the server's address
    /// with the last reason.
    #[must_use]
    pub fn outage(&self) -> Option<(u32, String)> {
        let failed = self.failed.lock();
        (failed.in_a_row >= FAILURES_MIN).then(|| (failed.in_a_row, failed.last.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_failures_in_a_row_are_an_outage_and_an_answer_ends_it() {
        let health = OriginHealth::default();
        let base: Url = "http://10.0.0.9:8000".parse().expect("an address");
        let failure = Err::<(), _>(OriginFailure::Unreachable("refused".to_owned()));
        for _ in 0..10 {
            health.note(&base, &failure);
            health.note(&base, &failure);
            assert_eq!(health.outage(), None);
            health.note(&base, &Ok(()));
        }
        for _ in 0..4 {
            health.note(&base, &failure);
        }
        let outage = (
            4,
            "http://10.0.0.9:8000/: no connection: refused".to_owned(),
        );
        assert_eq!(health.outage(), Some(outage));
        health.note(&base, &Ok(()));
        assert_eq!(health.outage(), None);
    }
}
