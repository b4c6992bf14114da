//! Checks all kinds of signed values, in this order: the length; the algorithm, type and key in the
//! header; the signature; the issuer and the audience; the time. The checks before the signature
//! need no cryptography.

use std::{collections::HashMap, sync::Arc};

use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header, errors::ErrorKind};
use parking_lot::RwLock;
use serde::de::DeserializeOwned;

use crate::code::{CODE_PREFIX, CodeFault, key_tag, read_code};
use crate::fields::BrokenField;
use crate::{
    FreezeClaims, Jwk, Jwks, LivePass, PassClaims, PlaceClaims, TicketClaims, TokenKeyError,
    VerifiedPass,
};

/// How far the clocks of two nodes may disagree, in seconds.
pub const LEEWAY_S: i64 = 5;
/// The longest signed value that is read, in bytes.
pub const TOKEN_BYTES_MAX: usize = 4096;
/// `iss` of every JWT.
pub(crate) const ISSUER: &str = "fairgate";

/// The four kinds of signed values.
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

    /// Returns the `aud` of the JWTs. Freezes and tickets have none, because they are meant for
    /// everybody.
    pub(crate) fn audience(self) -> Option<&'static str> {
        match self {
            Self::Place => Some("fairgate/place"),
            Self::Pass => Some("fairgate/booking"),
            Self::Freeze | Self::Ticket => None,
        }
    }

    /// Returns what jsonwebtoken checks: the algorithm, and for JWTs `iss` and `aud`. It does not
    /// check times, because the callers of this module pass the time.
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

/// Why a signed value of any kind was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The value is longer than [`TOKEN_BYTES_MAX`] and was not read.
    #[error("longer than {TOKEN_BYTES_MAX} bytes; it was not read")]
    TooLong,
    /// The value is not a compact JWS with the expected members.
    #[error("not a well-formed signed value")]
    Malformed,
    /// The value is of another kind.
    #[error("signed, but as another kind of value than is expected here")]
    WrongType,
    /// The algorithm is not EdDSA.
    #[error("signed with an algorithm that is not accepted")]
    WrongAlgorithm,
    /// The verifier has no key with the name in the header: the key is foreign, or was removed
    /// after a rotation.
    #[error("signed with a key that is not known here")]
    UnknownKey,
    /// The signature is wrong: the value was changed or forged.
    #[error("the signature is not valid")]
    BadSignature,
    /// `iss` is missing or wrong.
    #[error("issued by somebody else")]
    WrongIssuer,
    /// `aud` is missing or wrong.
    #[error("meant for another audience")]
    WrongAudience,
}

impl From<BrokenField> for TokenError {
    fn from(_: BrokenField) -> Self {
        Self::Malformed
    }
}

/// Why a place was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// The value is not a valid place.
    #[error("the place is not valid: {0}")]
    Token(#[from] TokenError),
    /// The place belongs to another room.
    #[error("the place belongs to another room")]
    OtherRoom,
    /// The place has expired. Only places of the room `everyday` expire.
    #[error("the place has expired")]
    Expired,
}

/// Why a pass was refused. A pass that has only expired is not refused: see [`VerifiedPass`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PassError {
    /// The value is not a valid pass.
    #[error("the pass is not valid: {0}")]
    Token(#[from] TokenError),
    /// The pass is not valid yet.
    #[error("the pass is not valid yet")]
    NotYet,
}

/// Checks signed values. It has only public keys, and a clone is cheap.
#[derive(Clone)]
pub struct Verifier(Arc<RwLock<Arc<PublicKeys>>>);

type PublicKeys = HashMap<String, PublicKey>;

struct PublicKey {
    decoding: DecodingKey,
    /// The 32 public bytes.
    bytes: Vec<u8>,
    /// Until when passes of this key are accepted, unix seconds. For ever if it is not known, as in
    /// a JWKS.
    passes_until: Option<i64>,
}

impl Verifier {
    /// Makes a verifier from the keys of a JWKS. Keys that are not Ed25519 signing keys are
    /// ignored.
    ///
    /// # Errors
    /// Fails if an Ed25519 key is damaged, or its `kid` is not its thumbprint.
    pub fn new(jwks: &Jwks) -> Result<Self, TokenKeyError> {
        Self::with_ends(jwks.keys.iter().map(|jwk| (jwk, None)))
    }

    /// Makes a verifier from keys, each with the time until which its passes are accepted.
    pub(crate) fn with_ends<'a>(
        keys: impl Iterator<Item = (&'a Jwk, Option<i64>)>,
    ) -> Result<Self, TokenKeyError> {
        Ok(Self(Arc::new(RwLock::new(Arc::new(read_keys(keys)?)))))
    }

    /// Uses other keys from now on, in all clones.
    pub(crate) fn replace<'a>(
        &self,
        keys: impl Iterator<Item = (&'a Jwk, Option<i64>)>,
    ) -> Result<(), TokenKeyError> {
        let keys = Arc::new(read_keys(keys)?);
        *self.0.write() = keys;
        Ok(())
    }

    fn keys(&self) -> Arc<PublicKeys> {
        Arc::clone(&self.0.read())
    }

    /// Checks a place of `room` at `now` (unix seconds).
    ///
    /// # Errors
    /// Fails if the token is not a place, belongs to another room, or has expired. `iat` is not
    /// compared with the clock, so no place becomes invalid when a clock is corrected to an earlier
    /// time.
    pub fn verify_place(
        &self,
        token: &str,
        room: &str,
        now: i64,
    ) -> Result<PlaceClaims, PlaceError> {
        let (claims, _): (PlaceClaims, _) = self.read_claims(TokenKind::Place, token)?;
        if claims.room != room {
            return Err(PlaceError::OtherRoom);
        }
        match claims.exp {
            Some(exp) if has_expired(exp, now) => Err(PlaceError::Expired),
            _ => Ok(claims),
        }
    }

    /// Checks a pass at `now` (unix seconds). The caller must check that the pass is for the show's
    /// room.
    ///
    /// # Errors
    /// Fails if the token is not a pass, or is not valid yet. Also fails if its key was retired so
    /// long ago that the last pass it signed has ended.
    pub fn verify_pass(&self, token: &str, now: i64) -> Result<VerifiedPass, PassError> {
        let (claims, passes_until) = self.read_claims(TokenKind::Pass, token)?;
        if has_ended(passes_until, now) {
            return Err(TokenError::UnknownKey.into());
        }
        judge_pass(claims, now)
    }

    /// Checks a freeze.
    ///
    /// # Errors
    /// Fails if the text is not a freeze that one of these keys signed.
    pub fn verify_freeze(&self, jws: &str) -> Result<FreezeClaims, TokenError> {
        let (claims, _) = self.read_claims(TokenKind::Freeze, jws)?;
        Ok(claims)
    }

    /// Checks a ticket. The text is the code that its QR code holds, or the JWS. The QR codes of
    /// earlier versions held the JWS. The caller must check whether the ticket was scanned before,
    /// was refunded or is a test ticket.
    ///
    /// # Errors
    /// Fails if the text is not a ticket that one of these keys signed.
    pub fn verify_ticket(&self, text: &str) -> Result<TicketClaims, TokenError> {
        if !text.starts_with(CODE_PREFIX) {
            let (claims, _) = self.read_claims(TokenKind::Ticket, text)?;
            return Ok(claims);
        }
        if text.len() > TOKEN_BYTES_MAX {
            return Err(TokenError::TooLong);
        }
        let keys = self.keys();
        read_code(text, |tag| {
            let tagged_keys = keys
                .iter()
                .filter(move |(kid, _)| key_tag(kid) == Some(tag));
            tagged_keys.map(|(_, key)| &*key.bytes)
        })
        .map_err(|fault| match fault {
            CodeFault::Malformed => TokenError::Malformed,
            CodeFault::UnknownKey => TokenError::UnknownKey,
            CodeFault::BadSignature => TokenError::BadSignature,
        })
    }

    /// Reads a signed value, and returns its claims and the time until which passes of its key are
    /// accepted.
    fn read_claims<C: DeserializeOwned>(
        &self,
        kind: TokenKind,
        token: &str,
    ) -> Result<(C, Option<i64>), TokenError> {
        let kid = check_header(kind, token)?.ok_or(TokenError::UnknownKey)?;
        let keys = self.keys();
        let key = keys.get(&kid).ok_or(TokenError::UnknownKey)?;
        decode(token, &key.decoding, &kind.validation())
            .map(|read| (read.claims, key.passes_until))
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
    /// Reads a freeze without checking its signature. A caller without the key can then compare the
    /// freeze with a published record.
    ///
    /// # Errors
    /// Fails if the text does not have the form of a freeze.
    pub fn unverified(jws: &str) -> Result<Self, TokenError> {
        check_header(TokenKind::Freeze, jws)?;
        jsonwebtoken::dangerous::insecure_decode_claims(jws).map_err(|_| TokenError::Malformed)
    }
}

/// Checks length, algorithm and type, and returns the `kid`. A header that names critical members
/// is refused, because none is supported here (RFC 7515 §4.1.11). Other members are ignored.
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

fn read_keys<'a>(
    keys: impl Iterator<Item = (&'a Jwk, Option<i64>)>,
) -> Result<PublicKeys, TokenKeyError> {
    let supported_keys = keys.filter(|(jwk, _)| jwk.is_ours());
    let keys = supported_keys.map(|(jwk, passes_until)| {
        let bytes = jwk.public_bytes()?;
        let key = PublicKey {
            decoding: DecodingKey::from_ed_der(&bytes),
            bytes,
            passes_until,
        };
        Ok((jwk.kid.clone(), key))
    });
    keys.collect()
}

/// Returns whether the passes of a key that are accepted until this time have all ended at `now`.
pub(crate) fn has_ended(passes_until: Option<i64>, now: i64) -> bool {
    passes_until.is_some_and(|until| now >= until)
}

/// Compares the times of a pass with `now` (unix seconds). The caller has checked the signature.
pub(crate) fn judge_pass(claims: PassClaims, now: i64) -> Result<VerifiedPass, PassError> {
    if now < claims.nbf.saturating_sub(LEEWAY_S) {
        return Err(PassError::NotYet);
    }
    Ok(match has_expired(claims.exp, now) {
        true => VerifiedPass::Expired(claims),
        false => VerifiedPass::Live(LivePass(claims)),
    })
}

fn has_expired(exp: i64, now: i64) -> bool {
    now >= exp.saturating_add(LEEWAY_S)
}
