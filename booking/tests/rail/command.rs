//! Tests the import of a timetable into a ledger: the whole feed is stored, or nothing.

use booking::choices::ImportDecisions;
use booking::commands::import_timetable::{
    RailFeedKind, TimetableImport, TimetableImportError, import_timetable,
};
use booking::ledger::Ledger;
use fairgate_base::process::data;
use fairgate_databases::{Installation, SqliteDatabase};
use fairgate_model::payments::kind::ProviderKind;

use super::faults::GTFS;
use super::*;

fn wanted(feed: &Path, data: &Path) -> TimetableImport {
    TimetableImport {
        source: RailFeedKind::Timetable {
            timezone: "Asia/Shanghai".to_owned(),
        },
        folder: feed.to_owned(),
        rail: None,
        data: data.to_owned(),
        database: None,
        payments: ProviderKind::None,
        decisions: ImportDecisions::default(),
    }
}

async fn ledger(data: &Path) -> Ledger {
    let writer = SqliteDatabase::open(&data.join("ledger.db")).expect("a file");
    Ledger::open(Installation::File(writer))
        .await
        .expect("migrated")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_is_imported_whole_and_a_second_import_makes_no_new_version() {
    let (feed, data) = (folder(&SMALL), folder(&[]));
    for _ in 0..2 {
        let done = import_timetable(wanted(feed.path(), data.path()), 1).await;
        let done = done.expect("imported");
        assert_eq!((done.version, done.stations, done.trips), (1, 4, 5));
        assert_eq!((done.calls, done.trips_with_gaps), (12, 1));
    }
    let kept = ledger(data.path()).await.timetable(1).await;
    let kept = kept.expect("readable").expect("version 1");
    assert_eq!(kept.plans, [("rail-standard".parse().expect("a slug"), 1)]);
    assert_eq!(Timetable::read(&kept.text).expect("sound").trips.len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_feed_leaves_the_ledger_as_it_was() {
    let (feed, data) = (folder(&SMALL), folder(&[]));
    import_timetable(wanted(feed.path(), data.path()), 1)
        .await
        .expect("imported");
    write(feed.path(), "stations.csv", "telecode,name,lon,lat\n");
    let told = import_timetable(wanted(feed.path(), data.path()), 2).await;
    let told = told
        .expect_err("every call names a missing station")
        .to_string();
    assert!(
        told.contains("stop_times.csv:2: there is no station")
            && told.contains("nothing was imported: 12 faults"),
        "{told}"
    );
    let newest = ledger(data.path()).await.newest_timetable().await;
    assert_eq!(newest.expect("readable"), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_into_a_folder_that_a_process_serves_is_refused() {
    let (feed, data) = (folder(&SMALL), folder(&[]));
    let _served = data::lock_data_folder(data.path()).expect("it is free");
    let refused = import_timetable(wanted(feed.path(), data.path()), 1).await;
    let refused = refused.expect_err("the folder is being served");
    assert!(matches!(refused, TimetableImportError::Served(_)));
    assert!(
        refused
            .to_string()
            .contains("Stop it, import, and start it again"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rail_file_sets_terms_classes_stock_and_fares() {
    let (feed, data) = (folder(&SMALL), folder(&[]));
    let rail = r#"
        fare = [{ class = "two", from = "AAA", to = "CCC", amount = 975 }]
        [terms]
        window_days = 7
        [[class]]
        key = "two"
        [[stock]]
        id = "short"
        kinds = ["K", "fast"]
        carriages = [{ class = "two", rows = 2, seats = "AB CD" }]
        [[stock]]
        id = "long"
        carriages = [{ class = "two", rows = 20, seats = "AB CD", count = 3 }]
    "#;
    write(feed.path(), "rail.toml", rail);
    let mut with = wanted(feed.path(), data.path());
    with.rail = Some(feed.path().join("rail.toml"));
    import_timetable(with.clone(), 1).await.expect("imported");
    let kept = ledger(data.path()).await.timetable(1).await;
    let kept = kept.expect("readable").expect("version 1");
    let timetable = Timetable::read(&kept.text).expect("sound");
    assert_eq!(timetable.terms.window_days, 7);
    for trip in &timetable.trips {
        let stock = &timetable.stocks[usize::from(trip.stock)].id;
        assert_eq!(
            stock, "short",
            "{}: chosen by its kind or its letters",
            trip.train
        );
    }
    assert_eq!(timetable.fare(&timetable.trips[0], 0, 0, 2), Some(975));
    assert_eq!(
        timetable.fare(&timetable.trips[0], 0, 0, 1),
        None,
        "the table has no fare for this stretch"
    );
    write(feed.path(), "rail.toml", "[terms]\nwindow = 7\n");
    let told = import_timetable(with, 2)
        .await
        .expect_err("an unknown field")
        .to_string();
    assert!(
        told.contains("window") && told.contains("nothing was imported"),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn fares_that_the_payment_provider_never_takes_are_refused_by_table_and_by_distance() {
    let (feed, data) = (folder(&SMALL), folder(&[]));
    let table = r#"
        fare = [{ class = "two", from = "AAA", to = "CCC", amount = 100_000_000 }, { class = "two", from = "AAA", to = "BBB", amount = 900 }]
        [terms]
        currency = "EUR"
        [[class]]
        key = "two"
        [[stock]]
        id = "short"
        carriages = [{ class = "two", rows = 2, seats = "AB CD" }]
    "#;
    let distance = r#"
        [terms]
        currency = "EUR"
        [[class]]
        key = "two"
        base = 100_000_000
        per_km = 10
        [[stock]]
        id = "short"
        carriages = [{ class = "two", rows = 2, seats = "AB CD" }]
    "#;
    for (rail, said) in [(table, "1 of its fares"), (distance, "from")] {
        write(feed.path(), "rail.toml", rail);
        let mut with = wanted(feed.path(), data.path());
        with.rail = Some(feed.path().join("rail.toml"));
        with.payments = ProviderKind::Stripe;
        let told = import_timetable(with.clone(), 1)
            .await
            .expect_err("the fares are too high for the provider");
        let told = told.to_string();
        assert!(
            told.contains(r#"class "two":"#)
                && told.contains(said)
                && told.contains("payment provider takes at once")
                && told.contains("nothing was imported"),
            "{told}"
        );
        with.payments = ProviderKind::Sandbox;
        import_timetable(with, 1)
            .await
            .expect("the sandbox takes everything");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_fee_that_the_provider_never_takes_refuses_the_import() {
    let (feed, data) = (folder(&SMALL), folder(&[]));
    let rail = r#"
        [terms]
        currency = "KWD"
        exchange = { fee = 305 }
        [[class]]
        key = "two"
        base = 5_000
        [[stock]]
        id = "short"
        carriages = [{ class = "two", rows = 2, seats = "AB CD" }]
    "#;
    write(feed.path(), "rail.toml", rail);
    let mut with = wanted(feed.path(), data.path());
    with.rail = Some(feed.path().join("rail.toml"));
    with.payments = ProviderKind::Stripe;
    let told = import_timetable(with.clone(), 1)
        .await
        .expect_err("the fee is finer than the provider's step")
        .to_string();
    assert!(
        told.contains("terms.exchange.fee: 0.305 KWD is no multiple of 0.010 KWD")
            && told.contains("nothing was imported: 1 fault in"),
        "{told}"
    );
    with.payments = ProviderKind::Sandbox;
    import_timetable(with, 1)
        .await
        .expect("the sandbox takes everything");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_feed_is_imported_with_a_note_that_names_its_last_day() {
    let (feed, data) = (folder(&GTFS), folder(&[]));
    let mut with = wanted(feed.path(), data.path());
    with.source = RailFeedKind::Gtfs;
    let now: jiff::Timestamp = "2028-06-01T12:00:00Z".parse().expect("a moment");
    let done = import_timetable(with, now.as_millisecond()).await;
    let done = done.expect("imported");
    assert_eq!((done.version, done.trips), (1, 5));
    assert_eq!(
        done.notes,
        [
            BUILT_IN,
            "the last day of service, 2027-12-31, is past: later days have no trains"
        ]
    );
}

#[test]
fn each_fault_of_a_feed_has_a_line_of_its_own() {
    let (feed, data) = (folder(&SMALL), folder(&[]));
    write(feed.path(), "stations.csv", "telecode,name,lon,lat\n");
    let refused = std::process::Command::new(env!("CARGO_BIN_EXE_booking"))
        .args(["import", "timetable", "--payments", "none", "--data"])
        .args([data.path(), feed.path()])
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&refused.stderr);
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[0].starts_with("stop_times.csv:2: "), "{told}");
    let last = lines.last().expect("lines");
    assert!(
        last.starts_with("booking import: nothing was imported: 12 faults in "),
        "{told}"
    );
}

#[test]
fn a_reader_that_closes_the_pipe_early_is_no_error() {
    let (feed, data) = (folder(&SMALL), folder(&[]));
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let imported = std::process::Command::new(env!("CARGO_BIN_EXE_booking"))
        .args([
            "import",
            "timetable",
            "--json",
            "--payments",
            "none",
            "--data",
        ])
        .args([data.path(), feed.path()])
        .stdout(writer)
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&imported.stderr);
    assert!(imported.status.success(), "{told}");
    assert!(!told.contains("panicked"), "{told}");
}
