//! Booking in this process. The handlers are the same as in a process of its own, but are called
//! without HTTP.

use std::sync::Arc;

use anyhow::Context;
use async_trait::async_trait;
use booking::app::{Booking, BookingSetup};
use booking::store::SEATS_SILENT;
use fairgate_model::grid::picture::CellChanges;
use fairgate_model::onsale::OnsaleRequest;
use fairgate_pass::Holder;
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use utoipa_axum::router::OpenApiRouter;

use super::{
    BookingCondition, BookingCore, BookingDependencies, BookingFailure, BookingPulse,
    BookingSeatSnapshot, HoldSignal, LivingHold, OnsaleReply, PulseRequest, RoomEndNotice,
    ShowSummary, StoppedPassNotice, VisitorsHold,
};

/// How many signals wait for a slow reader before the oldest are dropped.
const SIGNALS_MAX: usize = 4_096;

/// Booking in this process. Its workers end when this is dropped.
pub struct EmbeddedBooking {
    booking: Booking,
    signals: broadcast::Sender<HoldSignal>,
    _workers: JoinSet<()>,
}

/// Opens booking with the parts that it shares with the line.
///
/// # Errors
/// Fails if booking's ledger cannot be opened.
pub async fn open(shared: BookingDependencies) -> anyhow::Result<Arc<dyn BookingCore>> {
    let setup = BookingSetup {
        secret: shared.secret,
        keyring: shared.keyring,
        keys: shared.keys,
        clock: shared.clock,
        payments: shared.payments,
    };
    let redis_url = shared.redis_url.as_ref();
    let booking = booking::open::booking(&shared.installation, redis_url, setup)
        .await
        .context("booking cannot be opened")?;
    Ok(Arc::new(EmbeddedBooking::new(booking)))
}

impl EmbeddedBooking {
    /// Starts booking's workers, and a worker that turns booking's signals into signals for the
    /// line.
    #[must_use]
    pub fn new(booking: Booking) -> Self {
        let (signals, _) = broadcast::channel(SIGNALS_MAX);
        let mut workers = booking.start();
        workers.spawn(convert_signals(booking.clone(), signals.clone()));
        Self {
            booking,
            signals,
            _workers: workers,
        }
    }
}

async fn convert_signals(booking: Booking, sink: broadcast::Sender<HoldSignal>) {
    let mut source = booking.gateways().hold_signals();
    loop {
        match source.recv().await {
            // Sending fails only if there is no receiver, which is no error.
            Ok(signal) => {
                let seats = booking.gateways().offered_labels(&signal).await;
                drop(sink.send(HoldSignal::new(&signal, seats)));
            }
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                tracing::debug!(missed, "hold signals were dropped")
            }
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

#[async_trait]
impl BookingCore for EmbeddedBooking {
    fn router(&self) -> OpenApiRouter {
        self.booking.router()
    }

    fn room_of(&self, show: &str) -> Option<String> {
        show.parse()
            .ok()
            .map(|show| self.booking.gateways().room_of(&show))
    }

    fn shows_edition(&self) -> u64 {
        self.booking.gateways().shows_edition()
    }

    async fn shows(&self, patterns: &[String]) -> Result<Vec<ShowSummary>, BookingFailure> {
        let patterns = patterns.to_vec();
        Ok(self.booking.gateways().shows_matching(patterns).await)
    }

    async fn replace_coverage(
        &self,
        coverage: Vec<(String, Vec<String>)>,
    ) -> Result<(), BookingFailure> {
        Ok(self.booking.gateways().replace_coverage(coverage).await?)
    }

    async fn apply_onsale(&self, request: &OnsaleRequest) -> Result<OnsaleReply, BookingFailure> {
        Ok(self.booking.gateways().apply_onsale(request).await?)
    }

    async fn stop_passes(
        &self,
        room: &str,
        passes: Vec<StoppedPassNotice>,
    ) -> Result<(), BookingFailure> {
        Ok(self.booking.gateways().stop_passes(room, passes).await?)
    }

    async fn end_rooms(&self, ends: Vec<RoomEndNotice>) -> Result<(), BookingFailure> {
        Ok(self.booking.gateways().end_rooms(ends).await?)
    }

    async fn pulse(&self, ask: PulseRequest) -> Result<BookingPulse, BookingFailure> {
        Ok(self.booking.gateways().pulse(&ask).await?)
    }

    async fn snapshot(&self, show: &str) -> Result<Option<BookingSeatSnapshot>, BookingFailure> {
        let picture = self.booking.gateways().show_snapshot(show).await?;
        Ok(picture.map(|(version, cells, packed)| BookingSeatSnapshot {
            version,
            cells,
            packed,
        }))
    }

    async fn changes(&self, show: &str, since: u64) -> Result<CellChanges, BookingFailure> {
        Ok(self.booking.gateways().show_changes(show, since).await)
    }

    async fn sync_waiting(&self, connected: Vec<Holder>) -> Result<Vec<Holder>, BookingFailure> {
        Ok(self.booking.gateways().waiting(connected).await?)
    }

    async fn end_left_baskets(&self, left: Vec<VisitorsHold>) -> Result<(), BookingFailure> {
        Ok(self.booking.gateways().end_left_baskets(left).await?)
    }

    async fn living_holds(
        &self,
        holds: Vec<VisitorsHold>,
    ) -> Result<Vec<LivingHold>, BookingFailure> {
        Ok(self.booking.gateways().living_holds(holds).await?)
    }

    async fn condition(&self) -> BookingCondition {
        let mut condition = self.booking.gateways().condition().await;
        // This gateway uses the same ledger and the same Redis. If one of the two is silent, the
        // gateway's own report says so, and booking's reports of it are left out.
        condition.reasons.clear();
        condition.warnings.retain(|warning| warning != SEATS_SILENT);
        condition
    }

    fn hold_signals(&self) -> broadcast::Receiver<HoldSignal> {
        self.signals.subscribe()
    }
}
