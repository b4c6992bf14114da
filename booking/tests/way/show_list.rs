//! Tests `GET /v1/shows`: its filters and pages, and that each change is in the next list.

use serde_json::{Value, json};

use crate::harness::*;

/// Returns the slugs of the shows that a search finds, and how many there are on all pages.
async fn found(app: &App, query: &str) -> (Vec<String>, u64) {
    let list = app.ask(get(&format!("/v1/shows{query}"))).await.is(200);
    let shows = list["shows"].as_array().expect("a list").iter();
    let slugs = shows.map(|show| text(show, "show")).collect();
    (slugs, list["total"].as_u64().expect("a count"))
}

async fn check(app: &App, query: &str, expected: &[&str]) {
    let (slugs, total) = found(app, query).await;
    assert_eq!(slugs, expected, "{query}");
    assert_eq!(total, expected.len() as u64, "{query}");
}

#[tokio::test(flavor = "multi_thread")]
async fn shows_are_found_by_words_venue_time_category_and_room() {
    let app = App::new().await;
    app.put_venue("hall", "grid:4x10").await;
    app.put_venue("barn", "grid:2x2").await;
    let put = async |show: &str, title: &str, starts_at: &str, changes: Value| {
        let mut document = json!({"title": title, "starts_at": starts_at});
        let fields = document.as_object_mut().expect("a document");
        fields.extend(changes.as_object().cloned().unwrap_or_default());
        app.put_show(show, document).await;
    };
    put("night-1", "Winter Night", "2027-06-03T20:00:00Z", json!({})).await;
    put(
        "fair",
        "WINTER fair",
        "2027-06-01T20:00:00Z",
        json!({"venue": "barn", "walk_in": true}),
    )
    .await;
    let one_price = json!({"prices": {"cat1": 500}});
    put("dawn", "Dawn", "2027-06-02T20:00:00Z", one_price).await;

    check(&app, "", &["fair", "dawn", "night-1"]).await;
    check(&app, "?q=winter", &["fair", "night-1"]).await;
    check(&app, "?q=night+WINTER", &["night-1"]).await;
    check(&app, "?q=barn", &["fair"]).await;
    check(&app, "?q=summer", &[]).await;
    check(&app, "?venue=barn", &["fair"]).await;
    check(&app, "?from=2027-06-02", &["dawn", "night-1"]).await;
    check(&app, "?to=2027-06-02", &["fair", "dawn"]).await;
    check(
        &app,
        "?from=2027-06-02T20:00:00Z&to=2027-06-02T20:00:00Z",
        &["dawn"],
    )
    .await;
    check(&app, "?from=2027-06-03&to=2027-06-01", &[]).await;
    check(&app, "?category=cat2&q=n", &["night-1"]).await;
    check(&app, "?category=nothing", &[]).await;
    check(&app, "?room=demo", &["night-1"]).await;
    check(&app, "?room=everyday&q=winter", &["fair"]).await;
    assert_eq!(found(&app, "?page=2").await, (Vec::new(), 3));
    for (query, field) in [
        ("?page=0", "page"),
        ("?from=soon", "from"),
        (&*format!("?q={}", "x".repeat(101)), "q"),
    ] {
        let refused = app.ask(get(&format!("/v1/shows{query}"))).await;
        assert_eq!(refused.problem(422, "invalid_field")["field"], field);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_title_price_or_room_is_in_the_next_list() {
    let app = App::new().await;
    app.put_venue("hall", "grid:4x10").await;
    app.put_show("night-1", json!({})).await;
    let shown = async || app.ask(get("/v1/shows")).await.is(200)["shows"][0].clone();
    assert_eq!(shown().await["title"], "Night one");
    for n in 2..20 {
        let title = format!("Night {n}");
        app.put_show("night-1", json!({"title": title, "prices": {"cat1": n}}))
            .await;
        let shown = shown().await;
        assert_eq!(shown["title"], title);
        assert_eq!(shown["categories"][0]["price"]["amount"], n);
    }
    let covered = vec![("gala".to_owned(), vec!["night-1".to_owned()])];
    let gateways = app.booking.gateways();
    gateways.replace_coverage(covered).await.expect("stored");
    assert_eq!(shown().await["room"], "gala");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_has_the_list_is_told_that_nothing_changed_until_something_does() {
    let app = App::new().await;
    app.put_venue("hall", "grid:4x10").await;
    app.put_show("night-1", json!({})).await;
    let first = app.ask(get("/v1/shows")).await;
    let tag = first.header("etag").to_owned();
    assert!(!tag.is_empty(), "the list has a tag");
    let again = || app.ask(get("/v1/shows").header("if-none-match", &tag));
    assert_eq!(again().await.status, 304);
    app.put_show("night-2", json!({})).await;
    let changed = again().await;
    assert_eq!(changed.is(200)["total"], 2);
    assert_ne!(changed.header("etag"), tag);
}
