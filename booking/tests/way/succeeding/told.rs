//! What a person reads about an import: the trains that may be chosen for one that is not found, and
//! what the import does without a question.

use std::collections::BTreeMap;

use super::recuts::bought_between;
use super::*;


/// Returns why a timetable does not surely have the one departure that was sold.
async fn why(app: &App, parts: &TimetableParts) -> String {
    let undecided = replace_by(app, parts, none()).await;
    let [named] = &undecided.expect_err("nobody decided")[..] else {
        panic!("one departure was sold");
    };
    assert_eq!(named.show.as_str(), SOLD);
    named.why.clone()
}

fn matched(new: &str) -> ShowChoices {
    let id = |id: &str| id.parse().expect("a slug");
    ShowChoices {
        matches: BTreeMap::from([(id(SOLD), id(new))]),
        ..none()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_that_is_not_found_names_the_trains_of_its_number_by_ids_that_a_match_takes() {
    let app = railway(&[train("t1", "RE 101", "09:00")]).await;
    sold(&app, 1, SOLD, SEAT).await;
    let fast = Train {
        stations: vec!["aa", "cc"],
        ..train("t5", "RE 101", "13:00")
    };
    let trains = [
        train("t2", "RE 101", "17:00"),
        train("t3", "RE 101", "11:00"),
        train("t4", "RE 101", "07:30"),
        fast,
    ];
    let few = timetable(&trains[1..]);
    assert_eq!(
        why(&app, &few).await,
        "the new timetable has no train that may be the same; RE 101 on that day: \
         re-101-2027-01-11-t4 (leaves Ahausen at 07:30 instead of 09:00), \
         re-101-2027-01-11-t3 (leaves Ahausen at 11:00 instead of 09:00), \
         re-101-2027-01-11-t5 (does not surely have the ride from Ahausen to Bedorf)"
    );
    let told = why(&app, &timetable(&trains)).await;
    assert!(
        told.ends_with("17:00 instead of 09:00) and 1 more"),
        "{told}"
    );
    // Times are those of the station's clocks.
    let mut tokyo = few.clone();
    tokyo.stations[0].time_zone = Some("Asia/Tokyo".to_owned());
    let told = why(&app, &tokyo).await;
    assert!(
        told.contains("leaves Ahausen at 16:30 instead of 18:00"),
        "{told}"
    );
    let fast = replace_by(&app, &few, matched("re-101-2027-01-11-t5")).await;
    let fast = &fast.expect_err("it does not stop at Bedorf")[0].why;
    assert!(fast.contains("from Ahausen to Bedorf"), "{fast}");
    let chosen = replace_by(&app, &few, matched("re-101-2027-01-11-t4")).await;
    chosen.expect("the id is that of a departure");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_that_is_not_found_names_trains_of_its_line_that_leave_within_an_hour() {
    let app = railway(&[train("t1", "RE 101", "09:00")]).await;
    sold(&app, 1, SOLD, SEAT).await;
    let back = Train {
        stations: vec!["cc", "bb", "aa"],
        ..train("t6", "RE 200", "08:00")
    };
    let trains = [
        train("t1", "RE 101", "15:00"),
        train("t2", "RE 201", "09:50"),
        train("t3", "RE 203", "09:20"),
        train("t4", "RE 205", "08:50"),
        train("t5", "RE 207", "11:00"),
        back,
    ];
    assert_eq!(
        why(&app, &timetable(&trains)).await,
        "the new timetable has no train that may be the same; RE 101 on that day: \
         re-101-2027-01-11 (leaves Ahausen at 15:00 instead of 09:00); of the line RE 1 within an \
         hour: re-205-2027-01-11 (leaves Ahausen at 08:50 instead of 09:00), re-203-2027-01-11 \
         (leaves Ahausen at 09:20 instead of 09:00), re-201-2027-01-11 (leaves Ahausen at 09:50 \
         instead of 09:00)"
    );
    succeed(&app, &trains, matched("re-203-2027-01-11")).await;
    finds_as(&app, |found| {
        found
            .iter()
            .any(|(show, at, _)| show == SOLD && at == "09:20")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_that_is_another_sold_one_is_not_named() {
    let sold_trains = [
        train("t1", "RE 101", "09:00"),
        train("t2", "RE 103", "09:30"),
    ];
    let app = railway(&sold_trains).await;
    sold(&app, 1, SOLD, SEAT).await;
    sold(&app, 2, "re-103-2027-01-11", SEAT).await;
    assert_eq!(
        why(&app, &timetable(&sold_trains[1..])).await,
        "the new timetable has no train that may be the same"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_that_lost_a_sold_stop_leaves_the_other_trains_of_its_number_to_choose() {
    let app = railway(&[train("t1", "RE 101", "09:00")]).await;
    sold(&app, 1, SOLD, SEAT).await;
    let fast = Train {
        stations: vec!["aa", "cc"],
        ..train("t1", "RE 101", "09:10")
    };
    let told = why(&app, &timetable(&[fast, train("t2", "RE 101", "11:00")])).await;
    assert_eq!(
        told,
        "only re-101-2027-01-11-t1 of the new timetable may be the same, and seats are sold from \
         Ahausen to Bedorf, and the new train does not surely have that ride, so it cannot be that \
         train: keep it, cancel it, or match it with another one; RE 101 on that day: \
         re-101-2027-01-11-t2 (leaves Ahausen at 11:00 instead of 09:00)"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_that_is_late_only_where_somebody_gets_on_is_named_with_its_time_there() {
    let trains = [train("t1", "RE 101", "09:00")];
    let app = railway(&trains).await;
    bought_between(&app, 1, SEAT, ("aa", "bb")).await;
    bought_between(&app, 2, SEAT, ("bb", "cc")).await;
    let mut parts = timetable(&trains);
    for stop in &mut parts.patterns[0][1..] {
        stop.arrives = stop.arrives.map(|at| at + 2 * 3_600);
        stop.departs = stop.departs.map(|at| at + 2 * 3_600);
    }
    assert_eq!(
        why(&app, &parts).await,
        "only re-101-2027-01-11 of the new timetable may be the same, and it leaves Bedorf at \
         11:30 instead of 09:30"
    );
}
