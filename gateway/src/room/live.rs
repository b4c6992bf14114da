//! One room of this node: a cheap handle on the room's state as the loops last read it. Decisions
//! use this state and wait for no database. Only [`Room::lock_release_counter`] and
//! [`Room::newcomers_tick`] wait for a running tick.

use parking_lot::{Mutex, MutexGuard, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fairgate_model::shows::coverage::EVERYDAY;
use fairgate_pass::Digest;
use fairgate_rules::choosing_time::ChoosingTime;
use fairgate_rules::claim_timing::turn_of;
use fairgate_rules::counter::ReleaseCounter;
use fairgate_rules::draw::{self, record::DrawRecord};
use fairgate_rules::limits::PaceMemory;
use fairgate_rules::phase::{PhaseInputs, RoomPhase, phase_at};
use fairgate_rules::room_document::{JoinCodePolicy, LineMethod};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::activity::VisitorActivity;
use super::draw_state::DrawState;
use super::presence::VisitorPresence;
use super::refused_calls::RefusedCalls;
use super::stops::RoomStops;
use super::tick::RoomTick;
use super::told_none::VisitorsToldNone;
use super::wish_board::WishBoard;
use crate::guard::CodeTurns;
use crate::ledger::{PassStopCause, ReleaseRow, RoomRow};
use crate::store::Place;

/// A handle on one room.
#[derive(Clone)]
pub struct Room {
    inner: Arc<RoomState>,
}

/// A tick that called newcomers of a room without a line.
#[derive(Debug, Clone, Copy)]
pub struct NewcomersTick {
    /// When it began.
    pub begun: Instant,
    /// Whether its release is in the ledger. It is not if another node moved the counter first.
    pub is_written: bool,
}

struct RoomState {
    id: String,
    /// Grows with each change that lists of rooms show at once.
    edition: AtomicU64,
    row: RwLock<Arc<RoomRow>>,
    draw: RwLock<DrawState>,
    tick: RwLock<Arc<RoomTick>>,
    memory: Mutex<PaceMemory>,
    presence: VisitorPresence,
    stops: RoomStops,
    refused_calls: RefusedCalls,
    code_turns: CodeTurns,
    choosing_time: Mutex<ChoosingTime>,
    told_none: VisitorsToldNone,
    activity: VisitorActivity,
    wishes: WishBoard,
    release: tokio::sync::Mutex<ReleaseCounter>,
    nudge: Notify,
    begun_elsewhere: AtomicBool,
    newcomers_tick: Arc<tokio::sync::Mutex<Option<NewcomersTick>>>,
    /// The time (ms) until which a due draw waits before it freezes the line.
    draw_waits: RwLock<Option<i64>>,
}

impl Room {
    pub(crate) fn new(row: RoomRow, draw: DrawState, release: ReleaseRow) -> Self {
        let tick = RoomTick {
            released: release.released,
            ..RoomTick::default()
        };
        let inner = RoomState {
            id: row.room.clone(),
            edition: AtomicU64::new(1),
            row: RwLock::new(Arc::new(row)),
            draw: RwLock::new(draw),
            tick: RwLock::new(Arc::new(tick)),
            memory: Mutex::new(PaceMemory::parse(&release.memory)),
            presence: VisitorPresence::default(),
            stops: RoomStops::default(),
            refused_calls: RefusedCalls::default(),
            code_turns: CodeTurns::default(),
            choosing_time: Mutex::default(),
            told_none: VisitorsToldNone::default(),
            activity: VisitorActivity::default(),
            wishes: WishBoard::default(),
            release: tokio::sync::Mutex::new(release.into()),
            nudge: Notify::new(),
            begun_elsewhere: AtomicBool::new(false),
            newcomers_tick: Arc::default(),
            draw_waits: RwLock::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Returns the room's slug.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.inner.id
    }

    /// Returns the hash that commits to the draw's secret.
    #[must_use]
    pub fn commitment(&self) -> Digest {
        draw::commitment(&self.row().secret.0)
    }

    /// Returns a number that grows when the room's document, draw or phase changes, except by the
    /// time alone.
    #[must_use]
    pub fn edition(&self) -> u64 {
        self.inner.edition.load(Ordering::Acquire)
    }

    fn end_edition(&self) {
        self.inner.edition.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns the room's row as stored.
    #[must_use]
    pub fn row(&self) -> Arc<RoomRow> {
        Arc::clone(&self.inner.row.read())
    }

    /// Stores a row that was written here or by another node. An older row changes nothing. Returns
    /// whether the row was newer. If the row has another secret, the draw's record promises that
    /// one from now on.
    pub fn set_row(&self, row: RoomRow) -> bool {
        let mut current_row = self.inner.row.write();
        let is_newer = row.version > current_row.version;
        if is_newer {
            let mut draw = self.inner.draw.write();
            if row.secret != current_row.secret && draw.row.sealed.is_none() {
                let promised = draw::commitment(&row.secret.0);
                draw.record = Arc::new(DrawRecord::announced(self.id(), promised));
            }
            drop(draw);
            *current_row = Arc::new(row);
            self.end_edition();
        }
        is_newer
    }

    /// Notes that another node has begun the draw. This node then runs the draw too, even if the
    /// draw is not due according to this node's row.
    pub(crate) fn mark_begun_elsewhere(&self) {
        self.inner.begun_elsewhere.store(true, Ordering::Release);
        self.nudge();
    }

    /// Returns whether another node has begun the draw.
    #[must_use]
    pub fn is_begun_elsewhere(&self) -> bool {
        self.inner.begun_elsewhere.load(Ordering::Acquire)
    }

    /// Sets the time (ms) until which a due draw waits, or `None` if it no longer waits. The draw
    /// waits so that visitors can show their places again to a store that has lost them. Returns
    /// whether this changed anything.
    pub(crate) fn set_draw_wait(&self, until: Option<i64>) -> bool {
        let waits = &self.inner.draw_waits;
        let mut waits = waits.write();
        let is_new = std::mem::replace(&mut *waits, until) != until;
        if is_new {
            self.end_edition();
        }
        is_new
    }

    /// Returns until when (ms) a due draw waits for visitors whose places the store has lost.
    #[must_use]
    pub fn draw_waits_until(&self) -> Option<i64> {
        let waits = &self.inner.draw_waits;
        *waits.read()
    }

    /// Returns the state of the draw.
    #[must_use]
    pub fn draw_state(&self) -> DrawState {
        self.inner.draw.read().clone()
    }

    pub(crate) fn set_draw(&self, draw: DrawState) {
        *self.inner.draw.write() = draw;
        self.end_edition();
    }

    /// Returns the figures of the last tick.
    #[must_use]
    pub fn last_tick(&self) -> Arc<RoomTick> {
        Arc::clone(&self.inner.tick.read())
    }

    /// Returns whether nobody is let in for now: the promoter has paused the room, or booking has
    /// closed all its shows because the ledger went back.
    #[must_use]
    pub fn lets_nobody_in(&self) -> bool {
        self.row().facts.paused || self.last_tick().pulse.closed
    }

    /// Replaces the figures of the last tick with the figures of a new one.
    pub fn set_tick(&self, tick: RoomTick) {
        let was_sold_out = self.last_tick().is_sold_out();
        let is_sold_out = tick.is_sold_out();
        *self.inner.tick.write() = Arc::new(tick);
        if was_sold_out != is_sold_out {
            self.end_edition();
        }
    }

    /// Returns the visitors released a second: the measured rate, but at most the promoter's rate.
    /// Before the first tick it is the promoter's rate.
    #[must_use]
    pub fn pace_per_s(&self) -> f64 {
        let (tick, asked_per_s) = (self.last_tick(), self.row().document.per_s);
        if tick.at == 0 {
            return asked_per_s;
        }
        // The promoter's rate is the cap, so that a change shows at once. Digits after the
        // thousandths are noise.
        (tick.per_s.min(asked_per_s) * 1000.0).round() / 1000.0
    }

    /// Locks the pace's memory of the last seconds.
    pub fn memory(&self) -> MutexGuard<'_, PaceMemory> {
        self.inner.memory.lock()
    }

    /// Returns which visitors are here, as this node sees it.
    #[must_use]
    pub fn presence(&self) -> &VisitorPresence {
        &self.inner.presence
    }

    /// Returns the passes and places that ended early, as this node knows them.
    #[must_use]
    pub fn stops(&self) -> &RoomStops {
        &self.inner.stops
    }

    /// Returns the calls of called visitors that this node has refused.
    #[must_use]
    pub fn refused_calls(&self) -> &RefusedCalls {
        &self.inner.refused_calls
    }

    /// Returns how long visitors take from their call to their seats, as this node measured it.
    #[must_use]
    pub fn choosing_time(&self) -> ChoosingTime {
        *self.inner.choosing_time.lock()
    }

    /// Notes that a visitor holds seats `took_ms` milliseconds after the call.
    pub fn note_choosing_time(&self, took_ms: i64) {
        self.inner.choosing_time.lock().note(took_ms);
    }

    /// Returns the visitors inside who were told at this node that there are no seats for them.
    #[must_use]
    pub fn told_none(&self) -> &VisitorsToldNone {
        &self.inner.told_none
    }

    /// Returns what the visitors inside did at this node since the last report to the store.
    #[must_use]
    pub fn activity(&self) -> &VisitorActivity {
        &self.inner.activity
    }

    /// Returns what the places wish for, as this node knows it.
    #[must_use]
    pub fn wishes(&self) -> &WishBoard {
        &self.inner.wishes
    }

    /// Returns why the pass of a number opens nothing at `now` (ms), if it was stopped.
    #[must_use]
    pub fn pass_stopped(&self, number: u64, now: i64) -> Option<PassStopCause> {
        if self.phase(now) == RoomPhase::Closed {
            return Some(PassStopCause::Closed);
        }
        if number < self.row().facts.cleared_below {
            return Some(PassStopCause::Cleared);
        }
        self.stops().cause(number)
    }

    /// Locks the release counter as this node knows it. A tick holds the lock until it has moved
    /// the counter.
    pub async fn lock_release_counter(&self) -> tokio::sync::MutexGuard<'_, ReleaseCounter> {
        self.inner.release.lock().await
    }

    /// Locks the record of this node's last tick for a newcomer. Only rooms without a line have
    /// such ticks.
    pub async fn newcomers_tick(&self) -> tokio::sync::OwnedMutexGuard<Option<NewcomersTick>> {
        Arc::clone(&self.inner.newcomers_tick).lock_owned().await
    }

    /// Wakes the room's loop before its next beat.
    pub fn nudge(&self) {
        self.inner.nudge.notify_one();
    }

    /// Waits until [`Room::nudge`] is called.
    pub async fn nudged(&self) {
        self.inner.nudge.notified().await;
    }

    /// Returns the phase at `now` (ms).
    #[must_use]
    pub fn phase(&self, now: i64) -> RoomPhase {
        let row = self.row();
        phase_at(&row.document, &row.facts, self.phase_inputs(), now)
    }

    fn phase_inputs(&self) -> PhaseInputs {
        let draw = self.inner.draw.read();
        PhaseInputs {
            // A freeze is published together with the root of its leaves. Until then the room stays
            // in the lobby's phase.
            frozen: draw.row.sealed.is_some(),
            drawn: draw.ranked.is_some(),
            sold_out: self.last_tick().is_sold_out(),
        }
    }

    /// Returns the rank of a number. In a room with a draw, returns `None` before the draw.
    #[must_use]
    pub fn rank(&self, number: u64) -> Option<u64> {
        if self.row().document.method != LineMethod::Draw {
            return Some(number);
        }
        let draw = self.inner.draw.read();
        let ranked = draw.ranked.as_ref()?;
        let drawn_rank = usize::try_from(number)
            .ok()
            .and_then(|at| ranked.rank_of.get(at));
        Some(drawn_rank.map_or(number, |rank| u64::from(*rank)))
    }

    /// Returns the turn of a place at `now` (ms): the place is called once this rank is released.
    /// Before its first pass that is its rank. In a room with a draw, returns `None` before the
    /// draw.
    #[must_use]
    pub fn turn(&self, place: &Place, now: i64) -> Option<u64> {
        let is_over = place
            .pass_exp
            .is_some_and(|exp| exp <= now.div_euclid(1000));
        let called_behind = place.called_behind.filter(|_| is_over);
        Some(turn_of(self.rank(place.number)?, called_behind))
    }

    /// Returns whether this is the built-in room.
    #[must_use]
    pub fn is_everyday(&self) -> bool {
        self.id() == EVERYDAY
    }

    /// Returns whose code is looked at next.
    #[must_use]
    pub fn code_turns(&self) -> &CodeTurns {
        &self.inner.code_turns
    }

    /// Returns whether a join must show a code.
    #[must_use]
    pub fn needs_code(&self) -> bool {
        self.row().document.codes == JoinCodePolicy::Required
    }
}
