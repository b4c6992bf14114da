//! The seam for a cinema programme: hundreds of halls and thousands of showings in one transaction.

use std::sync::Arc;

use async_trait::async_trait;
use fairgate_databases::LedgerError;
use fairgate_model::ids::{ShowId, VenueId};
use fairgate_model::shows::document::ShowDocument;

/// A whole programme, as it is written.
pub struct NewProgramme {
    /// What is searched, as text.
    pub document: String,
    /// The halls that bring a plan.
    pub plans: Vec<NewHallPlan>,
    /// The showings; each pins its hall's newest plan, those of `plans` among them. No id twice.
    pub shows: Vec<(ShowId, ShowDocument)>,
    /// Tells whether a used seat of a show is the same under its hall's new plan; asked only where
    /// that changes.
    pub keeps: ProgrammeSeatCheck,
}

/// A hall's plan; halls that are alike share the text.
pub struct NewHallPlan {
    /// The hall.
    pub venue: VenueId,
    /// The plan as it is stored.
    pub plan: Arc<str>,
    /// SHA-256 of the text.
    pub digest: [u8; 32],
}

/// Whether a show's used seat stays what it was.
pub type ProgrammeSeatCheck = Box<dyn Fn(&ShowId, u32) -> bool + Send + Sync>;

/// What a programme changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProgrammeOutcome {
    /// Plans that became a new version of their hall.
    pub plans: usize,
    /// Showings that were not there before.
    pub new: usize,
    /// Showings that were there, and differed.
    pub changed: usize,
    /// Whether anything was written at all.
    pub written: bool,
}

/// Why a programme was not written; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ProgrammeRefused {
    /// Orders have cells that new plans move, drop or rename: the shows with those seats.
    #[error("plans are in use by {} shows", .0.len())]
    PlanInUse(Vec<(ShowId, Vec<u32>)>),
    /// Orders of these shows were paid in another currency.
    #[error("{} shows were sold in another currency", .0.len())]
    CurrencyInUse(Vec<ShowId>),
    /// The ledger did not take it.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// The cinema programme.
#[async_trait]
pub trait ProgrammeLedger: Send + Sync {
    /// Writes a programme with its plans and shows, whole or not at all. What is there already and
    /// the same is left as it is; a programme that changes nothing does not tell other nodes of a
    /// new catalogue.
    async fn put_programme(
        &self,
        programme: NewProgramme,
        now_ms: i64,
    ) -> Result<ProgrammeOutcome, ProgrammeRefused>;
    /// The programme with its number, where that is larger than `known`; 0 knows none.
    async fn programme(&self, known: u64) -> Result<Option<(u64, String)>, LedgerError>;
}
