//! Booking in other processes. Implements the same trait as booking in this process, over HTTP.
//! Background tasks ask the booking processes whether they are well and which room covers which
//! show.

mod edition;
pub mod forward;
pub mod pool;
mod router;
mod watch;

use parking_lot::RwLock;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use booking::internal::wire::{
    self, CoverageRequest, EndRoomsRequest, LeftBasketsRequest, LivingHoldsRequest,
    ShowChangesRequest, ShowsRequest, StopPassesRequest, WaitingRequest,
};
use fairgate_base::config::SecretSetting;
use fairgate_model::grid::picture::CellChanges;
use fairgate_model::ids::ShowId;
use fairgate_model::onsale::OnsaleRequest;
use fairgate_model::shows::coverage::RoomCoverage;
use fairgate_pass::Holder;
use reqwest::{Method, StatusCode, Url};
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use utoipa_axum::router::OpenApiRouter;

use super::{
    BookingCondition, BookingCore, BookingFailure, BookingPulse, BookingSeatSnapshot, HoldSignal,
    LivingHold, OnsaleReply, PulseRequest, RoomEndNotice, ShowSummary, StoppedPassNotice,
    VisitorsHold,
};
use edition::KnownShowsEdition;
use pool::{BookingNodePool, BookingNodeStatus, read_json};

/// How many signals wait for a slow reader before the oldest are dropped.
const SIGNALS_MAX: usize = 4_096;
/// How long a call of the line may take before the next booking process gets it. The line calls
/// again every second.
const ASK_MAX: Duration = Duration::from_secs(2);
/// How long a snapshot of a whole show may take.
const SNAPSHOT_MAX: Duration = Duration::from_secs(5);
/// How long booking may take to compare or write an on-sale file with its seating plans.
const ONSALE_MAX: Duration = Duration::from_secs(60);
/// How long booking may wait for a change of a quiet show before it answers.
const CHANGES_WAIT: Duration = Duration::from_secs(2);

/// Booking in other processes. Its background tasks end when this is dropped.
pub struct RemoteBooking {
    shared: RemoteBookingState,
    _watching: JoinSet<()>,
}

/// Which room covers which show, as far as this gateway knows.
#[derive(Default)]
struct KnownCoverage {
    rooms: Arc<RoomCoverage>,
    /// How many lists of rooms this gateway has sent to booking.
    sent_count: u64,
}

/// The state that calls and background tasks share; a cheap handle.
#[derive(Clone)]
struct RemoteBookingState {
    pool: BookingNodePool,
    coverage: Arc<RwLock<KnownCoverage>>,
    /// The coverage that must still be sent to booking, if any.
    owed: Arc<RwLock<Option<CoverageRequest>>>,
    signals: broadcast::Sender<HoldSignal>,
    shows_edition: KnownShowsEdition,
    /// The id of this gateway's ledger, in hex.
    ledger: Arc<str>,
}

impl RemoteBooking {
    /// Begins to watch the booking processes at these base addresses. They need not answer yet.
    ///
    /// # Errors
    /// Fails if the client cannot be made, or the key is not valid in a header.
    pub fn new(bases: &[Url], key: Option<&SecretSetting>, ledger: &str) -> anyhow::Result<Self> {
        let pool = BookingNodePool::new(bases, key).context("booking cannot be called")?;
        let shared = RemoteBookingState {
            pool,
            coverage: Arc::default(),
            owed: Arc::default(),
            signals: broadcast::channel(SIGNALS_MAX).0,
            shows_edition: KnownShowsEdition::default(),
            ledger: ledger.into(),
        };
        let mut watching = JoinSet::new();
        for node in shared.pool.nodes() {
            watching.spawn(watch::watch_status(shared.clone(), Arc::clone(node)));
            watching.spawn(watch::watch_signals(shared.clone(), Arc::clone(node)));
        }
        Ok(Self {
            shared,
            _watching: watching,
        })
    }

    fn pool(&self) -> &BookingNodePool {
        &self.shared.pool
    }

    /// Posts a document to any booking process.
    async fn post(
        &self,
        path: &str,
        ask: &(impl serde::Serialize + Sync),
    ) -> Result<reqwest::Response, BookingFailure> {
        let with = |request: reqwest::RequestBuilder| request.timeout(ASK_MAX).json(ask);
        self.pool()
            .request_any(None, Method::POST, path, with)
            .await
    }
}

impl KnownCoverage {
    /// Takes a list of rooms that booking got from this gateway.
    fn take_sent(&mut self, list: Vec<(String, Vec<String>)>) {
        self.rooms = Arc::new(RoomCoverage::new(list));
        self.sent_count += 1;
    }

    /// Takes the list of rooms from booking's answer to a question. `sent_count` is how many lists
    /// had been sent when the question was asked. If one was sent since then, the answer may be
    /// older than that list and is left out. Another booking process that has not read the new list
    /// yet may still answer with the old one, for as long as it takes to follow.
    ///
    /// Returns whether the list differs from the one that this gateway knew.
    fn take_read(&mut self, list: Vec<(String, Vec<String>)>, sent_count: u64) -> bool {
        let is_new = sent_count == self.sent_count && self.rooms.rooms() != list;
        if is_new {
            self.rooms = Arc::new(RoomCoverage::new(list));
        }
        is_new
    }
}

impl RemoteBookingState {
    fn covered(&self) -> Arc<RoomCoverage> {
        Arc::clone(&self.coverage.read().rooms)
    }

    /// Returns how many lists of rooms this gateway has sent to booking.
    fn sent_coverage_count(&self) -> u64 {
        self.coverage.read().sent_count
    }

    fn set_owed_coverage(&self, ask: Option<CoverageRequest>) {
        *self.owed.write() = ask;
    }

    fn owed_coverage(&self) -> Option<CoverageRequest> {
        self.owed.read().clone()
    }

    /// Sends booking the coverage that must still be sent, if any.
    async fn send_owed_coverage(&self) -> Result<(), BookingFailure> {
        let Some(ask) = self.owed_coverage() else {
            return Ok(());
        };
        let put = |request: reqwest::RequestBuilder| request.timeout(ASK_MAX).json(&ask);
        self.pool
            .request_any(None, Method::PUT, "/coverage", put)
            .await?;
        self.coverage.write().take_sent(ask.coverage.clone());
        self.shows_edition.advance();
        // Another caller may have set a newer coverage in the meantime.
        if self.owed_coverage().as_ref() == Some(&ask) {
            self.set_owed_coverage(None);
        }
        Ok(())
    }
}

#[async_trait]
impl BookingCore for RemoteBooking {
    fn router(&self) -> OpenApiRouter {
        router::all_sent_on(self.pool(), &self.shared.shows_edition)
    }

    fn room_of(&self, show: &str) -> Option<String> {
        let show = show.parse::<ShowId>().ok()?;
        Some(self.shared.covered().room_of(&show))
    }

    fn shows_edition(&self) -> u64 {
        self.shared.shows_edition.get()
    }

    async fn shows(&self, patterns: &[String]) -> Result<Vec<ShowSummary>, BookingFailure> {
        let ask = ShowsRequest {
            patterns: patterns.to_vec(),
        };
        read_json(self.post("/shows", &ask).await?).await
    }

    async fn replace_coverage(
        &self,
        coverage: Vec<(String, Vec<String>)>,
    ) -> Result<(), BookingFailure> {
        self.shared
            .set_owed_coverage(Some(CoverageRequest { coverage }));
        if let Err(error) = self.shared.send_owed_coverage().await {
            // While no booking process answers, nothing is sold. `watch` sends the coverage as soon
            // as one answers again.
            tracing::warn!(
                %error,
                "booking gets the list of rooms as soon as it answers"
            );
        }
        Ok(())
    }

    async fn apply_onsale(&self, request: &OnsaleRequest) -> Result<OnsaleReply, BookingFailure> {
        let with = |call: reqwest::RequestBuilder| call.timeout(ONSALE_MAX).json(request);
        let answer = self
            .pool()
            .request_any(None, Method::POST, "/onsale", with)
            .await?;
        let reply: OnsaleReply = read_json(answer).await?;
        if reply.written {
            let coverage = request.coverage.clone();
            self.shared.coverage.write().take_sent(coverage);
            self.shared.set_owed_coverage(None);
        }
        Ok(reply)
    }

    async fn stop_passes(
        &self,
        room: &str,
        passes: Vec<StoppedPassNotice>,
    ) -> Result<(), BookingFailure> {
        let ask = StopPassesRequest {
            room: room.to_owned(),
            passes,
        };
        // The process that takes the call writes the stops to the ledger, and the other processes
        // read them there.
        self.post("/stopped-passes", &ask).await.map(drop)
    }

    async fn end_rooms(&self, ends: Vec<RoomEndNotice>) -> Result<(), BookingFailure> {
        let ask = EndRoomsRequest { ends };
        // One process writes the ends to the ledger. Every process is told, because each of them
        // may get the next call of a visitor. A process that does not answer reads the ledger, or
        // asks it before a pass opens anything new.
        let with = |request: reqwest::RequestBuilder| request.timeout(ASK_MAX).json(&ask);
        self.pool()
            .request_all(Method::POST, "/room-ends", with)
            .await
    }

    async fn pulse(&self, ask: PulseRequest) -> Result<BookingPulse, BookingFailure> {
        read_json(self.post("/pulse", &ask).await?).await
    }

    async fn snapshot(&self, show: &str) -> Result<Option<BookingSeatSnapshot>, BookingFailure> {
        let path = format!("/shows/{show}/snapshot");
        let with = |request: reqwest::RequestBuilder| request.timeout(SNAPSHOT_MAX);
        let mark = Some(show.as_bytes());
        let answer = self
            .pool()
            .request_any(mark, Method::GET, &path, with)
            .await?;
        if answer.status() == StatusCode::NO_CONTENT {
            return Ok(None);
        }
        let bytes = answer.bytes().await.map_err(|error| {
            tracing::warn!(%error, show, "a snapshot of seats broke off");
            BookingFailure::Unreachable
        })?;
        let (version, cells, packed) =
            wire::read_snapshot(&bytes).ok_or(BookingFailure::Unreachable)?;
        Ok(Some(BookingSeatSnapshot {
            version,
            cells,
            packed,
        }))
    }

    async fn changes(&self, show: &str, since: u64) -> Result<CellChanges, BookingFailure> {
        let ask = ShowChangesRequest {
            since,
            wait_ms: u64::try_from(CHANGES_WAIT.as_millis()).unwrap_or(u64::MAX),
        };
        let path = format!("/shows/{show}/changes");
        let with =
            |request: reqwest::RequestBuilder| request.timeout(CHANGES_WAIT + ASK_MAX).query(&ask);
        // All changes of a show are read from the same booking process while it is well, because
        // another one may have read a little less of the feed.
        let mark = Some(show.as_bytes());
        let answer = self
            .pool()
            .request_any(mark, Method::GET, &path, with)
            .await?;
        read_json(answer).await
    }

    async fn sync_waiting(&self, connected: Vec<Holder>) -> Result<Vec<Holder>, BookingFailure> {
        let ask = WaitingRequest { here: connected };
        read_json(self.post("/waiting", &ask).await?).await
    }

    async fn end_left_baskets(&self, left: Vec<VisitorsHold>) -> Result<(), BookingFailure> {
        let ask = LeftBasketsRequest { left };
        self.post("/left-baskets", &ask).await.map(drop)
    }

    async fn living_holds(
        &self,
        holds: Vec<VisitorsHold>,
    ) -> Result<Vec<LivingHold>, BookingFailure> {
        let ask = LivingHoldsRequest { holds };
        read_json(self.post("/living-holds", &ask).await?).await
    }

    fn hold_signals(&self) -> broadcast::Receiver<HoldSignal> {
        self.shared.signals.subscribe()
    }

    async fn condition(&self) -> BookingCondition {
        let mut condition = BookingCondition::default();
        for node in self.pool().nodes() {
            let (status, age) = node.status_and_age();
            let (base, lasting_s) = (node.base_url(), age.as_secs());
            let warning = match status {
                BookingNodeStatus::Well => continue,
                BookingNodeStatus::Unready(reasons) => {
                    format!("booking at {base} is not ready: {}", reasons.join("; "))
                }
                BookingNodeStatus::Silent(why) => {
                    format!("booking at {base} has not answered for {lasting_s} s: {why}")
                }
                BookingNodeStatus::KeyRefused => format!(
                    "booking at {base} refuses this gateway's key: give both the same FAIRGATE_INTERNAL_KEY"
                ),
                BookingNodeStatus::Foreign => format!(
                    "booking at {base} has another ledger than this gateway and is not asked: give both the same FAIRGATE_DATABASE_URL"
                ),
            };
            condition.warnings.push(warning);
        }
        if self.pool().is_shut_out() {
            condition.reasons.push(
                "booking refuses this gateway's key or has another ledger, so visitors can hold and order nothing here: correct FAIRGATE_INTERNAL_KEY, FAIRGATE_BOOKING_URL or FAIRGATE_DATABASE_URL".to_owned(),
            );
        }
        if self.pool().candidates(None).is_empty() {
            condition.warnings.push(
                "no booking answers: seats and orders are refused with 503 until one does; the lobby, places and the draw go on".to_owned(),
            );
        }
        condition
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_from_before_a_list_was_sent_does_not_replace_the_list() {
        let list = |room: &str| vec![(room.to_owned(), vec!["gala".to_owned()])];
        let mut known = KnownCoverage::default();
        let room = |known: &KnownCoverage| {
            let show = "gala".parse().expect("a show's id");
            known.rooms.room_of(&show)
        };
        let asked = known.sent_count;
        known.take_read(list("old"), asked);
        assert_eq!(room(&known), "old");
        known.take_sent(list("new"));
        known.take_read(list("old"), asked);
        assert_eq!(room(&known), "new");
        let asked = known.sent_count;
        known.take_read(list("of-another-gateway"), asked);
        assert_eq!(room(&known), "of-another-gateway");
    }
}
