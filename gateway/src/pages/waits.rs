//! Lets a browser without scripts wait instead of solving a challenge.

use fairgate_base::http::{Problem, ProblemCode};
use fairgate_rules::room_document::ChallengePolicy;
use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::challenge::{ChallengeRefusal, GOOD_FOR_MIN};
use crate::line::{NetworkRefusal, NoWait, WaitingLine};
use crate::room::Room;
use crate::web::ClientNetwork;

/// The name of the form field with the ticket of a wait.
pub(super) const WAIT_FIELD: &str = "wait";

/// Returns the problem for a form that `refusal` stopped. If a wait can replace the challenge,
/// begins a wait. The problem then says how long to wait. It also has the ticket that the form
/// sends after the wait. If the wait of `ticket` is not over, that wait goes on and no new one
/// begins.
pub(super) async fn wait_instead(
    waiting_line: &WaitingLine,
    room: &Room,
    network: ClientNetwork,
    ticket: Option<String>,
    refusal: NetworkRefusal,
    now: i64,
) -> Problem {
    let (ticket, ready_at) = match (refusal, ticket) {
        (
            refusal @ (NetworkRefusal::Full
            | NetworkRefusal::FullUnchecked
            | NetworkRefusal::Denied
            | NetworkRefusal::Guard(_)),
            _,
        ) => return refusal.into(),
        (NetworkRefusal::Challenge(ChallengeRefusal::NotYet { ready_at }), Some(ticket)) => {
            (ticket, ready_at)
        }
        _ => {
            let mut rng = StdRng::from_rng(&mut rand::rng());
            match waiting_line.begin_wait(room, network, now, &mut rng).await {
                Ok(begun) => (begun.ticket, begun.ready_at),
                Err(NoWait::Guard(refusal)) => return refusal.into(),
                Err(NoWait::Store(failure)) => return failure.into(),
            }
        }
    };
    let why = if room.row().document.challenge == ChallengePolicy::None {
        "Many people come from your network, so places are given there one after the other."
    } else {
        "This room asks everybody to solve a task. Your browser did not solve it, so you wait instead. Visitors from your network wait one after the other."
    };
    let wait_s = u64::try_from(ready_at - now).unwrap_or(0).div_ceil(1000);
    Problem::new(
        ProblemCode::ChallengeFailed,
        format!("{why} Nothing was changed, and if you have a place, you keep it. Wait {wait_s} seconds, then press the button again. You then have {GOOD_FOR_MIN} minutes to press it."),
    )
    .with_title("Please wait a moment")
    .with_member("wait_ticket", ticket)
    .with_member("wait_s", wait_s)
    .retry_after(wait_s)
}

/// Adds the ticket to the problem of a form that was refused for a reason other than the network.
/// With the ticket, the visitor does not have to wait again.
pub(super) fn keep_ticket(problem: Problem, ticket: Option<&String>) -> Problem {
    match ticket {
        Some(ticket) => problem.with_member("wait_ticket", ticket),
        None => problem,
    }
}
