//! Tests the carriages on the page of a train: a traveller sees which seats are free on the
//! stretch, picks some of them, and holds them at the price of the stretch.

use serde_json::json;

use crate::harness::{Browser, Server, TestShop, Visitor};
use crate::rail::{date, opened};

/// Opens the page of train R1 on a stretch, and its carriages.
async fn open_carriages(browser: &Browser, server: &Server, stretch: &str) {
    let date = date();
    let address = format!("/s/r1-{date}?{stretch}&date={date}&class=second&seats=2");
    browser.go(&server.at(&address)).await;
    browser.click("#own-open").await;
    browser
        .until::<bool>("performance.getEntriesByName('fairgate.map-drawn').length > 0")
        .await;
}

async fn until_state(browser: &Browser, seat: &str, state: &str) {
    browser
        .until::<bool>(&format!("window.fairgate.stateOf('{seat}') === '{state}'"))
        .await;
}

/// Clicks a seat on the map once the map has stopped moving.
async fn click_seat(browser: &Browser, seat: &str) {
    let still = format!(
        "(async () => {{ for (;;) {{ const before = String(window.fairgate.pointOf('{seat}'));
            for (let frame = 0; frame < 4; frame++) await new Promise(requestAnimationFrame);
            const now = window.fairgate.pointOf('{seat}');
            if (before === String(now)) return now; }} }})()"
    );
    browser
        .run("document.querySelector('#map').scrollIntoView({ block: 'center' })")
        .await;
    let [x, y]: [f64; 2] = browser.until(&still).await;
    browser.click_at((x, y)).await;
    browser
        .until::<bool>(&format!(
            "document.querySelector('#chosen [data-seat=\"{seat}\"]') !== null"
        ))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_traveller_picks_seats_that_are_free_on_the_stretch_and_pays_its_price() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = opened().await;
    let show = format!("r1-{}", date());
    let ben = Visitor::admitted(&server, "everyday").await;
    let first_leg = json!({"seats": ["4-1A"], "from": "RVN", "to": "LAK"});
    server.try_hold(&ben, &show, &first_leg).await.is(201);

    // Ben's seat is taken for the whole way. It is free from the station where he gets off.
    open_carriages(&ana, &server, "from=RVN&to=HIL").await;
    until_state(&ana, "4-1A", "held").await;
    open_carriages(&ana, &server, "from=LAK&to=HIL").await;
    until_state(&ana, "4-1A", "free").await;
    let carriages: Vec<String> = ana
        .until("[...document.querySelectorAll('#carriages b')].map((one) => one.textContent)")
        .await;
    assert_eq!(carriages.len(), 8);
    assert_eq!(carriages[3], "Carriage 4");
    ana.picture("11-rail-carriages").await;

    ana.click("[data-carriage='4']").await;
    click_seat(&ana, "4-1A").await;
    click_seat(&ana, "4-1B").await;
    ana.picture("11-rail-carriages-chosen").await;
    let told: String = ana
        .until("document.querySelector('#chosen').innerText")
        .await;
    assert!(told.contains("Carriage 4, seat 1A"), "{told}");

    // Cem takes one of the chosen seats first. The map shows that, and the seat is no longer
    // chosen.
    let cem = Visitor::admitted(&server, "everyday").await;
    let whole_way = json!({"seats": ["4-1B"], "from": "RVN", "to": "HIL"});
    server.try_hold(&cem, &show, &whole_way).await.is(201);
    ana.until::<bool>("document.querySelectorAll('#chosen li').length === 1")
        .await;
    until_state(&ana, "4-1B", "held").await;
    click_seat(&ana, "4-2A").await;
    let total: String = ana
        .until("document.querySelector('#chosen-total').textContent")
        .await;
    ana.click("#hold-own").await;
    let held: Vec<String> = ana
        .until("!document.querySelector('#held').hidden && [...document.querySelectorAll('#held-seats li')].map((one) => one.dataset.seat)")
        .await;
    assert_eq!(held, ["4-1A", "4-2A"]);
    let to_pay: String = ana
        .until("document.querySelector('#held-total').textContent")
        .await;
    assert_eq!(to_pay, total);
    let way: String = ana
        .until("document.querySelector('#held-journey').textContent")
        .await;
    assert!(way.contains("R1 Lakeside <b> – Hilltop"), "{way}");
    ana.picture("11-rail-carriages-held").await;

    // Seats that were given back can be chosen again.
    ana.click("#release").await;
    ana.until::<bool>(
        "document.querySelector('#held').hidden && !document.querySelector('#own-chosen').hidden",
    )
    .await;
    until_state(&ana, "4-1A", "free").await;
    click_seat(&ana, "4-1A").await;
    ana.close("Ana").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_phone_a_seat_of_a_carriage_is_picked_by_touch_and_from_the_list() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = opened().await;
    ana.become_phone().await;
    open_carriages(&ana, &server, "from=RVN&to=HIL").await;
    ana.picture("11-rail-carriages-phone").await;
    ana.become_phone().await;
    ana.click("#seat-list summary").await;
    ana.click("#seat-list input[data-seat='1-1A']").await;
    ana.until::<bool>("document.querySelector('#chosen [data-seat=\"1-1A\"]') !== null")
        .await;
    ana.click("#hold-own").await;
    ana.until::<bool>("!document.querySelector('#held').hidden")
        .await;
    ana.picture("11-rail-carriages-phone-held").await;
    ana.close("Ana").await;
}

/// Fills in the checkout for these travellers, pays, and opens a ticket. An order for a hall has no
/// travellers.
pub async fn pay_sandbox(browser: &Browser, travellers: &[&str]) {
    let fields = travellers.len();
    browser
        .until::<bool>(&format!(
            "document.querySelectorAll('input.traveller').length === {fields} && document.querySelector('#total').textContent !== ''"
        ))
        .await;
    browser.fill("#buyer-name", "Ana Fan").await;
    browser.fill("#buyer-email", "ana@example.org").await;
    for (nth, name) in travellers.iter().enumerate() {
        let field = format!("label:nth-child({}) input.traveller", nth + 1);
        browser.fill(&field, name).await;
    }
    browser.click("#pay").await;
    browser
        .until::<bool>(
            "document.querySelector('#approve') && !document.querySelector('#sandbox').hidden",
        )
        .await;
    browser.click("#approve").await;
    browser.click(".ticket-link").await;
    browser
        .until::<bool>("document.querySelector('#qr svg') !== null")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_browsers_travel_on_one_seat_one_after_the_other() {
    let (Some(ana), Some(ben)) = (Browser::open().await, Browser::open().await) else {
        return;
    };
    let server = opened().await;
    open_carriages(&ana, &server, "from=RVN&to=LAK").await;
    open_carriages(&ben, &server, "from=LAK&to=HIL").await;
    let whole_way = Browser::open().await.expect("chromium was there before");
    open_carriages(&whole_way, &server, "from=RVN&to=HIL").await;
    for browser in [&ana, &ben] {
        browser.click("[data-carriage='4']").await;
        click_seat(browser, "4-3F").await;
        browser.click("#hold-own").await;
        browser
            .until::<bool>("!document.querySelector('#held').hidden")
            .await;
        browser.click("#to-checkout").await;
    }
    // The page for the whole way shows that the seat is taken, without being loaded again.
    until_state(&whole_way, "4-3F", "held").await;
    pay_sandbox(&ana, &["Ana Fan"]).await;
    pay_sandbox(&ben, &["Ben Fan"]).await;
    until_state(&whole_way, "4-3F", "sold").await;
    for browser in [&ana, &ben] {
        let seat: String = browser
            .until("document.querySelector('#seat').textContent")
            .await;
        assert!(seat.contains("3F"), "{seat}");
    }
    for (browser, whose) in [(ana, "Ana"), (ben, "Ben"), (whole_way, "the third")] {
        browser.close(whose).await;
    }
}
