//! Limits how often a client may call: joins by network, searches by network or by a partner's key.
//! Only this folder uses the governor crate.

mod http;
mod joins;
mod network_hasher;
mod networks;
mod searches;

pub use joins::JoinGuard;
pub use network_hasher::{NETWORK_DAY_MS, NetworkHasher};
pub use searches::{ApiKey, SearchQuotas};

/// Why a call is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GuardRefusal {
    /// The network has used up its quota of joins.
    #[error("too many people join from one network; this one may come back in {wait_s} s")]
    TooManyJoins {
        /// Whole seconds until the visitor should come back.
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
