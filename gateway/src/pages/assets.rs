//! Serves styles, scripts and icons. They are immutable under an address with their version, and
//! revalidated under any other address.

use std::collections::BTreeMap;

use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use fairgate_base::http::Problem;

use super::{PageRoutes, render_problem};

pub(crate) async fn asset(
    State(pages): State<PageRoutes>,
    Path(path): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Response {
    let Some(asset) = waitroom_ui::asset(&path) else {
        return render_problem(&pages, &Problem::not_found("file", &path));
    };
    let versioned = query.get("v").is_some_and(|v| v == waitroom_ui::version());
    let cache = if versioned {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let known = headers
        .get(header::IF_NONE_MATCH)
        .and_then(|tags| tags.to_str().ok())
        .is_some_and(|tags| {
            tags.split(',')
                .any(|tag| tag.trim().trim_start_matches("W/") == asset.etag)
        });
    let etag = HeaderValue::from_str(&asset.etag).unwrap_or(HeaderValue::from_static("\"\""));
    let headers = [
        (header::CACHE_CONTROL, HeaderValue::from_static(cache)),
        (header::ETAG, etag),
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static(asset.content_type),
        ),
    ];
    if known {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, asset.bytes.into_owned()).into_response()
}
