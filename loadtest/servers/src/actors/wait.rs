//! Waits for a condition. If the condition is not met in time, the panic message names the
//! condition. Also repeats a call to an overloaded server at the time that the server gives.

use std::time::{Duration, Instant};

use super::TestAnswer;

/// The longest wait for a condition. It is long enough for a slow machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The pause between two calls of `look`.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Calls `look` again and again until it returns a value.
///
/// # Panics
/// Where `look` returns no value within [`PATIENCE`].
pub async fn until<T>(what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
    until_within(what, PATIENCE, look).await
}

/// Does the same as [`until`], with another deadline.
///
/// # Panics
/// Where `look` returns no value within the deadline.
pub async fn until_within<T>(
    what: &str,
    deadline: Duration,
    look: impl AsyncFnMut() -> Option<T>,
) -> T {
    let found = within(deadline, look).await;
    found.unwrap_or_else(|| panic!("not within {deadline:?}: {what}"))
}

/// Does the same as [`until_within`], but returns `None` if the deadline has passed.
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

/// Sends a call. If the server is overloaded or looks at codes slowly, repeats the call at the time
/// that the server gives, as the pages do. So a test that is not about overload also passes on a
/// slow machine.
pub async fn coming_back(ask: impl AsyncFn() -> TestAnswer) -> TestAnswer {
    let started = Instant::now();
    loop {
        let answer = ask().await;
        let body = answer.text();
        let is_shed = match answer.status {
            429 => body.contains("\"overload\"") || body.contains("\"codes_paused\""),
            503 => body.contains("\"busy\""),
            _ => false,
        };
        let back_in = answer
            .header("retry-after")
            .parse()
            .map(Duration::from_secs);
        match back_in {
            Ok(back_in) if is_shed && started.elapsed() + back_in < PATIENCE => {
                tokio::time::sleep(back_in).await;
            }
            _ => return answer,
        }
    }
}
