//! The keys of an installation. A value is signed with the key of its own date; all keys verify.

use std::{ops::Deref, sync::Arc};

use aws_lc_rs::hmac;
use aws_lc_rs::signature::Ed25519KeyPair;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use parking_lot::RwLock;
use serde::Serialize;

use crate::code::{TicketWithoutCode, sign_code};
use crate::{
    FreezeClaims, Jwk, Jwks, PassClaims, PlaceClaims, StoredKey, TOKEN_BYTES_MAX, TicketClaims,
    TokenKeyError, Verifier,
    verify::{ISSUER, TokenKind},
};

/// A handle to the keys; a clone is cheap. It derefs to a [`Verifier`], so it also verifies. All
/// clones, and the verifiers that were taken from them, use new keys at once after
/// [`Keyring::replace_keys`].
#[derive(Clone)]
pub struct Keyring {
    signing: Arc<RwLock<Arc<SigningKeys>>>,
    verifier: Verifier,
}

pub(crate) struct SigningKeys {
    /// The newest key comes first. Of two keys that sign from the same second on, the name decides.
    keys: Vec<SigningKey>,
    jwks: Jwks,
}

/// A key that signs, or has signed.
pub(crate) struct SigningKey {
    kid: String,
    signing: EncodingKey,
    /// The same key, for the codes of tickets.
    codes: Ed25519KeyPair,
    /// The key of cookies.
    pub(crate) cookie: hmac::Key,
    signs_from: i64,
    retired_at: Option<i64>,
    pub(crate) passes_until: Option<i64>,
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

impl SigningKeys {
    fn new(mut keys: Vec<StoredKey>) -> Result<Self, TokenKeyError> {
        // Two keys may sign from the same second on. Such keys are sorted by name, so that every
        // node signs with the same key.
        keys.sort_by(|a, b| {
            let rank = StoredKey::first_signs_at;
            rank(b).cmp(&rank(a)).then_with(|| a.kid.cmp(&b.kid))
        });
        if keys.iter().all(|key| key.retired_at.is_some()) {
            return Err(TokenKeyError::NoneSigns);
        }
        let public = keys.iter().map(StoredKey::public);
        let jwks = Jwks {
            keys: public.collect::<Result<Vec<Jwk>, _>>()?,
        };
        let keys = keys.iter().map(|key| {
            Ok(SigningKey {
                kid: key.kid.clone(),
                signing: EncodingKey::from_ed_der(&key.pkcs8),
                codes: key.key_pair()?,
                cookie: key.cookie_key(),
                signs_from: key.first_signs_at(),
                retired_at: key.retired_at,
                passes_until: key.passes_until,
            })
        });
        Ok(Self {
            keys: keys.collect::<Result<_, _>>()?,
            jwks,
        })
    }

    /// Returns the key that signs what is dated `at`, unix seconds: the newest one that had begun
    /// to sign and was not retired by then. So the same claims give the same text at every node and
    /// at any time, also after a rotation. What is dated before every key is signed with the
    /// oldest.
    pub(crate) fn at(&self, at: i64) -> &SigningKey {
        let signs = |key: &&SigningKey| {
            key.signs_from <= at && key.retired_at.is_none_or(|retired_at| at < retired_at)
        };
        let chosen = self.keys.iter().find(signs);
        chosen
            .or(self.keys.last())
            .expect("a keyring has at least one key")
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &SigningKey> {
        self.keys.iter()
    }

    /// Returns the public keys, each with the time until which its passes are accepted.
    fn public(&self) -> impl Iterator<Item = (&Jwk, Option<i64>)> {
        let ends = self.keys.iter().map(|key| key.passes_until);
        self.jwks.keys.iter().zip(ends)
    }
}

impl Keyring {
    /// Makes a keyring. All of its keys verify. A value is signed with the newest key that had
    /// begun to sign at the value's date, and was not retired by then.
    ///
    /// # Errors
    /// Fails if a key is damaged or misnamed, or if every key is retired.
    pub fn new(keys: Vec<StoredKey>) -> Result<Self, TokenKeyError> {
        let signing = SigningKeys::new(keys)?;
        Ok(Self {
            verifier: Verifier::with_ends(signing.public())?,
            signing: Arc::new(RwLock::new(Arc::new(signing))),
        })
    }

    /// Uses other keys from now on, in all clones of this keyring and in the verifiers that were
    /// taken from it.
    ///
    /// # Errors
    /// Fails as [`Self::new`] does. Then nothing was changed.
    pub fn replace_keys(&self, keys: Vec<StoredKey>) -> Result<(), TokenKeyError> {
        let signing = SigningKeys::new(keys)?;
        // A new key must verify before it signs.
        self.verifier.replace(signing.public())?;
        *self.signing.write() = Arc::new(signing);
        Ok(())
    }

    /// Returns the public keys, for `/.well-known/jwks.json`.
    pub fn jwks(&self) -> Jwks {
        self.keys().jwks.clone()
    }

    /// Returns the name of the key that signs what is dated `at`, unix seconds.
    pub fn kid_at(&self, at: i64) -> String {
        self.keys().at(at).kid.clone()
    }

    /// Returns a handle that can verify but not sign, to be passed to other code.
    pub fn verifier(&self) -> Verifier {
        self.verifier.clone()
    }

    pub(crate) fn keys(&self) -> Arc<SigningKeys> {
        Arc::clone(&self.signing.read())
    }

    /// Signs a place. The same claims give the same text.
    pub fn sign_place(&self, claims: &PlaceClaims) -> String {
        self.sign_addressed(TokenKind::Place, claims, claims.iat)
    }

    /// Signs a pass. The same claims give the same text.
    pub fn sign_pass(&self, claims: &PassClaims) -> String {
        self.sign_addressed(TokenKind::Pass, claims, claims.iat)
    }

    /// Signs a freeze. The payload is exactly the claims. The same claims give the same text.
    pub fn sign_freeze(&self, claims: &FreezeClaims) -> String {
        let frozen_at = claims.frozen_at.parse::<jiff::Timestamp>();
        let at = frozen_at.map_or(i64::MAX, jiff::Timestamp::as_second);
        self.sign_payload(TokenKind::Freeze, claims, at)
    }

    /// Signs a ticket. The same claims give the same text.
    ///
    /// # Errors
    /// [`TicketTooLong`] if a title or a name is so long that a door would not read the ticket.
    pub fn sign_ticket(&self, claims: &TicketClaims) -> Result<String, TicketTooLong> {
        let ticket = self.sign_payload(TokenKind::Ticket, claims, claims.iat);
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
        let keys = self.keys();
        let key = keys.at(claims.iat);
        sign_code(claims, &key.kid, &key.codes)
    }

    fn sign_addressed(&self, kind: TokenKind, claims: &impl Serialize, at: i64) -> String {
        let aud = kind.audience().expect("places and passes have an audience");
        self.sign_payload(
            kind,
            &JwtPayload {
                iss: ISSUER,
                aud,
                claims,
            },
            at,
        )
    }

    /// Signs with the key of the date `at`, unix seconds.
    fn sign_payload(&self, kind: TokenKind, payload: &impl Serialize, at: i64) -> String {
        let keys = self.keys();
        let key = keys.at(at);
        let mut header = Header::new(Algorithm::EdDSA);
        header.typ = Some(kind.typ().into());
        header.kid = Some(key.kid.clone());
        encode(&header, payload, &key.signing).expect(
            "plain structs serialise, and a key checked when the keyring was built signs any bytes",
        )
    }
}

impl Deref for Keyring {
    type Target = Verifier;
    fn deref(&self) -> &Verifier {
        &self.verifier
    }
}
