//! A show that this process follows. Stores what the process knows about the show, and how fresh
//! this knowledge is.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fairgate_model::ids::ShowId;

use super::cached_show::CachedShow;

/// Why a show cannot be worked on in Redis until it is opened from the ledger again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShowCloseReason {
    /// The show was never opened, or its data is gone.
    Missing,
    /// The show is being opened, by this process or another one.
    Building,
    /// The server was restarted, or a replica was promoted. Nobody knows what was lost.
    Server,
    /// The clock of Redis jumped.
    Clock,
    /// The feed ends before a point that it had reached, so Redis went back to older data. Or the
    /// ledger has deleted rows that the show never got.
    Regressed,
}

impl ShowCloseReason {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Building => "building",
            Self::Server => "server",
            Self::Clock => "clock",
            Self::Regressed => "regressed",
        }
    }
}

/// A point of a show's feed: life, counter and sub-counter.
pub(super) type FeedPoint = (u64, u64, u64);

pub(super) struct FollowedShow {
    pub(super) show: ShowId,
    /// Locked during a catch-up.
    pub(super) catch_up_lock: tokio::sync::Mutex<()>,
    state: Mutex<FollowedShowState>,
    /// Whether the next sweep asks Redis in any case. This is set after a hold became a basket
    /// again, because the known picture may not show yet that the hold is due.
    pub(super) sweep_anyway: AtomicBool,
}

#[derive(Default)]
pub(super) struct FollowedShowState {
    pub(super) known: Option<CachedShow>,
    pub(super) closed: Option<ShowCloseReason>,
    /// When the newest answered catch-up began.
    pub(super) fresh_at: Option<Instant>,
    /// The newest point of the feed that any answer of Redis has named so far.
    newest_named: FeedPoint,
    used_at: Option<Instant>,
    swept_at: Option<Instant>,
}

impl FollowedShowState {
    /// Returns whether the known picture contains every change that Redis has reported to this
    /// process.
    fn has_all_changes(&self) -> bool {
        self.known.as_ref().is_some_and(|known| {
            let (counter, sub) = known.position();
            (known.life, counter, sub) >= self.newest_named
        })
    }
}

impl FollowedShow {
    pub(super) fn new(show: ShowId) -> Self {
        Self {
            show,
            catch_up_lock: tokio::sync::Mutex::default(),
            state: Mutex::default(),
            sweep_anyway: AtomicBool::new(false),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, FollowedShowState> {
        // A panic while an entry is applied may leave a picture that lacks a part of the entry. The
        // picture is therefore dropped, and the next reading reads the whole show.
        self.state.lock().unwrap_or_else(|poisoned| {
            self.state.clear_poison();
            let mut state = PoisonError::into_inner(poisoned);
            state.known = None;
            state
        })
    }

    /// Returns the newest point of the feed that is known now. The answer to a later call must not
    /// name an older point.
    pub(super) fn newest(&self) -> FeedPoint {
        let state = self.state();
        let known = state.known.as_ref().map(|known| {
            let (counter, sub) = known.position();
            (known.life, counter, sub)
        });
        state.newest_named.max(known.unwrap_or_default())
    }

    /// Returns the current life, if the show is open as far as this process knows.
    pub(super) fn life(&self) -> Option<u64> {
        let state = self.state();
        let known = state.known.as_ref().filter(|_| state.closed.is_none());
        known.map(|known| known.life)
    }

    /// Returns the edition of the show, if the show is open as far as this process knows.
    pub(super) fn edition(&self) -> Option<u64> {
        let state = self.state();
        let known = state.known.as_ref().filter(|_| state.closed.is_none());
        known.map(|known| known.edition)
    }

    /// Returns whether the show is open and the known picture is younger than `age` and contains
    /// every change that Redis has reported to this process.
    pub(super) fn is_fresh(&self, age: Duration) -> bool {
        let state = self.state();
        let young = state.fresh_at.is_some_and(|at| at.elapsed() < age);
        young && state.has_all_changes() && state.closed.is_none()
    }

    /// Remembers the point of the feed that an answer named.
    pub(super) fn note_feed_point(&self, life: u64, (counter, sub): (u64, u64)) {
        let mut state = self.state();
        state.newest_named = state.newest_named.max((life, counter, sub));
    }

    /// Notes that somebody uses this show.
    pub(super) fn touch(&self) {
        self.state().used_at = Some(Instant::now());
    }

    /// Returns how long ago the show was last used.
    pub(super) fn idle_time(&self) -> Duration {
        let used_at = self.state().used_at;
        used_at.map_or(Duration::MAX, |at| at.elapsed())
    }

    /// Returns whether the show was neither used nor read for longer than `after`, and has no
    /// holds.
    pub(super) fn may_be_forgotten(&self, after: Duration) -> bool {
        let unused = self.idle_time() > after;
        let state = self.state();
        let not_read = state.fresh_at.is_none_or(|at| at.elapsed() > after);
        unused && not_read && !state.known.as_ref().is_some_and(CachedShow::has_holds)
    }

    /// Returns whether to read the show's feed now. The feed of a used show is always read. The
    /// feed of a show at rest is read if the known picture lacks a reported change. If the show has
    /// holds, its feed is also read every `idle_every`.
    pub(super) fn wants_reading(&self, idle: Duration, idle_every: Duration) -> bool {
        if self.idle_time() < idle {
            return true;
        }
        let state = self.state();
        let Some(known) = &state.known else {
            return false;
        };
        let old = state.fresh_at.is_none_or(|at| at.elapsed() > idle_every);
        !state.has_all_changes() || old && known.has_holds()
    }

    /// Returns whether to sweep the show now. If so, notes the time of the sweep. A show is swept
    /// if something is due in the known picture, if the picture lacks a reported change, or if
    /// `sweep_anyway` is set. A used show with holds is also swept once a second. A show that is
    /// closed or has no known picture is never swept. For any other show, this call clears
    /// `sweep_anyway`.
    pub(super) fn wants_sweep(&self, now_ms: i64, idle: Duration) -> bool {
        let used = self.idle_time() < idle;
        let mut state = self.state();
        if state.closed.is_some() {
            return false;
        }
        let Some(known) = &state.known else {
            return false;
        };
        let lacks_changes = !state.has_all_changes();
        let long_ago = state
            .swept_at
            .is_none_or(|at| at.elapsed() > Duration::from_secs(1));
        let anyway = self.sweep_anyway.swap(false, Ordering::AcqRel);
        let wanted = anyway
            || lacks_changes
            || known.is_due(now_ms)
            || used && known.has_holds() && long_ago;
        if wanted {
            state.swept_at = Some(Instant::now());
        }
        wanted
    }
}
