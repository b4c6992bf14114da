//! Tests a gateway and a separate booking server: a purchase through the gateway, and the gateway's
//! answers while booking is down. The two servers use one ledger, as two processes share a
//! database.

mod support;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use booking::app::BookingSetup;
use booking::config::BookingConfig;
use booking::service::BookingService;
use fairgate_base::config::{SecretSetting, SettingSources as BookingSources, SettingSources};
use fairgate_base::process::LedgerLost;
use fairgate_model::grid::picture::CellChanges;
use fairgate_servers::actors::{
    PATIENCE, TestAnswer, TestCall, TestClient, TestShop, call, get, patch, post, put, text, until,
};
use gateway::app::GatewayApp;
use gateway::config::GatewayConfig;
use gateway::upstream::remote::RemoteBooking;
use gateway::upstream::{BookingCore, BookingDependencies, PulseRequest};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use support::PROMOTER;

const INTERNAL: &str = "internal-key-of-the-tests";

/// A gateway, and what the test needs to start the separate booking server.
struct Apart {
    gateway: SocketAddr,
    booking: SocketAddr,
    shared: BookingDependencies,
    core: Arc<RemoteBooking>,
    calls: TestClient,
    _running: JoinHandle<Result<(), LedgerLost>>,
}

/// A booking server that runs until it is stopped.
struct Serving {
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<Result<(), LedgerLost>>,
}

impl Serving {
    async fn end(mut self) {
        drop(self.stop.take());
        let ended = tokio::time::timeout(PATIENCE, self.running).await;
        let ended = ended.expect("it drains").expect("it does not panic");
        assert_eq!(ended, Ok(()));
    }
}

/// Returns an address that nobody listens on.
async fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    listener.local_addr().expect("an address")
}

impl Apart {
    /// Starts the gateway without its booking server.
    async fn start(data: &Path) -> Self {
        Self::start_with_key(data, INTERNAL).await
    }

    /// Does the same as [`Self::start`], with this key for booking.
    async fn start_with_key(data: &Path, key: &'static str) -> Self {
        let booking = free_address().await;
        let flags = [
            ("listen", "127.0.0.1:0".to_owned()),
            ("data", data.display().to_string()),
            ("promoter_key", PROMOTER.to_owned()),
            ("payments", "sandbox".to_owned()),
        ];
        let config = GatewayConfig::resolve(&SettingSources {
            flags: flags.into(),
            ..SettingSources::default()
        })
        .expect("good settings");
        let (hand_over, mut handed) = tokio::sync::mpsc::unbounded_channel();
        let app = GatewayApp::build(&config, async move |shared: BookingDependencies| {
            let base = format!("http://{booking}/").parse()?;
            let key = SecretSetting(key.to_owned());
            let core = Arc::new(RemoteBooking::new(&[base], Some(&key), &shared.ledger)?);
            hand_over.send((shared, Arc::clone(&core)))?;
            Ok(core as Arc<dyn BookingCore>)
        })
        .await
        .expect("it builds without booking");
        let gateway = app.address().expect("an address");
        let (shared, core) = handed.recv().await.expect("it was opened");
        Self {
            gateway,
            booking,
            shared,
            core,
            calls: TestClient::of_address(&format!("http://{gateway}")),
            _running: tokio::spawn(app.run(std::future::pending())),
        }
    }

    /// Starts the booking server at the address that the gateway knows, over the same ledger.
    async fn start_booking(&self) -> Serving {
        let setup = BookingSetup {
            secret: self.shared.secret.clone(),
            keyring: self.shared.keyring.clone(),
            keys: self.shared.keys.clone(),
            clock: self.shared.clock.clone(),
            payments: booking::config::PaymentSettings::Sandbox,
        };
        let core = booking::open::booking(&self.shared.installation, None, setup)
            .await
            .expect("it opens");
        let flags = [
            ("listen", self.booking.to_string()),
            ("internal_key", INTERNAL.to_owned()),
            ("payments", "sandbox".to_owned()),
        ];
        let config = BookingConfig::resolve(&BookingSources {
            flags: flags.into(),
            ..BookingSources::default()
        })
        .expect("good settings");
        let service = BookingService::with_booking(core, config)
            .await
            .expect("it listens");
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(service.run(async {
            let _ = stopped.await;
        }));
        Serving {
            stop: Some(stop),
            running,
        }
    }

    async fn put(&self, what: &str, body: Value) {
        let path = format!("/v1/promoter/{what}");
        let answer = self.ask(put(&path, &body).by(PROMOTER)).await;
        assert!(answer.status < 300, "{path}: {}", answer.text());
    }

    /// Puts a hall of 40 seats and its show `night-1`.
    async fn on_sale(&self) {
        self.put("venues/hall", json!({"plan": "grid:4x10"})).await;
        let show = json!({"venue": "hall", "title": "Night", "starts_at": "2099-06-01T20:00:00Z",
            "walk_in": true, "currency": "EUR", "prices": {"cat1": 9900, "cat2": 4900}});
        self.put("shows/night-1", show).await;
    }

    /// Joins the room `everyday`, which never closes, as a new visitor. Returns the place's JWT.
    async fn newcomer(&self) -> String {
        let join = post("/v1/rooms/everyday/places", &json!({}));
        text(&self.ask(join).await.is(201), "place")
    }

    /// Returns a pass of a new visitor in the room `everyday`.
    async fn pass(&self) -> String {
        let place = self.newcomer().await;
        let claim = call("POST", "/v1/rooms/everyday/pass").by(&place);
        let claimed = self.until(&claim, |answer| answer.status == 201).await;
        text(&claimed.json(), "pass")
    }

    /// Repeats a call until its answer satisfies `done`.
    async fn until(&self, call: &TestCall, done: impl Fn(&TestAnswer) -> bool) -> TestAnswer {
        self.calls.ask_until(call, done).await
    }

    async fn until_booking_is(&self, status: u16) -> TestAnswer {
        self.until(&get("/v1/shows"), |answer| answer.status == status)
            .await
    }
}

impl TestShop for Apart {
    fn client(&self) -> &TestClient {
        &self.calls
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_buys_through_a_gateway_whose_booking_is_elsewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let apart = Apart::start(folder.path()).await;
    let _booking = apart.start_booking().await;
    apart.until_booking_is(200).await;
    apart.on_sale().await;
    let mut signals = apart.core.hold_signals();
    let before = apart.core.snapshot("night-1").await.expect("an answer");
    let before = before.expect("a picture");
    assert_eq!((before.cells, before.packed.len()), (40, 10));
    let shown = apart
        .until(&get("/v1/shows/night-1"), |answer| answer.status == 200)
        .await;
    assert_eq!(shown.json()["room"], "everyday");

    let pass = apart.pass().await;
    let hold = apart.hold(&pass, &["A-1", "A-2"]).await;
    let changes = apart.core.changes("night-1", before.version).await;
    let CellChanges::Delta { to, cells, .. } = changes.expect("an answer") else {
        panic!("two held seats make a delta");
    };
    assert_eq!(cells, [(0, 1), (1, 1)]);
    let quiet = apart.core.changes("night-1", to).await.expect("an answer");
    assert_eq!(quiet, CellChanges::None, "a show without changes has none");

    let order = apart.checkout(&pass, &hold).await;
    apart.pay(&order, "approve").await.is(200);
    let ticketed = apart.order_in(&order, "ticketed").await;
    let ticket = text(&ticketed["tickets"][0], "ticket");
    let code = get(&format!("/v1/tickets/{ticket}.svg")).by(&text(&order, "order_key"));
    let code = apart.ask(code).await;
    assert!(code.text().contains("<svg"), "{}", code.status);
    let signal = tokio::time::timeout(PATIENCE, signals.recv()).await;
    let signal = signal.expect("in time").expect("a signal");
    assert_eq!(
        (signal.hold, signal.state.as_str()),
        (text(&hold, "hold"), "ordered")
    );
    let ask = PulseRequest {
        room: "everyday".to_owned(),
        shows: vec!["night-1".to_owned()],
        finished_after: 0,
        soon_s: 60,
    };
    let pulse = apart.core.pulse(ask).await;
    let pulse = pulse.expect("figures");
    assert_eq!((pulse.free, pulse.held, pulse.sold), (38, 0, 2));
    assert_eq!(pulse.finished.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn while_booking_is_down_visitors_can_join_and_calls_for_seats_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let apart = Apart::start(folder.path()).await;
    let (status, code) = apart.until_booking_is(503).await.refusal();
    assert_eq!((status, code.as_str()), (503, "booking_unreachable"));

    let booking = apart.start_booking().await;
    apart.until_booking_is(200).await;
    apart.on_sale().await;
    let pass = apart.pass().await;
    booking.end().await;

    let away = apart.until_booking_is(503).await;
    assert!(
        away.headers.contains_key("retry-after"),
        "the refusal has no `retry-after`"
    );
    let wish = json!({"seats": ["A-1"]});
    let refused = apart.try_hold(&pass, "night-1", &wish).await;
    assert_eq!(refused.refusal().0, 503);
    let ready = apart
        .until(&get("/readyz").by(PROMOTER), |answer| {
            answer.text().contains("no booking answers")
        })
        .await;
    assert_eq!(
        ready.status,
        200,
        "the gateway stays ready: {}",
        ready.text()
    );
    let named = format!("booking at http://{}/", apart.booking);
    assert!(ready.text().contains(&named), "{}", ready.text());
    let place = apart.newcomer().await;
    let look = get("/v1/rooms/everyday/place").by(&place);
    apart.ask(look).await.is(200);
    // When booking is back, it learns of a room that was put in the meantime.
    let room = json!({"title": "Night", "shows": ["night-1"], "opens_at": "2020-01-01T00:00:00Z",
        "draw_at": "2099-01-01T00:00:00Z"});
    apart.put("rooms/sale", room).await;

    let _booking = apart.start_booking().await;
    apart
        .until(&get("/v1/shows/night-1"), |answer| {
            answer.status == 200 && answer.json()["room"] == "sale"
        })
        .await;
    let turned = apart.try_hold(&pass, "night-1", &wish).await;
    assert_eq!(turned.refusal(), (401, "pass_invalid".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_follow_a_booking_elsewhere_and_keep_its_shows_while_it_is_down() {
    let folder = tempfile::tempdir().expect("a folder");
    let apart = Apart::start(folder.path()).await;
    let booking = apart.start_booking().await;
    apart.until_booking_is(200).await;
    apart.on_sale().await;
    let home = async || apart.ask(get("/")).await.text();
    assert!(
        home().await.contains("Night"),
        "a change through this gateway"
    );
    let direct = TestClient::of_address(&format!("http://{}", apart.booking));
    let show = json!({"venue": "hall", "title": "Carmen", "starts_at": "2099-06-02T20:00:00Z",
        "currency": "EUR", "prices": {"cat1": 9900, "cat2": 4900}});
    let put = put("/v1/promoter/shows/opera", &show).by(PROMOTER);
    assert_eq!(direct.ask(put).await.status, 200);
    let listed = |answer: &TestAnswer| answer.text().contains("Carmen");
    apart.until(&get("/?q=carmen"), listed).await;

    booking.end().await;
    apart.until_booking_is(503).await;
    let room = json!({"title": "A sale", "shows": ["opera"], "opens_at": "2020-01-01T00:00:00Z",
        "draw_at": "2099-01-01T00:00:00Z"});
    apart.put("rooms/sale", room).await;
    let home = home().await;
    assert!(home.contains("Carmen") && home.contains("A sale"), "{home}");
}

#[tokio::test(flavor = "multi_thread")]
async fn internal_calls_need_the_internal_key_and_no_gateway_forwards_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let apart = Apart::start(folder.path()).await;
    let _booking = apart.start_booking().await;
    apart.until_booking_is(200).await;
    let booking = TestClient::of_address(&format!("http://{}", apart.booking));
    for key in ["", "wrong", PROMOTER] {
        let answer = booking.ask(get("/internal/v1/state").by(key)).await;
        assert_eq!(answer.refusal(), (401, "internal_key_required".to_owned()));
    }
    for path in [
        "/internal/v1/state",
        "/v1/rail/%2e%2e/%2e%2e/internal/v1/state",
    ] {
        // The request is written by hand, because a client would resolve the dots before it sends
        // the path.
        let mut stream = TcpStream::connect(apart.gateway).await.expect("it listens");
        let call = format!(
            "GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {INTERNAL}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(call.as_bytes()).await.expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 404 "), "{path}: {answer}");
        assert!(!answer.contains("coverage"), "{path}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_description_is_the_same_with_booking_inside_and_elsewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let apart = Apart::start(folder.path()).await;
    let far = apart.ask(get("/openapi.json")).await.json();
    let own = serde_json::to_value(booking::router::openapi_document()).expect("JSON");
    let paths = own["paths"].as_object().expect("paths");
    assert!(paths.len() > 15, "{} paths", paths.len());
    for (path, calls) in paths {
        assert_eq!(&far["paths"][path], calls, "{path}");
    }
    let (_, inside) = {
        let _booking = apart.start_booking().await;
        let setup = BookingSetup {
            secret: apart.shared.secret.clone(),
            keyring: apart.shared.keyring.clone(),
            keys: apart.shared.keys.clone(),
            clock: apart.shared.clock.clone(),
            payments: booking::config::PaymentSettings::Sandbox,
        };
        let core = booking::open::booking(&apart.shared.installation, None, setup).await;
        core.expect("it opens").router().split_for_parts()
    };
    assert_eq!(
        serde_json::to_value(inside).expect("JSON"),
        own,
        "a running booking describes the same calls as the fixed document"
    );
}

/// Starts a fake booking server that reports itself as ready. It closes the connection of every
/// call that does not ask for its state. Returns its address and a counter of the POST calls.
async fn hangs_up(ledger: String) -> (SocketAddr, Arc<AtomicUsize>) {
    answers(ledger, "").await
}

/// Starts a fake booking server that reports itself as ready. It answers every call that does not
/// ask for its state with the bytes `always`. Returns its address and a counter of the POST calls.
async fn answers(ledger: String, always: &'static str) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (ledger, counted) = (ledger.clone(), Arc::clone(&counted));
            tokio::spawn(async move {
                let mut heard = vec![0; 8 << 10];
                let read = stream.read(&mut heard).await.unwrap_or(0);
                if !heard[..read].starts_with(b"GET /internal/v1/state") {
                    // Only POST calls are counted. The gateway may give up a request for the state.
                    // Its connection then arrives here without any bytes, and must not count.
                    if heard.starts_with(b"POST ") {
                        counted.fetch_add(1, Ordering::SeqCst);
                    }
                    let _ = stream.write_all(always.as_bytes()).await;
                    return;
                }
                let state = json!({"ready": true, "reasons": [], "warnings": [], "ledger": ledger, "coverage": []})
                    .to_string();
                let answer = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{state}",
                    state.len()
                );
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    (address, calls)
}

/// Returns a router that forwards to these booking servers. Waits until `well` of them have
/// reported themselves as ready.
async fn router_over(bases: &[SocketAddr], well: usize) -> TestClient {
    let bases: Vec<_> = bases
        .iter()
        .map(|base| format!("http://{base}/").parse().expect("an address"))
        .collect();
    let silent = bases.len() - well;
    let core = Arc::new(RemoteBooking::new(&bases, None, "aa").expect("a client"));
    until("the bookings have reported", async || {
        let warnings = core.condition().await.warnings.len();
        (warnings <= silent + usize::from(well == 0)).then_some(())
    })
    .await;
    let (router, _) = core.router().split_for_parts();
    // Once `core` is dropped, the states of the booking servers are no longer read. The router then
    // uses the last states.
    TestClient::of_router(router)
}

async fn sent(router: &TestClient, method: &str, key: Option<&str>) -> (u16, String) {
    let call = call(method, "/v1/shows/night-1/holds").json(&json!({}));
    let call = call.header("content-length", "2");
    let answer = router.ask(match key {
        Some(key) => call.keyed(key),
        None => call,
    });
    let answer = answer.await;
    (
        answer.status,
        answer.header("x-fairgate-problem").to_owned(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_answer_was_lost_is_sent_again_only_with_an_idempotency_key() {
    let (one, heard_by_one) = hangs_up("aa".to_owned()).await;
    let (other, heard_by_other) = hangs_up("aa".to_owned()).await;
    let heard =
        || heard_by_one.swap(0, Ordering::SeqCst) + heard_by_other.swap(0, Ordering::SeqCst);
    let router = router_over(&[one, other], 2).await;
    heard();
    let lost = (503, "booking_unanswered".to_owned());
    assert_eq!(sent(&router, "POST", None).await, lost);
    assert_eq!(
        heard(),
        1,
        "the lost call may have been carried out, so it is not sent again"
    );
    assert_eq!(sent(&router, "POST", Some("k-1")).await, lost);
    assert_eq!(heard(), 2, "booking recognises a repeated call by its key");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keyed_call_that_one_booking_server_fails_is_sent_to_the_next() {
    const ILL: &str = "HTTP/1.1 500 No\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    const DONE: &str = "HTTP/1.1 201 Yes\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let (ill, heard_by_ill) = answers("aa".to_owned(), ILL).await;
    let (well, heard_by_well) = answers("aa".to_owned(), DONE).await;
    let heard = || heard_by_ill.swap(0, Ordering::SeqCst) + heard_by_well.swap(0, Ordering::SeqCst);
    let router = router_over(&[ill, well], 2).await;
    heard();
    for key in 0..8 {
        let key = format!("k-{key}");
        assert_eq!(sent(&router, "POST", Some(&key)).await.0, 201);
    }
    let tries = heard();
    assert!(
        tries > 8,
        "{tries}: some calls go to the failing booking first"
    );
    // Without a key the call is not sent again, because the booking server that failed may have
    // carried it out.
    let answers = [
        sent(&router, "POST", None).await.0,
        sent(&router, "POST", None).await.0,
    ];
    assert!(answers.contains(&500), "{answers:?}");
    assert_eq!(heard(), 2);
    let none = router_over(&[ill], 1).await;
    assert_eq!(
        sent(&none, "POST", Some("k")).await.0,
        500,
        "the only booking's own answer"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_is_sent_to_a_booking_server_that_refuses_connections_or_has_another_ledger() {
    let gone = free_address().await;
    let (foreign, heard_by_foreign) = hangs_up("bb".to_owned()).await;
    let (own, heard_by_own) = hangs_up("aa".to_owned()).await;
    let router = router_over(&[gone, foreign, own], 1).await;
    heard_by_own.store(0, Ordering::SeqCst);
    heard_by_foreign.store(0, Ordering::SeqCst);
    for _ in 0..6 {
        sent(&router, "POST", None).await;
    }
    let heard = (
        heard_by_own.load(Ordering::SeqCst),
        heard_by_foreign.load(Ordering::SeqCst),
    );
    assert_eq!(heard, (6, 0));
    let nobody = router_over(&[gone], 0).await;
    let unreachable = (503, "booking_unreachable".to_owned());
    assert_eq!(sent(&nobody, "POST", None).await, unreachable);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_whose_key_booking_refuses_is_not_ready_and_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let apart = Apart::start_with_key(folder.path(), "another-key").await;
    let _booking = apart.start_booking().await;
    let ready = apart
        .until(&get("/readyz").by(PROMOTER), |answer| answer.status == 503)
        .await
        .json();
    let reasons = ready["reasons"].to_string();
    assert!(reasons.contains("FAIRGATE_INTERNAL_KEY"), "{ready}");
    // The lobby is served to whoever comes here all the same.
    apart.newcomer().await;
}

/// Puts the show `night-1` in the room `sale`, which sells at once.
async fn sold_by_room(apart: &Apart) {
    apart.on_sale().await;
    let room = json!({"title": "Night", "shows": ["night-1"], "opens_at": "2020-01-01T00:00:00Z",
        "draw_at": "2020-01-02T00:00:00Z", "method": "fifo"});
    apart.put("rooms/sale", room).await;
    apart
        .until(&get("/v1/shows/night-1"), |answer| {
            answer.status == 200 && answer.json()["room"] == "sale"
        })
        .await;
}

/// Returns a pass of a new visitor in the room `sale`.
async fn pass_of_sale(apart: &Apart) -> String {
    let join = post("/v1/rooms/sale/places", &json!({}));
    let place = text(&apart.ask(join).await.is(201), "place");
    let claim = call("POST", "/v1/rooms/sale/pass").by(&place);
    let claimed = apart.until(&claim, |answer| answer.status == 201).await;
    text(&claimed.json(), "pass")
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_by_hand_stops_passes_at_a_booking_elsewhere_before_the_call_returns() {
    let folder = tempfile::tempdir().expect("a folder");
    let apart = Apart::start(folder.path()).await;
    let _booking = apart.start_booking().await;
    apart.until_booking_is(200).await;
    sold_by_room(&apart).await;
    let (ana, ben) = (pass_of_sale(&apart).await, pass_of_sale(&apart).await);
    let hold = apart.hold(&ana, &["A-1"]).await;
    let close = call("POST", "/v1/promoter/rooms/sale/close").by(PROMOTER);
    apart.ask(close).await.is(200);
    let wish = json!({"seats": ["B-1"]});
    for pass in [&ana, &ben] {
        let refused = apart.try_hold(pass, "night-1", &wish).await;
        assert_eq!(refused.refusal(), (401, "pass_stopped".to_owned()));
    }
    let add = json!({"add": ["A-2"]});
    let path = format!("/v1/holds/{}", text(&hold, "hold"));
    let refused = apart.ask(patch(&path, &add).by(&ana)).await;
    assert_eq!(refused.refusal(), (401, "pass_stopped".to_owned()));
    let order = apart.checkout(&ana, &hold).await;
    apart.pay(&order, "approve").await.is(200);
    apart.order_in(&order, "ticketed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_says_if_booking_could_not_be_told_and_booking_knows_it_when_it_answers_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let apart = Apart::start(folder.path()).await;
    let booking = apart.start_booking().await;
    apart.until_booking_is(200).await;
    sold_by_room(&apart).await;
    let pass = pass_of_sale(&apart).await;
    booking.end().await;
    apart.until_booking_is(503).await;
    let close = || call("POST", "/v1/promoter/rooms/sale/close").by(PROMOTER);
    let refused = apart.ask(close()).await;
    let refused = refused.problem(503, "booking_unreachable");
    let detail = text(&refused, "detail");
    assert!(detail.contains("The room is closed"), "{detail}");
    let _booking = apart.start_booking().await;
    apart.until(&close(), |answer| answer.status == 200).await;
    let wish = json!({"seats": ["B-1"]});
    let refused = apart.try_hold(&pass, "night-1", &wish).await;
    assert_eq!(refused.refusal(), (401, "pass_stopped".to_owned()));
}
