//! What stands between the line and booking: one trait, so that booking may live in this process or behind an address.

pub mod door;
pub mod health;
pub mod local;
pub mod remote;

use std::sync::Arc;

use async_trait::async_trait;
pub use booking::app::Condition;
use booking::app::ShowInShort;
use booking::door::RoleKeys;
use booking::internal::wire;
use booking::inventory::picture;
use bytes::Bytes;
use fairgate_base::clock::Clock;
use fairgate_base::http::Problem;
use fairgate_databases::Installation;
use fairgate_pass::{Holder, Keyring};
pub use fairgate_rules::vitals;
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;

use crate::config::{Key, Payments, Upstream};
use remote::Remote;

/// What booking is opened with, beside the gateway's own parts.
#[derive(Clone)]
pub struct CoreParts {
    /// The database that everything durable is in.
    pub installation: Installation,
    /// The Redis that seats are in; without one they are in this process's memory.
    pub redis_url: Option<Key>,
    /// Signs tickets, verifies passes.
    pub keyring: Keyring,
    /// Where `now` comes from.
    pub clock: Clock,
    /// Keys by role.
    pub keys: RoleKeys,
    /// Who takes the money.
    pub payments: Payments,
    /// Where the public reaches this.
    pub public_url: Option<String>,
    /// Where booking is.
    pub upstream: Upstream,
    /// Which ledger this is, in hex.
    pub ledger: String,
}

/// What the line needs to know of a show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ShowCard {
    /// The slug.
    pub show: String,
    /// What people read.
    pub title: String,
    /// RFC 3339.
    pub starts_at: String,
    /// The venue's slug.
    pub venue: String,
    /// ISO 4217.
    pub currency: String,
    /// How many seats the plan has.
    pub seats: u32,
    /// Whether it is on a cinema's programme, which is searched on a page of its own.
    pub showing: bool,
}

/// Shared measurements of what a room covers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pulse {
    /// Cells free.
    pub free: u64,
    /// Cells held.
    pub held: u64,
    /// Cells sold.
    pub sold: u64,
    /// Held cells whose deadline lies within five minutes.
    pub lapsing_5m: u64,
    /// Held cells whose deadline is so near that they count as free for who is called now.
    pub lapsing_soon: u64,
    /// Holds, those with an order among them.
    pub baskets: u64,
    /// Holds whose deadline lies within five minutes.
    pub baskets_5m: u64,
    /// Cells that nobody can have any more and that are not sold: of shows that are cancelled, whose sale has ended, or that
    /// have left.
    pub gone: u64,
    /// Visitors whose orders were ticketed since the cursor, each with its own cursor, rising.
    pub finished: Vec<(u64, Holder)>,
}

/// The picture of one show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Of the feed.
    pub version: u64,
    /// How many.
    pub cells: u32,
    /// Two bits a cell, four to a byte, lowest bits first; without the frame's header.
    pub packed: Bytes,
}

/// What changed in a show since a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changes {
    /// Nothing.
    None,
    /// These cells, each at its newest state.
    Delta {
        /// The version asked about.
        from: u64,
        /// The version after these changes.
        to: u64,
        /// Index and state, indices ascending.
        cells: Vec<(u32, u8)>,
    },
    /// No longer known: take a snapshot.
    Gap,
}

/// Something happened to a hold that its visitor should know at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldSignal {
    /// Whose.
    pub holder: Holder,
    /// Which.
    pub hold: String,
    /// What it is now.
    pub state: &'static str,
    /// Its deadline, milliseconds since the epoch.
    pub expires_at_ms: i64,
    /// The seats' labels, where it is an offer.
    pub seats: Vec<String>,
}

impl HoldSignal {
    /// As another process told it; `None` for a state that this version has no word for.
    #[must_use]
    pub fn told(signal: wire::Signal) -> Option<Self> {
        let state = ["short", "lapsed", "ordered", "offered"]
            .into_iter()
            .find(|known| *known == signal.state)?;
        Some(Self {
            holder: signal.holder,
            hold: signal.hold,
            state,
            expires_at_ms: signal.expires_at_ms,
            seats: signal.seats,
        })
    }
}

impl Pulse {
    /// Whether nothing is left that somebody could still get, or wait for.
    #[must_use]
    pub fn is_sold_out(&self) -> bool {
        self.free == 0 && self.held == 0 && self.sold + self.gone > 0
    }
}

impl From<ShowInShort> for ShowCard {
    fn from(show: ShowInShort) -> Self {
        Self {
            show: show.id.to_string(),
            title: show.title,
            starts_at: show.starts_at.to_string(),
            venue: show.venue,
            currency: show.currency,
            seats: show.seats,
            showing: show.showing,
        }
    }
}

impl From<booking::app::Pulse> for Pulse {
    fn from(pulse: booking::app::Pulse) -> Self {
        Self {
            free: pulse.free,
            held: pulse.held,
            sold: pulse.sold,
            lapsing_5m: pulse.lapsing_5m,
            lapsing_soon: pulse.lapsing_soon,
            baskets: pulse.baskets,
            baskets_5m: pulse.baskets_5m,
            gone: pulse.gone,
            finished: pulse.finished,
        }
    }
}

impl From<picture::Changes> for Changes {
    fn from(changes: picture::Changes) -> Self {
        match changes {
            picture::Changes::None => Self::None,
            picture::Changes::Delta { from, to, cells } => Self::Delta { from, to, cells },
            picture::Changes::Gap => Self::Gap,
        }
    }
}

/// Opens booking: behind its addresses where the settings name any, else in this process.
///
/// # Errors
/// Where it cannot be opened.
pub async fn open(shared: CoreParts) -> anyhow::Result<Arc<dyn Core>> {
    if shared.upstream.bases.is_empty() {
        return local::open(shared).await;
    }
    let Upstream { bases, internal } = &shared.upstream;
    let remote = Remote::new(bases, internal.key.as_ref(), &shared.ledger)?;
    Ok(Arc::new(remote))
}

/// Booking as the line sees it.
#[async_trait]
pub trait Core: Send + Sync + 'static {
    /// All of booking's routes (public, promoter venues and shows, door scan), verifying passes again by itself.
    fn router(&self) -> OpenApiRouter;
    /// The room that covers a show; `None` where this is no show's name.
    fn room_of(&self, show: &str) -> Option<String>;
    /// The shows that the patterns (ids, and globs such as `g1-*`) name.
    async fn shows(&self, patterns: &[String]) -> Result<Vec<ShowCard>, Problem>;
    /// Tells booking which room covers which patterns (the whole list, replacing the last one).
    async fn cover(&self, coverage: Vec<(String, Vec<String>)>) -> Result<(), Problem>;
    /// Shared measurements of the given shows and of the trains that the room covers.
    async fn pulse(
        &self,
        room: &str,
        shows: &[String],
        finished_after: u64,
    ) -> Result<Pulse, Problem>;
    /// The picture of one show; `None` where there is no such show.
    async fn snapshot(&self, show: &str) -> Result<Option<Snapshot>, Problem>;
    /// What changed after `since`.
    async fn changes(&self, show: &str, since: u64) -> Result<Changes, Problem>;
    /// How booking is: why nothing can be sold now, and what should not be left so.
    async fn condition(&self) -> Condition;
    /// Tells booking which of those who wait for seats have a socket here, and learns who waits.
    async fn waiting(&self, here: Vec<Holder>) -> Result<Vec<Holder>, Problem>;
    /// Signals about holds, for their visitors' sockets.
    fn hold_signals(&self) -> tokio::sync::broadcast::Receiver<HoldSignal>;
}
