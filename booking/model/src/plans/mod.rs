//! Seating plans, and how they are read from outside formats. `format` lists the formats, and each
//! format has a module of its own. An importer returns a whole [`SeatMap`], or *every* fault that
//! it found, each with its position in the document. The author of the plan can therefore correct
//! all faults in one go.

mod categories;
mod draft;
mod fairgate;
mod foreign_json;
mod format;
mod grid;
pub mod pinned;
pub mod seatmap;
mod seatsio;

use std::fmt;

use serde::Serialize;

pub use fairgate::parse_fairgate;
pub use foreign_json::{JsonFault, quote_value};
pub use format::{PlanFormat, parse};
pub use grid::parse_grid;
pub use seatsio::parse_seatsio;

use crate::plans::seatmap::SeatMap;

/// The largest plan that is read at all, in bytes of text.
pub const PLAN_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How many seats and units of general admission a plan may have in all.
pub const PLAN_SEATS_MAX: usize = 500_000;
/// The largest coordinate. A larger one is a mistake. Up to this value, an `f32` is exact enough to
/// keep neighbouring chairs apart.
pub const COORDINATE_MAX: f64 = 1_000_000.0;
/// The largest capacity of one area.
pub const CAPACITY_MAX: u64 = 1_000_000;
/// The longest label, in characters.
pub const LABEL_CHARS_MAX: usize = 100;

/// One fault of a plan. A plan with faults is not stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanFault {
    /// Where the fault is: `sections[2] "Goal Stand 4" › row[0] "A" › seat[11] "12"`, or a line and
    /// column.
    pub at: String,
    /// A stable code for programs: `duplicate_label`, `no_category`, …
    pub code: &'static str,
    /// What is wrong and what to do about it, for people.
    pub message: String,
}

impl fmt::Display for PlanFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.at.is_empty() {
            write!(f, "{} ({})", self.message, self.code)
        } else {
            write!(f, "{}: {} ({})", self.at, self.message, self.code)
        }
    }
}

/// What every importer returns: the map, or all faults.
pub type PlanImportResult = Result<SeatMap, Vec<PlanFault>>;
