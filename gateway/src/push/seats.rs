//! The seats of watched shows. One loop for each show reads the current picture. The loop writes to
//! each watcher the changes that the watcher's client has not seen yet, as often as the load of
//! this process allows. Nothing is queued for a watcher. A slow watcher gets a longer delta, or a
//! snapshot.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use fairgate_model::grid::picture::CellChanges;
use tokio::time::sleep;

use super::frame_writer::FrameWriter;
use super::outlet::SocketOutlet;
use super::picture::SharedSeatView;
use super::push_cadence::{BEAT, CountedWatcher, GROUPS, PushCadence};
use crate::upstream::{BookingCore, BookingFailure};

/// The shows that somebody watches; a cheap handle.
#[derive(Clone)]
pub struct WatchedShows {
    inner: Arc<WatchedShowsState>,
}

struct WatchedShowsState {
    core: Arc<dyn BookingCore>,
    cadence: PushCadence,
    frame_writer: FrameWriter,
    shows: Mutex<HashMap<String, Arc<WatchedShow>>>,
}

struct WatchedShow {
    view: Mutex<SharedSeatView>,
    next_id: AtomicU64,
    groups: Vec<Mutex<HashMap<u64, Arc<SeatWatcher>>>>,
}

/// A socket that watches a show.
struct SeatWatcher {
    outlet: Arc<SocketOutlet>,
    /// The version that the client has; `None` if it needs a snapshot.
    sent_version: Mutex<Option<u64>>,
}

/// One socket's subscription to the seats of one show. Dropping it ends the subscription.
pub struct SeatWatch {
    watched: Arc<WatchedShow>,
    watcher: Arc<SeatWatcher>,
    id: u64,
    _counted: CountedWatcher,
}

impl WatchedShows {
    /// Makes an empty list of watched shows. The seats come from `core`. The `frame_writer` writes
    /// them to sockets as often as `cadence` allows.
    #[must_use]
    pub fn new(
        core: Arc<dyn BookingCore>,
        cadence: PushCadence,
        frame_writer: FrameWriter,
    ) -> Self {
        Self {
            inner: Arc::new(WatchedShowsState {
                core,
                cadence,
                frame_writer,
                shows: Mutex::default(),
            }),
        }
    }

    /// Lets a socket watch a show. The socket gets a snapshot with the first
    /// [`SeatWatch::catch_up`], and deltas from then on. Returns `None` if there is no such show.
    ///
    /// # Errors
    /// Fails if booking does not answer.
    pub async fn watch(
        &self,
        show: &str,
        outlet: &Arc<SocketOutlet>,
    ) -> Result<Option<SeatWatch>, BookingFailure> {
        if let Some(watched) = self.inner.shows.lock().get(show) {
            return Ok(Some(self.add_watcher(watched, outlet)));
        }
        let Some(snapshot) = self.inner.core.snapshot(show).await? else {
            return Ok(None);
        };
        let mut shows = self.inner.shows.lock();
        // Another socket may have asked for this show at the same time. Both then use the loop of
        // the first socket.
        if let Some(watched) = shows.get(show) {
            return Ok(Some(self.add_watcher(watched, outlet)));
        }
        let watched = Arc::new(WatchedShow {
            view: Mutex::new(SharedSeatView::from_snapshot(snapshot)),
            next_id: AtomicU64::new(0),
            groups: (0..GROUPS).map(|_| Mutex::default()).collect(),
        });
        let first = self.add_watcher(&watched, outlet);
        shows.insert(show.to_owned(), Arc::clone(&watched));
        drop(shows);
        tokio::spawn(follow_show(self.clone(), show.to_owned(), watched));
        Ok(Some(first))
    }

    fn add_watcher(&self, watched: &Arc<WatchedShow>, outlet: &Arc<SocketOutlet>) -> SeatWatch {
        let id = watched.next_id.fetch_add(1, Ordering::Relaxed);
        let watcher = Arc::new(SeatWatcher {
            outlet: Arc::clone(outlet),
            sent_version: Mutex::default(),
        });
        watched.lock_group(id).insert(id, Arc::clone(&watcher));
        SeatWatch {
            watched: Arc::clone(watched),
            watcher,
            id,
            _counted: self.inner.cadence.count_watcher(),
        }
    }

    /// Removes a show from the list if nobody watches it. Returns `false` if somebody does.
    fn remove_if_unwatched(&self, show: &str, watched: &WatchedShow) -> bool {
        let mut shows = self.inner.shows.lock();
        let is_unwatched = (0..GROUPS).all(|group| watched.lock_group(group.into()).is_empty());
        if is_unwatched {
            shows.remove(show);
        }
        is_unwatched
    }
}

/// Reads one show's changes and sends them to its watchers, until nobody watches the show.
async fn follow_show(seats: WatchedShows, show: String, watched: Arc<WatchedShow>) {
    let mut sent = [None; GROUPS as usize];
    for beat in (0..GROUPS).cycle() {
        let begun = Instant::now();
        if seats.remove_if_unwatched(&show, &watched) {
            return;
        }
        if let Err(error) = watched.refresh(&*seats.inner.core, &show).await {
            tracing::debug!(
                show,
                %error,
                "the seats could not be read; the next beat tries again"
            );
        }
        let due = watched.take_due(beat, seats.inner.cadence.seat_beats(), &mut sent);
        if !due.is_empty() {
            let (watched, cadence) = (Arc::clone(&watched), seats.inner.cadence.clone());
            let send_frames = move || watched.tell(&due, &cadence);
            seats.inner.frame_writer.run(send_frames).await;
        }
        sleep(BEAT.saturating_sub(begun.elapsed())).await;
    }
}

impl WatchedShow {
    async fn refresh(&self, core: &dyn BookingCore, show: &str) -> Result<(), BookingFailure> {
        let since = self.view.lock().version();
        match core.changes(show, since).await? {
            CellChanges::None => {}
            CellChanges::Delta { from, to, cells } => self.view.lock().apply_delta(from, to, cells),
            CellChanges::Gap => {
                if let Some(snapshot) = core.snapshot(show).await? {
                    *self.view.lock() = SharedSeatView::from_snapshot(snapshot);
                }
            }
        }
        Ok(())
    }

    /// Returns the watchers of the groups that are due in this beat and were not sent the newest
    /// version. Every group is due once in `beats` beats. `sent` has the version that was last sent
    /// to each group, and is updated for the returned groups.
    fn take_due(
        &self,
        beat: u32,
        beats: u32,
        sent: &mut [Option<u64>; GROUPS as usize],
    ) -> Vec<Arc<SeatWatcher>> {
        let newest = Some(self.view.lock().version());
        let mut due = Vec::new();
        for (group, sent) in (0..GROUPS).zip(sent) {
            if group % beats == beat % beats && *sent != newest {
                *sent = newest;
                due.extend(self.lock_group(group.into()).values().cloned());
            }
        }
        due
    }

    fn tell(&self, due: &[Arc<SeatWatcher>], cadence: &PushCadence) {
        let begun = Instant::now();
        let sent = due.iter().filter(|watcher| watcher.tell(self)).count();
        cadence.note_cost(sent, begun.elapsed());
    }

    /// Locks the group of the watcher with this id.
    fn lock_group(&self, id: u64) -> MutexGuard<'_, HashMap<u64, Arc<SeatWatcher>>> {
        let group = &self.groups[(id % u64::from(GROUPS)) as usize];
        group.lock()
    }
}

impl SeatWatcher {
    /// Sends what the client has not seen yet. Returns `false` if there is nothing to send, or if
    /// the client takes no frames now.
    fn tell(&self, watched: &WatchedShow) -> bool {
        let mut sent_version = self.sent_version.lock();
        let (frame, version) = {
            let mut view = watched.view.lock();
            let Some(frame) = view.since(*sent_version) else {
                return false;
            };
            (frame, view.version())
        };
        let is_sent = self.outlet.offer(&frame);
        if is_sent {
            *sent_version = Some(version);
        }
        is_sent
    }
}

impl SeatWatch {
    /// Sends at once what the client has not seen yet, if the client takes frames. This is a
    /// snapshot the first time, and changes after that.
    pub fn catch_up(&self) {
        self.watcher.tell(&self.watched);
    }

    /// Makes the next frame a snapshot, and sends it if the client takes frames.
    pub fn resync(&self) {
        *self.watcher.sent_version.lock() = None;
        self.catch_up();
    }
}

impl Drop for SeatWatch {
    fn drop(&mut self) {
        self.watched.lock_group(self.id).remove(&self.id);
    }
}
