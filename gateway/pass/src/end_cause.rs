//! Why a visit ended before its pass ran out.

use serde::{Deserialize, Serialize};

/// Why a visit ended before its pass ran out. The visitor keeps the place in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VisitEndCause {
    /// The visitor did nothing for as long as the room allows.
    Idle,
    /// As many baskets lapsed as the room allows.
    Lapses,
}

impl VisitEndCause {
    /// Returns the word for the cause, in stored rows and in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Lapses => "lapses",
        }
    }

    /// Reads the word for a cause.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let mut causes = [Self::Idle, Self::Lapses].into_iter();
        causes.find(|cause| cause.as_str() == word)
    }
}
