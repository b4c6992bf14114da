//! The call that gives a visitor the challenge that a join or a claim must solve.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use fairgate_base::clock::rfc3339;
use fairgate_base::http::{Problem, QueryParams};
use fairgate_pass::{Holder, VOID};
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde::{Deserialize, Serialize};

use super::required;
use crate::line::{GivenChallenge, WaitingLine};
use crate::web::peer_of;

/// Who will join or claim.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChallengeQuery {
    /// The holder: the SHA-256 of the secret, as hex. May be missing if the request shows a place.
    holder: Option<Holder>,
}

/// What must be solved.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Challenge)]
struct ChallengeAnswer {
    /// `pow`: proof of work. `turnstile`, `hcaptcha`: the check of that provider.
    kind: &'static str,
    /// A challenge of ALTCHA v2. The solution is its payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    altcha: Option<serde_json::Value>,
    /// How long (seconds) an average phone works if it has no luck and must try every counter.
    #[serde(skip_serializing_if = "Option::is_none")]
    phone_s: Option<u64>,
    /// The installation's key at the provider. The solution is the provider's answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    site_key: Option<String>,
    /// What the check must be bound to, as Turnstile's `cData`.
    #[serde(skip_serializing_if = "Option::is_none")]
    cdata: Option<String>,
    /// The address of the provider's script.
    #[serde(skip_serializing_if = "Option::is_none")]
    script: Option<String>,
    /// The time by which the solution must arrive, RFC 3339.
    expires_at: String,
}

impl From<GivenChallenge> for ChallengeAnswer {
    fn from(challenge: GivenChallenge) -> Self {
        match challenge {
            GivenChallenge::Work(work) => Self {
                kind: "pow",
                altcha: Some(work.altcha),
                phone_s: Some(work.level.phone_s()),
                site_key: None,
                cdata: None,
                script: None,
                expires_at: rfc3339(work.expires_at),
            },
            GivenChallenge::Check(check) => Self {
                kind: check.provider.name(),
                altcha: None,
                phone_s: None,
                site_key: Some(check.site_key),
                cdata: Some(check.cdata),
                script: Some(check.script),
                expires_at: rfc3339(check.expires_at),
            },
        }
    }
}

/// What a join or a claim must solve
#[utoipa::path(get, path = "/v1/rooms/{room}/challenge", tag = "lobby", params(("room" = String, Path,), ("holder" = Option<String>, Query,)),
    responses((status = 200, body = ChallengeAnswer), (status = 204, description = "Nothing"), (status = 403, description = "network_full, network_denied"), (status = 404), (status = 429, description = "too_many_joins")))]
pub(crate) async fn challenge(
    State(waiting_line): State<WaitingLine>,
    Path(id): Path<String>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    QueryParams(query): QueryParams<ChallengeQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let room = waiting_line.rooms.get(&id)?;
    let network = waiting_line.web.network(&headers, peer_of(peer.as_deref()));
    waiting_line.challenge_guard.admit(network)?;
    let now = waiting_line.rooms.now_ms();
    let mut rng = StdRng::from_rng(&mut rand::rng());
    let holder = match query.holder {
        Some(holder) => Some(holder),
        None => required(&waiting_line.rooms, &room, &headers, now)
            .await
            .ok()
            .map(|place| place.holder),
    };
    let given_challenge = waiting_line
        .challenge(&room, holder.unwrap_or(VOID), network, now, &mut rng)
        .await?;
    if given_challenge.is_some() && holder.is_none() {
        return Err(Problem::invalid_field(
            "holder",
            "holder is missing, and no place was shown: holder is the SHA-256 of the 32 bytes of your own secret, as 64 hex digits. Nothing was changed. Ask again with it.",
        ));
    }
    let no_store = (header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(match given_challenge {
        None => (StatusCode::NO_CONTENT, [no_store]).into_response(),
        Some(given_challenge) => {
            ([no_store], Json(ChallengeAnswer::from(given_challenge))).into_response()
        }
    })
}
