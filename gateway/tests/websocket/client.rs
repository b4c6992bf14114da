//! A WebSocket client that sends exactly the bytes that a test asks for, broken frames included.

use std::collections::VecDeque;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::mpsc;

/// The first byte of a control frame, or of a frame that is a whole message.
pub const TEXT: u8 = 0x81;
pub const BINARY: u8 = 0x82;
pub const CLOSE: u8 = 0x88;
pub const PING: u8 = 0x89;
pub const PONG: u8 = 0x8a;
/// The first frame of a text in fragments. The next two constants continue and end the text.
pub const TEXT_BEGINS: u8 = 0x01;
pub const GOES_ON: u8 = 0x00;
pub const ENDS: u8 = 0x80;

const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];
const HANDSHAKE: &str = "GET / HTTP/1.1\r\nhost: echo\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\
     sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n";

/// Builds a masked frame.
pub fn frame(head: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![head];
    match payload.len() {
        short @ ..=125 => bytes.push(0x80 | u8::try_from(short).expect("short")),
        middle @ ..=65_535 => {
            bytes.push(0x80 | 126);
            bytes.extend(u16::try_from(middle).expect("middle").to_be_bytes());
        }
        long => {
            bytes.push(0x80 | 127);
            bytes.extend((long as u64).to_be_bytes());
        }
    }
    bytes.extend(MASK);
    bytes.extend(
        payload
            .iter()
            .zip(MASK.iter().cycle())
            .map(|(byte, mask)| byte ^ mask),
    );
    bytes
}

/// A frame of the server.
#[derive(Debug, PartialEq, Eq)]
pub struct ServerFrame {
    pub head: u8,
    pub payload: Vec<u8>,
}

/// A client's connection. A separate task writes, so that reading never waits for writing.
pub struct RawClient {
    reading: OwnedReadHalf,
    writing: mpsc::UnboundedSender<Vec<u8>>,
}

impl RawClient {
    /// Opens a socket. Frames are written in pieces of `chop` bytes.
    pub async fn open(address: SocketAddr, chop: usize) -> Self {
        let stream = TcpStream::connect(address).await.expect("it accepts");
        stream
            .set_nodelay(true)
            .expect("small writes are not joined");
        let (mut reading, mut writer) = stream.into_split();
        writer
            .write_all(HANDSHAKE.as_bytes())
            .await
            .expect("it is sent");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(reading.read_u8().await.expect("a handshake"));
        }
        assert!(
            head.starts_with(b"HTTP/1.1 101 "),
            "{}",
            String::from_utf8_lossy(&head)
        );
        let (writing, mut frames) = mpsc::unbounded_channel::<Vec<u8>>();
        tokio::spawn(async move {
            while let Some(frame) = frames.recv().await {
                for piece in frame.chunks(chop) {
                    // The server may have closed the connection already, because of an earlier
                    // frame.
                    if writer.write_all(piece).await.is_err() {
                        return;
                    }
                }
            }
        });
        Self { reading, writing }
    }

    pub fn send(&self, frames: &mut VecDeque<Vec<u8>>) {
        for frame in frames.drain(..) {
            self.write(frame);
        }
    }

    pub fn write(&self, frame: Vec<u8>) {
        // The writing task may have ended, because the server has closed the connection.
        let _ = self.writing.send(frame);
    }

    /// Returns the next frame, or `None` if the server has ended the connection. Answers the
    /// server's pings.
    pub async fn read(&mut self) -> Option<ServerFrame> {
        loop {
            let frame = self.read_frame().await?;
            if frame.head != PING {
                return Some(frame);
            }
            self.write(self::frame(PONG, &frame.payload));
        }
    }

    async fn read_frame(&mut self) -> Option<ServerFrame> {
        let head = self.reading.read_u8().await.ok()?;
        let length = match self.reading.read_u8().await.ok()? {
            126 => u64::from(self.reading.read_u16().await.ok()?),
            127 => self.reading.read_u64().await.ok()?,
            short => u64::from(short),
        };
        let mut payload = vec![0; usize::try_from(length).expect("a length")];
        self.reading.read_exact(&mut payload).await.ok()?;
        Some(ServerFrame { head, payload })
    }
}
