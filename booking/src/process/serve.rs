//! The accept loop: header timeouts that work, connections that end politely, and a drain with a deadline.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tower::ServiceExt;

use super::stopped;

/// Whoever has not sent its headers by then is not going to.
const HEADERS_MAX: Duration = Duration::from_secs(10);
/// After an accept failed (no more files, mostly) the next try waits this long.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// Accepts until `closing`, then lets connections end for at most `drain`. A process that drains closes last: until
/// then a new connection is told by `/readyz` to go elsewhere.
pub async fn run(
    listener: TcpListener,
    router: Router,
    mut closing: watch::Receiver<bool>,
    drain: Duration,
) {
    let (alive, mut all_gone) = mpsc::channel::<Infallible>(1);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped(&mut closing) => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let connection = serve(stream, peer, router.clone(), closing.clone());
                let alive = alive.clone();
                tokio::spawn(async move {
                    connection.await;
                    drop(alive);
                });
            }
            Err(error) => back_off(&error).await,
        }
    }
    drop((alive, listener));
    // Nothing is ever sent: the channel closes when the last connection has dropped its end.
    if tokio::time::timeout(drain, all_gone.recv()).await.is_err() {
        tracing::warn!("some connections did not end in time and were cut");
    }
}

async fn back_off(error: &io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    tokio::time::sleep(ACCEPT_AGAIN).await;
}

async fn serve(
    stream: TcpStream,
    peer: std::net::SocketAddr,
    router: Router,
    mut closing: watch::Receiver<bool>,
) {
    // Small frames must not wait for each other; where the system refuses this they merely come later.
    let _ = stream.set_nodelay(true);
    let service = router.map_request(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        request.map(Body::new)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_MAX)
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service))
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped(&mut closing) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        // Clients hang up all the time; this is for whoever looks for one of them.
        tracing::debug!(%error, %peer, "a connection ended early");
    }
}
