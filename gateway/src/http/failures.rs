//! Turns failures of the ledger and the store, and of writing a cookie, into problems.

use fairgate_base::http::{Problem, ProblemCode};

use crate::cookies::CookieNotWritten;
use crate::store::StoreFailure;

impl From<CookieNotWritten> for Problem {
    fn from(_: CookieNotWritten) -> Self {
        Self::new(
            ProblemCode::Internal,
            "A cookie could not be written. Nothing was lost; try again.",
        )
    }
}

impl From<StoreFailure> for Problem {
    fn from(failure: StoreFailure) -> Self {
        match failure {
            StoreFailure::Ledger(error) => error.into(),
            StoreFailure::Unreachable(_) | StoreFailure::NotReady(_) => {
                // The log of warnings says once that the store is away.
                tracing::debug!(error = %failure, "the room store gave no answer");
                Self::new(
                    ProblemCode::LineUnavailable,
                    "Your request could not be recorded for the moment. Places, passes and orders that were given are kept. Try again in a second: what was done already is found again and not done twice.",
                )
                .retry_after(1)
            }
        }
    }
}
