//! A node that stood still while another one imported a timetable.

use std::time::{Duration, Instant};

use fairgate_servers as servers;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_stood_still_makes_no_basket_at_a_fare_that_no_longer_counts() {
    if servers::must_skip("a node that stands still during an import") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let mut nodes = App::nodes(2, &redis.url()).await;
    let now = jiff::Timestamp::from_millisecond(nodes[0].clock.now_ms()).expect("a moment");
    let today = now.to_zoned(jiff::tz::TimeZone::UTC).date();
    let day = today.checked_add(jiff::ToSpan::days(3)).expect("a day");
    let days = format!("{0}0101,{1}1231", today.year(), today.year() + 1);
    let trains = [train("t1", "RE 101", "09:00")];
    nodes[0]
        .import_timetable(&timetable_between(&trains, PRICE, &days))
        .await;
    let path = format!("/v1/shows/re-101-{day}/holds");
    let price_at = async |node: &App, visitor: u16, seat: &str| {
        let who = node.visitor_of(EVERYDAY, visitor);
        until("a basket", async || {
            let held = node.ask(post(&path, &ride(seat)).by(&who)).await;
            let hold = (held.status == 201).then(|| held.is(201))?;
            hold["total"]["amount"].as_i64()
        })
        .await
    };
    assert_eq!(price_at(&nodes[0], 1, SEAT).await, PRICE);
    assert_eq!(price_at(&nodes[1], 2, "3-1B").await, PRICE);
    nodes[1].stand_still();
    let dearer = timetable_between(&trains, PRICE + 50, &days);
    nodes[0].import_timetable(&dearer).await;
    let imported = Instant::now();
    until("the node is behind", async || {
        (imported.elapsed() > Duration::from_millis(1_200)).then_some(())
    })
    .await;
    assert_eq!(price_at(&nodes[1], 3, "3-1C").await, PRICE + 50);
}
