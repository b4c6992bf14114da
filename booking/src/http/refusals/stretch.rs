//! Builds the problems for refused stretches of a train, and for calls after the end of a sale.

use fairgate_base::http::{Problem, ProblemCode};
use jiff::Timestamp;

use crate::holds::stretch::StretchRefusal;

/// Builds the problem for a refusal. `undone` is a sentence that says what the call did not do.
#[must_use]
pub fn stretch_problem(refusal: &StretchRefusal, undone: &str) -> Problem {
    match refusal {
        StretchRefusal::NoStops(field) => Problem::invalid_field(
            field,
            format!("{field}: this show has no stops; leave it out. {undone}"),
        ),
        StretchRefusal::StationMissing {
            field,
            what,
            train,
            stations,
        } => Problem::invalid_field(
            field,
            format!(
                "{field}: say where the journey {what}, by the code of a station; {train} calls at {}. {undone}",
                stations.join(", ")
            ),
        ),
        StretchRefusal::StationUnknown {
            field,
            shown,
            train,
            stations,
        } => Problem::invalid_field(
            field,
            format!(
                "{field}: {train} does not call at \"{shown}\"; it calls at {}. {undone}",
                stations.join(", ")
            ),
        ),
        StretchRefusal::OtherWay {
            train,
            from,
            to,
            stations,
        } => Problem::invalid_field(
            "to",
            format!(
                "to: {train} does not go from {from} to {to}; it calls at {}, in this order. {undone}",
                stations.join(", ")
            ),
        ),
        StretchRefusal::NotServed {
            field,
            what,
            train,
            station,
        } => Problem::invalid_field(
            field,
            format!(
                "{field}: nobody may get {what} {train} at {station}. {undone} Choose another station or another train."
            ),
        ),
        StretchRefusal::OtherTime {
            train,
            departs,
            leaves,
        } => {
            let leaves: Vec<_> = leaves.iter().map(ToString::to_string).collect();
            let leaves = leaves.join(", ");
            let detail = format!(
                "departs: {train} does not leave there at {departs}, but at {leaves}. {undone} Choose one of these times."
            );
            Problem::invalid_field("departs", detail)
        }
        StretchRefusal::Departed { train, station } => departed(train, station, undone),
        StretchRefusal::SalesEnded { title, since } => sales_ended(title, since, undone),
        StretchRefusal::NoSuchClass { field, shown, sold } => {
            no_such_class(field, shown.as_deref(), sold, undone)
        }
    }
}

fn departed(train: &str, station: &str, undone: &str) -> Problem {
    Problem::new(
        ProblemCode::Departed,
        format!("{train} has left {station}. {undone} Choose a later train."),
    )
    .with_member("from", station)
}

fn sales_ended(title: &str, since: &Timestamp, undone: &str) -> Problem {
    let detail = format!(
        "Seats of {title} were sold until {since}. {undone} Seats that you already hold can still be ordered and paid; for anything else, look for another show."
    );
    Problem::new(ProblemCode::SalesEnded, detail).with_member("since", since)
}

fn no_such_class(field: &str, shown: Option<&str>, sold: &[String], undone: &str) -> Problem {
    if sold.is_empty() {
        let message = format!(
            "{field}: no seat of this train is sold over this stretch. {undone} Choose another \
             train, or other stations."
        );
        return Problem::invalid_field(field, message);
    }
    let advice = shown.map_or_else(
        || "say which class".to_owned(),
        |shown| format!("\"{shown}\" is not sold"),
    );
    let sold = sold.join(", ");
    Problem::invalid_field(
        field,
        format!("{field}: {advice}; this train has {sold} over this stretch. {undone}"),
    )
}
