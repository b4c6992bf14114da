//! The loops of the store. Each ends when the store is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::condition::ASKED_EVERY;
use super::parts::StoreParts;
use fairgate_base::log_failed_try;

/// How often the lives are read and the rooms are inspected.
const ROUND_EVERY: Duration = Duration::from_millis(300);

/// Starts the three loops, each in a task of its own.
pub fn start_rounds(parts: &Arc<StoreParts>) {
    tokio::spawn(read_lives(Arc::downgrade(parts)));
    tokio::spawn(look_after_rooms(Arc::downgrade(parts)));
    tokio::spawn(watch_condition(Arc::downgrade(parts)));
}

/// Reads the lives. This loop does nothing else, because a delay here would end the leases of all
/// rooms.
async fn read_lives(store: Weak<StoreParts>) {
    let mut timer = rounds(ROUND_EVERY);
    loop {
        timer.tick().await;
        let Some(parts) = store.upgrade() else {
            return;
        };
        if let Err(error) = parts.lives.read().await {
            metrics::counter!("fairgate_room_leases_missed_total").increment(1);
            log_failed_try!(
                error,
                "the rooms' lives could not be read; no number is given until they can be read"
            );
        }
    }
}

/// Maintains the rooms, each in a task of its own.
async fn look_after_rooms(store: Weak<StoreParts>) {
    let mut timer = rounds(ROUND_EVERY);
    let mut tasks: HashMap<String, JoinHandle<()>> = HashMap::new();
    loop {
        timer.tick().await;
        let Some(parts) = store.upgrade() else {
            return;
        };
        for room in parts.rooms.names() {
            // A room gets no new task while its task from an earlier round still runs.
            if tasks.get(&room).is_none_or(JoinHandle::is_finished) {
                let (parts, name) = (Arc::clone(&parts), room.clone());
                let task = tokio::spawn(async move { parts.keeper.maintain_and_log(&name).await });
                tasks.insert(room, task);
            }
        }
    }
}

/// Watches which ledger the data in Redis belongs to, and whether the settings of Redis are safe.
async fn watch_condition(store: Weak<StoreParts>) {
    let mut timer = rounds(ASKED_EVERY);
    for round in 0_u32.. {
        timer.tick().await;
        let Some(parts) = store.upgrade() else {
            return;
        };
        parts.watch.check_condition(round).await;
    }
}

fn rounds(period: Duration) -> Interval {
    let mut timer = interval(period);
    timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
    timer
}
