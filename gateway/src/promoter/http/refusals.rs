//! Turns the refusals of promoters' calls into problems.

use axum::http::StatusCode;
use fairgate_base::http::{Problem, ProblemCode};
use fairgate_rules::code_strength::CodeStrength;
use fairgate_rules::faults::RoomInputRefusal;
use serde_json::json;

use crate::line::http::room_closed;
use crate::promoter::controls::{CODE_BYTES_MAX, CODES_MAX, PATCH_FIELDS};
use crate::promoter::{RevokeFault, RoomChangeRefusal};
use crate::upstream::BookingFailure;

impl From<RoomChangeRefusal> for Problem {
    fn from(refusal: RoomChangeRefusal) -> Self {
        match refusal {
            RoomChangeRefusal::Document(why) => bad_document_problem(why),
            RoomChangeRefusal::Unknown(unknown) => unknown.into(),
            RoomChangeRefusal::RoomClosed => room_closed(),
            RoomChangeRefusal::Ledger(failure) => failure.into(),
            RoomChangeRefusal::Store(failure) => failure.into(),
            RoomChangeRefusal::Coverage(failure) => failure.into(),
            RoomChangeRefusal::PassesStillOpen(failure) => passes_still_open(failure),
            RoomChangeRefusal::CodeMalformed { line } => Self::invalid_field(
                "codes",
                format!("Line {line} is not a code. A code has 1 to {CODE_BYTES_MAX} bytes of letters, digits and signs, and no control characters. Nothing was changed."),
            )
            .with_member("line", line),
            RoomChangeRefusal::CodeCount => Self::invalid_field(
                "codes",
                format!("Send between 1 and {CODES_MAX} codes, one a line. Nothing was changed."),
            ),
            RoomChangeRefusal::CodesGuessable(strength) => guessable_codes(strength),
            RoomChangeRefusal::Revocation(RevokeFault { field, why }) => {
                Self::invalid_field(field, format!("{why}. No place was ended."))
            }
            RoomChangeRefusal::NoSuchPlace => Self::new(
                ProblemCode::NotFound,
                "Nobody with this visitor id, network or code has a place in this room now. No place was ended. Look at the room's report and audit; a place that was left or revoked before has ended already. What a network got while it was exempt cannot be found by network; revoke those places by visitor or code.",
            )
            .with_title("There is no such place"),
            RoomChangeRefusal::NothingToChange => Self::new(
                ProblemCode::InvalidField,
                format!(
                    "The body names nothing to change. Nothing was changed. Send one or more of {}.",
                    PATCH_FIELDS.join(", ")
                ),
            )
            .with_title("There is no setting in this")
            .with_member("fields", PATCH_FIELDS),
            RoomChangeRefusal::BuiltIn => built_in(),
            RoomChangeRefusal::ShowCovered {
                room,
                other_pattern,
                pattern,
            } => show_covered(&room, &other_pattern, &pattern),
            RoomChangeRefusal::ClosedForGood => closed_for_good(),
            RoomChangeRefusal::TimePassed { fields } => time_passed(&fields),
            RoomChangeRefusal::DrawFixed { fields } => draw_fixed(&fields),
            RoomChangeRefusal::ChangedMeanwhile => changed_meanwhile(),
        }
    }
}

/// Keeps the code and the status of the failure, and says what was done.
fn passes_still_open(failure: BookingFailure) -> Problem {
    let mut problem = Problem::from(failure);
    problem.detail = "The room is closed, and gives no passes. But booking could not be told yet, so passes that visitors have may still hold seats. It is told as soon as it answers. Close the room again to be sure.".to_owned();
    problem
}

fn guessable_codes(strength: CodeStrength) -> Problem {
    let detail = format!(
        "The list has {}, which are guessed too soon. {} Nothing was changed: the room keeps the codes that it had. Put longer codes. {}",
        strength.told_shape(),
        strength.told_time(),
        strength.advice()
    );
    Problem::invalid_field("codes", detail)
        .with_member("withstands_bits", strength.withstands_bits())
}

fn built_in() -> Problem {
    Problem::new(
        ProblemCode::RoomBuiltIn,
        "\"everyday\" sells the walk-ins that no other room names. Nothing was changed. Make a room of your own, or PATCH its live settings.",
    )
}

fn show_covered(room: &str, other_pattern: &str, pattern: &str) -> Problem {
    Problem::new(
        ProblemCode::ShowCovered,
        format!("Room \"{room}\" covers \"{other_pattern}\", so this room cannot cover \"{pattern}\" too. Every show has exactly one room. Nothing was changed. Remove the show from one of the two rooms."),
    )
    .with_member("field", "shows")
    .with_member("room", room)
    .with_member("pattern", other_pattern)
}

fn closed_for_good() -> Problem {
    Problem::new(
        ProblemCode::RoomClosed,
        "Everybody was told that this on-sale is over, so closes_at cannot change any more. Nothing was changed. Make a new room for what is still to be sold.",
    )
    .with_title("The room is closed and stays so")
    .with_status(StatusCode::CONFLICT)
    .with_member("fields", ["closes_at"])
}

fn time_passed(fields: &[&str]) -> Problem {
    Problem::new(
        ProblemCode::DrawFixed,
        format!("What {} stands for has happened already: opens_at can move later until the lobby opens, draw_at until the draw or the sale begins. Nothing was changed. To let nobody in for a while, PATCH paused.", fields.join(", ")),
    )
    .with_title("That time has passed and cannot move later")
    .with_member("fields", fields)
}

fn draw_fixed(fields: &[&str]) -> Problem {
    Problem::new(
        ProblemCode::DrawFixed,
        format!("Visitors have joined under the rules as they stand, so {} cannot change any more. Nothing was changed. A later draw_at is possible until the freeze; it is public and logged.", fields.join(", ")),
    )
    .with_member("fields", fields)
}

fn changed_meanwhile() -> Problem {
    Problem::new(
        ProblemCode::ChangedMeanwhile,
        "The room was changed while this call was on its way. Nothing of this call was done. Read the room again, and send it again.",
    )
}

/// If a field is wrong, builds 422 `invalid_field`. It lists all wrong fields and all fields that
/// are not implemented. Otherwise builds 422 `not_available`. It lists the fields that are not
/// implemented.
fn bad_document_problem(refusal: RoomInputRefusal) -> Problem {
    let as_json = |faults: &[(String, String)]| {
        faults
            .iter()
            .map(|(field, detail)| json!({"field": field, "detail": detail}))
            .collect::<Vec<_>>()
    };
    let as_text = |faults: &[(String, String)]| {
        faults
            .iter()
            .map(|(field, detail)| format!("{field}: {detail}"))
            .collect::<Vec<_>>()
            .join("; ")
    };
    let RoomInputRefusal { bad, unbuilt } = refusal;
    if let Some((field, _)) = bad.first() {
        let detail = format!("{}. Nothing was changed.", as_text(&bad));
        let all_faults: Vec<_> = bad.iter().chain(&unbuilt).cloned().collect();
        return Problem::invalid_field(field, detail).with_member("problems", as_json(&all_faults));
    }
    let field = unbuilt.first().map_or("", |(field, _)| field);
    let detail = format!("{}. Nothing was changed.", as_text(&unbuilt));
    Problem::not_available(field, detail).with_member("problems", as_json(&unbuilt))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(fields: &[&str]) -> Vec<(String, String)> {
        let pair = |field: &&str| ((*field).to_owned(), "is odd".to_owned());
        fields.iter().map(pair).collect()
    }

    #[test]
    fn all_unusable_fields_are_listed_and_the_problem_names_the_first_wrong_one() {
        let problem = bad_document_problem(RoomInputRefusal {
            bad: pairs(&["title", "per_s"]),
            unbuilt: pairs(&["beacon"]),
        });
        assert_eq!(
            (problem.status.as_u16(), problem.code),
            (422, ProblemCode::InvalidField)
        );
        assert_eq!(problem.extra["field"], "title");
        let listed = json!([
            {"field": "title", "detail": "is odd"},
            {"field": "per_s", "detail": "is odd"},
            {"field": "beacon", "detail": "is odd"},
        ]);
        assert_eq!(problem.extra["problems"], listed);
    }

    #[test]
    fn a_field_that_is_not_implemented_is_refused_by_name() {
        let problem = bad_document_problem(RoomInputRefusal {
            bad: Vec::new(),
            unbuilt: pairs(&["beacon"]),
        });
        assert_eq!(
            (problem.code, problem.extra["field"].as_str()),
            (ProblemCode::NotAvailable, Some("beacon"))
        );
    }
}
