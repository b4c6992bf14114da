//! Waiting for a condition, with a deadline that names what was waited for.

use std::time::{Duration, Instant};

/// How long anything may take before a test says that it did not happen.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// How long to let the server work before looking again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Asks again and again until there is an answer.
///
/// # Panics
/// When `deadline` has passed.
pub async fn until<T>(what: &str, deadline: Duration, ask: impl AsyncFnMut() -> Option<T>) -> T {
    within(deadline, ask)
        .await
        .unwrap_or_else(|| panic!("not within {deadline:?}: {what}"))
}

/// The same for a caller who has more to say of a deadline that has passed, which is `None`.
pub async fn within<T>(deadline: Duration, mut ask: impl AsyncFnMut() -> Option<T>) -> Option<T> {
    let started = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return Some(answer);
        }
        if started.elapsed() >= deadline {
            return None;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}
