//! Turns a [`CoverageFailure`] into a problem.

use fairgate_base::http::Problem;

use super::CoverageFailure;

impl From<CoverageFailure> for Problem {
    fn from(failure: CoverageFailure) -> Self {
        match failure {
            CoverageFailure::Ledger(failure) => failure.into(),
            CoverageFailure::Booking(failure) => failure.into(),
        }
    }
}
