//! The states of a show's seats over HTTP: as the snapshot frame of the socket, or as JSON. Reads
//! need no pass.

use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use fairgate_base::http::tagged::{SoonReplaced, TaggedAnswer};
use fairgate_base::http::{PathParams, Problem, ProblemCode};
use fairgate_model::grid::CellState;
use fairgate_model::shows::Show;
use sha2::{Digest, Sha256};

use crate::http::catalogue::{CatalogueRoutes, accepts};
use crate::store::VersionedCells;

/// Returns the states of a show's seats: as JSON if `Accept` names it, otherwise as the snapshot
/// frame.
#[utoipa::path(get, path = "/v1/shows/{show}/seats", tag = "booking", params(("show" = String, Path)),
    responses((status = 200), (status = 304), (status = 404)))]
pub async fn seats(
    State(routes): State<CatalogueRoutes>,
    PathParams(show): PathParams<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let show = routes.find_show(&show).await?;
    let packed = routes.seats.packed(&show).await?;
    let (version, cells, packed) =
        packed.ok_or_else(|| Problem::not_found("picture of show", show.id.as_str()))?;
    let vary = [(header::VARY, "accept")];
    if !accepts(&headers, "application/json") {
        let frame = snapshot_frame(version, cells, &packed);
        let headers = [
            (header::CONTENT_TYPE, "application/octet-stream"),
            (header::CACHE_CONTROL, "no-store"),
        ];
        return Ok((vary, headers, frame).into_response());
    }
    let tag = tag(&show, version, &packed);
    let body = routes.encoded_states.find_or_make(tag.clone(), move || {
        let view = VersionedCells::from_packed(version, cells, &packed);
        serde_json::to_vec(&json_states(&show, view)).ok()
    });
    let answer = TaggedAnswer {
        media_type: "application/json",
        etag: tag,
        cache_control: "no-cache",
        body: body.await.ok_or_else(not_encoded)?,
    };
    Ok((vary, Extension(SoonReplaced), answer.respond(&headers)).into_response())
}

pub(super) fn not_encoded() -> Problem {
    Problem::new(
        ProblemCode::Internal,
        "The server could not write its answer, the states of the seats. Nothing was changed; try again.",
    )
}

/// Builds the snapshot frame, which is also the first frame that a socket gets.
fn snapshot_frame(version: u64, cells: u32, packed: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(13 + packed.len());
    frame.push(0x01);
    frame.extend_from_slice(&version.to_le_bytes());
    frame.extend_from_slice(&cells.to_le_bytes());
    frame.extend_from_slice(packed);
    frame
}

/// Returns the tag of the states as JSON: a digest of everything that the JSON depends on.
pub(super) fn tag(show: &Show, version: u64, packed: &Bytes) -> String {
    let digest = Sha256::new()
        .chain_update(&show.plan.geometry.digest)
        .chain_update(version.to_le_bytes())
        .chain_update([u8::from(show.is_cancelled())])
        .chain_update(packed)
        .finalize();
    format!("\"{}\"", hex::encode(&digest[..12]))
}

fn json_states(show: &Show, mut view: VersionedCells) -> serde_json::Value {
    if show.is_cancelled() {
        for state in &mut view.states {
            *state = state.when_cancelled();
        }
    }
    let count = |of| view.states.iter().filter(|state| **state == of).count();
    serde_json::json!({
        "version": view.version.to_string(),
        "free": count(CellState::Free),
        "held": count(CellState::Held),
        "sold": count(CellState::Sold),
        "unavailable": unavailable(show, &view),
    })
}

/// Returns the states of the seats that are not free, by label. A seat with several legs has the
/// worst state of its legs.
fn unavailable(show: &Show, view: &VersionedCells) -> serde_json::Map<String, serde_json::Value> {
    let grid = show.grid();
    let mut states = vec![CellState::Free; grid.seats as usize];
    for (cell, state) in (0..grid.cell_count()).zip(&view.states) {
        if let Some(slot) = states.get_mut(grid.seat_of(cell) as usize) {
            *slot = slot.worse(*state);
        }
    }
    let taken = (0..grid.seats)
        .zip(states)
        .filter(|(_, state)| *state != CellState::Free);
    taken
        .map(|(seat, state)| (show.seat_label(seat).to_owned(), state.as_str().into()))
        .collect()
}
