//! A document that is refused, as the answer says it.

use fairgate_base::http::Problem;
use serde_json::json;

use crate::room::Refused;

/// 422 `invalid_field` with every wrong field, or 422 `not_available` with every field that is not built.
pub fn refused(why: Refused) -> Problem {
    let listed = |faults: &[(String, String)]| {
        faults
            .iter()
            .map(|(field, detail)| json!({"field": field, "detail": detail}))
            .collect::<Vec<_>>()
    };
    let told = |faults: &[(String, String)]| {
        faults
            .iter()
            .map(|(field, detail)| format!("{field}: {detail}"))
            .collect::<Vec<_>>()
            .join("; ")
    };
    let Refused { bad, unbuilt } = why;
    if let Some((field, _)) = bad.first() {
        let detail = format!("{}. Nothing was changed.", told(&bad));
        let all: Vec<_> = bad.iter().chain(&unbuilt).cloned().collect();
        return Problem::field(field, detail).with("problems", listed(&all));
    }
    let field = unbuilt.first().map_or("", |(field, _)| field);
    let detail = format!("{}. Nothing was changed.", told(&unbuilt));
    Problem::not_available(field, detail).with("problems", listed(&unbuilt))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(fields: &[&str]) -> Vec<(String, String)> {
        let pair = |field: &&str| ((*field).to_owned(), "is odd".to_owned());
        fields.iter().map(pair).collect()
    }

    #[test]
    fn all_wrong_fields_are_told_and_the_first_one_by_name() {
        let problem = refused(Refused {
            bad: pairs(&["title", "per_s"]),
            unbuilt: pairs(&["beacon"]),
        });
        assert_eq!(
            (problem.status.as_u16(), problem.code),
            (422, "invalid_field")
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
    fn what_is_not_built_is_refused_by_name() {
        let problem = refused(Refused {
            bad: Vec::new(),
            unbuilt: pairs(&["beacon"]),
        });
        assert_eq!(
            (problem.code, problem.extra["field"].as_str()),
            ("not_available", Some("beacon"))
        );
    }
}
