//! Builds the problems for parties that cannot join the waitlist.

use fairgate_base::http::Problem;
use fairgate_model::choosing::BestSeatsWishFault;

use super::holds::limit_exceeded;
use super::stretch::stretch_problem;
use crate::waitlist::ask::WaitRefusal;

/// What a refused call did not do.
const NOT_WAITING: &str = "You are not on the waitlist.";

impl From<WaitRefusal> for Problem {
    fn from(refusal: WaitRefusal) -> Self {
        match refusal {
            WaitRefusal::TooManySeats { asked, limit } => limit_exceeded(0, asked, limit),
            WaitRefusal::Stretch(why) => stretch_problem(&why, NOT_WAITING),
            WaitRefusal::ClassOfHall => Self::invalid_field(
                "class",
                format!("class: classes are for trains; this show has categories. {NOT_WAITING}"),
            ),
            WaitRefusal::NotOnTrains(field) => Self::invalid_field(
                field,
                format!(
                    "{field}: on a train one waits for seats of a class; leave it out. {NOT_WAITING}"
                ),
            ),
            WaitRefusal::PartyOfNobody => Self::invalid_field(
                "quantity",
                format!("quantity: must be 1 or more. {NOT_WAITING}"),
            ),
            WaitRefusal::BadWish(bad) => Self::invalid_field(bad.field(), wish_words(&bad)),
        }
    }
}

fn wish_words(bad: &BestSeatsWishFault) -> String {
    let field = bad.field();
    match bad {
        BestSeatsWishFault::Unknown { name, .. } => {
            format!(
                "{field} names {name:?}, which this show does not have. {NOT_WAITING} Choose one that it has."
            )
        }
        BestSeatsWishFault::Invalid { problem, .. } => {
            let problem = problem.replace("best.", "");
            format!("{field} {problem}. {NOT_WAITING}")
        }
    }
}
