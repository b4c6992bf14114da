//! The commands of `booking`, except `serve`. Each opens the ledger that the settings name, does
//! one thing, and closes the ledger.

pub mod dump;
pub mod import_programme;
pub mod import_timetable;
pub mod reconcile;

use fairgate_model::counted::counted;

use crate::ledger::ChangedShows;

/// Returns a line for each kind of change that an import makes to earlier shows.
pub fn changed_lines<'a>(
    of: &str,
    kinds: impl Iterator<Item = (&'a str, ChangedShows)>,
) -> Vec<String> {
    let line = |(becomes, changed): (&str, ChangedShows)| {
        let tickets = counted(changed.tickets, "ticket", "tickets");
        let buyers = counted(changed.buyers, "buyer", "buyers");
        format!("{of}: {} {becomes} ({tickets}, {buyers})", changed.shows)
    };
    kinds.map(line).collect()
}
