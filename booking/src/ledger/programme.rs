//! The records of a cinema programme. Hundreds of halls and thousands of showings are written in
//! one transaction.

use std::collections::HashMap;
use std::sync::Arc;

use fairgate_databases::LedgerError;
use fairgate_model::ids::{ShowId, VenueId};
use fairgate_model::shows::document::ShowDocument;
use jiff::Timestamp;
use serde::Serialize;

use super::{ChangedShows, PlanPin, UndecidedShow};

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
    /// What becomes of the showings of earlier programmes.
    pub succession: ProgrammeSuccession,
}

/// What becomes of the showings of earlier programmes when a new programme is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgrammeSuccession {
    /// The version of the catalogue for which this was decided. If the ledger has another version
    /// by now, nothing is stored. `None` if it does not matter.
    pub catalogue: Option<u64>,
    /// Showings that the new programme has with another film. If somebody ordered seats of one of
    /// them, and its title changes, the programme is refused.
    pub other_film: Vec<ShowId>,
    /// The showings that are in the new programme and have not begun.
    pub going_on: Vec<ShowId>,
    /// The showings that are not in the new programme and have not begun.
    pub leaving: Vec<LeavingShowing>,
    /// Whether the changes are only wanted to be known, and nothing is stored.
    pub is_preview: bool,
}

/// A showing that the new programme does not have, or not surely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeavingShowing {
    /// Its show.
    pub show: ShowId,
    /// What becomes of it.
    pub becomes: LeavingDecision,
}

/// What becomes of a showing that the new programme does not have, or not surely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeavingDecision {
    /// Nothing more is sold of it, if nobody has touched it. Otherwise a person must decide.
    Withdrawn {
        /// Whether somebody holds seats, as far as the caller knows it.
        is_held: bool,
        /// Why the new programme does not surely have it, in one sentence.
        why: String,
    },
    /// It goes on as it was sold, and nothing more is sold of it.
    Kept,
    /// It is cancelled, for this reason. Its buyers get their money back.
    Cancelled(String),
}

/// What a new programme changes for the showings of earlier ones that have not begun, by kind of
/// change. A showing with several changes counts in each of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct ShowingChanges {
    /// They keep their time, hall, title, prices and rules.
    pub unchanged: ChangedShows,
    /// They have another time or hall. Nobody has orders for them.
    pub moved: ChangedShows,
    /// They have another title, which tickets that were sold have, too, from now on.
    pub retitled: ChangedShows,
    /// They have other prices or rules for whoever holds seats from now on.
    pub repriced: ChangedShows,
    /// They go on as they were sold, and nothing more is sold of them.
    pub kept: ChangedShows,
    /// They are cancelled, and their buyers get their money back.
    pub cancelled: ChangedShows,
    /// They are not in the new programme and nobody had touched them. They are not sold any more.
    pub left_out: ChangedShows,
}

impl ShowingChanges {
    /// Returns each kind of change that has showings, with its words.
    pub fn kinds(self) -> impl Iterator<Item = (&'static str, ChangedShows)> {
        let kinds = [
            ("unchanged", self.unchanged),
            ("with another time or hall", self.moved),
            ("with another title, also on sold tickets", self.retitled),
            ("with other prices or rules for new baskets", self.repriced),
            ("going on as sold, with nothing more sold", self.kept),
            ("cancelled", self.cancelled),
            ("left out and not sold any more", self.left_out),
        ];
        kinds.into_iter().filter(|(_, changed)| changed.shows > 0)
    }
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
    /// What the showings of earlier programmes become.
    pub changes: ShowingChanges,
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
    /// A person must decide what becomes of these showings.
    #[error("the new programme does not surely have {} showings that were sold", .0.len())]
    Undecided(Vec<UndecidedShow>),
    /// Only a preview was wanted. Has what storing the programme would change.
    #[error("only a preview was wanted")]
    Preview(Box<ProgrammeOutcome>),
    /// The catalogue was changed after the decisions about the showings.
    #[error("the catalogue was changed at the same time")]
    Replaced,
    /// The ledger could not write the programme.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}
