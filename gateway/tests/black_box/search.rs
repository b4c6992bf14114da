//! Tests the search for on-sales on the start page and through `GET /v1/rooms`: its pages in time
//! order, misspelt words, cities and days. Also tests that all visitors share one answer, and that
//! each change is in the next one.

use serde_json::{Value, json};

use crate::harness::{Browser, Promoter, Server, TestAnswer, room, show, text};

/// The number of on-sales. They fill two pages, and one is left for the third.
const ON_SALES: usize = 81;

async fn put_on_sales(promoter: &Promoter<'_>) {
    for (hall, city) in [("east", "Köln"), ("west", "Lyon")] {
        let venue = json!({"plan": "grid:2x2", "city": city, "time_zone": "Europe/Berlin"});
        promoter
            .put(&format!("venues/{hall}"), &venue)
            .await
            .is(200);
    }
    // A show that is put later takes place earlier.
    for n in (0..ON_SALES).rev() {
        let hall = if n % 2 == 0 { "east" } else { "west" };
        let day = 1 + n % 28;
        let month = 1 + n / 28;
        let starts_at = format!("2031-{month:02}-{day:02}T20:00:00+01:00");
        let title = if n == 40 {
            "The Nightingale".to_owned()
        } else {
            format!("Night {n}")
        };
        let night = show(hall, json!({"starts_at": starts_at, "title": title}));
        promoter.put(&format!("shows/n-{n}"), &night).await.is(200);
        let sale = room(&format!("n-{n}"), json!({"title": title}));
        promoter.put(&format!("rooms/r-{n}"), &sale).await.is(201);
    }
}

async fn titles(server: &Server, query: &str) -> (Vec<String>, u64) {
    let list = server.get(&format!("/v1/rooms?{query}")).await.is(200);
    let title = |room: &Value| room["room"].as_str().expect("a slug").to_owned();
    let rooms = list["rooms"].as_array().expect("a list").iter().map(title);
    (rooms.collect(), list["total"].as_u64().expect("a count"))
}

#[tokio::test(flavor = "multi_thread")]
async fn hundreds_of_on_sales_are_found_by_words_city_and_day_in_time_order() {
    let Some(fan) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    put_on_sales(&promoter).await;

    let (first, total) = titles(&server, "city=koln").await;
    assert_eq!((first.len(), total), (40, 41));
    let in_order: Vec<String> = (0..40).map(|n| format!("r-{}", 2 * n)).collect();
    assert_eq!(first, in_order);
    let (second, _) = titles(&server, "city=koln&page=2").await;
    assert_eq!(second, ["r-80"]);
    assert_eq!(titles(&server, "q=nightingal").await.0, ["r-40"]);
    assert_eq!(titles(&server, "q=nihgtingale").await.0, ["r-40"]);
    assert_eq!(
        titles(&server, "from=2031-01-02&to=2031-01-03").await.0,
        ["r-1", "r-2"]
    );
    assert_eq!(titles(&server, "q=opera").await, (Vec::new(), 0));
    for (bad, code) in [
        ("from=soon", (422, "invalid_field")),
        ("page=0", (422, "invalid_field")),
        ("town=x", (400, "invalid_query")),
    ] {
        let refused = server.get(&format!("/v1/rooms?{bad}")).await.refusal();
        assert_eq!(refused, (code.0, code.1.to_owned()), "{bad}");
    }

    fan.go(&server.at("/")).await;
    fan.until::<bool>("document.querySelectorAll('.card').length === 40")
        .await;
    fan.picture("0-home-pages").await;
    fan.click("a[rel=next]").await;
    fan.until::<bool>("document.querySelector('.card a').textContent === 'The Nightingale'")
        .await;
    fan.go(&server.at("/?q=nightingal&city=K%C3%B6ln")).await;
    fan.until::<bool>("document.querySelectorAll('.card').length === 1")
        .await;
    fan.close("the fan").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_shows_of_a_room_are_listed() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("2x2", json!({}), json!({})).await;
    let other = show("hall", json!({"title": "Another night", "walk_in": true}));
    promoter.put("shows/other", &other).await.is(200);
    // Nobody sells this show, so it is in no room's list.
    let announced = show("hall", json!({"title": "Some day"}));
    promoter.put("shows/some-day", &announced).await.is(200);
    let listed = async |room: &str| {
        let list = server.get(&format!("/v1/shows?room={room}")).await.is(200);
        let shows = list["shows"].as_array().expect("a list").iter();
        let slugs: Vec<String> = shows.map(|show| text(show, "show")).collect();
        (slugs, list["total"].clone())
    };
    assert_eq!(listed("sale").await, (vec!["night".to_owned()], json!(1)));
    let everyday = (vec!["other".to_owned()], json!(1));
    assert_eq!(listed("everyday").await, everyday);
    assert_eq!(listed("nowhere").await, (Vec::new(), json!(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_list_has_a_tag_and_is_sent_compressed_and_not_at_all_if_nothing_changed() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("2x2", json!({}), json!({})).await;
    for n in 0..20 {
        let title = format!("Another night {n}");
        let other = show("hall", json!({"title": title}));
        promoter
            .put(&format!("shows/other-{n}"), &other)
            .await
            .is(200);
    }
    for path in ["/", "/v1/rooms", "/v1/shows", "/?q=night", "/cinema"] {
        let ask = async |headers: &[(&str, &str)]| {
            let mut call = server.http.get(server.at(path));
            for (name, value) in headers {
                call = call.header(*name, *value);
            }
            TestAnswer::of(call).await.expect("an answer")
        };
        let plain = ask(&[]).await;
        assert_eq!(plain.status, 200, "{path}");
        let zipped = ask(&[("accept-encoding", "gzip")]).await;
        assert_eq!(zipped.header("content-encoding"), "gzip", "{path}");
        assert!(zipped.header("vary").contains("accept-encoding"), "{path}");
        assert!(zipped.body.len() < plain.body.len(), "{path}");
        let tag = zipped.header("etag").to_owned();
        assert!(tag.starts_with('"'), "{path}: {tag}");
        let same = [("accept-encoding", "gzip"), ("if-none-match", &*tag)];
        let same = ask(&same).await;
        assert_eq!((same.status, same.body.len()), (304, 0), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_show_room_or_phase_is_in_the_very_next_list() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("2x2", json!({}), json!({})).await;
    for n in 0..10 {
        let title = format!("Revue {n}");
        let night = show("hall", json!({"title": title}));
        promoter.put("shows/revue", &night).await.is(200);
        let home = server.get("/").await.text();
        assert!(home.contains(&title), "{home}");
        let found = server.get(&format!("/?q={n}")).await.text();
        assert!(found.contains(&title), "{found}");
        let message = json!({"message": format!("Doors open at {n}")});
        promoter.patch("rooms/sale", &message).await.is(200);
        let rooms = server.get("/v1/rooms?q=night").await.is(200);
        assert_eq!(rooms["rooms"][0]["message"], message["message"]);
    }
    promoter.post("rooms/sale/close").await.is(200);
    let rooms = server.get("/v1/rooms").await.is(200);
    let sale = rooms["rooms"].as_array().expect("a list").iter();
    let sale: Vec<_> = sale.filter(|room| room["room"] == "sale").collect();
    assert_eq!(sale[0]["phase"], "closed");
    let home = server.get("/").await.text();
    let card = "class=\"cover\" href=\"/r/sale\"";
    assert!(!home.contains(card), "{home}");
}
