//! The [`Ledger`], booking's durable record. Each of its methods is one domain transaction: all of
//! its changes are written, or none. The methods are in the files under `ledger/sql`, by subject.
//!
//! **Architecture invariant:** SQL is written only under `ledger/sql`. Only the crate
//! `fairgate-databases` names rusqlite and tokio-postgres; this folder names neither outside its
//! tests.

#[cfg(test)]
mod contract;
mod money_findings;
mod onsale;
mod programme;
mod records;
mod sold_shows;
pub(crate) mod sql;
mod stopped_passes;
mod stored;
mod timetables;

pub use fairgate_databases::LedgerError;
use fairgate_model::ids::VenueId;
pub use money_findings::*;
pub use onsale::*;
pub use programme::*;
pub use records::*;
pub use sold_shows::*;
pub use sql::{Ledger, figures_of_file};
pub use stopped_passes::*;
pub use timetables::*;

/// The name of the ledger's file in the data folder, if the ledger is in a file.
pub const LEDGER_FILE: &str = "ledger.db";

/// How long an effect (an owed call to the payment provider) is lent to one worker, in
/// milliseconds. No other node makes the call in this time. A worker whose call takes longer renews
/// the loan. If the worker dies, another worker repeats the call, and the provider recognises the
/// repeated call by its key.
pub const EFFECT_LENT_MS: i64 = 5_000;

/// How long a captured or refunded payment must stay unchanged before its state is read from the
/// provider, in milliseconds. The state is read again each time the payment has been unchanged for
/// twice as long as at the last read. After [`TAKEN_READ_FOR_MS`] the state is no longer read.
pub const TAKEN_QUIET_MS: i64 = 3_600_000;

/// How long the state of a captured or refunded payment is read from the provider, in milliseconds
/// from the payment's last change.
pub const TAKEN_READ_FOR_MS: i64 = 120 * 24 * 3_600_000;

/// How long a provider's event is lent to one worker, in milliseconds. If two workers settle the
/// same event, the event is still applied once.
pub const EVENT_LENT_MS: i64 = 5_000;

/// How long a call under an `Idempotency-Key` belongs to one node without a renewal, in
/// milliseconds. If the node dies, another node may carry out the same call after this time. The
/// other node then finds what the first node wrote.
pub const CALL_LEASE_MS: i64 = 3_000;

/// How long a scan's key is valid, in milliseconds. A scanner that did not get the answer repeats
/// its scan at once. After this time, a scan of the same ticket counts as the scan of another
/// person, even with the same key.
pub const SCAN_KEY_MS: i64 = 60_000;

/// How much a ledger has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerFigures {
    /// All orders.
    pub orders: u64,
    /// All tickets, also void ones.
    pub tickets: u64,
}

/// A seating plan as it is stored.
#[derive(Debug, Clone)]
pub struct NewVenuePlan {
    /// The plan as JSON.
    pub plan: String,
    /// SHA-256 of the text in `plan`.
    pub digest: [u8; 32],
}

/// The plan that a show pins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanPin {
    /// The venue of the plan.
    pub venue: VenueId,
    /// The plan's version at this venue.
    pub version: u32,
}

/// What the ledger has stored for a show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredShowVersions {
    /// The version of the terms.
    pub terms: u32,
    /// The pinned version of the venue's plan.
    pub plan: u32,
}

/// Checks whether a show's new plan leaves its claimed seats as they are.
pub struct UnchangedSeatCheck {
    /// The plan with which the new plan was compared. If the show pins another one by now, no seat
    /// counts as unchanged.
    pub old: PlanPin,
    /// Returns whether a seat is the same under the new plan.
    pub keeps: Box<dyn Fn(u32) -> bool + Send>,
}
