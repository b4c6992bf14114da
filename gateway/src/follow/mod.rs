//! What other nodes did: several times a second one short reading tells which rooms are new, changed, or further with
//! their draw, and only those are read again. A reading that failed is simply done again by the next.

mod changing;
mod elsewhere;

use std::time::{Duration, Instant};

pub use changing::Changing;
pub(crate) use elsewhere::LookedAt;
use fairgate_base::http::Problem;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use crate::ledger::{Failure, RoomVersion};
use crate::room::{Room, Rooms};

/// A change is seen everywhere within a second: three readings may come late or fail.
const FOLLOW_EVERY: Duration = Duration::from_millis(300);

/// So many rooms that the ledger keeps silent about are enough to know that it does.
const SILENT_MAX: usize = 3;
/// A node that has heard nothing for so long shows what may no longer be so, and says that.
const STALE_AFTER: Duration = Duration::from_secs(3);

/// When the ledger's rooms were last read.
#[derive(Debug)]
pub(crate) struct Followed {
    at: Instant,
    told: bool,
}

impl Followed {
    pub(crate) fn now() -> Self {
        Self {
            at: Instant::now(),
            told: false,
        }
    }

    pub(crate) fn read(&mut self) {
        *self = Self::now();
    }

    /// Told once for a silence, however long it lasts.
    pub(crate) fn unread(&mut self, error: &Failure) {
        if !self.told {
            tracing::warn!(%error, "what other nodes did could not be read; it is read again");
        }
        self.told = true;
    }

    /// For how long nothing has been heard, where that is too long.
    pub(crate) fn stale_for(&self) -> Option<Duration> {
        Some(self.at.elapsed()).filter(|silent| *silent >= STALE_AFTER)
    }
}

/// Runs until the process drains.
pub(crate) async fn run(rooms: Rooms, mut stopping: watch::Receiver<bool>) {
    let mut beat = interval(FOLLOW_EVERY);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = beat.tick() => {}
            () = fairgate_base::process::stopped(&mut stopping) => return,
        }
        if let Err(error) = look(&rooms).await {
            metrics::counter!("fairgate_rooms_unread_total").increment(1);
            rooms.note_unread(&error);
        }
    }
}

/// Reads what changed, once, and tells booking where that bears on who covers which show.
async fn look(rooms: &Rooms) -> Result<(), Failure> {
    let mut unread = read(rooms).await?;
    // One room may keep silent by itself; several mean the ledger.
    if unread.len() > 1 {
        return Err(unread.swap_remove(0));
    }
    rooms.note_read();
    if !rooms.owes_coverage() {
        return Ok(());
    }
    // Under the lease, from what the ledger has by then: of two nodes that tell booking, the later one knows more.
    let changing = rooms.changing_anywhere().await?;
    let told = cover(rooms).await;
    changing.end().await;
    if let Err(problem) = told {
        let code = problem.code;
        tracing::warn!(
            code,
            "booking is to be told again which room covers which shows"
        );
    }
    Ok(())
}

/// Takes over whatever other nodes wrote.
///
/// # Errors
/// Where the ledger did not answer, be it for one room only.
pub(crate) async fn catch_up(rooms: &Rooms) -> Result<(), Failure> {
    if let Some(silent) = read(rooms).await?.pop() {
        return Err(silent);
    }
    rooms.note_read();
    Ok(())
}

/// Takes over whatever other nodes wrote, each room for itself: one that cannot be read is left as it was, and the ones
/// after it are taken over all the same. Gives why, for the rooms that the ledger only kept silent about.
async fn read(rooms: &Rooms) -> Result<Vec<Failure>, Failure> {
    let mut silent = Vec::new();
    for version in rooms.ledger().versions().await? {
        match take_over(rooms, &version).await {
            Ok(()) => rooms.troubles().readable(&version.room),
            Err(error) => {
                rooms.troubles().unreadable(&version.room, &error);
                if !matches!(error, Failure::Corrupt(_)) {
                    silent.push(error);
                }
            }
        }
        // The others would be asked of the same silence.
        if silent.len() >= SILENT_MAX {
            break;
        }
    }
    Ok(silent)
}

async fn take_over(rooms: &Rooms, seen: &RoomVersion) -> Result<(), Failure> {
    let Ok(room) = rooms.get(&seen.room) else {
        if let Some(row) = rooms.ledger().room(&seen.room).await? {
            rooms.take_up(row).await?;
            rooms.owe_coverage(true);
        }
        return Ok(());
    };
    if seen.stage > room.draw().row.stage() {
        room.begun_elsewhere();
    }
    if seen.version > room.row().version {
        refresh(rooms, &room).await?;
    }
    Ok(())
}

/// Reads a room's row again.
pub(crate) async fn refresh(rooms: &Rooms, room: &Room) -> Result<(), Failure> {
    let Some(row) = rooms.ledger().room(room.id()).await? else {
        return Ok(());
    };
    if room.row().document.shows != row.document.shows {
        rooms.owe_coverage(true);
    }
    if room.set_row(row) {
        room.hub().room(room, rooms.now());
        room.nudge();
    }
    Ok(())
}

/// Tells booking which room covers which shows, as the ledger has it.
pub(crate) async fn cover(rooms: &Rooms) -> Result<(), Problem> {
    catch_up(rooms)
        .await
        .map_err(|error| Problem::from(&error))?;
    rooms.owe_coverage(false);
    let told = rooms.core().cover(rooms.coverage()).await;
    if told.is_err() {
        rooms.owe_coverage(true);
    }
    told
}
