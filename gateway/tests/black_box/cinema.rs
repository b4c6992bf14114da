//! Tests the way from the cinema's search to a ticket in a browser: a misspelt search still finds
//! the film, and the best three seats are held and paid. Also tests the search in a browser without
//! scripts, hostile texts, and a cancelled showing.

use serde_json::{Value, json};

use crate::carriages::pay_sandbox;
use crate::harness::{Browser, Promoter, Server, in_seconds};

/// A title with hostile markup, which must be shown as text.
const HOSTILE: &str = "</title><script>alert(1)</script> & \"Sons\"";

/// Returns 18:00 UTC on the day that is `days` days from now.
fn in_days(days: i64) -> String {
    let moment = in_seconds(days * 86_400);
    format!("{}T18:00:00Z", &moment[..10])
}

/// Returns a programme of two cities, three films and four showings.
fn programme() -> Value {
    let cinema = |id: &str, name: &str, halls: Value| json!({"id": id, "name": name, "address": "Lange Straße 1", "postal_code": "10115", "lat": 52.5, "lon": 13.4, "halls": halls});
    let hall = |id: &str, plan: &str| json!({"id": id, "name": "Saal 1", "plan": plan});
    let showing = |id: &str, film: &str, hall: &str, days: i64| json!({"id": id, "film": film, "hall": hall, "starts_at": in_days(days), "prices": {"cat1": 1_200, "cat2": 900}});
    json!({
        "cities": [
            {"id": "berlin", "name": "Berlin", "time_zone": "Europe/Berlin", "cinemas": [cinema("mitte", "Kino Mitte", json!([hall("mitte-1", "grid:8x12")]))]},
            {"id": "york", "name": "York", "time_zone": "Europe/London", "cinemas": [cinema("picture", "Picture House", json!([hall("picture-1", "grid:2x4")]))]},
        ],
        "films": [
            {"id": "orchard", "title": "The Orchard Keeper", "description": "A year among trees, and what they hear. A gardener comes back to the valley of his childhood.",
                "duration_s": 6_000, "genre": "Drama", "language": "en", "release_date": "2026-12-24", "country": "Ireland"},
            {"id": "tram", "title": "Last Tram", "duration_s": 5_400, "genre": "Comedy"},
            {"id": "sons", "title": HOSTILE, "duration_s": 5_400},
        ],
        "showings": [
            showing("orchard-1", "orchard", "mitte-1", 2), showing("tram-1", "tram", "mitte-1", 3),
            showing("tram-2", "tram", "picture-1", 2), showing("sons-1", "sons", "picture-1", 4),
        ],
    })
}

async fn opened() -> Server {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.put("cinema", &programme()).await.is(200);
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn a_misspelt_film_is_found_and_its_seats_are_chosen_and_paid() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = opened().await;
    ana.go(&server.at("/")).await;
    ana.picture("0-home-with-a-programme").await;
    ana.click("a[href='/cinema']").await;
    ana.until::<bool>("document.querySelectorAll('#found [data-show]').length === 4")
        .await;
    ana.picture("10-cinema").await;
    ana.fill("#keyword", "Orchird Kepeer").await;
    ana.run("document.querySelector('#seats').value = '3'")
        .await;
    ana.click("#find").await;
    let found: Vec<String> = ana
        .until("document.querySelector('#near-only') && [...document.querySelectorAll('#found [data-show]')].map(one => one.dataset.show)")
        .await;
    assert_eq!(found, ["orchard-1"]);
    ana.picture("10-cinema-found").await;
    ana.click("#found .time").await;
    ana.until::<bool>("window.fairgate && document.querySelector('#best-quantity').value === '3'")
        .await;
    let place: String = ana
        .until("document.querySelector('#venue').textContent")
        .await;
    assert_eq!(place, "Kino Mitte, Saal 1, Lange Straße 1, Berlin");
    ana.picture("10-cinema-seats").await;
    // The room `everyday` has no line, so the page gets a pass by itself.
    ana.click("#best-find").await;
    let held: usize = ana
        .until("!document.querySelector('#held').hidden && document.querySelectorAll('#held-seats li').length")
        .await;
    assert_eq!(held, 3);
    ana.click("#to-checkout").await;
    ana.until::<bool>(
        "document.querySelector('#pay') && document.querySelector('#total').textContent !== ''",
    )
    .await;
    let told: String = ana
        .until("document.querySelector('#show-title').textContent")
        .await;
    for words in [
        "The Orchard Keeper · Kino Mitte, Saal 1, Lange Straße 1, Berlin",
        "(Berlin time)",
    ] {
        assert!(told.contains(words), "{words} in {told}");
    }
    ana.fill("#buyer-name", "Ana Fan").await;
    ana.fill("#buyer-email", "ana@example.org").await;
    ana.click("#pay").await;
    ana.until::<bool>(
        "document.querySelector('#approve') && !document.querySelector('#sandbox').hidden",
    )
    .await;
    ana.click("#approve").await;
    ana.until::<bool>("document.querySelectorAll('#tickets svg').length === 3")
        .await;
    let title: String = ana
        .until("document.querySelector('#show-title').textContent")
        .await;
    assert!(
        title.contains("The Orchard Keeper · Kino Mitte, Saal 1, Lange Straße 1, Berlin"),
        "{title}"
    );
    ana.click(".ticket-link").await;
    ana.until::<bool>("document.querySelector('#qr svg') && document.querySelector('#venue').textContent === 'Kino Mitte, Saal 1' && document.querySelector('#address').textContent === 'Lange Straße 1, Berlin'")
        .await;
    ana.close("Ana").await;
}

/// Opens a showing for a party in the cinema of Berlin.
async fn open_showing(browser: &Browser, server: &Server, party: u32) {
    browser
        .go(&server.at(&format!("/s/orchard-1?seats={party}")))
        .await;
    browser
        .until::<bool>(
            "window.fairgate && document.querySelector('#map').dataset.version !== undefined",
        )
        .await;
}

/// Holds the best seats, and returns their labels.
async fn hold_best(browser: &Browser) -> Vec<String> {
    browser.click("#best-find").await;
    browser
        .until("!document.querySelector('#held').hidden && [...document.querySelectorAll('#held-seats li')].map((one) => one.dataset.seat)")
        .await
}

/// Waits until the page shows all these seats in this state.
async fn are(browser: &Browser, seats: &[String], state: &str) {
    let seats = json!(seats);
    browser
        .until::<bool>(&format!(
            "{seats}.every((seat) => window.fairgate.stateOf(seat) === '{state}')"
        ))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_browsers_at_one_showing_get_different_seats_and_see_each_others() {
    let (Some(ana), Some(ben)) = (Browser::open().await, Browser::open().await) else {
        return;
    };
    let server = opened().await;
    open_showing(&ana, &server, 3).await;
    open_showing(&ben, &server, 2).await;
    let of_ana = hold_best(&ana).await;
    assert_eq!(of_ana.len(), 3);
    are(&ben, &of_ana, "held").await;
    // A seat that somebody holds cannot be chosen.
    let point = format!("window.fairgate.pointOf({})", json!(of_ana[0]));
    ben.click_at(ben.until::<[f64; 2]>(&point).await.into())
        .await;
    ben.until::<bool>("document.querySelector('#say').textContent.includes('in a basket')")
        .await;
    let of_ben = hold_best(&ben).await;
    assert!(of_ben.iter().all(|seat| !of_ana.contains(seat)));
    are(&ana, &of_ben, "held").await;
    for browser in [&ana, &ben] {
        browser.click("#to-checkout").await;
        pay_sandbox(browser, &[]).await;
    }
    let third = Browser::open().await.expect("chromium was there before");
    open_showing(&third, &server, 1).await;
    are(&third, &[of_ana, of_ben].concat(), "sold").await;
    third.picture("10-cinema-seats-of-others").await;
    for (browser, whose) in [(ana, "Ana"), (ben, "Ben"), (third, "the third")] {
        browser.close(whose).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_search_works_without_scripts() {
    let Some(browser) = Browser::without_scripts().await else {
        return;
    };
    let server = opened().await;
    browser
        .go(&server.at("/cinema?keyword=tram&city=york"))
        .await;
    browser
        .shows("#found-title", |text| text == "1 showing")
        .await;
    assert!(
        browser
            .has("#found [data-show='tram-2'] a[href='/s/tram-2?seats=2']")
            .await
    );
    assert!(
        browser.has("#film option[value='tram']").await,
        "the films of the city are offered"
    );
    browser.press("#find").await;
    browser
        .shows("#found-title", |text| text == "1 showing")
        .await;
    browser.picture("10-cinema-without-scripts").await;
    browser.close("without scripts").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_and_stored_texts_are_escaped_and_wrong_queries_show_a_problem() {
    let server = opened().await;
    for (query, status) in [
        ("", 200),
        ("?keyword=%3Cscript%3Ealert(2)%3C%2Fscript%3E", 200),
        ("?from=2031-02-30", 422),
        ("?sort=best", 422),
        ("?city=%22%3E%3Cscript%3E", 422),
        ("?page=999&seats=-4", 200),
        ("?unheard=of", 200),
    ] {
        let page = server.get(&format!("/cinema{query}")).await;
        assert_eq!(page.status, status, "{query}");
        assert!(
            page.header("content-security-policy")
                .contains("script-src 'self'"),
            "{query}"
        );
        let text = page.text();
        assert!(!text.contains("<script"), "{query}: {text}");
        assert_eq!(
            text.contains("id=\"problem\" class=\"problem\" role=\"alert\" tabindex=\"-1\" hidden"),
            status == 200,
            "{query}"
        );
    }
    let found = server.get("/cinema?city=york&film=tram").await.text();
    assert!(found.contains("(London time)"), "{found}");
    let home = server.get("/").await.text().replace("&#x2f;", "/");
    assert!(
        home.contains("href=\"/cinema\"") && !home.contains("orchard-1"),
        "the home page links to the search and lists no showing"
    );
    let lobby = server.get("/r/everyday").await.text();
    assert!(!lobby.contains("orchard-1"), "{lobby}");
    let bare = Server::start().await;
    assert!(
        !bare.get("/").await.text().contains("cinema"),
        "without a programme the home page has no link to the search"
    );
    assert!(
        bare.get("/cinema")
            .await
            .text()
            .contains("There’s no programme yet")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_showing_is_shown_as_cancelled_and_has_no_link() {
    let server = opened().await;
    let promoter = Promoter::of(&server);
    promoter.post("shows/tram-2/cancel").await.is(200);
    let found = server
        .get("/v1/cinema/showings?city=york&film=tram")
        .await
        .is(200);
    assert_eq!(found["showings"][0]["fate"], "cancelled");
    let page = server.get("/cinema?city=york&film=tram").await.text();
    assert!(page.contains("data-status=\"cancelled\"") && !page.contains("tram-2?seats"));
    let page = server.get("/s/tram-2").await.text();
    assert!(page.contains("data-fate=\"cancelled\""), "{page}");
}
