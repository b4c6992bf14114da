//! Turns the guard's refusals into problems.

use fairgate_base::http::{Problem, ProblemCode};

use super::GuardRefusal;

impl From<GuardRefusal> for Problem {
    fn from(refusal: GuardRefusal) -> Self {
        match refusal {
            GuardRefusal::TooManyJoins { wait_s } => Self::new(
                ProblemCode::TooManyJoins,
                format!("You have no place yet, and nobody has lost one. Try again in {wait_s} s; before the draw the order of joining does not matter."),
            )
            .retry_after(wait_s),
            GuardRefusal::TooManyWaits { wait_s } => Self::new(
                ProblemCode::TooManyJoins,
                format!("Browsers without scripts wait one after the other, and the queue of your network is full. Nothing was changed, and if you have a place, you keep it. Try again in {wait_s} s. A browser with scripts, or another network such as your phone's own, needs no such wait."),
            )
            .with_title("The queue of your network is full")
            .retry_after(wait_s),
            GuardRefusal::TooManyAttempts { wait_s } => Self::new(
                ProblemCode::TooManyAttempts,
                format!("So many wrong codes or keys came from your network that none is looked at for the moment, not even a right one. Nothing was changed, and no code was used. Check yours letter by letter, and send it again in {wait_s} s, or from another network."),
            )
            .retry_after(wait_s),
            GuardRefusal::CodesPaused { wait_s } => Self::new(
                ProblemCode::TooManyJoins,
                format!("So many wrong codes are tried in this room that codes are looked at slowly, right ones, too. Yours was not looked at yet. You have no place yet, and no code was used. Send the same code again in {wait_s} s; the code that was sent first is looked at first."),
            )
            .with_title("Codes are looked at slowly now")
            .with_member("reason", "codes_paused")
            .retry_after(wait_s),
            GuardRefusal::TooManyWishes { wait_s } => Self::new(
                ProblemCode::TooManyWishes,
                format!("You have changed your wishes many times. The last ones are kept, and so is your place. Try again in {wait_s} s."),
            )
            .retry_after(wait_s),
            GuardRefusal::ApiKeyUnknown => Self::new(
                ProblemCode::ApiKeyInvalid,
                "No such key is set here, so nothing was searched. Take the key that the organiser gave you, or leave the X-Api-Key header out: then the quota of your network counts.",
            ),
            GuardRefusal::KeyQuotaUsed { wait_s } => too_many_searches(
                wait_s,
                "This key has used up its quota of searches for the moment.",
            ),
            GuardRefusal::NetworkQuotaUsed { wait_s } => too_many_searches(
                wait_s,
                "So many lists and searches were asked for from your network that others would have to wait for them.",
            ),
        }
    }
}

fn too_many_searches(wait_s: u64, words: &str) -> Problem {
    let detail = format!(
        "{words} Nothing was searched or changed. Try again in {wait_s} s. The first page of a list without a filter counts least. If you search for many people, ask the organiser for an API key."
    );
    Problem::new(ProblemCode::TooManySearches, detail).retry_after(wait_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_its_status_and_code() {
        for (refusal, status, code) in [
            (
                GuardRefusal::TooManyJoins { wait_s: 3 },
                429,
                ProblemCode::TooManyJoins,
            ),
            (
                GuardRefusal::TooManyWaits { wait_s: 3 },
                429,
                ProblemCode::TooManyJoins,
            ),
            (
                GuardRefusal::TooManyWishes { wait_s: 3 },
                429,
                ProblemCode::TooManyWishes,
            ),
            (
                GuardRefusal::TooManyAttempts { wait_s: 3 },
                429,
                ProblemCode::TooManyAttempts,
            ),
            (
                GuardRefusal::CodesPaused { wait_s: 3 },
                429,
                ProblemCode::TooManyJoins,
            ),
            (GuardRefusal::ApiKeyUnknown, 401, ProblemCode::ApiKeyInvalid),
            (
                GuardRefusal::KeyQuotaUsed { wait_s: 3 },
                429,
                ProblemCode::TooManySearches,
            ),
            (
                GuardRefusal::NetworkQuotaUsed { wait_s: 3 },
                429,
                ProblemCode::TooManySearches,
            ),
        ] {
            let problem = Problem::from(refusal);
            assert_eq!((problem.status.as_u16(), problem.code), (status, code));
        }
    }
}
