//! Joining: one place for one holder, and for one code; the same visitor always finds the same place.

use axum::http::HeaderMap;
use fairgate_base::clock::rfc3339;
use fairgate_base::http::Problem;
use fairgate_pass::{Digest, Holder};
use rand::Rng;
use serde::Deserialize;

use super::Lobby;
use super::rejoin::{Shown, recognise, shown};
use crate::line::claim::room_closed;
use crate::room::{EVERYDAY_PLACE_S, Method, Phase, Room};
use crate::store::{Entrant, JoinRefused, Place};
use crate::web::Network;

/// The body of a join.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JoinBody {
    /// 32 random bytes of the client's, hex. Else the server makes one and returns it.
    pub secret: Option<String>,
    /// For device-bound rooms, which are not available yet.
    #[schema(value_type = Option<Object>)]
    pub key: Option<serde_json::Value>,
    /// Where the room asks for one.
    pub code: Option<String>,
    /// For rooms with a challenge, which are not available yet.
    #[schema(value_type = Option<Object>)]
    pub challenge: Option<serde_json::Value>,
    /// For rooms with lanes, which are not available yet.
    pub lane: Option<String>,
}

/// How a join ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// The place, new or found.
    pub place: Place,
    /// The secret the server made, hex.
    pub secret: Option<String>,
}

impl Lobby {
    /// Joins `room` at `now` (ms), or finds the place of before.
    ///
    /// # Errors
    /// As the contract lists them for `POST …/places`.
    pub async fn join(
        &self,
        room: &Room,
        headers: &HeaderMap,
        body: &JoinBody,
        network: Network,
        now: i64,
    ) -> Result<Joined, Problem> {
        refuse_unbuilt(body, room.needs_code())?;
        let secret = body.secret.as_deref().map(parse_secret).transpose()?;
        if let Some(place) = self.of_before(room, headers, now).await? {
            return Ok(Joined {
                place,
                secret: None,
            });
        }
        let (secret, made) = secret.map_or_else(make_secret, |secret| (secret, None));
        let holder = Holder::of_secret(&secret);
        if !self.has_place(room, holder, now).await? {
            check_phase(room, now)?;
            // First: who is sent away for the load's sake has not used up its network's share.
            self.load.admit_join()?;
            self.guard.admit(network)?;
        }
        // Also where there is a place already: another call of the same visitor may still be writing it.
        let code = body
            .code
            .as_deref()
            .map(|code| Digest::of(code.trim().as_bytes()));
        let entrant = Entrant {
            holder,
            code,
            needs_code: room.needs_code(),
            now,
        };
        let place = self
            .rooms
            .store()
            .join(room.id(), entrant)
            .await
            .map_err(|why| refused(&why))?;
        if place.fresh {
            self.load.joined();
            metrics::counter!("fairgate_joins_total", "room" => room.id().to_owned()).increment(1);
        }
        if room.row().document.method == Method::Open {
            room.nudge();
        }
        Ok(Joined {
            place,
            secret: made,
        })
    }

    /// The place that the request shows. A cookie that is no longer good is passed over, since the browser sends it
    /// unasked and a new place replaces it; a place shown on purpose must be good.
    async fn of_before(
        &self,
        room: &Room,
        headers: &HeaderMap,
        now: i64,
    ) -> Result<Option<Place>, Problem> {
        match shown(room.id(), headers) {
            None => Ok(None),
            Some(Shown::Cookie(jwt)) => Ok(recognise(&self.rooms, room, jwt, now).await.ok()),
            Some(Shown::Bearer(jwt)) => recognise(&self.rooms, room, jwt, now).await.map(Some),
        }
    }

    /// Whether the holder stands here already; a place of the built-in room that ran out is given up first.
    async fn has_place(&self, room: &Room, holder: Holder, now: i64) -> Result<bool, Problem> {
        let place = self.rooms.store().place_of(room.id(), holder).await;
        let Some(place) = place.map_err(|error| error.problem())? else {
            return Ok(false);
        };
        let ran_out = room.is_everyday() && now - place.at >= EVERYDAY_PLACE_S * 1000;
        if ran_out {
            self.leave(room, &place, now).await?;
        }
        Ok(!ran_out)
    }
}

fn refuse_unbuilt(body: &JoinBody, needs_code: bool) -> Result<(), Problem> {
    let unbuilt = [
        (
            "key",
            body.key.is_some(),
            "places are bound to the cookie here",
        ),
        (
            "challenge",
            body.challenge.is_some(),
            "this room asks for none",
        ),
        ("lane", body.lane.is_some(), "this room has one line"),
        (
            "code",
            body.code.is_some() && !needs_code,
            "this room asks for none",
        ),
    ];
    for (field, given, why) in unbuilt {
        if given {
            let detail = format!(
                "{field} is not available: {why}. You have no place yet; leave the field out and join again."
            );
            return Err(Problem::not_available(field, detail));
        }
    }
    Ok(())
}

fn parse_secret(text: &str) -> Result<[u8; 32], Problem> {
    let mut secret = [0; 32];
    hex::decode_to_slice(text, &mut secret).map_err(|_| {
        Problem::field("secret", "secret must be 64 hex digits: 32 random bytes. Nothing was changed; leave it out to get one.")
    })?;
    Ok(secret)
}

fn make_secret() -> ([u8; 32], Option<String>) {
    let mut secret = [0; 32];
    rand::rng().fill_bytes(&mut secret);
    (secret, Some(hex::encode(secret)))
}

fn check_phase(room: &Room, now: i64) -> Result<(), Problem> {
    match room.phase(now) {
        Phase::Closed => Err(room_closed()),
        Phase::Scheduled => {
            let opens_at = rfc3339(room.row().document.opens_at);
            Err(Problem::new(
                409,
                "not_open",
                "The lobby is not open yet",
                format!("It opens at {opens_at}. You have no place yet, and nobody else has. Come back then."),
            )
            .with("opens_at", opens_at))
        }
        Phase::Prequeue | Phase::Drawing | Phase::Selling | Phase::SoldOut => Ok(()),
    }
}

fn refused(why: &JoinRefused) -> Problem {
    match why {
        JoinRefused::CodeInvalid => Problem::new(
            403,
            "code_invalid",
            "The code is not valid here",
            "This room asks for a code, and what was given is none of its codes. You have no place yet, and the code was not used up. Check it letter by letter.",
        )
        .with("field", "code"),
        JoinRefused::CodeUsed => Problem::new(
            403,
            "code_used",
            "The code was used before",
            "A code gives one place, and this one has given it. Nothing was changed. If it was you, come back with the browser you joined with.",
        )
        .with("field", "code"),
        JoinRefused::Store(error) => error.problem(),
    }
}
