//! Cases of plans, venue locations, shows, departures, travellers' names, coverage, secrets and
//! scans.

use fairgate_base::secret::InstallationSecret;
use fairgate_model::ids::TicketId;
use fairgate_model::runs::{DistanceRate, StationCall, TrainFares, TrainRun};

use super::*;
use crate::ledger::{SCAN_KEY_MS, TicketScanOutcome};

pub(super) const CASES: &[Case] = cases![
    the_newest_plan_stored_again_keeps_its_version,
    the_location_of_a_venue_is_replaced_as_a_whole,
    shows_are_read_as_they_were_stored,
    a_departure_is_stored_once_and_does_not_change_the_catalogues_version,
    departures_opened_at_once_are_each_found_once_by_a_cursor,
    tickets_show_the_names_of_their_travellers,
    coverage_is_replaced_as_a_whole_and_keeps_its_order,
    a_secret_is_made_once,
    a_ticket_is_scanned_once,
    a_scan_repeated_with_its_key_counts_as_the_first_for_a_minute,
    of_many_scans_of_one_ticket_at_once_exactly_one_is_the_first,
];

async fn the_location_of_a_venue_is_replaced_as_a_whole(ledger: Books) {
    let put = async |location: &VenueLocation| {
        let plan = plan_of("one", [1; 32]);
        let version = ledger
            .put_venue(&venue(), plan, location.clone(), NOW_MS)
            .await;
        assert_eq!(version.expect("stored"), 1, "the plan is the same");
        let locations = ledger.venue_locations().await.expect("readable");
        let version = ledger.catalogue_version().await.expect("readable");
        (locations, version)
    };
    let berlin = VenueLocation {
        name: Some("Große Halle".to_owned()),
        city: Some("Berlin".to_owned()),
        address: Some("Am Tor 1".to_owned()),
        time_zone: Some("Europe/Berlin".to_owned()),
    };
    let zone_alone = VenueLocation {
        time_zone: berlin.time_zone.clone(),
        ..NOWHERE
    };
    let (locations, _) = put(&NOWHERE).await;
    assert_eq!(locations, []);
    let (locations, first) = put(&berlin).await;
    assert_eq!(locations, [(venue(), berlin.clone())]);
    let (_, same) = put(&berlin).await;
    assert_eq!(same, first, "the same location changes nothing");
    let (locations, second) = put(&zone_alone).await;
    assert_eq!(locations, [(venue(), zone_alone)]);
    assert!(second > first, "other nodes read the location");
    let (locations, third) = put(&NOWHERE).await;
    assert_eq!(locations, []);
    assert!(third > second);
}

async fn the_newest_plan_stored_again_keeps_its_version(ledger: Books) {
    let put = async |plan: &str, digest| {
        let version = ledger
            .put_venue(&venue(), plan_of(plan, digest), NOWHERE, NOW_MS)
            .await;
        version.expect("stored")
    };
    assert_eq!(ledger.newest_plan(&venue()).await.expect("readable"), None);
    assert_eq!(put("one", [1; 32]).await, 1);
    assert_eq!(put("one", [1; 32]).await, 1);
    assert_eq!(put("two", [2; 32]).await, 2);
    assert_eq!(
        put("one", [1; 32]).await,
        3,
        "an older plan gets a new version"
    );
    assert_eq!(
        ledger.newest_plan(&venue()).await.expect("readable"),
        Some(3)
    );
    for (version, plan) in [
        (1, Some("one")),
        (2, Some("two")),
        (3, Some("one")),
        (4, None),
    ] {
        let read = ledger.plan(&venue(), version).await.expect("readable");
        assert_eq!(read.as_deref(), plan, "version {version}");
    }
}

async fn shows_are_read_as_they_were_stored(ledger: Books) {
    assert!(ledger.shows().await.expect("readable").is_empty());
    stocked(&ledger).await;
    let shows = ledger.shows().await.expect("readable");
    let expected = stored(1);
    assert_eq!(shows.len(), 1);
    assert_eq!(
        (&shows[0].id, &shows[0].document, shows[0].plan_version),
        (&expected.id, &expected.document, 1)
    );
}

pub(super) fn departure(id: &str, stop: &str, fares: TrainFares) -> StoredShow {
    let call = |station: &str, at_m| StationCall {
        station: station.to_owned(),
        name: station.to_lowercase(),
        time_zone: (station == "C").then(|| "Asia/Urumqi".to_owned()),
        arrives: None,
        departs: Some(jiff::Timestamp::from_second(1_800_000_000).expect("a moment")),
        at_m,
        no_boarding: false,
        no_alighting: false,
    };
    let run = TrainRun {
        train: "G1".to_owned(),
        date: jiff::civil::date(2027, 2, 1),
        time_zone: Some("Asia/Shanghai".to_owned()),
        calls: vec![call("A", 0), call(stop, 30_000), call("C", 90_000)],
        fares: Arc::new(fares),
    };
    StoredShow {
        id: id.parse().expect("a slug"),
        run: Some(Arc::new(run)),
        ..stored(1)
    }
}

pub(super) fn by_distance() -> TrainFares {
    let rate = DistanceRate {
        base: 1,
        per_km: 2,
        least: 3,
    };
    TrainFares::ByDistance([("second".to_owned(), rate)].into())
}

async fn a_departure_is_stored_once_and_does_not_change_the_catalogues_version(ledger: Books) {
    stocked(&ledger).await;
    let version = ledger.catalogue_version().await.expect("readable");
    let first = departure("g1-2027-02-01", "B", by_distance());
    let opened = ledger.open_departure(first.clone(), None, NOW_MS).await;
    let (number, opened) = opened.expect("stored");
    assert_eq!(opened.run, first.run);
    let changed = departure("g1-2027-02-01", "X", by_distance());
    let again = ledger.open_departure(changed, None, NOW_MS + 1).await;
    let again = again.expect("stored");
    assert_eq!(
        (again.0, again.1.run),
        (number, first.run.clone()),
        "the first departure stays"
    );
    let table = |to: &str| (("second".to_owned(), "A".to_owned(), to.to_owned()), 500);
    let fares = TrainFares::Table([table("B"), table("Z")].into());
    let second = departure("g1-2027-02-02", "B", fares);
    let opened = ledger.open_departure(second, None, NOW_MS).await;
    let (_, opened) = opened.expect("stored");
    let own = opened.run.expect("a run");
    assert_eq!(own.fare("second", &(0..1)), Some(500));
    assert_eq!(
        *own.fares,
        TrainFares::Table([table("B")].into()),
        "only its own stretches are stored"
    );

    let known = ledger.departures(0, 10).await.expect("readable");
    let ids: Vec<_> = known.iter().map(|(_, show)| show.id.as_str()).collect();
    assert_eq!(ids, ["g1-2027-02-01", "g1-2027-02-02"]);
    assert_eq!(known[0].1.document, first.document);
    assert_eq!((known[0].1.plan_version, &known[0].1.run), (1, &first.run));
    let later = ledger.departures(known[0].0, 10).await.expect("readable");
    assert_eq!(later.len(), 1);
    assert_eq!(ledger.departures(0, 1).await.expect("readable").len(), 1);
    assert_eq!(ledger.shows().await.expect("readable").len(), 1);
    let after = ledger.catalogue_version().await.expect("readable");
    assert_eq!(after, version);

    // A departure is a show like any other, so it has incarnations.
    let id = &known[0].1.id;
    assert_eq!(ledger.next_incarnation(id, PLAN).await.expect("written"), 1);
}

async fn departures_opened_at_once_are_each_found_once_by_a_cursor(ledger: Books) {
    const DAYS: usize = 20;
    stocked(&ledger).await;
    let mut opening = tokio::task::JoinSet::new();
    for day in 0..2 * DAYS {
        let ledger = ledger.clone();
        opening.spawn(async move {
            let show = departure(&format!("g1-{}", day % DAYS), "B", by_distance());
            ledger
                .open_departure(show, None, NOW_MS)
                .await
                .expect("stored");
        });
    }
    let (mut cursor, mut seen) = (0, Vec::new());
    while seen.len() < DAYS {
        for (number, show) in ledger.departures(cursor, 3).await.expect("readable") {
            assert!(number > cursor);
            cursor = number;
            seen.push(show.id);
        }
        tokio::task::yield_now().await;
    }
    opening.join_all().await;
    assert!(
        ledger
            .departures(cursor, 3)
            .await
            .expect("readable")
            .is_empty()
    );
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), DAYS);
}

async fn tickets_show_the_names_of_their_travellers(ledger: Books) {
    stocked(&ledger).await;
    let mut order = order("a", ANA, &[2, 3]);
    order.items[1].traveller = Some("Eva Perez".to_owned());
    claim(&ledger, &order).await.expect("the cells are free");
    authorised(&ledger, &order).await;
    let effects = ledger.due_effects(NOW_MS + 2, 10).await.expect("readable");
    let captured = ledger.captured(effects[0].id, NOW_MS + 3).await;
    captured.expect("written");
    let tickets = record(&ledger, &order).await.tickets;
    let names: Vec<_> = tickets
        .iter()
        .map(|ticket| ticket.name.as_deref())
        .collect();
    assert_eq!(names, [None, Some("Eva Perez")]);
    let alone = ledger.ticket(&tickets[1].id).await.expect("readable");
    assert_eq!(
        alone.expect("the ticket exists").name.as_deref(),
        Some("Eva Perez")
    );
}

async fn coverage_is_replaced_as_a_whole_and_keeps_its_order(ledger: Books) {
    let of = |rooms: &[(&str, &[&str])]| -> Vec<(String, Vec<String>)> {
        let owned = |patterns: &[&str]| patterns.iter().map(|p| (*p).to_owned()).collect();
        rooms
            .iter()
            .map(|(room, patterns)| ((*room).to_owned(), owned(patterns)))
            .collect()
    };
    for coverage in [
        of(&[("z", &["night-2", "night-1"]), ("a", &["film-*"])]),
        of(&[("b", &["*"])]),
        of(&[]),
    ] {
        ledger
            .put_coverage(coverage.clone())
            .await
            .expect("written");
        assert_eq!(ledger.coverage().await.expect("readable"), coverage);
    }
}

async fn a_secret_is_made_once(ledger: Books) {
    let installation = InstallationSecret::derive("a test's secret");
    let secret = async |name, fresh| {
        let stored = ledger.secret(&installation, name, fresh).await;
        stored.expect("stored")
    };
    assert_eq!(secret("one", [1; 32]).await, [1; 32]);
    assert_eq!(secret("one", [9; 32]).await, [1; 32]);
    assert_eq!(secret("two", [2; 32]).await, [2; 32]);
    let other = InstallationSecret::derive("another secret");
    let unopened = ledger.secret(&other, "one", [9; 32]).await;
    assert!(matches!(
        unopened,
        Err(crate::ledger::LedgerError::Corrupt(_))
    ));
}

async fn a_ticket_is_scanned_once(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0, 1]).await;
    let ticket = TicketId::of_seat(&order.id, 0);
    let scan = async |now_ms| ledger.scan(&ticket, None, now_ms).await.expect("written");
    assert_eq!(scan(1).await, None, "there is no ticket before the capture");
    authorised(&ledger, &order).await;
    let capture = ledger.due_effects(i64::MAX, 1).await.expect("readable");
    ledger
        .captured(capture[0].id, NOW_MS)
        .await
        .expect("written");
    assert_eq!(scan(10).await, Some(TicketScanOutcome::First(10)));
    assert_eq!(scan(20).await, Some(TicketScanOutcome::Again(10)));
    let tickets = record(&ledger, &order).await.tickets;
    let scanned: Vec<Option<i64>> = tickets.iter().map(|t| t.scanned_at_ms).collect();
    assert_eq!(scanned, [Some(10), None], "the other ticket is not scanned");
}

/// Sells one seat, and returns its ticket.
async fn issued(ledger: &Books) -> TicketId {
    stocked(ledger).await;
    let order = claimed(ledger, "a", ANA, &[0]).await;
    authorised(ledger, &order).await;
    let capture = ledger.due_effects(i64::MAX, 1).await.expect("readable");
    let captured = ledger.captured(capture[0].id, NOW_MS).await;
    captured.expect("written");
    TicketId::of_seat(&order.id, 0)
}

async fn a_scan_repeated_with_its_key_counts_as_the_first_for_a_minute(ledger: Books) {
    let ticket = issued(&ledger).await;
    let scan = async |by: Option<u8>, now_ms| {
        let by = by.map(|by| [by; 32]);
        let met = ledger.scan(&ticket, by, now_ms).await;
        met.expect("written").expect("there is a ticket")
    };
    assert_eq!(scan(Some(1), 10).await, TicketScanOutcome::First(10));
    assert_eq!(
        scan(Some(1), 10 + SCAN_KEY_MS - 1).await,
        TicketScanOutcome::First(10)
    );
    assert_eq!(
        scan(Some(2), 11).await,
        TicketScanOutcome::Again(10),
        "another scanner"
    );
    assert_eq!(
        scan(None, 11).await,
        TicketScanOutcome::Again(10),
        "without a key"
    );
    assert_eq!(
        scan(Some(1), 10 + SCAN_KEY_MS).await,
        TicketScanOutcome::Again(10)
    );
}

async fn of_many_scans_of_one_ticket_at_once_exactly_one_is_the_first(ledger: Books) {
    let ticket = issued(&ledger).await;
    let mut scanning = tokio::task::JoinSet::new();
    for by in 0..20 {
        let (ledger, ticket) = (ledger.clone(), ticket.clone());
        scanning.spawn(async move { ledger.scan(&ticket, Some([by; 32]), 10).await });
    }
    let met = scanning.join_all().await;
    let first = met.into_iter().filter(|met| {
        let met = met.as_ref().expect("written");
        *met == Some(TicketScanOutcome::First(10))
    });
    assert_eq!(first.count(), 1);
}
