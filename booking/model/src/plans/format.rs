//! The formats in which seating plans come from outside, and a function that reads a plan in any of
//! them.

use super::{PlanImportResult, parse_fairgate, parse_grid, parse_seatsio};

/// A format in which plans come from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanFormat {
    /// Our own format, a JSON document.
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
