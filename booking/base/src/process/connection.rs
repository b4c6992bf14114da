//! A handle on a client's TCP connection, beside the stream that hyper serves. The handle counts
//! the bytes that were read. After an upgrade, a frame for many clients can be written through
//! their handles. The tasks of the clients then need not wake up.

use parking_lot::Mutex;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::io::AsyncWrite;
use tokio::net::tcp::OwnedWriteHalf;

/// A handle on a client's connection. Cheap to clone. Requests have it as an extension.
#[derive(Debug, Clone)]
pub struct ConnectionHandle {
    state: Arc<ConnectionState>,
}

#[derive(Debug)]
struct ConnectionState {
    bytes_read: AtomicU64,
    /// Whether the body of the last request has not been read to its end yet.
    is_body_unread: AtomicBool,
    writing: Mutex<WritingState>,
}

#[derive(Debug)]
struct WritingState {
    /// `None` once the stream was dropped.
    half: Option<OwnedWriteHalf>,
    /// The bytes of a direct write that the system did not take yet.
    unsent: Bytes,
    /// Whether the system took only the beginning of the stream's last write. No other bytes may
    /// come before the rest.
    is_write_unfinished: bool,
}

/// What became of a direct write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectWrite {
    /// The system took all bytes.
    Taken,
    /// The system took a part or nothing. The rest waits until the stream is flushed.
    Kept,
    /// Nothing was written, because bytes of an earlier write still wait.
    Busy,
    /// The connection has ended.
    Gone,
}

impl ConnectionHandle {
    /// Makes the handle of a connection from its writing half.
    #[must_use]
    pub fn new(half: OwnedWriteHalf) -> Self {
        Self {
            state: Arc::new(ConnectionState {
                bytes_read: AtomicU64::new(0),
                is_body_unread: AtomicBool::new(false),
                writing: Mutex::new(WritingState {
                    half: Some(half),
                    unsent: Bytes::new(),
                    is_write_unfinished: false,
                }),
            }),
        }
    }

    /// Returns how many bytes were read so far.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.state.bytes_read.load(Ordering::Relaxed)
    }

    pub(super) fn count_read(&self, bytes: u64) {
        self.state.bytes_read.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns whether bytes are waiting because the system did not take them yet.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        self.state.writing.lock().is_stuck()
    }

    /// Writes `frames` and then `more`, and never waits. Writes nothing if bytes of an earlier
    /// write still wait. Only the server of an upgraded connection may call this. If the result is
    /// [`DirectWrite::Kept`], the server must flush the stream.
    #[must_use]
    pub fn try_write(&self, frames: &Bytes, more: &[u8]) -> DirectWrite {
        let mut writing = self.state.writing.lock();
        if writing.is_stuck() {
            return DirectWrite::Busy;
        }
        writing.write(frames, more)
    }

    /// Writes like [`ConnectionHandle::try_write`]. But if bytes of an earlier write still wait,
    /// queues `frames` and `more` behind them.
    #[must_use]
    pub fn queue(&self, frames: &Bytes, more: &[u8]) -> DirectWrite {
        let mut writing = self.state.writing.lock();
        if !writing.is_stuck() {
            return writing.write(frames, more);
        }
        let unsent = [&writing.unsent, frames.as_ref(), more].concat();
        writing.unsent = Bytes::from(unsent);
        DirectWrite::Kept
    }

    pub(super) fn poll_write(
        &self,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut writing = self.state.writing.lock();
        ready!(writing.poll_unsent(cx))?;
        let written = ready!(writing.half()?.poll_write_vectored(cx, parts))?;
        writing.is_write_unfinished = written < parts.iter().map(|part| part.len()).sum();
        Poll::Ready(Ok(written))
    }

    pub(super) fn poll_flush(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut writing = self.state.writing.lock();
        ready!(writing.poll_unsent(cx))?;
        writing.half()?.poll_flush(cx)
    }

    pub(super) fn poll_shutdown(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.state.writing.lock().half()?.poll_shutdown(cx)
    }

    /// Drops the writing half, so that the connection ends although somebody still has a handle on
    /// it.
    pub(super) fn end(&self) {
        self.state.writing.lock().half = None;
    }

    pub(super) fn is_body_unread(&self) -> bool {
        self.state.is_body_unread.load(Ordering::Relaxed)
    }

    /// Wraps the body of a request, to note whether it is read to its end.
    pub(super) fn watch_body(&self, body: Incoming) -> Body {
        if body.is_end_stream() {
            return Body::new(body);
        }
        let connection = self.clone();
        let state = &connection.state;
        state.is_body_unread.store(true, Ordering::Relaxed);
        Body::new(WatchedBody { body, connection })
    }
}

impl WritingState {
    fn is_stuck(&self) -> bool {
        self.is_write_unfinished || !self.unsent.is_empty()
    }

    fn write(&mut self, frames: &Bytes, more: &[u8]) -> DirectWrite {
        let Some(half) = &self.half else {
            return DirectWrite::Gone;
        };
        let written = if more.is_empty() {
            half.try_write(frames)
        } else {
            half.try_write_vectored(&[IoSlice::new(frames), IoSlice::new(more)])
        };
        let written = match written {
            Ok(written) => written,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(_) => return DirectWrite::Gone,
        };
        if written == frames.len() + more.len() {
            return DirectWrite::Taken;
        }
        self.unsent = if more.is_empty() {
            frames.slice(written..)
        } else {
            let whole = [frames.as_ref(), more].concat();
            Bytes::from(whole).slice(written..)
        };
        DirectWrite::Kept
    }

    fn half(&mut self) -> io::Result<Pin<&mut OwnedWriteHalf>> {
        let half = self.half.as_mut().map(Pin::new);
        half.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Writes the bytes that wait. If the stream's last write is unfinished, they go on waiting
    /// behind its rest.
    fn poll_unsent(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.is_write_unfinished && !self.unsent.is_empty() {
            let unsent = self.unsent.clone();
            let written = ready!(self.half()?.poll_write(cx, &unsent))?;
            self.unsent = unsent.slice(written..);
        }
        Poll::Ready(Ok(()))
    }
}

/// The body of a request. It notes when it was read to its end.
struct WatchedBody {
    body: Incoming,
    connection: ConnectionHandle,
}

impl HttpBody for WatchedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none() || self.body.is_end_stream() {
            let state = &self.connection.state;
            state.is_body_unread.store(false, Ordering::Relaxed);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
