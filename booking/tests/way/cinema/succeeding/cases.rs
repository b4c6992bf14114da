//! Single changes of a programme, and what they do to showings that were touched.

use booking::choices::ImportDecisions;
use booking::cinema::ProgrammePutRefusal;
use booking::commands::import_programme::{ProgrammeImportError, import_programme};
use fairgate_model::payments::kind::ProviderKind;

use super::*;

const SHOW: &str = "one-20270111t1900";

fn only(show: &str, at: &str) -> (String, String) {
    (show.to_owned(), format!("2027-01-11T{at}:00Z"))
}

/// Puts a programme again that changes nothing.
async fn changes_nothing(app: &App, showings: &[Listed]) {
    let again = replace(app, showings, "").await.is(200);
    assert_eq!(
        (&again["new_showings"], &again["changed_showings"]),
        (&json!(0), &json!(0)),
        "{again:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_showing_that_moves_keeps_its_show_with_all_who_hold_its_seats() {
    let app = cinema(&[orchard("19:00")]).await;
    let basket = held(&app, 1, SHOW, &["A-1"]).await.is(201);
    let moved = replace(&app, &[orchard("19:10")], "").await.is(200);
    assert_eq!(moved["earlier"]["moved"]["shows"], 1);
    assert_eq!(found(&app).await, [only(SHOW, "19:10")]);
    let taken = held(&app, 2, SHOW, &["A-1"]).await;
    taken.problem(409, "seats_taken");
    // Whoever chose a seat for seven is told that the time has changed.
    let who = app.visitor_of(EVERYDAY, 1);
    let path = format!("/v1/holds/{}/order", text(&basket, "hold"));
    let told = app.ask(post(&path, &buyer()).by(&who)).await;
    told.problem(409, "terms_changed");
    changes_nothing(&app, &[orchard("19:10")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sold_showing_that_moves_is_refused_by_its_name_until_it_is_postponed() {
    let app = cinema(&[orchard("19:00")]).await;
    let order = sold(&app, 1, SHOW, &["A-1"]).await;
    let moved = [orchard("19:10")];
    let refused = replace(&app, &moved, "").await;
    let refused = refused.problem(409, "postpone_instead");
    assert_eq!(refused["shows"], json!([SHOW]));
    let told = text(&refused, "detail");
    for way in ["/postpone", "keep=", "cancel="] {
        assert!(told.contains(way), "{told}");
    }
    assert_eq!(found(&app).await, [only(SHOW, "19:00")]);
    postponed(&app, SHOW, 19 * 60 + 10).await;
    changes_nothing(&app, &moved).await;
    assert_eq!(found(&app).await, [only(SHOW, "19:10")]);
    let record = app.read(&order).await;
    assert_eq!(record["starts_at"], moment(19 * 60 + 10));
    held(&app, 2, SHOW, &["A-1"])
        .await
        .problem(409, "seats_taken");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sold_showing_that_is_left_out_is_named_until_somebody_decides() {
    let app = cinema(&[orchard("19:00"), listed("tram", "12:00")]).await;
    let order = sold(&app, 1, SHOW, &["A-1", "A-2"]).await;
    let left = [listed("tram", "12:00")];
    let refused = replace(&app, &left, "").await;
    let refused = refused.problem(409, "showings_undecided");
    let expected = json!([{"show": SHOW, "tickets": 2, "buyers": 1, "paid": 2_000, "currency": "EUR",
        "why": "the new programme has no showing that may be the same"}]);
    assert_eq!(refused["showings"], expected);
    assert_eq!(found(&app).await.len(), 2, "nothing was imported");

    let kept = replace(&app, &left, &format!("?keep={SHOW}")).await.is(200);
    let figures = json!({"shows": 1, "tickets": 2, "buyers": 1, "paid": 2_000});
    assert_eq!(kept["earlier"]["kept"], figures);
    assert_eq!(found(&app).await, [only("one-20270111t1200", "12:00")]);
    assert_eq!(app.read(&order).await["state"], "ticketed");
    held(&app, 2, SHOW, &["A-3"])
        .await
        .problem(409, "sales_ended");

    // What may be the same is not sold, as long as the earlier one goes on.
    let near = [orchard("16:30"), orchard("22:10"), listed("tram", "12:00")];
    let put = replace(&app, &near, "").await.is(200);
    assert_eq!(put["unsold_showings"], 1);
    let note = &put["notes"][0];
    assert_eq!(text(note, "at"), "showings[0]");
    assert!(text(note, "message").contains(SHOW), "{note}");
    let late = "one-20270111t2210";
    let both = [only("one-20270111t1200", "12:00"), only(late, "22:10")];
    assert_eq!(found(&app).await, both);

    let put = replace(&app, &near, &format!("?cancel={SHOW}"))
        .await
        .is(200);
    assert_eq!(put["earlier"]["cancelled"], figures);
    app.order_in(&order, "refunded").await;
    assert_eq!(found(&app).await.len(), 3);
    held(&app, 3, "one-20270111t1630", &["A-1"]).await.is(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_showings_that_may_be_the_same_none_is_taken() {
    let app = cinema(&[orchard("19:00")]).await;
    sold(&app, 1, SHOW, &["A-1"]).await;
    let two = [orchard("18:00"), orchard("20:00")];
    let named = undecided(&replace(&app, &two, "").await);
    let [(show, why)] = &named[..] else {
        panic!("{named:?}");
    };
    assert_eq!(show, SHOW);
    for id in ["one-20270111t1800", "one-20270111t2000"] {
        assert!(why.contains(id), "{why}");
    }
    let unknown = format!("?match={SHOW}=one-20270111t1801");
    assert!(
        undecided(&replace(&app, &two, &unknown).await)[0]
            .1
            .contains("t1801")
    );
    let nobody = undecided(&replace(&app, &two, "?keep=one-1").await);
    assert_eq!(nobody[0].0, "one-1");
    let matched = format!("?match={SHOW}=one-20270111t2000");
    let refused = replace(&app, &two, &matched).await;
    refused.problem(409, "postpone_instead");
    postponed(&app, SHOW, 20 * 60).await;
    replace(&app, &two, "").await.is(200);
    let both = [only("one-20270111t1800", "18:00"), only(SHOW, "20:00")];
    assert_eq!(found(&app).await, both);
    changes_nothing(&app, &two).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_showing_of_a_film_with_another_id_is_matched_by_a_person_once() {
    let app = cinema(&[orchard("19:00")]).await;
    sold(&app, 1, SHOW, &["A-1"]).await;
    let renamed = [Listed {
        id: "s-7".to_owned(),
        ..listed("renamed", "19:00")
    }];
    assert_eq!(undecided(&replace(&app, &renamed, "").await)[0].0, SHOW);
    let matched = format!("?match={SHOW}=s-7");
    replace(&app, &renamed, &matched).await.is(200);
    assert_eq!(found(&app).await, [only(SHOW, "19:00")]);
    changes_nothing(&app, &renamed).await;
    let app = app.restarted().await;
    changes_nothing(&app, &renamed).await;
    held(&app, 2, SHOW, &["A-1"])
        .await
        .problem(409, "seats_taken");
    held(&app, 2, SHOW, &["A-2"]).await.is(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_showing_that_nobody_touched_is_not_sold_while_it_is_left_out() {
    let both = [orchard("19:00"), listed("tram", "12:00")];
    let app = cinema(&both).await;
    let left = replace(&app, &both[1..], "").await.is(200);
    assert_eq!(left["left_out"], json!([SHOW]));
    assert_eq!(left["earlier"]["left_out"]["shows"], 1);
    held(&app, 1, SHOW, &["A-1"])
        .await
        .problem(409, "not_on_sale");
    let shown = app.ask(get(&format!("/v1/shows/{SHOW}"))).await.is(200);
    assert_eq!(shown["state"], "announced");
    let again = replace(&app, &both[1..], "").await.is(200);
    assert_eq!(again["left_out"], json!([]), "it was left out before");
    let app = app.restarted().await;
    let back = replace(&app, &both, "").await.is(200);
    assert_eq!(back["changed_showings"], 1);
    assert_eq!(found(&app).await.len(), 2);
    held(&app, 1, SHOW, &["A-1"]).await.is(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_is_made_from_hall_and_time_never_takes_over_another_showing() {
    let app = cinema(&[orchard("19:00")]).await;
    sold(&app, 1, SHOW, &["A-1"]).await;
    postponed(&app, SHOW, 21 * 60).await;
    let both = [listed("tram", "19:00"), orchard("21:00")];
    replace(&app, &both, "").await.is(200);
    let listed_now = found(&app).await;
    let [(tram, early), (late, _)] = &listed_now[..] else {
        panic!("{listed_now:?}");
    };
    assert_eq!((late.as_str(), early), (SHOW, &moment(19 * 60)));
    assert!(tram.starts_with(SHOW) && tram != SHOW, "{tram}");
    held(&app, 2, tram, &["A-1"]).await.is(201);
    changes_nothing(&app, &both).await;
    assert_eq!(found(&app).await, listed_now);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_holds_or_waits_for_is_not_left_out() {
    let both = [orchard("19:00"), listed("tram", "12:00")];
    let app = cinema(&both).await;
    let all = ["A-1", "A-2", "A-3", "A-4"];
    held(&app, 1, SHOW, &all).await.is(201);
    let named = undecided(&replace(&app, &both[1..], "").await);
    assert!(named[0].1.contains("basket"), "{named:?}");
    waits(&app, 2, SHOW).await;
    // The basket ends. Somebody waits still.
    app.clock.advance_ms(306_000);
    let named = undecided(&replace(&app, &both[1..], "").await);
    assert_eq!(named[0].0, SHOW);
    replace(&app, &both[1..], &format!("?cancel={SHOW}"))
        .await
        .is(200);
    held(&app, 3, SHOW, &["A-1"])
        .await
        .problem(409, "show_cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_showing_that_has_begun_is_left_alone_and_not_sold_again() {
    let app = cinema(&[orchard("19:00")]).await;
    let order = sold(&app, 1, SHOW, &["A-1"]).await;
    let begins: jiff::Timestamp = moment(19 * 60).parse().expect("a moment");
    app.clock
        .advance_ms(begins.as_millisecond() - app.clock.now_ms() + 300_000);
    let late = [orchard("19:10"), orchard("20:10")];
    let put = replace(&app, &late, "").await.is(200);
    assert_eq!(
        (&put["left_out"], &put["unsold_showings"]),
        (&json!([]), &json!(1))
    );
    assert_eq!(found(&app).await, [only("one-20270111t2010", "20:10")]);
    assert_eq!(app.read(&order).await["state"], "ticketed");
}

#[tokio::test(flavor = "multi_thread")]
async fn showings_that_get_ids_keep_their_shows_and_are_found_by_the_ids_then() {
    let app = cinema(&[orchard("19:00")]).await;
    let order = sold(&app, 1, SHOW, &["A-1"]).await;
    let with_id = |time: &str| {
        [Listed {
            id: "s-1".to_owned(),
            ..orchard(time)
        }]
    };
    changes_nothing(&app, &with_id("19:00")).await;
    let refused = replace(&app, &with_id("23:30"), "").await;
    let refused = refused.problem(409, "postpone_instead");
    assert_eq!(refused["shows"], json!([SHOW]));
    // A person cancels it. The id then belongs to the showing that is sold.
    let cancel = format!("?cancel={SHOW}");
    replace(&app, &with_id("23:30"), &cancel).await.is(200);
    app.order_in(&order, "refunded").await;
    assert_eq!(found(&app).await, [only("s-1", "23:30")]);
    changes_nothing(&app, &with_id("23:30")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_tells_the_figures_and_changes_nothing() {
    let both = [orchard("19:00"), listed("tram", "12:00")];
    let app = cinema(&both).await;
    let order = sold(&app, 1, SHOW, &["A-1"]).await;
    let before = found(&app).await;
    let query = format!("?cancel={SHOW}&preview=true");
    let would = replace(&app, &[listed("tram", "12:20")], &query)
        .await
        .is(200);
    assert_eq!(
        (&would["preview"], &would["changed_showings"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(would["earlier"]["cancelled"]["tickets"], 1);
    assert_eq!(would["earlier"]["moved"]["shows"], 1);
    assert_eq!(found(&app).await, before);
    assert_eq!(app.read(&order).await["state"], "ticketed");
    let refused = replace(&app, &both[1..], "?preview=true").await;
    assert_eq!(undecided(&refused)[0].0, SHOW);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_from_the_command_line_names_what_was_sold_at_a_running_node() {
    if fairgate_servers::must_skip("a programme imported again into PostgreSQL") {
        return;
    }
    let (app, ..) = opened_on_server().await;
    let both = [orchard("19:00"), listed("tram", "12:00")];
    replace(&app, &both, "").await.is(200);
    let order = sold(&app, 1, SHOW, &["A-1"]).await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("programme.json");
    std::fs::write(&file, listed_programme(&both[1..]).to_string()).expect("written");
    let stores = fairgate_base::config::StoreSettings {
        database_url: Some(fairgate_base::config::SecretSetting(app.url())),
        redis_url: None,
        counter_file: None,
    };
    let import = async |decisions: &ImportDecisions| {
        let data = folder.path();
        import_programme(&file, &stores, data, ProviderKind::None, decisions).await
    };
    let refused = import(&ImportDecisions::default())
        .await
        .expect_err("it was sold");
    let told = refused.to_string();
    assert!(
        told.starts_with(&format!("{SHOW} (1 ticket, 1 buyer, 10.00 EUR paid): ")),
        "{told}"
    );
    assert!(matches!(
        refused,
        ProgrammeImportError::Refused(ProgrammePutRefusal::Undecided(_))
    ));
    let mut decisions = ImportDecisions::default();
    decisions
        .choices
        .cancel
        .insert(SHOW.parse().expect("a slug"));
    let done = import(&decisions).await.expect("decided");
    assert_eq!(done.earlier.cancelled.tickets, 1);
    app.order_in(&order, "refunded").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sold_showing_never_becomes_another_film() {
    let with_id = |id: &str, showing: Listed| Listed {
        id: id.to_owned(),
        ..showing
    };
    let both = |first, second| {
        [
            with_id("s-1", listed(first, "19:00")),
            with_id("s-2", listed(second, "21:00")),
        ]
    };
    let app = cinema(&both("orchard", "tram")).await;
    let order = sold(&app, 1, "s-1", &["A-1"]).await;
    // Nobody bought a seat of the other one.
    let swapped = replace(&app, &both("tram", "orchard"), "").await;
    let refused = swapped.problem(409, "postpone_instead");
    assert_eq!(refused["shows"], json!(["s-1"]));
    let other = [listed("tram", "19:00")];
    let matched = replace(&app, &other, "?match=s-1=one-20270111t1900").await;
    let refused = matched.problem(409, "postpone_instead");
    assert_eq!(refused["shows"], json!(["s-1"]));
    assert_eq!(app.read(&order).await["title"], "The orchard");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_other_film_is_sold_in_the_hall_of_a_showing_that_goes_on_as_sold() {
    let app = cinema(&[orchard("19:00")]).await;
    sold(&app, 1, SHOW, &["A-1"]).await;
    let others = [listed("tram", "19:00"), listed("tram", "21:00")];
    let put = replace(&app, &others, &format!("?keep={SHOW}"))
        .await
        .is(200);
    assert_eq!(put["unsold_showings"], 1, "{put:#}");
    assert_eq!(found(&app).await, [only("one-20270111t2100", "21:00")]);
    let again = replace(&app, &others, "").await.is(200);
    assert_eq!(again["unsold_showings"], 1, "{again:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_counts_sold_tickets_whose_title_or_price_changes() {
    let both = [orchard("19:00"), listed("tram", "12:00")];
    let app = cinema(&both).await;
    sold(&app, 1, SHOW, &["A-1", "A-2"]).await;
    let mut changed = listed_programme(&both);
    changed["films"][0]["title"] = json!("The old orchard");
    changed["showings"][0]["prices"]["cat1"] = json!(1_200);
    for query in ["?preview=true", ""] {
        let path = format!("/v1/promoter/cinema{query}");
        let told = app.ask(put(&path, &changed).by(&PROMOTER)).await.is(200);
        let earlier = &told["earlier"];
        for kind in ["retitled", "repriced"] {
            assert_eq!(earlier[kind]["tickets"], 2, "{kind}: {earlier:#}");
        }
        let counted = ["moved", "unchanged"].map(|kind| earlier[kind]["shows"].as_u64());
        assert_eq!(counted, [Some(0), Some(1)], "{earlier:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_showing_that_the_new_programme_surely_has_is_not_cancelled_by_it() {
    let app = cinema(&[orchard("19:00")]).await;
    let order = sold(&app, 1, SHOW, &["A-1"]).await;
    let refused = replace(&app, &[orchard("19:00")], &format!("?cancel={SHOW}")).await;
    let (show, why) = undecided(&refused).remove(0);
    assert_eq!(show, SHOW);
    assert!(
        why.contains("nothing to decide") && why.contains("/cancel"),
        "{why}"
    );
    assert_eq!(found(&app).await, [only(SHOW, "19:00")]);
    assert_eq!(app.read(&order).await["state"], "ticketed");
}
