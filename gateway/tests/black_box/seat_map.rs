//! Tests the seat map. On a phone, a real chart is visible, two of its seats are chosen and held
//! without scrolling, and a finger on the map scrolls the page. A choice by keyboard is announced
//! to screen readers.

use serde_json::json;

use crate::harness::{Browser, Promoter, Server, in_seconds, real_data, room, show};

/// The share of the map's pixels that have another colour than its corner, in percent.
const PAINTED_PCT: &str = "(() => {
    const map = document.querySelector('#map');
    const { data } = map.getContext('2d').getImageData(0, 0, map.width, map.height);
    const pixels = new Uint32Array(data.buffer);
    return 100 * pixels.filter((pixel) => pixel !== pixels[0]).length / pixels.length;
})()";

/// Puts a chart on sale in a room without a line.
async fn chart_on_sale(promoter: &Promoter<'_>, chart: String) {
    let imported = promoter
        .put_text("venues/track?format=seatsio", chart)
        .await;
    let imported = imported.is(200);
    let categories = imported["categories"].as_array().expect("categories");
    let prices: serde_json::Map<_, _> = categories
        .iter()
        .map(|key| (key.as_str().expect("a key").to_owned(), json!(5_000)))
        .collect();
    let night = show("track", json!({ "prices": prices }));
    promoter.put("shows/night", &night).await.is(200);
    let sale = room(
        "night",
        json!({"method": "open", "draw_at": in_seconds(-30)}),
    );
    promoter.put("rooms/sale", &sale).await.is(201);
    promoter.selling("sale").await;
}

async fn open_map(browser: &Browser, server: &Server) {
    browser.go(&server.at("/s/night")).await;
    browser
        .until::<bool>("performance.getEntriesByName('fairgate.map-drawn').length > 0")
        .await;
}

/// Touches a seat until it is chosen. At first its neighbours are too close for a finger, so a
/// touch zooms in instead.
async fn choose(browser: &Browser, label: &str) {
    let seat = json!(label);
    let chosen = format!("document.querySelector('#chosen [data-seat={seat}]') !== null");
    for _ in 0..6 {
        let still = format!(
            "(async () => {{ for (;;) {{ const before = String(window.fairgate.pointOf({seat}));
                for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
                if (before === String(window.fairgate.pointOf({seat}))) return window.fairgate.pointOf({seat}); }} }})()"
        );
        let [x, y]: [f64; 2] = browser.until(&still).await;
        browser.touch((x, y), &[]).await;
        // A touch either chooses the seat or zooms in.
        let done: String = browser
            .until(&format!(
                "{chosen} ? 'chosen' : String(window.fairgate.pointOf({seat})) !== '{x},{y}' && 'nearer'"
            ))
            .await;
        if done == "chosen" {
            return;
        }
    }
    panic!("{label} was not chosen by six touches");
}

async fn held_without_scrolling(chart: String, seats: [&str; 2]) {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    chart_on_sale(&Promoter::of(&server), chart).await;
    ana.become_phone().await;
    open_map(&ana, &server).await;
    let painted: f64 = ana.until(PAINTED_PCT).await;
    assert!(painted > 2.0, "only {painted:.1} % of the map is painted");
    for seat in seats {
        choose(&ana, seat).await;
    }
    let [x, y]: [f64; 2] = ana
        .until("(({x, y, width, height}) => [x + width / 2, y + height / 2])(document.querySelector('#hold').getBoundingClientRect())")
        .await;
    ana.touch((x, y), &[]).await;
    ana.until::<bool>(
        "!document.querySelector('#held').hidden && document.querySelectorAll('#held-seats li').length === 2",
    )
    .await;
    let scrolled: String = ana.until("String(window.scrollY)").await;
    assert_eq!(scrolled, "0", "the page was scrolled");
    ana.until::<bool>(
        "document.querySelector('#to-checkout').getBoundingClientRect().bottom <= innerHeight",
    )
    .await;
    eprintln!("FIGURE {painted:.0} % of a real chart's map is painted on a phone");
    ana.close("Ana").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_seats_of_a_real_race_track_are_held_on_a_phone_without_scrolling() {
    let Some(data) = real_data() else { return };
    let chart = data.join("seatmaps/seatsio-sampleChartWithZones.json");
    let chart = std::fs::read_to_string(chart).expect("a chart");
    held_without_scrolling(chart, ["Goal Stand 4-G-9", "Goal Stand 4-G-11"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finger_scrolls_the_page_over_the_whole_map_and_moves_a_zoomed_map() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("40x60", json!({}), json!({})).await;
    ana.become_phone().await;
    open_map(&ana, &server).await;
    let middle = "(({x, y, width, height}) => [x + width / 2, y + height / 2])(document.querySelector('#map').getBoundingClientRect())";
    let swipe = async || {
        let [x, y]: [f64; 2] = ana.until(middle).await;
        let moves: Vec<_> = (1..=8)
            .map(|step| (x, y - 15.0 * f64::from(step)))
            .collect();
        ana.touch((x, y), &moves).await;
    };
    swipe().await;
    ana.until::<bool>(
        "(async () => { for (;;) { const before = window.scrollY;
            for (let frame = 0; frame < 10; frame++) await new Promise(requestAnimationFrame);
            if (before === window.scrollY) return before > 40; } })()",
    )
    .await;
    ana.run("window.scrollTo(0, 0)").await;
    ana.until::<bool>("window.scrollY === 0").await;
    for _ in 0..3 {
        ana.run("document.querySelector('#zoom-in').click()").await;
    }
    let before: [f64; 2] = ana.until("window.fairgate.pointOf('T-30')").await;
    swipe().await;
    ana.until::<bool>(&format!(
        "window.fairgate.pointOf('T-30')[1] < {} - 40",
        before[1]
    ))
    .await;
    let scrolled: String = ana.until("String(window.scrollY)").await;
    assert_eq!(scrolled, "0", "a zoomed map moves, not the page");
    ana.close("Ana").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keyboards_choice_is_spoken_and_filters_fade_seats_and_shorten_the_list() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("9x20", json!({}), json!({})).await;
    open_map(&ana, &server).await;
    let press = async |key: &str| {
        ana.run(&format!(
            "document.querySelector('#map').dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', bubbles: true, cancelable: true }}))"
        ))
        .await;
    };
    let said = "document.querySelector('#say').textContent";
    ana.run("document.querySelector('#map').focus()").await;
    press("ArrowRight").await;
    let words: String = ana.until(said).await;
    for part in ["row ", "seat ", "€", "free"] {
        assert!(
            words.to_lowercase().contains(part),
            "{words} does not tell {part}"
        );
    }
    press("Enter").await;
    ana.until::<bool>(&format!("{said}.includes('chosen. 1 seat')"))
        .await;
    let listed = "[...document.querySelectorAll('#seat-list summary')].reduce((sum, { textContent }) => sum + Number(textContent.match(/([0-9]+) free/)[1]), 0)";
    let all: f64 = ana.until(listed).await;
    let before: String = ana
        .until("document.querySelector('#map').toDataURL()")
        .await;
    ana.run("{ const price = document.querySelector('#filter-price'); price.selectedIndex = 1; price.dispatchEvent(new Event('change', { bubbles: true })); } undefined").await;
    ana.until::<bool>(&format!(
        "document.querySelector('#map').toDataURL() !== {}",
        json!(before)
    ))
    .await;
    let cheap: f64 = ana.until(listed).await;
    assert!(cheap < all, "{cheap} of {all} seats are cheap");
    ana.close("Ana").await;
}
