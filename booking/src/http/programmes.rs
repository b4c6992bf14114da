//! The call with which a promoter stores the cinema programme, and its refusals.

use axum::extract::State;
use fairgate_base::http::keys::PromoterCaller;
use fairgate_base::http::{JsonText, Problem, ProblemCode, QueryParams};
use fairgate_model::counted::counted;

use crate::choices::{ImportDecisions, ShowChoices, parse_match, parse_show};
use crate::cinema::read::ProgrammeFault;
use crate::cinema::{ChartSource, ProgrammePutRefusal, ProgrammeSummary};
use crate::http::answers::JsonAnswer;
use crate::http::cinema::CinemaRoutes;

/// Replaces the whole programme with a new one. Each of `match`, `keep` and `cancel` may be
/// repeated, or name several showings with commas between them.
#[utoipa::path(put, path = "/v1/promoter/cinema", tag = "promoter", request_body = Object,
    params(
        ("match" = Option<String>, Query, description = "`OLD=NEW`: the sold showing OLD is the showing NEW of this programme, and keeps its id. NEW is the showing's own `id`, or its hall with its beginning in UTC."),
        ("keep" = Option<String>, Query, description = "This showing goes on as it was sold. Nothing more is sold of it, nor of showings that may be the same."),
        ("cancel" = Option<String>, Query, description = "This showing is cancelled, and its buyers get their money back."),
        ("preview" = Option<bool>, Query, description = "`true`: only says what the programme would change."),
    ),
    responses((status = 200, body = ProgrammeSummary), (status = 409), (status = 422)))]
pub async fn put(
    State(routes): State<CinemaRoutes>,
    _: PromoterCaller,
    QueryParams(query): QueryParams<Vec<(String, String)>>,
    JsonText(body): JsonText,
) -> Result<JsonAnswer, Problem> {
    let decisions = import_decisions(&query)?;
    let now_ms = routes.clock.now_ms();
    let sources = (&ChartSource::Nowhere, Some(&routes.seats));
    let put = routes
        .cinemas
        .put_programme(&body, sources, &decisions, now_ms);
    JsonAnswer::json(200, &put.await.map_err(programme_problem)?)
}

/// Reads what a person decided from the parameters of a call. An empty list of shows counts as not
/// given. `preview` must be written out, so that nothing is imported by a slip.
fn import_decisions(query: &[(String, String)]) -> Result<ImportDecisions, Problem> {
    let (mut matches, mut keep, mut cancel) = (Vec::new(), Vec::new(), Vec::new());
    let mut is_preview = false;
    for (name, value) in query {
        let wrong = |field: &str, why: String| {
            Problem::invalid_field(field, format!("{field}: {why}. Nothing was changed."))
        };
        let values = value.split(',').map(str::trim);
        let values = values.filter(|value| !value.is_empty());
        match name.as_str() {
            "match" => {
                for value in values {
                    matches.push(parse_match(value).map_err(|why| wrong("match", why))?);
                }
            }
            "keep" | "cancel" => {
                let list = if name == "keep" {
                    &mut keep
                } else {
                    &mut cancel
                };
                for value in values {
                    list.push(parse_show(value).map_err(|why| wrong(name, why))?);
                }
            }
            "preview" => {
                is_preview = value
                    .parse()
                    .map_err(|_| wrong("preview", "write it as true or false".to_owned()))?;
            }
            _ => return Err(unknown_parameter(name)),
        }
    }
    let choices = ShowChoices::from_lists(matches, keep, cancel).map_err(|twice| {
        let detail = format!(
            "{twice} is named twice by match, keep or cancel. Nothing was changed. Name it once."
        );
        Problem::new(ProblemCode::InvalidQuery, detail)
    })?;
    Ok(ImportDecisions {
        choices,
        is_preview,
    })
}

fn unknown_parameter(name: &str) -> Problem {
    let name: String = name.chars().take(80).collect();
    let detail = format!(
        "unknown field `{name}`, expected one of `match`, `keep`, `cancel`, `preview`. Nothing was changed. Mend the part after \"?\" in the address."
    );
    Problem::new(ProblemCode::InvalidQuery, detail)
}

fn programme_problem(why: ProgrammePutRefusal) -> Problem {
    match why {
        ProgrammePutRefusal::Faulty(faults) => faulty(&faults),
        ProgrammePutRefusal::PlanInUse(shows) => {
            let shown: Vec<_> = shows
                .iter()
                .take(10)
                .map(|(show, _)| show.as_str())
                .collect();
            let detail = format!(
                "New plans move, drop or rename seats that are held or sold, of {}: {}. Nothing was changed. Keep these seats as they are.",
                counted(shows.len(), "showing", "showings"),
                shown.join(", ")
            );
            let shows: std::collections::BTreeMap<_, _> = shows
                .into_iter()
                .map(|(show, seats)| (show.to_string(), seats))
                .collect();
            Problem::new(ProblemCode::PlanInUse, detail)
                .with_title("A plan is in use")
                .with_member("shows", shows)
        }
        ProgrammePutRefusal::CurrencyInUse(shows) => {
            let detail = format!(
                "currency: {} sold in another currency. Nothing was changed. Keep that currency, or give each of them an id of its own.",
                counted(shows.len(), "showing was", "showings were")
            );
            Problem::new(ProblemCode::CurrencyInUse, detail)
                .with_member("field", "currency")
                .with_member("shows", shows)
        }
        ProgrammePutRefusal::PostponeInstead(shows) => {
            let detail = format!(
                "The programme has another time, hall or film for {} with orders. Nothing was changed. Keep their times, halls and films; or, for another time, tell the buyers first with POST /v1/promoter/shows/{{show}}/postpone and send the programme again; or decide about each with keep=ID (it goes on as it was sold, and nothing more is sold of it) or cancel=ID (its buyers get their money back).",
                counted(shows.len(), "showing", "showings")
            );
            Problem::new(ProblemCode::PostponeInstead, detail).with_member("shows", shows)
        }
        ProgrammePutRefusal::Undecided(showings) => {
            let detail = format!(
                "{} of the new programme. Nothing was changed. Send it again and decide about each with match=OLD=NEW (it is that showing), keep=ID (it goes on as it was sold, and nothing more is sold of it) or cancel=ID (it is cancelled, and its buyers get their money back).",
                counted(showings.len(), "showing is not surely part", "showings are not surely part")
            );
            Problem::new(ProblemCode::ShowingsUndecided, detail).with_member("showings", showings)
        }
        ProgrammePutRefusal::Replaced => Problem::new(
            ProblemCode::ChangedMeanwhile,
            "Shows or programmes were changed at the same time. Nothing was changed by this call. Send the programme again.",
        )
        .with_title("Somebody else changed the catalogue"),
        ProgrammePutRefusal::Ledger(error) => error.into(),
    }
}

fn faulty(faults: &[ProgrammeFault]) -> Problem {
    let first = faults.first().map(ToString::to_string).unwrap_or_default();
    let detail = format!(
        "The programme has {}: {first}. Nothing was stored. Mend every fault and send it again.",
        counted(faults.len(), "fault", "faults; the first")
    );
    Problem::new(ProblemCode::ProgrammeInvalid, detail).with_member("faults", faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<ImportDecisions, Problem> {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        import_decisions(&pairs.collect::<Vec<_>>())
    }

    #[test]
    fn decisions_may_be_repeated_or_have_commas_between_them() {
        let read = read("keep=a,b&match=c=d&keep=e&cancel=&preview=true").expect("decisions");
        let kept: Vec<&str> = read.choices.keep.iter().map(|show| show.as_str()).collect();
        assert_eq!(kept, ["a", "b", "e"]);
        assert_eq!(read.choices.matches.len(), 1);
        assert!(read.choices.cancel.is_empty() && read.is_preview);
    }

    #[test]
    fn a_bad_decision_is_refused_with_its_parameter() {
        for (query, status, told) in [
            ("keep=A", 422, "keep"),
            ("match=a", 422, "OLD=NEW"),
            ("preview=maybe", 422, "preview"),
            ("preview=", 422, "preview"),
            ("keep=a&cancel=a", 400, "a is named twice"),
            ("kept=a", 400, "kept"),
            ("kept=", 400, "kept"),
        ] {
            let refused = read(query).expect_err(query);
            assert_eq!(refused.status.as_u16(), status, "{query}");
            assert!(refused.detail.contains(told), "{}", refused.detail);
        }
    }
}
