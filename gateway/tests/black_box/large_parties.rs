//! Tests that visitors who let the server choose many seats, again and again, keep nobody else out.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Promoter, Server, TestAnswer, Visitor, room, show};

/// How many clients ask for a hundred seats without a pause.
const LARGE_PARTIES: usize = 8;
/// How long they do so.
const RUSH: Duration = Duration::from_secs(8);
/// The longest time that a newcomer waits for a place or for a pair of seats. The programs of a
/// test are not optimised, and other tests run beside this one.
const ANSWER_MAX: Duration = Duration::from_secs(4);

/// Puts an arena of four hundred sections, each of which has twenty rows of twenty-five seats. No
/// row has a hundred seats, so a large party sits in several rows. Returns the document of a show
/// in it.
async fn put_arena(promoter: &Promoter<'_>) -> Value {
    let section = |number: u32| {
        let (x, y) = (number % 20 * 700, number / 20 * 600);
        let row = |row: u32| {
            json!({"label": row.to_string(), "count": 25, "accessible": row == 0,
                "from": [x, y + row * 24], "to": [x + 480, y + row * 24]})
        };
        let rows: Vec<Value> = (0..20).map(row).collect();
        json!({"label": format!("S{number}"), "category": "cat1", "rows": rows})
    };
    let sections: Vec<Value> = (0..400).map(section).collect();
    let arena = json!({"name": "Arena", "focal": [6_890, -60], "sections": sections,
        "categories": [{"key": "cat1", "label": "Seats"}]});
    promoter
        .put("venues/arena?format=fairgate", &arena)
        .await
        .is(200);
    let changes = json!({"seats_per_visitor": 100, "prices": {"cat1": 9_900}});
    show("arena", changes)
}

/// Asks for a hundred of the best seats and gives them back, until the rush is over. Returns how
/// often the client got its seats.
async fn ask_without_pause(party: &Visitor<'_>, is_over: &AtomicBool) -> u32 {
    let (mut held, asked_accessible) = (0, party.number % 2 * 20);
    while !is_over.load(Ordering::Relaxed) {
        let asked = json!({"best": {"quantity": 100, "accessible": asked_accessible}});
        let answer = party
            .send_once(Method::POST, "/v1/shows/night/holds", &asked)
            .await;
        if answer.status != 201 {
            let refusal = (answer.status, answer.json()["code"].clone());
            assert!(
                refusal == (503, json!("busy")) || refusal == (409, json!("seats_taken")),
                "{answer:?}"
            );
            continue;
        }
        held += 1;
        let hold = format!(
            "/v1/holds/{}",
            answer.json()["hold"].as_str().expect("an id")
        );
        let freed = party.send_once(Method::DELETE, &hold, &Value::Null).await;
        assert_eq!(freed.status, 204, "{freed:?}");
    }
    held
}

async fn timed(act: impl Future<Output = TestAnswer>) -> (TestAnswer, Duration) {
    let begun = Instant::now();
    let answer = act.await;
    (answer, begun.elapsed())
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_clients_that_ask_for_a_hundred_seats_without_pause_keep_nobody_out() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let show = put_arena(&promoter).await;
    promoter.put("shows/night", &show).await.is(200);
    promoter
        .put("rooms/sale", &room("night", json!({})))
        .await
        .is(201);
    let mut visitors = Vec::new();
    for _ in 0..=LARGE_PARTIES {
        visitors.push(Visitor::joined(&server, "sale").await);
    }
    promoter.draw("sale").await;
    for visitor in &mut visitors {
        visitor.claim().await;
    }
    let pair = visitors.pop().expect("one more than the parties");

    let (is_over, seats_held) = (AtomicBool::new(false), AtomicU32::new(0));
    let rush = join_all(visitors.iter().map(async |party| {
        let held = ask_without_pause(party, &is_over).await;
        seats_held.fetch_add(held, Ordering::Relaxed);
    }));
    let others = async {
        let (begun, mut asked, mut slowest) = (Instant::now(), 0, Duration::ZERO);
        while begun.elapsed() < RUSH {
            let newcomer = Visitor::new(&server, "sale");
            let secret = json!({"secret": newcomer.secret});
            let (joined, took) = timed(newcomer.post_once("places", &secret)).await;
            assert_eq!(joined.status, 201, "after {asked} rounds: {joined:?}");
            slowest = slowest.max(took);
            let asked_pair = json!({"best": {"quantity": 2}});
            let holding = pair.send_once(Method::POST, "/v1/shows/night/holds", &asked_pair);
            let (held, took) = timed(holding).await;
            assert_eq!(held.status, 201, "{held:?}");
            slowest = slowest.max(took);
            let hold = format!("/v1/holds/{}", held.json()["hold"].as_str().expect("an id"));
            let freed = pair.send_once(Method::DELETE, &hold, &Value::Null).await;
            assert_eq!(freed.status, 204, "{freed:?}");
            asked += 1;
        }
        is_over.store(true, Ordering::Relaxed);
        (asked, slowest)
    };
    let (_, (asked, slowest)) = tokio::join!(rush, others);
    let large = seats_held.into_inner();
    eprintln!("FIGURE {asked} newcomers and pairs; slowest {slowest:?}; {large} large holds");
    assert!(slowest < ANSWER_MAX, "{slowest:?} in {asked} rounds");
    assert!(large > 0, "the large parties got no seats");
}
