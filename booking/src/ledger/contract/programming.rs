//! Cases of cinema programmes. A programme is written as a whole or not at all. It is refused if it
//! would move a sold seat. If the same programme is put again, nothing changes.

use std::collections::HashMap;

use fairgate_model::shows::document::ShowDocument;
use fairgate_model::shows::fate::ShowFate;

use super::*;
use crate::ledger::{
    LedgerError, NewFate, NewHallPlan, NewProgramme, ProgrammeOutcome, ProgrammeRefused,
    ProgrammeSuccession, ShowingChanges,
};

pub(super) const CASES: &[Case] = cases![
    a_programme_is_written_as_a_whole_and_read_once,
    the_same_programme_again_changes_nothing,
    a_changed_programme_writes_only_changed_showings,
    a_hall_without_a_new_plan_keeps_its_plan,
    a_postponed_showing_keeps_its_time_and_gets_other_changes,
    a_programme_that_moves_sold_seats_is_refused_as_a_whole,
    a_showing_that_moves_to_another_hall_pins_a_larger_version,
    a_showing_keeps_its_version_while_another_one_moves_into_its_hall,
    a_plan_that_was_not_compared_is_not_pinned,
    an_import_that_read_an_older_plan_pins_no_number_of_the_old_hall,
    an_import_that_read_an_older_plan_does_not_replace_the_pinned_one,
    a_showing_with_sold_seats_does_not_move_to_another_hall,
    a_showing_with_sold_seats_does_not_begin_at_another_time,
    a_new_plan_that_moves_no_sold_seat_is_written,
];

pub(super) fn showing(hall: &str, hour: u8, price: i64) -> (ShowId, ShowDocument) {
    let document = serde_json::json!({
        "venue": hall, "title": "A film", "starts_at": format!("2027-06-01T{hour:02}:00:00Z"),
        "prices": {"cat1": price}, "seats_per_visitor": 10,
    });
    let id = format!("{hall}-{hour}").parse().expect("a slug");
    let document = serde_json::from_value(document).expect("a valid document");
    (id, document)
}

/// Builds a programme of two halls with three showings.
pub(super) fn programme(document: &str, plan: u8, price: i64) -> NewProgramme {
    let hall = |name: &str| NewHallPlan {
        venue: name.parse().expect("a slug"),
        plan: format!("plan {plan}").into(),
        digest: [plan; 32],
    };
    NewProgramme {
        document: document.to_owned(),
        plans: vec![hall("kino-1"), hall("kino-2")],
        shows: vec![
            showing("kino-1", 18, price),
            showing("kino-1", 21, 1_000),
            showing("kino-2", 18, 1_000),
        ],
        keeps: Box::new(|_, _| false),
        old_plans: HashMap::new(),
        present_plans: HashMap::new(),
        succession: ProgrammeSuccession::default(),
    }
}

async fn put(ledger: &Books, programme: NewProgramme) -> ProgrammeOutcome {
    let put = ledger.put_programme(programme, NOW_MS).await;
    put.expect("written")
}

async fn version(ledger: &Books) -> u64 {
    ledger.catalogue_version().await.expect("readable")
}

/// Returns the shows' ids and pinned plan versions.
async fn pinned(ledger: &Books) -> Vec<(String, u32)> {
    let shows = ledger.shows().await.expect("readable");
    let of = |show: StoredShow| (show.id.to_string(), show.plan_version);
    shows.into_iter().map(of).collect()
}

fn all_pinned(version: u32) -> Vec<(String, u32)> {
    ["kino-1-18", "kino-1-21", "kino-2-18"]
        .map(|show| (show.to_owned(), version))
        .into()
}

async fn a_programme_is_written_as_a_whole_and_read_once(ledger: Books) {
    assert_eq!(ledger.programme(0).await.expect("readable"), None);
    let before = version(&ledger).await;
    let done = put(&ledger, programme("first", 1, 1_000)).await;
    let expected = ProgrammeOutcome {
        plans: 2,
        new: 3,
        changed: 0,
        kept_times: Vec::new(),
        changes: ShowingChanges::default(),
        written: true,
    };
    assert_eq!(done, expected);
    assert_eq!(version(&ledger).await, before + 1);
    assert_eq!(pinned(&ledger).await, all_pinned(1));
    let shows = ledger.shows().await.expect("readable");
    assert_eq!(shows[0].document, showing("kino-1", 18, 1_000).1);
    let hall = "kino-2".parse().expect("a slug");
    let plan = ledger.plan(&hall, 1).await.expect("readable");
    assert_eq!(plan.as_deref(), Some("plan 1"));
    let (number, document) = ledger
        .programme(0)
        .await
        .expect("readable")
        .expect("a programme is stored");
    assert_eq!(document, "first");
    assert_eq!(ledger.programme(number).await.expect("readable"), None);
}

async fn the_same_programme_again_changes_nothing(ledger: Books) {
    put(&ledger, programme("first", 1, 1_000)).await;
    let before = version(&ledger).await;
    let again = put(&ledger, programme("first", 1, 1_000)).await;
    assert_eq!(again, ProgrammeOutcome::default());
    assert_eq!(version(&ledger).await, before);
    assert_eq!(pinned(&ledger).await, all_pinned(1));
}

async fn a_changed_programme_writes_only_changed_showings(ledger: Books) {
    put(&ledger, programme("first", 1, 1_000)).await;
    let (known, _) = ledger
        .programme(0)
        .await
        .expect("readable")
        .expect("a programme is stored");
    let mut second = programme("second", 1, 1_200);
    second.shows.push(showing("kino-2", 22, 900));
    let done = put(&ledger, second).await;
    assert_eq!((done.plans, done.new, done.changed), (0, 1, 1));
    let newer = ledger.programme(known).await.expect("readable");
    assert_eq!(
        newer.map(|(_, document)| document).as_deref(),
        Some("second")
    );
    let shows = ledger.shows().await.expect("readable");
    assert_eq!(shows[0].document, showing("kino-1", 18, 1_200).1);
    assert_eq!(shows.len(), 4);
}

async fn a_hall_without_a_new_plan_keeps_its_plan(ledger: Books) {
    put(&ledger, programme("first", 1, 1_000)).await;
    let second = NewProgramme {
        plans: Vec::new(),
        ..programme("second", 1, 1_100)
    };
    assert_eq!(put(&ledger, second).await.changed, 1);
    assert_eq!(pinned(&ledger).await, all_pinned(1));
    let nowhere = NewProgramme {
        plans: Vec::new(),
        shows: vec![showing("kino-9", 18, 1_000)],
        ..programme("third", 1, 1_000)
    };
    let refused = ledger.put_programme(nowhere, NOW_MS).await;
    assert!(matches!(refused, Err(ProgrammeRefused::Ledger(_))));
    assert_eq!(pinned(&ledger).await, all_pinned(1));
}

async fn a_postponed_showing_keeps_its_time_and_gets_other_changes(ledger: Books) {
    put(&ledger, programme("first", 1, 1_000)).await;
    let (id, _) = showing("kino-1", 18, 1_000);
    let later: jiff::Timestamp = "2027-06-03T18:00:00Z".parse().expect("a moment");
    let fate = NewFate {
        fate: ShowFate::Postponed {
            since_ms: NOW_MS,
            refunds_until_ms: NOW_MS,
        },
        starts_at: Some(later),
        reason: None,
    };
    let postponed = ledger.put_fate(&id, fate, NOW_MS);
    assert!(postponed.await.expect("written"));
    let kept = vec![(id.clone(), later)];
    let again = put(&ledger, programme("first", 1, 1_000)).await;
    let expected = ProgrammeOutcome {
        kept_times: kept.clone(),
        ..ProgrammeOutcome::default()
    };
    assert_eq!(again, expected);
    let dearer = put(&ledger, programme("second", 1, 1_200)).await;
    assert_eq!((dearer.changed, dearer.kept_times), (1, kept));
    let mut moved = programme("third", 1, 1_200);
    moved.shows[0].1.starts_at = later;
    let moved = put(&ledger, moved).await;
    assert_eq!((moved.changed, moved.kept_times), (0, Vec::new()));
    let shows = ledger.shows().await.expect("readable");
    let shown = shows.into_iter().find(|show| show.id == id);
    let shown = shown.expect("it is stored");
    assert_eq!(shown.document.starts_at, later);
    assert_eq!(shown.document.prices["cat1"], 1_200);
}

/// Sells seat 3 of one showing to Ana, and returns the showing.
pub(super) async fn sold(ledger: &Books) -> ShowId {
    put(ledger, programme("first", 1, 1_000)).await;
    let (id, _) = showing("kino-1", 21, 1_000);
    let mut order = order("a", ANA, &[3]);
    order.show = id.clone();
    order.hold = HoldId::of_key(&id, ANA, "a");
    order.id = OrderId::of_hold(&order.hold);
    order.payment = PaymentId::of_order(&order.id);
    claim(ledger, &order).await.expect("the cells are free");
    id
}

async fn a_programme_that_moves_sold_seats_is_refused_as_a_whole(ledger: Books) {
    let id = sold(&ledger).await;
    let before = version(&ledger).await;
    let mut second = programme("second", 2, 1_200);
    second.shows.push(showing("kino-2", 22, 900));
    let refused = ledger.put_programme(second, NOW_MS).await;
    let Err(ProgrammeRefused::PlanInUse(seats)) = refused else {
        panic!("a sold seat would move: {refused:?}");
    };
    assert_eq!(seats, [(id, vec![3])]);
    assert_eq!(version(&ledger).await, before);
    assert_eq!(pinned(&ledger).await, all_pinned(1));
    let hall = "kino-2".parse().expect("a slug");
    let newest = ledger.newest_plan(&hall).await.expect("readable");
    assert_eq!(newest, Some(1), "the other hall's plan is unchanged, too");
    let (_, document) = ledger
        .programme(0)
        .await
        .expect("readable")
        .expect("a programme is stored");
    assert_eq!(document, "first");
}

async fn a_showing_that_moves_to_another_hall_pins_a_larger_version(ledger: Books) {
    put(&ledger, programme("first", 1, 1_000)).await;
    let into = |hall: &str| {
        let mut second = programme(hall, 1, 1_000);
        second.shows[1].1.venue = hall.parse().expect("a slug");
        second
    };
    let mut last = 1;
    for hall in ["kino-2", "kino-1", "kino-2"] {
        put(&ledger, into(hall)).await;
        let shows = ledger.shows().await.expect("readable");
        let moved = shows.iter().find(|show| show.id == into(hall).shows[1].0);
        let moved = moved.expect("it is stored");
        assert_eq!(moved.document.venue.as_str(), hall);
        assert!(
            moved.plan_version > last,
            "holds and orders of the old hall do not fit"
        );
        last = moved.plan_version;
        let plan = ledger.plan(&moved.document.venue, last).await;
        assert!(
            plan.expect("readable").is_some(),
            "the plan has this number"
        );
    }
}

/// Builds the programme after one showing has moved from the first hall to the second.
fn moved_programme(plan: u8) -> NewProgramme {
    let mut second = programme("second", plan, 1_000);
    second.shows[1].1.venue = "kino-2".parse().expect("a slug");
    second
}

fn each_pinned(versions: [u32; 3]) -> Vec<(String, u32)> {
    let shows = all_pinned(0).into_iter().map(|(show, _)| show);
    shows.zip(versions).collect()
}

async fn a_showing_keeps_its_version_while_another_one_moves_into_its_hall(ledger: Books) {
    put(&ledger, programme("first", 1, 1_000)).await;
    for changed in [1, 0] {
        assert_eq!(put(&ledger, moved_programme(1)).await.changed, changed);
        assert_eq!(pinned(&ledger).await, each_pinned([1, 2, 1]));
    }
    assert_eq!(put(&ledger, moved_programme(2)).await.changed, 3);
    assert_eq!(pinned(&ledger).await, each_pinned([2, 3, 3]));
}

/// Builds the programme after the move as a node stores it that has read version 1 of both plans.
fn stale_programme() -> NewProgramme {
    let halls = ["kino-1", "kino-2"].map(|hall| (hall.parse().expect("a slug"), 1));
    NewProgramme {
        plans: Vec::new(),
        present_plans: halls.into(),
        ..moved_programme(1)
    }
}

async fn an_import_that_read_an_older_plan_pins_no_number_of_the_old_hall(ledger: Books) {
    put(&ledger, programme("first", 1, 1_000)).await;
    for changed in [1, 0] {
        assert_eq!(put(&ledger, stale_programme()).await.changed, changed);
        assert_eq!(pinned(&ledger).await, each_pinned([1, 2, 1]));
    }
}

async fn an_import_that_read_an_older_plan_does_not_replace_the_pinned_one(ledger: Books) {
    put(&ledger, programme("first", 1, 1_000)).await;
    put(&ledger, moved_programme(2)).await;
    assert_eq!(pinned(&ledger).await, all_pinned(2));
    let refused = ledger.put_programme(stale_programme(), NOW_MS).await;
    let Err(ProgrammeRefused::Ledger(LedgerError::Overtaken(_))) = refused else {
        panic!("an older plan replaced the pinned one: {refused:?}");
    };
    assert_eq!(pinned(&ledger).await, all_pinned(2));
}

async fn a_plan_that_was_not_compared_is_not_pinned(ledger: Books) {
    put(&ledger, programme("first", 1, 1_000)).await;
    let hall: VenueId = "kino-1".parse().expect("a slug");
    let newer = ledger.put_venue(&hall, plan_of("plan 9", [9; 32]), NOWHERE, NOW_MS);
    assert_eq!(newer.await.expect("stored"), 2);
    let halls = ["kino-1", "kino-2"].map(|hall| (hall.parse().expect("a slug"), 1));
    let second = NewProgramme {
        plans: Vec::new(),
        present_plans: halls.into(),
        ..programme("second", 1, 1_100)
    };
    assert_eq!(put(&ledger, second).await.changed, 1);
    assert_eq!(pinned(&ledger).await, all_pinned(1));
}

async fn a_showing_with_sold_seats_does_not_move_to_another_hall(ledger: Books) {
    let id = sold(&ledger).await;
    let mut second = programme("second", 1, 1_000);
    let moved = second.shows.iter_mut().find(|(show, _)| *show == id);
    moved.expect("it is there").1.venue = "kino-2".parse().expect("a slug");
    let refused = ledger.put_programme(second, NOW_MS).await;
    assert!(matches!(refused, Err(ProgrammeRefused::PostponeInstead(shows)) if shows == [id]));
}

async fn a_showing_with_sold_seats_does_not_begin_at_another_time(ledger: Books) {
    let id = sold(&ledger).await;
    let before = version(&ledger).await;
    let at_20 = |show: &ShowId| {
        let mut second = programme("second", 1, 1_000);
        let moved = second.shows.iter_mut().find(|(known, _)| known == show);
        let moved = &mut moved.expect("it is there").1;
        moved.starts_at = "2027-06-01T20:00:00Z".parse().expect("a moment");
        second
    };
    let refused = ledger.put_programme(at_20(&id), NOW_MS).await;
    assert!(matches!(refused, Err(ProgrammeRefused::PostponeInstead(shows)) if shows == [id]));
    assert_eq!(version(&ledger).await, before);
    let (unsold, _) = showing("kino-2", 18, 1_000);
    assert_eq!(put(&ledger, at_20(&unsold)).await.changed, 1);
}

async fn a_new_plan_that_moves_no_sold_seat_is_written(ledger: Books) {
    let id = sold(&ledger).await;
    let pinned_by = |version| {
        let old = PlanPin {
            venue: "kino-1".parse().expect("a slug"),
            version,
        };
        HashMap::from([(id.clone(), old)])
    };
    let second = |version| NewProgramme {
        keeps: Box::new(|_, seat| seat == 3),
        old_plans: pinned_by(version),
        ..programme("second", 2, 1_000)
    };
    let stale = ledger.put_programme(second(2), NOW_MS).await;
    assert!(
        matches!(stale, Err(ProgrammeRefused::PlanInUse(_))),
        "the new plans were not compared with the plan that the show pins"
    );
    let second = second(1);
    let done = put(&ledger, second).await;
    assert_eq!((done.plans, done.new, done.changed), (2, 0, 3));
    assert_eq!(pinned(&ledger).await, all_pinned(2));
}
