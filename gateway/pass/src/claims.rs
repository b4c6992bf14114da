//! What each signed thing says. Times are unix seconds, but for those that people read, which are
//! RFC 3339. `iss` and `aud` stand in the JWTs and not in these types: signing writes them and
//! verifying checks them, so nobody can fill them in wrongly.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::{Digest, Holder};

/// A place: who stands at which number of which room. It does not run out, except in a room whose
/// places expire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceClaims {
    /// The room's slug.
    pub room: String,
    /// The life of the room store that gave the number.
    pub incarnation: u64,
    /// The join number, from 0.
    pub number: u64,
    /// The holder.
    pub sub: Holder,
    /// SHA-256 of the code that was used to join, where the room wants codes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Digest>,
    /// The draw's commitment as it stood when the visitor joined.
    pub commitment: Digest,
    /// When the number was given.
    pub iat: i64,
    /// When the place runs out: only in the room `everyday`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exp: Option<i64>,
}

/// A pass: its holder may book in the shows of the room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassClaims {
    /// The holder.
    pub sub: Holder,
    /// The room's slug.
    pub room: String,
    /// The rank that was released.
    pub rank: u64,
    /// The join number behind the rank.
    pub number: u64,
    /// When the pass was claimed.
    pub iat: i64,
    /// From when it holds.
    pub nbf: i64,
    /// When it runs out for new holds.
    pub exp: i64,
    /// Names the pass for revocation and audit.
    pub jti: String,
}

/// The frozen line of a room, as published before the draw: exactly these members are signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreezeClaims {
    /// The room's slug.
    pub room: String,
    /// How many numbers are drawn: 0 … n-1.
    pub n: u64,
    /// How many of them nobody holds.
    pub voids: u64,
    /// The RFC 6962 root over the n leaves.
    pub root: Digest,
    /// RFC 3339, UTC.
    pub frozen_at: String,
}

/// A ticket: one seat of one show. What a door needs to know without a network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TicketClaims {
    /// `ticket_…`
    pub ticket: String,
    /// `order_…`
    pub order: String,
    /// The show's slug.
    pub show: String,
    /// The seat's label.
    pub seat: String,
    /// The stretches it is good for; `[0]` where the show has one.
    pub legs: Vec<u16>,
    /// The show's title.
    pub title: String,
    /// When the show begins, RFC 3339.
    pub starts_at: String,
    /// Who it was bought for, where that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// When it was issued.
    pub iat: i64,
    /// Paid in the sandbox: opens no door.
    pub test: bool,
}

/// A pass whose signature holds. It may have run out: then its holder may still pay, read and
/// cancel what it began, and nothing more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerifiedPass {
    /// Good for everything.
    Live(LivePass),
    /// Good for finishing only.
    RanOut(PassClaims),
}

/// A verified pass that had not run out. Only verifying makes one, so a function that begins
/// something new asks for it in its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LivePass(pub(crate) PassClaims);

/// The pass was good and has run out: no new holds; what was begun can still be finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the pass ran out; what was begun with it can still be finished, for new seats claim another pass"
)]
pub struct PassExpiredError {
    /// The pass's `exp`, unix seconds.
    pub exp: i64,
}

impl VerifiedPass {
    /// The pass for beginning something new.
    pub fn require_live(&self) -> Result<&LivePass, PassExpiredError> {
        match self {
            Self::Live(pass) => Ok(pass),
            Self::RanOut(claims) => Err(PassExpiredError { exp: claims.exp }),
        }
    }

    /// Whose pass it is, live or not.
    pub fn holder(&self) -> Holder {
        self.claims().sub
    }

    /// The room it was claimed in, live or not.
    pub fn room(&self) -> &str {
        &self.claims().room
    }

    /// What the pass says, live or not: for reading, not for deciding whether something new may
    /// begin.
    pub fn claims(&self) -> &PassClaims {
        match self {
            Self::Live(pass) => &pass.0,
            Self::RanOut(claims) => claims,
        }
    }
}

impl Deref for LivePass {
    type Target = PassClaims;
    fn deref(&self) -> &PassClaims {
        &self.0
    }
}
