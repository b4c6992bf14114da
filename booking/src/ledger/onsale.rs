//! Booking's part of an on-sale file, as it is written in one transaction.

use fairgate_databases::LedgerError;
use fairgate_model::ids::{ShowId, VenueId};
use fairgate_model::venues::VenueLocation;

use super::{NewVenuePlan, ShowRefused, StoredShow};

/// What one apply writes.
pub struct NewOnsale {
    /// The version of the catalogue with which the file was compared.
    pub compared_with: u64,
    /// The rooms, each with the patterns of its shows.
    pub coverage: Vec<(String, Vec<String>)>,
    /// The venues that change.
    pub venues: Vec<OnsaleVenueWrite>,
    /// The shows that change.
    pub shows: Vec<OnsaleShowWrite>,
    /// The venues and shows that the file has changed, as the next apply compares them.
    pub applied: Vec<AppliedEntry>,
    /// The shows that are no longer withheld. A show that is written is no longer withheld either.
    pub released: Vec<ShowId>,
}

/// A venue that an apply writes.
pub struct OnsaleVenueWrite {
    /// The slug.
    pub id: VenueId,
    /// The plan; `None` if the venue keeps its newest plan.
    pub plan: Option<NewVenuePlan>,
    /// Where the venue is.
    pub location: VenueLocation,
}

/// A show that an apply writes.
pub struct OnsaleShowWrite {
    /// The show, with the plan version that it pins.
    pub show: StoredShow,
    /// Whether it pins its venue's newest plan instead, which may be written by the same apply.
    pub pins_newest_plan: bool,
}

/// A venue or a show of an on-sale file, as it was last applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedEntry {
    /// `venue` or `show`.
    pub kind: String,
    /// The slug.
    pub id: String,
    /// The entry's fields, as JSON.
    pub document: String,
}

/// Why an on-sale file was not written. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum OnsaleRefused {
    /// Somebody changed the catalogue after the file was compared with it.
    #[error("the catalogue was changed")]
    ChangedMeanwhile,
    /// A show cannot be written.
    #[error("the show {0}: {1}")]
    Show(ShowId, ShowRefused),
    /// The ledger could not write the file.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}
