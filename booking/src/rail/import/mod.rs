//! Importers of timetables. An importer returns either the whole [`TimetableParts`] of a timetable,
//! or *every* fault that it found, with file and line. So the author of the feed can correct all
//! faults at once.
//!
//! **Architecture invariant:** the crates csv and zip are used only here.

mod archive;
mod built_in;
mod calls;
mod draft;
mod fares;
mod frequencies;
mod gtfs;
mod left_out;
mod optional;
pub mod payable;
pub mod service_days;
mod stops;
mod table;
mod timetable;
mod translations;
mod value;

use std::fmt;

pub use gtfs::read_gtfs;
pub use timetable::read_timetable;

use fairgate_model::timetables::TimetableParts;

/// One thing that is wrong with a feed. Nothing is imported from a feed with faults.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RailFeedFault {
    /// The file's name. It is empty for a fault of the whole feed.
    pub file: String,
    /// The number of the line, counted from 1. Line 1 has the column titles. The number is 0 for a
    /// fault of the whole file.
    pub line: u64,
    /// A stable code for programs, such as `duplicate_id` or `bad_time`.
    pub code: &'static str,
    /// A message for people, which says what is wrong.
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

/// A feed that was read: the timetable, and notes about things that are worth knowing but are not
/// faults.
#[derive(Debug)]
pub struct ImportedRailFeed {
    /// The timetable.
    pub parts: TimetableParts,
    /// The notes, one sentence each.
    pub notes: Vec<String>,
}

/// The result of every importer.
pub type RailFeedResult = Result<ImportedRailFeed, Vec<RailFeedFault>>;
