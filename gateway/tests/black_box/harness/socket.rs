//! Opens the live socket of a visitor without a browser, and decodes a show's seats from its
//! frames.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode};
use tokio_tungstenite::tungstenite::{Error, Message as Ws};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::{PATIENCE, Visitor};

/// A message from the server.
#[derive(Debug, Clone)]
enum Message {
    /// A text frame. Its `type` says what it is.
    Text(Value),
    /// A binary frame.
    Seats(Vec<u8>),
    /// The end of the socket: a close code and its reason.
    Closed(u16, String),
}

/// An open socket.
pub struct Live {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    /// The messages that came while the test waited for another one.
    kept: VecDeque<Message>,
}

impl Live {
    /// Opens the socket with the place as a subprotocol.
    ///
    /// # Panics
    /// When it is refused, or the answer names another subprotocol than `fairgate.v1`.
    pub async fn open(visitor: &Visitor<'_>) -> Self {
        let place = format!("fairgate.v1, place.{}", visitor.place);
        Self::open_with(visitor, &[("sec-websocket-protocol", &place)])
            .await
            .expect("the socket opens")
    }

    /// Opens the socket with these headers.
    ///
    /// # Errors
    /// The status of the refusal.
    pub async fn open_with(
        visitor: &Visitor<'_>,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, StatusCode> {
        let address = visitor
            .server
            .socket_at(&format!("/v1/rooms/{}/live", visitor.room));
        let mut request = address.into_client_request().expect("a request");
        for (name, value) in headers {
            request
                .headers_mut()
                .insert(*name, HeaderValue::from_str(value).expect("a header"));
        }
        match connect_async(request).await {
            Ok((socket, answer)) => {
                let echoed = answer.headers().get("sec-websocket-protocol");
                assert!(
                    echoed.is_none_or(|echoed| echoed == "fairgate.v1"),
                    "echoed {echoed:?}"
                );
                Ok(Self {
                    socket,
                    kept: VecDeque::new(),
                })
            }
            Err(Error::Http(answer)) => Err(answer.status()),
            Err(error) => panic!("the socket did not open: {error}"),
        }
    }

    /// Ends the connection without a close frame, as the system does for a program that ends.
    pub async fn hang_up(&mut self) {
        let ended = self.socket.get_mut().shutdown().await;
        ended.expect("the connection was open");
    }

    /// Sends a JSON message.
    pub async fn say(&mut self, message: &Value) {
        self.send(Ws::text(message.to_string())).await;
    }

    /// Sends any frame.
    pub async fn send(&mut self, frame: Ws) {
        // If the server closes the socket in the meantime, the next read reports that.
        let _ = self.socket.send(frame).await;
    }

    /// Returns the next text frame of this type.
    pub async fn text(&mut self, kind: &str) -> Value {
        self.text_where(kind, |_| true).await
    }

    /// Returns the next text frame of this type for which `fits` returns true.
    pub async fn text_where(&mut self, kind: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let wanted = |message: &Message| match message {
            Message::Text(value) if value["type"] == kind && fits(value) => Some(value.clone()),
            _ => None,
        };
        self.wait_for(kind, PATIENCE, wanted).await
    }

    /// Returns the next binary frame.
    pub async fn seats(&mut self) -> Vec<u8> {
        let wanted = |message: &Message| match message {
            Message::Seats(bytes) => Some(bytes.clone()),
            _ => None,
        };
        self.wait_for("seats", PATIENCE, wanted).await
    }

    /// Returns the close code and its reason.
    pub async fn closed(&mut self) -> (u16, String) {
        let wanted = |message: &Message| match message {
            Message::Closed(code, reason) => Some((*code, reason.clone())),
            _ => None,
        };
        self.wait_for("the close", PATIENCE, wanted).await
    }

    async fn wait_for<T>(
        &mut self,
        what: &str,
        deadline: Duration,
        wanted: impl Fn(&Message) -> Option<T>,
    ) -> T {
        if let Some((at, found)) = self
            .kept
            .iter()
            .enumerate()
            .find_map(|(at, one)| Some((at, wanted(one)?)))
        {
            self.kept.remove(at);
            return found;
        }
        let ends = tokio::time::Instant::now() + deadline;
        loop {
            let next = tokio::time::timeout_at(ends, self.next()).await;
            let message = next
                .unwrap_or_else(|_| panic!("no {what} within {deadline:?}; kept: {:?}", self.kept));
            if let Some(found) = wanted(&message) {
                return found;
            }
            if let Message::Closed(code, reason) = &message {
                panic!(
                    "closed with {code} {reason:?} before {what}; kept: {:?}",
                    self.kept
                );
            }
            self.kept.push_back(message);
        }
    }

    async fn next(&mut self) -> Message {
        loop {
            match self.socket.next().await {
                Some(Ok(Ws::Text(text))) => {
                    return Message::Text(
                        serde_json::from_str(&text).expect("text frames are JSON"),
                    );
                }
                Some(Ok(Ws::Binary(bytes))) => return Message::Seats(bytes.to_vec()),
                Some(Ok(Ws::Close(Some(close)))) => {
                    return Message::Closed(close.code.into(), close.reason.to_string());
                }
                Some(Ok(Ws::Close(None))) | None => return Message::Closed(1005, String::new()),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Message::Closed(1006, error.to_string()),
            }
        }
    }
}

/// The seats of a show, decoded from its frames without the product's code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The version of the last frame.
    pub version: u64,
    /// The state of each cell: 0 free, 1 held, 2 sold, 3 not for sale.
    pub cells: Vec<u8>,
}

impl Picture {
    /// Reads a snapshot.
    ///
    /// # Panics
    /// If the frame is no valid snapshot.
    pub fn of(frame: &[u8]) -> Self {
        assert_eq!(frame.first(), Some(&1), "a snapshot");
        let version = u64_at(frame, 1);
        let cells = u32::from_le_bytes(frame[9..13].try_into().expect("4 bytes")) as usize;
        assert_eq!(
            frame.len(),
            13 + cells.div_ceil(4),
            "the length fits the number of cells"
        );
        Self {
            version,
            cells: (0..cells)
                .map(|at| frame[13 + at / 4] >> (at % 4 * 2) & 3)
                .collect(),
        }
    }

    /// Applies a delta, and returns the cells that it changed.
    ///
    /// # Panics
    /// If the frame is no valid delta, or does not start at the picture's version.
    pub fn apply(&mut self, frame: &[u8]) -> Vec<(usize, u8)> {
        assert_eq!(frame.first(), Some(&2), "a delta");
        assert_eq!(
            u64_at(frame, 1),
            self.version,
            "a delta starts at the picture's version"
        );
        let to = u64_at(frame, 9);
        assert!(to > self.version, "versions grow");
        self.version = to;
        let (mut told, mut previous, mut at) = (Vec::new(), 0, 17);
        while at < frame.len() {
            let (mut value, mut shift) = (0_u64, 0);
            loop {
                let byte = frame[at];
                at += 1;
                value |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    break;
                }
            }
            let index = previous + usize::try_from(value >> 2).expect("a cell's index");
            assert!(told.is_empty() || index > previous, "indices ascend");
            let state = (value & 3) as u8;
            self.cells[index] = state;
            told.push((index, state));
            previous = index;
        }
        told
    }

    /// Returns how many cells are in this state.
    pub fn count(&self, state: u8) -> usize {
        self.cells.iter().filter(|cell| **cell == state).count()
    }
}

fn u64_at(frame: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(frame[at..at + 8].try_into().expect("8 bytes"))
}
