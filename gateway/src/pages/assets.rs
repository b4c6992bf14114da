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

/// Marks an answer that only takes effect as a part of a page: a style, or a script that is no
/// worker. The page's own headers govern it, so it needs none of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartOfPage;

/// Returns whether a file only takes effect as a part of a page. A worker has a policy of its own,
/// and so has a picture that is opened alone.
fn is_part_of_page(path: &str) -> bool {
    let is_worker = ["work.js", "worker.js"]
        .iter()
        .any(|end| path.ends_with(end));
    path.ends_with(".css") || (path.ends_with(".js") && !is_worker)
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
    let mut answer = answer.respond(headers);
    if is_part_of_page(path) {
        answer.extensions_mut().insert(PartOfPage);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_and_scripts_are_parts_of_a_page_and_workers_and_pictures_are_not() {
        for part in [
            "page/lobby.css",
            "page/lobby.js",
            "page/lobby/lobby-move.js",
        ] {
            assert!(is_part_of_page(part), "{part}");
        }
        for alone in [
            "page/work.js",
            "page/draw-work.js",
            "script/ticket-worker.js",
            "icon/fairgate.svg",
            "text/en/later.json",
        ] {
            assert!(!is_part_of_page(alone), "{alone}");
        }
    }
}
