//! The one way in for everything signed: length, then type, algorithm and key of the header, then
//! the signature, then issuer and audience, then the clock. What fails early costs no cryptography.

use std::{collections::HashMap, sync::Arc};

use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header, errors::ErrorKind};
use serde::de::DeserializeOwned;

use crate::{
    FreezeClaims, Jwks, LivePass, PassClaims, PlaceClaims, TicketClaims, TokenKeyError,
    VerifiedPass,
};

/// How far the clocks of two nodes may disagree, in seconds.
pub const LEEWAY_S: i64 = 5;
/// Nothing longer is read.
pub const TOKEN_BYTES_MAX: usize = 4096;
/// `iss` of every JWT.
pub(crate) const ISSUER: &str = "fairgate";

/// The four signed things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Place,
    Pass,
    Freeze,
    Ticket,
}

impl TokenKind {
    pub(crate) fn typ(self) -> &'static str {
        match self {
            Self::Place => "fairgate-place+jwt",
            Self::Pass => "fairgate-pass+jwt",
            Self::Freeze => "fairgate-freeze+jws",
            Self::Ticket => "fairgate-ticket+jws",
        }
    }

    /// `aud` of the JWTs; freezes and tickets speak to everybody.
    pub(crate) fn audience(self) -> Option<&'static str> {
        match self {
            Self::Place => Some("fairgate/place"),
            Self::Pass => Some("fairgate/booking"),
            Self::Freeze | Self::Ticket => None,
        }
    }

    /// What jsonwebtoken checks for us: the algorithm, and for JWTs `iss` and `aud`. Its clock is
    /// off, because ours is an argument.
    fn validation(self) -> Validation {
        let mut validation = Validation::new(Algorithm::EdDSA);
        (validation.validate_exp, validation.validate_nbf) = (false, false);
        match self.audience() {
            Some(audience) => {
                validation.set_required_spec_claims(&["iss", "aud"]);
                validation.set_issuer(&[ISSUER]);
                validation.set_audience(&[audience]);
            }
            None => {
                validation.required_spec_claims.clear();
                validation.validate_aud = false;
            }
        }
        validation
    }
}

/// Why a signed thing was refused, whatever its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Over [`TOKEN_BYTES_MAX`]; not read.
    #[error("longer than {TOKEN_BYTES_MAX} bytes; it was not read")]
    TooLong,
    /// Not a compact JWS of the expected members.
    #[error("not a well-formed signed value")]
    Malformed,
    /// Another kind of signed thing.
    #[error("signed, but as something else than what is asked for here")]
    WrongType,
    /// Not EdDSA.
    #[error("signed with an algorithm that is not accepted")]
    WrongAlgorithm,
    /// No key of that name: foreign, or taken out after a rotation.
    #[error("signed with a key that is not known here")]
    UnknownKey,
    /// The signature does not fit: changed, or forged.
    #[error("the signature does not fit")]
    BadSignature,
    /// `iss` is missing or another.
    #[error("issued by somebody else")]
    WrongIssuer,
    /// `aud` is missing or another.
    #[error("meant for another audience")]
    WrongAudience,
}

/// Why a place was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// Not a place at all.
    #[error("the place is not valid: {0}")]
    Token(#[from] TokenError),
    /// A place in another room.
    #[error("the place belongs to another room")]
    OtherRoom,
    /// Its time is over (only the room `everyday` has such places).
    #[error("the place ran out unused; join again")]
    RanOut,
}

/// Why a pass was refused. One that merely ran out is not refused: see [`VerifiedPass`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PassError {
    /// Not a pass at all.
    #[error("the pass is not valid: {0}")]
    Token(#[from] TokenError),
    /// Its time has not begun.
    #[error("the pass does not hold yet")]
    NotYet,
}

/// Checks signed things with published keys alone. A cheap handle.
#[derive(Clone)]
pub struct Verifier(Arc<HashMap<String, DecodingKey>>);

impl Verifier {
    /// Takes the keys of a JWKS; members that are not Ed25519 signing keys are passed over.
    ///
    /// # Errors
    /// An Ed25519 key that is damaged, or whose `kid` is not its thumbprint.
    pub fn new(jwks: &Jwks) -> Result<Self, TokenKeyError> {
        let ours = jwks.keys.iter().filter(|jwk| jwk.is_ours());
        let keys = ours.map(|jwk| {
            Ok((
                jwk.kid.clone(),
                DecodingKey::from_ed_der(&jwk.public_bytes()?),
            ))
        });
        Ok(Self(Arc::new(keys.collect::<Result<_, _>>()?)))
    }

    /// Checks a place of `room` at `now` (unix seconds).
    ///
    /// # Errors
    /// Not a place, a place in another room, or one that ran out. `iat` is not compared with the
    /// clock: a clock that was set back must not cost anybody a place.
    pub fn verify_place(
        &self,
        token: &str,
        room: &str,
        now: i64,
    ) -> Result<PlaceClaims, PlaceError> {
        let claims: PlaceClaims = self.read_claims(TokenKind::Place, token)?;
        if claims.room != room {
            return Err(PlaceError::OtherRoom);
        }
        match claims.exp {
            Some(exp) if ran_out(exp, now) => Err(PlaceError::RanOut),
            _ => Ok(claims),
        }
    }

    /// Checks a pass at `now` (unix seconds). Which room's shows it opens is for the caller to
    /// compare.
    ///
    /// # Errors
    /// Not a pass, or one whose time has not begun.
    pub fn verify_pass(&self, token: &str, now: i64) -> Result<VerifiedPass, PassError> {
        let claims: PassClaims = self.read_claims(TokenKind::Pass, token)?;
        if now < claims.nbf.saturating_sub(LEEWAY_S) {
            return Err(PassError::NotYet);
        }
        Ok(match ran_out(claims.exp, now) {
            true => VerifiedPass::RanOut(claims),
            false => VerifiedPass::Live(LivePass(claims)),
        })
    }

    /// Checks a freeze.
    ///
    /// # Errors
    /// Whatever makes it not a freeze signed by one of these keys.
    pub fn verify_freeze(&self, jws: &str) -> Result<FreezeClaims, TokenError> {
        self.read_claims(TokenKind::Freeze, jws)
    }

    /// Checks a ticket. Whether it was scanned before, refunded or is a test one is for the door to
    /// see.
    ///
    /// # Errors
    /// Whatever makes it not a ticket signed by one of these keys.
    pub fn verify_ticket(&self, jws: &str) -> Result<TicketClaims, TokenError> {
        self.read_claims(TokenKind::Ticket, jws)
    }

    fn read_claims<C: DeserializeOwned>(
        &self,
        kind: TokenKind,
        token: &str,
    ) -> Result<C, TokenError> {
        let kid = check_header(kind, token)?.ok_or(TokenError::UnknownKey)?;
        let key = self.0.get(&kid).ok_or(TokenError::UnknownKey)?;
        decode(token, key, &kind.validation())
            .map(|read| read.claims)
            .map_err(|error| match error.kind() {
                ErrorKind::InvalidSignature => TokenError::BadSignature,
                ErrorKind::InvalidIssuer => TokenError::WrongIssuer,
                ErrorKind::InvalidAudience => TokenError::WrongAudience,
                ErrorKind::MissingRequiredClaim(claim) if claim == "iss" => TokenError::WrongIssuer,
                ErrorKind::MissingRequiredClaim(claim) if claim == "aud" => {
                    TokenError::WrongAudience
                }
                ErrorKind::InvalidAlgorithm => TokenError::WrongAlgorithm,
                _ => TokenError::Malformed,
            })
    }
}

impl FreezeClaims {
    /// What a freeze says, with nothing proved about who signed it: for comparing it with a
    /// published record when no key is at hand.
    ///
    /// # Errors
    /// Not shaped like a freeze.
    pub fn unverified(jws: &str) -> Result<Self, TokenError> {
        check_header(TokenKind::Freeze, jws)?;
        jsonwebtoken::dangerous::insecure_decode_claims(jws).map_err(|_| TokenError::Malformed)
    }
}

/// Length, type, algorithm; gives the `kid`. The header's other members are never followed, and one
/// that the signer calls critical is not understood here (RFC 7515 §4.1.11).
fn check_header(kind: TokenKind, token: &str) -> Result<Option<String>, TokenError> {
    if token.len() > TOKEN_BYTES_MAX {
        return Err(TokenError::TooLong);
    }
    let header = decode_header(token).map_err(|_| TokenError::Malformed)?;
    if header.alg != Algorithm::EdDSA {
        return Err(TokenError::WrongAlgorithm);
    }
    if header.typ.as_deref() != Some(kind.typ()) {
        return Err(TokenError::WrongType);
    }
    match header.crit {
        Some(_) => Err(TokenError::Malformed),
        None => Ok(header.kid),
    }
}

fn ran_out(exp: i64, now: i64) -> bool {
    now >= exp.saturating_add(LEEWAY_S)
}
