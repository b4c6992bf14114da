//! What stands between the line and booking: one trait, so that booking may live in this process or
//! behind an address.

pub mod door;
pub mod health;
pub mod http;
pub mod local;
pub mod remote;
mod settings;

use std::sync::Arc;

use async_trait::async_trait;
use axum::http::StatusCode;
pub use booking::app::{BookingCondition, BookingPulse, ShowSummary};
pub use booking::config::PaymentSettings;
pub use booking::door::keys::bearer;
pub use booking::door::{Role, RoleKeys};
pub use booking::http::route_kinds::{RouteKind, route_kind};
pub use booking::internal::wire::InternalHoldSignal as HoldSignal;
use bytes::Bytes;
use fairgate_base::clock::Clock;
use fairgate_base::config::SecretSetting;
use fairgate_databases::{Installation, LedgerError};
pub use fairgate_model::grid::picture::CellChanges;
use fairgate_pass::{Holder, Keyring};
pub use fairgate_rules::vitals;
use utoipa_axum::router::OpenApiRouter;

use remote::RemoteBooking;
pub use settings::UpstreamSettings;

/// What booking is opened with, beside the gateway's own parts.
#[derive(Clone)]
pub struct BookingDependencies {
    /// The database that everything durable is in.
    pub installation: Installation,
    /// The Redis that seats are in; without one they are in this process's memory.
    pub redis_url: Option<SecretSetting>,
    /// Signs tickets, verifies passes.
    pub keyring: Keyring,
    /// Where `now` comes from.
    pub clock: Clock,
    /// Keys by role.
    pub keys: RoleKeys,
    /// Who takes the money.
    pub payments: PaymentSettings,
    /// Where the public reaches this.
    pub public_url: Option<String>,
    /// Where booking is.
    pub upstream: UpstreamSettings,
    /// Which ledger this is, in hex.
    pub ledger: String,
}

/// The picture of one show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookingSeatSnapshot {
    /// Of the feed.
    pub version: u64,
    /// How many.
    pub cells: u32,
    /// Two bits a cell, four to a byte, lowest bits first; without the frame's header.
    pub packed: Bytes,
}

/// Why booking gave no answer to the line.
#[derive(Debug, thiserror::Error)]
pub enum BookingFailure {
    /// It is in this process, and its ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// No booking answers: nobody was asked, nothing was done.
    #[error("no booking answers")]
    Unreachable,
    /// A call was sent on, and what came of it is not known.
    #[error("booking's answer was lost")]
    Unanswered,
    /// It answered, and not to the call.
    #[error("booking refused a call of this gateway: {status}")]
    Refused {
        /// What it answered with.
        status: StatusCode,
    },
}

/// Opens booking: behind its addresses where the settings name any, else in this process.
///
/// # Errors
/// Where it cannot be opened.
pub async fn open(shared: BookingDependencies) -> anyhow::Result<Arc<dyn BookingCore>> {
    if shared.upstream.bases.is_empty() {
        return local::open(shared).await;
    }
    let UpstreamSettings { bases, internal } = &shared.upstream;
    let remote = RemoteBooking::new(bases, internal.key.as_ref(), &shared.ledger)?;
    Ok(Arc::new(remote))
}

/// Booking as the line sees it.
#[async_trait]
pub trait BookingCore: Send + Sync + 'static {
    /// All of booking's routes (public, promoter venues and shows, door scan), verifying passes
    /// again by itself.
    fn router(&self) -> OpenApiRouter;
    /// The room that covers a show; `None` where this is no show's name.
    fn room_of(&self, show: &str) -> Option<String>;
    /// The shows that the patterns (ids, and globs such as `g1-*`) name.
    async fn shows(&self, patterns: &[String]) -> Result<Vec<ShowSummary>, BookingFailure>;
    /// Tells booking which room covers which patterns (the whole list, replacing the last one).
    async fn replace_coverage(
        &self,
        coverage: Vec<(String, Vec<String>)>,
    ) -> Result<(), BookingFailure>;
    /// Shared measurements of the given shows and of the trains that the room covers.
    async fn pulse(
        &self,
        room: &str,
        shows: &[String],
        finished_after: u64,
    ) -> Result<BookingPulse, BookingFailure>;
    /// The picture of one show; `None` where there is no such show.
    async fn snapshot(&self, show: &str) -> Result<Option<BookingSeatSnapshot>, BookingFailure>;
    /// What changed after `since`.
    async fn changes(&self, show: &str, since: u64) -> Result<CellChanges, BookingFailure>;
    /// How booking is: why nothing can be sold now, and what should not be left so.
    async fn condition(&self) -> BookingCondition;
    /// Tells booking which of those who wait for seats have a socket here, and learns who waits.
    async fn sync_waiting(&self, here: Vec<Holder>) -> Result<Vec<Holder>, BookingFailure>;
    /// Signals about holds, for their visitors' sockets.
    fn hold_signals(&self) -> tokio::sync::broadcast::Receiver<HoldSignal>;
}
