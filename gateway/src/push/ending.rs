//! Why a live socket ends, and what its client is told of it.

use axum::extract::ws::{Utf8Bytes, close_code};
use rand::RngExt;

use super::wire::ClientGone;

/// Why a socket ends.
#[derive(Debug)]
pub enum SocketEnd {
    /// The client went, or is to be dropped without a word.
    Gone,
    /// Said with a code and a reason.
    Close(u16, Utf8Bytes),
}

impl From<ClientGone> for SocketEnd {
    fn from(_: ClientGone) -> Self {
        Self::Gone
    }
}

impl SocketEnd {
    /// 1008: the client does what it should not.
    pub(super) fn policy(reason: &'static str) -> Self {
        Self::Close(close_code::POLICY, reason.into())
    }

    /// 1013: not now.
    pub(super) fn later(reason: &'static str) -> Self {
        Self::Close(close_code::AGAIN, reason.into())
    }

    /// Not a fault of anybody's: a place that was given up has nothing more to hear.
    pub(super) fn place_left() -> Self {
        Self::Close(
            close_code::NORMAL,
            "this place was left; join again for a new one".into(),
        )
    }

    /// Everybody comes back, but not in the same instant.
    pub(super) fn restart() -> Self {
        let retry_ms: u32 = rand::rng().random_range(500..5000);
        Self::Close(
            close_code::RESTART,
            format!("{{\"retry_ms\":{retry_ms}}}").into(),
        )
    }
}
