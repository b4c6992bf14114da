//! What may become of a show after seats of it were sold: it is cancelled, or it takes place later.

/// A show's fate; a show that simply takes place has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShowFate {
    /// It does not take place: nothing more is sold, and all money goes back.
    Cancelled,
    /// It takes place at another time, at which its document says it begins.
    Postponed {
        /// Until when buyers may give tickets back without a fee.
        refunds_until_ms: i64,
    },
}

impl ShowFate {
    /// The word in answers and in the ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Postponed { .. } => "postponed",
        }
    }

    /// Until when tickets go back without a fee, where that ends.
    #[must_use]
    pub fn refunds_until_ms(self) -> Option<i64> {
        match self {
            Self::Cancelled => None,
            Self::Postponed { refunds_until_ms } => Some(refunds_until_ms),
        }
    }

    /// Reads both back.
    #[must_use]
    pub fn from_stored(word: &str, refunds_until_ms: Option<i64>) -> Option<Self> {
        match (word, refunds_until_ms) {
            ("cancelled", _) => Some(Self::Cancelled),
            ("postponed", Some(refunds_until_ms)) => Some(Self::Postponed { refunds_until_ms }),
            _ => None,
        }
    }
}
