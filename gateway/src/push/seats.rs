//! The seats of watched shows. One reader for each show stores the current picture. When a watcher
//! can send, it fetches what its client has not seen yet. Nothing is queued for a watcher. A slow
//! watcher gets a longer delta, or a snapshot.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use fairgate_model::grid::picture::CellChanges;
use tokio::sync::watch;

use super::history::SeatDeltaHistory;
use super::seat_frames;
use crate::load::{LoadLevel, ProcessLoad};
use crate::upstream::{BookingCore, BookingFailure, BookingSeatSnapshot};

/// How often changes are read and sent.
const EVERY: Duration = Duration::from_millis(250);
/// How often changes are read and sent under load.
const EVERY_UNDER_LOAD: Duration = Duration::from_secs(1);

/// The length (bytes) up to which a delta is sent even if it is longer than a snapshot, so that
/// tiny shows have deltas too.
const DELTA_LEN_MIN: usize = 256;

/// The shows that somebody watches; a cheap handle.
#[derive(Clone)]
pub struct WatchedShows {
    inner: Arc<WatchedShowsState>,
}

struct WatchedShowsState {
    core: Arc<dyn BookingCore>,
    load: ProcessLoad,
    shows: Mutex<HashMap<String, Arc<WatchedShow>>>,
}

struct WatchedShow {
    shown: Mutex<SharedSeatView>,
    version: watch::Sender<u64>,
}

/// The picture of one show that its watchers share.
struct SharedSeatView {
    picture: WatchedSeatPicture,
    history: SeatDeltaHistory,
    /// The encoded picture, once a watcher has asked for it.
    snapshot: Option<Bytes>,
}

struct WatchedSeatPicture {
    version: u64,
    cells: u32,
    packed: Vec<u8>,
}

/// One socket's watching of one show.
pub struct SeatWatch {
    watched: Arc<WatchedShow>,
    version: watch::Receiver<u64>,
    /// The version that the client has; `None` if it needs a snapshot.
    have: Option<u64>,
}

impl WatchedShows {
    /// Makes an empty list of watched shows. The seats of watched shows are read from `core`, less
    /// often if the `load` is high.
    #[must_use]
    pub fn new(core: Arc<dyn BookingCore>, load: ProcessLoad) -> Self {
        Self {
            inner: Arc::new(WatchedShowsState {
                core,
                load,
                shows: Mutex::default(),
            }),
        }
    }

    /// Begins to watch a show. The first frame is a snapshot. Returns `None` if there is no such
    /// show.
    ///
    /// # Errors
    /// Fails if booking does not answer.
    pub async fn watch(&self, show: &str) -> Result<Option<SeatWatch>, BookingFailure> {
        if let Some(watched) = self.lock_shows().get(show) {
            return Ok(Some(SeatWatch::for_show(watched)));
        }
        let Some(snapshot) = self.inner.core.snapshot(show).await? else {
            return Ok(None);
        };
        let mut shows = self.lock_shows();
        // Another socket may have asked for this show at the same time. Both use the reader of the
        // first one.
        if let Some(watched) = shows.get(show) {
            return Ok(Some(SeatWatch::for_show(watched)));
        }
        let watched = Arc::new(WatchedShow {
            version: watch::channel(snapshot.version).0,
            shown: Mutex::new(SharedSeatView {
                picture: WatchedSeatPicture::from_snapshot(snapshot),
                history: SeatDeltaHistory::default(),
                snapshot: None,
            }),
        });
        let first = SeatWatch::for_show(&watched);
        shows.insert(show.to_owned(), Arc::clone(&watched));
        drop(shows);
        tokio::spawn(follow_show(self.clone(), show.to_owned(), watched));
        Ok(Some(first))
    }

    fn lock_shows(&self) -> MutexGuard<'_, HashMap<String, Arc<WatchedShow>>> {
        self.inner
            .shows
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an unwatched show off the list. Returns `false` if a watcher came in the meantime.
    fn give_up(&self, show: &str, watched: &WatchedShow) -> bool {
        let mut shows = self.lock_shows();
        let unwatched = watched.version.receiver_count() == 0;
        if unwatched {
            shows.remove(show);
        }
        unwatched
    }
}

/// Returns the time between two readings of changes at a level of load.
fn every(level: LoadLevel) -> Duration {
    if level < LoadLevel::Deltas {
        EVERY
    } else {
        EVERY_UNDER_LOAD
    }
}

/// Reads one show's changes until nobody watches it.
async fn follow_show(seats: WatchedShows, show: String, watched: Arc<WatchedShow>) {
    loop {
        tokio::time::sleep(every(seats.inner.load.level())).await;
        if watched.version.receiver_count() == 0 && seats.give_up(&show, &watched) {
            return;
        }
        if let Err(error) = watched.refresh(&*seats.inner.core, &show).await {
            tracing::debug!(
                show,
                %error,
                "the seats could not be read; the next beat tries again"
            );
        }
    }
}

impl WatchedShow {
    async fn refresh(&self, core: &dyn BookingCore, show: &str) -> Result<(), BookingFailure> {
        let since = self.lock_view().picture.version;
        let version = match core.changes(show, since).await? {
            CellChanges::None => return Ok(()),
            CellChanges::Delta { from, to, cells } => {
                self.lock_view().apply_delta(from, to, cells);
                to
            }
            CellChanges::Gap => {
                let Some(snapshot) = core.snapshot(show).await? else {
                    return Ok(());
                };
                let version = snapshot.version;
                *self.lock_view() = SharedSeatView {
                    picture: WatchedSeatPicture::from_snapshot(snapshot),
                    history: SeatDeltaHistory::default(),
                    snapshot: None,
                };
                version
            }
        };
        self.version.send_replace(version);
        Ok(())
    }

    fn lock_view(&self) -> MutexGuard<'_, SharedSeatView> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SharedSeatView {
    fn apply_delta(&mut self, from: u64, to: u64, cells: Vec<(u32, u8)>) {
        for (index, state) in &cells {
            seat_frames::set_cell(&mut self.picture.packed, *index, *state);
        }
        self.picture.version = to;
        self.snapshot = None;
        self.history.add(from, to, cells);
    }

    /// Returns the frame that brings a client with this version up to date, or `None` if it is up
    /// to date.
    fn since(&mut self, have: Option<u64>) -> Option<Bytes> {
        let WatchedSeatPicture {
            version,
            cells,
            packed,
        } = &self.picture;
        if have == Some(*version) {
            return None;
        }
        let snapshot_len = (packed.len() + 13).max(DELTA_LEN_MIN);
        let delta = have.and_then(|have| self.history.since(have, snapshot_len));
        Some(delta.unwrap_or_else(|| {
            self.snapshot
                .get_or_insert_with(|| seat_frames::snapshot(*version, *cells, packed))
                .clone()
        }))
    }
}

impl WatchedSeatPicture {
    fn from_snapshot(snapshot: BookingSeatSnapshot) -> Self {
        Self {
            version: snapshot.version,
            cells: snapshot.cells,
            packed: snapshot.packed.into(),
        }
    }
}

impl SeatWatch {
    fn for_show(watched: &Arc<WatchedShow>) -> Self {
        Self {
            watched: Arc::clone(watched),
            version: watched.version.subscribe(),
            have: None,
        }
    }

    /// Waits for the next frame: first a snapshot, then the changes since the last frame. Returns
    /// `None` if no more frames can come.
    pub async fn next(&mut self) -> Option<Bytes> {
        loop {
            self.version.mark_unchanged();
            if let Some(frame) = self.fetch() {
                return Some(frame);
            }
            self.version.changed().await.ok()?;
        }
    }

    fn fetch(&mut self) -> Option<Bytes> {
        let mut shown = self.watched.lock_view();
        let frame = shown.since(self.have)?;
        self.have = Some(shown.picture.version);
        Some(frame)
    }

    /// Makes the next frame a snapshot.
    pub fn resync(&mut self) {
        self.have = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown() -> SharedSeatView {
        SharedSeatView {
            picture: WatchedSeatPicture {
                version: 7,
                cells: 2000,
                packed: vec![0; 500],
            },
            history: SeatDeltaHistory::default(),
            snapshot: None,
        }
    }

    #[test]
    fn a_slow_watcher_gets_one_delta_or_a_snapshot_whichever_is_shorter() {
        let mut shown = shown();
        assert_eq!(shown.since(Some(7)), None);
        for version in 7..10 {
            shown.apply_delta(version, version + 1, vec![(version as u32, 2)]);
        }
        assert_eq!(
            shown.since(Some(7)),
            Some(seat_frames::delta(7, 10, &[(7, 2), (8, 2), (9, 2)]))
        );
        let snapshot = shown.since(None).expect("a snapshot");
        assert_eq!(snapshot[0], 1);
        let many: Vec<_> = (0..2000).map(|cell| (cell, 1)).collect();
        shown.apply_delta(10, 11, many);
        assert_eq!(shown.since(Some(7)).expect("a frame")[0], 1);
        assert_eq!(shown.since(Some(10)).expect("a frame")[0], 1);
    }

    #[test]
    fn a_snapshot_is_encoded_once_for_all_and_shows_the_newest_state() {
        let mut shown = shown();
        shown.apply_delta(7, 8, vec![(0, 3)]);
        let (one, other) = (shown.since(None), shown.since(Some(1)));
        assert_eq!(one, other);
        assert_eq!(
            one.as_ref().map(|frame| frame.as_ptr()),
            other.as_ref().map(|frame| frame.as_ptr())
        );
        assert_eq!(one.expect("a frame")[13], 3);
    }

    #[test]
    fn deltas_are_sent_four_times_a_second_and_once_a_second_under_load() {
        for (level, ms) in [
            (LoadLevel::Calm, 250),
            (LoadLevel::Joins, 250),
            (LoadLevel::Deltas, 1000),
            (LoadLevel::Holds, 1000),
        ] {
            assert_eq!(every(level).as_millis(), ms, "{level:?}");
        }
    }
}
