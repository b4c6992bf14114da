//! What may happen to a show after some of its seats were sold: it is cancelled or postponed.

/// A show's fate. A show that takes place as planned has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShowFate {
    /// The show does not take place. Nothing more is sold, and all money goes back.
    Cancelled,
    /// The show takes place at another time, which is in its document.
    Postponed {
        /// When it was postponed, in milliseconds since the epoch.
        since_ms: i64,
        /// Until when those who bought before may give tickets back without a fee, in milliseconds
        /// since the epoch.
        refunds_until_ms: i64,
    },
}

impl ShowFate {
    /// Returns the fate's word in answers and in the ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Postponed { .. } => "postponed",
        }
    }

    /// Returns until when tickets may be given back without a fee, in milliseconds since the epoch;
    /// none if there is no such end.
    #[must_use]
    pub fn refunds_until_ms(self) -> Option<i64> {
        match self {
            Self::Cancelled => None,
            Self::Postponed {
                refunds_until_ms, ..
            } => Some(refunds_until_ms),
        }
    }

    /// Returns the fate with this word, which was written at `since_ms`, and this end of refunds.
    #[must_use]
    pub fn from_stored(word: &str, since_ms: i64, refunds_until_ms: Option<i64>) -> Option<Self> {
        match (word, refunds_until_ms) {
            ("cancelled", _) => Some(Self::Cancelled),
            ("postponed", Some(refunds_until_ms)) => Some(Self::Postponed {
                since_ms,
                refunds_until_ms,
            }),
            _ => None,
        }
    }
}
