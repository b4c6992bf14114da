//! The installation's secret. It is never in the ledger. Keys that follow from it seal whatever in
//! the ledger would let a reader of a copy forge something: signing keys, unpublished secrets of
//! draws, the secret that ids follow from.
//!
//! **Architecture invariant:** of this crate, only this module names aws-lc-rs.

mod check;
mod file;
mod stored;

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

pub use check::{
    SecretError, SecretSource, find_secret, open_secret, require_secret, require_secret_of_file,
};
pub use file::{SECRET_FILE, SecretFileError};
pub use stored::sealed_value;

/// The first letters of every sealed value. Another form of sealed values gets another number.
const VERSION: &str = "v1.";

/// The salt of the derivation. It keeps the keys apart from those that another program derives from
/// the same text.
const SALT: &[u8] = b"fairgate installation secret 1";

/// The bytes of AES-GCM's tag at the end of a sealed value.
const TAG_BYTES: usize = 16;

/// The fewest characters of a sealed value: that of an empty text.
const SEALED_CHARS_MIN: usize = VERSION.len() + ((NONCE_LEN + TAG_BYTES) * 4).div_ceil(3);

/// The installation's secret, from which all sub-keys follow. Its `Debug` output does not show it.
/// A clone is cheap.
#[derive(Clone)]
pub struct InstallationSecret(Arc<Prk>);

/// A sealed value that this secret does not open under this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the sealed value {name} was changed, moved from another row, or sealed with another secret; nothing was changed. Restore the ledger from a backup"
)]
pub struct UnopenedValue {
    /// The name under which the value was to be opened.
    pub name: String,
}

/// How many bytes a derived key has.
#[derive(Clone, Copy)]
struct KeyBytes(usize);

impl KeyType for KeyBytes {
    fn len(&self) -> usize {
        self.0
    }
}

impl InstallationSecret {
    /// Derives the secret's keys from its text. The same text gives the same keys in every process.
    #[must_use]
    pub fn derive(text: &str) -> Self {
        let derived = Salt::new(HKDF_SHA256, SALT).extract(text.as_bytes());
        Self(Arc::new(derived))
    }

    /// Returns a key of 32 bytes for one purpose, by HKDF-SHA256. The keys of two purposes tell
    /// nothing about each other, nor about the secret.
    #[must_use]
    pub fn sub_key(&self, purpose: &str) -> [u8; 32] {
        let mut key = [0; 32];
        let info = [purpose.as_bytes()];
        let derived = self.0.expand(&info, KeyBytes(key.len()));
        derived
            .and_then(|derived| derived.fill(&mut key))
            .expect("HKDF-SHA256 gives up to 8,160 bytes");
        key
    }

    /// Seals a value by AES-256-GCM with a random nonce: `v1.` and base64url of nonce, ciphertext
    /// and tag. `name` is where the value stands, such as `rooms/opening`. A value opens only under
    /// its own name, so whoever writes to the ledger cannot move it to another row.
    #[must_use]
    pub fn seal(&self, name: &str, plain: &[u8]) -> String {
        let mut bytes = plain.to_vec();
        let nonce = self
            .sealing_key()
            .seal_in_place_append_tag(Aad::from(name.as_bytes()), &mut bytes)
            .expect("the system gives random bytes, and no value is near AES-GCM's 64 GiB");
        let sealed = [nonce.as_ref().as_slice(), &bytes].concat();
        format!("{VERSION}{}", URL_SAFE_NO_PAD.encode(sealed))
    }

    /// Opens what [`Self::seal`] sealed under the same name.
    ///
    /// # Errors
    /// [`UnopenedValue`] if the value was sealed under another name or with another secret, or was
    /// changed.
    pub fn open(&self, name: &str, sealed: &[u8]) -> Result<Vec<u8>, UnopenedValue> {
        let opened = sealed
            .strip_prefix(VERSION.as_bytes())
            .and_then(|text| URL_SAFE_NO_PAD.decode(text).ok())
            .and_then(|bytes| self.open_bytes(name, &bytes));
        opened.ok_or_else(|| UnopenedValue {
            name: name.to_owned(),
        })
    }

    fn open_bytes(&self, name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        let (nonce, ciphertext) = bytes.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut plain = ciphertext.to_vec();
        let aad = Aad::from(name.as_bytes());
        let length = self
            .sealing_key()
            .open_in_place(nonce, aad, &mut plain)
            .ok()?
            .len();
        plain.truncate(length);
        Some(plain)
    }

    fn sealing_key(&self) -> RandomizedNonceKey {
        RandomizedNonceKey::new(&AES_256_GCM, &self.sub_key("seal"))
            .expect("AES-256 takes a key of 32 bytes")
    }
}

impl fmt::Debug for InstallationSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InstallationSecret(…)")
    }
}

/// Returns whether a stored value has the form of a sealed one. Otherwise an earlier version stored
/// it as it is. Keys of 32 bytes and JSON never have this form.
#[must_use]
pub fn is_sealed(stored: &[u8]) -> bool {
    stored.len() >= SEALED_CHARS_MIN && stored.starts_with(VERSION.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(of: &str) -> InstallationSecret {
        InstallationSecret::derive(of)
    }

    #[test]
    fn a_sealed_value_opens_only_under_its_name_with_its_secret_and_unchanged() {
        let ours = secret("one");
        let sealed = ours.seal("rooms/a", b"a key");
        assert_eq!(ours.open("rooms/a", sealed.as_bytes()).unwrap(), b"a key");
        let unopened = UnopenedValue {
            name: "rooms/b".to_owned(),
        };
        assert_eq!(ours.open("rooms/b", sealed.as_bytes()), Err(unopened));
        assert!(secret("two").open("rooms/a", sealed.as_bytes()).is_err());
        for at in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            assert!(ours.open("rooms/a", &changed).is_err(), "{at}");
        }
        for text in ["", "v1.", "v1.AAAA", "v2.AAAA"] {
            assert!(ours.open("rooms/a", text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn two_seals_of_one_value_differ_and_none_shows_the_value() {
        let ours = secret("one");
        let (first, second) = (ours.seal("a", b"a key"), ours.seal("a", b"a key"));
        assert_ne!(first, second);
        assert!(!format!("{ours:?}").contains("one"));
    }

    #[test]
    fn a_sealed_value_is_told_from_a_plain_one() {
        assert!(is_sealed(secret("one").seal("a", b"").as_bytes()));
        let mut key = [7; 32];
        key[..3].copy_from_slice(b"v1.");
        assert!(!is_sealed(&key));
        assert!(!is_sealed(
            br#"[{"kid":"a key that is longer than a seal"}]"#
        ));
    }

    #[test]
    fn sub_keys_differ_by_purpose_and_by_secret_and_stay_the_same() {
        let ours = secret("one");
        assert_eq!(ours.sub_key("seal"), secret("one").sub_key("seal"));
        assert_ne!(ours.sub_key("seal"), ours.sub_key("backup head"));
        assert_ne!(ours.sub_key("seal"), secret("two").sub_key("seal"));
        // Computed with another program by RFC 5869. With another derivation, no ledger would open.
        let known = "ac63f8456c25285f7f6f4490bd8a23189e1e387f16185e233cef2b09d3c7b52a";
        assert_eq!(hex::encode(ours.sub_key("seal")), known);
    }
}
