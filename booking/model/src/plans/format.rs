//! The formats of seating plans that are read from outside, and which reader each has.

use super::{PlanImportResult, parse_grid, parse_seatsio};

/// The formats of plans from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanFormat {
    /// `ROWSxSEATS`.
    Grid,
    /// A chart of seats.io.
    Seatsio,
}

impl PlanFormat {
    /// Reads the word by which calls and programs name the format.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "grid" => Some(Self::Grid),
            "seatsio" => Some(Self::Seatsio),
            _ => None,
        }
    }
}

/// Reads a plan in one of the formats.
///
/// # Errors
/// Every fault of the plan.
pub fn parse(format: PlanFormat, text: &str) -> PlanImportResult {
    match format {
        PlanFormat::Grid => parse_grid(text),
        PlanFormat::Seatsio => parse_seatsio(text),
    }
}
