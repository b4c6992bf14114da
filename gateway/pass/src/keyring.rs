//! The keys of an installation. The newest key that is not retired signs; all keys verify.

use std::{ops::Deref, sync::Arc};

use aws_lc_rs::hmac;
use aws_lc_rs::signature::Ed25519KeyPair;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde::Serialize;

use crate::code::{TicketWithoutCode, sign_code};
use crate::{
    FreezeClaims, Jwk, Jwks, PassClaims, PlaceClaims, StoredKey, TOKEN_BYTES_MAX, TicketClaims,
    TokenKeyError, Verifier,
    verify::{ISSUER, TokenKind},
};

/// A handle to the keys; a clone is cheap. It derefs to a [`Verifier`], so it also verifies.
#[derive(Clone)]
pub struct Keyring(Arc<KeyringShared>);

struct KeyringShared {
    kid: String,
    signing: EncodingKey,
    /// The same key, for the codes of tickets.
    codes: Ed25519KeyPair,
    jwks: Jwks,
    verifier: Verifier,
    /// The keys of cookies, in the order of the JWKS. New cookies are written with the first one.
    cookie_keys: Vec<hmac::Key>,
}

/// The ticket would be longer than a door reads, so it was not issued. Its title or name is too
/// long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the ticket would be {bytes} bytes long, more than a door reads; no ticket was signed, shorten the show's title or the name"
)]
pub struct TicketTooLong {
    /// How many bytes the ticket would have had.
    pub bytes: usize,
}

/// A JWT's payload: the issuer and the audience, followed by the claims.
#[derive(Serialize)]
struct JwtPayload<'a, C> {
    iss: &'static str,
    aud: &'static str,
    #[serde(flatten)]
    claims: &'a C,
}

impl Keyring {
    /// Makes a keyring. All of its keys verify; the newest key that is not retired signs.
    ///
    /// # Errors
    /// Fails if a key is damaged or misnamed, or if no key can sign.
    pub fn new(mut keys: Vec<StoredKey>) -> Result<Self, TokenKeyError> {
        // Two keys may have been made in the same second. Such keys are sorted by name, so that
        // every node signs with the same key.
        keys.sort_by(|a, b| {
            let rank = |key: &StoredKey| (key.retired_at.is_none(), key.created_at);
            rank(b).cmp(&rank(a)).then_with(|| a.kid.cmp(&b.kid))
        });
        let current = keys
            .first()
            .filter(|key| key.retired_at.is_none())
            .ok_or(TokenKeyError::NoneSigns)?;
        let jwks = Jwks {
            keys: keys
                .iter()
                .map(StoredKey::public)
                .collect::<Result<Vec<Jwk>, _>>()?,
        };
        Ok(Self(Arc::new(KeyringShared {
            kid: current.kid.clone(),
            signing: EncodingKey::from_ed_der(&current.pkcs8),
            codes: current.key_pair()?,
            verifier: Verifier::new(&jwks)?,
            cookie_keys: keys.iter().map(StoredKey::cookie_key).collect(),
            jwks,
        })))
    }

    /// Returns the public keys, for `/.well-known/jwks.json`.
    pub fn jwks(&self) -> Jwks {
        self.0.jwks.clone()
    }

    /// Returns the name of the key that signs.
    pub fn kid(&self) -> &str {
        &self.0.kid
    }

    /// Returns a handle that can verify but not sign, to be passed to other code.
    pub fn verifier(&self) -> Verifier {
        self.0.verifier.clone()
    }

    /// Returns the key that writes cookies.
    pub(crate) fn cookie_key(&self) -> &hmac::Key {
        &self.0.cookie_keys[0]
    }

    /// Returns all keys whose cookies are accepted.
    pub(crate) fn cookie_keys(&self) -> &[hmac::Key] {
        &self.0.cookie_keys
    }

    /// Signs a place. The same claims give the same text.
    pub fn sign_place(&self, claims: &PlaceClaims) -> String {
        self.sign_addressed(TokenKind::Place, claims)
    }

    /// Signs a pass. The same claims give the same text.
    pub fn sign_pass(&self, claims: &PassClaims) -> String {
        self.sign_addressed(TokenKind::Pass, claims)
    }

    /// Signs a freeze. The payload is exactly the claims. The same claims give the same text.
    pub fn sign_freeze(&self, claims: &FreezeClaims) -> String {
        self.sign_payload(TokenKind::Freeze, claims)
    }

    /// Signs a ticket. The same claims give the same text.
    ///
    /// # Errors
    /// [`TicketTooLong`] if a title or a name is so long that a door would not read the ticket.
    pub fn sign_ticket(&self, claims: &TicketClaims) -> Result<String, TicketTooLong> {
        let ticket = self.sign_payload(TokenKind::Ticket, claims);
        match ticket.len() {
            bytes if bytes > TOKEN_BYTES_MAX => Err(TicketTooLong { bytes }),
            _ => Ok(ticket),
        }
    }

    /// Signs the code that a ticket's QR code holds. It has the claims of the JWS in less than half
    /// as many characters. The title and the name are cut so that the code fits into
    /// [`CODE_CHARS_MAX`](crate::CODE_CHARS_MAX). The same claims give the same text.
    ///
    /// # Errors
    /// [`TicketWithoutCode`] if the ids or the times are not of the form that booking writes.
    pub fn sign_ticket_code(&self, claims: &TicketClaims) -> Result<String, TicketWithoutCode> {
        sign_code(claims, &self.0.kid, &self.0.codes)
    }

    fn sign_addressed(&self, kind: TokenKind, claims: &impl Serialize) -> String {
        let aud = kind.audience().expect("places and passes have an audience");
        self.sign_payload(
            kind,
            &JwtPayload {
                iss: ISSUER,
                aud,
                claims,
            },
        )
    }

    fn sign_payload(&self, kind: TokenKind, payload: &impl Serialize) -> String {
        let mut header = Header::new(Algorithm::EdDSA);
        header.typ = Some(kind.typ().into());
        header.kid = Some(self.0.kid.clone());
        encode(&header, payload, &self.0.signing).expect(
            "plain structs serialise, and a key checked when the keyring was built signs any bytes",
        )
    }
}

impl Deref for Keyring {
    type Target = Verifier;
    fn deref(&self) -> &Verifier {
        &self.0.verifier
    }
}
