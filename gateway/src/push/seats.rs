//! The seats of watched shows: one reader a show keeps the picture and sends every change once, to all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use booking::http::Problem;
use bytes::Bytes;
use tokio::sync::broadcast;
use tokio::time::{MissedTickBehavior, interval};

use super::frame;
use crate::upstream::{Changes, Core, Snapshot};

/// How often changes are read and sent.
const EVERY: Duration = Duration::from_millis(200);
/// So many deltas a slow socket may fall behind before it gets a snapshot instead.
const BACKLOG: usize = 32;

/// Watched shows; a cheap handle.
#[derive(Clone)]
pub struct Seats {
    inner: Arc<Inner>,
}

struct Inner {
    core: Arc<dyn Core>,
    shows: Mutex<HashMap<String, Arc<Watched>>>,
}

struct Watched {
    picture: Mutex<Picture>,
    frames: broadcast::Sender<Bytes>,
}

struct Picture {
    version: u64,
    cells: u32,
    packed: Vec<u8>,
}

/// One socket's view of one show.
pub struct Watch {
    watched: Arc<Watched>,
    frames: broadcast::Receiver<Bytes>,
}

impl Seats {
    /// Watches over that core.
    #[must_use]
    pub fn new(core: Arc<dyn Core>) -> Self {
        Self {
            inner: Arc::new(Inner {
                core,
                shows: Mutex::default(),
            }),
        }
    }

    /// Begins to watch a show; gives the snapshot to start from. `None` where there is no such show.
    ///
    /// # Errors
    /// Where booking does not answer.
    pub async fn watch(&self, show: &str) -> Result<Option<(Watch, Bytes)>, Problem> {
        if let Some(watched) = self.shows().get(show) {
            return Ok(Some(watched.join()));
        }
        let Some(snapshot) = self.inner.core.snapshot(show).await? else {
            return Ok(None);
        };
        let mut shows = self.shows();
        // Two sockets may have asked at once; the first one's reader serves both.
        if let Some(watched) = shows.get(show) {
            return Ok(Some(watched.join()));
        }
        let watched = Arc::new(Watched {
            picture: Mutex::new(Picture::of(snapshot)),
            frames: broadcast::channel(BACKLOG).0,
        });
        let joined = watched.join();
        shows.insert(show.to_owned(), Arc::clone(&watched));
        drop(shows);
        tokio::spawn(read(self.clone(), show.to_owned(), watched));
        Ok(Some(joined))
    }

    fn shows(&self) -> MutexGuard<'_, HashMap<String, Arc<Watched>>> {
        self.inner
            .shows
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an unwatched show off the list; `false` where somebody came in the meantime.
    fn give_up(&self, show: &str, watched: &Watched) -> bool {
        let mut shows = self.shows();
        let unwatched = watched.frames.receiver_count() == 0;
        if unwatched {
            shows.remove(show);
        }
        unwatched
    }
}

/// Reads one show until nobody watches it.
async fn read(seats: Seats, show: String, watched: Arc<Watched>) {
    let mut beat = interval(EVERY);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        beat.tick().await;
        if watched.frames.receiver_count() == 0 && seats.give_up(&show, &watched) {
            return;
        }
        if let Err(problem) = watched.refresh(&*seats.inner.core, &show).await {
            tracing::debug!(
                show,
                code = problem.code,
                "the seats could not be read; the next beat tries again"
            );
        }
    }
}

impl Watched {
    async fn refresh(&self, core: &dyn Core, show: &str) -> Result<(), Problem> {
        let since = self.picture().version;
        match core.changes(show, since).await? {
            Changes::None => {}
            Changes::Delta { from, to, cells } => {
                let mut picture = self.picture();
                for (index, state) in &cells {
                    frame::set(&mut picture.packed, *index, *state);
                }
                picture.version = to;
                // Sent under the picture's lock: whoever joins has either the old picture and this frame, or the new one.
                let _ = self.frames.send(frame::delta(from, to, &cells));
            }
            Changes::Gap => {
                if let Some(snapshot) = core.snapshot(show).await? {
                    let mut picture = self.picture();
                    *picture = Picture::of(snapshot);
                    let _ = self.frames.send(picture.frame());
                }
            }
        }
        Ok(())
    }

    fn join(self: &Arc<Self>) -> (Watch, Bytes) {
        let picture = self.picture();
        let frames = self.frames.subscribe();
        (
            Watch {
                watched: Arc::clone(self),
                frames,
            },
            picture.frame(),
        )
    }

    fn picture(&self) -> MutexGuard<'_, Picture> {
        self.picture.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Picture {
    fn of(snapshot: Snapshot) -> Self {
        Self {
            version: snapshot.version,
            cells: snapshot.cells,
            packed: snapshot.packed.into(),
        }
    }

    fn frame(&self) -> Bytes {
        frame::snapshot(self.version, self.cells, &self.packed)
    }
}

impl Watch {
    /// The next frame; a socket that fell behind gets a snapshot in place of what it missed.
    pub async fn next(&mut self) -> Option<Bytes> {
        match self.frames.recv().await {
            Ok(frame) => Some(frame),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(self.resync()),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }

    /// A fresh snapshot; frames from now on follow it.
    pub fn resync(&mut self) -> Bytes {
        let (fresh, snapshot) = self.watched.join();
        *self = fresh;
        snapshot
    }
}
