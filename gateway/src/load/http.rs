//! Turns refusals because of load into problems with the time to come back.

use fairgate_base::http::{Problem, ProblemCode};

use super::LoadRefusal;

impl From<LoadRefusal> for Problem {
    fn from(refusal: LoadRefusal) -> Self {
        match refusal {
            LoadRefusal::JoinsShed { wait_s } => Self::new(
                ProblemCode::TooManyJoins,
                format!("You have no place yet, and nobody has lost one. Come back in {wait_s} s: until the draw it does not matter who joins first, and after it a place is given as soon as you are back."),
            )
            .with_title("So many people are joining that new joins must wait a moment")
            .with_member("reason", "overload")
            .retry_after(wait_s),
            LoadRefusal::HoldsShed { wait_s } => Self::new(
                ProblemCode::Busy,
                format!("No seats were held, and nothing of yours was changed: what you hold already stays held and can be paid as usual. Try again in {wait_s} s."),
            )
            .retry_after(wait_s),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_its_status_its_code_and_the_time_to_come_back() {
        for (refusal, status, code) in [
            (
                LoadRefusal::JoinsShed { wait_s: 7 },
                429,
                ProblemCode::TooManyJoins,
            ),
            (LoadRefusal::HoldsShed { wait_s: 7 }, 503, ProblemCode::Busy),
        ] {
            let problem = Problem::from(refusal);
            assert_eq!((problem.status.as_u16(), problem.code), (status, code));
            assert_eq!(problem.json_document()["retry_after_s"], 7);
        }
    }
}
