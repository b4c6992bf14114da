//! The loops of the store. Each ends when the store is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::condition::ASKED_EVERY;
use super::parts::StoreParts;

/// How often the lives are read, and the rooms inspected.
const ROUND_EVERY: Duration = Duration::from_millis(300);

/// Starts the loops.
pub fn start_rounds(parts: &Arc<StoreParts>) {
    tokio::spawn(read_lives(Arc::downgrade(parts)));
    tokio::spawn(look_after_rooms(Arc::downgrade(parts)));
    tokio::spawn(watch_condition(Arc::downgrade(parts)));
}

/// Reads the lives. This loop does nothing else, because any delay here would cost all rooms their
/// lease.
async fn read_lives(store: Weak<StoreParts>) {
    let mut every = rounds(ROUND_EVERY);
    loop {
        every.tick().await;
        let Some(parts) = store.upgrade() else {
            return;
        };
        if let Err(error) = parts.lives.read().await {
            metrics::counter!("fairgate_room_leases_missed_total").increment(1);
            tracing::warn!(%error, "the rooms' lives could not be read; no number is given until they are");
        }
    }
}

/// Keeps the rooms in order, each in a task of its own.
async fn look_after_rooms(store: Weak<StoreParts>) {
    let mut every = rounds(ROUND_EVERY);
    let mut tended: HashMap<String, JoinHandle<()>> = HashMap::new();
    loop {
        every.tick().await;
        let Some(parts) = store.upgrade() else {
            return;
        };
        for room in parts.rooms.names() {
            // A room whose task of an earlier round has not ended gets no second one.
            if tended.get(&room).is_none_or(JoinHandle::is_finished) {
                let (parts, name) = (Arc::clone(&parts), room.clone());
                let tending = tokio::spawn(async move { parts.keeper.look_after(&name).await });
                tended.insert(room, tending);
            }
        }
    }
}

/// Watches which ledger the data in Redis belongs to, and how Redis is set.
async fn watch_condition(store: Weak<StoreParts>) {
    let mut every = rounds(ASKED_EVERY);
    for round in 0_u32.. {
        every.tick().await;
        let Some(parts) = store.upgrade() else {
            return;
        };
        parts.watch.check_condition(round).await;
    }
}

fn rounds(period: Duration) -> Interval {
    let mut every = interval(period);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    every
}
