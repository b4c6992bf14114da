//! Runs a gateway on a real listener with a stand-in for booking, and acts as the visitors who use
//! it.
#![allow(dead_code, reason = "each test file uses its own part of the harness")]

pub mod bare;
pub mod node;
pub mod site;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use fairgate_base::config::SettingSources;
use fairgate_base::process::LedgerLost;
use fairgate_servers::actors::{PATIENCE, call, get};
pub use fairgate_servers::actors::{TestAnswer, TestClient, TestShop};
use futures_util::{SinkExt, StreamExt};
use gateway::app::GatewayApp;
use gateway::config::GatewayConfig;
use gateway::upstream::{BookingCore, BookingDependencies};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

pub use bare::Bare;

pub const PROMOTER: &str = "promoter-key-of-the-tests";
pub const VIEWER: &str = "viewer-key-of-the-tests-ok";

pub struct Gateway {
    pub address: SocketAddr,
    /// The address at which it guards a shop that is not Fairgate's.
    pub guard: Option<SocketAddr>,
    pub core: Bare,
    stop: Option<oneshot::Sender<()>>,
    running: Option<tokio::task::JoinHandle<Result<(), LedgerLost>>>,
    pub client: reqwest::Client,
    calls: TestClient,
}

impl TestShop for Gateway {
    fn client(&self) -> &TestClient {
        &self.calls
    }
}

impl Gateway {
    pub async fn start(data: &Path) -> Self {
        Self::start_with(data, &[]).await
    }

    pub async fn start_with(data: &Path, settings: &[(&'static str, &str)]) -> Self {
        let core = Bare::default();
        let handle = core.clone();
        let open = async move |_| Ok(Arc::new(handle) as Arc<dyn BookingCore>);
        Self::over(data, settings, core, open).await
    }

    /// Starts a gateway that hosts booking itself. Its `core` is unused.
    pub async fn start_whole(data: &Path, settings: &[(&'static str, &str)]) -> Self {
        let core = Bare::default();
        Self::over(data, settings, core, gateway::upstream::local::open).await
    }

    async fn over<F>(
        data: &Path,
        settings: &[(&'static str, &str)],
        core: Bare,
        open: impl FnOnce(BookingDependencies) -> F,
    ) -> Self
    where
        F: Future<Output = anyhow::Result<Arc<dyn BookingCore>>>,
    {
        let mut flags: BTreeMap<&'static str, String> = [
            ("listen", "127.0.0.1:0".to_owned()),
            ("data", data.display().to_string()),
            ("promoter_key", PROMOTER.to_owned()),
            ("viewer_key", VIEWER.to_owned()),
            ("secret", fairgate_servers::TEST_SECRET.to_owned()),
        ]
        .into();
        flags.extend(
            settings
                .iter()
                .map(|(knob, value)| (*knob, (*value).to_owned())),
        );
        let config = GatewayConfig::resolve(&SettingSources {
            flags,
            ..SettingSources::default()
        })
        .expect("good settings");
        let app = GatewayApp::build(&config, open).await.expect("it builds");
        let address = app.address().expect("an address");
        let guard = app.guard_address();
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(app.run(async {
            let _ = stopped.await;
        }));
        Self {
            address,
            guard,
            core,
            stop: Some(stop),
            running: Some(running),
            client: reqwest::Client::new(),
            calls: TestClient::of_address(&format!("http://{address}")),
        }
    }

    /// Drains the gateway, as SIGTERM would.
    pub async fn stop(&mut self) {
        self.begin_stop();
        if let Some(running) = self.running.take() {
            let ended = tokio::time::timeout(PATIENCE, running).await;
            let ended = ended.expect("it drains").expect("it does not panic");
            assert_eq!(ended, Ok(()));
        }
    }

    pub fn begin_stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub async fn call(
        &self,
        method: &str,
        path: &str,
        bearer: Option<&str>,
        body: Option<Value>,
    ) -> TestAnswer {
        let mut call = call(method, path);
        if let Some(bearer) = bearer {
            call = call.by(bearer);
        }
        if let Some(body) = body {
            call = call.json(&body);
        }
        self.ask(call).await
    }

    pub async fn read(request: reqwest::RequestBuilder) -> TestAnswer {
        TestAnswer::of(request).await.expect("an answer")
    }

    pub async fn get(&self, path: &str) -> TestAnswer {
        self.call("GET", path, None, None).await
    }

    /// Returns the whole answer of `/readyz`, as operators read it.
    pub async fn ready(&self) -> Value {
        self.call("GET", "/readyz", Some(VIEWER), None).await.json()
    }

    /// Makes a room with an open lobby. The draw happens only by hand, unless `changes` set its
    /// time.
    pub async fn open_room(&self, room: &str, changes: Value) {
        let answer = self.put_room(room, changes).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
    }

    pub async fn put_room(&self, room: &str, changes: Value) -> TestAnswer {
        let mut document = json!({
            "title": room, "shows": [format!("{room}-*")], "opens_at": "2020-01-01T00:00:00Z",
            "draw_at": "2099-01-01T00:00:00Z", "per_s": 1000, "max_inside": 1000,
        });
        for (field, value) in changes.as_object().expect("an object") {
            document[field] = value.clone();
        }
        self.call(
            "PUT",
            &format!("/v1/promoter/rooms/{room}"),
            Some(PROMOTER),
            Some(document),
        )
        .await
    }

    pub async fn by_hand(&self, room: &str, what: &str) {
        let answer = self
            .call(
                "POST",
                &format!("/v1/promoter/rooms/{room}/{what}"),
                Some(PROMOTER),
                None,
            )
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    pub async fn join(&self, room: &str, body: Value) -> TestAnswer {
        self.call(
            "POST",
            &format!("/v1/rooms/{room}/places"),
            None,
            Some(body),
        )
        .await
    }

    /// Joins as a new visitor. Returns the place's JWT and the number.
    pub async fn newcomer(&self, room: &str) -> (String, u64) {
        let answer = self.join(room, json!({})).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        let joined = answer.json();
        (
            joined["place"].as_str().expect("a place").to_owned(),
            joined["number"].as_u64().expect("a number"),
        )
    }

    pub async fn place(&self, room: &str, place: &str) -> Value {
        self.call("GET", &format!("/v1/rooms/{room}/place"), Some(place), None)
            .await
            .json()
    }

    /// Repeats a GET until its answer satisfies `done`, as a polling page would.
    pub async fn until(
        &self,
        path: &str,
        bearer: Option<&str>,
        mut done: impl FnMut(&Value) -> bool,
    ) -> Value {
        let mut call = get(path);
        if let Some(bearer) = bearer {
            call = call.by(bearer);
        }
        let satisfies = |answer: &TestAnswer| answer.status == 200 && done(&answer.json());
        self.calls.ask_until(&call, satisfies).await.json()
    }

    pub async fn until_drawn(&self, room: &str) -> Value {
        self.until(&format!("/v1/rooms/{room}/draw"), None, |record| {
            !record["seed"].is_null()
        })
        .await
    }

    pub async fn until_called(&self, room: &str, place: &str) -> Value {
        self.until(&format!("/v1/rooms/{room}/place"), Some(place), |place| {
            place["state"] == "called"
        })
        .await
    }

    pub async fn socket(&self, room: &str, place: &str) -> Result<Socket, u16> {
        let mut request = format!("ws://{}/v1/rooms/{room}/live", self.address)
            .into_client_request()
            .expect("an address");
        let protocols = format!("fairgate.v1, place.{place}")
            .parse()
            .expect("a header");
        request
            .headers_mut()
            .insert("sec-websocket-protocol", protocols);
        Self::connect(request).await
    }

    pub async fn connect(
        request: tokio_tungstenite::tungstenite::http::Request<()>,
    ) -> Result<Socket, u16> {
        match tokio_tungstenite::connect_async(request).await {
            Ok((stream, response)) => {
                let echoed = response.headers().get("sec-websocket-protocol");
                Ok(Socket {
                    echoed: echoed.map(|value| value.to_str().expect("text").to_owned()),
                    stream,
                })
            }
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("no socket: {error}"),
        }
    }
}

pub struct Socket {
    pub echoed: Option<String>,
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Socket {
    async fn next(&mut self) -> Message {
        let next = tokio::time::timeout(PATIENCE, self.stream.next())
            .await
            .expect("a frame in time");
        next.expect("not ended").expect("a whole frame")
    }

    /// Returns the next text frame of that type, and skips others.
    pub async fn frame(&mut self, kind: &str) -> Value {
        loop {
            if let Message::Text(text) = self.next().await {
                let frame: Value = serde_json::from_str(&text).expect("JSON");
                if frame["type"] == kind {
                    return frame;
                }
            }
        }
    }

    /// Returns every text frame until `lines` frames of type `line` have come.
    pub async fn texts(&mut self, lines: usize) -> Vec<Value> {
        let (mut frames, mut seen) = (Vec::new(), 0);
        while seen < lines {
            if let Message::Text(text) = self.next().await {
                let frame: Value = serde_json::from_str(&text).expect("JSON");
                seen += usize::from(frame["type"] == "line");
                frames.push(frame);
            }
        }
        frames
    }

    pub async fn binary(&mut self) -> Vec<u8> {
        loop {
            if let Message::Binary(bytes) = self.next().await {
                return bytes.to_vec();
            }
        }
    }

    pub async fn closed(&mut self) -> CloseFrame {
        loop {
            if let Message::Close(frame) = self.next().await {
                return frame.expect("a code and a reason");
            }
        }
    }

    pub async fn say(&mut self, text: &str) {
        self.send(Message::text(text)).await;
    }

    pub async fn send(&mut self, message: Message) {
        self.stream.send(message).await.expect("it is sent");
    }
}
