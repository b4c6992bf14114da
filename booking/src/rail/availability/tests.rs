//! Tests availability under many requests, with a source that the test controls and a clock that
//! the test sets.

use std::sync::atomic::{AtomicUsize, Ordering};

use fairgate_model::choosing::rail::TrainSeatStates;
use fairgate_model::ids::VenueId;
use fairgate_model::payments::kind::ProviderKind;
use fairgate_model::plans::parse_grid;
use fairgate_model::plans::pinned::{EncodedGeometry, SeatingPlan};
use fairgate_model::runs::{StationCall, TrainFares, TrainRun};
use fairgate_model::timetables::DepartureOnSale;
use tokio::sync::Notify;

use super::*;
use crate::catalogue::departures::{DepartureShow, DepartureSource};
use crate::ledger::Ledger;

/// A source of free seats. The test can delay the answers for some trains, or let the source answer
/// as if the store did not answer.
#[derive(Default)]
struct ControlledSource {
    reads: AtomicUsize,
    /// Trains that do not answer before the test notifies `answer_now`.
    silent: Mutex<Vec<ShowId>>,
    answer_now: Notify,
    without_store: Mutex<bool>,
}

#[async_trait]
impl AvailabilitySource for ControlledSource {
    async fn read(&self, show: &Show) -> Result<TrainAvailability, LedgerError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        if self.silent.lock().contains(&show.id) {
            self.answer_now.notified().await;
        }
        let states = show.unsold();
        let tally = FreeSeatTally::from_train(&TrainSeatStates {
            map: &show.plan.map,
            grid: show.grid(),
            states: &states,
        });
        let held_seats_known = !*self.without_store.lock();
        Ok(TrainAvailability {
            tally,
            held_seats_known,
        })
    }
}

fn show(id: &str) -> Arc<Show> {
    let call = |station: &str| StationCall {
        station: station.to_owned(),
        name: station.to_owned(),
        time_zone: None,
        arrives: None,
        departs: None,
        at_m: 0,
        no_boarding: false,
        no_alighting: false,
    };
    let run = TrainRun {
        train: "G1".to_owned(),
        date: jiff::civil::date(2027, 2, 1),
        time_zone: None,
        calls: ["A", "B", "C"].map(call).into(),
        fares: Arc::new(TrainFares::Table(Default::default())),
    };
    let document = serde_json::json!({
        "venue": "stock", "title": "G1", "starts_at": "2027-02-01T08:00:00Z", "prices": {},
    });
    Arc::new(Show {
        fate: None,
        terms: 1,
        id: id.parse().expect("a slug"),
        document: serde_json::from_value(document).expect("a document"),
        plan: Arc::new(SeatingPlan {
            version: 1,
            map: parse_grid("2x5").expect("a grid"),
            geometry: EncodedGeometry {
                json: Default::default(),
                packed: Default::default(),
                digest: String::new(),
            },
        }),
        prices: vec![Some(1), Some(1)],
        run: Some(Arc::new(run)),
        untouched: false,
    })
}

async fn opened() -> (Availability, Arc<ControlledSource>, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let writer = fairgate_databases::SqliteDatabase::open(&folder.path().join("ledger.db"));
    let ledger = Ledger::open(fairgate_databases::Installation::File(
        writer.expect("a file"),
    ))
    .await;
    let catalogue = Catalogue::open(ledger.expect("a ledger"), ProviderKind::None).await;
    let controlled = Arc::new(ControlledSource::default());
    let source = Arc::clone(&controlled) as Arc<dyn AvailabilitySource>;
    let clock = Clock::standing_at("2027-01-10T09:00:00Z".parse().expect("a moment"));
    let availability = Availability::new(catalogue.expect("readable"), source, clock);
    (availability, controlled, folder)
}

#[tokio::test]
async fn a_thousand_searches_for_a_train_start_one_reading() {
    let (availability, controlled, _folder) = opened().await;
    let hot = show("g1");
    let ask = || availability.of_show(Arc::clone(&hot), &(0..2));
    for free in join_all((0..1_000).map(|_| ask())).await {
        assert_eq!((free.by_class["cat1"], free.degraded), (5, false));
    }
    assert_eq!(controlled.reads.load(Ordering::SeqCst), 1);
    availability.clock.advance_ms(REFRESHED_AFTER_MS + 1);
    // Every search gets the answer that is no longer fresh, and one of them starts a new reading.
    join_all((0..1_000).map(|_| ask())).await;
    let entry = availability.train_entry(&hot.id);
    drop(entry.reading_permit.acquire().await);
    assert_eq!(controlled.reads.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_train_that_cannot_be_read_keeps_its_last_answer_and_delays_no_other_train() {
    let (availability, controlled, _folder) = opened().await;
    let (silent, other) = (show("g1"), show("g2"));
    let before = availability.of_show(Arc::clone(&silent), &(0..1)).await;
    controlled.silent.lock().push(silent.id.clone());
    availability.clock.advance_ms(DEGRADED_AFTER_MS);
    let stale = availability.of_show(Arc::clone(&silent), &(0..1)).await;
    assert!(stale.degraded);
    assert_eq!(
        (stale.as_of, &stale.by_class),
        (before.as_of, &before.by_class)
    );
    let fresh = availability.of_show(other, &(0..1)).await;
    assert!(!fresh.degraded);

    controlled.silent.lock().clear();
    controlled.answer_now.notify_one();
    let entry = availability.train_entry(&silent.id);
    drop(entry.reading_permit.acquire().await);
    let again = availability.of_show(silent, &(0..1)).await;
    assert!(!again.degraded && again.as_of > before.as_of);
}

#[tokio::test]
async fn an_answer_read_without_the_store_is_degraded() {
    let (availability, controlled, _folder) = opened().await;
    *controlled.without_store.lock() = true;
    assert!(availability.of_show(show("g1"), &(0..1)).await.degraded);
}

#[tokio::test]
async fn a_train_that_was_never_read_has_no_free_seats_and_is_degraded() {
    let (availability, controlled, _folder) = opened().await;
    let silent = show("g1");
    controlled.silent.lock().push(silent.id.clone());
    let free = availability.of_show(silent, &(0..1)).await;
    assert!(free.degraded && free.by_class.is_empty());
}

/// A timetable without departures that counts how often it is asked for one.
#[derive(Default)]
struct Making(AtomicUsize);

impl DepartureSource for Making {
    fn departure(&self, _: &ShowId) -> Option<DepartureShow> {
        self.0.fetch_add(1, Ordering::SeqCst);
        None
    }

    fn on_sale(&self, _: &[String], _: i64, _: &mut dyn FnMut(DepartureOnSale)) {}

    fn stocks(&self) -> Vec<(VenueId, u32)> {
        Vec::new()
    }

    fn version(&self) -> u64 {
        1
    }
}

#[tokio::test]
async fn a_search_over_trains_that_nobody_has_held_makes_no_show_and_reads_nothing() {
    let (availability, controlled, _folder) = opened().await;
    let making = Arc::new(Making::default());
    let timetable = Arc::clone(&making) as Arc<dyn DepartureSource>;
    let sold = availability.catalogue.sell_departures(timetable).await;
    sold.expect("it has no plans");
    let asked: Vec<_> = (0..100)
        .map(|n| (show(&format!("g{n}")).id.clone(), 0..2))
        .collect();
    assert_eq!(availability.free(&asked).await, vec![None; 100]);
    let made = making.0.load(Ordering::SeqCst);
    assert_eq!((made, controlled.reads.load(Ordering::SeqCst)), (0, 0));
}
