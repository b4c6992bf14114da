//! Tests bad input to the calls of rooms, one row for each case. Every call is refused with the
//! right problem and changes nothing.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::harness::{
    PROMOTER_KEY, Promoter, Server, TestAnswer, VIEWER_KEY, Visitor, in_seconds, room,
};

/// The caller of a request.
#[derive(Clone, Copy)]
enum Who {
    /// A caller without any credential.
    Nobody,
    /// A visitor with a good place.
    Place,
    /// The promoter with its key.
    Promoter,
    /// A caller with this Bearer.
    Bearer(&'static str),
}

/// A request and the answer that it must get.
type Row = (
    &'static str,
    Who,
    Method,
    &'static str,
    String,
    (u16, &'static str),
);

/// Returns the state that bad input must not change.
async fn state(server: &Server) -> Value {
    let promoter = Promoter::of(server);
    let mut room = promoter.room("sale").await;
    // These figures are counted only once a second, so they may change by themselves. The field
    // `seats` below has the exact seats. The test looks at the next number to find out whether
    // anybody joined.
    for lagging in ["seats", "joined", "waiting", "prices"] {
        room[lagging] = Value::Null;
    }
    let seats = TestAnswer::of(
        server
            .http
            .get(server.at("/v1/shows/night/seats"))
            .header("accept", "application/json"),
    );
    json!({
        "room": room,
        "rooms": server.get("/v1/rooms").await.is(200)["rooms"].as_array().map(Vec::len),
        "document": promoter.get("rooms/sale").await.is(200),
        "audit": promoter.get("rooms/sale/audit").await.is(200),
        "seats": seats.await.expect("an answer").is(200),
        "show": server.get("/v1/shows/night").await.is(200),
    })
}

// One row on each line keeps the table readable.
#[rustfmt::skip]
fn rows() -> Vec<Row> {
    use Who::{Bearer, Nobody, Place, Promoter};
    let places = "/v1/rooms/sale/places";
    let sale = "/v1/promoter/rooms/sale";
    let fresh = "/v1/promoter/rooms/fresh";
    let text = |value: Value| value.to_string();
    let document = |change: Value| room("other-show", change).to_string();
    let mut rows: Vec<Row> = vec![
        ("broken JSON", Nobody, Method::POST, places, "{\"secret\":".into(), (400, "invalid_json")),
        ("a list", Nobody, Method::POST, places, "[]".into(), (422, "invalid_field")),
        ("an unknown field", Nobody, Method::POST, places, text(json!({"sekret": "ab"})), (422, "unknown_field")),
        ("a secret that is a number", Nobody, Method::POST, places, text(json!({"secret": 7})), (422, "invalid_field")),
        ("a short secret", Nobody, Method::POST, places, text(json!({"secret": "ab"})), (422, "invalid_field")),
        ("a secret that is no hex", Nobody, Method::POST, places, text(json!({"secret": "z".repeat(64)})), (422, "invalid_field")),
        ("a key, which is not built", Nobody, Method::POST, places, text(json!({"key": {"kty": "EC"}})), (422, "not_available")),
        ("a lane, which is not built", Nobody, Method::POST, places, text(json!({"lane": "members"})), (422, "not_available")),
        ("an oversized body", Nobody, Method::POST, places, format!("{{\"secret\":\"{}\"}}", "a".repeat(100_000)), (413, "body_too_large")),
        ("an unknown room", Nobody, Method::POST, "/v1/rooms/nowhere/places", "{}".into(), (404, "not_found")),
        ("an unknown path", Nobody, Method::GET, "/v1/nowhere", String::new(), (404, "not_found")),
        ("a wrong method", Nobody, Method::PUT, places, "{}".into(), (405, "method_not_allowed")),
        ("a look without a place", Nobody, Method::GET, "/v1/rooms/sale/place", String::new(), (401, "place_required")),
        ("a claim without a place", Nobody, Method::POST, "/v1/rooms/sale/pass", String::new(), (401, "place_required")),
        ("leaving without a place", Nobody, Method::DELETE, "/v1/rooms/sale/place", String::new(), (401, "place_required")),
        ("a claim before the turn", Place, Method::POST, "/v1/rooms/sale/pass", String::new(), (409, "not_called")),
        ("rubbish as a place", Bearer("rubbish"), Method::GET, "/v1/rooms/sale/place", String::new(), (401, "place_invalid")),
        ("a socket without an upgrade", Place, Method::GET, "/v1/rooms/sale/live", String::new(), (400, "not_a_websocket")),
        ("a proof of a number that is not a number", Nobody, Method::GET, "/v1/rooms/sale/draw/proof/abc", String::new(), (409, "not_frozen")),
        ("verify without a pass", Nobody, Method::GET, "/v1/verify?room=sale", String::new(), (401, "pass_invalid")),
        ("verify without a room", Nobody, Method::GET, "/v1/verify", String::new(), (400, "invalid_query")),
        ("a room put without a key", Nobody, Method::PUT, fresh, document(json!({})), (401, "key_required")),
        ("a room put with a place", Place, Method::PUT, fresh, document(json!({})), (401, "key_invalid")),
        ("a room put by a viewer", Bearer(VIEWER_KEY), Method::PUT, fresh, document(json!({})), (403, "key_role")),
        ("a draw by a viewer", Bearer(VIEWER_KEY), Method::POST, "/v1/promoter/rooms/sale/draw", String::new(), (403, "key_role")),
        ("a report without a key", Nobody, Method::GET, "/v1/promoter/rooms/sale/report", String::new(), (401, "key_required")),
        ("a room without a title", Promoter, Method::PUT, fresh, document(json!({"title": ""})), (422, "invalid_field")),
        ("a room with a bad time", Promoter, Method::PUT, fresh, document(json!({"opens_at": "tomorrow"})), (422, "invalid_field")),
        ("a room drawn before it opens", Promoter, Method::PUT, fresh, document(json!({"draw_at": in_seconds(-3_600)})), (422, "invalid_field")),
        ("an unknown field of a room", Promoter, Method::PUT, fresh, document(json!({"colour": "red"})), (422, "unknown_field")),
        ("a pace that is a word", Promoter, Method::PUT, fresh, document(json!({"per_s": "fast"})), (422, "invalid_field")),
        ("a negative pace", Promoter, Method::PATCH, sale, text(json!({"per_s": -1})), (422, "invalid_field")),
        ("an unknown live setting", Promoter, Method::PATCH, sale, text(json!({"speed": 3})), (422, "unknown_field")),
        ("an unknown mode", Promoter, Method::PATCH, sale, text(json!({"mode": "guess"})), (422, "invalid_field")),
        ("a report in an unknown format", Promoter, Method::GET, "/v1/promoter/rooms/sale/report?format=png", String::new(), (422, "invalid_field")),
        ("an unknown room's report", Promoter, Method::GET, "/v1/promoter/rooms/nowhere/report", String::new(), (404, "not_found")),
        ("a hold without a pass", Nobody, Method::POST, "/v1/shows/night/holds", text(json!({"seats": ["A-1"]})), (429, "waiting_room")),
        ("a hold with a place", Place, Method::POST, "/v1/shows/night/holds", text(json!({"seats": ["A-1"]})), (401, "pass_invalid")),
    ];
    for (field, value) in [
        ("binding", json!("device")),
        ("challenge", json!("turnstile")),
        ("beacon", json!("drand")),
    ] {
        rows.push((
            field,
            Promoter,
            Method::PUT,
            fresh,
            document(json!({field: value})),
            (422, "not_available"),
        ));
    }
    let lanes = json!({"lane": [{"id": "members", "share": 0.3}]});
    rows.push((
        "lanes",
        Promoter,
        Method::PUT,
        fresh,
        document(lanes),
        (422, "not_available"),
    ));
    rows
}

fn request(server: &Server, ana: &Visitor<'_>, row: &Row) -> RequestBuilder {
    let (_, who, method, path, body, _) = row;
    let mut request = server.http.request(method.clone(), server.at(path));
    request = match who {
        Who::Nobody => request,
        Who::Place => request.bearer_auth(&ana.place),
        Who::Promoter => request.bearer_auth(PROMOTER_KEY),
        Who::Bearer(what) => request.bearer_auth(what),
    };
    if body.len() > 64 << 10 {
        // The server closes the connection when it refuses a large body, so no other request may
        // use this connection.
        request = request.header("connection", "close");
    }
    if matches!(*method, Method::POST | Method::PUT | Method::PATCH) {
        request = request
            .header("content-type", "application/json")
            .body(body.clone());
    }
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_refused_with_the_right_problem_and_changes_nothing() {
    let server = Server::start().await;
    Promoter::of(&server)
        .on_sale("4x10", json!({}), json!({}))
        .await;
    let ana = Visitor::joined(&server, "sale").await;
    let before = state(&server).await;
    let mut wrong = Vec::new();
    let rows = rows();
    for row in &rows {
        let (name, .., (status, code)) = row;
        let answer = TestAnswer::of(request(&server, &ana, row))
            .await
            .expect("an answer");
        wrong.extend(
            answer
                .fault(*status, code)
                .map(|fault| format!("{name}: {fault}")),
        );
        if state(&server).await != before {
            wrong.push(format!("{name}: something changed"));
        }
    }
    let next = Visitor::joined(&server, "sale").await.number;
    assert_eq!(next, 1, "a number was given to somebody who was refused");
    assert!(
        wrong.is_empty(),
        "{} of {} rows:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
    eprintln!(
        "FIGURE {} kinds of bad input refused by the line's calls, nothing changed",
        rows.len()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn all_faults_of_a_room_are_named_at_once() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let document = json!({
        "title": "", "shows": [], "opens_at": "soon", "method": "lottery", "per_s": 0, "max_inside": 0,
        "pass_s": -5, "codes": "maybe", "mode": "guess", "binding": "device",
    });
    let problem = promoter
        .put("rooms/sale", &document)
        .await
        .problem(422, "invalid_field");
    let named: Vec<_> = problem["problems"]
        .as_array()
        .expect("problems")
        .iter()
        .map(|one| one["field"].clone())
        .collect();
    for field in [
        "title",
        "shows",
        "opens_at",
        "draw_at",
        "method",
        "per_s",
        "max_inside",
        "pass_s",
        "codes",
        "mode",
        "binding",
    ] {
        assert!(
            named.contains(&json!(field)),
            "{field} is not among {named:?}"
        );
    }
    server.get("/v1/rooms/sale").await.problem(404, "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_site_cannot_use_a_visitors_cookies() {
    let server = Server::start().await;
    Promoter::of(&server)
        .on_sale("4x10", json!({}), json!({}))
        .await;
    let ana = Visitor::joined(&server, "sale").await;
    let before = state(&server).await;
    let cookie = format!("fairgate_place_sale={}", ana.place);
    for (header, value) in [
        ("origin", "https://evil.example"),
        ("sec-fetch-site", "cross-site"),
        ("origin", "null"),
    ] {
        for (method, what) in [
            (Method::POST, "places"),
            (Method::POST, "pass"),
            (Method::DELETE, "place"),
        ] {
            let address = server.at(&format!("/v1/rooms/sale/{what}"));
            let request = server
                .http
                .request(method, address)
                .header("cookie", &cookie)
                .header(header, value);
            let answer = TestAnswer::of(request.json(&json!({})))
                .await
                .expect("an answer");
            answer.problem(403, "origin_refused");
        }
    }
    let forms = server
        .http
        .post(server.at("/r/sale/leave"))
        .header("cookie", &cookie)
        .header("origin", "https://evil.example");
    assert_eq!(TestAnswer::of(forms).await.expect("an answer").status, 403);
    assert_eq!(state(&server).await, before);
    let own = server
        .http
        .post(server.at("/v1/rooms/sale/places"))
        .header("cookie", &cookie)
        .header("origin", &server.url);
    TestAnswer::of(own.json(&json!({})))
        .await
        .expect("an answer")
        .is(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_joins_from_one_network_are_refused_with_a_time_to_come_back() {
    let server =
        Server::with(&[("FAIRGATE_JOINS_PER_S", "1"), ("FAIRGATE_JOINS_BURST", "3")]).await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    let mut refused = 0;
    for _ in 0..8 {
        let visitor = Visitor::new(&server, "sale");
        let answer = visitor
            .post("places", &json!({"secret": visitor.secret}))
            .await;
        if answer.status != 201 {
            answer.problem(429, "too_many_joins");
            assert!(
                answer
                    .header("retry-after")
                    .parse::<u64>()
                    .is_ok_and(|seconds| seconds >= 1)
            );
            refused += 1;
        }
    }
    assert!(refused >= 3, "{refused} of 8 joins were refused");
    promoter.joined("sale", 8 - refused).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_have_one_quota_for_each_network_and_one_for_each_api_key() {
    let server = Server::with(&[
        ("FAIRGATE_SEARCHES_PER_S", "1"),
        ("FAIRGATE_SEARCHES_BURST", "3"),
        ("FAIRGATE_API_KEYS", "agency:the-key-of-the-agency:1:6"),
    ])
    .await;
    let ask = async |path: &str, key: Option<&str>| {
        let mut call = server.http.get(server.at(path));
        if let Some(key) = key {
            call = call.header("x-api-key", key);
        }
        TestAnswer::of(call).await.expect("an answer")
    };
    let mut refused = 0;
    for _ in 0..6 {
        let answer = ask("/v1/shows?q=night", None).await;
        if answer.status != 200 {
            answer.problem(429, "too_many_searches");
            assert!(
                answer
                    .header("retry-after")
                    .parse::<u64>()
                    .is_ok_and(|s| s >= 1)
            );
            refused += 1;
        }
    }
    assert!(refused >= 1, "{refused} of 6 searches were refused");
    // The refused search page is HTML. The calls with the partner's key have a quota of their own.
    let page = server.http.get(server.at("/cinema?keyword=night"));
    let page = TestAnswer::of(page.header("accept", "text/html")).await;
    let page = page.expect("an answer");
    assert!(
        page.status == 429 && page.text().contains("<html"),
        "{page:?}"
    );
    let key = Some("the-key-of-the-agency");
    let answers = [
        ask("/v1/shows?q=night", key).await,
        ask("/v1/cinema/cities", key).await,
        ask("/v1/shows", key).await,
    ];
    assert!(
        answers.iter().all(|answer| answer.status == 200),
        "{answers:?}"
    );
    ask("/v1/shows", Some("somebody-elses-key"))
        .await
        .problem(401, "api_key_invalid");
    for path in ["/healthz", "/r/everyday"] {
        assert_eq!(ask(path, None).await.status, 200, "{path}");
    }
}
