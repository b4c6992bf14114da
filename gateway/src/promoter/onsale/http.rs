//! `POST /v1/promoter/apply`.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use fairgate_base::http::keys::PromoterCaller;
use fairgate_base::http::{BodyBytes, Problem, ProblemCode, QueryParams, parse_json};
use fairgate_model::counted::counted;
use fairgate_model::onsale::OnsaleReport;
use fairgate_model::shows::coverage::left_off_sale;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{OnsaleFailure, OnsaleOutcome};
use crate::onsale::file::{OnsaleFile, PlanFiles};
use crate::promoter::PromoterControls;

/// `?preview=`
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ApplyQuery {
    /// `true` only reports what the file would change.
    preview: bool,
}

/// An on-sale file as JSON: either its text in `onsale`, or its tables.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[schema(as = Onsale)]
pub(crate) struct ApplyInput {
    /// The file's text, in TOML.
    onsale: Option<String>,
    /// The seating plans that venues name, by the names in the file. A plan in JSON may be sent as
    /// text or as a document.
    #[serde(default)]
    #[schema(value_type = Object)]
    plans: BTreeMap<String, Value>,
    /// Without `onsale`: the tables `venue`, `show` and `room`, each a list.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    tables: Map<String, Value>,
}

/// Apply an on-sale file in one step
#[utoipa::path(post, path = "/v1/promoter/apply", tag = "promoter", params(ApplyQuery),
    request_body(content((ApplyInput = "application/json"), (String = "application/toml"))),
    responses((status = 200, body = OnsaleReport), (status = 409, description = "onsale_conflict: nothing was applied"),
        (status = 422, description = "onsale_invalid: nothing was applied")))]
pub(crate) async fn apply(
    State(promoter): State<PromoterControls>,
    QueryParams(query): QueryParams<ApplyQuery>,
    _: PromoterCaller,
    media_type: OnsaleMediaType,
    BodyBytes(body): BodyBytes,
) -> Result<Json<OnsaleReport>, Problem> {
    let file = read_file(media_type, &body)?;
    // The apply runs in a task of its own. If the promoter hangs up in the middle, it still ends.
    let applying = tokio::spawn(async move { promoter.apply_onsale(&file, query.preview).await });
    let OnsaleOutcome { report, withheld } = applying.await.map_err(|error| {
        tracing::error!(%error, "applying an on-sale file failed");
        Problem::new(
            ProblemCode::Internal,
            "The on-sale file could not be applied as a whole. Apply it again.",
        )
    })?;
    let mut problem = match report {
        Ok(report) if query.preview || report.is_applicable() => return Ok(Json(report)),
        Ok(report) => not_applied(&report, &[]),
        Err(failure) => failure.into(),
    };
    if withheld.is_empty() {
        return Err(problem);
    }
    let withheld = Vec::from_iter(withheld);
    problem.detail = format!("{} {}", problem.detail, left_off_sale(&withheld));
    Err(problem.with_member("off_sale", &withheld))
}

/// The type that the caller gives the file. A file of another type is refused before it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnsaleMediaType {
    Json,
    Toml,
    /// The caller names no type. No TOML file begins with a brace.
    Unnamed,
}

impl<S: Sync> FromRequestParts<S> for OnsaleMediaType {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Some(value) = parts.headers.get(header::CONTENT_TYPE) else {
            return Ok(Self::Unnamed);
        };
        let named = value.to_str().unwrap_or_default().split(';').next();
        match named
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase()
            .as_str()
        {
            "application/json" => Ok(Self::Json),
            "application/toml" => Ok(Self::Toml),
            _ => Err(Problem::new(
                ProblemCode::UnsupportedMediaType,
                "Send the on-sale file as application/toml, or as application/json. Nothing was applied.",
            )),
        }
    }
}

/// Reads the file from a body of JSON or TOML.
fn read_file(media_type: OnsaleMediaType, body: &[u8]) -> Result<OnsaleFile, Problem> {
    let looks_like_json = body.trim_ascii_start().starts_with(b"{");
    if media_type == OnsaleMediaType::Json
        || media_type == OnsaleMediaType::Unnamed && looks_like_json
    {
        return read_json_file(body);
    }
    let text = std::str::from_utf8(body).map_err(|_| {
        Problem::invalid_field(
            "(the whole body)",
            "The on-sale file is not text in UTF-8. Nothing was applied.",
        )
    })?;
    Ok(OnsaleFile::from_toml(text, &PlanFiles::new()))
}

fn read_json_file(body: &[u8]) -> Result<OnsaleFile, Problem> {
    let input: ApplyInput = parse_json(body)?;
    let text_of = |plan: Value| match plan {
        Value::String(text) => text,
        document => document.to_string(),
    };
    let plans = input.plans.into_iter();
    let plans: PlanFiles = plans.map(|(name, plan)| (name, text_of(plan))).collect();
    match input.onsale {
        Some(text) if input.tables.is_empty() => Ok(OnsaleFile::from_toml(&text, &plans)),
        Some(_) => Err(Problem::invalid_field(
            "onsale",
            "onsale: send either the file's text or its tables. Nothing was applied.",
        )),
        None => Ok(OnsaleFile::from_json(input.tables, &plans)),
    }
}

/// Builds the problem of a file with faults or conflicts. `stored_rooms` are the rooms that were
/// stored nevertheless, because booking refused venues and shows only after them.
fn not_applied(report: &OnsaleReport, stored_rooms: &[String]) -> Problem {
    let outcome = match stored_rooms {
        [] => "Nothing was applied.".to_owned(),
        rooms => format!(
            "The rooms of the file were stored before this was found (\"{}\"); its venues and shows were not.",
            rooms.join("\", \"")
        ),
    };
    let first = report.faults.first().map(|fault| {
        let item = fault.item.as_ref();
        let item = item.map(|item| format!("{} \"{}\": ", item.kind.as_str(), item.id));
        format!(
            "{}{}: {}",
            item.unwrap_or_default(),
            fault.field,
            fault.detail
        )
    });
    let problem = match first {
        Some(first) => {
            let count = counted(report.faults.len(), "fault", "faults; the first");
            Problem::new(
                ProblemCode::OnsaleInvalid,
                format!(
                    "The file has {count}: {first}. {outcome} Mend every fault and apply it again."
                ),
            )
        }
        None => {
            let fields: Vec<_> = report
                .conflicts
                .iter()
                .map(|conflict| format!("{} of \"{}\"", conflict.field, conflict.item.id))
                .collect();
            Problem::new(
                ProblemCode::OnsaleConflict,
                format!(
                    "The file changed what somebody set live since it was last applied: {}. {outcome} Write the value that should hold into the file, and apply it again.",
                    fields.join(", ")
                ),
            )
        }
    };
    problem
        .with_member("create", &report.create)
        .with_member("change", &report.change)
        .with_member("conflicts", &report.conflicts)
        .with_member("faults", &report.faults)
        .with_member("warnings", &report.warnings)
}

impl From<OnsaleFailure> for Problem {
    fn from(failure: OnsaleFailure) -> Self {
        match failure {
            OnsaleFailure::ChangedMeanwhile => Self::new(
                ProblemCode::ChangedMeanwhile,
                "Rooms of the file were changed while it was being applied. Nothing was applied. Apply the file again.",
            ),
            OnsaleFailure::Ledger(failure) => failure.into(),
            OnsaleFailure::RoomsUnconfirmed(failure) => {
                let mut problem = Self::from(failure);
                "The ledger did not confirm the rooms of the file, so they may be stored or not. Its venues and shows were not stored. Apply the file again."
                    .clone_into(&mut problem.detail);
                problem
            }
            OnsaleFailure::Booking(failure) => failure.into(),
            OnsaleFailure::Refused {
                stored_rooms,
                report,
            } => not_applied(&report, &stored_rooms),
            OnsaleFailure::RoomsOnly => Self::new(
                ProblemCode::BookingUnanswered,
                "The rooms of the file were stored, and booking did not confirm its venues and shows. Nothing is for sale that was not before, unless booking stored them and its answer was lost. Apply the file again.",
            )
            .with_status(StatusCode::SERVICE_UNAVAILABLE),
        }
    }
}
