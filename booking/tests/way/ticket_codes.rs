//! Tests what a scanner at the door reads: the QR code that the server draws. It is decoded from
//! its squares, and verified only with the published keys.

use fairgate_model::ids::{OrderId, TicketId};
use fairgate_pass::{Keyring, StoredKey, TicketClaims};
use serde_json::{Value, json};

use crate::harness::*;

/// Draws an SVG image as grey pixels. Returns the length of its side, and the pixels. In the path
/// of the image a dark square is `M{x} {y}h{width}v…`.
fn pixels(svg: &str) -> (usize, Vec<u8>) {
    let attribute = |name: &str| {
        svg.split_once(&format!("{name}=\""))
            .expect("an attribute")
            .1
    };
    let side: usize = attribute("width")
        .split('"')
        .next()
        .unwrap_or("")
        .parse()
        .expect("a width");
    let path = attribute(" d").split('"').next().expect("a path");
    let mut grey = vec![255; side * side];
    for square in path.split('M').skip(1) {
        let (corner, size) = square.split_once('h').expect("a square");
        let (x, y) = corner.split_once([' ', ',']).expect("a corner");
        let size: usize = size
            .split('v')
            .next()
            .unwrap_or("")
            .parse()
            .expect("a size");
        let (x, y): (usize, usize) = (x.parse().expect("x"), y.parse().expect("y"));
        for row in y..y + size {
            grey[row * side + x..][..size].fill(0);
        }
    }
    (side, grey)
}

/// Returns the version of a QR code and its text.
fn scan(svg: &str) -> (usize, String) {
    let (side, grey) = pixels(svg);
    let mut image =
        rqrr::PreparedImage::prepare_from_greyscale(side, side, |x, y| grey[y * side + x]);
    let found = image.detect_grids();
    let (meta, text) = found[0].decode().expect("a readable code");
    (meta.version.0, text)
}

async fn code_of(app: &App, order: &Value) -> (Value, String) {
    let id = text(&order["tickets"][0], "ticket");
    let key = text(order, "order_key");
    let ticket = app.ask(get(&format!("/v1/tickets/{id}")).by(&key)).await;
    let svg = app
        .ask(get(&format!("/v1/tickets/{id}.svg")).by(&key))
        .await;
    svg.is(200);
    (ticket.is(200), svg.text())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_qr_code_of_a_ticket_has_at_most_version_9_and_verifies_without_the_server() {
    let (app, ana, _) = opened().await;
    let hold = app.hold(&ana, &["A-1"]).await;
    let path = format!("/v1/holds/{}/order", text(&hold, "hold"));
    let made = app.ask(post(&path, &buyer()).by(&ana)).await.is(201);
    app.pay(&made, "approve").await.is(200);
    let mut order = app.order_in(&made, "ticketed").await;
    order["order_key"] = made["order_key"].clone();
    let (ticket, svg) = code_of(&app, &order).await;
    let (version, scanned) = scan(&svg);
    eprintln!(
        "FIGURE QR code: version {version}, {} characters; the JWS has {}",
        scanned.len(),
        text(&ticket, "signed").len()
    );
    assert!(version <= 9, "version {version}");
    assert_eq!(ticket["code"], scanned.as_str());
    let door = app.keyring.verifier();
    let claims = door
        .verify_ticket(&scanned)
        .expect("signed by this installation");
    // The earlier form, which is still on older tickets, has the same content.
    assert_eq!(
        door.verify_ticket(&text(&ticket, "signed")),
        Ok(claims.clone())
    );
    assert_eq!(
        (&*claims.ticket, &*claims.seat, claims.test),
        (ticket["ticket"].as_str().expect("an id"), "A-1", true)
    );
    assert_eq!(ticket["buyer"], "Ana Perez");
    assert_eq!(ticket["category"], hold["seats"][0]["category"]);
    assert_eq!(ticket["price"], json!({"amount": 9_900, "currency": "EUR"}));
}

#[test]
fn the_longest_ticket_has_a_code_of_version_9() {
    let key = StoredKey::generate(1_800_000_000).expect("a key");
    let keyring = Keyring::new(vec![key]).expect("a keyring");
    let show = "long-".repeat(12);
    let hex = "0123456789abcdef".repeat(2);
    let ticket: TicketId = format!("ticket_{show}_{hex}").parse().expect("an id");
    let order: OrderId = format!("order_{show}_{hex}").parse().expect("an id");
    let claims = TicketClaims {
        ticket: ticket.to_string(),
        order: order.to_string(),
        show,
        seat: "Block-".repeat(9),
        legs: (100..140).collect(),
        title: "Night ".repeat(13),
        starts_at: "2027-06-01T18:00:00Z".to_owned(),
        name: Some("Ana Fan ".repeat(10)),
        iat: 1_800_000_000,
        test: true,
    };
    let code = keyring.sign_ticket_code(&claims).expect("a code");
    let svg = booking::tickets::render::qr_svg(&code).expect("a QR code");
    let (version, scanned) = scan(&svg);
    assert_eq!((version, &scanned), (9, &code));
    let read = keyring.verify_ticket(&scanned).expect("a signature");
    assert_eq!((read.seat, read.legs), (claims.seat, claims.legs));
}
