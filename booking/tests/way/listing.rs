//! Tests the list of free seats. It says how many free seats each section and area has, and shows
//! the rows of one section, in pages.

use serde_json::{Value, json};

use crate::harness::*;

/// Opens an app that sells a hall with these rows in the stalls, a row in no section, a standing
/// floor, and boxes without a price.
async fn opened_hall(stalls: &Value) -> App {
    let app = App::new().await;
    let plan = json!({
        "categories": [{"key": "cat1", "label": "Stalls"}, {"key": "cat2", "label": "Gallery"}, {"key": "box", "label": "Box"}],
        "sections": [
            {"label": "Boxes", "category": "box", "rows": [{"label": "A", "count": 2, "from": [0, 200], "to": [20, 200]}]},
            {"label": "Stalls", "category": "cat1", "rows": stalls},
        ],
        "rows": [{"label": "Z", "category": "cat2", "count": 3, "from": [0, 300], "to": [40, 300]}],
        "areas": [{"label": "Floor", "category": "cat2", "capacity": 30, "center": [0, -20]}],
    });
    let path = "/v1/promoter/venues/hall?format=fairgate";
    app.ask(put(path, &plan).by(&PROMOTER)).await.is(200);
    app.put_show("night-1", json!({"orphans": "allow"})).await;
    app
}

async fn free(app: &App, query: &str) -> Value {
    app.ask(get(&format!("/v1/shows/night-1/free{query}")))
        .await
        .is(200)
}

fn row(label: &str, count: u32, y: u32) -> Value {
    json!({"label": label, "count": count, "from": [0, y], "to": [20 * count, y]})
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_counts_free_seats_by_section_and_names_those_of_one() {
    let mut first = row("A", 4, 0);
    first["accessible"] = json!([1]);
    let app = opened_hall(&json!([first, row("B", 2, 24)])).await;
    let price = |amount: i64| json!({"amount": amount, "currency": "EUR"});
    let list = free(&app, "").await;
    let stalls =
        |free: u32| json!({"section": 1, "label": "Stalls", "free": free, "from": price(9_900)});
    let others = json!({"section": 2, "label": "", "free": 3, "from": price(4_900)});
    assert_eq!(list["sections"], json!([stalls(6), others]));
    let floor = |free: u32| json!([{"label": "Floor", "free": free, "price": price(4_900)}]);
    assert_eq!((&list["areas"], &list["rows"]), (&floor(30), &json!(null)));

    let ana = app.visitor(1);
    let wish = json!({"seats": ["Stalls-A-2", "Stalls-B-1"], "areas": [{"label": "Floor", "quantity": 1}]});
    app.try_hold(&ana, "night-1", &wish).await.is(201);
    let list = free(&app, "?section=1").await;
    assert_eq!(list["sections"][0], stalls(4));
    assert_eq!(list["areas"], floor(29));
    let rows = list["rows"].as_array().expect("rows");
    let labels = |row: &Value| -> Vec<String> {
        let seats = row["seats"].as_array().expect("seats");
        seats.iter().map(|seat| text(seat, "label")).collect()
    };
    assert_eq!(labels(&rows[0]), ["Stalls-A-1", "Stalls-A-3", "Stalls-A-4"]);
    assert_eq!((rows.len(), &rows[1]["row"]), (2, &json!("B")));
    let seat = json!({
        "label": "Stalls-A-1", "number": "1", "price": price(9_900),
        "accessible": true, "companion": false, "restricted_view": false,
    });
    assert_eq!(rows[0]["seats"][0], seat);
    let beside = free(&app, "?section=2").await;
    assert_eq!(labels(&beside["rows"][0]), ["Z-1", "Z-2", "Z-3"]);

    let cancel = post("/v1/promoter/shows/night-1/cancel", &json!({}));
    app.ask(cancel.by(&PROMOTER)).await.is(200);
    let list = free(&app, "").await;
    assert_eq!(
        (&list["sections"], &list["areas"]),
        (&json!([]), &json!([]))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_section_is_listed_in_pages_of_whole_rows() {
    let rows: Vec<Value> = (0..5)
        .map(|nth| row(&format!("R{nth}"), 90, nth * 24))
        .collect();
    let app = opened_hall(&json!(rows)).await;
    for (page, first, count) in [(1, "R0", 3), (2, "R3", 2)] {
        let list = free(&app, &format!("?section=1&page={page}")).await;
        let rows = list["rows"].as_array().expect("rows");
        assert_eq!((text(&rows[0], "row").as_str(), rows.len()), (first, count));
        assert_eq!((&list["page"], &list["pages"]), (&json!(page), &json!(2)));
    }
    let of_none = free(&app, "?section=9").await;
    assert_eq!(
        (&of_none["rows"], &of_none["pages"]),
        (&json!([]), &json!(1))
    );
    // A page may no longer exist because its seats were bought. The answer is then the last page.
    let last = free(&app, "?section=1&page=9").await;
    assert_eq!(last["page"], 2);
    let none = app.ask(get("/v1/shows/night-1/free?section=1&page=0"));
    none.await.problem(422, "invalid_field");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_row_is_listed_in_pages_and_a_list_that_is_known_is_not_sent_again() {
    let app = opened_hall(&json!([row("A", 450, 0)])).await;
    let mut listed = Vec::new();
    for page in 1..=3 {
        let list = free(&app, &format!("?section=1&page={page}")).await;
        assert_eq!(list["pages"], 3);
        let rows = list["rows"].as_array().expect("rows");
        let seats = rows.iter().map(|row| row["seats"].as_array());
        let seats: Vec<Value> = seats.flatten().flatten().cloned().collect();
        assert!(seats.len() <= 200, "page {page} has {}", seats.len());
        listed.extend(seats.iter().map(|seat| text(seat, "label")));
    }
    listed.sort_unstable();
    listed.dedup();
    assert_eq!(listed.len(), 450);

    let ask = async |tag: &str| {
        let call = get("/v1/shows/night-1/free").header("if-none-match", tag);
        app.ask(call).await
    };
    let tag = ask("\"other\"").await.header("etag").to_owned();
    assert_eq!(ask(&tag).await.status, 304);
    let wish = json!({"seats": ["Stalls-A-1"]});
    app.try_hold(&app.visitor(1), "night-1", &wish)
        .await
        .is(201);
    assert_eq!(ask(&tag).await.status, 200, "a seat was taken");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_listed_once_the_sale_has_ended() {
    let app = App::new().await;
    app.put_venue("hall", "grid:2x5").await;
    // The app's clock begins at 09:00.
    let ends = json!({"sells_until": "2027-01-10T09:05:00Z"});
    app.put_show("night-1", ends).await;
    assert_eq!(free(&app, "").await["sections"][0]["free"], 10);
    app.clock.advance_ms(5 * 60 * 1_000);
    assert_eq!(free(&app, "").await["sections"], json!([]));
}
