//! How often anybody may ask: joins by network, searches by network or by the key of a partner.
//! governor is named only in this folder.

mod http;
mod joins;
mod networks;
mod searches;

pub use joins::JoinGuard;
pub use searches::{ApiKey, SearchQuotas};

/// Why nobody is let through just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GuardRefusal {
    /// A network joins faster than people can.
    #[error("too many people join from one network; this one may come back in {wait_s} s")]
    TooManyJoins {
        /// Whole seconds until this one should come back.
        wait_s: u64,
    },
    /// The key of a partner is none that is set here.
    #[error("the API key is not known")]
    ApiKeyUnknown,
    /// A partner's key has used up its searches.
    #[error("the key's quota of searches is used up for {wait_s} s")]
    KeyQuotaUsed {
        /// Whole seconds until the next search is let through.
        wait_s: u64,
    },
    /// A network has used up its searches.
    #[error("the network's quota of searches is used up for {wait_s} s")]
    NetworkQuotaUsed {
        /// Whole seconds until the next search is let through.
        wait_s: u64,
    },
}
