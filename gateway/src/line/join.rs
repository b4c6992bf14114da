//! Joining: one place for each holder and each code. A visitor who joins again finds the same
//! place.

use fairgate_pass::Holder;
use fairgate_rules::lanes;
use fairgate_rules::phase::RoomPhase;
use fairgate_rules::room_document::LineMethod;
use rand::Rng;
use serde::Deserialize;

use super::WaitingLine;
use super::moving::MoveRefusal;
use super::rejoin::{PlaceCredential, PlaceRefusal, recognise, refuse_cleared, refuse_revoked};
use super::toll::{NetworkRefusal, TollFor, TollPayer, refusal_of_toll};
use crate::guard::{AttemptKind, GuardRefusal};
use crate::load::LoadRefusal;
use crate::room::{EVERYDAY_PLACE_S, Room};
use crate::store::{NetworkToll, Place, StoreFailure, StoreJoinRefusal, StoreJoinRequest};
use crate::web::ClientNetwork;

/// The body of a join.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JoinBody {
    /// 32 random bytes that the client made, as hex. Without them, the server makes a secret and
    /// returns it.
    pub secret: Option<String>,
    /// For device-bound rooms, which are not available yet.
    #[schema(value_type = Option<Object>)]
    pub key: Option<serde_json::Value>,
    /// The code, if the room asks for one.
    pub code: Option<String>,
    /// The solution of the challenge, if one must be solved: ALTCHA's payload, the answer of the
    /// provider, or the ticket of a wait.
    pub challenge: Option<String>,
    /// A code from `POST …/place/move` on another device. It brings the place of that device
    /// here, and replaces any place that is here. No other field may be given with it.
    #[serde(rename = "move")]
    pub moved: Option<String>,
    /// For rooms with lanes, which are not available yet.
    pub lane: Option<String>,
}

/// How a join ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinOutcome {
    /// The visitor's place, new or found.
    pub place: Place,
    /// The secret as hex, if the server made it.
    pub secret: Option<String>,
}

/// Why a join was refused.
#[derive(Debug, thiserror::Error)]
pub enum JoinRefusal {
    /// The body names a feature that this room does not have.
    #[error("{field} is not available: {why}")]
    NotAvailable {
        /// The field of the body.
        field: &'static str,
        /// Why the feature is not available.
        why: &'static str,
    },
    /// The secret is not 64 hex digits.
    #[error("the secret is not 64 hex digits")]
    SecretMalformed,
    /// The room is over.
    #[error("the room is closed")]
    RoomClosed,
    /// The lobby is not open yet.
    #[error("the lobby is not open yet")]
    NotOpen {
        /// When the lobby opens, milliseconds since the epoch.
        opens_at_ms: i64,
    },
    /// The code that brings a place from another device was refused.
    #[error(transparent)]
    Move(#[from] MoveRefusal),
    /// The place that the request shows is not valid, or the promoter ended it.
    #[error(transparent)]
    Place(#[from] PlaceRefusal),
    /// This process sheds joins because of its load.
    #[error(transparent)]
    Load(#[from] LoadRefusal),
    /// The visitor's network joins too fast.
    #[error(transparent)]
    Guard(#[from] GuardRefusal),
    /// The visitor's network is refused, or the visitor must solve a challenge first.
    #[error(transparent)]
    Network(#[from] NetworkRefusal),
    /// The store gave no number to the visitor.
    #[error(transparent)]
    Line(StoreJoinRefusal),
}

impl From<StoreFailure> for JoinRefusal {
    fn from(failure: StoreFailure) -> Self {
        Self::Line(failure.into())
    }
}

impl WaitingLine {
    /// Joins `room` at `now` (ms), or returns the place that the visitor has already.
    ///
    /// # Errors
    /// Returns the refusals that the contract lists for `POST …/places`.
    pub async fn join(
        &self,
        room: &Room,
        credential: Option<PlaceCredential<'_>>,
        body: &JoinBody,
        network: ClientNetwork,
        now: i64,
    ) -> Result<JoinOutcome, JoinRefusal> {
        if let Some(code) = &body.moved {
            refuse_beside_move(body)?;
            let own_place = self
                .presented_place(room, credential, now)
                .await
                .ok()
                .flatten();
            let place = self
                .redeem_move(room, code, own_place, network, now)
                .await?;
            return Ok(JoinOutcome {
                place,
                secret: None,
            });
        }
        refuse_unbuilt(body, room.needs_code())?;
        let secret = body.secret.as_deref().map(parse_secret).transpose()?;
        if let Some(place) = self.presented_place(room, credential, now).await? {
            return Ok(JoinOutcome {
                place,
                secret: None,
            });
        }
        let (secret, new_secret) = secret.map_or_else(make_secret, |secret| (secret, None));
        let holder = Holder::of_secret(&secret);
        refuse_revoked(room, holder)?;
        let has_place = self.has_place(room, holder, now).await?;
        let toll = if has_place {
            NetworkToll::NONE
        } else {
            check_phase(room, now)?;
            // The load is checked first. A join that is refused because of the load must not use up
            // the quota of its network.
            self.load.admit_join()?;
            self.guard.admit(network)?;
            if body.code.is_some() {
                self.attempts.of(AttemptKind::Code).admit(network)?;
            }
            let payer = TollPayer {
                holder,
                solution: body.challenge.as_deref(),
                network,
            };
            self.toll(room, TollFor::Join, payer, now).await?
        };
        // The store is asked even if the visitor has a place already, because another call of this
        // visitor may still be writing that place.
        let entrant = StoreJoinRequest {
            holder,
            code: None,
            needs_code: room.needs_code(),
            toll,
            now,
        };
        let joined = match body.code.as_deref().filter(|_| !has_place) {
            Some(typed) => self.join_with_code(room, entrant, typed, network).await,
            None => self.join_store(room, entrant).await,
        };
        let place = joined.map_err(|refusal| match refusal {
            JoinRefusal::Line(StoreJoinRefusal::Toll(refusal)) => {
                refusal_of_toll(room, TollFor::Join, refusal).into()
            }
            other => other,
        })?;
        // The store may not have ended the visitor's old place yet.
        refuse_cleared(room, place.number)?;
        if place.fresh {
            self.load.count_join();
            metrics::counter!("fairgate_joins_total", "room" => room.id().to_owned()).increment(1);
        }
        if room.row().document.method == LineMethod::Open {
            room.nudge();
        }
        Ok(JoinOutcome {
            place,
            secret: new_secret,
        })
    }

    async fn join_store(
        &self,
        room: &Room,
        entrant: StoreJoinRequest,
    ) -> Result<Place, JoinRefusal> {
        let joined = self.rooms.store().join(room.id(), entrant).await;
        joined.map_err(JoinRefusal::Line)
    }

    /// Returns the place that the request shows. A place in the header must be valid. An invalid
    /// place in the cookie is ignored, because the browser sends cookies unasked and a new place
    /// replaces it. Of the invalid places in cookies, only a revoked one is refused.
    async fn presented_place(
        &self,
        room: &Room,
        credential: Option<PlaceCredential<'_>>,
        now: i64,
    ) -> Result<Option<Place>, PlaceRefusal> {
        match credential {
            None => Ok(None),
            Some(credential @ PlaceCredential::Cookie(_)) => {
                match recognise(&self.rooms, room, credential, now).await {
                    Ok(place) => Ok(Some(place)),
                    Err(refusal @ PlaceRefusal::Revoked { .. }) => Err(refusal),
                    Err(_) => Ok(None),
                }
            }
            Some(credential @ PlaceCredential::Bearer(_)) => {
                recognise(&self.rooms, room, credential, now)
                    .await
                    .map(Some)
            }
        }
    }

    /// Returns whether the holder has a place already. In the built-in room, leaves the place first
    /// if it has expired.
    pub(super) async fn has_place(
        &self,
        room: &Room,
        holder: Holder,
        now: i64,
    ) -> Result<bool, StoreFailure> {
        let place = self.rooms.store().place_of(room.id(), holder).await;
        let Some(place) = place? else {
            return Ok(false);
        };
        let ran_out = room.is_everyday() && now - place.at >= EVERYDAY_PLACE_S * 1000;
        if ran_out {
            self.leave(room, &place, now).await?;
        }
        Ok(!ran_out)
    }
}

/// Refuses fields that have no meaning for a place that comes from another device.
fn refuse_beside_move(body: &JoinBody) -> Result<(), JoinRefusal> {
    let given_fields = [
        ("secret", body.secret.is_some()),
        ("key", body.key.is_some()),
        ("code", body.code.is_some()),
        ("challenge", body.challenge.is_some()),
        ("lane", body.lane.is_some()),
    ];
    match given_fields.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((field, _)) => Err(JoinRefusal::NotAvailable {
            field,
            why: "a place that comes from another device stays as it is",
        }),
    }
}

fn refuse_unbuilt(body: &JoinBody, needs_code: bool) -> Result<(), JoinRefusal> {
    let unbuilt = [
        (
            "key",
            body.key.is_some(),
            "places are bound to the cookie here",
        ),
        ("lane", body.lane.is_some(), lanes::REFUSED_IN_JOIN),
        (
            "code",
            body.code.is_some() && !needs_code,
            "this room asks for none",
        ),
    ];
    for (field, is_given, why) in unbuilt {
        if is_given {
            return Err(JoinRefusal::NotAvailable { field, why });
        }
    }
    Ok(())
}

fn parse_secret(text: &str) -> Result<[u8; 32], JoinRefusal> {
    let mut secret = [0; 32];
    hex::decode_to_slice(text, &mut secret).map_err(|_| JoinRefusal::SecretMalformed)?;
    Ok(secret)
}

fn make_secret() -> ([u8; 32], Option<String>) {
    let mut secret = [0; 32];
    rand::rng().fill_bytes(&mut secret);
    (secret, Some(hex::encode(secret)))
}

fn check_phase(room: &Room, now: i64) -> Result<(), JoinRefusal> {
    match room.phase(now) {
        RoomPhase::Closed => Err(JoinRefusal::RoomClosed),
        RoomPhase::Scheduled => Err(JoinRefusal::NotOpen {
            opens_at_ms: room.row().document.opens_at,
        }),
        RoomPhase::Prequeue | RoomPhase::Drawing | RoomPhase::Selling | RoomPhase::SoldOut => {
            Ok(())
        }
    }
}
