//! Stands in for booking. It sells nothing, and only reports the seats and figures that a test
//! sets.

use parking_lot::Mutex;
use std::sync::Arc;

use async_trait::async_trait;
use booking::internal::wire::VisitorsHold;
use fairgate_model::grid::picture::CellChanges;
use fairgate_model::ids::ShowId;
use fairgate_model::onsale::{OnsaleReport, OnsaleRequest, OnsaleStep};
use fairgate_pass::Holder;
use gateway::upstream::{
    BookingCondition, BookingCore, BookingFailure, BookingPulse, BookingSeatSnapshot, HoldSignal,
    LivingHold, OnsaleReply, PulseRequest, RoomEndNotice, ShowSummary, StoppedPassNotice,
};
use tokio::sync::broadcast;
use utoipa_axum::router::OpenApiRouter;

#[derive(Clone)]
pub struct Bare {
    state: Arc<Mutex<State>>,
    signals: broadcast::Sender<HoldSignal>,
}

#[derive(Default)]
struct State {
    version: u64,
    log: Vec<(u64, u32, u8)>,
    pulse: BookingPulse,
    coverage: Vec<(String, Vec<String>)>,
    waiting: Vec<Holder>,
    here: Vec<Holder>,
    left_baskets: Vec<VisitorsHold>,
    onsale_refusal: Option<(OnsaleStep, OnsaleReport)>,
    withheld: Vec<ShowId>,
}

pub const CELLS: u32 = 8;

impl Default for Bare {
    fn default() -> Self {
        Self {
            state: Arc::default(),
            signals: broadcast::channel(16).0,
        }
    }
}

impl Bare {
    pub fn set_seat(&self, index: u32, seat: u8) {
        let mut state = self.state.lock();
        state.version += 1;
        let version = state.version;
        state.log.push((version, index, seat));
    }

    pub fn set_pulse(&self, free: u64, held: u64, sold: u64) {
        let mut state = self.state.lock();
        (state.pulse.free, state.pulse.held, state.pulse.sold) = (free, held, sold);
    }

    /// Sets how many seats can no longer be bought.
    pub fn set_gone(&self, gone: u64) {
        self.state.lock().pulse.gone = gone;
    }

    pub fn finish(&self, cursor: u64, holder: Holder) {
        self.state.lock().pulse.finished.push((cursor, holder));
    }

    pub fn signal(&self, signal: HoldSignal) {
        self.signals.send(signal).expect("the gateway listens");
    }

    /// Sets the visitors who are on the waitlist.
    pub fn wait(&self, waiting: Vec<Holder>) {
        self.state.lock().waiting = waiting;
    }

    /// Returns the visitors whom the gateway has reported as present.
    pub fn here(&self) -> Vec<Holder> {
        self.state.lock().here.clone()
    }

    /// Sets what booking finds against an on-sale file, but only at this step.
    pub fn refuse_onsale(&self, step: OnsaleStep, refusal: OnsaleReport) {
        self.state.lock().onsale_refusal = Some((step, refusal));
    }

    /// Sets which shows booking withholds.
    pub fn withhold(&self, shows: Vec<ShowId>) {
        self.state.lock().withheld = shows;
    }

    pub fn coverage(&self) -> Vec<(String, Vec<String>)> {
        self.state.lock().coverage.clone()
    }
}

#[async_trait]
impl BookingCore for Bare {
    fn router(&self) -> OpenApiRouter {
        OpenApiRouter::new()
    }

    fn room_of(&self, _show: &str) -> Option<String> {
        None
    }

    fn shows_edition(&self) -> u64 {
        0
    }

    async fn shows(&self, patterns: &[String]) -> Result<Vec<ShowSummary>, BookingFailure> {
        let cards = patterns.iter().map(|pattern| ShowSummary {
            id: pattern.replace('*', "1").parse().expect("a show's id"),
            title: "A show".into(),
            starts_at: "2099-06-01T18:00:00Z".parse().expect("a moment"),
            venue: "arena".into(),
            location: Default::default(),
            currency: "EUR".into(),
            seats: CELLS,
            showing: false,
            walk_in: false,
            hold_s: 305,
        });
        Ok(cards.collect())
    }

    async fn replace_coverage(
        &self,
        coverage: Vec<(String, Vec<String>)>,
    ) -> Result<(), BookingFailure> {
        self.state.lock().coverage = coverage;
        Ok(())
    }

    async fn apply_onsale(&self, request: &OnsaleRequest) -> Result<OnsaleReply, BookingFailure> {
        let (mut reply, state) = (OnsaleReply::default(), self.state.lock());
        match &state.onsale_refusal {
            Some((step, refusal)) if *step == request.step => reply.report = refusal.clone(),
            _ if request.step == OnsaleStep::Withhold => reply.withheld.clone_from(&state.withheld),
            _ => {}
        }
        Ok(reply)
    }

    async fn stop_passes(
        &self,
        _room: &str,
        _passes: Vec<StoppedPassNotice>,
    ) -> Result<(), BookingFailure> {
        Ok(())
    }

    async fn end_rooms(&self, _ends: Vec<RoomEndNotice>) -> Result<(), BookingFailure> {
        Ok(())
    }

    async fn pulse(&self, ask: PulseRequest) -> Result<BookingPulse, BookingFailure> {
        let mut pulse = self.state.lock().pulse.clone();
        pulse
            .finished
            .retain(|(cursor, _)| *cursor > ask.finished_after);
        Ok(pulse)
    }

    async fn snapshot(&self, show: &str) -> Result<Option<BookingSeatSnapshot>, BookingFailure> {
        if show.starts_with("nowhere") {
            return Ok(None);
        }
        let state = self.state.lock();
        let mut packed = vec![0; 2];
        for (_, index, seat) in &state.log {
            gateway::push::seat_frames::set_cell(&mut packed, *index, *seat);
        }
        Ok(Some(BookingSeatSnapshot {
            version: state.version,
            cells: CELLS,
            packed: packed.into(),
        }))
    }

    async fn changes(&self, _show: &str, since: u64) -> Result<CellChanges, BookingFailure> {
        let state = self.state.lock();
        if since >= state.version {
            return Ok(CellChanges::None);
        }
        let newer = state.log.iter().filter(|(version, ..)| *version > since);
        let cells: std::collections::BTreeMap<u32, u8> =
            newer.map(|(_, index, seat)| (*index, *seat)).collect();
        Ok(CellChanges::Delta {
            from: since,
            to: state.version,
            cells: cells.into_iter().collect(),
        })
    }

    async fn condition(&self) -> BookingCondition {
        BookingCondition::default()
    }

    async fn sync_waiting(&self, here: Vec<Holder>) -> Result<Vec<Holder>, BookingFailure> {
        let mut state = self.state.lock();
        state.here.extend(here);
        Ok(state.waiting.clone())
    }

    async fn living_holds(
        &self,
        _holds: Vec<VisitorsHold>,
    ) -> Result<Vec<LivingHold>, BookingFailure> {
        Ok(Vec::new())
    }

    async fn end_left_baskets(&self, left: Vec<VisitorsHold>) -> Result<(), BookingFailure> {
        self.state.lock().left_baskets.extend(left);
        Ok(())
    }

    fn hold_signals(&self) -> broadcast::Receiver<HoldSignal> {
        self.signals.subscribe()
    }
}
