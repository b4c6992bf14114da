//! Limits how often a client may call. Joins, waits, wrong codes and wrong keys are counted by
//! network. Lists and searches are counted by network or by a partner's key, each with what it
//! costs (`costs`), and changes of wishes by visitor. While wrong codes are tried, codes have turns
//! (`code_turns`). Only this folder uses the governor crate.

mod attempts;
mod code_turns;
mod costs;
mod http;
mod joins;
mod network_hasher;
mod networks;
mod searches;
mod waits;
mod wishes;

pub use attempts::{AttemptGuards, AttemptKind};
pub use code_turns::{CodeTry, CodeTurns, GivenTurn};
pub use costs::{SEARCH_UNITS, call_units};
pub use joins::JoinGuard;
pub use network_hasher::{NETWORK_DAY_MS, NetworkHasher};
pub use searches::{API_KEY, ApiKey, SearchQuotas};
pub use waits::WaitGuard;
pub use wishes::WishGuard;

/// Why a call is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GuardRefusal {
    /// The network has used up its quota of joins.
    #[error("too many people join from one network; this visitor may come back in {wait_s} s")]
    TooManyJoins {
        /// Whole seconds until the visitor should come back.
        wait_s: u64,
    },
    /// The network has begun as many waits as it may, or the queue of the wider network is full.
    #[error("too many waits were begun from one network; the next one is allowed in {wait_s} s")]
    TooManyWaits {
        /// Whole seconds until the network may begin another wait.
        wait_s: u64,
    },
    /// The visitor has changed its wishes too often.
    #[error("one place changed its wishes too often; the next change is allowed in {wait_s} s")]
    TooManyWishes {
        /// Whole seconds until the visitor may change its wishes again.
        wait_s: u64,
    },
    /// The network sent so many wrong codes or keys that all its attempts are refused for a while.
    #[error("too many wrong codes or keys came from one network; it pauses for {wait_s} s")]
    TooManyAttempts {
        /// Whole seconds until a code or key is looked at again.
        wait_s: u64,
    },
    /// So many wrong codes are tried in the room that this visitor's was not looked at.
    #[error("many wrong codes are tried in the room; this one may be sent again in {wait_s} s")]
    CodesPaused {
        /// Whole seconds until the visitor should send the code again.
        wait_s: u64,
    },
    /// The partner's key is not one of those in the settings.
    #[error("the API key is not known")]
    ApiKeyUnknown,
    /// The partner's key has used up its quota of searches.
    #[error("the key's quota of searches is used up for {wait_s} s")]
    KeyQuotaUsed {
        /// Whole seconds until the next search is admitted.
        wait_s: u64,
    },
    /// The network has used up its quota of searches.
    #[error("the network's quota of searches is used up for {wait_s} s")]
    NetworkQuotaUsed {
        /// Whole seconds until the next search is admitted.
        wait_s: u64,
    },
}
