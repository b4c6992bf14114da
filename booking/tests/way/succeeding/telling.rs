//! What buyers are told when their train changes.

use std::collections::BTreeMap;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn order_and_ticket_tell_which_train_was_bought_when_its_number_changes() {
    let app = railway(&[train("t1", "RE 101", "09:00")]).await;
    let order = sold(&app, 1, SOLD, SEAT).await;
    let id = |id: &str| id.parse().expect("a slug");
    let renumbered = ShowChoices {
        matches: BTreeMap::from([(id(SOLD), id("re-201-2027-01-11"))]),
        ..none()
    };
    succeed(&app, &[train("t1", "RE 201", "09:00")], renumbered).await;
    finds(&app, &[(SOLD.to_owned(), "09:00".to_owned(), 509)]).await;
    let has_new_number = |order: &Value| order["journey"]["train"] == "RE 201";
    let record = app.order_once(&order, has_new_number).await;
    assert_eq!(record["journey_as_sold"]["train"], "RE 101", "{record:#}");
    let path = format!("/v1/tickets/{}", text(&record["tickets"][0], "ticket"));
    let ticket = app.ask(get(&path).by(&text(&order, "order_key"))).await;
    let ticket = ticket.is(200);
    assert_eq!(ticket["journey"], record["journey"]);
    assert_eq!(ticket["journey_as_sold"], record["journey_as_sold"]);
    // Whoever buys now knows the new number.
    let later = sold(&app, 2, SOLD, "3-1B").await;
    assert_eq!(app.read(&later).await["journey_as_sold"], Value::Null);
}
