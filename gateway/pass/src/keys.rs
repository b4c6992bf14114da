//! Keys as the ledger stores them, and as the JWKS shows them. In both, a key's name is its
//! thumbprint.

use std::fmt;

use aws_lc_rs::hmac;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The context with which the keys of cookies are derived. If the layout of cookies changes, so
/// does the number.
const COOKIE_KEY_CONTEXT: &[u8] = b"fairgate cookies 1";

/// A signing key as the ledger stores it. It is secret, so its `Debug` output shows only the name.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredKey {
    /// RFC 7638 thumbprint of the public half.
    pub kid: String,
    /// The Ed25519 private key, PKCS#8 DER. It is serialised as base64.
    #[serde(with = "as_base64")]
    pub pkcs8: Vec<u8>,
    /// When the key was made, unix seconds.
    pub created_at: i64,
    /// From when on the key signs, unix seconds. Until then every node and every reader of the JWKS
    /// can learn of it. Keys of earlier versions sign from [`Self::created_at`] on.
    #[serde(default)]
    pub signs_from: Option<i64>,
    /// When the key was retired, unix seconds. It signs nothing that is dated later, but still
    /// verifies. May lie in the future.
    pub retired_at: Option<i64>,
    /// Until when passes of this key are accepted, unix seconds. By then the last one has ended.
    /// Places, freezes and tickets are accepted for as long as the key is in the list.
    #[serde(default)]
    pub passes_until: Option<i64>,
}

/// A public key, RFC 8037.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jwk {
    /// `OKP`
    pub kty: String,
    /// `Ed25519`
    #[serde(default)]
    pub crv: String,
    /// The 32 public bytes, base64url.
    #[serde(default)]
    pub x: String,
    /// `EdDSA`
    #[serde(default)]
    pub alg: String,
    /// `sig`
    #[serde(default, rename = "use")]
    pub usage: String,
    /// RFC 7638 thumbprint.
    #[serde(default)]
    pub kid: String,
}

/// The answer of `/.well-known/jwks.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jwks {
    /// The keys. In the answer of an installation the newest one comes first.
    pub keys: Vec<Jwk>,
}

/// Why a key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenKeyError {
    /// The operating system could not make a key.
    #[error("no signing key could be made; nothing was stored, try again")]
    NotMade,
    /// The key is not an Ed25519 key, or is damaged.
    #[error(
        "key {kid} is not a readable Ed25519 key; restore it from a backup of the ledger or remove it"
    )]
    Unreadable {
        /// The key's name.
        kid: String,
    },
    /// The key's name is not its thumbprint.
    #[error("key {kid} is stored under a name that is not its thumbprint {thumbprint}")]
    Misnamed {
        /// The name under which it is stored.
        kid: String,
        /// The name it should have.
        thumbprint: String,
    },
    /// Every key is retired, or there is no key.
    #[error("there is no key to sign with: every key is retired, or none was given")]
    NoneSigns,
}

impl StoredKey {
    /// Makes a key that is named by its thumbprint and not retired.
    ///
    /// # Errors
    /// [`TokenKeyError::NotMade`] if the system has no randomness.
    pub fn generate(now: i64) -> Result<Self, TokenKeyError> {
        let pair = Ed25519KeyPair::generate().map_err(|_| TokenKeyError::NotMade)?;
        // Version 1 of PKCS#8, because other tools can read it.
        let pkcs8 = pair
            .to_pkcs8v1()
            .map_err(|_| TokenKeyError::NotMade)?
            .as_ref()
            .to_vec();
        Ok(Self {
            kid: thumbprint(pair.public_key().as_ref()),
            pkcs8,
            created_at: now,
            signs_from: None,
            retired_at: None,
            passes_until: None,
        })
    }

    /// Returns from when on the key signs, unix seconds.
    #[must_use]
    pub fn first_signs_at(&self) -> i64 {
        self.signs_from.unwrap_or(self.created_at)
    }

    /// Derives the key of the cookies' MACs.
    pub(crate) fn cookie_key(&self) -> hmac::Key {
        let signing = hmac::Key::new(hmac::HMAC_SHA256, &self.pkcs8);
        let derived = hmac::sign(&signing, COOKIE_KEY_CONTEXT);
        hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref())
    }

    /// Reads the private key.
    pub(crate) fn key_pair(&self) -> Result<Ed25519KeyPair, TokenKeyError> {
        Ed25519KeyPair::from_pkcs8(&self.pkcs8).map_err(|_| TokenKeyError::Unreadable {
            kid: self.kid.clone(),
        })
    }

    /// Checks that the key is readable and that its name is its thumbprint, and returns the public
    /// half.
    pub(crate) fn public(&self) -> Result<Jwk, TokenKeyError> {
        let pair = self.key_pair()?;
        let jwk = Jwk::from_public_bytes(pair.public_key().as_ref());
        if jwk.kid != self.kid {
            return Err(TokenKeyError::Misnamed {
                kid: self.kid.clone(),
                thumbprint: jwk.kid,
            });
        }
        Ok(jwk)
    }
}

impl fmt::Debug for StoredKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredKey")
            .field("kid", &self.kid)
            .field("created_at", &self.created_at)
            .field("signs_from", &self.signs_from)
            .field("retired_at", &self.retired_at)
            .finish_non_exhaustive()
    }
}

impl Jwk {
    fn from_public_bytes(public: &[u8]) -> Self {
        Self {
            kty: "OKP".into(),
            crv: "Ed25519".into(),
            x: URL_SAFE_NO_PAD.encode(public),
            alg: "EdDSA".into(),
            usage: "sig".into(),
            kid: thumbprint(public),
        }
    }

    /// Returns whether this is an Ed25519 signing key. A key set may contain other keys. They are
    /// ignored (RFC 7517 §5).
    pub(crate) fn is_ours(&self) -> bool {
        (
            self.kty.as_str(),
            self.crv.as_str(),
            self.alg.as_str(),
            self.usage.as_str(),
        ) == ("OKP", "Ed25519", "EdDSA", "sig")
    }

    /// Checks that the key's name is its thumbprint, and returns the 32 public bytes.
    pub(crate) fn public_bytes(&self) -> Result<Vec<u8>, TokenKeyError> {
        let bytes = URL_SAFE_NO_PAD
            .decode(&self.x)
            .ok()
            .filter(|bytes| bytes.len() == 32);
        let bytes = bytes.ok_or_else(|| TokenKeyError::Unreadable {
            kid: self.kid.clone(),
        })?;
        let thumbprint = thumbprint(&bytes);
        if thumbprint != self.kid {
            return Err(TokenKeyError::Misnamed {
                kid: self.kid.clone(),
                thumbprint,
            });
        }
        Ok(bytes)
    }
}

/// Computes the RFC 7638 thumbprint over the members that RFC 8037 requires, in their fixed order.
fn thumbprint(public: &[u8]) -> String {
    let x = URL_SAFE_NO_PAD.encode(public);
    URL_SAFE_NO_PAD.encode(Sha256::digest(format!(
        r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#
    )))
}

mod as_base64 {
    use super::{Engine, STANDARD};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        STANDARD
            .decode(String::deserialize(deserializer)?)
            .map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thumbprint_matches_rfc_8037_appendix_a_3() {
        let x = URL_SAFE_NO_PAD
            .decode("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")
            .unwrap();
        assert_eq!(
            thumbprint(&x),
            "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
        );
    }

    #[test]
    fn a_stored_key_reads_back_from_json_and_debug_hides_its_secret() {
        let key = StoredKey::generate(7).unwrap();
        let text = serde_json::to_string(&key).unwrap();
        assert_eq!(serde_json::from_str::<StoredKey>(&text).unwrap(), key);
        assert!(!format!("{key:?}").contains("pkcs8"));
        assert_eq!(key.public().unwrap().kid, key.kid);
    }

    #[test]
    fn a_misnamed_or_damaged_key_is_refused_and_the_error_names_it() {
        let (mut key, other) = (
            StoredKey::generate(7).unwrap(),
            StoredKey::generate(7).unwrap(),
        );
        key.kid = other.kid.clone();
        assert!(matches!(key.public(), Err(TokenKeyError::Misnamed { .. })));
        key.pkcs8.truncate(20);
        assert_eq!(
            key.public(),
            Err(TokenKeyError::Unreadable { kid: other.kid })
        );
    }
}
