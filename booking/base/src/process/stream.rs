//! A client's TCP connection. A client that takes none of the bytes of its answer is cut off after
//! a minute. A client that is still sending a refused body gets the refusal before the connection
//! ends.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio::time::{Sleep, sleep};

use super::connection::ConnectionHandle;
use super::connections::ConnectionPermit;

/// For how long a client may take no bytes while bytes for it are waiting.
const WRITE_STALL_MAX: Duration = Duration::from_secs(60);
/// How long the bytes of a refused body are still read. If the connection ended with unread bytes,
/// the system would tell the client that the connection broke, and the client would not see the
/// answer.
const LINGER_MAX: Duration = Duration::from_secs(2);

/// A client's connection, with its permit.
pub(super) struct ClientStream {
    reading: OwnedReadHalf,
    connection: ConnectionHandle,
    stall_max: Duration,
    /// When the client will be cut off, if it takes no bytes until then.
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
        let (reading, writing) = tcp.into_split();
        Self {
            reading,
            connection: ConnectionHandle::new(writing),
            stall_max,
            stall: None,
            linger: None,
            is_shut: false,
            _permit: permit,
        }
    }

    pub(super) fn connection(&self) -> ConnectionHandle {
        self.connection.clone()
    }

    /// Turns a write that has waited too long into an error.
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

    /// If the client may still be sending a body, reads on until the client ends the connection or
    /// the time is over.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.connection.is_body_unread() {
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
            let mut discarded = ReadBuf::new(&mut bytes);
            let read = ready!(Pin::new(&mut self.reading).poll_read(cx, &mut discarded));
            if read.is_err() || discarded.filled().is_empty() {
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
        let read = Pin::new(&mut self.reading).poll_read(cx, buffer);
        let bytes = (buffer.filled().len() - before) as u64;
        self.connection.count_read(bytes);
        read
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = self.connection.poll_write(cx, &[io::IoSlice::new(bytes)]);
        self.watch_write(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = self.connection.poll_write(cx, parts);
        self.watch_write(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = self.connection.poll_flush(cx);
        self.watch_write(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_shut {
            ready!(self.connection.poll_shutdown(cx))?;
            self.is_shut = true;
        }
        self.poll_linger(cx).map(Ok)
    }
}

impl Drop for ClientStream {
    fn drop(&mut self) {
        self.connection.end();
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::super::connection::DirectWrite;
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
        let connection = stream.connection();
        client.write_all(b"hello").await.expect("it is sent");
        stream.read_exact(&mut [0; 5]).await.expect("it arrives");
        assert_eq!(connection.bytes_read(), 5);
    }

    #[tokio::test]
    async fn a_direct_write_waits_for_no_client_and_keeps_its_place_among_other_bytes() {
        let (mut client, mut stream) = connected(WRITE_STALL_MAX).await;
        let connection = stream.connection();
        let frame = Bytes::from(vec![7; 1 << 16]);
        let mut direct = 0;
        let kept = loop {
            match connection.try_write(&frame, b"!!") {
                DirectWrite::Taken => direct += 1,
                other => break other,
            }
        };
        assert_eq!(kept, DirectWrite::Kept);
        assert!(connection.is_stuck());
        assert_eq!(connection.try_write(&frame, b""), DirectWrite::Busy);
        assert_eq!(
            connection.queue(&Bytes::from_static(b"."), b"."),
            DirectWrite::Kept
        );
        let sent = (direct + 1) * (frame.len() + 2) + 6;
        let reading = tokio::spawn(async move {
            let mut bytes = vec![0; sent];
            client.read_exact(&mut bytes).await.expect("it arrives");
            (client, bytes)
        });
        stream.write_all(b"last").await.expect("the client reads");
        let (_client, bytes) = reading.await.expect("it reads");
        assert!(bytes.ends_with(b"!!..last"), "{:?}", &bytes[sent - 8..]);
        assert_eq!(
            bytes.iter().filter(|byte| **byte == b'!').count(),
            2 * (direct + 1)
        );
        assert!(!connection.is_stuck());
        assert_eq!(connection.try_write(&frame, b""), DirectWrite::Taken);
        drop(stream);
        assert_eq!(connection.try_write(&frame, b""), DirectWrite::Gone);
    }

    #[tokio::test]
    async fn nothing_comes_between_the_parts_of_a_streams_own_write() {
        let (mut client, mut stream) = connected(WRITE_STALL_MAX).await;
        let connection = stream.connection();
        let long = vec![1; 32 << 20];
        let mut written = stream.write(&long).await.expect("it begins");
        assert!(written < long.len());
        assert_eq!(
            connection.try_write(&Bytes::from_static(b"frame"), b""),
            DirectWrite::Busy
        );
        assert_eq!(
            connection.queue(&Bytes::from_static(b"queued"), b""),
            DirectWrite::Kept
        );
        let reading = tokio::spawn(async move {
            let mut bytes = vec![0; (32 << 20) + 6];
            client.read_exact(&mut bytes).await.expect("it arrives");
            (client, bytes)
        });
        while written < long.len() {
            stream.flush().await.expect("the queued bytes wait");
            written += stream.write(&long[written..]).await.expect("it goes on");
        }
        stream.flush().await.expect("the client reads");
        let (_client, bytes) = reading.await.expect("it reads");
        assert!(bytes.ends_with(b"queued"));
        assert!(bytes[..long.len()].iter().all(|byte| *byte == 1));
        assert!(!connection.is_stuck());
    }
}
