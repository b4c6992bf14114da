//! Counts this node's sockets by peer, so that it can tell a visitor who closed the page from a
//! proxy that died with the sockets of many visitors.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use fairgate_rules::departures::PeerSockets;

/// Where a socket comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketPeer {
    /// The address of the device or the proxy at the other end of the connection.
    pub address: IpAddr,
    /// Whether it is a proxy.
    pub is_proxy: bool,
}

/// The sockets of all rooms by peer; a cheap handle.
#[derive(Clone, Default)]
pub struct SocketPeers {
    by_address: Arc<Mutex<HashMap<IpAddr, PeerSockets>>>,
}

impl SocketPeers {
    /// Counts a socket that opens.
    pub fn note_opened(&self, peer: SocketPeer) {
        let mut peers = self.by_address.lock();
        peers.entry(peer.address).or_default().note_opened();
    }

    /// Counts a socket that closes at `now` (ms).
    pub fn note_closed(&self, peer: SocketPeer, now: i64) {
        if let Some(sockets) = self.by_address.lock().get_mut(&peer.address) {
            sockets.note_closed(now);
        }
    }

    /// Returns whether the visitor of a socket that closed at `closed_at` (ms) is gone: see
    /// [`PeerSockets::says_gone`].
    #[must_use]
    pub fn says_gone(&self, peer: SocketPeer, closed_at: i64) -> bool {
        let peers = self.by_address.lock();
        let sockets = peers.get(&peer.address);
        sockets.is_some_and(|sockets| sockets.says_gone(closed_at, peer.is_proxy))
    }

    /// Forgets the peers that no longer matter at `now` (ms).
    pub fn forget_gone(&self, now: i64) {
        self.by_address.lock().retain(|_, peer| !peer.is_over(now));
    }
}
