//! The connection to one client. Frames are sent without waiting for the client. While the system
//! does not take the bytes of earlier frames, or the client has too many unread bytes, callers send
//! no further frames. The socket's own buffer thus has at most one burst of frames.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::extract::ws::{CloseFrame, Message as Ws, WebSocket};
use futures_util::{Sink, SinkExt, Stream};

use super::drain::ClientReadTracker;

/// The longest time to try to send the close frame.
const BYE_MAX: Duration = Duration::from_secs(5);

/// A socket, and the count of the bytes that its client has not read.
pub struct ClientWire {
    socket: WebSocket,
    drain: ClientReadTracker,
    /// Whether the socket's buffer has bytes that the system did not take yet.
    stuck: bool,
}

/// An event on the connection.
pub enum WireEvent {
    /// The stuck bytes have gone out.
    Flushed,
    /// The client answered a ping.
    Answered,
    /// The client sent a message; `None` if the client has gone.
    Heard(Option<Result<Ws, axum::Error>>),
}

/// The failure that the client has gone or the socket is broken.
#[derive(Debug)]
pub struct ClientGone;

impl ClientWire {
    /// Makes the connection from a socket that has just opened.
    #[must_use]
    pub fn new(socket: WebSocket) -> Self {
        Self {
            socket,
            drain: ClientReadTracker::new(Instant::now()),
            stuck: false,
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
    pub async fn send_frame(&mut self, frame: Ws) -> Result<(), ClientGone> {
        self.drain.count_sent(match &frame {
            Ws::Text(text) => text.len(),
            Ws::Binary(bytes) | Ws::Ping(bytes) | Ws::Pong(bytes) => bytes.len(),
            Ws::Close(_) => 0,
        });
        self.socket
            .start_send_unpin(frame)
            .map_err(|_| ClientGone)?;
        self.put_ping()?;
        self.flush().await
    }

    /// Pings the client if a ping is due. The answer shows how much the client has read.
    ///
    /// # Errors
    /// Fails if the client has gone.
    pub async fn ping_if_due(&mut self) -> Result<(), ClientGone> {
        if self.put_ping()? {
            self.flush().await?;
        }
        Ok(())
    }

    fn put_ping(&mut self) -> Result<bool, ClientGone> {
        let Some(number) = self.drain.next_ping(Instant::now()) else {
            return Ok(false);
        };
        let ping = Ws::Ping(bytes::Bytes::copy_from_slice(&number.to_be_bytes()));
        self.socket.start_send_unpin(ping).map_err(|_| ClientGone)?;
        Ok(true)
    }

    /// Tries once to flush. [`ClientWire::next`] sends later what the system does not take now.
    async fn flush(&mut self) -> Result<(), ClientGone> {
        let socket = &mut self.socket;
        let flushed = poll_fn(|cx| Poll::Ready(Pin::new(&mut *socket).poll_flush(cx))).await;
        self.stuck = flushed.is_pending();
        match flushed {
            Poll::Ready(Err(_)) => Err(ClientGone),
            Poll::Ready(Ok(())) | Poll::Pending => Ok(()),
        }
    }

    /// Waits for the next event.
    ///
    /// # Errors
    /// Fails if the client has gone.
    pub async fn next(&mut self) -> Result<WireEvent, ClientGone> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<WireEvent, ClientGone>> {
        if self.stuck {
            match Pin::new(&mut self.socket).poll_flush(cx) {
                Poll::Ready(Ok(())) => {
                    self.stuck = false;
                    return Poll::Ready(Ok(WireEvent::Flushed));
                }
                Poll::Ready(Err(_)) => return Poll::Ready(Err(ClientGone)),
                Poll::Pending => {}
            }
        }
        let heard = std::task::ready!(Pin::new(&mut self.socket).poll_next(cx));
        if let Some(Ok(Ws::Pong(answer))) = &heard
            && let Ok(number) = answer.as_ref().try_into()
            && self.drain.take_pong(u32::from_be_bytes(number))
        {
            return Poll::Ready(Ok(WireEvent::Answered));
        }
        Poll::Ready(Ok(WireEvent::Heard(heard)))
    }

    /// Sends the close frame, if the client still takes it.
    pub async fn close(mut self, frame: CloseFrame) {
        // The client may have gone or may read nothing. Then the frame is lost, which does no harm.
        let _ = tokio::time::timeout(BYE_MAX, self.socket.send(Ws::Close(Some(frame)))).await;
    }
}
