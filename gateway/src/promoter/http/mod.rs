//! The promoter's calls.

pub(crate) mod networks;
mod refusals;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use fairgate_base::http::keys::{KeyedRoutes, PromoterCaller, Role, RoleKeys};
use fairgate_base::http::{BodyText, JsonBody, NoFields, Problem, QueryParams};
use fairgate_rules::room_document::RoomDocumentInput;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::forecast::ForecastReport;
use super::{ManualPhase, PromoterControls, RevokeInput, RoomPatchInput, audit, report};
use crate::ledger::{AuditRow, RoomRow};
use crate::room::RoomView;

impl KeyedRoutes for PromoterControls {
    fn role_keys(&self) -> &RoleKeys {
        &self.keys
    }
}

/// Make or replace a room
#[utoipa::path(put, path = "/v1/promoter/rooms/{room}", tag = "promoter", params(("room" = String, Path,)), request_body = RoomDocumentInput,
    responses((status = 200, description = "The document"), (status = 201, description = "The document"),
        (status = 409, description = "draw_fixed, show_covered"), (status = 422, description = "invalid_field, not_available")))]
pub(crate) async fn put_room(
    State(promoter): State<PromoterControls>,
    Path(id): Path<String>,
    _: PromoterCaller,
    _: QueryParams<NoFields>,
    JsonBody(input): JsonBody<RoomDocumentInput>,
) -> Result<Response, Problem> {
    let (row, is_new) = promoter.put_room(&id, input).await?;
    let status = if is_new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok((status, Json(room_document(&row))).into_response())
}

/// Change live settings
#[utoipa::path(patch, path = "/v1/promoter/rooms/{room}", tag = "promoter", params(("room" = String, Path,)), request_body = RoomPatchInput,
    responses((status = 200, description = "The document"), (status = 422, description = "invalid_field, not_available")))]
pub(crate) async fn patch_room(
    State(promoter): State<PromoterControls>,
    Path(id): Path<String>,
    _: PromoterCaller,
    _: QueryParams<NoFields>,
    JsonBody(patch): JsonBody<RoomPatchInput>,
) -> Result<Json<Value>, Problem> {
    Ok(Json(room_document(&promoter.patch_room(&id, patch).await?)))
}

/// The room's document
#[utoipa::path(get, path = "/v1/promoter/rooms/{room}", tag = "promoter", params(("room" = String, Path,)),
    responses((status = 200, description = "The document"), (status = 404)))]
pub(crate) async fn get_room(
    State(promoter): State<PromoterControls>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Value>, Problem> {
    promoter.keys.require_role(&headers, Role::Viewer)?;
    Ok(Json(room_document(&promoter.rooms.get(&id)?.row())))
}

/// How many codes a room has now, and how well they withstand somebody who guesses.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct CodesAnswer {
    codes: usize,
    /// The logarithm (to base 2) of the number of possible codes for each code of the list. It is
    /// worked out from the shortest code and the kinds of characters in the list.
    withstands_bits: f64,
    /// How long guessing takes, in a sentence.
    guessing: String,
    /// What the promoter should know of a list that withstands less than 40 bits.
    warnings: Vec<String>,
}

/// Replace the codes, one a line
#[utoipa::path(put, path = "/v1/promoter/rooms/{room}/codes", tag = "promoter", params(("room" = String, Path,)),
    request_body(content = String, content_type = "text/plain"),
    responses((status = 200, body = CodesAnswer), (status = 409, description = "draw_fixed"), (status = 422, description = "invalid_field")))]
pub(crate) async fn put_codes(
    State(promoter): State<PromoterControls>,
    Path(id): Path<String>,
    _: PromoterCaller,
    _: QueryParams<NoFields>,
    BodyText(list): BodyText,
) -> Result<Json<CodesAnswer>, Problem> {
    let (codes, strength) = promoter.put_codes(&id, &list).await?;
    Ok(Json(CodesAnswer {
        codes,
        withstands_bits: strength.withstands_bits(),
        guessing: strength.told_time(),
        warnings: strength.warning().into_iter().collect(),
    }))
}

/// How many places were ended.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct RevokeAnswer {
    /// Places that had a visitor.
    revoked: u64,
}

/// End places and their passes
#[utoipa::path(post, path = "/v1/promoter/rooms/{room}/revoke", tag = "promoter", params(("room" = String, Path,)), request_body = RevokeInput,
    responses((status = 200, body = RevokeAnswer), (status = 404, description = "not_found: no such room, or no such place"), (status = 422, description = "invalid_field")))]
pub(crate) async fn revoke(
    State(promoter): State<PromoterControls>,
    Path(id): Path<String>,
    _: PromoterCaller,
    _: QueryParams<NoFields>,
    JsonBody(input): JsonBody<RevokeInput>,
) -> Result<Json<RevokeAnswer>, Problem> {
    Ok(Json(RevokeAnswer {
        revoked: promoter.revoke(&id, &input).await?,
    }))
}

/// Open the lobby now
#[utoipa::path(post, path = "/v1/promoter/rooms/{room}/open", tag = "promoter", params(("room" = String, Path,)), responses((status = 200, body = RoomView)))]
pub(crate) async fn open(
    State(promoter): State<PromoterControls>,
    Path(id): Path<String>,
    _: PromoterCaller,
    _: QueryParams<NoFields>,
    _: JsonBody<NoFields>,
) -> Result<Json<RoomView>, Problem> {
    by_hand(&promoter, &id, ManualPhase::Open).await
}

/// Freeze and draw now
#[utoipa::path(post, path = "/v1/promoter/rooms/{room}/draw", tag = "promoter", params(("room" = String, Path,)), responses((status = 200, body = RoomView)))]
pub(crate) async fn draw(
    State(promoter): State<PromoterControls>,
    Path(id): Path<String>,
    _: PromoterCaller,
    _: QueryParams<NoFields>,
    _: JsonBody<NoFields>,
) -> Result<Json<RoomView>, Problem> {
    by_hand(&promoter, &id, ManualPhase::Draw).await
}

/// Close the room
#[utoipa::path(post, path = "/v1/promoter/rooms/{room}/close", tag = "promoter", params(("room" = String, Path,)), responses((status = 200, body = RoomView)))]
pub(crate) async fn close(
    State(promoter): State<PromoterControls>,
    Path(id): Path<String>,
    _: PromoterCaller,
    _: QueryParams<NoFields>,
    _: JsonBody<NoFields>,
) -> Result<Json<RoomView>, Problem> {
    by_hand(&promoter, &id, ManualPhase::Close).await
}

async fn by_hand(
    promoter: &PromoterControls,
    id: &str,
    change: ManualPhase,
) -> Result<Json<RoomView>, Problem> {
    Ok(Json(promoter.by_hand(id, change).await?))
}

/// The query of the report: its format.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RoomReportQuery {
    format: Option<String>,
}

/// Figures over time.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Report)]
struct RoomReport {
    room: RoomView,
    samples: Vec<report::RoomReportLine>,
    #[serde(flatten)]
    end: ForecastReport,
}

/// Figures over time
#[utoipa::path(get, path = "/v1/promoter/rooms/{room}/report", tag = "promoter", params(("room" = String, Path,), ("format" = Option<String>, Query, description = "csv")),
    responses((status = 200, body = RoomReport)))]
pub(crate) async fn get_report(
    State(promoter): State<PromoterControls>,
    Path(id): Path<String>,
    headers: HeaderMap,
    QueryParams(query): QueryParams<RoomReportQuery>,
) -> Result<Response, Problem> {
    promoter.keys.require_role(&headers, Role::Viewer)?;
    let room = promoter.rooms.get(&id)?;
    let samples = promoter.rooms.ledger().samples(&id).await?;
    match query.format.as_deref() {
        None | Some("json") => {
            let forecasts = &promoter.forecasts;
            let end = forecasts.report(&promoter.rooms, &room, &samples).await;
            let room = RoomView::fresh(&promoter.rooms, &room).await;
            let samples = samples.into_iter().map(Into::into).collect();
            let report = RoomReport { room, samples, end };
            Ok(Json(report).into_response())
        }
        Some("csv") => Ok((
            [(header::CONTENT_TYPE, "text/csv; charset=utf-8")],
            report::to_csv(&samples),
        )
            .into_response()),
        Some(other) => Err(Problem::invalid_field(
            "format",
            format!("\"{other}\" is neither json nor csv. Nothing was changed."),
        )),
    }
}

/// Who changed what.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Audit)]
pub(crate) struct RoomAudit {
    /// Whether every row has the right number and hash, and follows the row before it.
    intact: bool,
    rows: Vec<AuditRow>,
}

/// Who changed what, hash-chained
#[utoipa::path(get, path = "/v1/promoter/rooms/{room}/audit", tag = "promoter", params(("room" = String, Path,)), responses((status = 200, body = RoomAudit)))]
pub(crate) async fn get_audit(
    State(promoter): State<PromoterControls>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<RoomAudit>, Problem> {
    promoter.keys.require_role(&headers, Role::Viewer)?;
    promoter.rooms.get(&id)?;
    let rows = promoter.rooms.ledger().audit(&id).await?;
    Ok(Json(RoomAudit {
        intact: audit::is_intact(&rows),
        rows,
    }))
}

fn room_document(row: &RoomRow) -> Value {
    super::shown::document_json(&row.document, &row.room)
}
