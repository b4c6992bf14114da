//! Caches whether the database takes writes. All callers within half a second get the same answer,
//! so the check costs the database almost nothing.

use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use crate::LedgerError;

/// How long an answer is cached. A caller who asks again sooner gets the same answer.
const CACHED_FOR: Duration = Duration::from_millis(500);

/// The last answer. Only one caller at a time asks the database.
#[derive(Default)]
pub(crate) struct LastWriteCheck {
    /// Locked while one caller asks the database. Other callers wait for the lock, and then get the
    /// same answer.
    last: Mutex<Option<(Instant, Result<(), String>)>>,
}

impl LastWriteCheck {
    /// Returns the last answer if it is fresh. Otherwise runs `check`, and stores and returns its
    /// answer.
    pub(crate) async fn get_or_check(
        &self,
        check: impl Future<Output = Result<(), LedgerError>>,
    ) -> Result<(), LedgerError> {
        let mut last = self.last.lock().await;
        if let Some((at, answer)) = &*last
            && at.elapsed() < CACHED_FOR
        {
            return answer.clone().map_err(LedgerError::Unavailable);
        }
        let answer = check.await.map_err(|error| match error {
            LedgerError::Unavailable(reason) => reason,
            other => other.to_string(),
        });
        *last = Some((Instant::now(), answer.clone()));
        answer.map_err(LedgerError::Unavailable)
    }
}
