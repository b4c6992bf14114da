//! Guards a shop that is not Fairgate's. The gateway listens for the shop's visitors on a port of
//! its own. It forwards requests with a live pass of the room to the shop. It sends everybody else
//! to the waiting room.

pub mod http;
mod settings;
pub mod tunnels;

use parking_lot::Mutex;
use std::sync::Arc;

use crate::follow::RoomFollower;
use crate::line::WaitingLine;
use crate::upstream::door::ComeBackTimes;
use crate::upstream::foreign_origin::ForeignOrigin;
use tunnels::OpenTunnels;

pub use settings::{GuardSettings, ReverseProxySettings, WhenUnverifiable};

/// The parts that the guard of a shop needs; a cheap handle.
#[derive(Clone)]
pub struct ShopGuard {
    /// Verifies passes.
    pub waiting_line: WaitingLine,
    /// Knows whether this node still reads the ledger.
    pub follower: RoomFollower,
    /// Says when a program without a pass should come back.
    pub come_back_times: Arc<dyn ComeBackTimes>,
    /// The shop.
    pub origin: ForeignOrigin,
    /// The address of the lobby.
    pub lobby_url: String,
    /// The room whose pass opens the shop.
    pub room: String,
    /// The scheme by which the public reaches the shop.
    pub scheme: String,
    /// What happens to requests without a pass during an outage of the line.
    pub when_unverifiable: WhenUnverifiable,
    /// The outage at the last request. With it, each outage is logged once.
    pub outage: Arc<Mutex<Option<LineOutage>>>,
    /// The WebSockets to the shop.
    pub tunnels: OpenTunnels,
}

/// Why nobody can get a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineOutage {
    /// The installation has no such room.
    UnknownRoom,
    /// The ledger has not answered for a while, so nobody gets a pass.
    SilentLedger,
}

/// What is done with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GuardStep {
    /// It goes to the shop.
    Forward,
    /// Its sender must wait for a pass first.
    Wait,
    /// It is refused, because nobody can get a pass.
    Refuse,
}

/// Decides on a request. Without an outage only a pass opens the shop. During an outage a pass
/// still opens the shop, because the pass is checked by its signature. `when_unverifiable` then
/// says whether visitors without a pass are let through.
fn decide(
    has_pass: bool,
    outage: Option<LineOutage>,
    when_unverifiable: WhenUnverifiable,
) -> GuardStep {
    match (has_pass, outage, when_unverifiable) {
        (true, _, _) | (false, Some(_), WhenUnverifiable::Open) => GuardStep::Forward,
        (false, Some(LineOutage::UnknownRoom), WhenUnverifiable::Closed) => GuardStep::Refuse,
        // The lobby still shows places, and says what it cannot do.
        (false, Some(LineOutage::SilentLedger) | None, _) => GuardStep::Wait,
    }
}

impl ShopGuard {
    /// Finds out whether the line can give passes, and logs each change. Reads the ledger first if
    /// this node does not know the room.
    async fn note_outage(&self) -> Option<LineOutage> {
        if self.waiting_line.rooms.get(&self.room).is_err() {
            self.follower.look_for(&self.room).await;
        }
        let outage = if self.waiting_line.rooms.get(&self.room).is_err() {
            Some(LineOutage::UnknownRoom)
        } else {
            // A draining process no longer reads the ledger. This is not an outage.
            let is_draining = *self.waiting_line.rooms.stopping().borrow();
            let silent = self.follower.unheard_for().filter(|_| !is_draining);
            silent.map(|_| LineOutage::SilentLedger)
        };
        let mut last_outage = self.outage.lock();
        if *last_outage != outage {
            self.log_outage(outage);
        }
        *last_outage = outage;
        outage
    }

    /// Checks the line with [`Self::note_outage`]. Returns whether visitors without a pass are let
    /// through now.
    async fn is_open_to_all(&self) -> bool {
        let outage = self.note_outage().await;
        decide(false, outage, self.when_unverifiable) == GuardStep::Forward
    }

    fn log_outage(&self, outage: Option<LineOutage>) {
        let (room, setting) = (&self.room, self.when_unverifiable);
        match outage {
            None => tracing::info!(room, "the line gives passes to the guarded shop again"),
            Some(LineOutage::UnknownRoom) => {
                tracing::error!(room, %setting, "there is no such room, so nobody can get a pass to the guarded shop; apply an on-sale file with the room, or correct FAIRGATE_GUARD_ROOM");
            }
            Some(LineOutage::SilentLedger) => {
                tracing::error!(room, %setting, "the ledger does not answer, so nobody can get a pass to the guarded shop");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_opens_the_shop_and_an_outage_only_where_the_setting_says_so() {
        use GuardStep::{Forward, Refuse, Wait};
        use LineOutage::{SilentLedger, UnknownRoom};
        for (outage, open, closed) in [
            (None, Wait, Wait),
            (Some(SilentLedger), Forward, Wait),
            (Some(UnknownRoom), Forward, Refuse),
        ] {
            for (setting, expected) in [
                (WhenUnverifiable::Open, open),
                (WhenUnverifiable::Closed, closed),
            ] {
                assert_eq!(decide(true, outage, setting), Forward, "{outage:?}");
                assert_eq!(decide(false, outage, setting), expected, "{outage:?}");
            }
        }
    }
}
