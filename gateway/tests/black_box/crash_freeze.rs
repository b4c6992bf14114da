//! Kills the server while a line is being frozen and drawn. The room must end with one draw that
//! contains everybody who got a place.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{PROMOTER_KEY, Promoter, Server, TestAnswer, Visitor, room, until};

/// The times between the call for the draw and the kill, in microseconds. They lie before, during
/// and after the freeze's transaction.
const KILLED_AFTER_US: [u64; 10] = [0, 300, 600, 900, 1_200, 1_600, 2_000, 3_000, 6_000, 30_000];
/// The number of people in each room.
const JOINERS: usize = 25;

#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_during_the_freeze_ends_with_one_draw_over_everybody() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let (mut drawn, mut unanswered) = (Vec::new(), 0);
    for (at, killed_after_us) in KILLED_AFTER_US.into_iter().enumerate() {
        let id = format!("room-{at}");
        let put = promoter
            .put(
                &format!("rooms/{id}"),
                &room(&format!("show-{at}"), json!({})),
            )
            .await;
        put.is(201);
        let mut crowd = Vec::new();
        for _ in 0..JOINERS {
            crowd.push(Visitor::joined(&server, &id).await);
        }
        crowd[3].leave().await.is(204);

        let ask = server.http.request(
            Method::POST,
            server.at(&format!("/v1/promoter/rooms/{id}/draw")),
        );
        let (answer, ()) = tokio::join!(TestAnswer::of(ask.bearer_auth(PROMOTER_KEY)), async {
            tokio::time::sleep(Duration::from_micros(killed_after_us)).await;
            server.kill();
        });
        server.restart().await;
        if answer.is_err() {
            unanswered += 1;
            // The promoter got no answer, so it asks for the draw again.
            promoter.post(&format!("rooms/{id}/draw")).await;
        }
        let record = until("the draw is done", async || {
            let record = server.get(&format!("/v1/rooms/{id}/draw")).await.is(200);
            record["seed"].is_string().then_some(record)
        })
        .await;
        assert_eq!(
            (&record["n"], &record["voids"]),
            (&json!(JOINERS), &json!(1)),
            "{id}"
        );
        let leaves = server
            .get(&format!("/v1/rooms/{id}/draw/leaves"))
            .await
            .body;
        for visitor in crowd.iter().filter(|visitor| visitor.number != 3) {
            let at = usize::try_from(visitor.number).expect("a small number") * 32;
            assert_eq!(hex::encode(&leaves[at..at + 32]), visitor.holder(), "{id}");
        }
        drawn.push((id, record, crowd.pop().expect("somebody")));
    }
    for (id, record, last) in &drawn {
        let now: Value = server.get(&format!("/v1/rooms/{id}/draw")).await.is(200);
        assert_eq!(&now, record, "the draw of {id} changed after a later kill");
        assert_eq!(last.look().await["number"], last.number);
    }
    eprintln!(
        "FIGURE {} kills around the freeze, {unanswered} before its answer; each room has one draw",
        drawn.len()
    );
}
