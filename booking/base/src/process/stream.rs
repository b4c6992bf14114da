//! A client's TCP connection. A client that takes none of the bytes of its answer is cut off after
//! a minute. A client that still sends a body that was refused gets the refusal before the
//! connection ends.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::connections::ConnectionPermit;

/// How long a client may take nothing while bytes wait for it.
const WRITE_STALL_MAX: Duration = Duration::from_secs(60);
/// How long bytes of a refused body are still read. If the connection ended with unread bytes, the
/// system would tell the client that it broke, and the client would not see the answer.
const LINGER_MAX: Duration = Duration::from_secs(2);

/// Counts the bytes that were read from a connection; a cheap handle. Requests have it as an
/// extension.
#[derive(Debug, Clone, Default)]
pub struct ReadMeter {
    state: Arc<ReadState>,
}

#[derive(Debug, Default)]
struct ReadState {
    bytes: AtomicU64,
    /// Whether the body of the last request was not read to its end.
    is_body_unread: AtomicBool,
}

impl ReadMeter {
    /// Returns how many bytes were read so far.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.state.bytes.load(Ordering::Relaxed)
    }

    /// Watches whether this body of a request is read to its end.
    pub(super) fn watch_body(&self, body: Incoming) -> Body {
        if body.is_end_stream() {
            return Body::new(body);
        }
        let meter = self.clone();
        meter.state.is_body_unread.store(true, Ordering::Relaxed);
        Body::new(WatchedBody { body, meter })
    }
}

/// The body of a request that notes its end.
struct WatchedBody {
    body: Incoming,
    meter: ReadMeter,
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
            let state = &self.meter.state;
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

/// A client's connection, with the right to have it.
pub(super) struct ClientStream {
    tcp: TcpStream,
    meter: ReadMeter,
    stall_max: Duration,
    /// When the client is cut off, while it takes nothing.
    stall: Option<Pin<Box<Sleep>>>,
    /// When the reading of a refused body ends.
    linger: Option<Pin<Box<Sleep>>>,
    is_shut: bool,
    _permit: Option<ConnectionPermit>,
}

impl ClientStream {
    pub(super) fn new(tcp: TcpStream, permit: Option<ConnectionPermit>) -> Self {
        Self::with_stall(tcp, permit, WRITE_STALL_MAX)
    }

    fn with_stall(tcp: TcpStream, permit: Option<ConnectionPermit>, stall_max: Duration) -> Self {
        // Small frames must not wait for each other. If the system refuses this setting, they
        // merely arrive later.
        let _ = tcp.set_nodelay(true);
        Self {
            tcp,
            meter: ReadMeter::default(),
            stall_max,
            stall: None,
            linger: None,
            is_shut: false,
            _permit: permit,
        }
    }

    pub(super) fn meter(&self) -> ReadMeter {
        self.meter.clone()
    }

    /// Turns a write that waits for too long into an error.
    fn watch_write<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stall = None;
            return written;
        }
        let stall_max = self.stall_max;
        let stall = self.stall.get_or_insert_with(|| Box::pin(sleep(stall_max)));
        ready!(stall.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Reads on until the client ends or the time is over, if it may still be sending a body.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.meter.state.is_body_unread.load(Ordering::Relaxed) {
            return Poll::Ready(());
        }
        let end = self
            .linger
            .get_or_insert_with(|| Box::pin(sleep(LINGER_MAX)));
        if end.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        let mut bytes = [0; 8 << 10];
        loop {
            let mut unread = ReadBuf::new(&mut bytes);
            let read = ready!(Pin::new(&mut self.tcp).poll_read(cx, &mut unread));
            if read.is_err() || unread.filled().is_empty() {
                return Poll::Ready(());
            }
        }
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.tcp).poll_read(cx, buffer);
        let bytes = (buffer.filled().len() - before) as u64;
        self.meter.state.bytes.fetch_add(bytes, Ordering::Relaxed);
        read
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.tcp).poll_write(cx, bytes);
        self.watch_write(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.tcp).poll_write_vectored(cx, parts);
        self.watch_write(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_shut {
            ready!(Pin::new(&mut self.tcp).poll_shutdown(cx))?;
            self.is_shut = true;
        }
        self.poll_linger(cx).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    async fn connected(stall_max: Duration) -> (TcpStream, ClientStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let client = TcpStream::connect(address).await.expect("it accepts");
        let (stream, _) = listener.accept().await.expect("a client");
        (client, ClientStream::with_stall(stream, None, stall_max))
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_cut_off() {
        let (client, mut stream) = connected(Duration::from_millis(10)).await;
        let error = loop {
            if let Err(error) = stream.write_all(&[0; 1 << 20]).await {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(client);
    }

    #[tokio::test]
    async fn bytes_that_were_read_are_counted() {
        let (mut client, mut stream) = connected(WRITE_STALL_MAX).await;
        let meter = stream.meter();
        client.write_all(b"hello").await.expect("it is sent");
        stream.read_exact(&mut [0; 5]).await.expect("it arrives");
        assert_eq!(meter.bytes_read(), 5);
    }
}
