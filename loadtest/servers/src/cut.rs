//! Runs a proxy to PostgreSQL that can cut connections exactly at their COMMIT. It cuts some
//! connections before the server has read the COMMIT, and others after the server has answered it.
//! A client cannot tell these two cases apart.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

use crate::port;

/// The message of the wire protocol that commits: a simple query with its length, its text, and a
/// zero.
const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";
/// While the proxy cuts commits, it cuts one commit in this many.
const ONE_OF: u64 = 4;
/// The largest number of bytes to read at once.
const PIECE: usize = 16 * 1024;

/// The proxy. Dropping it stops only new connections, because each open connection is a task of its
/// own.
#[derive(Debug)]
pub struct CommitCutProxy {
    port: u16,
    shared: Arc<CommitCutState>,
    accepting: tokio::task::JoinHandle<()>,
}

#[derive(Debug, Default)]
struct CommitCutState {
    cuts: AtomicBool,
    commits: AtomicU64,
    cut: AtomicU64,
}

/// The point at which a COMMIT is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommitCutPoint {
    /// The server never reads the COMMIT.
    Before,
    /// The server has committed, but its answer is lost.
    After,
}

impl Drop for CommitCutProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl CommitCutProxy {
    /// Opens a proxy to a port.
    ///
    /// # Errors
    /// Where no port is free.
    pub async fn for_port(target: u16) -> anyhow::Result<Self> {
        let port = port::free_port()?;
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let shared = Arc::<CommitCutState>::default();
        let of_all = Arc::clone(&shared);
        let accepting = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(forward_connection(near, target, Arc::clone(&of_all)));
            }
        });
        Ok(Self {
            port,
            shared,
            accepting,
        })
    }

    /// Returns the port on which the proxy listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Sets whether every fourth commit is cut from now on.
    pub fn cut_commits(&self, cuts: bool) {
        self.shared.cuts.store(cuts, Ordering::SeqCst);
    }

    /// Returns how many commits were cut so far.
    #[must_use]
    pub fn cut_commit_count(&self) -> u64 {
        self.shared.cut.load(Ordering::SeqCst)
    }
}

impl CommitCutState {
    /// Returns the point at which this commit is cut, or `None` if it is not cut. The two points
    /// take turns.
    fn next_cut(&self) -> Option<CommitCutPoint> {
        if !self.cuts.load(Ordering::SeqCst) {
            return None;
        }
        let nth = self.commits.fetch_add(1, Ordering::SeqCst);
        if !nth.is_multiple_of(ONE_OF) {
            return None;
        }
        let nth = self.cut.fetch_add(1, Ordering::SeqCst);
        Some(match nth.is_multiple_of(2) {
            true => CommitCutPoint::After,
            false => CommitCutPoint::Before,
        })
    }
}

async fn forward_connection(near: TcpStream, target: u16, shared: Arc<CommitCutState>) {
    let Ok(far) = TcpStream::connect(("127.0.0.1", target)).await else {
        // The client sees that its connection is closed.
        return;
    };
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let (from_near, to_near) = near.into_split();
    let (from_far, to_far) = far.into_split();
    // This becomes true when the next answer of the server must not reach the client.
    let drop_answer = Arc::new(AtomicBool::new(false));
    tokio::select! {
        () = forward_client_bytes(from_near, to_far, &shared, &drop_answer) => {}
        () = forward_server_bytes(from_far, to_near, &drop_answer) => {}
    }
}

/// Forwards the bytes of the client. When this returns, the connection ends.
async fn forward_client_bytes(
    mut near: OwnedReadHalf,
    mut far: OwnedWriteHalf,
    shared: &CommitCutState,
    drop_answer: &AtomicBool,
) {
    let mut piece = vec![0; PIECE];
    loop {
        let Ok(read @ 1..) = near.read(&mut piece).await else {
            return;
        };
        let bytes = &piece[..read];
        let commits = bytes.windows(COMMIT.len()).any(|window| window == COMMIT);
        match commits.then(|| shared.next_cut()).flatten() {
            Some(CommitCutPoint::Before) => return,
            Some(CommitCutPoint::After) => drop_answer.store(true, Ordering::SeqCst),
            None => {}
        }
        if far.write_all(bytes).await.is_err() {
            return;
        }
    }
}

/// Forwards the answers of the server. When this returns, the connection ends.
async fn forward_server_bytes(
    mut far: OwnedReadHalf,
    mut near: OwnedWriteHalf,
    drop_answer: &AtomicBool,
) {
    let mut piece = vec![0; PIECE];
    loop {
        let Ok(read @ 1..) = far.read(&mut piece).await else {
            return;
        };
        if drop_answer.load(Ordering::SeqCst) || near.write_all(&piece[..read]).await.is_err() {
            return;
        }
    }
}
