//! The seam for a cinema programme: hundreds of halls and thousands of showings, written in one
//! transaction.

use std::sync::Arc;

use async_trait::async_trait;
use fairgate_databases::LedgerError;
use fairgate_model::ids::{ShowId, VenueId};
use fairgate_model::shows::document::ShowDocument;

/// A whole programme, to be written.
pub struct NewProgramme {
    /// The text in which the programme is searched.
    pub document: String,
    /// The halls that bring a plan.
    pub plans: Vec<NewHallPlan>,
    /// The showings, each id once. Each showing pins its hall's newest plan, which may be one of
    /// `plans`.
    pub shows: Vec<(ShowId, ShowDocument)>,
    /// Tells whether a show's used seat is the same under its hall's new plan; called only if the
    /// plan changes.
    pub keeps: ProgrammeSeatCheck,
}

/// A hall's plan; halls with the same plan share the text.
pub struct NewHallPlan {
    /// The hall.
    pub venue: VenueId,
    /// The plan as it is stored.
    pub plan: Arc<str>,
    /// SHA-256 of the text.
    pub digest: [u8; 32],
}

/// Tells whether a show's used seat is the same under the new plan.
pub type ProgrammeSeatCheck = Box<dyn Fn(&ShowId, u32) -> bool + Send + Sync>;

/// What a programme changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProgrammeOutcome {
    /// Plans that became a new version of their hall.
    pub plans: usize,
    /// Showings that were not there before.
    pub new: usize,
    /// Showings that were there before, and differed.
    pub changed: usize,
    /// Whether anything was written at all.
    pub written: bool,
}

/// Why a programme was not written; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ProgrammeRefused {
    /// Orders have cells that new plans move, drop or rename; these are the shows with those seats.
    #[error("plans are in use by {} shows", .0.len())]
    PlanInUse(Vec<(ShowId, Vec<u32>)>),
    /// Orders of these shows were paid in another currency.
    #[error("{} shows were sold in another currency", .0.len())]
    CurrencyInUse(Vec<ShowId>),
    /// The ledger did not take the programme.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Storing and reading the cinema programme.
#[async_trait]
pub trait ProgrammeLedger: Send + Sync {
    /// Writes a programme with its plans and shows as a whole, or not at all. Plans and shows that
    /// are unchanged stay as they are. A programme that changes nothing leaves the catalogue's
    /// version, so other nodes read nothing again.
    async fn put_programme(
        &self,
        programme: NewProgramme,
        now_ms: i64,
    ) -> Result<ProgrammeOutcome, ProgrammeRefused>;
    /// Returns the programme with its number, if the number is larger than `known`; `known` is 0
    /// for a caller that has none.
    async fn programme(&self, known: u64) -> Result<Option<(u64, String)>, LedgerError>;
}
