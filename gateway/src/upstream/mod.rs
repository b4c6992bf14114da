//! The interface between the line and booking: one trait for booking in this process and for
//! booking in other processes. `foreign_origin` calls a shop that is not Fairgate's.

pub mod door;
pub mod foreign_origin;
pub mod health;
pub mod hops;
pub mod http;
pub mod local;
pub mod remote;
mod settings;

use std::sync::Arc;

use async_trait::async_trait;
use axum::http::StatusCode;
pub use booking::backup;
pub use booking::config::PaymentSettings;
pub use booking::http::refusals::holds::pass_ended;
pub use booking::http::route_kinds::{RouteKind, route_kind};
pub use booking::internal::gateway_desk::{BookingCondition, BookingPulse, ShowSummary};
pub use booking::internal::wire::{
    InternalHoldSignal as HoldSignal, LivingHold, OnsaleReply, PulseRequest, RoomEndNotice,
    StoppedPassNotice, VisitorsHold,
};
pub use booking::inventory::seats::{CategorySeatsLeft, PriceTier, ShowSeatsLeft};
pub use booking::ledger::EndedVisit as EndedVisitNotice;
use bytes::Bytes;
use fairgate_base::clock::Clock;
use fairgate_base::config::SecretSetting;
use fairgate_base::http::keys::RoleKeys;
use fairgate_base::retry::BackgroundError;
use fairgate_base::secret::InstallationSecret;
use fairgate_databases::{Installation, LedgerError};
use fairgate_model::grid::picture::CellChanges;
use fairgate_model::onsale::OnsaleRequest;
use fairgate_pass::{Holder, Keyring};
use utoipa_axum::router::OpenApiRouter;

use remote::RemoteBooking;
pub use settings::UpstreamSettings;

/// The parts that booking is opened with.
#[derive(Clone)]
pub struct BookingDependencies {
    /// The database that stores everything durable.
    pub installation: Installation,
    /// The secret that the ledger's keys are sealed with.
    pub secret: InstallationSecret,
    /// The Redis with the seats. Without a Redis the seats are in this process's memory.
    pub redis_url: Option<SecretSetting>,
    /// Signs tickets and verifies passes.
    pub keyring: Keyring,
    /// The clock that `now` comes from.
    pub clock: Clock,
    /// The keys of each role.
    pub keys: RoleKeys,
    /// Which payment provider takes the money.
    pub payments: PaymentSettings,
    /// The address by which the public reaches this installation.
    pub public_url: Option<String>,
    /// Where booking runs.
    pub upstream: UpstreamSettings,
    /// The ledger's id, in hex.
    pub ledger: String,
}

/// The state of all seats of one show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookingSeatSnapshot {
    /// The version of the show's feed at which the snapshot was taken.
    pub version: u64,
    /// The number of cells.
    pub cells: u32,
    /// The states of the cells, without the frame's header. Each cell has two bits. A byte has four
    /// cells, lowest bits first.
    pub packed: Bytes,
}

/// Why a call to booking failed.
#[derive(Debug, thiserror::Error)]
pub enum BookingFailure {
    /// Booking is in this process, and its ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// No booking process answered. A visitor's call was sent to none of them, so it changed
    /// nothing. A call of the line may have been carried out, but it can be repeated.
    #[error("no booking answers")]
    Unreachable,
    /// A visitor's call was sent and its answer was lost, so its outcome is not known.
    #[error("booking's answer was lost")]
    Unanswered,
    /// Booking answered the gateway's call with an error.
    #[error("booking refused a call of this gateway: {status}")]
    Refused {
        /// The status that booking answered with.
        status: StatusCode,
    },
}

impl BackgroundError for BookingFailure {
    fn is_temporary(&self) -> bool {
        match self {
            Self::Ledger(error) => error.is_temporary(),
            Self::Unreachable | Self::Unanswered => true,
            // Booking answers with this status while its own ledger is away.
            Self::Refused { status } => *status == StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// Opens booking at the addresses in the settings. Without addresses, opens booking in this
/// process.
///
/// # Errors
/// Fails if booking cannot be opened.
pub async fn open(shared: BookingDependencies) -> anyhow::Result<Arc<dyn BookingCore>> {
    if shared.upstream.bases.is_empty() {
        return local::open(shared).await;
    }
    let UpstreamSettings { bases, internal } = &shared.upstream;
    let remote = RemoteBooking::new(bases, internal.key.as_ref(), &shared.ledger)?;
    Ok(Arc::new(remote))
}

/// Everything that the line needs from booking, wherever booking runs.
#[async_trait]
pub trait BookingCore: Send + Sync + 'static {
    /// Returns all of booking's routes (public, promoter venues and shows, door scan). They verify
    /// passes themselves.
    fn router(&self) -> OpenApiRouter;
    /// Returns the room that covers a show; `None` if the text is not a valid show id.
    fn room_of(&self, show: &str) -> Option<String>;
    /// Returns a number that changes whenever other shows may match the pattern `*`, or another
    /// room may cover one of them.
    fn shows_edition(&self) -> u64;
    /// Reads the shows that match the patterns (ids, and globs such as `g1-*`).
    async fn shows(&self, patterns: &[String]) -> Result<Vec<ShowSummary>, BookingFailure>;
    /// Sends booking the complete list of rooms and the patterns that they cover. It replaces the
    /// earlier list.
    async fn replace_coverage(
        &self,
        coverage: Vec<(String, Vec<String>)>,
    ) -> Result<(), BookingFailure>;
    /// Reports what an on-sale file changes at booking, and writes it if the request says so and
    /// there is neither a fault nor a conflict. Everything is written in one transaction, together
    /// with the list of rooms.
    async fn apply_onsale(&self, request: &OnsaleRequest) -> Result<OnsaleReply, BookingFailure>;
    /// Tells booking that these passes of a room can no longer be used for anything new. Calling
    /// again is harmless.
    async fn stop_passes(
        &self,
        room: &str,
        passes: Vec<StoppedPassNotice>,
    ) -> Result<(), BookingFailure>;
    /// Tells booking from when on rooms are over. Returns once every booking process that takes
    /// calls applies the ends, except a process that fails to answer. Calling again is harmless.
    async fn end_rooms(&self, ends: Vec<RoomEndNotice>) -> Result<(), BookingFailure>;
    /// Reads the measurements of these shows and of the trains that the room covers, and the
    /// visitors who finished after the cursor `finished_after`.
    async fn pulse(&self, ask: PulseRequest) -> Result<BookingPulse, BookingFailure>;
    /// Reads the state of all seats of one show; `None` if there is no such show.
    async fn snapshot(&self, show: &str) -> Result<Option<BookingSeatSnapshot>, BookingFailure>;
    /// Reads which cells changed after version `since`.
    async fn changes(&self, show: &str, since: u64) -> Result<CellChanges, BookingFailure>;
    /// Returns the reasons why booking can sell nothing now, and warnings for operators.
    async fn condition(&self) -> BookingCondition;
    /// Reports to booking which waiting visitors are connected to this gateway, and returns all
    /// visitors who wait for seats.
    async fn sync_waiting(&self, connected: Vec<Holder>) -> Result<Vec<Holder>, BookingFailure>;
    /// Ends baskets whose visitors are gone. A basket that has ended or has become an order stays
    /// as it is. Calling again is harmless.
    async fn end_left_baskets(&self, left: Vec<VisitorsHold>) -> Result<(), BookingFailure>;
    /// Returns which of these holds live.
    async fn living_holds(
        &self,
        holds: Vec<VisitorsHold>,
    ) -> Result<Vec<LivingHold>, BookingFailure>;
    /// Subscribes to the signals about holds, which go on to the visitors' sockets.
    fn hold_signals(&self) -> tokio::sync::broadcast::Receiver<HoldSignal>;
}
