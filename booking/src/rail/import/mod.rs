//! Timetables from outside. An importer gives the whole [`TimetableParts`] of a timetable or
//! *every* fault it found, each with its file and line, so that whoever made the feed mends it in
//! one go.
//!
//! **Architecture invariant:** the crate csv is named only here.

mod draft;
mod fares;
mod frequencies;
mod gtfs;
pub mod payable;
mod table;
mod timetable;
mod value;

use std::fmt;

pub use gtfs::read_gtfs;
pub use timetable::read_timetable;

use fairgate_model::timetables::TimetableParts;

/// One thing that is wrong with a feed. Nothing of a feed with faults is kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RailFeedFault {
    /// The file's name; empty for the feed as a whole.
    pub file: String,
    /// From 1, the line of titles; 0 for the file as a whole.
    pub line: u64,
    /// Stable, for programs: `duplicate_id`, `bad_time`, …
    pub code: &'static str,
    /// For people: what is wrong.
    pub message: String,
}

impl fmt::Display for RailFeedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            f.write_str(&self.file)?;
            if self.line > 0 {
                write!(f, ":{}", self.line)?;
            }
            f.write_str(": ")?;
        }
        write!(f, "{} ({})", self.message, self.code)
    }
}

/// A feed as it was read: the timetable, and what is in order and worth knowing all the same.
#[derive(Debug)]
pub struct ImportedRailFeed {
    /// The timetable.
    pub parts: TimetableParts,
    /// One sentence each.
    pub notes: Vec<String>,
}

/// What every importer answers.
pub type RailFeedResult = Result<ImportedRailFeed, Vec<RailFeedFault>>;
