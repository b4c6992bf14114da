//! Encodes a frame once, with its WebSocket header, for any number of sockets. A server's frames
//! are not masked, so all sockets get the same bytes.

use bytes::Bytes;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

/// A whole frame, ready for the connection; cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedFrame {
    bytes: Bytes,
}

impl SharedFrame {
    /// Makes a text frame.
    #[must_use]
    pub fn text(text: impl Into<Bytes>) -> Self {
        Self::of(Frame::message(text, OpCode::Data(Data::Text), true))
    }

    /// Makes a binary frame.
    #[must_use]
    pub fn binary(payload: impl Into<Bytes>) -> Self {
        Self::of(Frame::message(payload, OpCode::Data(Data::Binary), true))
    }

    /// Makes a ping with this number.
    #[must_use]
    pub fn ping(number: u32) -> Self {
        Self::of(Frame::ping(number.to_be_bytes().to_vec()))
    }

    fn of(frame: Frame) -> Self {
        let mut bytes = Vec::with_capacity(frame.len());
        frame
            .format(&mut bytes)
            .expect("a vector takes every write");
        Self {
            bytes: bytes.into(),
        }
    }

    /// Returns the frame with its header.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_the_headers_of_the_standard() {
        for (frame, expected) in [
            (SharedFrame::text("ab"), "81026162".to_owned()),
            (SharedFrame::binary(vec![7]), "820107".to_owned()),
            (SharedFrame::ping(1), "890400000001".to_owned()),
            (
                SharedFrame::binary(vec![0; 200]),
                format!("827e00c8{}", "00".repeat(200)),
            ),
        ] {
            assert_eq!(hex::encode(frame.bytes()), expected);
        }
    }
}
