//! Serves styles, scripts, icons and texts. They are immutable under an address with their version,
//! and revalidated under any other address.

use std::borrow::Cow;
use std::collections::BTreeMap;

use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use fairgate_base::http::Problem;
use fairgate_base::http::tagged::TaggedAnswer;

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
    if asset.needs_version && !versioned {
        return render_problem(&pages, &Problem::not_found("file", &path));
    }
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
    answer.respond(&headers)
}
