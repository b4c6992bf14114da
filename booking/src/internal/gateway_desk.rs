//! Answers the questions of gateways to booking: which shows there are, how many seats are free,
//! and whether booking can sell. The answers do not depend on whether booking runs in the gateway's
//! process or behind `/internal/v1`.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use fairgate_base::clock::Clock;
use fairgate_base::process::search_threads::SearchThreads;
use fairgate_base::process::warning_log::ledger_away;
use fairgate_model::grid::picture::CellChanges;
use fairgate_model::holds::{HeldSeat, HoldPurpose, HoldSignalState};
use fairgate_model::ids::{HoldId, ShowId};
use fairgate_model::onsale::OnsaleRequest;
use fairgate_model::shows::Show;
use fairgate_model::shows::coverage::withheld_shows_warning;
use fairgate_model::shows::document::ShowState;
use fairgate_model::shows::patterns::ShowPatterns;
use fairgate_model::venues::VenueLocation;
use fairgate_model::waiters::WaitEndReason;
use fairgate_pass::Holder;
use serde::{Deserialize, Serialize};

use crate::catalogue::Catalogue;
use crate::catalogue::onsale::{HeldSeats, OnsaleStepDone};
use crate::cinema::CinemaCatalogue;
use crate::internal::finished::FinishedOrders;
use crate::internal::wire::{
    LivingHold, OnsaleReply, PulseRequest, RoomEndNotice, StoppedPassNotice, VisitorsHold,
};
use crate::inventory::seats::{PriceTier, SeatInventory, ShowSeatFigures, ShowSeatsLeft};
use crate::ledger::{Ledger, LedgerError, PassStop, RoomEnd};
use crate::stopped_passes::StoppedPasses;
use crate::store::{HoldSignal, InventoryRefusal, SEATS_SILENT};
use crate::waitlist::here::SeenVisitors;

/// What operators read if nothing outside the ledger remembers how far it got.
const UNCOUNTED: &str = "nothing outside the database remembers how far it got, so nobody notices if an older copy takes its place, and seats may be sold twice; set FAIRGATE_COUNTER_FILE, or FAIRGATE_REDIS_URL";

/// How long ledger and store may take to answer. Gateways wait a little longer.
const CONDITION_MAX: Duration = Duration::from_millis(800);

/// The most waiting visitors that one answer has. The largest answer has about 6.4 MiB.
const WAITING_MAX: u32 = 100_000;

/// The facts about a show that a gateway needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShowSummary {
    /// The show's slug.
    pub id: ShowId,
    /// The show's title.
    pub title: String,
    /// When the show begins.
    pub starts_at: jiff::Timestamp,
    /// The venue's slug.
    pub venue: String,
    /// Where the venue is. Empty if an older booking process does not send it.
    #[serde(default)]
    pub location: VenueLocation,
    /// The currency, as ISO 4217 names it.
    pub currency: String,
    /// How many seats the show has.
    pub seats: u32,
    /// Whether the show is in a cinema's programme. Cinemas have their own search.
    #[serde(default)]
    pub showing: bool,
    /// Whether the show is sold through `everyday` while no room names it. False if an older
    /// booking process does not send it.
    #[serde(default)]
    pub walk_in: bool,
    /// How long a basket keeps its seats, in seconds: the document's `hold_s` plus its `grace_s`. 0
    /// if an older booking process does not send it.
    #[serde(default)]
    pub hold_s: u32,
}

/// Whether this booking can sell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BookingCondition {
    /// Why this booking can sell nothing now. Empty if it can sell.
    pub reasons: Vec<String>,
    /// Problems that do not stop the sale, but should be fixed.
    pub warnings: Vec<String>,
}

/// Counts over several shows together. A train's seat counts once, not once for each leg. Only the
/// number of a train's lapsing seats is an estimate: it is the number of its lapsing cells, but at
/// most the number of its held seats.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookingPulse {
    /// Free seats.
    pub free: u64,
    /// Held seats.
    pub held: u64,
    /// Sold seats.
    pub sold: u64,
    /// Held seats whose holds run out within five minutes.
    pub lapsing_5m: u64,
    /// Held seats whose holds run out so soon that visitors who are called now can count on them.
    pub lapsing_soon: u64,
    /// Holds, including those with an order.
    pub baskets: u64,
    /// Holds that run out within five minutes.
    pub baskets_5m: u64,
    /// Holds without an order that were begun more than two minutes ago. Most of their visitors are
    /// gone.
    #[serde(default)]
    pub left_behind: u64,
    /// Seats that can no longer be bought and do not count as sold: seats of shows that are
    /// cancelled or whose sale has ended, and of trains that have left.
    #[serde(default)]
    pub gone: u64,
    /// Whether all these shows are closed because the ledger went back. Nobody is let in then.
    #[serde(default)]
    pub closed: bool,
    /// What the seats cost by category, and how many are left. Empty for a room of trains, and for
    /// a room with more than two hundred shows.
    #[serde(default)]
    pub prices: Vec<PriceTier>,
    /// The seats left of each show by category. Empty for a room of trains, and for a room with
    /// more than fifty shows.
    #[serde(default)]
    pub shows: Vec<ShowSeatsLeft>,
    /// The visitors whose orders were ticketed after the cursor of the call, each with the cursor
    /// for the next call.
    pub finished: Vec<(u64, Holder)>,
}

impl BookingPulse {
    fn from_figures(figures: &ShowSeatFigures) -> Self {
        let (counts, baskets) = (&figures.counts, &figures.baskets);
        Self {
            free: counts.free,
            held: counts.held,
            sold: counts.sold,
            lapsing_5m: baskets.lapsing_cells,
            lapsing_soon: figures.lapsing_soon,
            baskets: baskets.all,
            baskets_5m: baskets.lapsing,
            left_behind: figures.left_behind,
            gone: figures.gone,
            closed: false,
            prices: Vec::new(),
            shows: Vec::new(),
            finished: Vec::new(),
        }
    }
}

/// Answers the calls of gateways. A clone is cheap, and shares all parts with the original.
#[derive(Clone)]
pub struct GatewayDesk {
    /// The catalogue of shows.
    pub catalogue: Catalogue,
    /// Says which shows are in a cinema's programme.
    pub cinemas: CinemaCatalogue,
    /// The seats of the shows.
    pub seats: SeatInventory,
    /// The ledger, which knows the finished orders and the waiting visitors.
    pub ledger: Ledger,
    /// Reads whose orders were ticketed.
    pub finished: FinishedOrders,
    /// Collects the waiting visitors who were just seen.
    pub seen_visitors: SeenVisitors,
    /// The installation's clock.
    pub clock: Clock,
    /// The ledger's id, in hex.
    pub ledger_id: String,
    /// The passes that were stopped.
    pub stopped: StoppedPasses,
    /// The threads for searches through all shows.
    pub threads: SearchThreads,
    /// Whether Redis remembers how far the ledger got.
    pub is_counted_in_redis: bool,
}

impl GatewayDesk {
    /// Returns a number that changes whenever [`Self::shows_matching`] may return something else
    /// for the pattern `*`.
    #[must_use]
    pub fn shows_edition(&self) -> u64 {
        self.catalogue.edition()
    }

    /// Returns the shows that match the patterns. Departures without a row in the ledger are left
    /// out.
    pub async fn shows_matching(&self, patterns: Vec<String>) -> Vec<ShowSummary> {
        let desk = self.clone();
        let find = move || {
            let listing = desk.catalogue.current_listing();
            let every: ShowPatterns<'_> = patterns.iter().map(String::as_str).collect();
            // The pattern `*` means the shows that promoters have put, so it does not match
            // departures. Patterns for departures name the trains.
            let of_trains = patterns.iter().filter(|pattern| *pattern != "*");
            let of_trains: ShowPatterns<'_> = of_trains.map(String::as_str).collect();
            let programme = desk.cinemas.index();
            let put = listing.shows().iter().map(|listed| &listed.show);
            let departures = desk.catalogue.departures();
            let trains = departures.iter();
            put.filter(|show| every.name(show.id.as_str()))
                .chain(trains.filter(|show| of_trains.name(show.id.as_str())))
                .map(|show| desk.in_short(show, programme.has_show(&show.id)))
                .collect()
        };
        self.threads.run(find).await
    }

    fn in_short(&self, show: &Show, showing: bool) -> ShowSummary {
        ShowSummary {
            showing,
            id: show.id.clone(),
            title: show.document.title.clone(),
            starts_at: show.document.starts_at,
            venue: show.document.venue.to_string(),
            location: self.catalogue.place_of(show),
            currency: show.document.currency.as_str().to_owned(),
            seats: show.plan.map.cell_count(),
            hold_s: show.document.hold_s + show.document.grace_s,
            walk_in: show.is_walk_in() && show.document.state == ShowState::OnSale,
        }
    }

    /// Returns the room whose passes are valid for a show.
    #[must_use]
    pub fn room_of(&self, show: &ShowId) -> String {
        self.catalogue.room_of(show)
    }

    /// Returns the rooms and the patterns of their shows, as this process last read them.
    #[must_use]
    pub fn coverage(&self) -> Vec<(String, Vec<String>)> {
        self.catalogue.coverage().rooms().to_vec()
    }

    /// Checks whether the ledger accepts writes. Returns the reasons why booking cannot sell, and
    /// the store's warnings.
    pub async fn condition(&self) -> BookingCondition {
        let mut condition = BookingCondition::default();
        // Ledger and store are asked at the same time, so that the gateway gets its answer in time.
        // Without an answer, the gateway would send this process no calls at all, not even for seat
        // maps.
        let (ledger, money, seats) = tokio::join!(
            tokio::time::timeout(CONDITION_MAX, self.ledger.check()),
            tokio::time::timeout(CONDITION_MAX, self.ledger.money_finding_counts()),
            tokio::time::timeout(CONDITION_MAX, self.seats.warnings()),
        );
        match ledger {
            Ok(Ok(())) => {}
            Ok(Err(error)) => condition
                .reasons
                .push(ledger_away(CONDITION_MAX, &error.to_string())),
            Err(_) => condition.reasons.push(ledger_away(
                CONDITION_MAX,
                "orders and payments are refused until it answers",
            )),
        }
        condition
            .warnings
            .extend(seats.unwrap_or_else(|_| vec![SEATS_SILENT.to_owned()]));
        // Without an answer, the ledger's own reason above says enough.
        if let Ok(Ok(counts)) = money {
            condition.warnings.extend(counts.warnings());
        }
        let withheld = self.catalogue.withheld_shows();
        if !withheld.is_empty() {
            condition.warnings.push(withheld_shows_warning(&withheld));
        }
        if let Some(closure) = self.catalogue.closure() {
            condition.warnings.push(closure.warning());
        }
        condition.warnings.extend(self.counter_warning());
        condition
    }

    /// Returns what operators read if nothing outside the ledger remembers how far it got.
    fn counter_warning(&self) -> Option<String> {
        match self.ledger.counter_file() {
            Some(file) => file.trouble().map(|trouble| {
                format!(
                    "the counter {} was not written: {trouble}; if the ledger goes back to an older state, nobody notices what it lost since",
                    file.path().display()
                )
            }),
            None if self.is_counted_in_redis => None,
            None => Some(UNCOUNTED.to_owned()),
        }
    }

    /// Replaces the list that says which room covers which shows.
    ///
    /// # Errors
    /// Returns an error if the list could not be written to the ledger.
    pub async fn replace_coverage(
        &self,
        coverage: Vec<(String, Vec<String>)>,
    ) -> Result<(), LedgerError> {
        self.catalogue.replace_coverage(coverage).await
    }

    /// Reports what an on-sale file changes at booking, and does the step that the request names if
    /// there is neither a fault nor a conflict.
    ///
    /// # Errors
    /// Returns an error if the ledger did not answer.
    pub async fn apply_onsale(&self, request: &OnsaleRequest) -> Result<OnsaleReply, LedgerError> {
        // Another node may have put a show a moment ago.
        self.catalogue.refresh_catalogue().await?;
        let mut held = HeldSeats::new();
        for show in &request.shows {
            if let Ok(id) = show.id.parse::<ShowId>() {
                let seats = self.seats.held_seats(&self.catalogue, &id).await;
                held.insert(show.id.clone(), seats);
            }
        }
        let now_ms = self.clock.now_ms();
        let (report, done) = self.catalogue.apply_onsale(request, &held, now_ms).await?;
        let mut reply = OnsaleReply {
            report,
            ..OnsaleReply::default()
        };
        match done {
            OnsaleStepDone::Nothing => {}
            OnsaleStepDone::Withheld(shows) => reply.withheld = shows,
            OnsaleStepDone::Written => {
                reply.written = true;
                for show in &request.shows {
                    self.reopen_changed(&show.id).await?;
                }
            }
        }
        Ok(reply)
    }

    /// Opens a show's seats again if its picture in the store was made from another plan or other
    /// prices.
    async fn reopen_changed(&self, show: &str) -> Result<(), LedgerError> {
        let Some(show) = self.catalogue.find_show(show) else {
            return Ok(());
        };
        let stored = self.seats.store.edition(&show.id).await;
        if !matches!(stored, Ok(Some(edition)) if edition != show.edition()) {
            return Ok(());
        }
        if let Err(busy) = self.seats.reopen(&show).await? {
            tracing::info!(show = %show.id, %busy, "the show's picture is replaced once its baskets are gone");
        }
        Ok(())
    }

    /// Stops passes of a room. From then on these passes open nothing new. Holders who get no other
    /// pass no longer wait for seats. Holds and orders that were made with them can still be paid,
    /// read and cancelled.
    ///
    /// # Errors
    /// Returns an error if the ledger did not accept the passes, or cannot be read.
    pub async fn stop_passes(
        &self,
        room: &str,
        passes: Vec<StoppedPassNotice>,
    ) -> Result<(), LedgerError> {
        // Whoever may get another pass goes on waiting for seats.
        let for_good = passes.iter().filter(|pass| pass.visit.is_none());
        let holders: HashSet<Holder> = for_good.map(|pass| pass.holder).collect();
        let passes = passes.iter().map(|pass| PassStop {
            number: pass.number,
            expires_s: pass.expires_s,
            visit: pass.visit,
        });
        self.stopped.stop(room, passes.collect()).await?;
        if holders.is_empty() {
            return Ok(());
        }
        for (show, _) in self.ledger.waited_shows().await? {
            if self.room_of(&show) != room {
                continue;
            }
            for waiter in self.ledger.waiters(&show).await? {
                if holders.contains(&waiter.visitor) {
                    let now_ms = self.clock.now_ms();
                    let end = WaitEndReason::Left;
                    self.ledger.end_waiter(&waiter.id, end, now_ms).await?;
                }
            }
        }
        Ok(())
    }

    /// Takes from when on rooms are over. From then on the passes of such a room open nothing new.
    /// Holds and orders that were made with them can still be paid, read and cancelled.
    ///
    /// # Errors
    /// Returns an error if the ledger did not accept the ends, or cannot be read.
    pub async fn end_rooms(&self, ends: Vec<RoomEndNotice>) -> Result<(), LedgerError> {
        let end = |notice: RoomEndNotice| RoomEnd {
            room: notice.room,
            version: notice.version,
            over_from_ms: notice.over_from_ms,
        };
        self.stopped
            .end_rooms(ends.into_iter().map(end).collect())
            .await
    }

    /// Returns the counts of the shows and of all trains that the room covers, and the visitors
    /// whose orders for the shows were ticketed after the cursor. Unknown ids of shows are ignored.
    ///
    /// # Errors
    /// Returns an error if the ledger cannot be read.
    pub async fn pulse(&self, ask: &PulseRequest) -> Result<BookingPulse, LedgerError> {
        let found: Vec<_> = ask
            .shows
            .iter()
            .filter_map(|show| self.catalogue.find_show(show))
            .collect();
        let now_ms = self.clock.now_ms();
        // The request names only the departures with a row in the ledger, but all departures on
        // sale must be counted. The departures in the request are therefore left out, and all
        // departures that the room covers are counted instead.
        let trains = self.catalogue.trains_of(&ask.room, now_ms).await?;
        let mut counted = found.clone();
        counted.retain(|show| show.run.is_none());
        // The built-in room lists no departures, but people inside it buy them.
        let of_trains = trains.touched.iter().map(|show| show.id.clone());
        let ids: BTreeSet<ShowId> = found
            .iter()
            .map(|show| show.id.clone())
            .chain(of_trains)
            .collect();
        counted.extend(trains.touched);
        let mut figures = self
            .seats
            .show_figures(&counted, ask.soon_s, now_ms)
            .await?;
        figures.counts.free += trains.free;
        figures.gone += trains.gone;
        let mut pulse = BookingPulse::from_figures(&figures);
        let for_line = self.seats.seats_for_line(&found, now_ms).await?;
        (pulse.prices, pulse.shows) = (for_line.tiers, for_line.shows);
        pulse.closed = self.are_all_closed(&ids);
        let finished = &self.finished;
        let read = finished.read(&self.ledger, &ask.room, ask.finished_after, ids);
        pulse.finished = read.await?;
        Ok(pulse)
    }

    /// Returns whether all these shows are closed because the ledger went back. Departures without
    /// a row are not among them, so a room that has nothing else lets people in again as soon as
    /// any show was reopened.
    fn are_all_closed(&self, shows: &BTreeSet<ShowId>) -> bool {
        self.catalogue.closure().is_some_and(|closure| {
            let mut shows = shows.iter().peekable();
            match shows.peek() {
                None => closure.reopened.is_empty(),
                Some(_) => shows.all(|show| closure.is_closed(show)),
            }
        })
    }

    /// Returns the whole picture of a show: its version, the number of its cells, and two bits for
    /// each cell.
    ///
    /// # Errors
    /// Returns an error if the ledger cannot be read.
    pub async fn show_snapshot(
        &self,
        show: &str,
    ) -> Result<Option<(u64, u32, bytes::Bytes)>, LedgerError> {
        let Some(show) = self.catalogue.find_show(show) else {
            return Ok(None);
        };
        self.seats.packed(&show).await
    }

    /// Returns what changed after a version, or [`CellChanges::Gap`] if the show is unknown or not
    /// open.
    pub async fn show_changes(&self, show: &str, since: u64) -> CellChanges {
        match self.catalogue.find_show(show) {
            Some(show) => self.seats.changes_since(&show, since).await,
            None => CellChanges::Gap,
        }
    }

    /// Subscribes to the signals about holds. A gateway sends each signal to the sockets of the
    /// hold's owner.
    #[must_use]
    pub fn hold_signals(&self) -> tokio::sync::broadcast::Receiver<HoldSignal> {
        self.seats.store.signals()
    }

    /// Returns the labels of an offer's seats, which are sent with the offer's signal. For other
    /// signals the list is empty.
    pub async fn offered_labels(&self, signal: &HoldSignal) -> Vec<String> {
        if signal.state != HoldSignalState::Offered {
            return Vec::new();
        }
        let Some(show) = self.catalogue.show(&signal.hold.show()) else {
            return Vec::new();
        };
        let hold = self.seats.store.hold(&signal.hold, signal.visitor).await;
        let items = hold.map(|hold| hold.items).unwrap_or_default();
        let label = |item: &HeldSeat| show.seat_label(item.seat).to_owned();
        items.iter().map(label).collect()
    }

    /// Frees the seats of baskets whose visitors are gone. A basket that has ended or has become an
    /// order stays as it is.
    ///
    /// # Errors
    /// Returns an error if the seats' store did not answer for one of them. The others are free.
    pub async fn end_left_baskets(&self, left: Vec<VisitorsHold>) -> Result<(), LedgerError> {
        let mut unanswered = None;
        for VisitorsHold { hold, holder } in left {
            let Ok(hold) = hold.parse::<HoldId>() else {
                continue;
            };
            let store = &self.seats.store;
            match store.release(&hold, holder, &[HoldPurpose::Basket]).await {
                Ok(()) => metrics::counter!("fairgate_baskets_left_total").increment(1),
                Err(error @ (InventoryRefusal::NotReady | InventoryRefusal::Unreachable)) => {
                    unanswered = Some(LedgerError::Unavailable(error.to_string()));
                }
                Err(_) => {}
            }
        }
        unanswered.map_or(Ok(()), Err)
    }

    /// Returns which of these holds live. A hold that has become an order lives until the order is
    /// paid or ends.
    ///
    /// # Errors
    /// Returns an error if the seats' store did not answer for one of them.
    pub async fn living_holds(
        &self,
        holds: Vec<VisitorsHold>,
    ) -> Result<Vec<LivingHold>, LedgerError> {
        let mut living = Vec::new();
        for VisitorsHold { hold, holder } in holds {
            let Ok(hold) = hold.parse::<HoldId>() else {
                continue;
            };
            match self.seats.store.hold(&hold, holder).await {
                Ok(hold) => living.push(LivingHold {
                    holder,
                    ends_at_ms: hold.lock_until_ms,
                }),
                Err(error @ (InventoryRefusal::NotReady | InventoryRefusal::Unreachable)) => {
                    return Err(LedgerError::Unavailable(error.to_string()));
                }
                Err(_) => {}
            }
        }
        Ok(living)
    }

    /// Notes that these waiting visitors have a socket at the calling gateway, so that they keep
    /// getting offers. Returns the visitors who wait for seats now, earliest first, but at most
    /// `WAITING_MAX`.
    ///
    /// # Errors
    /// Returns an error if the ledger cannot be read.
    pub async fn waiting(&self, connected: Vec<Holder>) -> Result<Vec<Holder>, LedgerError> {
        self.seen_visitors.record_seen(connected);
        self.ledger.waiting_visitors(WAITING_MAX).await
    }
}
