//! The wire of one client: what is put on it goes out without anybody waiting for it, and what does
//! not go out is not added to. At most one burst of frames lies in the socket's own buffer, and at
//! most a window of bytes unread beyond it.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::extract::ws::{CloseFrame, Message as Ws, WebSocket};
use futures_util::{Sink, SinkExt, Stream};

use super::drain::ClientReadTracker;

/// A good-bye that is not taken in this time is not said.
const BYE_MAX: Duration = Duration::from_secs(5);

/// A socket and the account of what its client has read.
pub struct ClientWire {
    socket: WebSocket,
    drain: ClientReadTracker,
    /// Whether something lies in the socket's buffer that the system did not take yet.
    stuck: bool,
}

/// What happens on a wire.
pub enum WireEvent {
    /// What was stuck has gone out.
    Flushed,
    /// The client answered a ping.
    Answered,
    /// The client said something; `None` where it has gone.
    Heard(Option<Result<Ws, axum::Error>>),
}

/// The client has gone, or the socket is broken.
#[derive(Debug)]
pub struct ClientGone;

impl ClientWire {
    /// Over a socket that has just opened.
    #[must_use]
    pub fn new(socket: WebSocket) -> Self {
        Self {
            socket,
            drain: ClientReadTracker::new(Instant::now()),
            stuck: false,
        }
    }

    /// Whether the client takes more. Where not, what would be said now is said later, as things
    /// stand then.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.stuck && self.drain.may_send()
    }

    /// Whether the client has read nothing for too long.
    #[must_use]
    pub fn is_stalled(&self) -> bool {
        self.drain.is_stalled(Instant::now())
    }

    /// Puts a frame on the wire. It is for the caller to ask [`ClientWire::is_open`] before a burst
    /// of frames.
    ///
    /// # Errors
    /// Where the client has gone.
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

    /// Asks the client whether it reads, where that is due.
    ///
    /// # Errors
    /// Where the client has gone.
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

    /// Tries once: what the system does not take at once goes out while others are served.
    async fn flush(&mut self) -> Result<(), ClientGone> {
        let socket = &mut self.socket;
        let flushed = poll_fn(|cx| Poll::Ready(Pin::new(&mut *socket).poll_flush(cx))).await;
        self.stuck = flushed.is_pending();
        match flushed {
            Poll::Ready(Err(_)) => Err(ClientGone),
            Poll::Ready(Ok(())) | Poll::Pending => Ok(()),
        }
    }

    /// The next thing that happens.
    ///
    /// # Errors
    /// Where the client has gone.
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

    /// Says good-bye, where the client still listens.
    pub async fn close(mut self, frame: CloseFrame) {
        // The client may have gone already, or read nothing: there is nobody left to tell then.
        let _ = tokio::time::timeout(BYE_MAX, self.socket.send(Ws::Close(Some(frame)))).await;
    }
}
