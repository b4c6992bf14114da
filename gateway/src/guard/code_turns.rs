//! Whose code is looked at next while wrong codes use the room's budget up. Each node has at most
//! some waiting tries for a room, and one of them has the turn. Whether its code is right plays no
//! part before it is looked at. So the time that a visitor waits tells nothing about the code.
//!
//! A network that has shown few codes comes before one that has shown many (`ShownCodes`). Somebody
//! who guesses from few networks therefore makes nobody else wait.

use std::sync::Arc;
use std::time::Duration;

use fairgate_pass::Digest;
use fairgate_rules::shown_codes::{LookTurn, ShownBy, ShownCodes};
use fairgate_rules::wrong_codes::KEPT_FOR_NEW;
use parking_lot::Mutex;
use rand::RngExt;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep_until, timeout_at};

/// At most this many tries wait for one room. A further one takes the place of a try whose turn
/// comes later, or is refused.
const WAITING_MAX: usize = 200;
/// How long a try waits for its turn. Then it is refused, and may be made again at once.
const WAITS_MAX: Duration = Duration::from_secs(2);
/// The room is asked again after this long (ms) at the latest, because tries may be left then.
const ASKS_AGAIN_MS: i64 = 1_000;
/// Nodes ask again up to this much (ms) later, so that none of them is always the first.
const JITTER_MS: u64 = 30;
/// With this many wrong codes in a minute, operators are warned.
const WARNED_FROM: u64 = 60;
/// How long (ms) a warning stays after the last sign of guessing.
const WARNED_FOR_MS: i64 = 60_000;

/// The tries of one room at this node; a cheap handle.
#[derive(Clone, Default)]
pub struct CodeTurns {
    inner: Arc<CodeTurnsShared>,
}

#[derive(Default)]
struct CodeTurnsShared {
    state: Mutex<CodeTurnsState>,
    /// A try began to wait.
    changed: Notify,
}

#[derive(Default)]
struct CodeTurnsState {
    shown: ShownCodes,
    waiting: Vec<WaitingTry>,
    /// Whether a task gives turns to those who wait.
    is_served: bool,
    /// From when on the store may look at a code of a new network, and of another one.
    opens_for_new: Option<Instant>,
    opens_for_all: Option<Instant>,
    /// The last sign of guessing: when it was (ms), and how many wrong codes the room looked at in
    /// the minute before.
    guessed: Option<(i64, u64)>,
}

struct WaitingTry {
    turn: LookTurn,
    give: oneshot::Sender<GivenTurn>,
}

/// The turn of a try: its code may be looked at now. The next turn is given when this is dropped.
pub struct GivenTurn {
    _is_done: Option<oneshot::Sender<()>>,
}

/// A visitor's code that is to be looked at.
pub struct CodeTry {
    turns: CodeTurns,
    networks: Vec<ShownBy>,
    code: Digest,
    turn: LookTurn,
    gives_up: Instant,
}

/// What is done next for those who wait.
enum NextTurn {
    Give(WaitingTry),
    At(Instant),
    Nobody,
}

impl CodeTurns {
    /// Begins a try of a visitor at `now` (ms). `networks` are the visitor's network and the wider
    /// ones around it.
    pub fn begin(&self, networks: Vec<ShownBy>, code: Digest, now: i64) -> CodeTry {
        let mut state = self.inner.state.lock();
        let turn = state.shown.note_shown(&networks, code, now);
        drop(state);
        CodeTry {
            turns: self.clone(),
            networks,
            code,
            turn,
            gives_up: Instant::now() + WAITS_MAX,
        }
    }

    /// Forgets the codes that were shown long before `now` (ms).
    pub fn forget_old(&self, now: i64) {
        self.inner.state.lock().shown.forget_old(now);
    }

    /// Returns what an operator of `room` should know at `now` (ms), if somebody seems to guess.
    #[must_use]
    pub fn warning(&self, room: &str, now: i64) -> Option<String> {
        let guessed = self.inner.state.lock().guessed;
        let (_, recent) = guessed.filter(|(at, _)| now.saturating_sub(*at) < WARNED_FOR_MS)?;
        Some(format!(
            "somebody tries wrong codes in the room \"{room}\": {recent} in the last minute. It looks at no more than 100 wrong codes at once and 2 a second, at all nodes together, so codes from networks that show many are looked at slowly, and right ones that come from there, too. If the codes are short, some may be found. PUT …/networks closes the room to networks; the log names those that pause. Longer codes can be put until somebody joins"
        ))
    }

    /// Gives turns until nobody waits.
    async fn serve(self) {
        loop {
            let next = self.inner.state.lock().next(Instant::now());
            match next {
                NextTurn::Nobody => return,
                NextTurn::At(at) => {
                    tokio::select! {
                        () = sleep_until(at) => {}
                        () = self.inner.changed.notified() => {}
                    }
                }
                NextTurn::Give(waiting) => {
                    let (is_done, done) = oneshot::channel();
                    let given = GivenTurn {
                        _is_done: Some(is_done),
                    };
                    // If nobody takes the turn, it is dropped here, and is done at once.
                    drop(waiting.give.send(given));
                    // Dropping the turn ends it. Nothing is ever sent.
                    done.await.unwrap_or_default();
                }
            }
        }
    }
}

impl CodeTry {
    /// Waits for the turn of this try. Returns `None` if it does not come in time, or if too many
    /// others wait.
    pub async fn turn(&self) -> Option<GivenTurn> {
        let given = {
            let mut state = self.turns.inner.state.lock();
            let now = Instant::now();
            if now >= self.gives_up {
                return None;
            }
            if !state.is_served && state.opens(self.turn).is_none_or(|at| at <= now) {
                return Some(GivenTurn { _is_done: None });
            }
            let (give, given) = oneshot::channel();
            state.wait(WaitingTry {
                turn: self.turn,
                give,
            });
            if !state.is_served {
                state.is_served = true;
                tokio::spawn(self.turns.clone().serve());
            }
            given
        };
        self.turns.inner.changed.notify_one();
        timeout_at(self.gives_up, given).await.ok()?.ok()
    }

    /// Returns how many tries of the room's budget are kept for others.
    #[must_use]
    pub fn kept(&self) -> i64 {
        if self.turn.is_new() { 0 } else { KEPT_FOR_NEW }
    }

    /// Notes that the store looks at no code like this for `wait_ms`, and that the room looked at
    /// `recent` wrong codes in the last minute.
    pub fn note_paused(&self, wait_ms: i64, recent: u64, now: i64) {
        let wait_ms = wait_ms.clamp(1, ASKS_AGAIN_MS).unsigned_abs();
        let wait_ms = wait_ms + rand::rng().random_range(0..JITTER_MS);
        let opens = Some(Instant::now() + Duration::from_millis(wait_ms));
        let mut state = self.turns.inner.state.lock();
        if self.turn.is_new() {
            state.opens_for_new = opens;
        }
        state.opens_for_all = opens;
        state.guessed = Some((now, recent));
    }

    /// Notes that the code was wrong, and that the room looked at `recent` wrong codes in the last
    /// minute.
    pub fn note_wrong(&self, recent: u64, now: i64) {
        if recent >= WARNED_FROM {
            self.turns.inner.state.lock().guessed = Some((now, recent));
        }
    }

    /// Notes that the code was right, or that it was not looked at for another reason.
    pub fn note_not_wrong(&self) {
        let mut state = self.turns.inner.state.lock();
        state.shown.note_right(&self.networks, self.code);
    }
}

impl CodeTurnsState {
    fn opens(&self, turn: LookTurn) -> Option<Instant> {
        if turn.is_new() {
            self.opens_for_new
        } else {
            self.opens_for_all
        }
    }

    /// Adds a try. If too many wait, the one whose turn comes last is refused by being dropped.
    fn wait(&mut self, waiting: WaitingTry) {
        self.waiting.push(waiting);
        if self.waiting.len() > WAITING_MAX {
            self.waiting.retain(|waiting| !waiting.give.is_closed());
        }
        if self.waiting.len() > WAITING_MAX {
            let turns = self.waiting.iter().enumerate();
            let last = turns.max_by_key(|(_, waiting)| waiting.turn);
            if let Some((at, _)) = last {
                self.waiting.swap_remove(at);
            }
        }
    }

    fn next(&mut self, now: Instant) -> NextTurn {
        self.waiting.retain(|waiting| !waiting.give.is_closed());
        let turns = self.waiting.iter().enumerate();
        let Some((at, first)) = turns.min_by_key(|(_, waiting)| waiting.turn) else {
            self.is_served = false;
            return NextTurn::Nobody;
        };
        match self.opens(first.turn) {
            Some(opens) if opens > now => NextTurn::At(opens),
            _ => NextTurn::Give(self.waiting.swap_remove(at)),
        }
    }
}

#[cfg(test)]
mod tests {
    use fairgate_servers::actors::until;
    use futures_util::FutureExt;

    use super::*;

    /// The network of a visitor who has an address alone in its /24.
    fn alone(of: u8) -> Vec<ShownBy> {
        let bits = u128::from_be_bytes([of; 16]);
        vec![(bits, 128), (bits >> 8 << 8, 120)]
    }

    fn code(of: u32) -> Digest {
        Digest::of_bytes(&of.to_be_bytes())
    }

    /// Lets a network show codes until it is not new any more.
    fn guesser(turns: &CodeTurns, of: u8) -> CodeTry {
        for at in 0..8 {
            turns.begin(alone(of), code(at), 0);
        }
        turns.begin(alone(of), code(8), 0)
    }

    #[tokio::test]
    async fn while_the_store_looks_at_codes_nobody_waits() {
        let turns = CodeTurns::default();
        for of in 0..100 {
            let tried = turns.begin(alone(of), code(of.into()), 0);
            assert!(tried.turn().now_or_never().flatten().is_some());
            tried.note_not_wrong();
        }
        assert!(!turns.inner.state.lock().is_served);
    }

    #[tokio::test]
    async fn a_new_network_comes_before_those_who_guess() {
        let turns = CodeTurns::default();
        let slow = guesser(&turns, 1);
        assert_eq!(slow.kept(), KEPT_FOR_NEW);
        slow.note_paused(400, 100, 0);
        let (begun, fresh) = (Instant::now(), turns.begin(alone(2), code(7), 1));
        assert_eq!(fresh.kept(), 0);
        let first = fresh.turn().now_or_never().flatten();
        drop(first.expect("the tries that are kept are for it"));
        // If these tries are used up, too, the new network waits, and has the first turn.
        fresh.note_paused(400, 100, 0);
        let order = Mutex::new(Vec::new());
        let one = async |tried: &CodeTry, name| {
            let turn = tried.turn().await.expect("a turn");
            order.lock().push(name);
            drop(turn);
        };
        tokio::join!(one(&slow, "guesser"), one(&fresh, "visitor"));
        assert_eq!(*order.lock(), ["visitor", "guesser"]);
        assert!(begun.elapsed() >= Duration::from_millis(400));
    }

    #[tokio::test]
    async fn a_turn_is_given_when_the_turn_before_has_ended() {
        let turns = CodeTurns::default();
        let one = guesser(&turns, 1);
        one.note_paused(100, 100, 0);
        let held = one.turn().await.expect("a turn");
        let other = guesser(&turns, 2);
        let mut waits = std::pin::pin!(other.turn());
        assert!(futures_util::poll!(waits.as_mut()).is_pending());
        drop(held);
        assert!(waits.await.is_some());
    }

    #[tokio::test]
    async fn a_try_waits_for_two_seconds_and_no_more_tries_wait_than_may() {
        let turns = CodeTurns::default();
        let tries: Vec<_> = (0..1_000).map(|_| guesser(&turns, 3)).collect();
        let begun = Instant::now();
        tries[0].note_paused(500, 100, 0);
        let refused = tries.iter().map(|tried| async {
            // The store goes on to look at no code.
            while let Some(turn) = tried.turn().await {
                tried.note_paused(500, 100, 0);
                drop(turn);
            }
            begun.elapsed()
        });
        let refused = futures_util::future::join_all(refused).await;
        let waited = refused
            .iter()
            .filter(|after| **after >= Duration::from_secs(1));
        assert_eq!(waited.count(), WAITING_MAX);
        until("nobody waits", async || {
            let state = turns.inner.state.lock();
            (state.waiting.is_empty() && !state.is_served).then_some(())
        })
        .await;
    }

    #[test]
    fn guessing_gives_one_warning_that_ends_a_minute_after_it() {
        let turns = CodeTurns::default();
        let tried = turns.begin(alone(1), code(1), 0);
        tried.note_wrong(59, 1_000);
        assert_eq!(turns.warning("sale", 1_000), None);
        tried.note_wrong(60, 2_000);
        let told = turns.warning("sale", 61_999).expect("a warning");
        assert!(told.contains("\"sale\": 60 in the last minute"), "{told}");
        assert_eq!(turns.warning("sale", 62_000), None);
    }
}
