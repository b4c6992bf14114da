//! Serves styles, scripts, icons and texts. If the address has the version, browsers keep the asset
//! for a year. Otherwise they ask again each time. Some assets are served only if the address has
//! the version.

use std::borrow::Cow;
use std::collections::BTreeMap;

use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use fairgate_base::http::Problem;
use fairgate_base::http::tagged::TaggedAnswer;

use super::{PageRoutes, render_problem};

/// Serves the service worker of the ticket pages. Its address is below `/t/`, because a worker
/// serves only pages below its own address.
pub(crate) async fn ticket_worker(State(pages): State<PageRoutes>, headers: HeaderMap) -> Response {
    serve(&pages, "script/ticket-worker.js", false, &headers)
}

pub(crate) async fn asset(
    State(pages): State<PageRoutes>,
    Path(path): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Response {
    let versioned = query.get("v").is_some_and(|v| v == waitroom_ui::version());
    serve(&pages, &path, versioned, &headers)
}

fn serve(pages: &PageRoutes, path: &str, versioned: bool, headers: &HeaderMap) -> Response {
    let asset = waitroom_ui::asset(path);
    let Some(asset) = asset.filter(|asset| versioned || !asset.needs_version) else {
        return render_problem(pages, &Problem::not_found("file", path));
    };
    let cache = if versioned {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let answer = TaggedAnswer {
        media_type: asset.content_type,
        etag: asset.etag,
        cache_control: cache,
        body: match asset.bytes {
            Cow::Borrowed(bytes) => Bytes::from_static(bytes),
            Cow::Owned(bytes) => bytes.into(),
        },
    };
    answer.respond(headers)
}
