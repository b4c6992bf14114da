//! Tests that a visitor can say in the lobby which seats to hold. One tap at the turn then holds
//! the best seats of the first wish that can be met.

use serde_json::{Value, json};

use crate::harness::{Browser, Promoter, Server, Visitor, room, show, until};

/// Returns an expression that is true if the list of wishes is shown with this many wishes.
fn lists(count: usize) -> String {
    format!(
        "!document.querySelector('#wish').hidden && document.querySelectorAll('#wish-list li').length === {count}"
    )
}

/// True once the basket is shown.
const BASKET: &str =
    "location.pathname.startsWith('/checkout/') && !document.querySelector('#basket').hidden";

/// The labels of the seats in the basket.
const SEATS: &str = "[...document.querySelectorAll('#seats li span')].map((seat) => seat.textContent.split(' ')[0]).join()";

/// Removes the second wish in a tab, one step for each call.
const REMOVE_SECOND: &str = "(() => {
    const find = (selector) => document.querySelector(selector);
    if (!window.step && find('#wish') && !find('#wish').hidden) { window.step = 1; find('#wish-open').click(); }
    else if (window.step === 1 && find('#wish-1-remove')) { window.step = 2; find('#wish-1-remove').click(); find('#wish-save').click(); }
    return window.step === 2 && !find('#wish-form') && document.querySelectorAll('#wish-list li').length === 1;
})()";

/// Loses the answer to the first call for a hold. The server has carried out this call. The tab
/// keeps the id of the hold as `lostHold`.
const LOSE_FIRST_HOLD: &str = "(() => {
    const real = window.fetch;
    window.fetch = async (path, options) => {
        const answer = await real(path, options);
        if (options?.method === 'POST' && String(path).endsWith('/holds') && !window.lost) {
            window.lost = true;
            sessionStorage.lostHold = (await answer.json()).hold;
            throw new TypeError('the answer is lost');
        }
        return answer;
    };
})()";

/// Puts a show with two categories on sale, and waits until the room knows their prices.
async fn on_sale(promoter: &Promoter<'_>, plan: &str) {
    let show = json!({"seats_per_visitor": 4});
    promoter.on_sale(plan, show, json!({})).await;
    until("the room has prices", async || {
        let prices = promoter.room("sale").await["prices"].take();
        (prices.as_array()?.len() == 2).then_some(())
    })
    .await;
}

async fn join(fan: &Browser, server: &Server) {
    fan.go(&server.at("/r/sale")).await;
    fan.click("#join").await;
    fan.until::<bool>("document.querySelector('#number').dataset.value !== ''")
        .await;
}

/// Fills in two wishes: two seats in one category, or else in the other.
async fn wish_for(fan: &Browser, first: &str, second: &str) {
    fan.click("#wish-open").await;
    fan.click(&format!("[name='wish-0-where'][value='{first}']"))
        .await;
    fan.click("#wish-add").await;
    fan.click(&format!("[name='wish-1-where'][value='{second}']"))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_tap_at_the_turn_holds_the_first_wish() {
    let Some(fan) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    on_sale(&promoter, "4x10").await;
    let lobby = server.at("/r/sale");
    fan.become_phone().await;
    join(&fan, &server).await;
    fan.until::<bool>("!document.querySelector('#wish').hidden")
        .await;
    fan.picture("lobby-wish").await;
    wish_for(&fan, "cat2", "cat1").await;
    fan.picture("lobby-wish-form").await;
    fan.become_phone().await;
    fan.click("#wish-save").await;
    let told = "[...document.querySelectorAll('#wish-list li')].filter((wish) => Number(wish.dataset.odds) > 0.9).length === 2";
    fan.until::<bool>(told).await;
    fan.picture("lobby-wishes").await;
    fan.become_phone().await;

    fan.go(&lobby).await;
    fan.until::<bool>(&lists(2)).await;
    fan.in_other_tab(&lobby, REMOVE_SECOND).await;
    fan.until::<bool>(&lists(1)).await;

    promoter.draw("sale").await;
    fan.until::<bool>("document.querySelector('#wish-hold')?.textContent.includes('2 seats')")
        .await;
    let said = "document.querySelector('#say').textContent.includes('Hold 2 seats')";
    fan.until::<bool>(said).await;
    fan.picture("lobby-wish-turn").await;
    fan.become_phone().await;
    fan.click("#wish-hold").await;
    fan.until::<bool>(BASKET).await;
    let seats: String = fan.until(SEATS).await;
    let rows: Vec<_> = seats.split(',').map(|seat| &seat[..1]).collect();
    assert_eq!(rows.len(), 2, "{seats}");
    assert!(rows.iter().all(|row| ["C", "D"].contains(row)), "{seats}");
    fan.picture("checkout-wish").await;
    fan.close("the fan").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sold_out_wish_gives_way_to_the_next_and_none_leaves_the_map() {
    let (Some(fan), Some(late)) = (Browser::open().await, Browser::open().await) else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    on_sale(&promoter, "2x2").await;
    let mut ana = Visitor::joined(&server, "sale").await;
    for browser in [&fan, &late] {
        join(browser, &server).await;
        wish_for(browser, "cat1", "cat2").await;
        browser.click("#wish-save").await;
        browser.until::<bool>(&lists(2)).await;
    }
    promoter.draw("sale").await;
    ana.claim().await;
    let body = json!({"seats": ["A-1", "A-2"]});
    ana.send(reqwest::Method::POST, "/v1/shows/night/holds", &body)
        .await
        .is(201);

    fan.click("#wish-hold").await;
    fan.until::<bool>(BASKET).await;
    assert_eq!(fan.until::<String>(SEATS).await, "B-1,B-2");

    late.click("#wish-hold").await;
    late.until::<bool>("document.querySelector('#problem').dataset.code === 'wishes_gone'")
        .await;
    late.until::<bool>("document.querySelector('#place').dataset.state === 'admitted'")
        .await;
    late.until::<bool>("document.querySelector('#wish-hold').hidden")
        .await;
    late.picture("lobby-wishes-gone").await;
    late.click("#problem a[href='/s/night']").await;
    late.until::<bool>("location.pathname === '/s/night'").await;
    fan.close("the fan").await;
    late.close("the late fan").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wish_for_any_show_is_tried_at_each_in_the_order_in_which_they_start() {
    let Some(fan) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    on_sale(&promoter, "2x2").await;
    let matinee = json!({"title": "A matinee to test", "starts_at": "2031-06-01T15:00:00+02:00"});
    promoter
        .put("shows/matinee", &show("hall", matinee))
        .await
        .is(200);
    let both = room("night", json!({"shows": ["night", "matinee"]}));
    promoter.put("rooms/sale", &both).await.is(200);
    let mut ana = Visitor::joined(&server, "sale").await;
    join(&fan, &server).await;
    fan.click("#wish-open").await;
    fan.until::<bool>("document.querySelectorAll('#wish-0-show option').length === 3")
        .await;
    fan.click("[name='wish-0-where'][value='cat1']").await;
    fan.picture("lobby-wish-form-shows").await;
    fan.click("#wish-save").await;
    fan.until::<bool>(&lists(1)).await;
    promoter.draw("sale").await;
    ana.claim().await;
    let body = json!({"seats": ["A-1", "A-2"]});
    ana.send(reqwest::Method::POST, "/v1/shows/matinee/holds", &body)
        .await
        .is(201);

    fan.click("#wish-hold").await;
    fan.until::<bool>(BASKET).await;
    assert_eq!(fan.until::<String>(SEATS).await, "A-1,A-2");
    fan.until::<bool>("document.querySelector('#show-title').textContent.startsWith('A night')")
        .await;
    fan.close("the fan").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_double_tap_and_one_after_a_lost_answer_hold_the_same_seats() {
    let Some(fan) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    on_sale(&promoter, "4x10").await;
    fan.run_first(LOSE_FIRST_HOLD).await;
    join(&fan, &server).await;
    wish_for(&fan, "cat1", "cat2").await;
    fan.click("#wish-save").await;
    fan.until::<bool>(&lists(2)).await;
    promoter.draw("sale").await;
    fan.until::<bool>("!document.querySelector('#wish-hold').hidden")
        .await;
    fan.run("for (const _ of [1, 2]) document.querySelector('#wish-hold').click()")
        .await;
    fan.until::<bool>(
        "sessionStorage.lostHold && document.querySelector('#place').dataset.state === 'admitted'",
    )
    .await;
    // After a reload, the page still knows of the attempt.
    fan.go(&server.at("/r/sale")).await;
    fan.run("window.lost = true").await;
    fan.click("#wish-hold").await;
    fan.until::<bool>(BASKET).await;
    let basket: String = fan.until("location.pathname").await;
    let lost: String = fan.until("sessionStorage.lostHold").await;
    assert_eq!(basket, format!("/checkout/{lost}"));
    let seats: Value = until("the room counts what is held", async || {
        let seats = promoter.room("sale").await["seats"].take();
        (seats["held"] != 0).then_some(seats)
    })
    .await;
    assert_eq!(seats["held"], 2, "{seats}");
    fan.close("the fan").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_sends_its_wishes_again_to_a_server_that_has_lost_them() {
    let Some(fan) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    on_sale(&promoter, "4x10").await;
    join(&fan, &server).await;
    wish_for(&fan, "cat1", "cat2").await;
    fan.click("#wish-save").await;
    fan.until::<bool>(&lists(2)).await;

    // The browser leaves the page first, so that the console has nothing to complain about.
    fan.go("about:blank").await;
    server.kill();
    server.restart().await;
    fan.go(&server.at("/r/sale")).await;
    fan.until::<bool>(&lists(2)).await;
    // The page shows the wishes that the browser keeps, even before the server has them again.
    fan.run(
        "(function ask() { fetch('/v1/rooms/sale/place').then((answer) => answer.json()).then(({ wishes }) => {
            if (wishes) window.told = wishes; else setTimeout(ask, 100); }); })(); undefined",
    )
    .await;
    let told: Value = fan.until("window.told").await;
    assert_eq!(told[0]["categories"], json!(["cat1"]), "{told}");
    assert_eq!(told[1]["categories"], json!(["cat2"]), "{told}");
    fan.close("the fan").await;
}
