//! `gateway apply`: turns an on-sale file into a list of calls, and makes them in order. The demo
//! makes the same calls in process.

use std::path::Path;

use anyhow::{Context, bail};
use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, header};
use fairgate_model::venues::VenueLocation;
use serde_json::{Map, Value, json};
use tower::ServiceExt;

use crate::pages::with_query;

/// One call of the promoter API.
#[derive(Debug, Clone, PartialEq)]
pub struct OnsaleFileCall {
    /// What the call changes, for messages: `venue "arena"`.
    pub what: String,
    /// The path and the query of the call.
    pub path: String,
    /// The call's body, a JSON document.
    pub body: String,
}

/// Where the calls go.
pub enum OnsaleTarget {
    /// The address of another gateway, such as `http://127.0.0.1:8080`.
    Address(String),
    /// The routes of this process.
    InProcess(Router),
}

/// The longest answer (bytes) that is read.
const ANSWER_BYTES_MAX: usize = 8 << 20;

/// Reads the seating plan that an on-sale file names. The error is a text for people.
pub type PlanReader<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

/// Reads an on-sale file into calls: first venues, then shows, then rooms. The paths of seating
/// plans are relative to `folder`.
///
/// # Errors
/// Returns every fault of the file, one a line.
pub fn plan_calls(text: &str, folder: &Path) -> Result<Vec<OnsaleFileCall>, Vec<String>> {
    calls_with_plans(text, &|file: &str| {
        let path = folder.join(file);
        std::fs::read_to_string(&path).map_err(|error| format!("plan {}: {error}", path.display()))
    })
}

/// Reads an on-sale file into calls, as [`plan_calls`] does, with the seating plans that
/// `read_plan` returns.
///
/// # Errors
/// Returns every fault of the file, one a line.
pub fn calls_with_plans(
    text: &str,
    read_plan: &PlanReader<'_>,
) -> Result<Vec<OnsaleFileCall>, Vec<String>> {
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| vec![error.to_string()])?;
    let (mut steps, mut faults) = (Vec::new(), Vec::new());
    for key in table
        .keys()
        .filter(|key| !["venue", "show", "room"].contains(&key.as_str()))
    {
        faults.push(format!(
            "[[{key}]] is not one of [[venue]], [[show]], [[room]]"
        ));
    }
    for kind in ["venue", "show", "room"] {
        let entries = table
            .get(kind)
            .map_or(Some(&[][..]), |value| value.as_array().map(Vec::as_slice));
        let Some(entries) = entries else {
            faults.push(format!("{kind} must be written as [[{kind}]]"));
            continue;
        };
        for (at, entry) in entries.iter().enumerate() {
            match plan_entry(kind, entry, read_plan) {
                Ok(step) => steps.push(step),
                Err(fault) => faults.push(format!("[[{kind}]] number {}: {fault}", at + 1)),
            }
        }
    }
    if faults.is_empty() {
        Ok(steps)
    } else {
        Err(faults)
    }
}

fn plan_entry(
    kind: &str,
    entry: &toml::Value,
    read_plan: &PlanReader<'_>,
) -> Result<OnsaleFileCall, String> {
    if let Some(field) = not_finite(entry) {
        return Err(format!("{field}: nan and inf are not numbers to sell by"));
    }
    let Value::Object(mut document) = to_json(entry) else {
        return Err("is not a table".to_owned());
    };
    let id = match document.remove("id") {
        Some(Value::String(id))
            if !id.is_empty()
                && id
                    .bytes()
                    .all(|byte| byte.is_ascii_graphic() && !b"/?#%".contains(&byte)) =>
        {
            id
        }
        Some(_) => return Err("id is not a slug".to_owned()),
        None => return Err("id is required".to_owned()),
    };
    let path = format!("/v1/promoter/{kind}s/{id}");
    let (path, body) = if kind == "venue" {
        let (query, body) =
            venue(document, read_plan).map_err(|fault| format!("\"{id}\": {fault}"))?;
        (format!("{path}{query}"), body)
    } else {
        (path, Value::Object(document).to_string())
    };
    Ok(OnsaleFileCall {
        what: format!("{kind} \"{id}\""),
        path,
        body,
    })
}

/// Builds the query and the body of a venue. A grid is sent by its name, with the venue's location
/// beside it; a chart is sent as the contents of its file, with the location in the query. Booking
/// reads `fairgate` and `seatsio`, and refuses `pretix` and `csv` as not available.
fn venue(
    mut document: Map<String, Value>,
    read_plan: &PlanReader<'_>,
) -> Result<(String, String), String> {
    let Some(Value::String(plan)) = document.remove("plan") else {
        return Err(
            "plan is required, such as \"grid:20x30\" or \"seatsio:chart.json\"".to_owned(),
        );
    };
    let non_text_field = document.iter().find(|(_, value)| !value.is_string());
    let location: VenueLocation =
        serde_json::from_value(Value::Object(document.clone())).map_err(|error| {
            match non_text_field {
                Some((field, _)) => format!("{field}: {error}"),
                None => error.to_string(),
            }
        })?;
    let location = location.checked().map_err(|faults| {
        let details = faults
            .iter()
            .map(|fault| format!("{}: {}", fault.field, fault.detail));
        details.collect::<Vec<_>>().join("; ")
    })?;
    match plan.split_once(':') {
        Some(("grid", _)) => {
            document.insert("plan".to_owned(), plan.as_str().into());
            Ok((String::new(), Value::Object(document).to_string()))
        }
        Some((format @ ("seatsio" | "fairgate" | "pretix" | "csv"), file)) => {
            let chart = read_plan(file)?;
            let text = |text: &'_ Option<String>| text.clone().unwrap_or_default();
            let query = [
                ("format", format.to_owned()),
                ("name", text(&location.name)),
                ("city", text(&location.city)),
                ("address", text(&location.address)),
                ("time_zone", text(&location.time_zone)),
            ];
            let query = query
                .each_ref()
                .map(|(name, value)| (*name, value.as_str()));
            Ok((with_query("", &query), chart))
        }
        _ => Err(format!(
            "plan \"{plan}\" is not one of fairgate:FILE, seatsio:FILE, pretix:FILE, csv:FILE, grid:ROWSxSEATS"
        )),
    }
}

/// Returns the path of the first number that is not finite. JSON has no such numbers and would send
/// null, which means the default.
fn not_finite(value: &toml::Value) -> Option<String> {
    let below = |name: String, value| {
        let path = not_finite(value)?;
        Some(if path.is_empty() {
            name
        } else {
            format!("{name}.{path}")
        })
    };
    match value {
        toml::Value::Float(number) if !number.is_finite() => Some(String::new()),
        toml::Value::Array(parts) => {
            let mut parts = parts.iter().enumerate();
            parts.find_map(|(at, part)| below(at.to_string(), part))
        }
        toml::Value::Table(table) => {
            let mut fields = table.iter();
            fields.find_map(|(name, value)| below(name.clone(), value))
        }
        _ => None,
    }
}

/// Converts TOML to JSON; times become strings.
fn to_json(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => json!(text),
        toml::Value::Integer(number) => json!(number),
        toml::Value::Float(number) => json!(number),
        toml::Value::Boolean(yes) => json!(yes),
        toml::Value::Datetime(at) => json!(at.to_string()),
        toml::Value::Array(parts) => parts.iter().map(to_json).collect(),
        toml::Value::Table(table) => Value::Object(
            table
                .iter()
                .map(|(key, value)| (key.clone(), to_json(value)))
                .collect(),
        ),
    }
}

/// Makes the calls in order with the promoter's key, and runs `on_applied` after each call that
/// succeeded.
///
/// # Errors
/// Fails at the first call that is refused or gets no answer. The error lists the faults that the
/// refusal names, the calls that were made before the failed one, and the calls that were not
/// tried. All calls can safely be made again.
pub async fn apply(
    steps: &[OnsaleFileCall],
    target: &OnsaleTarget,
    key: &str,
    mut on_applied: impl FnMut(&str),
) -> anyhow::Result<()> {
    for (at, step) in steps.iter().enumerate() {
        let (status, answer) = target.put(step, key).await.with_context(|| {
            format!(
                "{} got no answer, so it may or may not have been applied. {}",
                step.what,
                applied_so_far(steps, at)
            )
        })?;
        if !(200..300).contains(&status) {
            bail!(
                "{} was refused ({status}):\n{}\n{}",
                step.what,
                faults(&answer),
                applied_so_far(steps, at)
            );
        }
        on_applied(&step.what);
    }
    Ok(())
}

/// Describes the calls made before the failed one, the calls not tried after it, and how to
/// continue.
fn applied_so_far(steps: &[OnsaleFileCall], failed: usize) -> String {
    let names = |steps: &[OnsaleFileCall]| {
        let names: Vec<_> = steps.iter().map(|step| step.what.as_str()).collect();
        if names.is_empty() {
            "nothing".to_owned()
        } else {
            names.join(", ")
        }
    };
    format!(
        "Applied before it: {}. Not tried after it: {}. Correct what is wrong and apply the file again: what was applied already is applied again, which changes nothing.",
        names(&steps[..failed]),
        names(&steps[failed + 1..])
    )
}

impl OnsaleTarget {
    async fn put(&self, step: &OnsaleFileCall, key: &str) -> anyhow::Result<(u16, String)> {
        match self {
            Self::Address(address) => {
                let answer = reqwest::Client::new()
                    .put(format!("{}{}", address.trim_end_matches('/'), step.path))
                    .bearer_auth(key)
                    .header(header::CONTENT_TYPE, "application/json")
                    .body(step.body.clone())
                    .send()
                    .await?;
                Ok((answer.status().as_u16(), answer.text().await?))
            }
            Self::InProcess(router) => {
                let request = Request::builder()
                    .method(Method::PUT)
                    .uri(&step.path)
                    .header(header::CONTENT_TYPE, "application/json")
                    .header(header::AUTHORIZATION, format!("Bearer {key}"))
                    .body(Body::from(step.body.clone()))?;
                let answer = match router.clone().oneshot(request).await {
                    Ok(answer) => answer,
                    Err(never) => match never {},
                };
                let status = answer.status().as_u16();
                let bytes = axum::body::to_bytes(answer.into_body(), ANSWER_BYTES_MAX).await?;
                Ok((status, String::from_utf8_lossy(&bytes).into_owned()))
            }
        }
    }
}

/// Formats a refusal as lines: its detail, then each fault that it lists.
fn faults(answer: &str) -> String {
    let Ok(problem) = serde_json::from_str::<Value>(answer) else {
        return answer.to_owned();
    };
    let mut lines = vec![format!(
        "  {}",
        problem["detail"].as_str().unwrap_or(answer)
    )];
    for list in ["problems", "faults"] {
        for fault in problem[list].as_array().into_iter().flatten() {
            let part = |names: &[&str]| {
                names
                    .iter()
                    .find_map(|name| fault[*name].as_str())
                    .unwrap_or_default()
                    .to_owned()
            };
            lines.push(format!(
                "  - {}: {}",
                part(&["field", "at"]),
                part(&["detail", "message"])
            ));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_becomes_calls_for_venues_then_shows_then_rooms() {
        let text = r#"
            [[room]]
            id = "demo"
            opens_at = 2027-01-10T09:00:00+01:00
            [[venue]]
            id = "arena"
            plan = "grid:2x3"
            [[show]]
            id = "n-1"
            prices = { cat1 = 9900 }
        "#;
        let steps = plan_calls(text, Path::new(".")).expect("good");
        let paths: Vec<_> = steps.iter().map(|step| step.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "/v1/promoter/venues/arena",
                "/v1/promoter/shows/n-1",
                "/v1/promoter/rooms/demo"
            ]
        );
        assert_eq!(steps[0].body, r#"{"plan":"grid:2x3"}"#);
        assert_eq!(steps[2].body, r#"{"opens_at":"2027-01-10T09:00:00+01:00"}"#);
    }

    #[test]
    fn the_location_of_a_venue_stands_beside_a_grid_and_in_the_query_of_a_chart() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("chart.json"), "{}").expect("written");
        let venues = |plan: &str, more: &str| {
            let text = format!("[[venue]]\nid = \"arena\"\nplan = \"{plan}\"\n{more}");
            plan_calls(&text, folder.path())
        };
        let location = "city = \"Bad Tölz\"\ntime_zone = \"Europe/Berlin\"";
        let grid = venues("grid:2x3", location).expect("good");
        assert_eq!(grid[0].path, "/v1/promoter/venues/arena");
        let body: Value = serde_json::from_str(&grid[0].body).expect("JSON");
        let told = json!({"plan": "grid:2x3", "city": "Bad Tölz", "time_zone": "Europe/Berlin"});
        assert_eq!(body, told);
        let chart = venues("seatsio:chart.json", location).expect("good");
        assert_eq!(
            chart[0].path,
            "/v1/promoter/venues/arena?format=seatsio&city=Bad%20T%C3%B6lz&time_zone=Europe%2FBerlin"
        );
        for (field, more) in [
            ("name", "name = \"\""),
            ("time_zone", "time_zone = \"Mars/Base\""),
            ("city", "city = 5"),
            ("size", "size = 1"),
        ] {
            let faults = venues("grid:2x3", more).expect_err("bad").join("\n");
            let named = format!("\"arena\": {field}: ");
            assert!(faults.contains(&named), "{faults}");
        }
    }

    #[tokio::test]
    async fn a_refusal_lists_the_applied_calls_and_the_calls_not_tried() {
        let step = |what: &str| OnsaleFileCall {
            what: what.into(),
            path: format!("/{what}"),
            body: String::new(),
        };
        let steps = [step("venue"), step("show"), step("room")];
        let router = Router::new().route("/venue", axum::routing::put(async || "fine"));
        let mut applied = Vec::new();
        let target = OnsaleTarget::InProcess(router);
        let told = apply(&steps, &target, "key", |what| applied.push(what.to_owned()))
            .await
            .expect_err("the second is refused")
            .to_string();
        assert_eq!(applied, ["venue"]);
        for part in [
            "show was refused (404)",
            "Applied before it: venue.",
            "Not tried after it: room.",
            "apply the file again",
        ] {
            assert!(told.contains(part), "{part} in {told}");
        }
    }

    #[test]
    fn a_number_that_is_not_finite_is_a_fault_and_never_the_default() {
        for (number, field) in [
            ("per_s = nan", "per_s"),
            ("per_s = -inf", "per_s"),
            ("per_s = 1e999", "per_s"),
            ("per_network = { soft = inf }", "per_network.soft"),
            (
                "refunds = [{ until_h = 1 }, { until_h = nan }]",
                "refunds.1.until_h",
            ),
        ] {
            let text = format!("[[room]]\nid = \"demo\"\n{number}");
            let faults = plan_calls(&text, Path::new(".")).expect_err("no number");
            let named = format!("[[room]] number 1: {field}: ");
            assert!(faults.join("\n").contains(&named), "{number}: {faults:?}");
        }
    }

    #[test]
    fn every_fault_of_a_file_is_reported() {
        let text = "[[venue]]\nid = \"a\"\n[[venue]]\nid = \"b\"\nplan = \"seatsio:none.json\"\n[[show]]\ntitle = \"x\"\n[[stage]]\nid = \"s\"";
        let faults = plan_calls(text, Path::new("/nowhere"))
            .expect_err("bad")
            .join("\n");
        for part in [
            "[[stage]]",
            "\"a\": plan is required",
            "none.json",
            "[[show]] number 1: id is required",
        ] {
            assert!(faults.contains(part), "{part} in {faults}");
        }
    }
}
