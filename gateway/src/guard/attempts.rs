//! Slows networks that send wrong codes or wrong keys. A network may send a few, because many
//! people may share one carrier's address. After that, each wrong attempt begins a longer pause.
//! During a pause every attempt is refused unread, unless the network sent a right key in the last
//! hours.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::Quota;
use governor::clock::{Clock, DefaultClock, Reference};

use super::GuardRefusal;
use super::networks::{NetworkQuotas, QuotaExceeded, QuotaSlot};
use crate::web::ClientNetwork;

/// How many wrong attempts a network may make at once without a pause.
const BURST: NonZeroU32 = NonZeroU32::new(20).expect("not zero");
/// Each time this much time passes, the network may make one more wrong attempt without a pause.
const FREE_AFTER: Duration = Duration::from_secs(2);
/// The longest pause. A pause also stops all other people in the network, so it must be short.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// If no new pause begins for this long after a pause has ended, the next pause is short again.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);

/// For this long after a right attempt, no attempt of the network is refused unread. Otherwise one
/// guest on the Wi-Fi of a venue could stop the scanners at its doors.
const TRUSTED_FOR: Duration = Duration::from_secs(12 * 3600);

/// What an attempt was about. Each kind has pauses of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptKind {
    /// A code of a room.
    Code,
    /// The key of a partner.
    PartnerKey,
    /// The key of a promoter, a viewer or a door.
    RoleKey,
}

impl AttemptKind {
    /// Returns the word for logs and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::PartnerKey => "api_key",
            Self::RoleKey => "key",
        }
    }
}

/// The limits of wrong attempts of each kind; a cheap handle.
#[derive(Clone, Default)]
pub struct AttemptGuards {
    codes: AttemptGuard,
    partner_keys: AttemptGuard,
    role_keys: AttemptGuard,
}

impl AttemptGuards {
    /// Returns the limit of a kind.
    #[must_use]
    pub fn of(&self, kind: AttemptKind) -> &AttemptGuard {
        match kind {
            AttemptKind::Code => &self.codes,
            AttemptKind::PartnerKey => &self.partner_keys,
            AttemptKind::RoleKey => &self.role_keys,
        }
    }

    /// Forgets what no longer counts: unused quotas, old pauses and old right attempts.
    pub fn evict(&self) {
        for guard in [&self.codes, &self.partner_keys, &self.role_keys] {
            guard.evict();
        }
    }
}

/// The limit of wrong attempts for each network; a cheap handle.
#[derive(Clone)]
pub struct AttemptGuard<C: Clock = DefaultClock> {
    inner: Arc<AttemptGuardState<C>>,
}

struct AttemptGuardState<C: Clock> {
    quotas: NetworkQuotas<C>,
    pauses: Mutex<HashMap<QuotaSlot, AttemptPause>>,
    /// When each network last made a right attempt, as the time since the guard began.
    right_at: Mutex<HashMap<QuotaSlot, Duration>>,
    begun: C::Instant,
    clock: C,
}

/// The last pause of a network.
#[derive(Debug, Clone, Copy)]
struct AttemptPause {
    /// How many pauses there were in a row.
    strikes: u32,
    /// When the pause ends, as the time since the guard began.
    ends: Duration,
}

impl Default for AttemptGuard {
    fn default() -> Self {
        Self::with_clock(DefaultClock::default())
    }
}

impl<C: Clock + Clone> AttemptGuard<C> {
    fn with_clock(clock: C) -> Self {
        let quota = Quota::with_period(FREE_AFTER)
            .expect("the time is not zero")
            .allow_burst(BURST);
        Self {
            inner: Arc::new(AttemptGuardState {
                quotas: NetworkQuotas::new(quota, clock.clone()),
                pauses: Mutex::default(),
                right_at: Mutex::default(),
                begun: clock.now(),
                clock,
            }),
        }
    }

    /// Refuses an attempt while its network has to pause. The direct calls of this machine never
    /// have to pause, so that its operator is not shut out.
    ///
    /// # Errors
    /// [`GuardRefusal::TooManyAttempts`].
    pub fn admit(&self, network: ClientNetwork) -> Result<(), GuardRefusal> {
        let inner = &*self.inner;
        let slot = inner.quotas.slot(network);
        let ends = inner.pauses.lock().get(&slot).map(|pause| pause.ends);
        let remaining = ends.map_or(Duration::ZERO, |ends| ends.saturating_sub(inner.now()));
        if remaining.is_zero() || inner.is_trusted(slot) {
            return Ok(());
        }
        let wait_s = remaining.as_secs_f64().ceil().max(1.0) as u64;
        Err(GuardRefusal::TooManyAttempts { wait_s })
    }

    /// Notes a right attempt. For some hours, no attempt of its network is refused unread.
    pub fn note_right(&self, network: ClientNetwork) {
        let inner = &*self.inner;
        let slot = inner.quotas.slot(network);
        inner.right_at.lock().insert(slot, inner.now());
    }

    /// Notes a wrong attempt. Returns the length of the pause that the attempt begins, if it begins
    /// one. A network with a recent right attempt is admitted in spite of the pause.
    pub fn note_wrong(&self, network: ClientNetwork) -> Option<Duration> {
        let inner = &*self.inner;
        if network.is_direct_loopback() {
            return None;
        }
        let QuotaExceeded { slot, .. } = inner.quotas.check(network).err()?;
        let now = inner.now();
        let mut pauses = inner.pauses.lock();
        let earlier_pause = pauses.get(&slot).filter(|pause| !pause.is_forgotten(now));
        let strikes = earlier_pause.map_or(1, |pause| pause.strikes.saturating_add(1));
        let pause_time = Duration::from_secs(1 << strikes.min(6)).min(PAUSE_MAX);
        let ends = now + pause_time;
        pauses.insert(slot, AttemptPause { strikes, ends });
        Some(pause_time)
    }

    /// Forgets what no longer counts: unused quotas, old pauses and old right attempts.
    pub fn evict(&self) {
        let now = self.inner.now();
        self.inner.quotas.evict();
        let mut pauses = self.inner.pauses.lock();
        pauses.retain(|_, pause| !pause.is_forgotten(now));
        drop(pauses);
        let mut right_at = self.inner.right_at.lock();
        right_at.retain(|_, at| now.saturating_sub(*at) < TRUSTED_FOR);
    }
}

impl AttemptPause {
    fn is_forgotten(&self, now: Duration) -> bool {
        now.saturating_sub(self.ends) >= FORGOTTEN_AFTER
    }
}

impl<C: Clock> AttemptGuardState<C> {
    fn now(&self) -> Duration {
        self.clock.now().duration_since(self.begun).into()
    }

    fn is_trusted(&self, slot: QuotaSlot) -> bool {
        let at = self.right_at.lock().get(&slot).copied();
        at.is_some_and(|at| self.now().saturating_sub(at) < TRUSTED_FOR)
    }
}

#[cfg(test)]
mod tests {
    use governor::clock::FakeRelativeClock;

    use super::*;

    fn network(last: u8) -> ClientNetwork {
        ClientNetwork::from_address([192, 0, 2, last].into())
    }

    fn wait_s(guard: &AttemptGuard<FakeRelativeClock>) -> u64 {
        match guard.admit(network(1)) {
            Ok(()) => 0,
            Err(GuardRefusal::TooManyAttempts { wait_s }) => wait_s,
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn pauses_grow_with_each_wrong_attempt_and_end() {
        let clock = FakeRelativeClock::default();
        let guard = AttemptGuard::with_clock(clock.clone());
        for _ in 0..BURST.get() {
            assert_eq!(guard.note_wrong(network(1)), None);
            assert_eq!(wait_s(&guard), 0);
        }
        for expected in [2, 4, 8, 16, 32, 60, 60] {
            // The first of these calls use up the attempts that have become free since the last
            // pause.
            let pause = std::iter::repeat_with(|| guard.note_wrong(network(1)));
            let pause = pause.take(40).flatten().next();
            assert_eq!(pause, Some(Duration::from_secs(expected)));
            assert_eq!(wait_s(&guard), expected);
            assert_eq!(guard.admit(network(2)), Ok(()), "another network");
            clock.advance(Duration::from_secs(expected));
            assert_eq!(wait_s(&guard), 0);
        }
        clock.advance(FORGOTTEN_AFTER);
        guard.evict();
        assert!(guard.inner.pauses.lock().is_empty());
        let pause = std::iter::repeat_with(|| guard.note_wrong(network(1)));
        let pause = pause.take(40).flatten().next();
        assert_eq!(pause, Some(Duration::from_secs(2)), "pauses begin anew");
    }

    #[test]
    fn a_network_that_was_right_does_not_pause_for_some_hours() {
        let clock = FakeRelativeClock::default();
        let guard = AttemptGuard::with_clock(clock.clone());
        guard.note_right(network(1));
        let wrong = std::iter::repeat_with(|| guard.note_wrong(network(1)));
        assert!(wrong.take(40).flatten().next().is_some());
        assert_eq!(wait_s(&guard), 0);
        clock.advance(TRUSTED_FOR);
        guard.evict();
        let wrong = std::iter::repeat_with(|| guard.note_wrong(network(1)));
        assert!(wrong.take(40).flatten().next().is_some());
        assert!(wait_s(&guard) > 0, "the trust is over");
    }

    #[test]
    fn people_who_are_wrong_now_and_then_never_pause() {
        let clock = FakeRelativeClock::default();
        let guard = AttemptGuard::with_clock(clock.clone());
        // Of 10,000 people behind one address, one in a hundred is wrong within five minutes.
        for _ in 0..100 {
            assert_eq!(guard.note_wrong(network(1)), None);
            clock.advance(Duration::from_secs(3));
        }
    }
}
