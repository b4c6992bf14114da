//! Caches the answer to the question whether the database takes writes. All callers within half a
//! second share one answer, so that the check costs the database almost nothing.

use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use crate::LedgerError;

/// How long an answer is cached. A caller who asks again sooner gets the same answer.
const CACHED_FOR: Duration = Duration::from_millis(500);

/// The last answer, and the lock that lets only one caller ask the database at a time.
#[derive(Default)]
pub(crate) struct LastWriteCheck {
    /// Locked while one caller asks the database, so that callers who come meanwhile wait for its
    /// answer.
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
        if let Some((at, found)) = &*last
            && at.elapsed() < CACHED_FOR
        {
            return found.clone().map_err(LedgerError::Unavailable);
        }
        let found = check.await.map_err(|error| match error {
            LedgerError::Unavailable(reason) => reason,
            other => other.to_string(),
        });
        *last = Some((Instant::now(), found.clone()));
        found.map_err(LedgerError::Unavailable)
    }
}
