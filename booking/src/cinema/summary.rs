//! What an import of a programme changed, and the notes about it.

use std::collections::HashMap;

use fairgate_model::ids::ShowId;
use jiff::Timestamp;
use serde::Serialize;

use super::Programme;
use super::read::{ProgrammeFaults, ProgrammeNote};
use super::succession::UnsoldShowing;
use crate::ledger::{ProgrammeOutcome, ShowingChanges};

/// The size of a programme, and what its import changed.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
#[schema(as = Changed)]
pub struct ProgrammeSummary {
    /// Cities in the programme.
    pub cities: usize,
    /// Cinemas.
    pub cinemas: usize,
    /// Halls.
    pub halls: usize,
    /// Films.
    pub films: usize,
    /// Showings.
    pub showings: usize,
    /// How many halls got a new version of their plan.
    pub new_plans: usize,
    /// Showings that did not exist before.
    pub new_showings: usize,
    /// Showings that existed before and were changed.
    pub changed_showings: usize,
    /// Showings that are not sold, because they may be earlier ones that go on as they were sold or
    /// are running now.
    pub unsold_showings: usize,
    /// Shows of the earlier programme that have not begun, are not in this programme and were not
    /// touched by anybody. They are announced and not sold, until a programme has them again.
    #[schema(value_type = Vec<String>)]
    pub left_out: Vec<ShowId>,
    /// What becomes of the showings of earlier programmes that have not begun.
    pub earlier: ShowingChanges,
    /// Whether this is only a preview, and nothing was stored.
    pub preview: bool,
    /// The corrections that were made while the document was read, and the postponed showings that
    /// keep their time.
    pub notes: Vec<ProgrammeNote>,
}

/// Adds a note for each postponed showing that keeps its time although the programme has another
/// one.
pub(super) fn note_kept_times(
    programme: &Programme,
    kept_times: &[(ShowId, Timestamp)],
    faults: &mut ProgrammeFaults,
) {
    let kept: HashMap<_, _> = kept_times.iter().map(|(show, time)| (show, time)).collect();
    for showing in &programme.showings {
        if let Some(time) = kept.get(&showing.show) {
            let message = format!(
                "This showing was postponed to {time} and keeps that time. To change it, postpone \
                 the showing again. The new time may also be written here."
            );
            faults.note(format!("{}.starts_at", showing.at), message);
        }
    }
}

/// Adds a note for each showing that is not sold.
pub(super) fn note_unsold(unsold: &[UnsoldShowing], faults: &mut ProgrammeFaults) {
    for showing in unsold {
        let UnsoldShowing { name, goes_on, .. } = showing;
        let message = if showing.is_running {
            format!("This showing is not sold: it may be {goes_on}, which has begun.")
        } else {
            format!(
                "This showing is not sold: it may be {goes_on}, which goes on as it was sold, or \
                 needs its hall. To sell it, import again and match {goes_on}={name} if it is that \
                 showing, or cancel {goes_on}."
            )
        };
        faults.note(&showing.at, message);
    }
}

/// Returns the size of a programme and what it changed.
pub(super) fn summary(programme: &Programme, put: &ProgrammeOutcome) -> ProgrammeSummary {
    ProgrammeSummary {
        cities: programme.cities.len(),
        cinemas: programme.cinemas.len(),
        halls: programme.halls.len(),
        films: programme.films.len(),
        showings: programme.showings.len(),
        new_plans: put.plans,
        new_showings: put.new,
        changed_showings: put.changed,
        unsold_showings: 0,
        left_out: Vec::new(),
        earlier: put.changes,
        preview: false,
        notes: Vec::new(),
    }
}
