//! Stops that come in or go out of a train that was sold. Its legs get other numbers, and its seats
//! stay with their tickets.

use booking::choices::ImportDecisions;
use booking::commands::import_timetable::replace_timetable;
use booking::ledger::DepartureDecision;
use fairgate_model::shows::coverage::EVERYDAY;

use fairgate_servers as servers;

use super::*;

/// A train that leaves Ahausen at nine and calls at these stations.
fn calling_at(stations: &[&'static str]) -> Train {
    Train {
        stations: stations.to_vec(),
        ..train("t1", "RE 101", "09:00")
    }
}

async fn held_between(app: &App, visitor: u16, seat: &str, (from, to): (&str, &str)) -> TestAnswer {
    let who = app.visitor_of(EVERYDAY, visitor);
    let ride = json!({ "seats": [seat], "from": from, "to": to });
    let call = post(&format!("/v1/shows/{SOLD}/holds"), &ride);
    app.ask(call.by(&who)).await
}

pub(super) async fn bought_between(
    app: &App,
    visitor: u16,
    seat: &str,
    ends: (&str, &str),
) -> Value {
    let hold = held_between(app, visitor, seat, ends).await.is(201);
    let who = app.visitor_of(EVERYDAY, visitor);
    bought(app, &who, &hold, &["Ana Perez"]).await
}

/// Waits until a hold of the train's new legs is answered, and returns the answer.
async fn held_on_new_legs(app: &App, visitor: u16, seat: &str, ends: (&str, &str)) -> TestAnswer {
    until("the seats on the new legs", async || {
        let held = held_between(app, visitor, seat, ends).await;
        (![400, 404, 422, 503].contains(&held.status)).then_some(held)
    })
    .await
}

fn legs_of(order: &Value) -> Value {
    order["tickets"][0]["legs"].clone()
}

fn ends_of(order: &Value) -> (String, String) {
    let journey = &order["journey"];
    (
        text(&journey["from"], "station"),
        text(&journey["to"], "station"),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_that_comes_in_splits_a_leg_and_leaves_each_seat_to_its_ticket() {
    let app = railway(&[calling_at(&["aa", "bb", "cc"])]).await;
    let to_bb = bought_between(&app, 1, "3-1A", ("aa", "bb")).await;
    let from_bb = bought_between(&app, 2, "3-1A", ("bb", "cc")).await;
    let basket = held_between(&app, 3, "3-1B", ("aa", "cc")).await.is(201);
    let before = app.read(&from_bb).await;
    assert_eq!(legs_of(&before), json!([1]));

    let switched = replace(&app, &[calling_at(&["aa", "dd", "bb", "cc"])], none()).await;
    let switched = switched.expect("nothing to decide");
    let [decided] = &switched.decided[..] else {
        panic!("{switched:?}");
    };
    let DepartureDecision::Changed(_, changed) = &decided.decision else {
        panic!("{decided:?}");
    };
    assert!(changed.has_other_stops && changed.has_other_times);
    assert_eq!(
        decided.moved.tickets, 2,
        "both tickets are half an hour off"
    );

    for (ends, is_taken) in [
        (("aa", "dd"), true),
        (("dd", "bb"), true),
        (("bb", "cc"), true),
    ] {
        let refused = held_on_new_legs(&app, 4, "3-1A", ends).await;
        assert_eq!(refused.status == 409, is_taken, "{ends:?}: {refused:?}");
    }
    let first = app.read(&to_bb).await;
    assert_eq!(legs_of(&first), json!([0, 1]));
    assert_eq!(ends_of(&first), ("aa".to_owned(), "bb".to_owned()));
    let second = app.read(&from_bb).await;
    assert_eq!(legs_of(&second), json!([2]));
    assert_eq!(ends_of(&second), ("bb".to_owned(), "cc".to_owned()));
    for order in [&first, &second] {
        assert_eq!(order["state"], "ticketed");
        assert_eq!(order["refunds"][0]["reason"], Value::Null, "{order:#}");
    }

    // The basket ended, and its seat is free over every stretch.
    let who = app.visitor_of(EVERYDAY, 3);
    let path = format!("/v1/holds/{}/order", text(&basket, "hold"));
    let mut wanted = buyer();
    wanted["travellers"] = json!([{"name": "Ben Weiss"}]);
    let told = app.ask(post(&path, &wanted).by(&who)).await;
    let told = told.problem(410, "hold_expired");
    for words in ["a train gets other stops", "Nothing was charged"] {
        assert!(text(&told, "detail").contains(words), "{told}");
    }
    held_on_new_legs(&app, 5, "3-1B", ("aa", "dd"))
        .await
        .is(201);
    held_on_new_legs(&app, 6, "3-1B", ("dd", "cc"))
        .await
        .is(201);

    // Whoever starts afterwards reads the same from the ledger.
    let app = app.restarted().await;
    for ends in [("aa", "dd"), ("dd", "bb"), ("bb", "cc"), ("aa", "cc")] {
        let refused = held_on_new_legs(&app, 7, "3-1A", ends).await;
        refused.problem(409, "seats_taken");
    }
    held_between(&app, 8, "3-1C", ("aa", "cc")).await.is(201);
    finds(&app, &[(SOLD.to_owned(), "09:00".to_owned(), 508)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_that_goes_out_is_named_while_tickets_need_it_and_gone_when_they_are_given_back() {
    let app = railway(&[calling_at(&["aa", "bb", "cc"])]).await;
    let through = bought_between(&app, 1, "3-1A", ("aa", "cc")).await;
    let to_bb = bought_between(&app, 2, "3-1B", ("aa", "bb")).await;
    let fast = [calling_at(&["aa", "cc"])];
    let undecided = replace(&app, &fast, none()).await.expect_err("it was sold");
    let why = &undecided[0].why;
    assert!(why.contains("from Ahausen to Bedorf"), "{why}");
    assert_eq!(undecided[0].sold.tickets, 2);
    assert_eq!(legs_of(&app.read(&through).await), json!([0, 1]));

    let who = app.visitor_of(EVERYDAY, 2);
    let refund = format!("/v1/orders/{}/refund", text(&to_bb, "order"));
    app.ask(post(&refund, &json!({})).by(&who)).await.is(200);
    app.order_in(&to_bb, "refunded").await;
    succeed(&app, &fast, none()).await;
    until("the shorter way", async || {
        let order = app.read(&through).await;
        (legs_of(&order) == json!([0])).then_some(())
    })
    .await;
    held_on_new_legs(&app, 3, "3-1A", ("aa", "cc"))
        .await
        .problem(409, "seats_taken");
    held_on_new_legs(&app, 4, "3-1B", ("aa", "cc"))
        .await
        .is(201);
    let given_back = app.read(&to_bb).await;
    assert_eq!(given_back["state"], "refunded");
    assert_eq!(given_back["total"]["amount"], PRICE);
    assert_eq!(given_back["journey"], Value::Null, "{given_back:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_that_got_other_stops_is_sold_refunded_and_recut_again_and_an_unchanged_feed_leaves_it()
 {
    let app = railway(&[calling_at(&["aa", "bb"])]).await;
    let order = bought_between(&app, 1, "3-1A", ("aa", "bb")).await;
    let longer = [calling_at(&["aa", "bb", "cc"])];
    succeed(&app, &longer, none()).await;
    let onward = held_on_new_legs(&app, 2, "3-1A", ("bb", "cc"))
        .await
        .is(201);
    let who = app.visitor_of(EVERYDAY, 2);
    let onward = bought(&app, &who, &onward, &["Ben Weiss"]).await;
    let slower = [calling_at(&["aa", "dd", "bb", "cc"])];
    succeed(&app, &slower, none()).await;
    let version = app.ledger().await.newest_timetable().await;
    let version = version.expect("readable").expect("imported");
    let again = replace(&app, &slower, none()).await.expect("nothing to do");
    assert_eq!((again.version, again.decided.len()), (version, 0));

    held_on_new_legs(&app, 3, "3-1A", ("dd", "bb"))
        .await
        .problem(409, "seats_taken");
    let who = app.visitor_of(EVERYDAY, 1);
    let refund = format!("/v1/orders/{}/refund", text(&order, "order"));
    app.ask(post(&refund, &json!({})).by(&who)).await.is(200);
    app.order_in(&order, "refunded").await;
    let freed = until("the freed stretch", async || {
        let held = held_between(&app, 4, "3-1A", ("aa", "bb")).await;
        (held.status == 201).then_some(held)
    })
    .await;
    freed.is(201);
    held_between(&app, 5, "3-1A", ("bb", "cc"))
        .await
        .problem(409, "seats_taken");
    assert_eq!(legs_of(&app.read(&onward).await), json!([2]));
}

#[tokio::test(flavor = "multi_thread")]
async fn stops_in_another_order_leave_a_ticket_that_passes_them() {
    let app = railway(&[calling_at(&["aa", "bb", "cc", "dd"])]).await;
    let order = bought_between(&app, 1, "3-1A", ("aa", "dd")).await;
    succeed(&app, &[calling_at(&["aa", "cc", "bb", "dd"])], none()).await;
    held_on_new_legs(&app, 2, "3-1A", ("cc", "bb"))
        .await
        .problem(409, "seats_taken");
    assert_eq!(legs_of(&app.read(&order).await), json!([0, 1, 2]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_of_a_train_that_calls_twice_at_a_station_keeps_its_call() {
    let app = railway(&[calling_at(&["aa", "bb", "cc"])]).await;
    let order = bought_between(&app, 1, "3-1A", ("aa", "bb")).await;
    // The train begins an hour earlier with a loop.
    let loop_first = Train {
        stations: vec!["aa", "bb", "aa", "bb", "cc"],
        ..train("t1", "RE 101", "08:00")
    };
    let switched = replace(&app, std::slice::from_ref(&loop_first), none()).await;
    let switched = switched.expect("nothing to decide");
    assert_eq!(switched.decided[0].moved.tickets, 0, "it leaves at nine");
    let longer = until("the ticket on the longer train", async || {
        let record = app.read(&order).await;
        (legs_of(&record) == json!([2])).then_some(record)
    })
    .await;
    assert_eq!(longer["journey"]["from"]["at"], "2027-01-11T09:00:00Z");
    succeed(&app, &[calling_at(&["aa", "bb", "cc"])], none()).await;
    until("the ticket on the shorter train", async || {
        let order = app.read(&order).await;
        (legs_of(&order) == json!([0])).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_only_waits_for_a_stretch_that_goes_does_not_stop_an_import() {
    let app = railway(&[calling_at(&["aa", "bb", "cc"])]).await;
    bought_between(&app, 1, "3-1A", ("aa", "bb")).await;
    // Others hold all seats of a class, as pairs.
    let pair = json!({ "quantity": 2, "class": "business", "from": "bb", "to": "cc" });
    for other in 100..200 {
        let who = app.visitor_of(EVERYDAY, other);
        let call = post(&format!("/v1/shows/{SOLD}/holds"), &pair);
        if app.ask(call.by(&who)).await.status == 409 {
            break;
        }
    }
    let who = app.visitor_of(EVERYDAY, 2);
    let path = format!("/v1/shows/{SOLD}/waitlist");
    app.ask(post(&path, &pair).by(&who)).await.is(201);
    succeed(&app, &[calling_at(&["aa", "bb"])], none()).await;
    until("the wait has ended", async || {
        let wait = app.ask(get(&path).by(&who)).await;
        let wait = (wait.status == 200).then(|| wait.is(200))?;
        (text(&wait, "state") == "ended").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_starts_after_stops_were_swapped_never_counts_by_the_earlier_stops() {
    if servers::must_skip("a node that starts after an import") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let node = App::nodes(1, &redis.url()).await.remove(0);
    // Nodes use the system's clock.
    let now_ms = node.clock.now_ms();
    let now = jiff::Timestamp::from_millisecond(now_ms).expect("a moment");
    let today = now.to_zoned(jiff::tz::TimeZone::UTC).date();
    let day = today.checked_add(jiff::ToSpan::days(3)).expect("a day");
    let days = format!("{0}0101,{1}1231", today.year(), today.year() + 1);
    let of = |stations: &[&'static str]| timetable_between(&[calling_at(stations)], PRICE, &days);
    node.import_timetable(&of(&["aa", "bb", "cc", "dd"])).await;
    let free = async |node: &App, from: &str, to: &str| {
        let path = format!("/v1/rail/trips?from={from}&to={to}&date={day}");
        until("a count of free seats", async || {
            let trips = node.ask(get(&path)).await;
            let trips = (trips.status == 200).then(|| trips.is(200))?;
            let trip = trips.get(0).filter(|trip| trip["degraded"] == false)?;
            trip["classes"][2]["free"].as_u64()
        })
        .await
    };
    assert_eq!(free(&node, "aa", "bb").await, 510);
    let show = format!("re-101-{day}");
    let who = node.visitor_of(EVERYDAY, 1);
    let last_leg = json!({ "seats": [SEAT], "from": "cc", "to": "dd" });
    let call = post(&format!("/v1/shows/{show}/holds"), &last_leg);
    let held = node.ask(call.by(&who)).await;
    bought(&node, &who, &held.is(201), &["Ana Perez"]).await;

    let node = node
        .followed_by(&redis.url(), async |ledger, _| {
            let swapped = of(&["aa", "cc", "bb", "dd"]);
            let decisions = ImportDecisions::default();
            let switched = replace_timetable(ledger, &swapped, decisions, now_ms).await;
            assert_eq!(switched.expect("nothing to decide").decided.len(), 1);
        })
        .await;
    // Nobody has asked for a seat yet. The way from Ceburg to Bedorf is sold, too, by now.
    assert_eq!(free(&node, "cc", "bb").await, 509);
    assert_eq!(free(&node, "aa", "cc").await, 510);
}
