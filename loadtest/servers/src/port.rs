//! Finds free ports. A process that finds a port claims it until the process ends. This module
//! never gives a claimed port to another process. So tests and rigs that run at the same time never
//! start two servers on one port.

use parking_lot::Mutex;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use anyhow::Context;
use rand::RngExt;

/// A node of a Redis cluster talks to other nodes on a port that is this much higher than its port
/// for clients.
pub const BUS_ABOVE: u16 = 10_000;

/// Finds a free port between 20,000 and 30,000. The system gives higher ports to clients, so no
/// client takes the port while its server is down.
///
/// # Errors
/// Where a hundred tries find no free port.
pub fn free_port() -> anyhow::Result<u16> {
    find(20_000..30_000, &[0])
}

/// Finds a free port between 10,000 and 20,000. The port that is [`BUS_ABOVE`] higher is free too.
pub fn free_port_with_bus() -> anyhow::Result<u16> {
    find(10_000..20_000, &[0, BUS_ABOVE])
}

/// The most times that a server is started, if another process takes its port each time.
const STARTS_MAX: usize = 3;

/// Starts a server on a port that `start` chooses. If another process takes this port before the
/// server uses it, starts the server again on another port. Returns every other error at once.
pub async fn start_on_free_port<T>(
    start: impl AsyncFn() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let mut starts = 1;
    loop {
        match start().await {
            Err(error) if starts < STARTS_MAX && is_port_taken(&error) => starts += 1,
            ended => return ended,
        }
    }
}

/// Returns whether the start failed because another process took the port. Redis and PostgreSQL log
/// the system's message for this, and the error contains the log.
fn is_port_taken(error: &anyhow::Error) -> bool {
    format!("{error:#}").contains("Address already in use")
}

/// Finds a port in `range`. For each number in `above`, the port that is this much higher must be
/// free. Claims all these ports.
fn find(range: std::ops::Range<u16>, above: &[u16]) -> anyhow::Result<u16> {
    let mut rng = rand::rng();
    let mut tries = std::iter::repeat_with(|| rng.random_range(range.clone())).take(100);
    tries
        .find(|port| keep_if_free(*port, above))
        .context("no free port was found in a hundred tries")
}

/// The claims of this process. The system frees them when the process ends.
static CLAIMS: Mutex<Vec<UnixListener>> = Mutex::new(Vec::new());

fn keep_if_free(port: u16, above: &[u16]) -> bool {
    let ports = above.iter().map(|above| port + above);
    let claims: Option<Vec<_>> = ports.map(claim).collect();
    let Some(claims) = claims else { return false };
    CLAIMS.lock().extend(claims);
    true
}

/// Claims a port for this process, if the port is free. The claim is a Unix socket whose name
/// contains the port. Only one process can have a socket of this name, and the system frees the
/// name however the process ends. The port is claimed first and tried afterwards. Trying a port
/// takes the port for a moment. This could disturb a process that has claimed the port.
fn claim(port: u16) -> Option<UnixListener> {
    let name = SocketAddr::from_abstract_name(format!("fairgate-port-{port}")).ok()?;
    let claim = UnixListener::bind_addr(&name).ok()?;
    TcpListener::bind(("127.0.0.1", port)).ok()?;
    Some(claim)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    async fn starts(fault: impl Fn() -> anyhow::Error) -> usize {
        let starts = AtomicUsize::new(0);
        let ended = start_on_free_port::<()>(async || {
            starts.fetch_add(1, Ordering::Relaxed);
            Err(fault())
        });
        ended.await.expect_err("it never starts");
        starts.into_inner()
    }

    #[test]
    fn a_port_is_found_once_until_its_process_ends() {
        let port = free_port_with_bus().expect("a port");
        assert!(!keep_if_free(port, &[0]), "{port} was found before");
        assert!(!keep_if_free(port + BUS_ABOVE, &[0]), "its bus port, too");
    }

    #[tokio::test]
    async fn only_a_server_whose_port_was_taken_is_started_again() {
        let first = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let taken = || TcpListener::bind(first.local_addr().expect("bound"));
        let fault = || anyhow::Error::from(taken().expect_err("it is taken")).context("no start");
        assert_eq!(starts(fault).await, STARTS_MAX);
        assert_eq!(starts(|| anyhow::anyhow!("a bad setting")).await, 1);
    }
}
