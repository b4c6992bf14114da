//! A show that this process follows: what is known of it, how fresh that is, and the one catch-up
//! at a time that all who wait for it share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fairgate_model::ids::ShowId;

use super::known::CachedShow;

/// Why a show cannot be worked on in Redis until it is opened from the ledger again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShowCloseReason {
    /// It was never opened, or its data are gone.
    Missing,
    /// Another process is opening it.
    Building,
    /// A restart or a promotion: nobody knows what was lost.
    Server,
    /// The clock of Redis jumped.
    Clock,
    /// Its feed is behind what it told before: the data were set back under the same name.
    Regressed,
}

impl ShowCloseReason {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Building => "building",
            Self::Server => "server",
            Self::Clock => "clock",
            Self::Regressed => "regressed",
        }
    }
}

/// A point of a show's feed: life, counter, the number below.
pub(super) type FeedPoint = (u64, u64, u64);

pub(super) struct FollowedShow {
    pub(super) show: ShowId,
    /// Held during a catch-up.
    pub(super) catching: tokio::sync::Mutex<()>,
    state: Mutex<FollowedShowState>,
    /// Something was done here that the feed's copy does not know yet.
    pub(super) sweep_anyway: AtomicBool,
}

#[derive(Default)]
pub(super) struct FollowedShowState {
    pub(super) known: Option<CachedShow>,
    pub(super) closed: Option<ShowCloseReason>,
    /// When the newest successful catch-up was asked for.
    pub(super) fresh_at: Option<Instant>,
    /// The newest point of the feed that an answer to this process told of: life, counter, the
    /// number below.
    at_least: FeedPoint,
    used_at: Option<Instant>,
    swept_at: Option<Instant>,
}

impl FollowedShowState {
    /// Whether what is known has all that this process was told of.
    fn is_whole(&self) -> bool {
        self.known.as_ref().is_some_and(|known| {
            let (counter, sub) = known.position();
            (known.life, counter, sub) >= self.at_least
        })
    }
}

impl FollowedShow {
    pub(super) fn new(show: ShowId) -> Self {
        Self {
            show,
            catching: tokio::sync::Mutex::default(),
            state: Mutex::default(),
            sweep_anyway: AtomicBool::new(false),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, FollowedShowState> {
        // A panic while an entry is taken over leaves a picture that lacks a part of it; the next
        // look reads anew.
        self.state.lock().unwrap_or_else(|poisoned| {
            self.state.clear_poison();
            let mut state = PoisonError::into_inner(poisoned);
            state.known = None;
            state
        })
    }

    /// The newest point of the feed that anything told of, as of now: life, counter, the number
    /// below. Whatever is asked from here on must not lie before it.
    pub(super) fn newest(&self) -> FeedPoint {
        let state = self.state();
        let known = state.known.as_ref().map(|known| {
            let (counter, sub) = known.position();
            (known.life, counter, sub)
        });
        state.at_least.max(known.unwrap_or_default())
    }

    /// The life to work in, where the show is open as far as is known.
    pub(super) fn life(&self) -> Option<u64> {
        let state = self.state();
        let known = state.known.as_ref().filter(|_| state.closed.is_none());
        known.map(|known| known.life)
    }

    /// The edition that is worked on, where the show is open as far as is known.
    pub(super) fn edition(&self) -> Option<u64> {
        let state = self.state();
        let known = state.known.as_ref().filter(|_| state.closed.is_none());
        known.map(|known| known.edition)
    }

    /// Whether what is known is younger than `age`, open, and has all that this process was told
    /// of.
    pub(super) fn is_fresh(&self, age: Duration) -> bool {
        let state = self.state();
        let young = state.fresh_at.is_some_and(|at| at.elapsed() < age);
        young && state.is_whole() && state.closed.is_none()
    }

    /// Remembers the point of the feed that an answer told of.
    pub(super) fn note_feed_point(&self, life: u64, (counter, sub): (u64, u64)) {
        let mut state = self.state();
        state.at_least = state.at_least.max((life, counter, sub));
    }

    /// Notes that somebody asks for this show.
    pub(super) fn touch(&self) {
        self.state().used_at = Some(Instant::now());
    }

    /// How long nobody has asked for it.
    pub(super) fn idle_time(&self) -> Duration {
        let used_at = self.state().used_at;
        used_at.map_or(Duration::MAX, |at| at.elapsed())
    }

    /// Whether it was neither used nor read for so long, and nothing may run out in it.
    pub(super) fn is_forgotten(&self, after: Duration) -> bool {
        let unused = self.idle_time() > after;
        let state = self.state();
        let unread = state.fresh_at.is_none_or(|at| at.elapsed() > after);
        unused && unread && !state.known.as_ref().is_some_and(CachedShow::has_holds)
    }

    /// Whether its feed is to be read now: all the time while it is used, or where this process was
    /// told of more than it has read; every now and then where holds may run out in it; else not at
    /// all.
    pub(super) fn wants_reading(&self, idle: Duration, idle_every: Duration) -> bool {
        if self.idle_time() < idle {
            return true;
        }
        let state = self.state();
        let Some(known) = &state.known else {
            return false;
        };
        let old = state.fresh_at.is_none_or(|at| at.elapsed() > idle_every);
        !state.is_whole() || old && known.has_holds()
    }

    /// Whether to ask Redis for what is overdue: something is, as far as is known, or it is used
    /// and was not asked for a second.
    pub(super) fn wants_sweep(&self, now_ms: i64, idle: Duration) -> bool {
        let used = self.idle_time() < idle;
        let mut state = self.state();
        if state.closed.is_some() {
            return false;
        }
        let Some(known) = &state.known else {
            return false;
        };
        let behind = !state.is_whole();
        let long_ago = state
            .swept_at
            .is_none_or(|at| at.elapsed() > Duration::from_secs(1));
        let anyway = self.sweep_anyway.swap(false, Ordering::AcqRel);
        let wanted =
            anyway || behind || known.is_due(now_ms) || used && known.has_holds() && long_ago;
        if wanted {
            state.swept_at = Some(Instant::now());
        }
        wanted
    }
}
