//! Seating plans, and how they are read from outside, one file a format. An importer gives a whole
//! [`SeatMap`] or *every* fault it found, each with where it stands, so that whoever drew the plan
//! mends it in one go.

mod draft;
mod grid;
pub mod pinned;
mod reader;
pub mod seatmap;
mod seatsio;

use std::fmt;

use serde::Serialize;

pub use grid::parse_grid;
pub use seatsio::parse_seatsio;

use crate::plans::seatmap::SeatMap;

/// The largest plan that is read at all, in bytes of text.
pub const PLAN_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The most seats (with the units of general admission) that a plan may have.
pub const PLAN_SEATS_MAX: usize = 500_000;
/// Positions beyond this are mistakes; within it an `f32` still tells neighbouring chairs apart.
pub const COORDINATE_MAX: f64 = 1_000_000.0;
/// The largest capacity of one area.
pub const CAPACITY_MAX: u64 = 1_000_000;
/// The longest label, in characters.
pub const LABEL_CHARS_MAX: usize = 100;

/// One thing that is wrong with a plan. Nothing of a plan with faults is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanFault {
    /// Where it stands: `sections[2] "Goal Stand 4" › row "A" › seat "12"`, or a line and column.
    pub at: String,
    /// Stable, for programs: `duplicate_label`, `no_category`, …
    pub code: &'static str,
    /// For people: what is wrong and what to do.
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

/// The formats in which plans come from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanFormat {
    /// `ROWSxSEATS`.
    Grid,
    /// A chart of seats.io.
    Seatsio,
}

impl PlanFormat {
    /// Reads the word by which calls and programmes name the format.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "grid" => Some(Self::Grid),
            "seatsio" => Some(Self::Seatsio),
            _ => None,
        }
    }
}

/// Reads a plan.
///
/// # Errors
/// Every fault of the plan.
pub fn parse(format: PlanFormat, text: &str) -> PlanImportResult {
    match format {
        PlanFormat::Grid => parse_grid(text),
        PlanFormat::Seatsio => parse_seatsio(text),
    }
}

/// What every importer answers.
pub type PlanImportResult = Result<SeatMap, Vec<PlanFault>>;
