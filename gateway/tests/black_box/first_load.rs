//! Measures the lobby's first load: how much a browser fetches before the page works, and how long
//! a visitor with a slow phone waits for the number after the tap.

use serde_json::json;

use crate::harness::{Browser, Loaded, Promoter, Server, Traffic};

/// The most bytes that the page, its styles, script, texts and icon may have together over the
/// wire: compressed, with the headers of each answer.
const BYTES_MAX: u64 = 20_000;
const REQUESTS_MAX: usize = 6;

/// Opens the lobby for the first time, and returns what the browser fetched.
async fn first_load(browser: &Browser, server: &Server) -> Vec<Loaded> {
    let traffic = Traffic::of(browser).await;
    browser.go(&server.at("/r/sale")).await;
    browser
        .until::<bool>("document.documentElement.classList.contains('js')")
        .await;
    traffic.complete("/assets/page/lobby.js").await
}

async fn sale() -> Server {
    let server = Server::start().await;
    Promoter::of(&server)
        .on_sale("20x30", json!({}), json!({}))
        .await;
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lobbys_first_load_is_small() {
    let Some(browser) = Browser::open().await else {
        return;
    };
    let server = sale().await;
    let files = first_load(&browser, &server).await;
    for file in &files {
        eprintln!("{} {}", file.bytes.unwrap_or_default(), file.address);
    }
    let bytes: u64 = files.iter().filter_map(|file| file.bytes).sum();
    eprintln!("lobby_first_load_bytes: {bytes}");
    eprintln!("lobby_first_load_requests: {}", files.len());
    assert!(bytes <= BYTES_MAX, "{bytes} bytes: {files:#?}");
    assert!(files.len() <= REQUESTS_MAX, "{files:#?}");
    browser.close("a first visitor").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_problem_gets_its_words_when_it_is_shown() {
    let Some(browser) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let room = json!({"codes": "required"});
    promoter.on_sale("4x10", json!({}), room).await;
    let traffic = Traffic::of(&browser).await;
    browser.go(&server.at("/r/sale")).await;
    browser
        .until::<bool>("document.documentElement.classList.contains('js')")
        .await;
    browser.fill("#code", "WRONG-CODE").await;
    browser.click("#join").await;
    let told: String = browser
        .until("!document.querySelector('#problem').hidden && document.querySelector('#problem').textContent")
        .await;
    assert!(told.contains("letter by letter"), "{told}");
    traffic.complete("/text/en/later.json").await;
    browser.close("a visitor with a wrong code").await;
}

/// Records when the button was tapped, and when the number was on the page.
const WATCH: &str = "(() => {
    window.times = {};
    document.querySelector('#join').addEventListener('click', () => { times.tapped = performance.now(); }, true);
    const number = document.querySelector('#number');
    const watch = new MutationObserver(() => {
        if (!number.dataset.value || times.shown) return;
        requestAnimationFrame(() => { times.shown = performance.now(); });
    });
    watch.observe(number, { attributes: true });
})()";

/// Measures how long a visitor waits with a slow mobile network and a processor that is six times
/// slower.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures time, which the other tests on this machine would change"]
async fn a_slow_phone_shows_the_number_soon_after_the_tap() {
    let Some(browser) = Browser::open().await else {
        return;
    };
    let server = sale().await;
    browser.become_slow(150.0, 1_600_000.0, 6.0).await;
    browser.go(&server.at("/r/sale")).await;
    let ready: f64 = browser
        .until("document.documentElement.classList.contains('js') && performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
        .await;
    browser.run(WATCH).await;
    browser.click("#join").await;
    let waited: f64 = browser
        .until("times.shown && times.shown - times.tapped")
        .await;
    eprintln!("lobby_first_load_ms: {ready:.0}");
    eprintln!("lobby_tap_to_number_ms: {waited:.0}");
    assert!(waited < 1_000.0, "{waited} ms from the tap to the number");
    browser.close("a visitor with a slow phone").await;
}
