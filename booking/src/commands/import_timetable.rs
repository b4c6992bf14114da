//! `booking import gtfs` and `booking import timetable`: reads a feed, and stores the timetable
//! together with the plans of its trains. The same transaction decides what becomes of the
//! departures that somebody held or bought. It stores everything or nothing.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairgate_base::process::data::DataLockError;
use fairgate_model::counted::counted;
use fairgate_model::ids::{ShowId, VenueId};
use fairgate_model::payments::kind::ProviderKind;
use fairgate_model::timetables::settings::RailFile;
use fairgate_model::timetables::{Timetable, TimetableParts};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::choices::ImportDecisions;
use crate::ledger::{
    ChangedShows, DecidedDeparture, DepartureDecision, KeptRun, Ledger, LedgerError,
    NewSeatingPlan, NewTimetable, SwitchedTimetable, TimetableRefused, UndecidedShow,
};
use crate::open::{self, BookingOpenError};
use crate::rail::import::payable::check_fares_payable;
use crate::rail::import::service_days::sale_days_note;
use crate::rail::import::{ImportedRailFeed, RailFeedFault, read_gtfs, read_timetable};
use crate::rail::replacement::TimetableReplacement;
use fairgate_base::config::{SecretSetting, StoreSettings};

/// The kind of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RailFeedKind {
    /// GTFS.
    Gtfs,
    /// Three CSV files, with the time zone of their times.
    Timetable {
        /// The zone's IANA name.
        timezone: String,
    },
}

/// What to import, and into which ledger.
#[derive(Debug, Clone)]
pub struct TimetableImport {
    /// The kind of feed.
    pub source: RailFeedKind,
    /// The folder of the feed's files.
    pub folder: PathBuf,
    /// The file of `--rail`, if there is one.
    pub rail: Option<PathBuf>,
    /// The data folder, which has the ledger if there is no database.
    pub data: PathBuf,
    /// The address of the database, if the ledger is in one.
    pub database: Option<String>,
    /// The payment provider. A fare that it never takes is a fault.
    pub payments: ProviderKind,
    /// What a person decided about single departures.
    pub decisions: ImportDecisions,
}

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
            ("stay as they were", self.unchanged),
            ("have another number or name", self.renamed),
            ("have other times", self.retimed),
            (
                "call at other stations, so that baskets with their seats end",
                self.recut,
            ),
            (
                "leave or arrive over 15 minutes off, so that buyers may give tickets back free",
                self.moved,
            ),
            ("have other fares or rules for new baskets", self.repriced),
            ("go on as sold and sell nothing more", self.kept),
            ("are cancelled", self.cancelled),
        ];
        kinds.into_iter().filter(|(_, changed)| changed.shows > 0)
    }
}

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum TimetableImportError {
    /// The feed has faults.
    #[error("{}nothing was imported: {} in {}", lines(.1), counted(.1.len(), "fault", "faults"), .0.display())]
    Feed(PathBuf, Vec<RailFeedFault>),
    /// The file of `--rail` cannot be read.
    #[error("nothing was imported: {} cannot be read: {}", .0.display(), .1)]
    Unread(PathBuf, std::io::Error),
    /// The file of `--rail` has faults.
    #[error("{}nothing was imported: {} in {}", lines(.1), counted(.1.len(), "fault", "faults"), .0.display())]
    Rail(PathBuf, Vec<String>),
    /// The carriages of a kind of train make no valid plan. Has the kind and the reason.
    #[error("nothing was imported: the carriages of {0}: {1}")]
    Stock(String, String),
    /// A running gateway or booking uses the data folder.
    #[error("nothing was imported: a running gateway or booking uses the data folder {}. Stop it, import, and start it again: it reads the new timetable at its start. If the ledger is a database (--database URL), running nodes read a new timetable by themselves.", .0.display())]
    Served(PathBuf),
    /// The ledger cannot be opened.
    #[error("nothing was imported: {0}")]
    NotOpened(#[source] BookingOpenError),
    /// The new timetable does not surely have departures that were sold.
    #[error("{}nothing was imported: {} of the new timetable. Decide about each with --match OLD=NEW (it is that departure), --keep ID (it goes on as sold, and nothing more is sold of it) or --cancel ID (it is cancelled, and its buyers get their money back), and import again", lines(.0), counted(.0.len(), "departure is not surely part", "departures are not surely part"))]
    Undecided(Vec<UndecidedShow>),
    /// Others imported timetables again and again.
    #[error("nothing was imported: other timetables were imported at the same time; try again")]
    Replaced,
    /// The timetable could not be stored.
    #[error("nothing was imported: {0}")]
    Ledger(#[from] LedgerError),
}

impl From<BookingOpenError> for TimetableImportError {
    fn from(error: BookingOpenError) -> Self {
        match error {
            BookingOpenError::Data(DataLockError::Taken(folder)) => Self::Served(folder),
            other => Self::NotOpened(other),
        }
    }
}

/// Writes each of some things on a line of its own.
fn lines<T: fmt::Display>(things: &[T]) -> String {
    things.iter().map(|thing| format!("{thing}\n")).collect()
}

/// Imports a feed as the ledger's next timetable.
///
/// # Errors
/// Returns a [`TimetableImportError`]. The ledger is then unchanged, except perhaps if the error is
/// a [`LedgerError::Unknown`].
pub async fn import_timetable(
    wanted: TimetableImport,
    now_ms: i64,
) -> Result<ImportedTimetable, TimetableImportError> {
    let rail = rail_file(wanted.rail.as_deref())?;
    let read = match &wanted.source {
        RailFeedKind::Gtfs => read_gtfs(&wanted.folder, &rail),
        RailFeedKind::Timetable { timezone } => read_timetable(&wanted.folder, timezone, &rail),
    };
    let mut feed =
        read.map_err(|faults| TimetableImportError::Feed(wanted.folder.clone(), faults))?;
    feed.notes.extend(sale_days_note(&feed.parts, now_ms));
    let limits = wanted.payments.limits(feed.parts.currency);
    check_fares_payable(&feed.parts, limits)
        .map_err(|faults| TimetableImportError::Feed(wanted.folder.clone(), faults))?;
    let stores = StoreSettings {
        database_url: wanted.database.map(SecretSetting),
        redis_url: None,
    };
    let (installation, _lock) = open::open_installation(&stores, &wanted.data).await?;
    let ledger = open::open_ledger(&installation).await?;
    let is_preview = wanted.decisions.is_preview;
    let switched = replace_timetable(&ledger, &feed.parts, wanted.decisions, now_ms).await;
    open::close_installation(&installation).await;
    Ok(import_summary(&switched?, is_preview, feed))
}

/// Puts a timetable in the place of the one in force. `decisions` are what a person decided
/// about single departures. If only a preview is wanted, stores nothing.
///
/// # Errors
/// Returns a [`TimetableImportError`]; nothing was changed then.
pub async fn replace_timetable(
    ledger: &Ledger,
    parts: &TimetableParts,
    decisions: ImportDecisions,
    now_ms: i64,
) -> Result<SwitchedTimetable, TimetableImportError> {
    let timetable = Timetable::new(parts.clone());
    let timetable = timetable.map_err(|error| LedgerError::Corrupt(error.to_string()))?;
    let replacement = TimetableReplacement {
        stored: new_timetable(parts)?,
        timetable: Arc::new(timetable),
        choices: Arc::new(decisions.choices),
        is_preview: decisions.is_preview,
    };
    replacement
        .switch(ledger, now_ms)
        .await
        .map_err(|refused| match refused {
            TimetableRefused::Undecided(all) => TimetableImportError::Undecided(all),
            TimetableRefused::Ledger(error) => error.into(),
            TimetableRefused::Replaced | TimetableRefused::Preview(_) => {
                TimetableImportError::Replaced
            }
        })
}

fn rail_file(path: Option<&Path>) -> Result<RailFile, TimetableImportError> {
    let Some(path) = path else {
        return Ok(RailFile::default());
    };
    let text = std::fs::read_to_string(path)
        .map_err(|error| TimetableImportError::Unread(path.to_owned(), error))?;
    RailFile::parse(&text).map_err(|faults| TimetableImportError::Rail(path.to_owned(), faults))
}

/// Returns a timetable in the form that the ledger stores.
fn new_timetable(parts: &TimetableParts) -> Result<NewTimetable, TimetableImportError> {
    let corrupt = |error: serde_json::Error| LedgerError::Corrupt(error.to_string());
    let mut plans = Vec::new();
    for stock in &parts.stocks {
        let unsound = |error: String| TimetableImportError::Stock(stock.id.clone(), error);
        let venue: VenueId = format!("rail-{}", stock.id)
            .parse()
            .map_err(|error| unsound(format!("{error}")))?;
        let map = stock.seat_map(&parts.classes);
        let map = map.map_err(|error| unsound(error.to_string()))?;
        let plan = serde_json::to_string(&map).map_err(corrupt)?;
        let digest = Sha256::digest(&plan).into();
        plans.push(NewSeatingPlan {
            venue,
            plan,
            digest,
        });
    }
    let text = serde_json::to_string(parts).map_err(corrupt)?;
    Ok(NewTimetable {
        digest: Sha256::digest(&text).into(),
        text,
        plans,
    })
}

/// Returns notes about the trips that are not sold, because they may be departures that go on as
/// they were sold.
fn unsold_notes(switched: &SwitchedTimetable) -> Vec<String> {
    let going_on = switched.decided.iter().filter_map(|departure| {
        let (DepartureDecision::Kept(run) | DepartureDecision::Left(run)) = &departure.decision
        else {
            return None;
        };
        Some((&departure.show, run)).filter(|(_, run)| !run.unsold.is_empty())
    });
    let note = |(show, run): (&ShowId, &KeptRun)| {
        let trips = run.unsold.join(", ");
        format!(
            "{show} goes on as it was sold, so trips that may be the same are not sold on its day: {trips}; to sell it again as one of them, import with --match {show}=ID"
        )
    };
    going_on.map(note).collect()
}

fn import_summary(
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
            .chain(unsold_notes(switched))
            .collect(),
        departures: DepartureChanges::count(&switched.decided),
        preview,
    }
}

fn has_sequence_gap(pair: &[fairgate_model::timetables::TripStop]) -> bool {
    pair[1].sequence - pair[0].sequence > 1
}
