//! Turns the line's refusals into problems.

use fairgate_base::clock::rfc3339;
use fairgate_base::http::{Problem, ProblemCode};
use fairgate_pass::PlaceError;
use serde_json::json;

use crate::challenge::{ChallengeRefusal, ProviderRefusal};
use crate::guard::GuardRefusal;
use crate::line::claim::{NotCalledYet, PassClaimRefusal};
use crate::line::join::JoinRefusal;
use crate::line::rejoin::PlaceRefusal;
use crate::line::wishes::WishRefusal;
use crate::line::{MoveRefusal, NetworkRefusal, NoChallenge};
use crate::store::StoreJoinRefusal;

impl From<PlaceRefusal> for Problem {
    fn from(refusal: PlaceRefusal) -> Self {
        match refusal {
            PlaceRefusal::Required { room } => Self::new(
                ProblemCode::PlaceRequired,
                "This call needs a place, as the cookie or as \"Authorization: Bearer …\". Nothing was changed. Join first.",
            )
            .with_member("join", format!("/v1/rooms/{room}/places")),
            PlaceRefusal::Invalid(PlaceError::Expired) => Self::new(
                ProblemCode::PlaceInvalid,
                "This place has expired: places in this room last one day. Nothing was changed. Join again.",
            ),
            PlaceRefusal::Invalid(error) => {
                place_invalid("What was shown is not a place in this room.", &error)
            }
            PlaceRefusal::Unknown => {
                place_invalid("What was shown is not a place in this room.", &refusal)
            }
            PlaceRefusal::Left => Self::new(
                ProblemCode::PlaceLeft,
                "You left the line with this place, or it was lost when the records of this sale went back to an older state. It cannot be used again. Nothing else was changed. You may join again; you will get a new number.",
            ),
            PlaceRefusal::Revoked { note } => revoked(
                "The promoter of this on-sale has ended your place, so it gives no pass any more, and joining again with it is not possible.",
                &note,
            ),
            PlaceRefusal::Cleared { note } => revoked(
                "The promoter of this on-sale has ended all places of this room. You may join again without the old place; you will get a new number.",
                &note,
            )
            .with_member("reason", "cleared"),
            PlaceRefusal::Store(failure) => failure.into(),
        }
    }
}

/// Builds the problem 403 `revoked`. `note` is what the promoter tells the visitor.
fn revoked(summary: &str, note: &str) -> Problem {
    let reason_given = if note.is_empty() {
        String::new()
    } else {
        format!(" The reason given: {note}.")
    };
    let detail = format!(
        "{summary}{reason_given} What you hold or ordered is not touched. If this is a mistake, ask the promoter and give the request id."
    );
    Problem::new(ProblemCode::Revoked, detail).with_member("note", note)
}

fn place_invalid(summary: &str, error: &dyn std::fmt::Display) -> Problem {
    Problem::new(
        ProblemCode::PlaceInvalid,
        format!(
            "{summary} Nothing was changed. Use the place exactly as this room gave it, or join again. ({error})"
        ),
    )
}

impl From<JoinRefusal> for Problem {
    fn from(refusal: JoinRefusal) -> Self {
        match refusal {
            JoinRefusal::NotAvailable { field, why } => Self::not_available(
                field,
                format!(
                    "{field} is not available: {why}. Nothing was changed; leave the field out and join again."
                ),
            ),
            JoinRefusal::SecretMalformed => Self::invalid_field(
                "secret",
                "secret must be 64 hex digits: 32 random bytes. Nothing was changed; leave it out to get one.",
            ),
            JoinRefusal::RoomClosed => room_closed(),
            JoinRefusal::NotOpen { opens_at_ms } => {
                let opens_at = rfc3339(opens_at_ms);
                Self::new(
                    ProblemCode::NotOpen,
                    format!("The room opens at {opens_at}. You have no place yet, and nobody else has. Come back then."),
                )
                .with_member("opens_at", opens_at)
            }
            JoinRefusal::Move(refusal) => refusal.into(),
            JoinRefusal::Place(refusal) => refusal.into(),
            JoinRefusal::Load(refusal) => refusal.into(),
            JoinRefusal::Guard(refusal) => refusal.into(),
            JoinRefusal::Line(StoreJoinRefusal::CodeInvalid { .. }) => Self::new(
                ProblemCode::CodeInvalid,
                "This room needs one of its codes, and you sent none or a wrong one. You have no place yet, and no code was used. Check your code letter by letter, and join with it.",
            )
            .with_member("field", "code"),
            JoinRefusal::Line(StoreJoinRefusal::CodeUsed) => Self::new(
                ProblemCode::CodeUsed,
                "A code gives one place, and this one has given it. Nothing was changed. If it was you, come back with the browser you joined with.",
            )
            .with_member("field", "code"),
            JoinRefusal::Line(StoreJoinRefusal::CodesPaused(paused)) => {
                let wait_s = paused.wait_ms.unsigned_abs().div_ceil(1_000);
                GuardRefusal::CodesPaused { wait_s }.into()
            }
            JoinRefusal::Network(refusal) => refusal.into(),
            JoinRefusal::Line(StoreJoinRefusal::Toll(_)) => NetworkRefusal::ChallengeMissing.into(),
            JoinRefusal::Line(StoreJoinRefusal::Store(failure)) => failure.into(),
        }
    }
}

impl From<MoveRefusal> for Problem {
    fn from(refusal: MoveRefusal) -> Self {
        let (code, summary) = match refusal {
            MoveRefusal::Invalid => (
                ProblemCode::CodeInvalid,
                "This code does not bring a place of this room to another device.",
            ),
            MoveRefusal::Expired => (
                ProblemCode::CodeInvalid,
                "This code has expired. A code works for five minutes.",
            ),
            MoveRefusal::Used => (
                ProblemCode::CodeUsed,
                "This code was used before. A code works only once.",
            ),
            MoveRefusal::Place(refusal) => return refusal.into(),
            MoveRefusal::Guard(refusal) => return refusal.into(),
        };
        let summary = format!(
            "{summary} Nothing was changed, and the place is kept on the device that has it. Make a new code there."
        );
        Self::new(code, summary)
            .with_member("field", "move")
            .with_member("reason", "move")
    }
}

impl From<WishRefusal> for Problem {
    fn from(refusal: WishRefusal) -> Self {
        match refusal {
            WishRefusal::RoomClosed => room_closed(),
            WishRefusal::Claimed => Self::new(
                ProblemCode::AlreadyClaimed,
                "You have your pass, so you choose your seats yourself now. Your wishes were not changed. Open the seats.",
            ),
            WishRefusal::NotTaken(why) => Self::not_available(
                "wishes",
                format!(
                    "This room takes no wishes: {why}. Nothing was changed, and your place is kept. Choose your seats when your turn comes."
                ),
            ),
            WishRefusal::NotKnown => Self::new(
                ProblemCode::SeatsNotReady,
                "We don't know yet what is on sale here. Your wishes were not changed, and your place is kept. Try again in a few seconds.",
            )
            .retry_after(3),
            WishRefusal::Guard(refusal) => refusal.into(),
            WishRefusal::Faults(faults) => wrong_wishes(&faults),
            WishRefusal::Store(failure) => failure.into(),
        }
    }
}

/// Builds 422 `invalid_field`, which lists all faults.
fn wrong_wishes(faults: &[(String, String)]) -> Problem {
    let fault = |(field, detail): &(String, String)| format!("{field}: {detail}");
    let texts: Vec<_> = faults.iter().map(fault).collect();
    let detail = format!(
        "{}. Your wishes were not changed. Correct this, and send all of them again.",
        texts.join("; ")
    );
    let problems: Vec<_> = faults
        .iter()
        .map(|(field, detail)| json!({"field": field, "detail": detail}))
        .collect();
    let field = faults.first().map_or("wishes", |(field, _)| field);
    Problem::invalid_field(field, detail).with_member("problems", problems)
}

impl From<PassClaimRefusal> for Problem {
    fn from(refusal: PassClaimRefusal) -> Self {
        match refusal {
            PassClaimRefusal::RoomClosed => room_closed(),
            PassClaimRefusal::NotCalled(not_called) => (*not_called).into(),
            PassClaimRefusal::Place(refusal) => refusal.into(),
            PassClaimRefusal::Network(refusal) => refusal.into(),
            PassClaimRefusal::Ledger(error) => error.into(),
            PassClaimRefusal::Store(failure) => failure.into(),
        }
    }
}

impl From<NetworkRefusal> for Problem {
    fn from(refusal: NetworkRefusal) -> Self {
        let why = match refusal {
            NetworkRefusal::Full => {
                return Self::new(
                    ProblemCode::NetworkFull,
                    "So many people have joined from your network that this room gives it no more places. You have no place yet, and places that were given are kept. Join from another network, such as your phone's own. Operators: raise the room's per_network; if a proxy is in front, see FAIRGATE_TRUSTED_HOPS.",
                );
            }
            NetworkRefusal::FullUnchecked => {
                return Self::new(
                    ProblemCode::NetworkFull,
                    "So many people have joined from your network that this room now checks everybody there for bots. Your browser did not pass the check, or the check cannot be made at the moment. You have no place yet, and places that were given are kept. Open the room in a browser with scripts, try again in a minute, or join from another network, such as your phone's own.",
                )
                .retry_after(60);
            }
            NetworkRefusal::Guard(refusal) => return refusal.into(),
            NetworkRefusal::Denied => {
                return Self::new(
                    ProblemCode::NetworkDenied,
                    "The promoter has closed this room to your network, so nobody joins or claims a pass from it. Nothing was changed: a place, a basket and an order that you have are kept, and what you have begun can be paid. Use another network, such as your phone's own, or write to the promoter if you think that this is a mistake.",
                );
            }
            NetworkRefusal::ChallengeMissing => {
                "This room asks for a small task, because it asks everybody or because many have joined from your network."
            }
            NetworkRefusal::SolutionUsed => "The solution of this task was used before.",
            NetworkRefusal::Provider(ProviderRefusal::Refused) => {
                "The check that tells people from bots was not passed, or its answer is too old or was used before."
            }
            NetworkRefusal::Provider(ProviderRefusal::ForAnother) => {
                "The check was passed for another room, secret or key."
            }
            NetworkRefusal::Provider(ProviderRefusal::Away) => {
                "The service that tells people from bots does not answer, so another task is given in its place."
            }
            NetworkRefusal::Challenge(ChallengeRefusal::Malformed) => {
                "What was sent is not the solution of a task that this site gave."
            }
            NetworkRefusal::Challenge(ChallengeRefusal::ForAnother) => {
                "The task was given for another room, secret or key."
            }
            NetworkRefusal::Challenge(ChallengeRefusal::Expired) => {
                "The task ran out before its solution came."
            }
            NetworkRefusal::Challenge(ChallengeRefusal::NotYet { .. }) => {
                "The wait that replaces the task is not over."
            }
            NetworkRefusal::Challenge(ChallengeRefusal::Wrong) => "The solution is wrong.",
        };
        Self::new(
            ProblemCode::ChallengeFailed,
            format!("{why} Nothing was changed, and if you have a place, you keep it. Ask for your task at /v1/rooms/{{room}}/challenge?holder=, with the SHA-256 of your own secret, solve it, and send the same call again with the solution in \"challenge\"."),
        )
        .with_member("field", "challenge")
    }
}

impl From<NoChallenge> for Problem {
    fn from(none: NoChallenge) -> Self {
        match none {
            NoChallenge::Network(refusal) => refusal.into(),
            NoChallenge::Store(failure) => failure.into(),
            NoChallenge::Challenge(error) => {
                tracing::error!(%error, "a challenge could not be made");
                Self::new(
                    ProblemCode::Internal,
                    "The task could not be made. Nothing was changed. Try again in a minute.",
                )
            }
        }
    }
}

impl From<NotCalledYet> for Problem {
    fn from(not_called: NotCalledYet) -> Self {
        let detail = if not_called.paused {
            "The room is paused, so nobody is let in for the moment. Your place is kept. Look again in a little while."
        } else {
            "It is not your turn yet. Your place is kept. Wait for the call, or look again after the time given here."
        };
        Self::new(ProblemCode::NotCalled, detail)
            .with_member("wait", not_called.wait)
            .with_member("rank", not_called.rank)
            .with_member("ahead", not_called.ahead)
            .with_member("refresh_s", not_called.refresh_s)
            .retry_after(not_called.refresh_s)
    }
}

/// Builds the problem 410 `room_closed`.
#[must_use]
pub fn room_closed() -> Problem {
    Problem::new(
        ProblemCode::RoomClosed,
        "This on-sale is over, so nobody joins and no pass is given any more. Orders you have made are not touched. Look at the start page for other on-sales.",
    )
}
