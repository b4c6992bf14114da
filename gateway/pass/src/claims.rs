//! The contents of each signed value. Times are unix seconds, except those that people read, which
//! are RFC 3339. `iss` and `aud` are members of the JWTs but not of these types: signing writes
//! them and verifying checks them, so nobody can fill them in wrongly.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::{Digest, Holder};

/// A place: a holder's number in the line of a room. Only places of the room `everyday` expire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceClaims {
    /// The room's slug.
    pub room: String,
    /// Always 1. The room's store counts the incarnations of the room's data; places do not.
    pub incarnation: u64,
    /// The join number, from 0.
    pub number: u64,
    /// The visitor who holds the place.
    pub sub: Holder,
    /// SHA-256 of the code that was used to join, if the room requires codes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Digest>,
    /// The commitment to the secret of the room's draw.
    pub commitment: Digest,
    /// When the number was issued, unix seconds.
    pub iat: i64,
    /// When the place expires, unix seconds; only in the room `everyday`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exp: Option<i64>,
}

/// A pass: its holder may book in the shows of the room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassClaims {
    /// The visitor who holds the pass.
    pub sub: Holder,
    /// The room's slug.
    pub room: String,
    /// The visitor's rank in the room.
    pub rank: u64,
    /// The join number that has this rank.
    pub number: u64,
    /// When the pass was claimed, unix seconds.
    pub iat: i64,
    /// When the pass becomes valid, unix seconds.
    pub nbf: i64,
    /// When the pass expires for new holds, unix seconds.
    pub exp: i64,
    /// The id of the pass, for revocation and audit.
    pub jti: String,
}

/// The frozen line of a room, as published before the draw. Exactly these members are signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreezeClaims {
    /// The room's slug.
    pub room: String,
    /// How many numbers are drawn: 0 … n-1.
    pub n: u64,
    /// How many of these numbers nobody holds.
    pub voids: u64,
    /// The RFC 6962 root over the n leaves.
    pub root: Digest,
    /// When the line was frozen, RFC 3339, UTC.
    pub frozen_at: String,
}

/// A ticket for one seat of one show. It contains what a door needs to check it without a network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TicketClaims {
    /// The ticket's id, `ticket_…`.
    pub ticket: String,
    /// The order's id, `order_…`.
    pub order: String,
    /// The show's slug.
    pub show: String,
    /// The seat's label.
    pub seat: String,
    /// The legs that the ticket is valid for; `[0]` if the show has only one leg.
    pub legs: Vec<u16>,
    /// The show's title.
    pub title: String,
    /// When the show begins, RFC 3339.
    pub starts_at: String,
    /// The name of the person who will use the ticket, if the show asks for names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// When the ticket was issued, unix seconds.
    pub iat: i64,
    /// Whether no real money was paid, because the payment provider is in test mode: the sandbox,
    /// or Stripe with test keys. Doors must refuse such a ticket.
    pub test: bool,
}

/// A pass with a valid signature, live or expired. With an expired pass the visitor may still read,
/// pay for and cancel the holds and orders made with it, but make no new ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerifiedPass {
    /// The pass has not expired and allows everything.
    Live(LivePass),
    /// The pass has expired and allows only to finish earlier holds and orders.
    Expired(PassClaims),
}

/// A verified pass that had not expired when it was verified. Only
/// [`verify_pass`](crate::Verifier::verify_pass) and
/// [`verify_pass_cookie`](crate::Keyring::verify_pass_cookie) make one, so functions that make new
/// holds take it as an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LivePass(pub(crate) PassClaims);

/// The pass was valid and has expired. It allows no new holds. The holds and orders that were made
/// with it can still be finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the pass ran out; what was begun with it can still be finished, for new seats claim another pass"
)]
pub struct PassExpiredError {
    /// The pass's `exp`, unix seconds.
    pub exp: i64,
}

impl VerifiedPass {
    /// Returns the pass if it has not expired, so that it allows new holds.
    pub fn require_live(&self) -> Result<&LivePass, PassExpiredError> {
        match self {
            Self::Live(pass) => Ok(pass),
            Self::Expired(claims) => Err(PassExpiredError { exp: claims.exp }),
        }
    }

    /// Returns the visitor who holds the pass, expired or not.
    pub fn holder(&self) -> Holder {
        self.claims().sub
    }

    /// Returns the room in which the pass was claimed, expired or not.
    pub fn room(&self) -> &str {
        &self.claims().room
    }

    /// Returns the contents of the pass, expired or not. Use them for reading, not for deciding
    /// whether something new may begin.
    pub fn claims(&self) -> &PassClaims {
        match self {
            Self::Live(pass) => &pass.0,
            Self::Expired(claims) => claims,
        }
    }
}

impl Deref for LivePass {
    type Target = PassClaims;
    fn deref(&self) -> &PassClaims {
        &self.0
    }
}
