//! Runs a proxy whose address always leads to the primary of a pair, like the address of a managed
//! Redis in a cloud. When the primary changes, all connections to the old primary are cut.

use std::sync::Arc;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::port;

/// The proxy. Dropping it closes its address and all its connections.
#[derive(Debug)]
pub struct RedisForwarder {
    port: u16,
    target_sender: Arc<watch::Sender<u16>>,
    accepting: tokio::task::JoinHandle<()>,
}

impl Drop for RedisForwarder {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl RedisForwarder {
    /// Opens a proxy to a port.
    ///
    /// # Errors
    /// Where no port is free.
    pub async fn for_port(target: u16) -> anyhow::Result<Self> {
        let port = port::free_port()?;
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let target_sender = Arc::new(watch::Sender::new(target));
        let targets = Arc::clone(&target_sender);
        let accepting = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(forward_connection(near, targets.subscribe()));
            }
        });
        Ok(Self {
            port,
            target_sender,
            accepting,
        })
    }

    /// Returns the port on which the proxy listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Forwards to another port from now on. Cuts the connections to the old port.
    pub fn lead_to(&self, target: u16) {
        self.target_sender.send_replace(target);
    }
}

async fn forward_connection(mut near: TcpStream, mut target: watch::Receiver<u16>) {
    let port = *target.borrow_and_update();
    let Ok(mut far) = TcpStream::connect(("127.0.0.1", port)).await else {
        // The client sees that its connection is closed.
        return;
    };
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    tokio::select! {
        _ = copy_bidirectional(&mut near, &mut far) => {}
        // The target has changed, or the proxy is closed.
        _ = target.changed() => {}
    }
}
