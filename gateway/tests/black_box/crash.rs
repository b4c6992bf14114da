//! Kills the server again and again while people join, hold and pay. Everything that the server
//! answered must stay true.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::crowd::{Member, Stage, Told};
use crate::harness::{Promoter, Server, TestShop, Visitor, text, until};

/// The number of people.
const CROWD: usize = 200;
/// The number of kills, unless `FAIRGATE_CRASH_ROUNDS` says otherwise.
const ROUNDS: usize = 20;
/// The number of kills before the promoter draws. At that time some people have not joined yet.
const ROUNDS_BEFORE_THE_DRAW: usize = 4;

/// The facts about the room that were seen and must stay true, and the figures of the run.
#[derive(Default)]
struct Seen {
    released: u64,
    draw: Option<Value>,
    places: usize,
    restart_ms_most: u128,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_again_and_again_keeps_everything_that_it_answered() {
    let rounds = std::env::var("FAIRGATE_CRASH_ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(ROUNDS);
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter
        .on_sale(
            "100x120",
            json!({"seats_per_visitor": 1_000}),
            json!({"per_s": 400}),
        )
        .await;
    let stage = Stage::default();
    let crowd: Vec<Member<'_>> = (0..CROWD)
        .map(|at| Member {
            visitor: Visitor::new(&server, "sale"),
            joins_after: at * (rounds / 2).max(1) / CROWD,
            told: parking_lot::Mutex::default(),
            stage: &stage,
        })
        .collect();

    let mut seen = Seen::default();
    let kill = async {
        for round in 1..=rounds {
            // Until the draw, people can only join, and only some join in each round. So these
            // rounds wait for fewer answers.
            let most = if round <= ROUNDS_BEFORE_THE_DRAW {
                15
            } else {
                60
            };
            reach(&stage, rand::random_range(5..most)).await;
            server.kill();
            let killed = std::time::Instant::now();
            server.restart().await;
            seen.restart_ms_most = seen.restart_ms_most.max(killed.elapsed().as_millis());
            look_again(&server, &crowd, &mut seen).await;
            stage.survived.store(round, Ordering::Relaxed);
            if round == ROUNDS_BEFORE_THE_DRAW.min(rounds) {
                promoter.post("rooms/sale/draw").await.is(200);
            }
            eprintln!(
                "round {round} of {rounds}: {} steps so far, released {}",
                stage.steps.load(Ordering::Relaxed),
                seen.released
            );
        }
        reach(&stage, 100).await;
        stage.over.store(true, Ordering::Relaxed);
    };
    tokio::join!(kill, join_all(crowd.iter().map(Member::live)));

    look_again(&server, &crowd, &mut seen).await;
    let told: Vec<Told> = crowd.iter().map(|one| one.told.lock().clone()).collect();
    let numbers: HashSet<_> = told.iter().filter_map(|one| one.number).collect();
    assert_eq!(
        numbers.len(),
        CROWD,
        "everybody has a number, and no number is given twice"
    );
    let (orders, cells) = check_orders(&server, &told).await;
    eprintln!(
        "FIGURE {rounds} kills, {} steps; {} places, {orders} orders, {cells} cells checked; down at most {} ms",
        stage.steps.load(Ordering::Relaxed),
        seen.places,
        seen.restart_ms_most,
    );
}

/// Waits until the crowd has got this many more answers, so that each kill comes in the middle of
/// work.
async fn reach(stage: &Stage, more: usize) {
    let goal = stage.steps.load(Ordering::Relaxed) + more;
    until("the crowd gets on", async || {
        (stage.steps.load(Ordering::Relaxed) >= goal).then_some(())
    })
    .await;
}

/// Checks after each restart that every place that was given still has its number and rank, that
/// the counter has not fallen, and that the draw is the same.
async fn look_again(server: &Server, crowd: &[Member<'_>], seen: &mut Seen) {
    let room = server.get("/v1/rooms/sale").await.is(200);
    let released = room["released"].as_u64().expect("a counter");
    assert!(
        released >= seen.released,
        "released fell from {} to {released}",
        seen.released
    );
    seen.released = released;
    let draw = server.get("/v1/rooms/sale/draw").await.is(200);
    if let Some(before) = &seen.draw {
        assert_eq!(before, &draw, "the draw changed");
    } else if draw["seed"].is_string() {
        seen.draw = Some(draw);
    }
    let asked = crowd.iter().filter_map(|member| {
        let told = member.told.lock().clone();
        told.number.map(|number| (member, number, told.rank))
    });
    let checks = asked.map(async |(member, number, rank)| {
        let back = Visitor {
            place: String::new(),
            ..member.visitor.clone()
        };
        let found = back
            .post("places", &json!({"secret": back.secret}))
            .await
            .is(200);
        assert_eq!(found["number"], number, "the number of a place changed");
        let back = Visitor {
            place: found["place"].as_str().expect("a place").to_owned(),
            ..back
        };
        if let Some(rank) = rank {
            assert_eq!(
                back.rank().await,
                rank,
                "the rank of place {number} changed"
            );
        }
    });
    seen.places += join_all(checks).await.len();
}

/// Checks the orders at the end: an unpaid order is pending or expired, a paid order is ticketed,
/// each order has its seats, no seat is in two live orders, and no ticket exists twice. The room
/// must show as many sold seats as there are tickets. Returns the numbers of orders and of seats in
/// live orders.
async fn check_orders(server: &Server, told: &[Told]) -> (usize, usize) {
    let (mut owners, mut tickets) = (HashMap::new(), HashSet::new());
    let (mut orders, mut sold) = (0, 0);
    for told in told {
        for (ordered, state, labels) in &told.orders {
            let (id, order) = (text(ordered, "order"), server.read(ordered).await);
            orders += 1;
            let now = order["state"].as_str().expect("a state");
            let fits = match *state {
                "pending" => matches!(now, "pending" | "expired"),
                _ => now == "ticketed",
            };
            assert!(fits, "{} was seen as {state} and is now {now}", id);
            let seats = order["seats"].as_array().expect("seats");
            let mut here: Vec<_> = seats
                .iter()
                .map(|seat| seat["label"].as_str().expect("a label"))
                .collect();
            let mut then: Vec<_> = labels.iter().map(String::as_str).collect();
            here.sort_unstable();
            then.sort_unstable();
            assert_eq!(here, then, "{} has other seats", id);
            if now == "expired" {
                continue;
            }
            for label in labels {
                let other = owners.insert(label.clone(), id.clone());
                assert_eq!(other, None, "{label} is in two live orders");
            }
            if now == "ticketed" {
                sold += labels.len();
                for ticket in order["tickets"].as_array().expect("tickets") {
                    assert!(
                        tickets.insert(ticket["ticket"].to_string()),
                        "two tickets have the same id"
                    );
                }
            }
        }
    }
    assert_eq!(tickets.len(), sold, "each sold seat has one ticket");
    until("the room shows every sold seat", async || {
        let shown = server.get("/v1/rooms/sale").await.is(200)["seats"]["sold"].as_u64()?;
        assert!(
            shown <= sold as u64,
            "{shown} seats are shown as sold, but {sold} were sold"
        );
        (shown == sold as u64).then_some(())
    })
    .await;
    (orders, owners.len())
}
