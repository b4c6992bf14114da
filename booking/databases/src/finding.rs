//! What was found last when somebody asked whether the database takes writes: all who ask within
//! half a second share one finding, so that asking costs the database next to nothing.

use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use crate::LedgerError;

/// Whoever asks again sooner hears the last finding.
const COUNTS_FOR: Duration = Duration::from_millis(500);

/// The last finding.
#[derive(Default)]
pub(crate) struct LastWriteCheck {
    /// Held while one looks, so that whoever asks meanwhile waits for what that one finds.
    last: Mutex<Option<(Instant, Result<(), String>)>>,
}

impl LastWriteCheck {
    /// The last finding where it is fresh; else what `look` finds.
    pub(crate) async fn or_look(
        &self,
        look: impl Future<Output = Result<(), LedgerError>>,
    ) -> Result<(), LedgerError> {
        let mut last = self.last.lock().await;
        if let Some((at, found)) = &*last
            && at.elapsed() < COUNTS_FOR
        {
            return found.clone().map_err(LedgerError::Unavailable);
        }
        let found = look.await.map_err(|error| match error {
            LedgerError::Unavailable(reason) => reason,
            other => other.to_string(),
        });
        *last = Some((Instant::now(), found.clone()));
        found.map_err(LedgerError::Unavailable)
    }
}
