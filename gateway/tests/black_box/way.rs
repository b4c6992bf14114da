//! Tests one visitor's whole way over plain HTTP and the live socket: lobby, draw, pass, seats,
//! money, ticket, door.

use fairgate_pass::Verifier;
use reqwest::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

use crate::harness::{
    DOOR_KEY, Live, Picture, Promoter, Server, TestAnswer, TestShop, Visitor, get, real_data, room,
    show, text, until,
};

#[tokio::test(flavor = "multi_thread")]
async fn one_visitor_goes_from_an_empty_lobby_to_a_scanned_ticket() {
    whole_way(&Server::start().await).await;
}

/// Reads a path with an order's key.
async fn keyed(server: &Server, order: &Value, path: &str) -> TestAnswer {
    server.ask(get(path).by(&text(order, "order_key"))).await
}

/// Goes the whole way, from joining to a scanned ticket, on a server that has sold nothing yet.
pub async fn whole_way(server: &Server) {
    let promoter = Promoter::of(server);
    promoter.on_sale("10x20", json!({}), json!({})).await;

    let mut ana = Visitor::joined(server, "sale").await;
    assert_eq!(ana.number, 0, "the first number in an empty lobby");
    let waiting = ana.look().await;
    assert_eq!(
        (&waiting["state"], &waiting["rank"], &waiting["ahead"]),
        (&json!("waiting"), &Value::Null, &Value::Null)
    );
    let mut socket = Live::open(&ana).await;
    assert_eq!(socket.text("room").await["phase"], "prequeue");
    assert_eq!(socket.text("place").await["number"], 0);

    promoter.draw("sale").await;
    assert!(
        socket
            .text_where("draw", |draw| draw["seed"].is_string())
            .await["root"]
            .is_string()
    );
    assert_eq!(
        socket.text_where("place", |place| place["rank"] == 0).await["ahead"],
        0
    );
    assert!(socket.text("turn").await["claim_before"].is_string());
    ana.claim().await;
    assert_eq!(ana.look().await["state"], "admitted");
    let verified = TestAnswer::of(ana.booking(Method::GET, "/v1/verify?room=sale"))
        .await
        .expect("an answer");
    verified.is(204);
    assert_eq!(
        (
            verified.header("x-fairgate-room"),
            verified.header("x-fairgate-rank")
        ),
        ("sale", "0")
    );
    assert_eq!(verified.header("x-fairgate-visitor"), ana.holder());

    let held = server
        .try_hold(&ana, "night", &json!({"seats": ["A-1", "A-2"]}))
        .await
        .is(201);
    let ordered = server.checkout(&ana, &held).await;
    assert_eq!(socket.text("hold").await["hold"], text(&held, "hold"));
    assert_eq!(server.read(&ordered).await["state"], "pending");
    server.pay(&ordered, "approve").await.is(200);
    let order = server.order_in(&ordered, "ticketed").await;
    assert_eq!(order["tickets"].as_array().map(Vec::len), Some(2));
    assert_eq!(order["total"], json!({"amount": 19_800, "currency": "EUR"}));

    let jwks = server.get("/.well-known/jwks.json").await.is(200);
    let verifier = Verifier::new(&serde_json::from_value(jwks).expect("a JWKS")).expect("keys");
    let ticket = order["tickets"][0]["ticket"].as_str().expect("a ticket");
    let read = keyed(server, &ordered, &format!("/v1/tickets/{ticket}"))
        .await
        .is(200);
    let claims = verifier
        .verify_ticket(read["signed"].as_str().expect("a signed ticket"))
        .expect("it verifies offline");
    assert_eq!(
        (claims.ticket.as_str(), claims.seat.as_str(), claims.test),
        (ticket, "A-1", true)
    );
    let code = keyed(server, &ordered, &format!("/v1/tickets/{ticket}.svg")).await;
    assert!(
        code.status == 200 && code.text().contains("<svg"),
        "a QR code"
    );
    let calendar = keyed(server, &ordered, &format!("/v1/tickets/{ticket}.ics")).await;
    assert!(
        calendar.status == 200 && calendar.text().contains("BEGIN:VEVENT"),
        "a calendar entry"
    );

    let scan = || async {
        let address = server.at(&format!("/v1/tickets/{ticket}/scan"));
        TestAnswer::of(server.http.post(address).bearer_auth(DOOR_KEY))
            .await
            .expect("an answer")
    };
    assert_eq!(scan().await.is(200)["seat"], "A-1");
    scan().await.problem(409, "already_scanned");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_reaches_another_visitors_socket_within_a_second_and_without_a_gap() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("20x50", json!({}), json!({})).await;
    promoter.draw("sale").await;
    let (ana, ben) = (
        Visitor::admitted(&server, "sale").await,
        Visitor::joined(&server, "sale").await,
    );

    let mut socket = Live::open(&ben).await;
    socket.say(&json!({"type": "watch", "show": "night"})).await;
    let mut picture = Picture::of(&socket.seats().await);
    assert_eq!((picture.cells.len(), picture.count(0)), (1_000, 1_000));

    let map = server.get("/v1/shows/night/seatmap").await.is(200);
    let index = |label: &str| {
        let seats = map["seats"].as_array().expect("seats");
        seats
            .iter()
            .position(|seat| seat["label"] == label)
            .expect("the seat is on the map")
    };
    let mut slowest = Duration::ZERO;
    for row in ["A", "C", "E", "G"] {
        let (one, two) = (format!("{row}-10"), format!("{row}-11"));
        let asked = Instant::now();
        let held = server
            .try_hold(&ana, "night", &json!({"seats": [one, two]}))
            .await
            .is(201);
        let told = picture.apply(&socket.seats().await);
        slowest = slowest.max(asked.elapsed());
        assert_eq!(told, [(index(&one), 1), (index(&two), 1)]);
        // Releasing the hold keeps the next round within the visitor's limit. The socket must
        // report the release too.
        ana.send(
            Method::DELETE,
            &format!("/v1/holds/{}", text(&held, "hold")),
            &json!({}),
        )
        .await
        .is(204);
        assert_eq!(
            picture.apply(&socket.seats().await),
            [(index(&one), 0), (index(&two), 0)]
        );
    }
    assert!(
        slowest < Duration::from_secs(1),
        "a hold took {slowest:?} to be seen"
    );
    eprintln!(
        "FIGURE hold seen by another visitor's socket after at most {} ms",
        slowest.as_millis()
    );

    socket.say(&json!({"type": "resync"})).await;
    let fresh = Picture::of(&socket.seats().await);
    assert_eq!(fresh, picture, "the deltas add up to the new snapshot");
    let polled = server.http.get(server.at("/v1/shows/night/seats"));
    assert_eq!(
        Picture::of(&TestAnswer::of(polled).await.expect("an answer").body),
        picture,
        "polling gives the same seats"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_8897_seats_of_a_real_race_track_import_and_sell() {
    let Some(data) = real_data() else { return };
    let server = Server::start().await;
    let chart =
        |name: &str| std::fs::read_to_string(data.join("seatmaps").join(name)).expect("a chart");
    let faulty = Promoter::of(&server)
        .put_text(
            "venues/track?format=seatsio",
            chart("seatsio-sampleChartWithErrors.json"),
        )
        .await;
    let problem = faulty.problem(422, "plan_invalid");
    let faults = problem["faults"].as_array().expect("faults");
    assert!(
        !faults.is_empty() && faults.iter().all(|fault| fault["at"].is_string()),
        "each fault says where it is in the chart"
    );
    import_and_sell(&server, chart("seatsio-sampleChartWithZones.json")).await;
    eprintln!("FIGURE {} faults named", faults.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_8897_seats_of_our_own_velodrome_import_and_sell() {
    let chart =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../loadtest/data/velodrome.json");
    let server = Server::start().await;
    import_and_sell(&server, std::fs::read_to_string(chart).expect("the chart")).await;
}

/// Imports a chart of 8,897 seats, and sells four of them.
async fn import_and_sell(server: &Server, chart: String) {
    let promoter = Promoter::of(server);
    let imported = promoter
        .put_text("venues/track?format=seatsio", chart)
        .await;
    let imported = imported.is(200);
    assert_eq!(imported["cells"], 8_897);
    let categories = imported["categories"].as_array().expect("categories");
    let prices: serde_json::Map<_, _> = categories
        .iter()
        .map(|key| (key.as_str().expect("a key").to_owned(), json!(5_000)))
        .collect();
    promoter
        .put("shows/night", &show("track", json!({"prices": prices})))
        .await
        .is(200);
    promoter
        .put("rooms/sale", &room("night", json!({})))
        .await
        .is(201);
    promoter.draw("sale").await;

    let ana = Visitor::admitted(server, "sale").await;
    let held = server
        .try_hold(&ana, "night", &json!({"best": {"quantity": 4}}))
        .await
        .is(201);
    let ordered = server.checkout(&ana, &held).await;
    server.pay(&ordered, "approve").await.is(200);
    assert_eq!(
        server.order_in(&ordered, "ticketed").await["tickets"]
            .as_array()
            .map(Vec::len),
        Some(4)
    );
    let counts = until("the room counts the sale", async || {
        let seats = promoter.room("sale").await["seats"].clone();
        (seats["sold"] == 4).then_some(seats)
    })
    .await;
    eprintln!(
        "FIGURE {} seats imported, seats after one sale: {counts}",
        imported["cells"]
    );
}
