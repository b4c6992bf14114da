//! Reads the versions of all rooms several times a second, in one short SQL statement. Then reads
//! the whole rows of only those rooms that are new or changed. If another node has taken a step of
//! a draw, the room's own loop reads this step. If a reading fails, the next reading does its work.

use std::time::Duration;

use fairgate_base::log_failed_try;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::{CoverageFailure, RoomFollower};
use crate::ledger::{LedgerError, RoomRow, RoomVersion};
use crate::room::{Room, random_draw_secret};

/// How often changes are read. A change is seen everywhere within a second, even if two readings
/// fail or come late.
const FOLLOW_EVERY: Duration = Duration::from_millis(300);

/// A reading stops once the ledger has failed to answer for this many rooms.
const SILENT_MAX: usize = 3;

impl RoomFollower {
    /// Reads changes several times a second, until the process drains.
    pub async fn run(self, mut stopping: watch::Receiver<bool>) {
        let mut beat = interval(FOLLOW_EVERY);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = beat.tick() => {}
                () = fairgate_base::process::stopped(&mut stopping) => return,
            }
            if let Err(error) = self.sync_once().await {
                metrics::counter!("fairgate_rooms_unread_total").increment(1);
                self.inner.last_reading.lock().note_failed_reading(&error);
            }
        }
    }

    /// Reads changes once. Tells booking if another room now covers a show.
    async fn sync_once(&self) -> Result<(), LedgerError> {
        let mut failures = self.read_changes().await?;
        // If the ledger gave no answer for one room, the reading is still a success. If it gave
        // none for several rooms, the ledger as a whole does not answer.
        if failures.len() > 1 {
            return Err(failures.swap_remove(0));
        }
        self.inner.last_reading.lock().mark_read();
        self.publish_owed_ends();
        if !self.owes_coverage() {
            return Ok(());
        }
        // The lease lets only one node at a time send the coverage, and each node reads the ledger
        // first. Therefore the coverage that is sent last is the newest.
        let changing = self.acquire_change_lease().await?;
        let published = self.publish_coverage().await;
        changing.release_lease().await;
        if let Err(error) = published {
            log_failed_try!(
                error,
                "booking is to be told again which room covers which shows"
            );
        }
        Ok(())
    }

    /// Applies all changes that other nodes wrote.
    ///
    /// # Errors
    /// Fails if the ledger did not answer, even for a single room.
    pub async fn catch_up(&self) -> Result<(), LedgerError> {
        if let Some(failure) = self.read_changes().await?.pop() {
            return Err(failure);
        }
        self.inner.last_reading.lock().mark_read();
        Ok(())
    }

    /// Returns how long ago this node last read the changes of other nodes, if its rooms may be out
    /// of date. First tries to read them once more, because the ledger may answer again before the
    /// next regular reading is due. Returns `None` if this reading succeeds within `time_max`.
    pub async fn unread_for(&self, time_max: Duration) -> Option<Duration> {
        let elapsed = self.unheard_for()?;
        match tokio::time::timeout(time_max, self.catch_up()).await {
            Ok(Ok(())) => None,
            _ => Some(elapsed),
        }
    }

    /// Applies all changes that other nodes wrote, room by room. A room that cannot be read stays
    /// as it was, and the next room is read. Stops once the ledger has failed to answer for
    /// [`SILENT_MAX`] rooms. Returns these failures. They do not include rooms with unreadable
    /// data, because the ledger did answer for those.
    async fn read_changes(&self) -> Result<Vec<LedgerError>, LedgerError> {
        let mut failures = Vec::new();
        let mut versions = self.rooms().ledger().versions().await?;
        if versions.iter().any(|version| version.owes_secrets) {
            let ledger = self.rooms().ledger();
            let now = self.rooms().now_ms();
            ledger.renew_draw_secrets(now, random_draw_secret).await?;
            tracing::warn!(
                "the ledger went back, so rooms that are not drawn yet have new secrets and commitments"
            );
            versions = ledger.versions().await?;
        }
        for version in versions {
            match self.apply_room_version(&version).await {
                Ok(()) => self.rooms().troubles().note_readable(&version.room),
                Err(error) => {
                    self.rooms()
                        .troubles()
                        .note_unreadable(&version.room, &error);
                    if !matches!(error, LedgerError::Corrupt(_)) {
                        failures.push(error);
                    }
                }
            }
            // The ledger would probably not answer for the remaining rooms either.
            if failures.len() >= SILENT_MAX {
                break;
            }
        }
        Ok(failures)
    }

    async fn apply_room_version(&self, seen: &RoomVersion) -> Result<(), LedgerError> {
        let Ok(room) = self.rooms().get(&seen.room) else {
            if let Some(row) = self.rooms().ledger().room(&seen.room).await? {
                let room = self.rooms().take_up(row).await?;
                self.set_owes_coverage(true);
                return self.read_stops(&room, seen).await;
            }
            return Ok(());
        };
        if seen.stage > room.draw_state().row.stage() {
            room.mark_begun_elsewhere();
        }
        if seen.version > room.row().version {
            self.refresh(&room).await?;
        }
        self.read_stops(&room, seen).await
    }

    /// Reads a room's row again. If the row is newer, takes it over and sends the change to the
    /// room's sockets.
    ///
    /// # Errors
    /// Fails if the ledger did not answer.
    pub async fn refresh(&self, room: &Room) -> Result<(), LedgerError> {
        let Some(row) = self.rooms().ledger().room(room.id()).await? else {
            return Ok(());
        };
        if room.row().document.shows != row.document.shows {
            self.set_owes_coverage(true);
        }
        if self.take_row(room, row) {
            let hub = self.inner.hubs.of_room(room.id());
            hub.announce_room(room, self.rooms().now_ms());
            room.nudge();
        }
        Ok(())
    }

    /// Takes over a newer row of a room, whichever node wrote it. If the promoter has cleared the
    /// line, tells the visitors. Returns `false` if the row is not newer than this node's row.
    pub(crate) fn take_row(&self, room: &Room, row: RoomRow) -> bool {
        let (below, note) = (row.facts.cleared_below, row.facts.cleared_note.clone());
        let was_cleared_below = room.row().facts.cleared_below;
        let is_newer = room.set_row(row);
        if is_newer && below > was_cleared_below {
            self.tell_cleared(room, below, &note);
        }
        is_newer
    }

    /// Reads the newest rooms from the ledger, and then tells booking which room covers which
    /// shows. The caller must hold [`RoomChangeLease`](super::RoomChangeLease).
    ///
    /// # Errors
    /// Fails if the ledger or booking did not answer.
    pub async fn publish_coverage(&self) -> Result<(), CoverageFailure> {
        self.catch_up().await?;
        self.set_owes_coverage(false);
        let replaced = self
            .rooms()
            .core()
            .replace_coverage(self.rooms().coverage())
            .await;
        if replaced.is_err() {
            self.set_owes_coverage(true);
        }
        Ok(replaced?)
    }
}
