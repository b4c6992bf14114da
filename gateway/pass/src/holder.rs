//! The 32-byte values that are written as hex. `Holder` and `Digest` are two types, so that no
//! commitment can be passed as a holder.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use sha2::{Digest as _, Sha256};

/// The holder of a place: SHA-256 of the visitor's secret. It is public, so it never serves as a
/// credential. It is written as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Holder(pub [u8; 32]);

/// A SHA-256 value other than a holder: a commitment, a root, the hash of a code. It is written as
/// 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

/// The holder value of a number that nobody holds: 32 zero bytes.
pub const VOID: Holder = Holder([0; 32]);

/// The text is not 64 hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 64 hex digits (32 bytes)")]
pub struct NotHex32;

impl Holder {
    /// Returns the holder that belongs to a visitor's 32-byte secret.
    pub fn of_secret(secret: &[u8; 32]) -> Self {
        Self(Sha256::digest(secret).into())
    }

    /// Returns whether this value means that nobody holds the number.
    pub fn is_void(&self) -> bool {
        *self == VOID
    }
}

impl Digest {
    /// Returns the SHA-256 of `bytes`.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

fn parse_hex32(text: &str) -> Result<[u8; 32], NotHex32> {
    fn nibble(digit: u8) -> Result<u8, NotHex32> {
        match digit {
            b'0'..=b'9' => Ok(digit - b'0'),
            b'a'..=b'f' => Ok(digit - b'a' + 10),
            b'A'..=b'F' => Ok(digit - b'A' + 10),
            _ => Err(NotHex32),
        }
    }
    let (pairs, odd) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != 32 || !odd.is_empty() {
        return Err(NotHex32);
    }
    let mut bytes = [0; 32];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = nibble(*high)? << 4 | nibble(*low)?;
    }
    Ok(bytes)
}

macro_rules! as_hex {
    ($type:ident) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($type), "({})"), self)
            }
        }

        impl FromStr for $type {
            type Err = NotHex32;
            fn from_str(text: &str) -> Result<Self, NotHex32> {
                parse_hex32(text).map(Self)
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
                text.parse().map_err(D::Error::custom)
            }
        }

        impl From<[u8; 32]> for $type {
            fn from(bytes: [u8; 32]) -> Self {
                Self(bytes)
            }
        }

        impl From<$type> for [u8; 32] {
            fn from(value: $type) -> Self {
                value.0
            }
        }

        impl AsRef<[u8]> for $type {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }
    };
}

as_hex!(Holder);
as_hex!(Digest);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_parses_from_64_hex_digits_and_from_nothing_else() {
        let holder = Holder::of_secret(&[1; 32]);
        assert_eq!(holder.to_string().parse(), Ok(holder));
        assert_eq!(holder.to_string().to_uppercase().parse(), Ok(holder));
        for bad in [
            "",
            "00",
            &"g".repeat(64),
            &"0".repeat(63),
            &"0".repeat(66),
            &"é".repeat(32),
        ] {
            assert_eq!(bad.parse::<Holder>(), Err(NotHex32), "{bad}");
        }
        let json = serde_json::to_string(&holder).unwrap();
        assert_eq!(serde_json::from_str::<Holder>(&json).unwrap(), holder);
        assert!(VOID.is_void() && !holder.is_void());
    }
}
