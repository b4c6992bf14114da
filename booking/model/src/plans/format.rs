//! The formats of seating plans from outside, and the reader of each format.

use super::{PlanImportResult, parse_fairgate, parse_grid, parse_seatsio};

/// The formats of plans from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanFormat {
    /// The format of our own, a JSON document.
    Fairgate,
    /// A hall of equal rows, written as `ROWSxSEATS`.
    Grid,
    /// A chart of seats.io.
    Seatsio,
}

impl PlanFormat {
    /// Returns the format with this name.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "fairgate" => Some(Self::Fairgate),
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
        PlanFormat::Fairgate => parse_fairgate(text),
        PlanFormat::Grid => parse_grid(text),
        PlanFormat::Seatsio => parse_seatsio(text),
    }
}
