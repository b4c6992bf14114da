#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod claims;
mod holder;
mod keyring;
mod keys;
mod verify;

pub use claims::{
    FreezeClaims, LivePass, PassClaims, PlaceClaims, Presented, RanOut, TicketClaims,
};
pub use holder::{Digest, Holder, NotHex32, VOID};
pub use keyring::{Keyring, TicketTooLong};
pub use keys::{Jwk, Jwks, KeyError, StoredKey};
pub use verify::{LEEWAY_S, PassError, PlaceError, TOKEN_BYTES_MAX, TokenError, Verifier};
