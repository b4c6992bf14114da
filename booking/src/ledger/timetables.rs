//! Timetables as the ledger stores them, and what an import decides for each departure that
//! somebody touched.

use std::collections::BTreeSet;
use std::sync::Arc;

use fairgate_databases::LedgerError;
use fairgate_model::ids::{ShowId, VenueId};
use fairgate_model::money::Currency;
use fairgate_model::runs::TrainRun;
use fairgate_model::shows::rules::{ExchangeRule, RefundRule};
use fairgate_model::timetables::KeptDeparture;
use jiff::civil::Date;

use super::{SoldFigures, StoredShow, UndecidedShow};

/// A timetable to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTimetable {
    /// The document.
    pub text: String,
    /// SHA-256 of the document.
    pub digest: [u8; 32],
    /// The seating plan of each kind of train, in the document's order.
    pub plans: Vec<NewSeatingPlan>,
}

/// A seating plan to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSeatingPlan {
    /// The venue of the plan.
    pub venue: VenueId,
    /// The document.
    pub plan: String,
    /// SHA-256 of the document.
    pub digest: [u8; 32],
}

/// A stored timetable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTimetable {
    /// The document.
    pub text: String,
    /// The plan version of each kind of train, in the document's order.
    pub plans: Vec<(VenueId, u32)>,
    /// The ids that departures keep from earlier timetables.
    pub kept: Vec<KeptDeparture>,
}

/// A departure that has a row in the ledger, with what is sold of it.
#[derive(Debug, Clone)]
pub struct TouchedDeparture {
    /// The show, with its run.
    pub show: StoredShow,
    /// The stretches that somebody has bought, each with the numbers of the calls where it begins
    /// and ends.
    pub stretches: BTreeSet<(u16, u16)>,
    /// What is sold of it.
    pub sold: SoldFigures,
    /// Whether somebody has an order for the departure or waits for a seat. If not, somebody may
    /// still hold a seat: only the inventory store knows the holds.
    pub in_use: bool,
}

/// What a new timetable does to a departure that somebody touched.
#[derive(Debug, Clone, PartialEq)]
pub enum DepartureDecision {
    /// It is a trip of the new timetable, and keeps its id.
    Same(TripOnDate),
    /// As [`Self::Same`], with another run or other terms.
    Changed(TripOnDate, ChangedRun),
    /// It goes on as it was sold, and nothing more is sold of it.
    Kept(KeptRun),
    /// It is cancelled, for this reason. Its buyers get their money back.
    Cancelled(String, KeptRun),
    /// It stays as it is, because it has left, or because an earlier import decided about it.
    Left(KeptRun),
}

/// A departure with its new stops, times, number and terms. Its carriages are those that it was
/// sold with. Baskets and orders keep the terms that they were made under.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedRun {
    /// The run.
    pub run: Arc<TrainRun>,
    /// The title that buyers see.
    pub title: String,
    /// The rules for giving tickets back.
    pub refunds: Vec<RefundRule>,
    /// The rule for exchanging seats.
    pub exchange: Option<ExchangeRule>,
    /// Whether it leaves or arrives somewhere at another time than before.
    pub has_other_times: bool,
    /// Whether it has another number, title or names of stations than before.
    pub has_other_names: bool,
    /// Whether it calls at other stations than before, so that its stretches have other legs.
    pub has_other_stops: bool,
    /// Whether it has other fares or rules than before.
    pub has_other_terms: bool,
}

/// A trip of a timetable on a date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TripOnDate {
    /// The trip's id.
    pub trip: String,
    /// The service date.
    pub date: Date,
}

/// A departure that is no trip of the new timetable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptRun {
    /// The line that it runs on.
    pub line: String,
    /// The ids of the trips that may be this departure. Nothing is sold of them.
    pub unsold: Vec<String>,
    /// The ids by which a person chooses those of these trips that have all rides that are sold.
    pub matches: Vec<ShowId>,
}

/// What is decided about the departures that somebody touched.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DepartureDecisions {
    /// The decision about each departure, in the order of the departures. `None` where a person
    /// must decide.
    pub decided: Vec<Option<DepartureDecision>>,
    /// What a person must decide. If there is anything, nothing is stored.
    pub undecided: Vec<UndecidedShow>,
}

/// Decides what becomes of each departure that somebody touched.
///
/// The ledger calls it inside the transaction that replaces the timetable, with the departures as
/// they are then. It has no side effects, because a transaction may run again.
pub type DecideDepartures = Box<dyn Fn(&[TouchedDeparture]) -> DepartureDecisions + Send + Sync>;

/// The change from one timetable to the next.
pub struct TimetableSwitch {
    /// The version of the timetable that the decisions were made for; `None` if there was none.
    pub earlier: Option<u32>,
    /// Decides about the touched departures.
    pub decide: DecideDepartures,
    /// Whether a person decided about some of them, so that even an unchanged timetable changes
    /// something.
    pub has_choices: bool,
    /// Whether the decisions are only wanted to be known, and nothing is stored.
    pub is_preview: bool,
}

/// A decision about a departure, and what is sold of the departure.
#[derive(Debug, Clone, PartialEq)]
pub struct DecidedDeparture {
    /// The show.
    pub show: ShowId,
    /// What is sold of it.
    pub sold: SoldFigures,
    /// The currency in which it is sold, and stays to be sold.
    pub currency: Currency,
    /// What becomes of it.
    pub decision: DepartureDecision,
    /// The part of what is sold that may be given back without a fee, because the train now leaves
    /// or arrives at other times than it was sold with.
    pub moved: SoldFigures,
}

/// What an import changed.
#[derive(Debug, Clone, PartialEq)]
pub struct SwitchedTimetable {
    /// The version of the timetable that is in force.
    pub version: u32,
    /// The decisions about touched departures. Empty if the timetable was in force before.
    pub decided: Vec<DecidedDeparture>,
}

/// A timetable that cannot be stored before a person decides.
#[derive(Debug, Clone, PartialEq)]
pub struct UndecidedTimetable {
    /// What a person must decide.
    pub undecided: Vec<UndecidedShow>,
    /// The decisions about all other touched departures.
    pub decided: Vec<DecidedDeparture>,
}

/// Why a timetable was not stored. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum TimetableRefused {
    /// A person must decide what becomes of these departures.
    #[error("the new timetable does not surely have {} departures that were sold", .0.undecided.len())]
    Undecided(Box<UndecidedTimetable>),
    /// Only a preview was wanted. Has what the import would change.
    #[error("only a preview was wanted")]
    Preview(Box<SwitchedTimetable>),
    /// Somebody else replaced the timetable meanwhile.
    #[error("another timetable was imported at the same time")]
    Replaced,
    /// The ledger could not store it.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}
