//! The accept loop. It limits connections, enforces a timeout for headers, ends connections in an
//! orderly way, and drains with a deadline.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{sleep, timeout};
use tower::{ServiceExt, service_fn};

use super::connections::{ConnectionBudget, ConnectionLimits, ConnectionRefusal};
use super::stopped;
use super::stream::ClientStream;
use crate::http::refused_connection::refused_connection_answer;

/// A client that has not sent its headers within this time is cut off.
const HEADERS_MAX: Duration = Duration::from_secs(10);
/// The pause after a failed accept. The usual cause of a failure is that the process has too many
/// open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// A draining process still answers new calls for this long.
const LAST_CALLS: Duration = Duration::from_millis(300);
/// After [`LAST_CALLS`], a draining process waits at most this long for the first call on an unused
/// connection.
const FIRST_CALL_MAX: Duration = Duration::from_secs(1);

/// The maximum number of refused clients that are sent the reason at the same time. Further
/// connections are closed without a reason.
const REFUSALS_AT_ONCE: usize = 32;
/// How long sending the reason may take.
const REFUSAL_MAX: Duration = Duration::from_secs(1);

/// An address cannot be used as a listening address.
#[derive(Debug, thiserror::Error)]
#[error(
    "{variable}: {address} cannot be used as a listening address: {error}; end the process that uses it, or choose another address"
)]
pub struct ListenError {
    /// The variable that names the address.
    variable: &'static str,
    address: SocketAddr,
    error: io::Error,
}

/// Begins to listen on the address that `variable` names.
///
/// # Errors
/// [`ListenError`].
pub async fn listen(
    address: SocketAddr,
    variable: &'static str,
) -> Result<TcpListener, ListenError> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|error| ListenError {
        variable,
        address,
        error,
    })
}

/// How the process ends, in two steps.
#[derive(Debug, Clone)]
pub struct EndSignals {
    /// The process is about to end. From now on, each answer tells the client not to use its
    /// connection again. Otherwise a client could send a call on a connection that is closed at the
    /// same moment.
    pub leaving: watch::Receiver<bool>,
    /// The process accepts no more connections.
    pub closing: watch::Receiver<bool>,
}

/// Accepts connections until `end.closing`, then waits at most `calls_drain_max` for calls in
/// flight. A draining process goes on accepting for `LAST_CALLS`, so that `/readyz` can tell new
/// connections to go elsewhere.
pub async fn run(
    listener: TcpListener,
    router: Router,
    end: EndSignals,
    calls_drain_max: Duration,
    limits: ConnectionLimits,
) {
    let (alive, mut all_gone) = mpsc::channel::<Infallible>(1);
    let budget = ConnectionBudget::new(limits);
    let refusals = Arc::new(Semaphore::new(REFUSALS_AT_ONCE));
    let begin = |(stream, peer): (TcpStream, SocketAddr)| {
        let permit = match budget.admit(peer.ip()) {
            Ok(permit) => permit,
            Err(refusal) => return refuse(stream, peer.ip(), refusal, &refusals),
        };
        let stream = ClientStream::new(stream, Some(permit));
        let connection = serve_connection(stream, peer, router.clone(), end.clone());
        let alive = alive.clone();
        tokio::spawn(async move {
            connection.await;
            drop(alive);
        });
    };
    let mut last_calls = std::pin::pin!({
        let mut closing = end.closing.clone();
        async move {
            stopped(&mut closing).await;
            sleep(LAST_CALLS).await;
        }
    });
    let mut failed = false;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut last_calls => break,
        };
        match accepted {
            Ok(accepted) => {
                failed = false;
                begin(accepted);
            }
            Err(error) => {
                if !std::mem::replace(&mut failed, true) {
                    tracing::warn!(%error, "connections cannot be accepted");
                }
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    // Connections that the system has already accepted must still be answered.
    if let Err(error) = accept_waiting(listener, begin) {
        tracing::warn!(%error, "connections that were waiting could not be accepted");
    }
    drop(alive);
    // No message is ever sent. The channel closes when the last connection has dropped its end.
    if timeout(calls_drain_max, all_gone.recv()).await.is_err() {
        tracing::warn!("some connections did not end in time and were cut");
    }
}

/// Begins with every connection that waits in the system's queue, and closes the listener. The
/// queue is asked directly: the runtime's listener says that there is none until it has polled the
/// system again, and closing it would then reset those that wait.
///
/// # Errors
/// The system does not hand over the queue, or a connection of it.
fn accept_waiting(
    listener: TcpListener,
    begin: impl Fn((TcpStream, SocketAddr)),
) -> io::Result<()> {
    let listener = listener.into_std()?;
    loop {
        match listener.accept() {
            Ok((stream, peer)) => {
                stream.set_nonblocking(true)?;
                begin((TcpStream::from_std(stream)?, peer));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            // The client hung up while it waited.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Tells a client why its connection is not served, and closes the connection.
fn refuse(stream: TcpStream, peer: IpAddr, refusal: ConnectionRefusal, refusals: &Arc<Semaphore>) {
    tracing::debug!(%peer, ?refusal, "a connection was refused");
    let Ok(turn) = Arc::clone(refusals).try_acquire_owned() else {
        return;
    };
    tokio::spawn(async move {
        let mut stream = ClientStream::new(stream, None);
        let send_answer = async {
            stream
                .write_all(refused_connection_answer(refusal_detail(refusal)).as_bytes())
                .await?;
            stream.shutdown().await?;
            // If the connection ended before the request came, the client would only learn that its
            // connection broke.
            while stream.read(&mut [0; 512]).await? > 0 {}
            io::Result::Ok(())
        };
        // A client that has gone or takes nothing does not learn the reason.
        let _ = timeout(REFUSAL_MAX, send_answer).await;
        drop(turn);
    });
}

/// Returns the `detail` of the answer to a refused client.
fn refusal_detail(refusal: ConnectionRefusal) -> &'static str {
    match refusal {
        ConnectionRefusal::Full => {
            "This server has as many connections as it can take, so nothing was read or changed. Your place is kept. Try again in a few seconds."
        }
        ConnectionRefusal::Network => {
            "So many connections come from your network that it gets no more now; nothing was read or changed. Your place is kept. Try again in a few seconds, or over another network."
        }
    }
}

async fn serve_connection(stream: ClientStream, peer: SocketAddr, router: Router, end: EndSignals) {
    let EndSignals {
        leaving,
        mut closing,
    } = end;
    let handle = stream.connection();
    let called = Arc::new(AtomicBool::new(false));
    let service = {
        let called = Arc::clone(&called);
        service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
            called.store(true, Ordering::Relaxed);
            request.extensions_mut().insert(ConnectInfo(peer));
            request.extensions_mut().insert(handle.clone());
            let request = request.map(|body| handle.watch_body(body));
            let answer = router.clone().oneshot(request);
            let leaving = leaving.clone();
            async move {
                answer.await.map(|mut answer| {
                    if *leaving.borrow() {
                        mark_last_answer(&mut answer);
                    }
                    answer
                })
            }
        })
    };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_MAX)
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service))
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    let last_calls = async {
        stopped(&mut closing).await;
        sleep(LAST_CALLS).await;
    };
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = last_calls => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = never_called(&called) => Ok(()),
            }
        }
    };
    if let Err(error) = ended {
        // Clients often hang up. The message helps to find one particular connection.
        tracing::debug!(%error, %peer, "a connection ended early");
    }
}

/// Marks the answer as the last one on its connection. An upgrade to a WebSocket is not marked,
/// because WebSockets end their own connections.
fn mark_last_answer(answer: &mut Response) {
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        let close = HeaderValue::from_static("close");
        answer.headers_mut().insert(header::CONNECTION, close);
    }
}

/// Waits for [`FIRST_CALL_MAX`]. Returns if no call has come on the connection by then, and
/// otherwise waits for ever. Browsers open connections that they never use.
async fn never_called(called: &AtomicBool) {
    sleep(FIRST_CALL_MAX).await;
    if called.load(Ordering::Relaxed) {
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::{get, post};
    use tokio::task::JoinHandle;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    struct Served {
        address: SocketAddr,
        close: watch::Sender<bool>,
        ended: JoinHandle<()>,
    }

    async fn served(drain: Duration) -> Served {
        served_with(drain, ConnectionLimits::of_files(1_024, true)).await
    }

    async fn served_with(drain: Duration, limits: ConnectionLimits) -> Served {
        let echo = post(async |body: String| body);
        let router = Router::new()
            .route("/echo", echo)
            .route("/", get(async || "here\n"));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (close, closing) = watch::channel(false);
        let end = EndSignals {
            leaving: closing.clone(),
            closing,
        };
        let ended = tokio::spawn(run(listener, router, end, drain, limits));
        Served {
            address,
            close,
            ended,
        }
    }

    async fn connected(served: &Served) -> TcpStream {
        TcpStream::connect(served.address)
            .await
            .expect("it accepts")
    }

    async fn answer(stream: &mut TcpStream) -> String {
        let mut heard = vec![0; 4096];
        let read = timeout(LONG, stream.read(&mut heard)).await;
        let read = read.expect("in time").expect("an answer");
        String::from_utf8_lossy(&heard[..read]).into_owned()
    }

    const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";

    #[tokio::test]
    async fn a_call_whose_body_arrives_while_the_process_drains_is_answered() {
        let served = served(LONG).await;
        let mut stream = connected(&served).await;
        let head = b"POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhalf ";
        stream.write_all(head).await.expect("it is sent");
        served.close.send_replace(true);
        // Connecting fails once the process accepts no more connections. Then the time for last
        // calls is over.
        while TcpStream::connect(served.address).await.is_ok() {
            tokio::task::yield_now().await;
        }
        assert!(!served.ended.is_finished(), "it waits for the call");
        stream.write_all(b"whole").await.expect("it is sent");
        let told = answer(&mut stream).await;
        assert!(
            told.starts_with("HTTP/1.1 200") && told.ends_with("half whole"),
            "{told}"
        );
        served.ended.await.expect("it ends");
    }

    #[tokio::test]
    async fn connections_that_wait_when_the_listener_closes_are_begun() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        // The runtime has noted that nobody waits, and polls the system only between tasks.
        assert!(futures_util::poll!(std::pin::pin!(listener.accept())).is_pending());
        let _waiting = [(); 3].map(|()| std::net::TcpStream::connect(address).expect("a queue"));
        assert!(futures_util::poll!(std::pin::pin!(listener.accept())).is_pending());
        let begun = parking_lot::Mutex::new(0);
        accept_waiting(listener, |_| *begun.lock() += 1).expect("the queue");
        assert_eq!(*begun.lock(), 3);
        std::net::TcpStream::connect(address).expect_err("it is closed");
    }

    #[tokio::test]
    async fn a_client_is_told_to_close_its_connection_before_the_process_closes_it() {
        let served = served(LONG).await;
        let mut stream = connected(&served).await;
        stream.write_all(GET).await.expect("it is sent");
        let told = answer(&mut stream).await;
        assert!(
            told.ends_with("here\n") && !told.contains("connection: close"),
            "{told}"
        );
        served.close.send_replace(true);
        stream.write_all(GET).await.expect("it is sent");
        let told = answer(&mut stream).await;
        assert!(
            told.ends_with("here\n") && told.contains("connection: close"),
            "{told}"
        );
        let mut late = connected(&served).await;
        late.write_all(GET).await.expect("it is sent");
        assert!(answer(&mut late).await.ends_with("here\n"));
        served.ended.await.expect("it ends");
    }

    #[tokio::test]
    async fn a_connection_over_the_limit_is_told_so_until_another_one_ends() {
        let served = served_with(LONG, ConnectionLimits::of_files(4, true)).await;
        let mut open = Vec::new();
        for _ in 0..2 {
            let mut stream = connected(&served).await;
            stream.write_all(GET).await.expect("it is sent");
            assert!(answer(&mut stream).await.ends_with("here\n"));
            open.push(stream);
        }
        let mut refused = connected(&served).await;
        let told = answer(&mut refused).await;
        assert!(told.starts_with("HTTP/1.1 503 "), "{told}");
        assert!(told.contains("too_many_connections"), "{told}");
        open.clear();
        let again = async {
            loop {
                let mut stream = connected(&served).await;
                stream.write_all(GET).await.expect("it is sent");
                if answer(&mut stream).await.ends_with("here\n") {
                    break;
                }
            }
        };
        timeout(LONG, again).await.expect("there is room again");
    }

    #[tokio::test]
    async fn a_client_whose_body_is_refused_unread_gets_the_answer() {
        let served = served(LONG).await;
        let (mut answers, mut bytes) = connected(&served).await.into_split();
        let length = 30 << 20;
        let head = format!("PUT /echo HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n");
        bytes.write_all(head.as_bytes()).await.expect("it is sent");
        let sending = tokio::spawn(async move { bytes.write_all(&vec![0; length]).await });
        let mut told = String::new();
        let read = timeout(LONG, answers.read_to_string(&mut told)).await;
        read.expect("in time").expect("no reset");
        assert!(told.starts_with("HTTP/1.1 405 "), "{told}");
        sending.await.expect("it runs").expect("all was taken");
    }

    #[tokio::test]
    async fn an_unfinished_call_is_cut_at_the_deadline_and_an_unused_connection_earlier() {
        let served = served(Duration::from_secs(3)).await;
        let unused = connected(&served).await;
        let mut stream = connected(&served).await;
        let head = b"POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n";
        stream.write_all(head).await.expect("it is sent");
        served.close.send_replace(true);
        let mut nothing = [0];
        let mut unused = unused;
        let closed = timeout(LONG, unused.read(&mut nothing)).await;
        assert_eq!(closed.expect("in time").expect("a polite end"), 0);
        assert!(!served.ended.is_finished(), "the call has time left");
        timeout(LONG, served.ended)
            .await
            .expect("it ends")
            .expect("well");
    }
}
