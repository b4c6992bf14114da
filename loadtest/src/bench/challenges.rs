//! Solves the challenges that a gateway gives, as a browser or a bot does.

use std::time::Duration;

use altcha::{Challenge, Payload, SolveChallengeOptions, solve_challenge};
use anyhow::{Context, bail};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::http::{LoadHttpAnswer, LoadHttpCall, LoadHttpClient};

/// How many counters a phone tries in a second. The gateway assumes the same number when it sets
/// the work of a challenge.
const COUNTERS_PER_PHONE_S: f64 = 1_250.0;

/// A proof of work that was solved.
pub struct SolvedProof {
    /// The solution in the form that the gateway accepts.
    pub payload: String,
    /// How long an average phone would have worked, in seconds.
    pub phone_s: f64,
}

/// Solves a proof of work on this thread. Returns `None` if it took longer than `within`.
///
/// # Errors
/// Where the challenge cannot be read or solved.
pub fn solve(altcha: Value, within: Duration) -> anyhow::Result<Option<SolvedProof>> {
    let challenge: Challenge =
        serde_json::from_value(altcha).context("the challenge could not be read")?;
    let mut options = SolveChallengeOptions::new(&challenge);
    options.timeout_ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX).max(1);
    let solution = match solve_challenge(options) {
        Ok(Some(solution)) => solution,
        Ok(None) => return Ok(None),
        Err(error) => bail!("the challenge could not be solved: {error}"),
    };
    let phone_s = f64::from(solution.counter + 1) / COUNTERS_PER_PHONE_S;
    let payload = serde_json::to_vec(&Payload {
        challenge,
        solution,
    })?;
    Ok(Some(SolvedProof {
        payload: BASE64_STANDARD.encode(payload),
        phone_s,
    }))
}

/// Asks for the challenge of a visitor with this secret.
///
/// # Errors
/// Where no answer comes.
pub async fn ask(
    http: &LoadHttpClient,
    room: &str,
    secret: &[u8; 32],
    address: &str,
    person: usize,
) -> anyhow::Result<LoadHttpAnswer> {
    let holder = hex::encode(Sha256::digest(secret));
    let task = LoadHttpCall::get(format!("/v1/rooms/{room}/challenge?holder={holder}"));
    let answer = http.send(&task.forwarded(address), person).await;
    answer.map_err(anyhow::Error::msg)
}

/// Joins with the solution of a challenge, if there is one.
///
/// # Errors
/// Where no answer comes.
pub async fn join(
    http: &LoadHttpClient,
    room: &str,
    secret: &[u8; 32],
    solution: Option<&str>,
    address: &str,
    person: usize,
) -> anyhow::Result<LoadHttpAnswer> {
    let mut body = json!({"secret": hex::encode(secret)});
    if let Some(solution) = solution {
        body["challenge"] = solution.into();
    }
    let join = LoadHttpCall::post(format!("/v1/rooms/{room}/places"), body);
    let answer = http.send(&join.forwarded(address), person).await;
    answer.map_err(anyhow::Error::msg)
}
