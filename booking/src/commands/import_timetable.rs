//! `booking import gtfs` and `booking import timetable`: reads a feed, and stores the timetable
//! together with the plans of its trains. The same transaction decides what becomes of the
//! departures that somebody held or bought. It stores everything or nothing.

mod summary;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairgate_base::process::data::DataLockError;
use fairgate_model::counted::counted;
use fairgate_model::ids::VenueId;
use fairgate_model::payments::kind::ProviderKind;
use fairgate_model::timetables::settings::RailFile;
use fairgate_model::timetables::{Timetable, TimetableParts};
use sha2::{Digest, Sha256};

use crate::choices::ImportDecisions;
use crate::ledger::{
    Ledger, LedgerError, NewSeatingPlan, NewTimetable, SwitchedTimetable, TimetableRefused,
};
use crate::open::{self, BookingOpenError};
use crate::rail::import::payable::check_fares_payable;
use crate::rail::import::service_days::sale_days_note;
use crate::rail::import::{RailFeedFault, read_gtfs, read_timetable};
use crate::rail::replacement::TimetableReplacement;
use fairgate_base::config::{SecretSetting, StoreSettings};

use self::summary::import_summary;
pub use self::summary::{DepartureChanges, ImportedTimetable, UndecidedImport};

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
    #[error("{}nothing was imported: {} of the new timetable. Decide about each with --match OLD=NEW (it is that departure), --keep ID (it goes on as sold, and nothing more is sold of it) or --cancel ID (it is cancelled, and its buyers get their money back), and import again", lines(&.0.undecided), counted(.0.undecided.len(), "departure is not surely part", "departures are not surely part"))]
    Undecided(Box<UndecidedImport>),
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
        counter_file: None,
    };
    let (installation, _lock) = open::open_installation(&stores, &wanted.data).await?;
    let ledger = open::open_ledger(&installation).await?;
    let is_preview = wanted.decisions.is_preview;
    let switched = replace_timetable(&ledger, &feed.parts, wanted.decisions, now_ms).await;
    open::close_installation(&installation).await;
    match switched {
        Ok(switched) => Ok(import_summary(&switched, is_preview, feed)),
        Err(TimetableImportError::Undecided(mut undecided)) => {
            undecided.notes.extend(feed.notes);
            Err(TimetableImportError::Undecided(undecided))
        }
        Err(error) => Err(error),
    }
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
            TimetableRefused::Undecided(refused) => {
                let undecided = UndecidedImport::new(*refused, parts.currency);
                TimetableImportError::Undecided(Box::new(undecided))
            }
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
