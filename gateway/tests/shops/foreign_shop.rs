//! Runs a shop that is not Fairgate's. It records the requests that reach it.

use parking_lot::Mutex;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// A request that reached the shop.
#[derive(Debug, Clone)]
pub struct SeenRequest {
    pub method: Method,
    /// The path with its query.
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl SeenRequest {
    /// Returns the value of a header, or an empty text if it is missing.
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().expect("text"))
    }
}

/// The shop. It ends with the test's runtime.
#[derive(Clone)]
pub struct ForeignShop {
    pub url: String,
    seen: Arc<Mutex<Vec<SeenRequest>>>,
    /// The sizes of the parts of bodies, as they arrive.
    parts: mpsc::UnboundedSender<usize>,
}

impl ForeignShop {
    /// Starts the shop. The receiver gets the size of each part of a body at `/upload`.
    pub async fn start() -> (Self, mpsc::UnboundedReceiver<usize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let (parts, arrived) = mpsc::unbounded_channel();
        let shop = Self {
            url: format!("http://{}", listener.local_addr().expect("an address")),
            seen: Arc::default(),
            parts,
        };
        let router = Router::new().fallback(answer).with_state(shop.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (shop, arrived)
    }

    fn see(&self, parts: &Parts, path: String, body: Bytes) {
        let seen = SeenRequest {
            method: parts.method.clone(),
            path,
            headers: parts.headers.clone(),
            body,
        };
        self.seen.lock().push(seen);
    }

    /// Returns the requests that reached the shop since the last call.
    pub fn take_seen(&self) -> Vec<SeenRequest> {
        std::mem::take(&mut *self.seen.lock())
    }
}

async fn answer(State(shop): State<ForeignShop>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map(ToString::to_string);
    let path = path.unwrap_or_default();
    if path == "/mirror" {
        return mirror(body);
    }
    if path == "/socket" {
        shop.see(&parts, path, Bytes::new());
        return echo(parts).await;
    }
    let mut whole = Vec::new();
    let mut stream = body.into_data_stream();
    while let Some(part) = stream.next().await {
        let Ok(part) = part else { break };
        if path == "/upload" {
            // The test has ended if nobody listens.
            let _ = shop.parts.send(part.len());
        }
        whole.extend_from_slice(&part);
    }
    shop.see(&parts, path, whole.into());
    let headers = [
        (header::SET_COOKIE, "session=1"),
        (header::CACHE_CONTROL, "private"),
    ];
    (headers, "welcome to the shop").into_response()
}

/// Opens a WebSocket that sends each message back.
async fn echo(mut parts: Parts) -> Response {
    match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => upgrade.on_upgrade(async |mut socket| {
            while let Some(Ok(message)) = socket.recv().await {
                if socket.send(message).await.is_err() {
                    break;
                }
            }
        }),
        Err(refused) => refused.into_response(),
    }
}

/// Sends each part of the body back as it arrives.
fn mirror(body: Body) -> Response {
    Body::from_stream(body.into_data_stream()).into_response()
}
