//! Forwards WebSockets to a guarded shop. Other protocols that a client could switch to are not
//! forwarded, because they could carry requests past the guard.

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Version, header};
use axum::response::Response;
use fairgate_base::http::switched_stream;
use fairgate_base::process::stopped;
use fairgate_pass::LivePass;
use hyper::upgrade::OnUpgrade;
use tokio::io::copy_bidirectional;
use tokio::sync::watch;

use super::super::ShopGuard;
use super::super::tunnels::OpenTunnel;
use crate::upstream::foreign_origin::{OriginFailure, OriginStream, WebSocketAnswer};
use crate::upstream::hops::without_hops;

/// Takes the visitor's end of the connection out of a request for a WebSocket. Returns `None` for
/// other requests, and for a request with a body, because the body would have to be sent before the
/// switch.
pub(super) fn take_visitor_end(parts: &mut Parts) -> Option<OnUpgrade> {
    let asks_for_upgrade = parts.version == Version::HTTP_11
        && parts.method == Method::GET
        && !parts.headers.contains_key(header::CONTENT_LENGTH)
        && !parts.headers.contains_key(header::TRANSFER_ENCODING)
        && lists(&parts.headers, header::CONNECTION, "upgrade")
        && lists(&parts.headers, header::UPGRADE, "websocket");
    asks_for_upgrade.then(|| parts.extensions.remove::<OnUpgrade>())?
}

/// Sends a request for a WebSocket to the shop. If the shop accepts, the WebSocket stays open until
/// one side closes it, the visitor's pass is no longer valid, or this process drains.
pub(super) async fn forward(
    shop: &ShopGuard,
    parts: &Parts,
    mut headers: HeaderMap,
    pass: Option<LivePass>,
    visitor: OnUpgrade,
) -> Result<Response, OriginFailure> {
    set_upgrade_headers(&mut headers);
    match shop.origin.open_web_socket(parts, headers).await? {
        WebSocketAnswer::Refused(answer) => Ok(answer),
        WebSocketAnswer::Open(mut answer, shop_stream) => {
            *answer.headers_mut() = without_hops(answer.headers());
            set_upgrade_headers(answer.headers_mut());
            let open = shop.tunnels.open(pass);
            let stopping = shop.waiting_line.rooms.stopping();
            tokio::spawn(carry(visitor, shop_stream, open, stopping));
            Ok(answer)
        }
    }
}

/// Carries bytes both ways until the WebSocket ends.
async fn carry(
    visitor: OnUpgrade,
    mut shop_stream: OriginStream,
    mut open: OpenTunnel,
    mut stopping: watch::Receiver<bool>,
) {
    let Ok(mut visitor) = switched_stream(visitor).await else {
        return;
    };
    metrics::gauge!("fairgate_guard_tunnels").increment(1);
    tokio::select! {
        // Either side may break off. The other one then sees its connection end.
        _ = copy_bidirectional(&mut visitor, &mut shop_stream) => {}
        () = open.ended() => {}
        () = stopped(&mut stopping) => {}
    }
    metrics::gauge!("fairgate_guard_tunnels").decrement(1);
}

fn set_upgrade_headers(headers: &mut HeaderMap) {
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
}

/// Returns whether a header lists this word, in upper or lower case.
fn lists(headers: &HeaderMap, name: header::HeaderName, word: &str) -> bool {
    let lines = headers.get_all(name).into_iter();
    lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .any(|listed| listed.trim().eq_ignore_ascii_case(word))
}
