//! The records of a cinema programme. Hundreds of halls and thousands of showings are written in
//! one transaction.

use std::collections::HashMap;
use std::sync::Arc;

use fairgate_databases::LedgerError;
use fairgate_model::ids::{ShowId, VenueId};
use fairgate_model::shows::document::ShowDocument;
use jiff::Timestamp;

use super::PlanPin;

/// A whole programme that is to be stored.
pub struct NewProgramme {
    /// The programme as JSON, which every node reads for its searches.
    pub document: String,
    /// The plans of halls. A hall that is not listed keeps its plan.
    pub plans: Vec<NewHallPlan>,
    /// The versions of the plans of halls that keep their plan. A newer plan, which another caller
    /// stored meanwhile, is not pinned, because nobody compared it with the old ones. If a showing
    /// pins the newer plan already, the programme is refused.
    pub present_plans: HashMap<VenueId, u32>,
    /// The showings, each id once. Each showing pins the plan of its hall. If a showing moves to
    /// another hall, it pins a plan version that is larger than its old one. While its hall's plan
    /// stays the same, it keeps its version. A showing that was postponed keeps its time.
    pub shows: Vec<(ShowId, ShowDocument)>,
    /// Checks whether a show's claimed seat is the same under its hall's new plan. It is called
    /// only if the plan changes.
    pub keeps: ProgrammeSeatCheck,
    /// The plans with which `keeps` compares the new plans. If a show is not listed, or pins
    /// another plan by now, none of its seats counts as unchanged.
    pub old_plans: HashMap<ShowId, PlanPin>,
}

/// The plan of a hall. Halls with the same plan share the text in memory.
pub struct NewHallPlan {
    /// The hall.
    pub venue: VenueId,
    /// The plan as it is stored.
    pub plan: Arc<str>,
    /// SHA-256 of the text.
    pub digest: [u8; 32],
}

/// A function that returns whether a show's claimed seat is the same under the new plan.
pub type ProgrammeSeatCheck = Box<dyn Fn(&ShowId, u32) -> bool + Send + Sync>;

/// The number of plans and showings that a programme changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgrammeOutcome {
    /// Plans that became their hall's new version.
    pub plans: usize,
    /// Showings that were not stored before.
    pub new: usize,
    /// Showings that were stored before with other content.
    pub changed: usize,
    /// Postponed showings that keep their time although the programme has another one. Each has the
    /// time that it keeps.
    pub kept_times: Vec<(ShowId, Timestamp)>,
    /// Whether anything was written at all.
    pub written: bool,
}

/// Why a programme was not written. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ProgrammeRefused {
    /// Orders have seats that new plans move, drop or rename. Lists the shows, each with these
    /// seats.
    #[error("plans are in use by {} shows", .0.len())]
    PlanInUse(Vec<(ShowId, Vec<u32>)>),
    /// Orders have seats of these shows at prices in another currency.
    #[error("{} shows were sold in another currency", .0.len())]
    CurrencyInUse(Vec<ShowId>),
    /// Orders have seats of these shows, and the programme has another time or hall for them.
    #[error("{} shows with orders would move", .0.len())]
    PostponeInstead(Vec<ShowId>),
    /// The ledger could not write the programme.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}
