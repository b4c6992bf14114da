//! Tests the waitlist. Freed seats are offered to the first party that is present and that they
//! fit. The party orders them like any basket.

use std::collections::{BTreeMap, HashSet};

use fairgate_pass::Holder;
use fairgate_servers as servers;
use serde_json::{Value, json};

use crate::harness::*;

pub const LIST: &str = "/v1/shows/night-1/waitlist";

/// Puts all forty seats except those in `free` into the baskets of other visitors, in pairs.
pub async fn full_but(app: &App, free: &[&str]) -> Vec<(Visitor, Value)> {
    let mut baskets = Vec::new();
    for row in ["A", "B", "C", "D"] {
        for pair in 0..5_u16 {
            let seats = [1, 2].map(|n| format!("{row}-{}", pair * 2 + n));
            let wanted: Vec<&str> = seats
                .iter()
                .map(String::as_str)
                .filter(|seat| !free.contains(seat))
                .collect();
            if wanted.is_empty() {
                continue;
            }
            let row = u16::from(row.as_bytes()[0]);
            let who = app.visitor(1_000 + row * 10 + pair);
            let hold = app.hold(&who, &wanted).await;
            baskets.push((who, hold));
        }
    }
    baskets
}

pub async fn full(app: &App) -> Vec<(Visitor, Value)> {
    full_but(app, &[]).await
}

pub async fn join(app: &App, who: &Visitor, quantity: u32) -> Value {
    let call = post(LIST, &json!({ "quantity": quantity }));
    app.ask(call.by(who)).await.is(201)
}

pub async fn look(app: &App, who: &Visitor) -> Value {
    app.ask(get(LIST).by(who)).await.is(200)
}

pub async fn once(app: &App, who: &Visitor, what: &str, ready: impl Fn(&Value) -> bool) -> Value {
    let look = async || Some(look(app, who).await).filter(&ready);
    until(what, look).await
}

pub async fn offered(app: &App, who: &Visitor) -> Value {
    once(app, who, "an offer", |waiter| waiter["state"] == "offered").await
}

pub async fn ended(app: &App, who: &Visitor, reason: &str) {
    once(app, who, reason, |waiter| {
        waiter["state"] == "ended" && waiter["reason"] == reason
    })
    .await;
}

pub async fn give_back(app: &App, (who, hold): &(Visitor, Value)) {
    let path = format!("/v1/holds/{}", text(hold, "hold"));
    app.ask(delete(&path).by(who)).await.is(204);
}

pub fn labels(of: &Value) -> Vec<String> {
    let seats = of.as_array().expect("a list");
    let label = |seat: &Value| seat["label"].as_str().or(seat.as_str()).map(str::to_owned);
    seats
        .iter()
        .map(|seat| label(seat).expect("a label"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_party_is_offered_freed_seats_and_orders_them() {
    let (app, ana, ben) = opened().await;
    let baskets = full(&app).await;
    let joined = join(&app, &ana, 2).await;
    assert_eq!(
        (&joined["state"], &joined["ahead"], &joined["quantity"]),
        (&json!("waiting"), &json!(0), &json!(2))
    );
    assert_eq!(
        (text(&joined, "since"), text(&joined, "until")),
        ("2027-01-10T09:00:00Z".into(), "2027-01-10T10:00:00Z".into())
    );
    assert_eq!(join(&app, &ben, 2).await["ahead"], 1);
    let mut signals = app.booking.gateways().hold_signals();
    give_back(&app, &baskets[0]).await;
    let offer = offered(&app, &ana).await["offer"].clone();
    assert_eq!(offer["show"], "night-1");
    assert_eq!(labels(&offer["seats"]), ["A-1", "A-2"]);
    assert_eq!(offer["expires_at"], "2027-01-10T09:01:00Z");
    let told = signals.recv().await.expect("a signal");
    assert_eq!(
        (told.state, told.hold.to_string()),
        (
            fairgate_model::holds::HoldSignalState::Offered,
            text(&offer, "hold")
        )
    );
    assert_eq!(look(&app, &ben).await["state"], "waiting");
    let crowd = post("/v1/shows/night-1/holds", &json!({ "seats": ["A-1"] }));
    app.ask(crowd.by(&ben)).await.problem(409, "seats_taken");
    let path = format!("/v1/holds/{}", text(&offer, "hold"));
    let hold = app.ask(get(&path).by(&ana)).await.is(200);
    assert_eq!(
        (labels(&hold["seats"]), &hold["state"]),
        (labels(&offer["seats"]), &json!("basket"))
    );
    app.ask(get(&path).by(&ben)).await.problem(403, "not_yours");
    let order = app
        .ask(post(&format!("{path}/order"), &buyer()).by(&ana))
        .await
        .is(201);
    ended(&app, &ana, "taken").await;
    assert_eq!(look(&app, &ben).await["ahead"], 0);
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_that_is_not_taken_goes_to_the_next_party_and_the_first_party_moves_back() {
    let (app, ana, ben) = opened_with(json!({ "hold_s": 1_200 })).await;
    let baskets = full(&app).await;
    join(&app, &ana, 2).await;
    join(&app, &ben, 2).await;
    give_back(&app, &baskets[3]).await;
    let first = offered(&app, &ana).await["offer"].clone();
    // An offer lasts 60 s, and the grace of holds is 5 s.
    app.clock.advance_ms(65_000);
    let second = offered(&app, &ben).await["offer"].clone();
    assert_eq!(labels(&second["seats"]), labels(&first["seats"]));
    let behind = look(&app, &ana).await;
    assert_eq!(
        (&behind["state"], &behind["missed"], &behind["ahead"]),
        (&json!("waiting"), &json!(1), &json!(1))
    );
    // Ben declines.
    let path = format!("/v1/holds/{}", text(&second, "hold"));
    app.ask(delete(&path).by(&ben)).await.is(204);
    let third = offered(&app, &ana).await;
    assert_eq!(labels(&third["offer"]["seats"]), labels(&first["seats"]));
    assert_ne!(third["offer"]["hold"], first["hold"]);
    // Ana leaves, and her offer goes on to Ben.
    app.ask(delete(LIST).by(&ana)).await.is(204);
    offered(&app, &ben).await;
    ended(&app, &ana, "left").await;
    app.ask(delete(LIST).by(&ana)).await.is(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_three_declined_offers_the_waiting_ends_and_the_seats_are_free_for_all() {
    let (app, ana, ben) = opened().await;
    let baskets = full(&app).await;
    join(&app, &ana, 1).await;
    give_back(&app, &baskets[3]).await;
    for missed in 0..3 {
        let offer = offered(&app, &ana).await;
        assert_eq!(offer["missed"], missed);
        let path = format!("/v1/holds/{}", text(&offer["offer"], "hold"));
        app.ask(delete(&path).by(&ana)).await.is(204);
    }
    ended(&app, &ana, "missed").await;
    let freed = labels(&baskets[3].1["seats"]);
    until("free seats", async || {
        let seats = app.seats("night-1").await;
        (seats["free"] == 2).then_some(())
    })
    .await;
    let freed: Vec<&str> = freed.iter().map(String::as_str).collect();
    app.hold(&ben, &freed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn seats_that_fit_no_party_are_free_for_all_and_smaller_parties_do_not_wait_for_larger_ones()
{
    let (app, ana, ben) = opened().await;
    let baskets = full(&app).await;
    join(&app, &ana, 3).await;
    give_back(&app, &baskets[0]).await;
    until("free seats", async || {
        let seats = app.seats("night-1").await;
        (seats["free"] == 2).then_some(())
    })
    .await;
    join(&app, &ben, 1).await;
    offered(&app, &ben).await;
    give_back(&app, &baskets[1]).await;
    let offer = offered(&app, &ana).await;
    let mut seats = labels(&offer["offer"]["seats"]);
    seats.sort();
    assert_eq!(
        seats.len(),
        3,
        "the seats that were free already are among them: {seats:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_absent_party_is_passed_over_and_served_when_it_is_present_again() {
    let (app, ana, ben) = opened_with(json!({ "hold_s": 1_200 })).await;
    let baskets = full(&app).await;
    join(&app, &ana, 2).await;
    app.clock.advance_ms(20_000);
    join(&app, &ben, 2).await;
    give_back(&app, &baskets[0]).await;
    offered(&app, &ben).await;
    // A gateway reports that Ana has a socket, so the ledger records her as present.
    let waiting = app
        .booking
        .gateways()
        .waiting(vec![])
        .await
        .expect("readable");
    assert_eq!(waiting.len(), 2);
    app.booking
        .gateways()
        .waiting(vec![waiting[0]])
        .await
        .expect("readable");
    let ledger = app.ledger().await;
    let show = "night-1".parse().expect("a slug");
    until("the party to be present", async || {
        let line = ledger.waiters(&show).await.expect("readable");
        line[0].is_here(app.clock.now_ms()).then_some(())
    })
    .await;
    give_back(&app, &baskets[1]).await;
    until("the party's offer", async || {
        let line = ledger.waiters(&show).await.expect("readable");
        line[0].offer.as_ref().map(drop)
    })
    .await;
    assert_eq!(look(&app, &ana).await["state"], "offered");
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_ends_when_too_few_seats_can_become_free() {
    let (app, ana, ben) = opened().await;
    let sold = app.order(&ben, &["A-1", "A-2"]).await;
    let baskets = full_but(&app, &["A-1", "A-2", "A-3", "A-4"]).await;
    join(&app, &ana, 4).await;
    let mut orders = vec![sold];
    for (who, hold) in &baskets {
        let path = format!("/v1/holds/{}/order", text(hold, "hold"));
        orders.push(app.ask(post(&path, &buyer()).by(who)).await.is(201));
    }
    for order in &orders {
        app.pay(order, "approve").await.is(200);
    }
    // Only are left, too few for four people.
    ended(&app, &ana, "too_few").await;
    let again = app
        .ask(post(LIST, &json!({ "quantity": 3 })).by(&ana))
        .await;
    let refused = again.problem(409, "nothing_to_wait_for");
    assert_eq!(refused["reason"], "too_few");
    let two = join(&app, &ana, 2).await;
    assert_eq!(two["ahead"], 0);
    let offer = offered(&app, &ana).await;
    assert_eq!(labels(&offer["offer"]["seats"]), ["A-3", "A-4"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_show_ends_the_waiting_with_its_reason() {
    let (app, ana, ben) = opened().await;
    full(&app).await;
    join(&app, &ana, 2).await;
    let cancel = post("/v1/promoter/shows/night-1/cancel", &json!({}));
    app.ask(cancel.by(&PROMOTER)).await.is(200);
    ended(&app, &ana, "cancelled").await;
    let late = post(LIST, &json!({ "quantity": 2 }));
    let refused = app.ask(late.by(&ben)).await;
    let refused = refused.problem(409, "nothing_to_wait_for");
    assert_eq!(refused["reason"], "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_goes_on_after_the_pass_has_expired_and_ends_after_an_hour() {
    let (app, ana, _) = opened_with(json!({ "hold_s": 3_600 })).await;
    full(&app).await;
    join(&app, &ana, 2).await;
    app.clock.advance_ms(3_600_000 - 1);
    assert_eq!(look(&app, &ana).await["state"], "waiting");
    let late = app
        .ask(post(LIST, &json!({ "quantity": 2 })).by(&ana))
        .await;
    late.problem(401, "pass_expired");
    app.clock.advance_ms(1);
    ended(&app, &ana, "time_over").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_requests_are_refused_and_change_nothing() {
    let (app, ana, ben) = opened().await;
    full(&app).await;
    app.ask(post(LIST, &json!({ "quantity": 1 })))
        .await
        .problem(429, "waiting_room");
    let stranger = app.visitor_of("other", 9);
    let ask = |body: Value, who: &Visitor| app.ask(post(LIST, &body).by(who));
    ask(json!({ "quantity": 1 }), &stranger)
        .await
        .problem(401, "pass_invalid");
    for (body, field) in [
        (json!({ "quantity": 0 }), "quantity"),
        (json!({ "quantity": 1, "accessible": 2 }), "accessible"),
        (
            json!({ "quantity": 1, "categories": ["gold"] }),
            "categories",
        ),
        (json!({ "quantity": 1, "categories": [] }), "categories"),
    ] {
        assert_eq!(ask(body, &ana).await.is(422)["field"], field);
    }
    ask(json!({ "quantity": 5 }), &ana)
        .await
        .problem(422, "limit_exceeded");
    for unknown in [
        json!({ "quantity": 1, "from": "A" }),
        json!({}),
        json!({ "quantity": "two" }),
    ] {
        let status = ask(unknown, &ana).await.status;
        assert!(status == 400 || status == 422, "{status}");
    }
    for call in [get(LIST), delete(LIST)] {
        app.ask(call.by(&ana)).await.problem(404, "not_waiting");
    }
    app.ask(get("/v1/shows/night-9/waitlist").by(&ana))
        .await
        .problem(404, "not_found");
    join(&app, &ben, 1).await;
    let again = app
        .ask(post(LIST, &json!({ "quantity": 1 })).by(&ben))
        .await;
    assert!(matches!(again.status, 200 | 201));
    ask(json!({ "quantity": 2 }), &ben)
        .await
        .problem(409, "already_waiting");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_the_waitlist_and_leaves_no_seat_locked() {
    let (app, ana, ben) = opened().await;
    let baskets = full(&app).await;
    join(&app, &ana, 2).await;
    join(&app, &ben, 2).await;
    give_back(&app, &baskets[0]).await;
    let lost = offered(&app, &ana).await["offer"].clone();
    // The store in memory ends with its process. So the baskets are lost, and all seats are free
    // again.
    let app = app.restarted().await;
    let again = offered(&app, &ana).await;
    assert_ne!(again["offer"]["hold"], lost["hold"]);
    assert_eq!((&again["missed"], &again["ahead"]), (&json!(0), &json!(0)));
    offered(&app, &ben).await;
    let seats = app.seats("night-1").await;
    assert_eq!((&seats["free"], &seats["held"]), (&json!(36), &json!(4)));
}

/// Starts two nodes over PostgreSQL and Redis. Each node serves parties that joined at the other
/// node. One node goes on alone after the other dies, and also after Redis is emptied.
#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_serve_one_waitlist() {
    if servers::must_skip("the waitlist over two nodes") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let mut nodes = App::nodes(2, &redis.url()).await;
    let baskets = full(&nodes[0]).await;
    let parties: Vec<Visitor> = (1..7).map(|n| nodes[0].visitor(n)).collect();
    for (n, party) in parties.iter().enumerate() {
        join(&nodes[n % 2], party, 2).await;
    }
    for (party, basket) in parties[..3].iter().zip(&baskets) {
        give_back(&nodes[1], basket).await;
        offered(&nodes[1], party).await;
    }
    drop(nodes.remove(0));
    for (party, basket) in parties[3..5].iter().zip(&baskets[3..]) {
        give_back(&nodes[0], basket).await;
        offered(&nodes[0], party).await;
    }
    assert_eq!(look(&nodes[0], &parties[5]).await["ahead"], 5);
    redis.flush_all().await.expect("Redis answers");
    // In the emptied store every seat is free. The waitlist is unchanged, and each party is offered
    // seats again.
    let mut seen = HashSet::new();
    for party in &parties {
        let offer = once(
            &nodes[0],
            party,
            "an offer after the loss of Redis",
            |waiter| waiter["state"] == "offered" && waiter["missed"] == 0,
        )
        .await;
        for seat in labels(&offer["offer"]["seats"]) {
            assert!(seen.insert(seat), "no seat is offered twice");
        }
    }
}

/// Serves sixty parties of one to four people. Some parties are absent now and then, and the app
/// restarts once. Seats are offered to the first present parties that they fit, no seat is offered
/// to two parties at once, and nobody is forgotten. `loadtest bench waitlist` does this with a
/// thousand parties and the system's clock.
#[tokio::test(flavor = "multi_thread")]
async fn a_waitlist_of_sixty_parties_is_served_in_order_and_nobody_is_forgotten() {
    let count = 60_u16;
    let (app, ..) =
        opened_with(json!({ "hold_s": 3_600, "pay_s": 3_000, "seats_per_visitor": 4 })).await;
    let mut held = full(&app).await;
    let mut app = app;
    let parties: Vec<(Visitor, u32)> = (0..count)
        .map(|n| (app.visitor(2_000 + n), 1 + u32::from(n * 7 % 4)))
        .collect();
    for (who, size) in &parties {
        join(&app, who, *size).await;
    }
    let ledger = app.ledger().await;
    let show = "night-1".parse().expect("a slug");
    let line = ledger.waiters(&show).await.expect("readable");
    let all: Vec<Holder> = line.iter().map(|waiter| waiter.visitor).collect();
    assert_eq!(all.len(), usize::from(count));
    let sizes: BTreeMap<[u8; 32], u32> = all
        .iter()
        .zip(&parties)
        .map(|(holder, (_, size))| (holder.0, *size))
        .collect();
    let by_holder: BTreeMap<[u8; 32], &Visitor> = all
        .iter()
        .zip(&parties)
        .map(|(holder, (who, _))| (holder.0, who))
        .collect();
    let mut served: Vec<[u8; 32]> = Vec::new();
    let mut round = 0_u32;
    while served.len() < usize::from(count) {
        round += 1;
        assert!(round < 170, "the waitlist is no longer served");
        // In every fourth round, every third party is absent. Otherwise all parties are present.
        let here: Vec<Holder> = all
            .iter()
            .enumerate()
            .filter(|(n, _)| n % 3 != 0 || !round.is_multiple_of(4))
            .map(|(_, holder)| *holder)
            .collect();
        app.clock.advance_ms(20_000);
        ledger
            .waiters_seen(here.clone(), app.clock.now_ms())
            .await
            .expect("written");
        if round == 10 {
            // Everything in memory is lost: baskets and offers.
            app = app.restarted().await;
            held.clear();
        }
        if let Some(basket) = held.pop() {
            give_back(&app, &basket).await;
        }
        let before = ledger.waiters(&show).await.expect("readable");
        if before.is_empty() {
            break;
        }
        let line = until("the end of the round", async || {
            let line = ledger.waiters(&show).await.expect("readable");
            let seats = app.seats("night-1").await;
            let mut offered = HashSet::new();
            for waiter in &line {
                let Some(offer) = &waiter.offer else { continue };
                let path = format!("/v1/holds/{}", offer.hold);
                let hold = app.ask(get(&path).by(by_holder[&waiter.visitor.0])).await;
                // The ledger may still name an offer that is over.
                let hold = (hold.status == 200).then(|| hold.is(200))?;
                let seats = labels(&hold["seats"]);
                assert_eq!(seats.len() as u32, sizes[&waiter.visitor.0]);
                for seat in seats {
                    assert!(offered.insert(seat), "no cell is offered twice");
                }
            }
            let basket =
                |(_, hold): &(Visitor, Value)| hold["seats"].as_array().map_or(0, Vec::len);
            let baskets: usize = held.iter().map(basket).sum();
            // The round is over when every held seat is in a basket or an offer, and every present
            // party without an offer needs more seats than are free.
            let free = seats["free"].as_u64().expect("a number");
            let now_ms = app.clock.now_ms();
            let fits = line.iter().any(|waiter| {
                waiter.offer.is_none()
                    && waiter.is_here(now_ms)
                    && u64::from(waiter.party.quantity) <= free
            });
            (seats["held"] == baskets + offered.len() && !fits).then_some(line)
        })
        .await;
        // In the order of the waitlist, every party with an offer orders its seats. It then cancels
        // the order, which frees the seats.
        for waiter in line.iter().filter(|waiter| waiter.offer.is_some()) {
            let Some(offer) = &waiter.offer else { continue };
            let passed_over = line.iter().find(|other| {
                other.number < waiter.number
                    && other.offer.is_none()
                    && other.is_here(app.clock.now_ms())
                    && other.party.quantity <= waiter.party.quantity
            });
            assert!(
                passed_over.is_none(),
                "{passed_over:?} was passed over for {waiter:?}"
            );
            let who = by_holder[&waiter.visitor.0];
            let path = format!("/v1/holds/{}/order", offer.hold);
            let order = app.ask(post(&path, &buyer()).by(who)).await.is(201);
            let path = format!("/v1/orders/{}/cancel", text(&order, "order"));
            app.ask(post(&path, &json!({})).by(who)).await.is(200);
            served.push(waiter.visitor.0);
        }
    }
    let once: HashSet<_> = served.iter().collect();
    assert_eq!(
        (once.len(), served.len()),
        (usize::from(count), usize::from(count)),
        "each party is served once"
    );
    for (who, _) in &parties {
        ended(&app, who, "taken").await;
    }
}
