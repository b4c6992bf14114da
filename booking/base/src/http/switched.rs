//! The bytes of a connection that has switched to another protocol.

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

/// Waits until the client has its answer 101, and returns the bytes of its connection.
///
/// # Errors
/// If the connection ends before the client has its answer.
pub async fn switched_stream(
    client: OnUpgrade,
) -> Result<impl AsyncRead + AsyncWrite + Send + Unpin, hyper::Error> {
    client.await.map(TokioIo::new)
}
