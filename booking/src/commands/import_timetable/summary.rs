//! What an import tells: what was imported, and what it changes for departures that somebody held
//! or bought.

use fairgate_model::counted::{counted, first_names};
use fairgate_model::ids::ShowId;
use fairgate_model::money::Currency;
use serde::Serialize;

use crate::commands::changed_lines;
use crate::ledger::{
    ChangedShows, DecidedDeparture, DepartureDecision, KeptRun, SwitchedTimetable, UndecidedShow,
    UndecidedTimetable,
};
use crate::rail::import::ImportedRailFeed;
use crate::rail::succession::GONE;

/// How many departures are named that are cancelled without a question.
const GONE_NAMED_MAX: usize = 20;

/// What was imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportedTimetable {
    /// The timetable's version. Importing the same feed again gives the same version.
    pub version: u32,
    /// How many stations there are.
    pub stations: usize,
    /// How many trips there are. Each departure of a headway counts as one trip.
    pub trips: usize,
    /// How many calls at stations the feed's trips have. A trip with headways counts once.
    pub calls: usize,
    /// How many of the feed's trips have gaps in their `stop_sequence`. A trip with headways counts
    /// once.
    pub trips_with_gaps: usize,
    /// Notes about things that are worth knowing, but are not faults.
    pub notes: Vec<String>,
    /// What became of the departures that somebody held or bought.
    pub departures: DepartureChanges,
    /// Whether the import was only tried, and nothing was stored.
    pub preview: bool,
}

/// What an import changes for departures that somebody held or bought, by kind of change. A
/// departure with several changes counts in each of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct DepartureChanges {
    /// They stay as they were.
    pub unchanged: ChangedShows,
    /// They have another number, title or names of stations.
    pub renamed: ChangedShows,
    /// They have other times.
    pub retimed: ChangedShows,
    /// They call at other stations. Baskets with their seats have ended.
    pub recut: ChangedShows,
    /// They leave or arrive so much earlier or later that buyers may give tickets back without a
    /// fee. Tickets, buyers and sums are those of these buyers alone.
    pub moved: ChangedShows,
    /// They have other fares or rules for whoever holds seats from now on.
    pub repriced: ChangedShows,
    /// They go on as they were sold, and nothing more is sold of them.
    pub kept: ChangedShows,
    /// They are cancelled, and their buyers get their money back.
    pub cancelled: ChangedShows,
}

impl DepartureChanges {
    fn count(decided: &[DecidedDeparture]) -> Self {
        let mut changes = Self::default();
        for departure in decided {
            let sold = departure.sold;
            match &departure.decision {
                DepartureDecision::Changed(_, changed) => {
                    if departure.moved.tickets > 0 {
                        changes.moved.add(departure.moved);
                    }
                    let kinds = [
                        (changed.has_other_terms, &mut changes.repriced),
                        (changed.has_other_stops, &mut changes.recut),
                        (changed.has_other_times, &mut changes.retimed),
                        (changed.has_other_names, &mut changes.renamed),
                    ];
                    // A decision may only have opened the sale again.
                    let mut is_unchanged = true;
                    for (has_changed, kind) in kinds {
                        if has_changed {
                            kind.add(sold);
                            is_unchanged = false;
                        }
                    }
                    if is_unchanged {
                        changes.unchanged.add(sold);
                    }
                }
                DepartureDecision::Same(_) | DepartureDecision::Left(_) => {
                    changes.unchanged.add(sold);
                }
                DepartureDecision::Kept(_) => changes.kept.add(sold),
                DepartureDecision::Cancelled(..) => changes.cancelled.add(sold),
            }
        }
        changes
    }

    /// Returns each kind of change that has departures, with its words.
    pub fn kinds(self) -> impl Iterator<Item = (&'static str, ChangedShows)> {
        let kinds = [
            ("unchanged", self.unchanged),
            ("with another number or name", self.renamed),
            ("with other times", self.retimed),
            (
                "at other stations, so that baskets with their seats end",
                self.recut,
            ),
            (
                "leaving or arriving over 15 minutes off, so that buyers may give tickets back free",
                self.moved,
            ),
            ("with other fares or rules for new baskets", self.repriced),
            ("going on as sold, with nothing more sold", self.kept),
            ("cancelled", self.cancelled),
        ];
        kinds.into_iter().filter(|(_, changed)| changed.shows > 0)
    }
}

/// An import that waits for decisions of a person. Nothing was stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UndecidedImport {
    /// What a person must decide.
    pub undecided: Vec<UndecidedShow>,
    /// What the import would change for the other departures that somebody held or bought.
    pub departures: DepartureChanges,
    /// Notes about these other departures.
    pub notes: Vec<String>,
}

impl UndecidedImport {
    /// Makes it from what the ledger refused. `currency` is that of the new timetable.
    pub(super) fn new(refused: UndecidedTimetable, currency: Currency) -> Self {
        Self {
            departures: DepartureChanges::count(&refused.decided),
            notes: departure_notes(&refused.decided, currency),
            undecided: refused.undecided,
        }
    }

    /// Says what would change, a line for each kind of change.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let of = "of the other departures that were held or sold";
        let mut lines = changed_lines(of, self.departures.kinds());
        if !lines.is_empty() {
            let head =
                "nothing was imported; beside what is to be decided, the import would do this:";
            lines.insert(0, head.to_owned());
        }
        lines
    }
}

/// Returns notes about departures that somebody held or bought. `currency` is that of the new
/// timetable.
fn departure_notes(decided: &[DecidedDeparture], currency: Currency) -> Vec<String> {
    let mut notes = unsold_notes(decided);
    notes.extend(gone_note(decided));
    notes.extend(currency_note(decided, currency));
    notes
}

/// Returns notes about the trips that are not sold, because they may be departures that go on as
/// they were sold.
fn unsold_notes(decided: &[DecidedDeparture]) -> Vec<String> {
    let going_on = decided.iter().filter_map(|departure| {
        let (DepartureDecision::Kept(run) | DepartureDecision::Left(run)) = &departure.decision
        else {
            return None;
        };
        Some((&departure.show, run)).filter(|(_, run)| !run.unsold.is_empty())
    });
    let note = |(show, run): (&ShowId, &KeptRun)| {
        let trips = run.unsold.join(", ");
        let matches = run.matches.iter();
        let matches: Vec<String> = matches.map(|new| format!("--match {show}={new}")).collect();
        let again = match &matches[..] {
            [] => String::new(),
            matches => format!(
                "; to sell it again as one of them, import with {}",
                matches.join(" or ")
            ),
        };
        format!(
            "{show} goes on as it was sold, so trips that may be the same are not sold on its day: {trips}{again}"
        )
    };
    going_on.map(note).collect()
}

/// Names the departures that are cancelled without a question, because nobody has an order for
/// them.
fn gone_note(decided: &[DecidedDeparture]) -> Option<String> {
    let is_gone = |departure: &&DecidedDeparture| matches!(&departure.decision, DepartureDecision::Cancelled(reason, _) if reason == GONE);
    let gone = decided.iter().filter(is_gone);
    let gone: Vec<String> = gone.map(|departure| departure.show.to_string()).collect();
    let count = counted(
        gone.len(),
        "departure that was held, but not sold, is not surely part of the new timetable and is cancelled",
        "departures that were held, but not sold, are not surely part of the new timetable and are cancelled",
    );
    (!gone.is_empty()).then(|| format!("{count}: {}", first_names(&gone, GONE_NAMED_MAX)))
}

/// Says how many departures are still sold in another currency than that of the new timetable.
fn currency_note(decided: &[DecidedDeparture], currency: Currency) -> Option<String> {
    let is_sold = |departure: &&DecidedDeparture| {
        matches!(
            departure.decision,
            DepartureDecision::Same(_) | DepartureDecision::Changed(..)
        )
    };
    let others = decided.iter().filter(is_sold);
    let others = others.map(|departure| departure.currency);
    let others: Vec<Currency> = others.filter(|other| *other != currency).collect();
    let first = others.first()?;
    let count = counted(others.len(), "departure", "departures");
    let keep = if others.len() == 1 {
        "keeps its"
    } else {
        "keep their"
    };
    let new = if currency == Currency::NONE {
        "has no currency".to_owned()
    } else {
        format!("is in {}", currency.as_str())
    };
    Some(format!(
        "{count} that somebody held or bought {keep} fares and rules in {}, because the new timetable {new}",
        first.as_str()
    ))
}

/// Returns what an import tells.
pub(super) fn import_summary(
    switched: &SwitchedTimetable,
    preview: bool,
    feed: ImportedRailFeed,
) -> ImportedTimetable {
    let parts = &feed.parts;
    let gaps = |stops: &&Vec<_>| stops.windows(2).any(has_sequence_gap);
    ImportedTimetable {
        version: switched.version,
        stations: parts.stations.len(),
        trips: parts.trips.len(),
        calls: parts.patterns.iter().map(Vec::len).sum(),
        trips_with_gaps: parts.patterns.iter().filter(gaps).count(),
        notes: feed
            .notes
            .into_iter()
            .chain(departure_notes(&switched.decided, parts.currency))
            .collect(),
        departures: DepartureChanges::count(&switched.decided),
        preview,
    }
}

fn has_sequence_gap(pair: &[fairgate_model::timetables::TripStop]) -> bool {
    pair[1].sequence - pair[0].sequence > 1
}
