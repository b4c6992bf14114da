//! The connection to one client. Frames are sent without waiting for the client. While the system
//! does not take the bytes of earlier frames, or the client has too many unread bytes, callers send
//! no further frames. The socket's own buffer thus has at most one burst of frames.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::extract::ws::{CloseFrame, Message as Ws, WebSocket, WebSocketUpgrade};
use fairgate_base::process::stream::ReadMeter;
use futures_util::{Sink, SinkExt, Stream, StreamExt};

use super::drain::ClientReadTracker;
use super::ending::SocketEnd;

/// The longest time to send the close frame and to wait for the client's.
const BYE_MAX: Duration = Duration::from_secs(2);

/// A socket, and the count of the bytes that its client has not read.
pub struct ClientWire {
    socket: WebSocket,
    drain: ClientReadTracker,
    /// Whether the socket's buffer has bytes that the system did not take yet.
    stuck: bool,
    unfinished: UnfinishedMessage,
}

/// An event on the connection.
pub enum WireEvent {
    /// The stuck bytes have gone out.
    Flushed,
    /// The client answered a ping.
    Answered,
    /// The client sent a message.
    Heard(Ws),
}

/// Sets the limits of a socket whose clients send messages of at most so many bytes.
pub fn with_limits(upgrade: WebSocketUpgrade, message_bytes_max: usize) -> WebSocketUpgrade {
    upgrade
        .read_buffer_size(512)
        .write_buffer_size(0)
        .max_message_size(message_bytes_max)
        .max_frame_size(message_bytes_max)
}

/// The bytes that came since the last whole message. A client could send empty fragments for ever,
/// which never make a message and never exceed its length.
struct UnfinishedMessage {
    meter: Option<ReadMeter>,
    /// What the meter said after the last whole message.
    whole: u64,
    bytes_max: u64,
}

impl UnfinishedMessage {
    fn new(meter: Option<ReadMeter>, message_bytes_max: usize) -> Self {
        Self {
            whole: meter.as_ref().map_or(0, ReadMeter::bytes_read),
            meter,
            bytes_max: 2 * message_bytes_max as u64 + 4_096,
        }
    }

    fn note_whole(&mut self) {
        self.whole = self.meter.as_ref().map_or(0, ReadMeter::bytes_read);
    }

    fn is_flood(&self) -> bool {
        let read = self.meter.as_ref().map_or(0, ReadMeter::bytes_read);
        read - self.whole > self.bytes_max
    }
}

impl ClientWire {
    /// Makes the connection from a socket that has just opened. The `meter` counts what is read
    /// from its connection.
    #[must_use]
    pub fn new(socket: WebSocket, message_bytes_max: usize, meter: Option<ReadMeter>) -> Self {
        Self {
            socket,
            drain: ClientReadTracker::new(Instant::now()),
            stuck: false,
            unfinished: UnfinishedMessage::new(meter, message_bytes_max),
        }
    }

    /// Returns whether the client takes more frames. If not, the caller sends the newest state
    /// later.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.stuck && self.drain.may_send()
    }

    /// Returns whether the client has left a ping unanswered for too long.
    #[must_use]
    pub fn is_stalled(&self) -> bool {
        self.drain.is_stalled(Instant::now())
    }

    /// Sends a frame, and a ping if one is due. The caller checks [`ClientWire::is_open`] before a
    /// burst of frames.
    ///
    /// # Errors
    /// Fails if the client has gone.
    pub async fn send_frame(&mut self, frame: Ws) -> Result<(), SocketEnd> {
        self.drain.count_sent(match &frame {
            Ws::Text(text) => text.len(),
            Ws::Binary(bytes) | Ws::Ping(bytes) | Ws::Pong(bytes) => bytes.len(),
            Ws::Close(_) => 0,
        });
        self.socket
            .start_send_unpin(frame)
            .map_err(|_| SocketEnd::Gone)?;
        self.put_ping()?;
        self.flush().await
    }

    /// Pings the client if a ping is due. The answer shows how much the client has read.
    ///
    /// # Errors
    /// Fails if the client has gone.
    pub async fn ping_if_due(&mut self) -> Result<(), SocketEnd> {
        if self.put_ping()? {
            self.flush().await?;
        }
        Ok(())
    }

    fn put_ping(&mut self) -> Result<bool, SocketEnd> {
        let Some(number) = self.drain.next_ping(Instant::now()) else {
            return Ok(false);
        };
        let ping = Ws::Ping(bytes::Bytes::copy_from_slice(&number.to_be_bytes()));
        self.socket
            .start_send_unpin(ping)
            .map_err(|_| SocketEnd::Gone)?;
        Ok(true)
    }

    /// Tries once to flush. [`ClientWire::next`] sends later what the system does not take now.
    async fn flush(&mut self) -> Result<(), SocketEnd> {
        let socket = &mut self.socket;
        let flushed = poll_fn(|cx| Poll::Ready(Pin::new(&mut *socket).poll_flush(cx))).await;
        self.stuck = flushed.is_pending();
        match flushed {
            Poll::Ready(Err(_)) => Err(SocketEnd::Gone),
            Poll::Ready(Ok(())) | Poll::Pending => Ok(()),
        }
    }

    /// Waits for the next event.
    ///
    /// # Errors
    /// Fails with the end of the socket if the client closed it, has gone, or broke a rule of the
    /// protocol.
    pub async fn next(&mut self) -> Result<WireEvent, SocketEnd> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<WireEvent, SocketEnd>> {
        if self.stuck {
            match Pin::new(&mut self.socket).poll_flush(cx) {
                Poll::Ready(Ok(())) => {
                    self.stuck = false;
                    return Poll::Ready(Ok(WireEvent::Flushed));
                }
                Poll::Ready(Err(_)) => return Poll::Ready(Err(SocketEnd::Gone)),
                Poll::Pending => {}
            }
        }
        let heard = Pin::new(&mut self.socket).poll_next(cx);
        if heard.is_pending() && self.unfinished.is_flood() {
            let flood = SocketEnd::policy("a message came in too many small fragments");
            return Poll::Ready(Err(flood));
        }
        let heard = ready!(heard);
        self.unfinished.note_whole();
        Poll::Ready(match heard {
            None => Err(SocketEnd::Gone),
            Some(Err(error)) => Err(SocketEnd::of_error(error)),
            Some(Ok(Ws::Close(_))) => Err(SocketEnd::ByClient),
            Some(Ok(Ws::Pong(answer))) if self.takes_pong(&answer) => Ok(WireEvent::Answered),
            Some(Ok(message)) => Ok(WireEvent::Heard(message)),
        })
    }

    /// Returns whether a pong answers the last ping.
    fn takes_pong(&mut self, answer: &[u8]) -> bool {
        let number = answer.try_into().map(u32::from_be_bytes);
        number.is_ok_and(|number| self.drain.take_pong(number))
    }

    /// Ends the socket: sends the close frame, or the answer to the client's, and lets the client
    /// end the connection.
    pub async fn end(mut self, end: SocketEnd) {
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
        // The client may have gone or may read nothing. Then the frame is lost, which does no harm.
        let _ = tokio::time::timeout(BYE_MAX, goodbye).await;
    }
}
