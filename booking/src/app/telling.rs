//! What gateways ask of booking: which shows there are, how the seats stand, and how booking itself
//! is. The same whether booking is in their process or behind `/internal/v1`.

use std::sync::Arc;
use std::time::Duration;

use fairgate_model::grid::picture::CellChanges;
use fairgate_model::holds::{HeldSeat, HoldSignalState};
use fairgate_model::ids::ShowId;
use fairgate_model::shows::Show;
use fairgate_model::shows::coverage::matches;
use fairgate_pass::Holder;
use serde::{Deserialize, Serialize};

use super::Booking;
use crate::catalogue::departures::DepartureSource;
use crate::inventory::seats::ShowSeatFigures;
use crate::ledger::LedgerError;
use crate::store::HoldSignal;

/// Longer than this, and ledger or store count as not answering. Gateways give up a little later.
const CONDITION_MAX: Duration = Duration::from_millis(800);

/// So many visitors who wait are asked after in one go: 3 MiB.
const WAITING_MAX: u32 = 100_000;

/// A show in a few words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShowSummary {
    /// The slug.
    pub id: ShowId,
    /// The title.
    pub title: String,
    /// When it begins.
    pub starts_at: jiff::Timestamp,
    /// The venue's slug.
    pub venue: String,
    /// ISO 4217.
    pub currency: String,
    /// How many seats it has.
    pub seats: u32,
    /// Whether it is on a cinema's programme, which has a search of its own.
    #[serde(default)]
    pub showing: bool,
}

/// How this booking is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BookingCondition {
    /// Why nothing can be sold here now.
    pub reasons: Vec<String>,
    /// What works, and should not be left so.
    pub warnings: Vec<String>,
}

/// Shared measurements over some shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookingPulse {
    /// Free cells.
    pub free: u64,
    /// Held cells.
    pub held: u64,
    /// Sold cells.
    pub sold: u64,
    /// Held cells whose holds run out within five minutes.
    pub lapsing_5m: u64,
    /// Held cells whose holds run out so soon that they count as free for who is called now.
    pub lapsing_soon: u64,
    /// Holds, those with an order among them.
    pub baskets: u64,
    /// Holds that run out within five minutes.
    pub baskets_5m: u64,
    /// Cells that nobody can have any more and that are not sold: of shows that are cancelled,
    /// whose sale has ended, or that have left.
    #[serde(default)]
    pub gone: u64,
    /// Visitors whose orders were ticketed, behind the cursor asked for.
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
            gone: figures.gone,
            finished: Vec::new(),
        }
    }
}

impl Booking {
    /// Sells this timetable's departures from now on.
    ///
    /// # Errors
    /// Where the plans of its carriages cannot be read.
    pub async fn sell_departures(
        &self,
        timetable: Arc<dyn DepartureSource>,
    ) -> Result<(), LedgerError> {
        self.catalogue.sell_departures(timetable).await
    }

    /// The shows that some patterns name; where they name departures, those that somebody has held
    /// seats of.
    #[must_use]
    pub fn shows_matching(&self, patterns: &[String]) -> Vec<ShowSummary> {
        // Whoever asks for everything asks for what promoters have put: departures are found by
        // their trains.
        let named = |show: &Show| {
            patterns
                .iter()
                .filter(|pattern| show.run.is_none() || *pattern != "*")
                .any(|pattern| matches(pattern, show.id.as_str()))
        };
        let programme = self.cinemas.index();
        let in_short = |show: &Arc<Show>| ShowSummary {
            showing: programme.has_show(&show.id),
            id: show.id.clone(),
            title: show.document.title.clone(),
            starts_at: show.document.starts_at,
            venue: show.document.venue.to_string(),
            currency: show.document.currency.as_str().to_owned(),
            seats: show.plan.map.cell_count(),
        };
        let mut shows = self.catalogue.shows();
        shows.extend(self.catalogue.departures());
        shows
            .iter()
            .filter(|show| named(show))
            .map(in_short)
            .collect()
    }

    /// The room whose passes open a show.
    #[must_use]
    pub fn room_of(&self, show: &ShowId) -> String {
        self.catalogue.room_of(show)
    }

    /// Which room covers which patterns, as far as this booking has heard.
    #[must_use]
    pub fn coverage(&self) -> Vec<(String, Vec<String>)> {
        self.catalogue.coverage()
    }

    /// How this booking is: whether its ledger takes writes, and what its store says of itself.
    pub async fn condition(&self) -> BookingCondition {
        let mut condition = BookingCondition::default();
        // Side by side: a gateway that hears nothing of a booking does not ask it for maps either,
        // and those go on.
        let (ledger, seats) = tokio::join!(
            tokio::time::timeout(CONDITION_MAX, self.ledger.check()),
            tokio::time::timeout(CONDITION_MAX, self.seats.warnings()),
        );
        match ledger {
            Ok(Ok(())) => {}
            Ok(Err(error)) => condition.reasons.push(error.to_string()),
            Err(_) => condition.reasons.push(format!(
                "the ledger did not answer within {} ms",
                CONDITION_MAX.as_millis()
            )),
        }
        condition.warnings.extend(seats.unwrap_or_else(|_| {
            vec!["The store of the seats does not answer; none can be held.".to_owned()]
        }));
        condition
    }

    /// Replaces the list of which room covers which shows.
    ///
    /// # Errors
    /// Where the ledger did not take it.
    pub async fn replace_coverage(
        &self,
        coverage: Vec<(String, Vec<String>)>,
    ) -> Result<(), LedgerError> {
        self.catalogue.replace_coverage(coverage).await
    }

    /// Shared measurements over what a room covers: `shows`, where unknown ids count nothing, and
    /// the trains of `room`.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub async fn pulse(
        &self,
        room: &str,
        shows: &[String],
        finished_after: u64,
    ) -> Result<BookingPulse, LedgerError> {
        let found: Vec<_> = shows
            .iter()
            .filter_map(|show| self.find_show(show))
            .collect();
        let now_ms = self.setup.clock.now_ms();
        // A train has many days, and most of them stand in no list: all that are on sale count,
        // listed or not.
        let trains = self.catalogue.trains_of(room, now_ms).await?;
        let mut counted = found.clone();
        counted.retain(|show| show.run.is_none());
        counted.extend(trains.touched);
        let mut figures = self.seats.show_figures(&counted, now_ms).await?;
        figures.counts.free += trains.free;
        figures.gone += trains.gone;
        let ids = found.iter().map(|show| show.id.clone()).collect();
        let mut pulse = BookingPulse::from_figures(&figures);
        pulse.finished = self.ledger.finished(finished_after, ids).await?;
        Ok(pulse)
    }

    /// The whole picture of a show: version, cells, two bits a cell.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub async fn show_snapshot(
        &self,
        show: &str,
    ) -> Result<Option<(u64, u32, bytes::Bytes)>, LedgerError> {
        let Some(show) = self.find_show(show) else {
            return Ok(None);
        };
        self.seats.packed(&show).await
    }

    /// What changed after a version; a show that is not open is a gap.
    pub async fn show_changes(&self, show: &str, since: u64) -> CellChanges {
        match self.find_show(show) {
            Some(show) => self.seats.changes_since(&show, since).await,
            None => CellChanges::Gap,
        }
    }

    /// Signals for the sockets of the holds' owners.
    #[must_use]
    pub fn hold_signals(&self) -> tokio::sync::broadcast::Receiver<HoldSignal> {
        self.seats.store.signals()
    }

    /// The labels of an offer's seats, which go with its signal; a signal about anything else names
    /// none.
    pub async fn seats_told(&self, signal: &HoldSignal) -> Vec<String> {
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

    /// A gateway tells which of the visitors that it was told of last are connected to it, and is
    /// told who waits for seats now, those who came first at the front: their sockets keep their
    /// offers coming.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub async fn waiting(&self, here: Vec<Holder>) -> Result<Vec<Holder>, LedgerError> {
        self.waitlist.here.record_seen(here);
        self.ledger.waiting_visitors(WAITING_MAX).await
    }

    fn find_show(&self, show: &str) -> Option<Arc<Show>> {
        show.parse::<ShowId>()
            .ok()
            .and_then(|id| self.catalogue.show(&id))
    }
}
