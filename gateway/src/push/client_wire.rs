//! The connection to one client. tokio-tungstenite reads it, answers pings and sends the close
//! frame. All other frames go through the [outlet](super::outlet), without waiting for the client.
//! Callers send no further frames while bytes of earlier frames still wait, or while the client has
//! too many unread bytes. At most one burst of frames thus waits for a client.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message as Ws, WebSocket, WebSocketUpgrade};
use fairgate_base::process::connection::ConnectionHandle;
use futures_util::{Sink, Stream, StreamExt};

use super::ending::SocketEnd;
use super::frame::SharedFrame;
use super::outlet::SocketOutlet;

/// The longest time to send the close frame and to wait for the client's close frame.
const BYE_MAX: Duration = Duration::from_secs(2);

/// A socket, and its outlet.
pub struct ClientWire {
    socket: WebSocket,
    outlet: Arc<SocketOutlet>,
    unfinished: UnfinishedMessage,
}

/// An event on the connection.
pub enum WireEvent {
    /// The task was woken, or bytes that had to wait have gone out.
    Woken,
    /// The client answered a ping.
    Answered,
    /// The client sent a message.
    Received(Ws),
}

/// Sets the limits of a socket whose client sends messages of at most `message_bytes_max` bytes.
pub fn with_limits(upgrade: WebSocketUpgrade, message_bytes_max: usize) -> WebSocketUpgrade {
    upgrade
        .read_buffer_size(128)
        .write_buffer_size(0)
        .max_message_size(message_bytes_max)
        .max_frame_size(message_bytes_max)
}

/// Limits the bytes that may come before a message is complete. Otherwise a client could send empty
/// fragments for ever, because they neither complete a message nor make it longer.
struct UnfinishedMessage {
    /// How many bytes had been read when the last message was complete.
    read_before: u64,
    bytes_max: u64,
}

impl ClientWire {
    /// Makes the connection from a socket that has just opened.
    #[must_use]
    pub fn new(socket: WebSocket, message_bytes_max: usize, connection: ConnectionHandle) -> Self {
        Self {
            socket,
            unfinished: UnfinishedMessage {
                read_before: connection.bytes_read(),
                bytes_max: 2 * message_bytes_max as u64 + 4_096,
            },
            outlet: Arc::new(SocketOutlet::new(connection)),
        }
    }

    /// Returns the outlet, which sends frames to this client.
    #[must_use]
    pub fn outlet(&self) -> &Arc<SocketOutlet> {
        &self.outlet
    }

    /// Returns whether the client takes more frames.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.outlet.is_open()
    }

    /// Sends a frame. The caller checks [`ClientWire::is_open`] before a burst of frames.
    ///
    /// # Errors
    /// Fails if the client has gone.
    pub fn send_frame(&self, frame: &SharedFrame) -> Result<(), SocketEnd> {
        self.outlet.queue(frame)
    }

    /// Waits for the next event.
    ///
    /// # Errors
    /// Returns why the socket ends, if the client closed it, has gone, or broke a rule of the
    /// protocol.
    pub async fn next(&mut self) -> Result<WireEvent, SocketEnd> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<WireEvent, SocketEnd>> {
        let is_woken = self.outlet.take_wake(cx);
        if self.outlet.is_stuck() {
            match Pin::new(&mut self.socket).poll_flush(cx) {
                Poll::Ready(Ok(())) => return Poll::Ready(Ok(WireEvent::Woken)),
                Poll::Ready(Err(_)) => return Poll::Ready(Err(SocketEnd::Gone)),
                Poll::Pending => {}
            }
        }
        if is_woken {
            return Poll::Ready(Ok(WireEvent::Woken));
        }
        let received = Pin::new(&mut self.socket).poll_next(cx);
        let bytes_read = self.outlet.bytes_read();
        if received.is_pending()
            && bytes_read - self.unfinished.read_before > self.unfinished.bytes_max
        {
            let flood = SocketEnd::policy("a message came in too many small fragments");
            return Poll::Ready(Err(flood));
        }
        let received = ready!(received);
        self.unfinished.read_before = bytes_read;
        Poll::Ready(match received {
            None => Err(SocketEnd::Gone),
            Some(Err(error)) => Err(SocketEnd::of_error(error)),
            Some(Ok(Ws::Close(_))) => Err(SocketEnd::ByClient),
            Some(Ok(Ws::Pong(answer))) if self.take_pong(&answer) => Ok(WireEvent::Answered),
            Some(Ok(message)) => Ok(WireEvent::Received(message)),
        })
    }

    /// Takes a pong. Returns whether it answers the last ping.
    fn take_pong(&self, answer: &[u8]) -> bool {
        let number = answer.try_into().map(u32::from_be_bytes);
        number.is_ok_and(|number| self.outlet.take_pong(number))
    }

    /// Ends the socket: sends the close frame, or answers the client's close frame. Then lets the
    /// client end the connection.
    pub async fn end(&mut self, end: SocketEnd) {
        self.outlet.end();
        let goodbye = async {
            match end {
                SocketEnd::Gone => return,
                SocketEnd::ByClient => {}
                SocketEnd::Close(code, reason) => {
                    let frame = Ws::Close(Some(CloseFrame { code, reason }));
                    if self.socket.send(frame).await.is_err() {
                        return;
                    }
                }
            }
            // Reading sends the answer to the client's close frame. If bytes of the client stayed
            // unread, the system would cut the connection, and the client might not see why.
            while let Some(Ok(_)) = self.socket.next().await {}
        };
        // If the client has gone or reads nothing, the frame is lost, which does no harm.
        let _ = tokio::time::timeout(BYE_MAX, goodbye).await;
    }
}
