//! Answers over HTTP. The answer to a call with an `Idempotency-Key` is stored, and a repeated call
//! gets the stored answer. Answers 429 and 5xx are not stored. A repeated call then acts again.

mod answer;
#[cfg(test)]
mod tests;

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use fairgate_base::http::{Problem, ProblemCode};

pub use answer::JsonAnswer;
use answer::{in_flight, mismatch, replay, respond};

pub use crate::idempotency::IdempotencyAnswers;
use crate::idempotency::IdempotencyCheck;

/// The longest key that is accepted, in characters.
const KEY_MAX: usize = 255;

/// Reads the `Idempotency-Key` of a request.
///
/// # Errors
/// 400 `idempotency_key_invalid` if the key is empty, unprintable or too long.
pub fn key_of(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    match value.to_str() {
        Ok(key) if (1..=KEY_MAX).contains(&key.len()) => Ok(Some(key.to_owned())),
        _ => Err(Problem::new(
            ProblemCode::IdempotencyKeyInvalid,
            format!(
                "An Idempotency-Key has 1 to {KEY_MAX} printable ASCII characters. Nothing was changed."
            ),
        )),
    }
}

impl IdempotencyAnswers {
    /// Answers a call. Without a key, `act` runs. With a key, `act` runs only if no answer is
    /// stored for the call. Otherwise the caller gets the stored answer. While the first call is
    /// still running, a repeated call gets a problem. A different call with the same key always
    /// gets a problem.
    ///
    /// Keys of different callers are independent. `caller` identifies the caller, `call` names
    /// method and path, and `body` is the body that was sent.
    pub async fn answer_once(
        &self,
        caller: &[u8],
        call: &str,
        key: Option<String>,
        body: &[u8],
        act: impl Future<Output = Result<JsonAnswer, Problem>>,
    ) -> Response {
        let Some(key) = key else {
            return respond(act.await);
        };
        let underway = match self.begin(caller, call, key, body).await {
            Ok(IdempotencyCheck::Act(underway)) => underway,
            Ok(IdempotencyCheck::Answered(kept)) => return replay(kept),
            Ok(IdempotencyCheck::Running) => return in_flight().into_response(),
            Ok(IdempotencyCheck::OtherCall) => return mismatch().into_response(),
            Err(error) => return Problem::from(error).into_response(),
        };
        let result = tokio::select! {
            result = act => result,
            never = underway.renew_lease() => match never {},
        };
        let (status, body) = match &result {
            Ok(answer) => (answer.status, answer.body.to_string()),
            Err(problem) => (problem.status, problem.json_document().to_string()),
        };
        let is_temporary = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
        underway
            .keep_answer(status.as_u16(), body, is_temporary)
            .await;
        respond(result)
    }
}
