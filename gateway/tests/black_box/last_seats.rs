//! Tests the last two seats of a train in the browsers of several travellers. A traveller who is
//! too late reads why. Nobody gets a seat for the whole way if somebody else has it for a part of
//! the way.

use crate::carriages::pay_sandbox;
use crate::harness::{Browser, Server, until};
use crate::rail::{date, put_in};
use crate::rail_rooms::TWO_SEATS;

/// Returns the address of train R1's page on a stretch.
fn address(server: &Server, stretch: &str, seats: u32) -> String {
    let date = date();
    server.at(&format!(
        "/s/r1-{date}?{stretch}&date={date}&class=second&seats={seats}"
    ))
}

/// Holds a seat that the server chooses, and returns its label.
async fn hold_one(browser: &Browser) -> String {
    browser.click("#hold").await;
    browser
        .until("!document.querySelector('#held').hidden && document.querySelector('#held-seats li').dataset.seat")
        .await
}

/// Asks for more seats than are free. Returns the refusal's words and the names of its buttons.
async fn be_refused(browser: &Browser) -> (String, Vec<String>) {
    browser
        .run("document.querySelector('#problem').hidden = true; undefined")
        .await;
    browser.click("#hold").await;
    browser
        .until("!document.querySelector('#problem').hidden && [document.querySelector('#problem').innerText, [...document.querySelectorAll('#problem button')].map((one) => one.textContent)]")
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn two_browsers_want_the_last_seats_and_the_later_one_reads_that_too_few_are_left() {
    let (Some(ana), Some(ben)) = (Browser::open().await, Browser::open().await) else {
        return;
    };
    let server = Server::prepared(&[], async |data| {
        put_in("Europe/Berlin", TWO_SEATS, data).await;
    })
    .await;
    let whole_way = address(&server, "from=RVN&to=HIL", 2);
    ana.go(&address(&server, "from=RVN&to=LAK", 1)).await;
    ben.go(&whole_way).await;
    let of_ana = hold_one(&ana).await;

    // Ben's page was loaded when both seats were free. One is now in Ana's basket as far as
    // Lakeside, and may come back.
    let (words, buttons) = be_refused(&ben).await;
    for part in ["Not enough seats left", "may come back within minutes"] {
        assert!(words.contains(part), "{part} in {words}");
    }
    assert_eq!(buttons, ["Join the waitlist", "See what’s free now"]);
    ana.click("#to-checkout").await;
    pay_sandbox(&ana, &["Ana Fan"]).await;

    // A sold seat does not come back, so there is nothing to wait for.
    let (words, buttons) = be_refused(&ben).await;
    for part in [
        "Not enough seats left",
        "the others that fit are sold",
        "class",
    ] {
        assert!(words.contains(part), "{part} in {words}");
    }
    assert_eq!(buttons, ["See what’s free now"]);
    ben.picture("11-rail-last-seats-sold").await;

    until("the page shows how few seats are free", async || {
        let page = server.get(&whole_way[server.at("").len()..]).await.text();
        page.contains("Only 1 free").then_some(())
    })
    .await;
    ben.run("document.querySelector('#problem button').click(); undefined")
        .await;
    let free: String = ben
        .until("document.querySelector('#problem').hidden && document.querySelector('#train-form .chip').textContent.trim()")
        .await;
    assert_eq!(free, "Only 1 free");
    ben.picture("11-rail-last-seat").await;
    ben.run("document.querySelector('#travellers').value = '1'; undefined")
        .await;
    let of_ben = hold_one(&ben).await;
    assert_ne!(of_ben, of_ana);
    ben.click("#to-checkout").await;
    pay_sandbox(&ben, &["Ben Fan"]).await;

    // From Lakeside on, Ana's seat is the only one left.
    let third = Browser::open().await.expect("chromium was there before");
    third.go(&address(&server, "from=LAK&to=HIL", 1)).await;
    assert_eq!(hold_one(&third).await, of_ana);
    for (browser, whose) in [(ana, "Ana"), (ben, "Ben"), (third, "the third")] {
        browser.close(whose).await;
    }
}
