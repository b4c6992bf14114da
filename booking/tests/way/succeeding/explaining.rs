//! What a person reads about an import: the trains that may be chosen for one that is not found,
//! and what the import does without a question.

use std::collections::BTreeMap;

use booking::choices::ImportDecisions;
use booking::commands::import_timetable::{
    ImportedTimetable, RailFeedKind, TimetableImport, UndecidedImport, import_timetable,
};
use fairgate_databases::copy_ledger_file;
use fairgate_model::payments::kind::ProviderKind;

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
         train; RE 101 on that day: \
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

/// Imports the feed in a folder as the command does.
async fn imported(
    app: &App,
    feed: &TempDir,
    is_preview: bool,
) -> Result<ImportedTimetable, UndecidedImport> {
    let rail = feed.path().join("rail.toml");
    std::fs::write(&rail, SETTINGS).expect("written");
    // The app goes on after a preview, and nobody else may write its file.
    let copy = tempfile::tempdir().expect("a folder");
    let data = match is_preview {
        true => copy.path(),
        false => app.folder.path(),
    };
    if is_preview {
        let [from, to] = [app.folder.path(), copy.path()].map(|folder| folder.join("ledger.db"));
        copy_ledger_file(&from, &to).expect("copied");
    }
    let wanted = TimetableImport {
        source: RailFeedKind::Gtfs,
        folder: feed.path().to_owned(),
        rail: Some(rail),
        data: data.to_owned(),
        database: None,
        payments: ProviderKind::None,
        decisions: ImportDecisions {
            is_preview,
            ..ImportDecisions::default()
        },
    };
    match import_timetable(wanted, app.clock.now_ms()).await {
        Ok(imported) => Ok(imported),
        Err(TimetableImportError::Undecided(undecided)) => Err(*undecided),
        Err(other) => panic!("{other}"),
    }
}

/// Returns the notes about trips that are not sold.
fn of_trips(notes: &[String]) -> Vec<&str> {
    let notes = notes.iter().map(String::as_str);
    notes
        .filter(|note| note.contains("not sold on its day"))
        .collect()
}

/// Returns the notes about departures.
fn of_departures(notes: &[String]) -> Vec<&str> {
    let notes = notes.iter().map(String::as_str);
    notes.filter(|note| note.contains("departure")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn departures_that_were_only_held_are_named_when_they_are_cancelled() {
    let early = ["07:00", "07:20", "07:40"];
    let number = |at: usize| format!("RE {}", 103 + 2 * at);
    let mut trains = vec![train("t1", "RE 101", "09:00")];
    trains.extend((0..22).map(|at| train(&format!("h{at}"), &number(at), early[at % 3])));
    let app = railway(&trains).await;
    sold(&app, 1, SOLD, SEAT).await;
    for (visitor, at) in (2..).zip(0..22) {
        let show = format!("re-{}-2027-01-11", 103 + 2 * at);
        held(&app, visitor, &show, SEAT).await.is(201);
    }
    let told = async |left: &[Train]| {
        let feed = feed_between(left, PRICE, YEAR);
        let imported = imported(&app, &feed, true).await;
        imported.expect("nothing to decide")
    };
    let one = told(&trains[..22]).await;
    assert_eq!(
        of_departures(&one.notes),
        [
            "1 departure that was held, but not sold, is not surely part of the new timetable and is \
             cancelled: re-145-2027-01-11"
        ]
    );
    let all = told(&trains[..1]).await;
    assert_eq!(all.departures.cancelled.shows, 22);
    let [note] = of_departures(&all.notes)[..] else {
        panic!("{all:?}");
    };
    assert!(
        note.starts_with("22 departures that were held, but not sold, are"),
        "{note}"
    );
    assert_eq!(note.matches("-2027-01-11").count(), 20);
    assert!(note.ends_with(" and 2 more"), "{note}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_with_open_questions_tells_what_becomes_of_the_other_departures() {
    let trains = [
        train("t1", "RE 101", "09:00"),
        train("t2", "RE 103", "12:00"),
        train("t3", "RE 105", "15:00"),
    ];
    let app = railway(&trains).await;
    sold(&app, 1, SOLD, SEAT).await;
    sold(&app, 2, "re-103-2027-01-11", SEAT).await;
    held(&app, 3, "re-105-2027-01-11", SEAT).await.is(201);
    let feed = feed_between(&[train("t2", "RE 103", "12:20")], PRICE, YEAR);
    for is_preview in [true, false] {
        let undecided = imported(&app, &feed, is_preview).await;
        let undecided = undecided.expect_err("nobody decided");
        assert_eq!(
            undecided.lines(),
            [
                "nothing was imported; beside what is to be decided, the import would do this:",
                "of the other departures that were held or sold: 1 with other times (1 ticket, 1 buyer)",
                "of the other departures that were held or sold: 1 leaving or arriving over 15 minutes off, \
                 so that buyers may give tickets back free (1 ticket, 1 buyer)",
                "of the other departures that were held or sold: 1 cancelled (0 tickets, 0 buyers)",
            ]
        );
        let told = serde_json::json!(undecided);
        assert_eq!(told["undecided"][0]["show"], SOLD);
        assert_eq!(told["departures"]["retimed"]["tickets"], 1);
        let gone = told["notes"][0].as_str().expect("a note");
        assert!(gone.ends_with(": re-105-2027-01-11"), "{gone}");
    }
    assert_eq!(found(&app).await.len(), 3, "nothing was imported");
    let listed = found(&app).await;
    assert_eq!(listed[1].1, "12:00", "nothing was written");
    held(&app, 4, "re-105-2027-01-11", "3-1B").await.is(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn departures_that_keep_their_fares_in_another_currency_are_counted() {
    let trains = [
        train("t1", "RE 101", "09:00"),
        train("t2", "RE 103", "12:00"),
    ];
    let app = railway(&trains).await;
    sold(&app, 1, SOLD, SEAT).await;
    held(&app, 2, "re-103-2027-01-11", SEAT).await.is(201);
    let feed = feed_between(&trains, PRICE, YEAR);
    let same = imported(&app, &feed, false).await.expect("it is the same");
    assert!(of_departures(&same.notes).is_empty(), "{same:?}");
    let fares = feed.path().join("fare_attributes.txt");
    let francs = std::fs::read_to_string(&fares).expect("readable");
    std::fs::write(&fares, francs.replace("EUR", "CHF")).expect("written");
    let other = imported(&app, &feed, false).await.expect("all are found");
    assert_eq!(
        of_departures(&other.notes),
        [
            "2 departures that somebody held or bought keep their fares and rules in EUR, because the \
             new timetable is in CHF"
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_that_goes_on_as_sold_is_noted_with_the_match_that_sells_it_again() {
    let app = railway(&[train("t1", "RE 101", "09:00")]).await;
    sold(&app, 1, SOLD, SEAT).await;
    let fast = Train {
        stations: vec!["aa", "cc"],
        ..train("t4", "RE 101", "09:10")
    };
    let trains = [fast, train("t5", "RE 101", "09:20")];
    let keep = ShowChoices {
        keep: [SOLD.parse().expect("a slug")].into(),
        ..none()
    };
    succeed(&app, &trains, keep).await;
    let later = [trains[0].clone(), train("t5", "RE 101", "09:25")];
    let again = imported(&app, &feed_between(&later, PRICE, YEAR), true).await;
    assert_eq!(
        of_trips(&again.expect("it is decided").notes),
        [
            "re-101-2027-01-11 goes on as it was sold, so trips that may be the same are not sold on its \
             day: t4, t5; to sell it again as one of them, import with \
             --match re-101-2027-01-11=re-101-2027-01-11-t5"
        ]
    );
    let fast = imported(&app, &feed_between(&later[..1], PRICE, YEAR), true).await;
    assert_eq!(
        of_trips(&fast.expect("it is decided").notes),
        [
            "re-101-2027-01-11 goes on as it was sold, so trips that may be the same are not sold on its \
             day: t4"
        ]
    );
    succeed(&app, &later, matched("re-101-2027-01-11-t5")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_that_clash_name_both_departures() {
    let trains = [
        train("t1", "RE 101", "09:00"),
        train("t2", "RE 103", "09:30"),
    ];
    let app = railway(&trains).await;
    sold(&app, 1, SOLD, SEAT).await;
    let other = "re-103-2027-01-11";
    sold(&app, 2, other, SEAT).await;
    let clash = replace(&app, &trains[1..], matched(other)).await;
    let clash = clash.expect_err("the other train is still to be decided");
    let [named] = &clash[..] else {
        panic!("{clash:?}");
    };
    assert_eq!(
        named.to_string(),
        "re-103-2027-01-11 (1 ticket, 1 buyer, 10.00 EUR paid): it would be re-103-2027-01-11, which \
         was chosen for another departure (--match), so decide about this one too"
    );
    let mut both = matched(other);
    let id = |id: &str| id.parse().expect("a slug");
    both.matches.insert(id(other), id(other));
    both.keep.insert(id("re-999-2027-01-11"));
    let clash = replace(&app, &trains[1..], both).await;
    let clash = clash.expect_err("two departures cannot be one");
    let told: Vec<String> = clash.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "re-999-2027-01-11: nobody has held or bought a seat of a departure with this id, so there \
             is nothing to decide; leave it out",
            "re-103-2027-01-11 (1 ticket, 1 buyer, 10.00 EUR paid): re-103-2027-01-11 of the new \
             timetable is the departure re-101-2027-01-11 already",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_that_may_also_be_another_one_is_named_with_its_time() {
    let trains = [
        train("t1", "RE 101", "09:00"),
        train("t2", "RE 101", "09:30"),
    ];
    let app = railway(&trains).await;
    sold(&app, 1, "re-101-2027-01-11-t1", SEAT).await;
    let left = replace(&app, &[train("t3", "RE 101", "09:20")], none()).await;
    assert_eq!(
        left.expect_err("it may be either")[0].why,
        "only re-101-2027-01-11 (leaves Ahausen at 09:20 instead of 09:00) of the new timetable may be \
         the same, and that may also be another departure"
    );
}
