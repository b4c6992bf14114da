//! Tests with three real browsers. Two visitors wait and get their turn. One of them pays for
//! seats, and the other sees that these seats are taken. The third visitor opens the show's page
//! without a pass and is sent to the lobby.

use serde_json::{Value, json};

use crate::harness::{Browser, Promoter, Server};

/// Clicks free seats on the map until `quantity` seats are chosen, and returns their labels.
async fn choose_on_the_map(browser: &Browser, quantity: usize) -> Vec<String> {
    browser
        .until::<String>("document.querySelector('#map').dataset.version")
        .await;
    let free: String = browser
        .until("document.querySelector('#counts').textContent")
        .await;
    assert!(!free.is_empty(), "the page says how many seats are free");
    let frame: [f64; 4] = browser
        .until("(({x, y, width, height}) => [x, y, width, height])(document.querySelector('#map').getBoundingClientRect())")
        .await;
    let [x, y, width, height] = frame;
    // After two zooms the seats in the middle are far enough apart for a finger.
    browser.click("#zoom-in").await;
    browser.click("#zoom-in").await;
    for step in 0..40 {
        let chosen: Vec<String> = browser
            .until("[...document.querySelectorAll('#chosen li')].map(li => li.dataset.seat)")
            .await;
        if chosen.len() == quantity {
            return chosen;
        }
        browser
            .click_at((x + width / 2.0 + f64::from(step) * 9.0, y + height / 2.0))
            .await;
        browser.until::<bool>("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true)))) && true").await;
    }
    panic!("no {quantity} seats could be clicked on the map");
}

async fn join_and_wait(browser: &Browser, server: &Server) {
    browser.go(&server.at("/r/sale")).await;
    browser.click("#join").await;
    browser
        .until::<String>("document.querySelector('#number').dataset.value")
        .await;
    browser
        .until::<bool>("document.querySelector('#place').dataset.state === 'waiting_prequeue'")
        .await;
}

async fn take_turn(browser: &Browser, whose: &str) {
    browser
        .until::<bool>("!document.querySelector('#turn-form').hidden")
        .await;
    browser.picture(&format!("2-lobby-called-{whose}")).await;
    browser.click("#turn").await;
    browser
        .until::<bool>("!document.querySelector('#go-seats').hidden")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_browsers_get_their_turn_one_pays_and_the_other_sees_the_seats_taken() {
    let (Some(ana), Some(ben)) = (Browser::open().await, Browser::open().await) else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let texts = json!({"title": "Night one"});
    promoter.on_sale("12x30", texts.clone(), texts).await;
    let hall = json!({"plan": "grid:12x30", "name": "Great Hall", "city": "Berlin", "time_zone": "Europe/Berlin"});
    promoter.put("venues/hall", &hall).await.is(200);

    ana.go(&server.at("/")).await;
    ana.picture("0-home").await;
    ana.go(&server.at("/r/sale")).await;
    ana.picture("1-lobby-before-joining").await;
    join_and_wait(&ana, &server).await;
    join_and_wait(&ben, &server).await;
    ana.picture("1-lobby-waiting").await;
    promoter.draw("sale").await;
    take_turn(&ana, "ana").await;
    take_turn(&ben, "ben").await;
    check_the_draw(&ana).await;

    for browser in [&ana, &ben] {
        browser.click("#go-seats a").await;
        browser.until::<bool>("window.fairgate && document.querySelector('#freshness').dataset.phase === 'selling'").await;
        // The pass is valid for some minutes, and the page shows the time that is left.
        let time: String = browser
            .until("!document.querySelector('#choose-time').hidden && document.querySelector('#choose-clock').textContent")
            .await;
        assert!(time.ends_with(" left to choose seats"), "{time}");
    }
    let seats = choose_on_the_map(&ana, 2).await;
    ana.picture("3-seats-chosen").await;
    let held = ms_until_shown_as_held(&ana, &ben, &seats).await;
    assert!(held <= 1_000.0, "the seats went grey only after {held} ms");
    ben.picture("4-seats-held-by-another").await;
    ana.picture("4-seats-held-by-me").await;
    pay(&ana).await;
    ben.until::<bool>(&format!(
        "window.fairgate.stateOf({}) === 'sold'",
        json!(seats[0])
    ))
    .await;
    ben.picture("7-seats-sold-to-another").await;
    eprintln!("FIGURE two held seats were grey in the other browser after {held:.0} ms");

    let third = Browser::open().await.expect("chromium was there before");
    sent_to_the_lobby(&third, &server, &seats[0]).await;
    for (browser, whose) in [(ana, "Ana"), (ben, "Ben"), (third, "the third")] {
        browser.close(whose).await;
    }
}

/// Checks the draw with the button on the lobby's page.
async fn check_the_draw(browser: &Browser) {
    browser
        .until::<bool>("!document.querySelector('#check-draw').hidden")
        .await;
    browser.click("#check-draw").await;
    let result: String = browser
        .until("document.querySelector('#draw-result:not([hidden])').innerText")
        .await;
    browser.picture("2-lobby-draw-checked").await;
    assert!(
        !result.contains("✗") && !result.contains("wrong"),
        "{result}"
    );
}

/// Lets Ana hold seats. Returns after how many milliseconds Ben's page has recorded them as held
/// and his map looks different.
async fn ms_until_shown_as_held(ana: &Browser, ben: &Browser, seats: &[String]) -> f64 {
    let labels = Value::from(seats);
    ben.run(&format!(
        "{{ const before = document.querySelector('#map').toDataURL(); const look = setInterval(() => {{
            const gone = {labels}.every((label) => window.fairgate.stateOf(label) === 'held');
            if (!gone || document.querySelector('#map').toDataURL() === before) return;
            window.seenAt = Date.now(); clearInterval(look); }}, 10); }} undefined"
    ))
    .await;
    ana.run("document.querySelector('#hold').addEventListener('click', () => { window.heldAt = Date.now(); }, true)").await;
    ana.click("#hold").await;
    let seen: f64 = ben.until("window.seenAt").await;
    let held: f64 = ana.until("window.heldAt").await;
    ana.until::<bool>("!document.querySelector('#held').hidden")
        .await;
    seen - held
}

/// Checks out, pays, and opens a ticket with its code.
async fn pay(ana: &Browser) {
    ana.click("#to-checkout").await;
    ana.until::<bool>(
        "document.querySelector('#pay') && document.querySelector('#total').textContent !== ''",
    )
    .await;
    ana.until::<bool>(
        "/^Night one · Great Hall, Berlin · .*2031.*Berlin time/.test(document.querySelector('#show-title').textContent)",
    )
    .await;
    ana.fill("#buyer-name", "Ana Fan").await;
    ana.fill("#buyer-email", "ana@example.org").await;
    ana.picture("5-checkout").await;
    ana.click("#pay").await;
    ana.until::<bool>(
        "document.querySelector('#approve') && !document.querySelector('#sandbox').hidden",
    )
    .await;
    ana.picture("6-order-pending").await;
    ana.click("#approve").await;
    let tickets: usize = ana
        .until("document.querySelectorAll('.ticket-link').length")
        .await;
    assert_eq!(tickets, 2);
    ana.until::<bool>("document.querySelectorAll('#tickets svg').length === 2")
        .await;
    ana.picture("7-order-ticketed").await;
    ana.click(".ticket-link").await;
    ana.until::<bool>(
        "document.querySelector('#qr svg') && !document.querySelector('#ticket').hidden",
    )
    .await;
    let test: String = ana
        .until("document.querySelector('#ticket-test:not([hidden])').textContent")
        .await;
    assert!(test.contains("TEST"), "{test}");
    ana.picture("8-ticket").await;
}

/// Checks that a visitor without a pass sees the seats but cannot hold any, and gets a link to the
/// lobby.
async fn sent_to_the_lobby(third: &Browser, server: &Server, sold: &str) {
    third.go(&server.at("/s/night")).await;
    third
        .until::<bool>(&format!(
            "window.fairgate.stateOf({}) === 'sold'",
            json!(sold)
        ))
        .await;
    third.click("#best-find").await;
    third
        .until::<bool>("document.querySelector('#problem').dataset.code === 'waiting_room'")
        .await;
    third.picture("9-seats-without-a-pass").await;
    third.click("#problem a[href$='/r/sale']").await;
    third.until::<bool>("location.pathname === '/r/sale'").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_over_the_limit_of_sockets_updates_by_itself_and_shows_the_turn() {
    let (Some(ana), Some(ben)) = (Browser::open().await, Browser::open().await) else {
        return;
    };
    let server = Server::with(&[("FAIRGATE_SOCKETS", "1")]).await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    join_and_wait(&ana, &server).await;
    let live = "document.querySelector('#live:not([hidden])').textContent";
    ana.until::<bool>(&format!("{live}.startsWith('Live:')"))
        .await;
    join_and_wait(&ben, &server).await;
    let polls = "This page updates by itself, at least once a minute.";
    ben.until::<bool>(&format!("{live} === '{polls}'")).await;
    promoter.draw("sale").await;
    take_turn(&ben, "ben-without-a-socket").await;
    ana.close("Ana").await;
    let complaints = ben.end().await;
    let is_refusal = |complaint: &String| complaint.contains("WebSocket");
    assert!(
        !complaints.is_empty() && complaints.iter().all(is_refusal),
        "{complaints:#?}"
    );
}
