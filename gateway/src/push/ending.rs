//! Why a live socket ends, and the close code and reason that its client gets.

use std::error::Error;

use axum::extract::ws::{Utf8Bytes, close_code};
use rand::RngExt;
use tokio_tungstenite::tungstenite::Error as FrameError;
use tokio_tungstenite::tungstenite::error::ProtocolError;

/// Why a socket ends.
#[derive(Debug)]
pub enum SocketEnd {
    /// The client has gone, or is to be dropped without a close frame.
    Gone,
    /// The client closed the socket, and gets its close frame back.
    ByClient,
    /// The server closes with this code and reason.
    Close(u16, Utf8Bytes),
}

impl SocketEnd {
    /// Returns how the socket ends if a message of the client could not be read.
    pub(super) fn of_error(error: axum::Error) -> Self {
        let error: Box<dyn Error + Send + Sync> = error.into_inner();
        match error.downcast_ref::<FrameError>() {
            Some(FrameError::Capacity(_)) => Self::policy("a message was too long"),
            Some(FrameError::Utf8(_)) => {
                Self::Close(close_code::INVALID, "the text is not UTF-8".into())
            }
            // The connection ended without a close frame, as it does if a program ends.
            Some(FrameError::Protocol(ProtocolError::ResetWithoutClosingHandshake)) => Self::Gone,
            Some(FrameError::Protocol(_)) => Self::Close(
                close_code::PROTOCOL,
                "a frame breaks the WebSocket protocol".into(),
            ),
            _ => Self::Gone,
        }
    }

    /// Returns whether the other end closed the socket or the connection.
    pub(super) fn is_by_other_end(&self) -> bool {
        matches!(self, Self::Gone | Self::ByClient)
    }

    /// Closes with 1008: the client broke a rule.
    pub(super) fn policy(reason: &'static str) -> Self {
        Self::Close(close_code::POLICY, reason.into())
    }

    /// Closes with 1013: the client should try again later.
    pub(super) fn try_later(reason: &'static str) -> Self {
        Self::Close(close_code::AGAIN, reason.into())
    }

    /// Closes with 1008: the place has as many newer sockets as are allowed.
    pub(super) fn replaced() -> Self {
        Self::policy("this place has too many live connections; the newest ones stay open")
    }

    /// Closes normally, because a visitor who has left the place gets no more messages.
    pub(super) fn place_left() -> Self {
        Self::Close(
            close_code::NORMAL,
            "this place was left; join again for a new one".into(),
        )
    }

    /// Closes normally, because the promoter ended the place.
    pub(super) fn place_revoked() -> Self {
        Self::Close(close_code::NORMAL, "the promoter ended this place".into())
    }

    /// Closes for a restart. Tells the client a random delay, so that not all clients come back at
    /// once.
    pub(super) fn restart() -> Self {
        let retry_ms: u32 = rand::rng().random_range(500..5000);
        Self::Close(
            close_code::RESTART,
            format!("{{\"retry_ms\":{retry_ms}}}").into(),
        )
    }
}
