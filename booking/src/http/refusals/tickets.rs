//! Builds the problems for tickets that cannot be shown.

use fairgate_base::http::{Problem, ProblemCode};

use crate::tickets::TicketRefusal;

impl From<TicketRefusal> for Problem {
    fn from(refusal: TicketRefusal) -> Self {
        match refusal {
            TicketRefusal::NoSuchTicket(id) => Self::not_found("ticket", &id),
            TicketRefusal::NoSuchShow(show) => Self::not_found("show", show.as_str()),
            TicketRefusal::Unsignable => Self::new(
                ProblemCode::TicketTooLong,
                "The ticket is yours, but its code could not be drawn. Show the order at the door.",
            ),
            TicketRefusal::Ledger(error) => error.into(),
        }
    }
}
