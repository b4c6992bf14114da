//! Why a programme is refused, and what to do about it.

use fairgate_databases::LedgerError;
use fairgate_model::counted::counted;
use fairgate_model::ids::ShowId;

use super::read::ProgrammeFault;
use crate::ledger::UndecidedShow;

/// How many shows a refusal names in its text, at most.
const IDS_SHOWN_MAX: usize = 10;

/// Why a programme was not accepted. Nothing was changed, except perhaps if the ledger failed.
#[derive(Debug, thiserror::Error)]
pub enum ProgrammePutRefusal {
    /// Every fault of the document.
    #[error("the programme has {}", counted(.0.len(), "fault", "faults"))]
    Faulty(Vec<ProgrammeFault>),
    /// New plans would move seats that are held or sold. The list names the shows and the seats'
    /// labels.
    #[error("new plans move held or sold seats of {}", counted(.0.len(), "showing", "showings"))]
    PlanInUse(Vec<(ShowId, Vec<String>)>),
    /// Seats of these shows were sold in another currency.
    #[error("{} sold in another currency: keep that currency, or give each of them a new id", counted(.0.len(), "showing was", "showings were"))]
    CurrencyInUse(Vec<ShowId>),
    /// Seats of these shows were ordered, and the programme has another time, hall or film for
    /// them.
    #[error("nothing was imported: the programme has another time, hall or film for {} with orders: {}. Keep their times, halls and films; or, for another time, postpone each of them first, so that its buyers are told, and import again; or import with --keep ID (it goes on as it was sold, and nothing more is sold of it) or --cancel ID (its buyers get their money back)", counted(.0.len(), "showing", "showings"), shown_ids(.0))]
    PostponeInstead(Vec<ShowId>),
    /// The new programme does not surely have showings that somebody holds, bought or waits for.
    #[error("{}nothing was imported: {} of the new programme. Decide about each with --match OLD=NEW (it is that showing), --keep ID (it goes on as it was sold, and nothing more is sold of it) or --cancel ID (it is cancelled, and its buyers get their money back), and import again", undecided_lines(.0), counted(.0.len(), "showing is not surely part", "showings are not surely part"))]
    Undecided(Vec<UndecidedShow>),
    /// Others changed the catalogue again and again.
    #[error("nothing was imported: shows or programmes were changed at the same time; try again")]
    Replaced,
    /// The ledger failed. If it failed after the programme was stored, the new programme is in
    /// force.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Returns the first ids of a list as a text.
fn shown_ids(shows: &[ShowId]) -> String {
    let shown: Vec<&str> = shows
        .iter()
        .take(IDS_SHOWN_MAX)
        .map(ShowId::as_str)
        .collect();
    let more = if shows.len() > IDS_SHOWN_MAX {
        ", …"
    } else {
        ""
    };
    shown.join(", ") + more
}

fn undecided_lines(undecided: &[UndecidedShow]) -> String {
    undecided.iter().map(|show| format!("{show}\n")).collect()
}
