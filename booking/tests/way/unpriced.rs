//! Tests a timetable without a currency: nothing of it is sold until an import gives one.

use fairgate_model::shows::coverage::EVERYDAY;
use serde_json::{Value, json};

use crate::harness::*;
use crate::small_feed::small_feed;

const SHOW: &str = "/v1/shows/re-101-2027-01-11";

async fn classes(app: &App) -> Value {
    let path = "/v1/rail/trips?from=aa&to=cc&date=2027-01-11";
    let trips = app.ask(get(path)).await.is(200);
    assert_eq!(trips[0]["show"], "re-101-2027-01-11");
    trips[0]["classes"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sold_without_a_currency_and_everything_in_the_one_that_is_given_later() {
    let app = App::new().await;
    app.import_timetable(&small_feed(&[], "")).await;
    let app = app.restarted().await;
    assert_eq!(classes(&app).await, json!([]));
    let ana = app.visitor_of(EVERYDAY, 1);
    let stretch = |mut ask: Value| {
        ask["from"] = json!("aa");
        ask["to"] = json!("cc");
        post(&format!("{SHOW}/holds"), &ask).by(&ana)
    };
    let best = json!({"best": {"quantity": 1, "class": "second"}});
    let refused = app.ask(stretch(best.clone())).await;
    let problem = refused.problem(422, "invalid_field");
    let detail = text(&problem, "detail");
    assert!(detail.contains("no seat of this train is sold"), "{detail}");
    let seat = json!({"seats": ["1-1A"]});
    let refused = app.ask(stretch(seat)).await;
    refused.problem(422, "not_for_sale");

    let in_francs = small_feed(&[], "[terms]\ncurrency = \"CHF\"\n");
    app.import_timetable(&in_francs).await;
    let app = app.restarted().await;
    assert_eq!(classes(&app).await[2]["price"]["currency"], "CHF");
    let hold = app.ask(stretch(best)).await.is(201);
    assert_eq!(hold["total"]["currency"], "CHF");
}
