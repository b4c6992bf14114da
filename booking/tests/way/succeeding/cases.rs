//! Single changes of a timetable, and what they do to trains that were sold.

use std::collections::BTreeMap;

use booking::ledger::DepartureDecision;

use super::*;

/// The seats of second class in the carriages that are sold by default.
const SEATS: u64 = 510;

#[tokio::test(flavor = "multi_thread")]
async fn a_second_train_of_that_number_leaves_the_sold_one_its_id_and_its_seats() {
    let early = train("t1", "RE 101", "09:00");
    let app = railway(std::slice::from_ref(&early)).await;
    sold(&app, 1, SOLD, SEAT).await;
    let trains = [early.clone(), train("t2", "RE 101", "15:00")];
    succeed(&app, &trains, none()).await;
    let other = "re-101-2027-01-11-t2";
    let both = [only(SOLD, "09:00", SEATS - 1), only(other, "15:00", SEATS)];
    finds(&app, &both).await;
    let taken = held(&app, 2, SOLD, SEAT).await.problem(409, "seats_taken");
    assert_eq!(taken["seats"], json!([SEAT]));
    held(&app, 2, other, SEAT).await.is(201);

    // The other way round: only one train of the number is left.
    succeed(&app, &[early], none()).await;
    finds(&app, &[only(SOLD, "09:00", SEATS - 1)]).await;
    let gone = held(&app, 3, other, "3-1B").await;
    gone.problem(409, "show_cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn new_ids_of_trips_without_numbers_are_matched_by_line_and_times() {
    let by_half_hours = |ids: [&'static str; 3]| {
        let times = ["09:00", "09:30", "10:00"];
        [0, 1, 2].map(|at| train(ids[at], "", times[at]))
    };
    let app = railway(&by_half_hours(["x1", "x2", "x3"])).await;
    let sold_ids = ["x1-2027-01-11", "x2-2027-01-11"];
    for (visitor, show) in (1..).zip(sold_ids) {
        sold(&app, visitor, show, SEAT).await;
    }
    // The ids are given to other trains, as some feeds do with each edition.
    succeed(&app, &by_half_hours(["x2", "x3", "x1"]), none()).await;
    let sold_trains = [
        only(sold_ids[0], "09:00", SEATS - 1),
        only(sold_ids[1], "09:30", SEATS - 1),
    ];
    let has_changed = |found: &[Found]| found.last().is_some_and(|last| last.0 != "x3-2027-01-11");
    let listed = finds_as(&app, has_changed).await;
    assert_eq!(listed[..2], sold_trains);
    assert_eq!((listed[2].1.as_str(), listed[2].2), ("10:00", SEATS));
    assert!(!sold_ids.contains(&listed[2].0.as_str()), "{listed:?}");
    held(&app, 3, &listed[2].0, SEAT).await.is(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_that_is_also_the_trips_id_keeps_its_tickets_when_trains_change_their_times() {
    let trains = |times: [&str; 3]| {
        let numbers = ["101", "103", "105"];
        [0, 1, 2].map(|at| train(numbers[at], numbers[at], times[at]))
    };
    let app = railway(&trains(["09:00", "09:30", "10:00"])).await;
    let ids = ["101", "103", "105"].map(|number| format!("{number}-2027-01-11"));
    for (visitor, show) in (1..).zip(&ids[..2]) {
        sold(&app, visitor, show, SEAT).await;
    }
    // The first two trains take the times of the next ones.
    succeed(&app, &trains(["09:30", "10:00", "10:30"]), none()).await;
    let expected = [
        only(&ids[0], "09:30", SEATS - 1),
        only(&ids[1], "10:00", SEATS - 1),
        only(&ids[2], "10:30", SEATS),
    ];
    finds(&app, &expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retimed_train_has_its_new_times_in_search_basket_order_and_ticket() {
    let app = railway(&[train("t1", "RE 101", "09:00")]).await;
    let order = sold(&app, 1, SOLD, SEAT).await;
    let basket = held(&app, 2, SOLD, "3-1B").await.is(201);
    succeed(&app, &[train("t9", "RE 101", "09:50")], none()).await;
    finds(&app, &[only(SOLD, "09:50", SEATS - 2)]).await;
    let record = app.read(&order).await;
    let ticket = &record["tickets"][0];
    let journey = [&ticket["departs"], &record["journey"]["from"]["at"]];
    let shown: Vec<&str> = journey.iter().filter_map(|at| at.as_str()).collect();
    assert!(!shown.is_empty(), "{record:#}");
    assert!(
        shown.iter().all(|at| *at == "2027-01-11T09:50:00Z"),
        "{record:#}"
    );
    let held = held(&app, 3, SOLD, "3-1C").await.is(201);
    assert_eq!(text(&held["journey"]["from"], "at"), "2027-01-11T09:50:00Z");
    // Whoever chose a seat of the train at nine is told that its time has changed.
    let who = app.visitor_of(EVERYDAY, 2);
    let path = format!("/v1/holds/{}/order", text(&basket, "hold"));
    let mut order = buyer();
    order["travellers"] = json!([{"name": "Ben Weiss"}]);
    let told = app.ask(post(&path, &order).by(&who)).await;
    assert_eq!(told.status, 409, "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_train_with_tickets_is_named_and_changes_nothing_until_somebody_decides() {
    let trains = [
        train("t1", "RE 101", "09:00"),
        train("t2", "RE 103", "12:00"),
    ];
    let app = railway(&trains).await;
    let order = sold(&app, 1, SOLD, SEAT).await;
    let left = [train("t2", "RE 103", "12:00")];
    let undecided = replace(&app, &left, none())
        .await
        .expect_err("nobody decided");
    let [named] = &undecided[..] else {
        panic!("{undecided:?}");
    };
    assert_eq!((named.show.as_str(), named.sold.tickets), (SOLD, 1));
    assert_eq!(
        named.sold.paid,
        order["total"]["amount"].as_i64().expect("a sum")
    );
    assert_eq!(found(&app).await.len(), 2, "nothing was imported");

    let show = || SOLD.parse().expect("a slug");
    let keep = ShowChoices {
        keep: [show()].into(),
        ..none()
    };
    succeed(&app, &left, keep).await;
    let other = "re-103-2027-01-11";
    finds(&app, &[only(other, "12:00", SEATS)]).await;
    assert_eq!(app.read(&order).await["state"], "ticketed");
    held(&app, 2, SOLD, "3-1B")
        .await
        .problem(409, "sales_ended");

    // A train that may be the same is not sold, as long as the earlier one goes on.
    let again = [
        train("t2", "RE 103", "12:00"),
        train("t3", "RE 101", "09:20"),
    ];
    let third = replace(&app, &again, none())
        .await
        .expect("nothing to decide");
    assert_eq!(third.version, 3);
    finds(&app, &[only(other, "12:00", SEATS)]).await;

    let cancel = ShowChoices {
        cancel: [show()].into(),
        ..none()
    };
    let moved = [
        train("t2", "RE 103", "12:05"),
        train("t3", "RE 101", "09:20"),
    ];
    succeed(&app, &moved, cancel).await;
    app.order_in(&order, "refunded").await;
    let listed = finds_as(&app, |found| found.len() == 2).await;
    assert_eq!((listed[0].1.as_str(), listed[0].2), ("09:20", SEATS));
    assert_ne!(
        listed[0].0, SOLD,
        "a cancelled train's id is not given again"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_trains_that_may_be_the_same_a_person_says_which_it_is() {
    let app = railway(&[train("t1", "RE 101", "09:00")]).await;
    sold(&app, 1, SOLD, SEAT).await;
    let two = [
        train("t1", "RE 101", "08:40"),
        train("t2", "RE 101", "09:20"),
    ];
    let undecided = replace(&app, &two, none())
        .await
        .expect_err("nobody decided");
    let why = &undecided[0].why;
    for id in ["re-101-2027-01-11-t1", "re-101-2027-01-11-t2"] {
        assert!(why.contains(id), "{why}");
    }
    let id = |id: &str| id.parse().expect("a slug");
    let matched = |new: &str| ShowChoices {
        matches: BTreeMap::from([(id(SOLD), id(new))]),
        ..none()
    };
    let unknown = replace(&app, &two, matched("re-101-2027-01-11-t3")).await;
    assert!(unknown.expect_err("no such train")[0].why.contains("t3"));
    succeed(&app, &two, matched("re-101-2027-01-11-t2")).await;
    let listed = finds_as(&app, |found| found.len() == 2).await;
    assert_eq!(listed[0].1, "08:40");
    assert_eq!(listed[1], only(SOLD, "09:20", SEATS - 1));
    assert_eq!(listed[0].2, SEATS);
    let wrong = ShowChoices {
        keep: [id("re-999-2027-01-11")].into(),
        ..none()
    };
    let unknown = replace(&app, &[train("t1", "RE 101", "09:20")], wrong).await;
    let named = unknown.expect_err("nobody bought that train");
    assert_eq!(named[0].show.as_str(), "re-999-2027-01-11");
}

#[tokio::test(flavor = "multi_thread")]
async fn beside_a_train_that_is_kept_a_longer_one_of_its_number_is_not_sold() {
    let before = train("t1", "RE 101", "09:00");
    let app = railway(std::slice::from_ref(&before)).await;
    sold(&app, 1, SOLD, SEAT).await;
    let longer = Train {
        stations: vec!["aa", "bb", "cc", "dd"],
        ..before
    };
    let keep = ShowChoices {
        keep: [SOLD.parse().expect("a slug")].into(),
        ..none()
    };
    let switched = replace(&app, &[longer], keep).await.expect("decided");
    let Some(DepartureDecision::Kept(kept)) =
        switched.decided.first().map(|decided| &decided.decision)
    else {
        panic!("{switched:?}");
    };
    assert_eq!(kept.unsold, ["t1"], "the longer train may be the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_timetable_changes_nothing() {
    let trains = [
        train("t1", "RE 101", "09:00"),
        train("t2", "RE 103", "10:00"),
    ];
    let app = railway(&trains).await;
    sold(&app, 1, SOLD, SEAT).await;
    let again = replace(&app, &trains, none())
        .await
        .expect("nothing to decide");
    assert_eq!((again.version, again.decided.len()), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn trips_whose_ids_differ_only_in_case_are_two_departures() {
    let trains = [
        train("ab", "RE 101", "09:00"),
        train("AB", "RE 101", "12:00"),
    ];
    let app = railway(&trains).await;
    let listed = found(&app).await;
    let times: Vec<&str> = listed.iter().map(|(_, at, _)| at.as_str()).collect();
    assert_eq!(times, ["09:00", "12:00"]);
    assert_ne!(listed[0].0, listed[1].0);
    for (visitor, (show, ..)) in (1..).zip(&listed) {
        held(&app, visitor, show, SEAT).await.is(201);
    }
}

/// Orders what a visitor holds of a train.
async fn ordered(app: &App, visitor: u16, hold: &Value) -> TestAnswer {
    let who = app.visitor_of(EVERYDAY, visitor);
    let path = format!("/v1/holds/{}/order", text(hold, "hold"));
    let mut order = buyer();
    order["travellers"] = json!([{"name": "Ben Weiss"}]);
    app.ask(post(&path, &order).by(&who)).await
}

/// Returns what a ride in second class costs by the search.
async fn price_found(app: &App) -> i64 {
    app.clock.advance_ms(1_000);
    let path = "/v1/rail/trips?from=aa&to=bb&date=2027-01-11";
    let trips = app.ask(get(path)).await.is(200);
    let price = &trips[0]["classes"][2]["price"]["amount"];
    price.as_i64().expect("a price")
}

#[tokio::test(flavor = "multi_thread")]
async fn another_fare_counts_for_new_baskets_and_leaves_baskets_and_orders_their_price() {
    let trains = [train("t1", "RE 101", "09:00")];
    let app = railway(&trains).await;
    let order = sold(&app, 1, SOLD, SEAT).await;
    let basket = held(&app, 2, SOLD, "3-1B").await.is(201);
    for (visitor, cheaper) in [(3, 800), (4, 700)] {
        let switched = replace_by(&app, &timetable_at(&trains, cheaper), none()).await;
        let switched = switched.expect("nothing to decide");
        let [changed] = &switched.decided[..] else {
            panic!("{switched:?}");
        };
        let DepartureDecision::Changed(_, changed) = &changed.decision else {
            panic!("{changed:?}");
        };
        assert!(changed.has_other_terms && !changed.has_other_times);
        until("the search has the new price", async || {
            (price_found(&app).await == cheaper).then_some(())
        })
        .await;
        let total = |hold: &Value| hold["total"]["amount"].clone();
        let seat = format!("3-{}C", cheaper / 100);
        let new = held(&app, visitor, SOLD, &seat).await.is(201);
        assert_eq!(total(&new), cheaper, "a new basket");
    }
    let paid = ordered(&app, 2, &basket).await.is(201);
    assert_eq!(paid["total"]["amount"], PRICE, "the basket keeps its price");
    assert_eq!(app.read(&order).await["total"]["amount"], PRICE);
}

#[tokio::test(flavor = "multi_thread")]
async fn buyers_of_a_train_that_moved_over_a_quarter_of_an_hour_in_all_give_back_free() {
    let app = railway(&[train("t1", "RE 101", "09:00")]).await;
    let order = sold(&app, 1, SOLD, SEAT).await;
    let at = |leaves| train("t1", "RE 101", leaves);
    let moved = |switched: &SwitchedTimetable| switched.decided[0].moved.tickets;
    let ten = replace(&app, &[at("09:10")], none()).await;
    assert_eq!(moved(&ten.expect("it is the same")), 0);
    finds(&app, &[only(SOLD, "09:10", SEATS - 1)]).await;
    let record = app.read(&order).await;
    assert_eq!(record["refund_offer"]["reason"], "refund_by_buyer");
    assert_eq!(record["refund_offer"]["fee_pct"], 20);
    assert_eq!(
        record["journey_as_sold"]["from"]["at"],
        "2027-01-11T09:00:00Z"
    );
    let ticket = format!("/v1/tickets/{}", text(&record["tickets"][0], "ticket"));
    let ticket = get(&ticket).by(&text(&order, "order_key"));
    let ticket = app.ask(ticket).await.is(200);
    assert_eq!(ticket["journey_as_sold"], record["journey_as_sold"]);

    let twenty = replace(&app, &[at("09:20")], none()).await;
    let twenty = twenty.expect("it is the same");
    let sold = twenty.decided[0].moved;
    assert_eq!((sold.tickets, sold.buyers, sold.paid), (1, 1, PRICE));
    finds(&app, &[only(SOLD, "09:20", SEATS - 1)]).await;
    let record = app.read(&order).await;
    let offer = &record["refund_offer"];
    assert_eq!(offer["reason"], "train_retimed", "{record:#}");
    assert_eq!(
        (&offer["fee_pct"], &offer["until"]),
        (&json!(0), &json!("2027-01-11T09:20:00Z"))
    );
    // Whoever buys now buys the train as it is.
    let later = self::sold(&app, 2, SOLD, "3-1B").await;
    let record = app.read(&later).await;
    assert_eq!(record["refund_offer"]["fee_pct"], 20);
    assert_eq!(record["journey_as_sold"], Value::Null);

    let path = format!("/v1/orders/{}/refund", text(&order, "order"));
    let back = post(&path, &json!({}));
    app.ask(back.by(&text(&order, "order_key"))).await.is(200);
    let record = app.order_in(&order, "refunded").await;
    assert_eq!(record["reason"], "train_retimed");
    assert_eq!(record["refunds"][0]["amount"]["amount"], PRICE);
    assert_eq!(record["refunds"][0]["fee"]["amount"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_counts_with_an_unchanged_timetable_too_and_another_one_takes_it_back() {
    let trains = [train("t1", "RE 101", "09:00")];
    let app = railway(&trains).await;
    let order = sold(&app, 1, SOLD, SEAT).await;
    let id = |id: &str| id.parse().expect("a slug");
    let keep = || ShowChoices {
        keep: [id(SOLD)].into(),
        ..none()
    };
    let matched = |new: &str| ShowChoices {
        matches: BTreeMap::from([(id(SOLD), id(new))]),
        ..none()
    };
    succeed(&app, &trains, keep()).await;
    finds(&app, &[]).await;
    held(&app, 2, SOLD, "3-1B")
        .await
        .problem(409, "sales_ended");
    let other_day = replace(&app, &trains, matched("re-101-2027-01-12")).await;
    let why = &other_day.expect_err("another day")[0].why;
    assert!(why.contains("another day"), "{why}");

    succeed(&app, &trains, matched(SOLD)).await;
    finds(&app, &[only(SOLD, "09:00", SEATS - 1)]).await;
    held(&app, 2, SOLD, "3-1B").await.is(201);

    let cancel = ShowChoices {
        cancel: [id(SOLD)].into(),
        ..none()
    };
    let others = [train("t2", "RE 103", "12:00")];
    succeed(&app, &others, cancel).await;
    app.order_in(&order, "refunded").await;
    let over = replace(&app, &trains, keep()).await;
    let why = &over.expect_err("it was cancelled")[0].why;
    assert!(why.contains("cancelled"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn beside_a_train_that_goes_on_as_sold_no_train_of_its_times_is_sold_under_another_number() {
    let app = railway(&[train("t1", "RE 101", "09:00")]).await;
    sold(&app, 1, SOLD, SEAT).await;
    let keep = ShowChoices {
        keep: [SOLD.parse().expect("a slug")].into(),
        ..none()
    };
    let others = [
        train("t1", "RE 201", "09:00"),
        train("t2", "RE 203", "12:00"),
    ];
    succeed(&app, &others, keep).await;
    finds(&app, &[only("re-203-2027-01-11", "12:00", SEATS)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_that_the_new_timetable_surely_has_is_not_cancelled_by_an_import() {
    let trains = [train("t1", "RE 101", "09:00")];
    let app = railway(&trains).await;
    let order = sold(&app, 1, SOLD, SEAT).await;
    let cancel = || ShowChoices {
        cancel: [SOLD.parse().expect("a slug")].into(),
        ..none()
    };
    for train in [&trains[0], &train("t1", "RE 101", "09:20")] {
        let refused = replace(&app, std::slice::from_ref(train), cancel()).await;
        let why = &refused.expect_err("it is there")[0].why;
        for words in [
            "nothing to decide",
            "/v1/promoter/shows/re-101-2027-01-11/cancel",
        ] {
            assert!(why.contains(words), "{why}");
        }
    }
    assert_eq!(app.read(&order).await["state"], "ticketed");
    finds(&app, &[only(SOLD, "09:00", SEATS - 1)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_bought_a_train_from_the_built_in_room_is_no_longer_inside() {
    let app = railway(&[train("t1", "RE 101", "09:00")]).await;
    let finished = async |after: u64| {
        let ask = pulse_of(EVERYDAY, &[], after);
        let pulse = app.booking.gateways().pulse(&ask).await;
        pulse.expect("figures").finished
    };
    assert_eq!(finished(0).await, []);
    sold(&app, 1, SOLD, SEAT).await;
    let bought = finished(0).await;
    assert_eq!(bought.len(), 1, "{bought:?}");
    assert_eq!(finished(bought[0].0).await, []);
}
