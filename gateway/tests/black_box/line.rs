//! Tests the order and the pace of the line: late joiners rank last, nobody is released during a
//! pause, and a second claim gives the same pass.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Live, Promoter, Server, TestShop, Visitor, in_seconds, until_within};

#[tokio::test(flavor = "multi_thread")]
async fn a_late_joiner_ranks_after_everybody_who_was_drawn() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter
        .on_sale("4x10", json!({}), json!({"per_s": 1}))
        .await;
    let mut drawn = Vec::new();
    for _ in 0..6 {
        drawn.push(Visitor::joined(&server, "sale").await);
    }
    promoter.draw("sale").await;
    let late = Visitor::joined(&server, "sale").await;
    assert_eq!((late.number, late.rank().await), (6, 6), "rank = number");
    let mut ranks = Vec::new();
    for visitor in &drawn {
        ranks.push(visitor.rank().await);
    }
    ranks.sort_unstable();
    assert_eq!(ranks, (0..6).collect::<Vec<_>>());
    late.try_claim().await.problem(409, "not_called");
    assert!(
        late.look().await["ahead"]
            .as_u64()
            .is_some_and(|ahead| ahead >= 1)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn releases_keep_to_the_pace_and_the_counter_never_falls() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter
        .on_sale("4x10", json!({}), json!({"per_s": 2}))
        .await;
    for _ in 0..9 {
        Visitor::joined(&server, "sale").await;
    }
    promoter.post("rooms/sale/draw").await.is(200);
    let started = Instant::now();
    let mut last = 0;
    until_within(
        "all nine are released",
        Duration::from_secs(20),
        async || {
            let released = promoter.room("sale").await["released"].as_u64()?;
            assert!(
                released >= last,
                "the counter fell from {last} to {released}"
            );
            // Two seconds are added. The pace may count up to one second before the draw, and the
            // last tick may come just before the room was read.
            let budget = 2.0 * (started.elapsed().as_secs_f64() + 2.0);
            assert!(
                released as f64 <= budget,
                "{released} released when {budget:.1} were allowed"
            );
            last = released;
            (released >= 9).then_some(())
        },
    )
    .await;
    assert!(
        started.elapsed() > Duration::from_millis(2_500),
        "at two a second, nine take longer than this"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_room_is_paused_the_draw_happens_and_nobody_is_released() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    let mut ana = Visitor::joined(&server, "sale").await;
    promoter
        .patch(
            "rooms/sale",
            &json!({"paused": true, "message": "A short break."}),
        )
        .await
        .is(200);
    promoter.draw("sale").await;
    assert_eq!(ana.rank().await, 0);
    let mut socket = Live::open(&ana).await;
    let told = socket.text("room").await;
    assert_eq!(
        (&told["paused"], &told["message"]),
        (&json!(true), &json!("A short break."))
    );
    // At least one tick has passed between two shared frames.
    socket.text("line").await;
    assert_eq!(socket.text("line").await["released"], 0);
    let problem = ana.try_claim().await.problem(409, "not_called");
    assert_eq!(problem["wait"]["known"], false);
    promoter
        .patch("rooms/sale", &json!({"paused": false}))
        .await
        .is(200);
    socket.text("turn").await;
    ana.claim().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn claiming_twice_gives_the_same_pass_and_max_inside_limits_the_passes() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter
        .on_sale("4x10", json!({}), json!({"max_inside": 1}))
        .await;
    let first = Visitor::joined(&server, "sale").await;
    let second = Visitor::joined(&server, "sale").await;
    promoter.draw("sale").await;
    let (mut front, back) = if first.rank().await == 0 {
        (first, second)
    } else {
        (second, first)
    };
    front.claim().await;
    let again = front.try_claim().await.is(201);
    assert_eq!(again["pass"], json!(front.pass));
    back.try_claim().await.problem(409, "not_called");

    // A visitor with tickets no longer counts as inside, so the next visitor is called.
    let held = server
        .try_hold(&front, "night", &json!({"best": {"quantity": 1}}))
        .await
        .is(201);
    let ordered = server.checkout(&front, &held).await;
    server.pay(&ordered, "approve").await.is(200);
    server.order_in(&ordered, "ticketed").await;
    let mut back = back;
    back.claim().await;
    assert_eq!(front.look().await["state"], "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_draw_happens_by_itself_at_its_time() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter
        .on_sale("4x10", json!({}), json!({"draw_at": in_seconds(2)}))
        .await;
    let mut ana = Visitor::joined(&server, "sale").await;
    promoter.selling("sale").await;
    ana.claim().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_join_before_the_opening_is_refused_with_the_opening_time() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let opens = in_seconds(1_800);
    promoter
        .on_sale("4x10", json!({}), json!({"opens_at": opens}))
        .await;
    let mut ana = Visitor::new(&server, "sale");
    let problem = ana
        .post("places", &json!({"secret": ana.secret}))
        .await
        .problem(409, "not_open");
    assert!(problem["opens_at"].is_string());
    promoter.post("rooms/sale/open").await.is(200);
    ana.join().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_of_the_draw_are_fixed_from_the_first_join_on() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    let before = server.get("/v1/rooms/sale/draw").await.is(200);
    Visitor::joined(&server, "sale").await;
    for change in [
        json!({"method": "fifo"}),
        json!({"codes": "required"}),
        json!({"draw_at": in_seconds(60)}),
    ] {
        let document = crate::harness::room("night", change.clone());
        promoter
            .put("rooms/sale", &document)
            .await
            .problem(409, "draw_fixed");
    }
    promoter
        .put(
            "rooms/sale",
            &crate::harness::room("night", json!({"title": "A new title"})),
        )
        .await
        .is(200);
    let after = server.get("/v1/rooms/sale/draw").await.is(200);
    assert_eq!(before["commitment"], after["commitment"]);
    assert_eq!(promoter.room("sale").await["title"], "A new title");
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_room_without_a_draw_the_rank_is_the_number_from_the_start() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let room = json!({"method": "fifo", "draw_at": in_seconds(2)});
    promoter.on_sale("4x10", json!({}), room).await;
    let mut crowd = Vec::new();
    for _ in 0..4 {
        crowd.push(Visitor::joined(&server, "sale").await);
    }
    promoter.selling("sale").await;
    for (at, visitor) in crowd.iter_mut().enumerate() {
        assert_eq!(visitor.rank().await, at as u64);
        visitor.claim().await;
    }
    server
        .get("/v1/rooms/sale/draw")
        .await
        .problem(404, "no_draw");
}
