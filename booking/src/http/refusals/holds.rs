//! Builds the problems for refused calls that hold, change, extend or order seats.

use fairgate_base::http::{Problem, ProblemCode};
use fairgate_model::counted::counted;
use fairgate_model::holds::HoldPurpose;
use fairgate_model::ids::{HoldId, OrderId};
use fairgate_pass::VisitEndCause;
use serde_json::{Map, json};

use super::stretch::stretch_problem;
use crate::holds::refusal::{HoldRefusal, HoldRefusalOutcome, HoldRequestFault, SeatSuggestion};

/// The most unknown labels that are repeated in an answer.
const LABELS_SHOWN_MAX: usize = 10;
/// The most characters of an unknown label that are repeated in an answer.
const LABEL_SHOWN_MAX: usize = 80;

impl From<HoldRefusal> for Problem {
    fn from(refusal: HoldRefusal) -> Self {
        match refusal {
            HoldRefusal::Stretch(why, HoldRefusalOutcome::NothingHeld) => {
                stretch_problem(&why, "Nothing was held.")
            }
            HoldRefusal::Stretch(why, HoldRefusalOutcome::HoldUnchanged) => {
                stretch_problem(&why, "The hold is as it was.")
            }
            HoldRefusal::Request(fault) => request_problem(fault),
            HoldRefusal::NotForSale(labels) => not_for_sale(labels),
            HoldRefusal::TooManySeats { have, asked, limit } => limit_exceeded(have, asked, limit),
            HoldRefusal::OfferBeyondLimit {
                have,
                offered,
                limit,
            } => offer_beyond_limit(have, offered, limit),
            HoldRefusal::NoBlock => no_block(),
            HoldRefusal::TooFewFree(in_baskets) => too_few_free(in_baskets),
            HoldRefusal::WouldOrphan { labels, suggestion } => would_orphan(labels, suggestion),
            HoldRefusal::SeatsTaken { labels, suggestion } => seats_taken(labels, suggestion),
            HoldRefusal::NotInHold(labels) => not_in_hold(labels),
            HoldRefusal::OtherPurpose(purpose) => other_purpose(purpose),
            HoldRefusal::JourneyHeld { hold, labels } => journey_held(&hold, labels),
            HoldRefusal::JourneyOrdered(order) => journey_ordered(&order),
            HoldRefusal::NotYours => not_yours("hold"),
            HoldRefusal::RoomOver(room) => pass_stopped(&room),
            HoldRefusal::Ledger(error) => error.into(),
            HoldRefusal::Expired
            | HoldRefusal::OfferOver
            | HoldRefusal::Ordered
            | HoldRefusal::NoExtensionsLeft
            | HoldRefusal::PlanChanged
            | HoldRefusal::TermsChanged
            | HoldRefusal::TimeChanged
            | HoldRefusal::ShowCancelled
            | HoldRefusal::NotReady
            | HoldRefusal::SearchesFull(_)
            | HoldRefusal::Unreachable => without_values(&refusal),
        }
    }
}

/// Builds the problem for a refusal that has a fixed text.
fn without_values(refusal: &HoldRefusal) -> Problem {
    let (code, detail) = match refusal {
        HoldRefusal::Ordered => (
            ProblemCode::HoldOrdered,
            "These seats belong to an order by now; nothing was changed. Pay or cancel the order instead.",
        ),
        HoldRefusal::OfferOver => (
            ProblemCode::HoldExpired,
            "This offer ran out or was given back, and its seats go to the next visitor on the waitlist whom they fit. Nothing was charged. The waitlist tells you whether you still wait.",
        ),
        HoldRefusal::NoExtensionsLeft => (
            ProblemCode::NoExtensionsLeft,
            "The hold was extended as often as this show allows. Its deadline is as it was; order the seats before it.",
        ),
        HoldRefusal::PlanChanged => (
            ProblemCode::PlanChanged,
            "The plan changed while you were choosing, or the train got other stops. Nothing was held or charged. Load the seat map again and choose anew.",
        ),
        HoldRefusal::TermsChanged => (
            ProblemCode::TermsChanged,
            "Prices or rules of this show changed after you took these seats. Your hold is as it was, at the prices you saw: order it, or give it back and choose anew.",
        ),
        HoldRefusal::TimeChanged => (
            ProblemCode::TermsChanged,
            "This show begins at another time than when you took these seats. Nothing was ordered or charged, and your seats are still held. Look at the new time; if it suits you, give the seats back and take them again.",
        ),
        HoldRefusal::ShowCancelled => (
            ProblemCode::ShowCancelled,
            "This show does not take place, so no seats of it are sold any more. Nothing was held or charged, and what was paid for it goes back by itself.",
        ),
        HoldRefusal::NotReady => {
            return Problem::new(
                ProblemCode::SeatsNotReady,
                "The seats of this show are not ready yet. Nothing was changed. Try again in a second.",
            )
            .retry_after(1);
        }
        HoldRefusal::SearchesFull(_) => {
            return Problem::new(
                ProblemCode::Busy,
                "Seats are being chosen for very many visitors at once. Nothing was held or changed, and what you hold already stays yours. Try again in 2 s.",
            )
            .retry_after(2);
        }
        HoldRefusal::Unreachable => {
            return Problem::new(
                ProblemCode::SeatsUnreachable,
                "The seats cannot be held or changed at the moment. Nothing was charged, and what you hold or bought stays yours. Try the same again in a few seconds: if this try went through, you will find its seats.",
            )
            .retry_after(2);
        }
        _ => (
            ProblemCode::HoldExpired,
            "Your seats are free again: their time ran out, or they ended before it, as when a train gets other stops or the server starts again. Nothing was charged. Choose seats anew.",
        ),
    };
    Problem::new(code, detail)
}

/// Builds 401 `pass_stopped`.
#[must_use]
pub fn pass_stopped(room: &str) -> Problem {
    no_new_seats(
        ProblemCode::PassStopped,
        room,
        format!(
            "The pass no longer opens anything new, because its place was left or ended by the promoter, or the room was closed. No new seats were held. What you hold or ordered you can still pay, read or give back. /r/{room} says how things stand."
        ),
    )
}

/// Builds 401 `pass_ended`: the visit ended before the pass ran out.
#[must_use]
pub fn pass_ended(room: &str, cause: VisitEndCause) -> Problem {
    let why = match cause {
        VisitEndCause::Idle => "nothing was done with the pass for a while",
        VisitEndCause::Lapses => "several baskets were left until their time ran out",
    };
    no_new_seats(
        ProblemCode::PassEnded,
        room,
        format!(
            "The turn is over, because {why}. No new seats were held. The place in the line is kept, and what you hold or ordered you can still pay, read or give back. For new seats wait at /r/{room} until your turn comes again."
        ),
    )
    .with_member("cause", cause.as_str())
}

/// Builds the problem of a pass that can take nothing new.
#[must_use]
pub fn no_new_seats(code: ProblemCode, room: &str, detail: String) -> Problem {
    Problem::new(code, detail)
        .with_member("room", room)
        .with_member("room_url", format!("/r/{room}"))
}

/// Builds 403 `not_yours`.
#[must_use]
pub fn not_yours(kind: &str) -> Problem {
    let detail = format!(
        "This {kind} belongs to somebody else; nothing was changed. Use the browser it was made in, or its key."
    );
    Problem::new(ProblemCode::NotYours, detail)
}

/// Builds 422 `limit_exceeded`.
#[must_use]
pub fn limit_exceeded(have: u32, more: u64, limit: u32) -> Problem {
    let seats = counted(limit, "seat", "seats");
    let detail = format!(
        "A visitor may have {seats} of this show; you have {have} and asked for {more} more. Nothing was changed. Ask for fewer."
    );
    Problem::new(ProblemCode::LimitExceeded, detail)
        .with_member("limit", limit)
        .with_member("have", have)
        .with_member("asked", more)
}

fn offer_beyond_limit(have: u32, offered: u64, limit: u32) -> Problem {
    let seats = counted(limit, "seat", "seats");
    let detail = format!(
        "A visitor may have {seats} of this show; you have {have} and are offered {offered} more. The offer is as it was. Give back some of your seats and then accept the offer, or give the offer back."
    );
    Problem::new(ProblemCode::LimitExceeded, detail)
        .with_member("limit", limit)
        .with_member("have", have)
        .with_member("asked", offered)
}

fn request_problem(fault: HoldRequestFault) -> Problem {
    match fault {
        HoldRequestFault::AgainWithoutJourneys => Problem::invalid_field(
            "again",
            "again: this show has no journeys; leave it out. Nothing was held.",
        ),
        HoldRequestFault::BestAndNamed => Problem::invalid_field(
            "best",
            "best: ask for the best available or for named seats, not for both. Nothing was held.",
        ),
        HoldRequestFault::NoChannels(field) => Problem::not_available(
            field,
            format!("{field}: this version has no sales channels; leave it out. Nothing was held."),
        ),
        HoldRequestFault::ClassOfHall => Problem::invalid_field(
            "best.class",
            "best.class: classes are for trains; this show has best.categories. Nothing was held.",
        ),
        HoldRequestFault::BadWish(bad) => {
            Problem::invalid_field(&format!("best.{}", bad.field()), bad.to_string())
        }
        HoldRequestFault::NothingAsked => Problem::invalid_field(
            "seats",
            "seats: ask for at least one seat, by seats, areas or best. Nothing was held.",
        ),
        HoldRequestFault::AreasOfTrain => Problem::invalid_field(
            "areas",
            "areas: a train has seats only; ask for them by seats or best. Nothing was held.",
        ),
        HoldRequestFault::NotOnTrains(field) => Problem::invalid_field(
            &format!("best.{field}"),
            format!(
                "best.{field}: on a train the best available is asked for by quantity and class; name seats for anything else. Nothing was held."
            ),
        ),
        HoldRequestFault::PartyOfNobody => Problem::invalid_field(
            "best.quantity",
            "best.quantity: must be 1 or more. Nothing was held.",
        ),
        HoldRequestFault::NoQuantity(field) => {
            Problem::invalid_field(&field, "A quantity is 1 or more. Nothing was held.")
        }
        HoldRequestFault::UnknownSeats { field, labels } => unknown_seats(&field, &labels),
        HoldRequestFault::NamedTwice { field, label } => named_twice(&field, &label),
        HoldRequestFault::StandingPlace { field, label, area } => {
            standing_place(&field, &label, &area)
        }
        HoldRequestFault::NothingToChange => Problem::invalid_field(
            "add",
            "add: name seats to add or to remove. The hold is as it was.",
        ),
        HoldRequestFault::TooManyRemoved(seats_max) => too_many_removed(seats_max),
        HoldRequestFault::NothingLeft => Problem::invalid_field(
            "remove",
            "remove: nothing would be left; give the whole hold back with DELETE. The hold is as it was.",
        ),
    }
}

fn too_many_removed(seats_max: usize) -> Problem {
    let detail = format!("remove: names at most {seats_max} seats. The hold is as it was.");
    Problem::invalid_field("remove", detail)
}

fn named_twice(field: &str, label: &str) -> Problem {
    let detail = format!("\"{label}\" is named twice. Nothing was held. Name every seat once.");
    Problem::new(ProblemCode::DuplicateSeat, detail).with_member("field", field)
}

fn standing_place(field: &str, label: &str, area: &str) -> Problem {
    let detail = format!(
        "\"{label}\" is a standing place; those are held by quantity, as areas: [{{\"label\": \"{area}\", \"quantity\": 1}}]. Nothing was held."
    );
    Problem::new(ProblemCode::UnknownSeat, detail)
        .with_title("A standing place is not a seat")
        .with_member("field", field)
        .with_member("area", area)
}

fn unknown_seats(field: &str, labels: &[String]) -> Problem {
    let shown: Vec<String> = labels
        .iter()
        .take(LABELS_SHOWN_MAX)
        .map(|label| label.chars().take(LABEL_SHOWN_MAX).collect())
        .collect();
    let quoted: Vec<String> = shown.iter().map(|label| format!("\"{label}\"")).collect();
    let detail = format!(
        "This show has no seat {}. Nothing was held. Take labels from the seat map; general admission is asked for by areas.",
        quoted.join(", ")
    );
    Problem::new(ProblemCode::UnknownSeat, detail)
        .with_member("field", field)
        .with_member("seats", shown)
}

fn not_for_sale(labels: Vec<String>) -> Problem {
    let detail = format!(
        "These seats are not for sale: {}. Nothing was held. Choose others.",
        labels.join(", ")
    );
    Problem::new(ProblemCode::NotForSale, detail).with_member("seats", labels)
}

fn not_in_hold(labels: Vec<String>) -> Problem {
    let detail = format!(
        "{} is not in the hold. The hold is as it was.",
        labels.join(", ")
    );
    Problem::new(ProblemCode::UnknownSeat, detail)
        .with_title("A seat is not in the hold")
        .with_member("seats", labels)
        .with_member("field", "remove")
}

fn not_found(reason: &str, detail: String) -> Problem {
    Problem::new(ProblemCode::BestAvailableNotFound, detail).with_member("reason", reason)
}

fn no_block() -> Problem {
    not_found(
        "no_block",
        fairgate_model::choosing::SeatsNotFound::NoBlock.to_string(),
    )
}

fn too_few_free(in_baskets: usize) -> Problem {
    let detail = match in_baskets {
        0 => "Fewer places are free than you asked for. The others that fit are sold, and none is in a basket. Nothing was held. Ask for fewer, or for other places.".to_owned(),
        _ => format!(
            "Fewer places are free than you asked for. {in_baskets} more that fit are held at the moment and may come back within minutes. Nothing was held. Ask for fewer, or try again in a minute."
        ),
    };
    not_found("capacity", detail).with_member("seats_in_baskets", in_baskets)
}

fn would_orphan(labels: Vec<String>, suggestion: Option<Box<SeatSuggestion>>) -> Problem {
    let detail = format!(
        "Your choice would leave {} as a single empty seat. Nothing was held. Move one seat over{}.",
        labels.join(", "),
        or_the_suggestion(suggestion.is_some())
    );
    let problem = Problem::new(ProblemCode::WouldOrphan, detail).with_member("seats", labels);
    with_suggestion(problem, suggestion)
}

fn seats_taken(labels: Vec<String>, suggestion: Option<Box<SeatSuggestion>>) -> Problem {
    let detail = format!(
        "Somebody else has {}. Nothing was held. Choose other seats{}.",
        labels.join(", "),
        or_the_suggestion(suggestion.is_some())
    );
    let problem = Problem::new(ProblemCode::SeatsTaken, detail).with_member("seats", labels);
    with_suggestion(problem, suggestion)
}

fn or_the_suggestion(exists: bool) -> &'static str {
    if exists {
        ", or take the suggestion"
    } else {
        ""
    }
}

fn with_suggestion(problem: Problem, suggestion: Option<Box<SeatSuggestion>>) -> Problem {
    let Some(suggestion) = suggestion else {
        return problem;
    };
    let SeatSuggestion {
        seats,
        areas,
        stretch,
        departs,
    } = *suggestion;
    let mut members = Map::new();
    if !seats.is_empty() {
        members.insert("seats".into(), json!(seats));
    }
    if !areas.is_empty() {
        let areas: Vec<_> = areas
            .iter()
            .map(|(label, quantity)| json!({ "label": label, "quantity": quantity }))
            .collect();
        members.insert("areas".into(), json!(areas));
    }
    if let Some((from, to)) = stretch {
        members.insert("from".into(), json!(from));
        members.insert("to".into(), json!(to));
    }
    if let Some(departs) = departs {
        members.insert("departs".into(), json!(departs));
    }
    problem.with_member("suggestion", members)
}

fn other_purpose(purpose: HoldPurpose) -> Problem {
    let detail = match purpose {
        HoldPurpose::Exchange => {
            "These seats are kept for an exchange, and only that may use them. Nothing was changed. Pay or cancel the exchange's order, or choose other seats."
        }
        HoldPurpose::Offer => {
            "These seats are an offer from the waitlist. Nothing was changed. Accept the offer first, or order the seats or give them back as they are."
        }
        HoldPurpose::LateMoney => {
            "These seats are kept for an order whose payment came late. Nothing was changed. Read that order to see what is asked of you."
        }
        HoldPurpose::Basket => {
            "This is a basket of seats, and what you asked for needs another kind of hold. Nothing was changed. Order the seats, or give them back."
        }
    };
    Problem::new(ProblemCode::HoldPurpose, detail).with_member("purpose", purpose.as_str())
}

fn journey_held(hold: &HoldId, labels: Vec<String>) -> Problem {
    let detail = format!(
        "You hold {} of this train between the same stations. Nothing else was held. Change that hold, order it, or give it back first.",
        labels.join(", ")
    );
    let problem = Problem::new(ProblemCode::JourneyHeld, detail);
    problem
        .with_member("hold", hold)
        .with_member("seats", labels)
}

fn journey_ordered(order: &OrderId) -> Problem {
    let detail = format!(
        "Your order {order} has seats of this train between the same stations. Nothing was held. Look at that order; if you want more seats of this journey, send the same request with \"again\": true."
    );
    Problem::new(ProblemCode::JourneyOrdered, detail).with_member("order", order)
}
