//! Waiting for a condition, with a deadline that names what was waited for.

use std::time::Duration;

/// How long a condition may take to come about on a slow machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How long to let others work before looking again.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Looks again and again until something is there.
///
/// # Panics
/// When it is not there within [`PATIENCE`].
pub async fn until<T>(what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
    until_within(what, PATIENCE, look).await
}

/// As [`until`], where it must be there sooner.
///
/// # Panics
/// When it is not.
pub async fn until_within<T>(
    what: &str,
    deadline: Duration,
    look: impl AsyncFnMut() -> Option<T>,
) -> T {
    let found = within(deadline, look).await;
    found.unwrap_or_else(|| panic!("not within {deadline:?}: {what}"))
}

/// As [`until`], for a caller who has more to say of a deadline that has passed, which is `None`.
pub async fn within<T>(deadline: Duration, mut look: impl AsyncFnMut() -> Option<T>) -> Option<T> {
    let search = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    };
    tokio::time::timeout(deadline, search).await.ok()
}
