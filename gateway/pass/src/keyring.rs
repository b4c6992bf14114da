//! The keys of a gateway: signs with the newest one that is not retired, verifies with all of them.

use std::{ops::Deref, sync::Arc};

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde::Serialize;

use crate::{
    FreezeClaims, Jwk, Jwks, PassClaims, PlaceClaims, StoredKey, TOKEN_BYTES_MAX, TicketClaims,
    TokenKeyError, Verifier,
    verify::{ISSUER, TokenKind},
};

/// A cheap handle over the keys; verifies too, as it derefs to a [`Verifier`].
#[derive(Clone)]
pub struct Keyring(Arc<KeyringShared>);

struct KeyringShared {
    kid: String,
    signing: EncodingKey,
    jwks: Jwks,
    verifier: Verifier,
}

/// The ticket's texts are so long that no door could read it: nothing was signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the ticket would be {bytes} bytes long, more than a door reads; no ticket was signed, shorten the show's title or the name"
)]
pub struct TicketTooLong {
    /// How long it would have been.
    pub bytes: usize,
}

/// A JWT's payload: who says it and to whom, before what is said.
#[derive(Serialize)]
struct JwtPayload<'a, C> {
    iss: &'static str,
    aud: &'static str,
    #[serde(flatten)]
    claims: &'a C,
}

impl Keyring {
    /// Takes all keys that shall verify. The newest that is not retired signs.
    ///
    /// # Errors
    /// A key that is damaged or misnamed, or no key that signs.
    pub fn new(mut keys: Vec<StoredKey>) -> Result<Self, TokenKeyError> {
        // Two keys made in the same second are told apart by name, so that every node chooses the
        // same one.
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
            verifier: Verifier::new(&jwks)?,
            jwks,
        })))
    }

    /// The public keys, for `/.well-known/jwks.json`.
    pub fn jwks(&self) -> Jwks {
        self.0.jwks.clone()
    }

    /// The name of the key that signs.
    pub fn kid(&self) -> &str {
        &self.0.kid
    }

    /// Verifies without being able to sign: for handing on.
    pub fn verifier(&self) -> Verifier {
        self.0.verifier.clone()
    }

    /// Signs a place. The same claims give the same text.
    pub fn sign_place(&self, claims: &PlaceClaims) -> String {
        self.sign_addressed(TokenKind::Place, claims)
    }

    /// Signs a pass. The same claims give the same text.
    pub fn sign_pass(&self, claims: &PassClaims) -> String {
        self.sign_addressed(TokenKind::Pass, claims)
    }

    /// Signs a freeze: the payload is exactly the claims. The same claims give the same text.
    pub fn sign_freeze(&self, claims: &FreezeClaims) -> String {
        self.sign_payload(TokenKind::Freeze, claims)
    }

    /// Signs a ticket. The same claims give the same text.
    ///
    /// # Errors
    /// [`TicketTooLong`] where a title or a name is so long that no door would read the ticket.
    pub fn sign_ticket(&self, claims: &TicketClaims) -> Result<String, TicketTooLong> {
        let ticket = self.sign_payload(TokenKind::Ticket, claims);
        match ticket.len() {
            bytes if bytes > TOKEN_BYTES_MAX => Err(TicketTooLong { bytes }),
            _ => Ok(ticket),
        }
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
