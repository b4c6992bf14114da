#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod claims;
mod code;
mod code_bytes;
mod cookie;
mod end_cause;
mod fields;
mod holder;
mod keyring;
mod keys;
mod moving;
mod rotation;
mod verify;

pub use claims::{
    FreezeClaims, LivePass, PassClaims, PassExpiredError, PlaceClaims, TicketClaims, VerifiedPass,
};
pub use code::{CODE_CHARS_MAX, TicketWithoutCode};
pub use cookie::PlaceCookie;
pub use end_cause::VisitEndCause;
pub use holder::{Digest, Holder, NotHex32, VOID};
pub use keyring::{Keyring, TicketTooLong};
pub use keys::{Jwk, Jwks, StoredKey, TokenKeyError};
pub use moving::PlaceMove;
pub use rotation::{RETIRED_PASSES_S, RotationUnderWay, rotate};
pub use verify::{LEEWAY_S, PassError, PlaceError, TOKEN_BYTES_MAX, TokenError, Verifier};
