//! Proof of work by the ALTCHA protocol, version 2. Only this file uses the altcha crate.
//!
//! The server signs each challenge, and stores nothing until it is solved. The solver tries the
//! counters 0, 1, 2 and so on. The server chose the right counter at random, so the solver may have
//! to try them all.

use std::collections::BTreeMap;

use altcha::{
    CreateChallengeOptions, Payload, VerifySolutionOptions, create_challenge, verify_solution,
};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use fairgate_pass::Holder;
use fairgate_rules::network_limits::WorkLevel;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::store::SingleUseId;

/// How long (ms) a visitor may take to solve a challenge and to send the solution back.
const LIFETIME_MS: i64 = 120_000;

/// How many rounds of the hash one counter takes. So many rounds take much longer than the 20 µs
/// that a browser needs to begin a call. The server derives one key for each challenge, and can
/// still afford that.
const ROUNDS: u32 = 1_000;

/// How many counters of [`ROUNDS`] rounds a phone tries in a second. One core of a server tries six
/// times as many.
const COUNTERS_PER_PHONE_S: u64 = 1_250;

/// How long (bytes) a solution may be. A longer one is refused.
const SOLUTION_BYTES_MAX: usize = 4_096;

/// A challenge, how much work it is, and when it ends.
#[derive(Debug, Clone)]
pub struct WorkChallenge {
    /// The challenge of ALTCHA v2 as JSON. A visitor sends the solution as an ALTCHA payload.
    pub altcha: Value,
    /// How much work it is.
    pub level: WorkLevel,
    /// The time by which the solution must arrive, milliseconds since the epoch.
    pub expires_at: i64,
}

/// The challenge could not be made.
#[derive(Debug, thiserror::Error)]
#[error("altcha made no challenge: {0}")]
pub struct ChallengeFault(String);

/// A challenge that was solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SolvedWork {
    /// How much work it was.
    pub level: WorkLevel,
    /// The id of the challenge. A solution of the challenge counts only once.
    pub challenge_id: SingleUseId,
    /// Whether the challenge was given in place of the check of the room's provider.
    pub stands_in: bool,
}

/// Why a solution does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChallengeRefusal {
    /// The text is not a solution of a challenge of this installation.
    #[error("the text is no solution of a challenge that this site gave")]
    Malformed,
    /// The challenge was given for another room or another holder.
    #[error("the challenge was given for another room, secret or key")]
    ForAnother,
    /// The challenge has ended.
    #[error("the challenge ran out before it was solved")]
    Expired,
    /// The solution is wrong.
    #[error("the solution is wrong")]
    Wrong,
    /// The wait that replaces the work is not over.
    #[error("the wait is not over")]
    NotYet {
        /// When the wait is over, milliseconds since the epoch.
        ready_at: i64,
    },
}

/// What a challenge is bound to. The challenge contains these fields, and its signature covers
/// them.
#[derive(Debug, Serialize, Deserialize)]
struct ChallengeBinding {
    room: String,
    holder: Holder,
    level: WorkLevel,
    expires_at: i64,
    /// Whether the work stands in for a provider's check.
    #[serde(default)]
    stands_in: bool,
}

/// Makes challenges and checks their solutions.
#[derive(Clone)]
pub struct WorkChallenger {
    secret: String,
    key_secret: String,
}

impl WorkChallenger {
    /// Makes a challenger from the installation's secret, which all nodes share.
    #[must_use]
    pub fn new(secret: [u8; 32]) -> Self {
        let secret = hex::encode(secret);
        Self {
            key_secret: format!("key/{secret}"),
            secret: format!("challenge/{secret}"),
        }
    }

    /// Returns whether a text has the form of a solution.
    #[must_use]
    pub fn has_solution_form(text: &str) -> bool {
        parse_payload(text).is_some()
    }

    /// Makes a challenge for a holder of a room. `stands_in` says that the challenge is given in
    /// place of a provider's check.
    ///
    /// # Errors
    /// Fails only if altcha cannot write its own challenge.
    pub fn challenge(
        &self,
        room: &str,
        holder: Holder,
        level: WorkLevel,
        stands_in: bool,
        now: i64,
        rng: &mut impl Rng,
    ) -> Result<WorkChallenge, ChallengeFault> {
        let fault = |error: &dyn std::fmt::Display| ChallengeFault(error.to_string());
        let binding = ChallengeBinding {
            room: room.to_owned(),
            holder,
            level,
            expires_at: now.saturating_add(LIFETIME_MS),
            stands_in,
        };
        let counters = level.phone_s().saturating_mul(COUNTERS_PER_PHONE_S);
        let counter_end = u32::try_from(counters).unwrap_or(u32::MAX).max(1);
        let data = serde_json::to_value(&binding).and_then(serde_json::from_value);
        let challenge = create_challenge(CreateChallengeOptions {
            algorithm: "PBKDF2/SHA-256".to_owned(),
            cost: ROUNDS,
            counter: Some(rng.random_range(0..counter_end)),
            data: Some(data.map_err(|error| fault(&error))?),
            hmac_signature_secret: Some(self.secret.clone()),
            hmac_key_signature_secret: Some(self.key_secret.clone()),
            ..CreateChallengeOptions::default()
        })
        .map_err(|error| fault(&error))?;
        Ok(WorkChallenge {
            altcha: serde_json::to_value(challenge).map_err(|error| fault(&error))?,
            level,
            expires_at: binding.expires_at,
        })
    }

    /// Checks a solution, which is an ALTCHA payload. First compares the room, the holder and the
    /// time that the challenge is bound to. Then checks the challenge's signature. No key is
    /// derived here. The challenge also contains a signature of the right key, which the solution's
    /// key must match.
    ///
    /// # Errors
    /// [`ChallengeRefusal`].
    pub fn verify(
        &self,
        room: &str,
        holder: Holder,
        solution: &str,
        now: i64,
    ) -> Result<SolvedWork, ChallengeRefusal> {
        let payload = parse_payload(solution).ok_or(ChallengeRefusal::Malformed)?;
        let parameters = &payload.challenge.parameters;
        let binding = parse_binding(parameters.data.as_ref()).ok_or(ChallengeRefusal::Malformed)?;
        let mut id = [0; 16];
        hex::decode_to_slice(&parameters.nonce, &mut id)
            .map_err(|_| ChallengeRefusal::Malformed)?;
        if binding.room != room || binding.holder != holder {
            return Err(ChallengeRefusal::ForAnother);
        }
        if binding.expires_at <= now {
            return Err(ChallengeRefusal::Expired);
        }
        let verified = verify_solution(VerifySolutionOptions {
            hmac_key_signature_secret: Some(self.key_secret.clone()),
            ..VerifySolutionOptions::new(&payload.challenge, &payload.solution, &*self.secret)
        })
        .map_err(|_| ChallengeRefusal::Malformed)?;
        if verified.invalid_signature != Some(false) {
            return Err(ChallengeRefusal::Malformed);
        }
        // If a challenge has no signature of its key, altcha compares only the key's prefix.
        if !verified.verified || parameters.key_signature.is_none() {
            return Err(ChallengeRefusal::Wrong);
        }
        Ok(SolvedWork {
            level: binding.level,
            challenge_id: SingleUseId {
                id,
                expires_at: binding.expires_at,
            },
            stands_in: binding.stands_in,
        })
    }
}

fn parse_payload(solution: &str) -> Option<Payload> {
    if solution.len() > SOLUTION_BYTES_MAX {
        return None;
    }
    let json = BASE64_STANDARD.decode(solution).ok()?;
    serde_json::from_slice(&json).ok()
}

fn parse_binding(data: Option<&BTreeMap<String, Value>>) -> Option<ChallengeBinding> {
    let object = data?.clone().into_iter().collect();
    serde_json::from_value(Value::Object(object)).ok()
}

#[cfg(test)]
mod tests {
    use altcha::{Challenge, SolveChallengeOptions, solve_challenge};
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    fn challenger() -> WorkChallenger {
        WorkChallenger::new([3; 32])
    }

    fn given(now: i64) -> Challenge {
        let mut rng = StdRng::seed_from_u64(1);
        let given = challenger()
            .challenge("r", Holder([1; 32]), WorkLevel::FIRST, false, now, &mut rng)
            .expect("a challenge");
        serde_json::from_value(given.altcha).expect("a challenge of altcha")
    }

    fn solved(challenge: &Challenge) -> String {
        let solution = solve_challenge(SolveChallengeOptions::new(challenge))
            .expect("it can be solved")
            .expect("it is solved in time");
        payload(challenge, solution)
    }

    fn payload(challenge: &Challenge, solution: altcha::Solution) -> String {
        let payload = Payload {
            challenge: challenge.clone(),
            solution,
        };
        BASE64_STANDARD.encode(serde_json::to_vec(&payload).expect("JSON"))
    }

    #[test]
    fn a_solution_counts_for_its_room_and_holder_until_it_ends() {
        let challenge = given(0);
        let solution = solved(&challenge);
        let verify = |room, holder, now| challenger().verify(room, Holder(holder), &solution, now);
        let work = verify("r", [1; 32], LIFETIME_MS - 1).expect("it counts");
        assert_eq!(work.level, WorkLevel::FIRST);
        assert_eq!(work.challenge_id.expires_at, LIFETIME_MS);
        assert_eq!(verify("q", [1; 32], 0), Err(ChallengeRefusal::ForAnother));
        assert_eq!(verify("r", [2; 32], 0), Err(ChallengeRefusal::ForAnother));
        assert_eq!(
            verify("r", [1; 32], LIFETIME_MS),
            Err(ChallengeRefusal::Expired)
        );
    }

    #[test]
    fn a_solution_with_a_changed_challenge_or_a_wrong_key_does_not_count() {
        let challenge = given(0);
        let verify = |text: &str| challenger().verify("r", Holder([1; 32]), text, 0);
        let mut cheaper = challenge.clone();
        cheaper.parameters.key_prefix = "00".to_owned();
        assert_eq!(verify(&solved(&cheaper)), Err(ChallengeRefusal::Malformed));
        let mut unsigned = challenge.clone();
        unsigned.parameters.key_signature = None;
        unsigned.signature = None;
        assert_eq!(verify(&solved(&unsigned)), Err(ChallengeRefusal::Malformed));
        let wrong = altcha::Solution {
            counter: 0,
            derived_key: challenge.parameters.key_prefix.repeat(2),
            time: None,
        };
        assert_eq!(
            verify(&payload(&challenge, wrong)),
            Err(ChallengeRefusal::Wrong)
        );
        let other = WorkChallenger::new([4; 32]);
        assert_eq!(
            other.verify("r", Holder([1; 32]), &solved(&challenge), 0),
            Err(ChallengeRefusal::Malformed)
        );
    }

    #[test]
    fn rubbish_is_refused() {
        for rubbish in [
            "",
            "e30=",
            "{}",
            "\u{0}",
            &"A".repeat(SOLUTION_BYTES_MAX + 4),
        ] {
            assert_eq!(
                challenger().verify("r", Holder([1; 32]), rubbish, 0),
                Err(ChallengeRefusal::Malformed)
            );
        }
    }
}
