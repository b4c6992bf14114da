//! The open WebSockets of a guarded shop. A WebSocket may lose its permission while it is open, so
//! one loop checks all of them every second.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use fairgate_base::process::stopped;
use fairgate_pass::LivePass;
use tokio::sync::{oneshot, watch};
use tokio::time::{MissedTickBehavior, interval};

use super::ShopGuard;

/// How often the permissions of open WebSockets are checked.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// The open WebSockets; a cheap handle.
#[derive(Clone, Default)]
pub struct OpenTunnels {
    inner: Arc<Mutex<TunnelsById>>,
}

#[derive(Default)]
struct TunnelsById {
    last_id: u64,
    open: HashMap<u64, AllowedTunnel>,
}

struct AllowedTunnel {
    /// The visitor's pass. `None` if the visitor was let through without a pass.
    pass: Option<LivePass>,
    /// The tunnel ends when this is dropped. Nothing is ever sent.
    _allows: oneshot::Sender<Infallible>,
}

/// One open WebSocket. It counts as open until this is dropped.
pub struct OpenTunnel {
    tunnels: OpenTunnels,
    id: u64,
    allowed: oneshot::Receiver<Infallible>,
}

impl OpenTunnels {
    /// Notes that a WebSocket was opened.
    #[must_use]
    pub fn open(&self, pass: Option<LivePass>) -> OpenTunnel {
        let (allows, allowed) = oneshot::channel();
        let mut inner = self.inner.lock();
        inner.last_id += 1;
        let id = inner.last_id;
        let tunnel = AllowedTunnel {
            pass,
            _allows: allows,
        };
        inner.open.insert(id, tunnel);
        OpenTunnel {
            tunnels: self.clone(),
            id,
            allowed,
        }
    }

    fn is_empty(&self) -> bool {
        self.inner.lock().open.is_empty()
    }

    /// Ends the WebSockets that are no longer allowed.
    fn end_unless(&self, is_allowed: impl Fn(Option<&LivePass>) -> bool) {
        let is_allowed = |tunnel: &AllowedTunnel| is_allowed(tunnel.pass.as_ref());
        self.inner
            .lock()
            .open
            .retain(|_, tunnel| is_allowed(tunnel));
    }
}

impl OpenTunnel {
    /// Waits until this WebSocket is no longer allowed.
    pub async fn ended(&mut self) {
        // Nothing is ever sent, so this returns when the sender is dropped.
        let _ = (&mut self.allowed).await;
    }
}

impl Drop for OpenTunnel {
    fn drop(&mut self) {
        self.tunnels.inner.lock().open.remove(&self.id);
    }
}

/// Ends WebSockets whose pass has run out or was stopped. After an outage it also ends those that
/// were let through without a pass. Runs until the process drains.
pub async fn end_stopped_tunnels(shop: ShopGuard, mut stopping: watch::Receiver<bool>) {
    let mut timer = interval(CHECK_EVERY);
    timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = timer.tick() => {}
            () = stopped(&mut stopping) => return,
        }
        if shop.tunnels.is_empty() {
            continue;
        }
        let is_open_to_all = shop.is_open_to_all().await;
        let now = shop.waiting_line.rooms.now_ms();
        let room = shop.waiting_line.rooms.get(&shop.room).ok();
        shop.tunnels.end_unless(|pass| {
            pass.map_or(is_open_to_all, |pass| {
                let is_stopped = room.as_ref().is_some_and(|room| {
                    room.pass_stopped(pass.number, now).is_some()
                        || room.stops().visit_end(pass).is_some()
                });
                pass.exp > now.div_euclid(1000) && !is_stopped
            })
        });
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_tunnel_ends_when_nothing_allows_it_and_one_that_has_gone_is_forgotten() {
        let tunnels = OpenTunnels::default();
        let (mut first, second) = (tunnels.open(None), tunnels.open(None));
        tunnels.end_unless(|_| true);
        assert_eq!(first.ended().now_or_never(), None);
        drop(second);
        assert_eq!(tunnels.inner.lock().open.len(), 1);
        tunnels.end_unless(|pass| pass.is_some());
        assert_eq!(first.ended().now_or_never(), Some(()));
        assert!(tunnels.is_empty());
    }
}
