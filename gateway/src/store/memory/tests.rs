//! Runs the store contract on the store in memory, and tests its line alone.

use std::sync::atomic::{AtomicUsize, Ordering};

use fairgate_base::secret::InstallationSecret;
use fairgate_databases::{Installation, SqliteDatabase};
use fairgate_rules::phase::RoomFacts;
use fairgate_rules::room_document::RoomDocument;

use super::*;
use crate::ledger::RoomLedger;
use crate::ledger::{DrawSecret, RoomLife, RoomRow, StoredLine};
use crate::store::contract::{Pair, suite};
use crate::store::{NetworkToll, ShownCode};

#[tokio::test]
async fn the_store_in_memory_keeps_the_contract_even_over_restarts() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let generation = AtomicUsize::new(0);
    suite(|again| {
        let at = generation.fetch_add(usize::from(!again), Ordering::SeqCst) + usize::from(!again);
        let path = folder.path().join(format!("{at}.db"));
        async move {
            let writer = SqliteDatabase::open(&path).expect("the file opens");
            let ledger = RoomLedger::open(
                Installation::File(writer),
                InstallationSecret::derive("a test's secret"),
            )
            .await;
            let ledger = ledger.expect("migrates");
            let row = RoomRow {
                room: "r".into(),
                document: RoomDocument::everyday(),
                facts: RoomFacts::default(),
                version: 1,
                secret: DrawSecret([1; 32]),
                created_at: 0,
            };
            let entry = RoomAuditEntry {
                at: 0,
                role: "promoter",
                action: "room_created",
                detail: serde_json::Value::Null,
            };
            ledger
                .create_room(row, entry)
                .await
                .expect("the room is created or exists");
            let store = MemoryRoomStore::new(ledger.clone());
            store.open("r").await.expect("it reads");
            Pair {
                store: Arc::new(store),
                ledger,
                outlives: false,
            }
        }
    })
    .await;
}

#[tokio::test]
async fn numbers_that_redis_may_have_given_are_not_given_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let writer = SqliteDatabase::open(&folder.path().join("ledger.db")).expect("the file opens");
    let ledger = RoomLedger::open(
        Installation::File(writer),
        InstallationSecret::derive("a test's secret"),
    )
    .await;
    let ledger = ledger.expect("migrates");
    let life = ledger
        .begin_life("r", 0, 0, 1_000)
        .await
        .expect("it begins");
    let reserved = ledger.reserve("r", life.incarnation, 100).await;
    assert!(reserved.expect("it is reserved").is_some());
    let store = MemoryRoomStore::new(ledger.clone());
    store.open("r").await.expect("it opens");
    let entrant = StoreJoinRequest {
        holder: Holder([1; 32]),
        code: None,
        needs_code: false,
        toll: NetworkToll::NONE,
        now: 2_000,
    };
    let place = store.join("r", entrant).await.expect("a place");
    assert_eq!(place.number, 100);
    let reserved = ledger.reserve("r", life.incarnation, 200).await;
    assert_eq!(reserved.expect("it answers"), None, "the life has ended");
}

fn number(assigned: &JoinAssignment) -> Option<u64> {
    match assigned {
        JoinAssignment::New(place) | JoinAssignment::Known(place) => Some(place.number),
        JoinAssignment::CodeInvalid { .. }
        | JoinAssignment::CodesPaused(_)
        | JoinAssignment::CodeUsed
        | JoinAssignment::Toll(_) => None,
    }
}

#[test]
fn after_a_loss_the_figures_count_people_and_not_the_numbers_that_were_skipped() {
    let life = RoomLife {
        incarnation: 2,
        first: 100,
        ceiling: 100,
        begun_at: 0,
    };
    let mut line = RoomLine::restore(&StoredLine {
        life: Some(life),
        ..StoredLine::default()
    });
    let entrant = StoreJoinRequest {
        holder: Holder([1; 32]),
        code: None,
        needs_code: false,
        toll: NetworkToll::NONE,
        now: 0,
    };
    assert_eq!(number(&line.assign(&entrant)), Some(100));
    let counts = line.counts(0);
    assert_eq!((counts.next, counts.joined, counts.left), (101, 1, 0));
}

#[test]
fn a_number_whose_write_failed_is_void_and_its_holder_may_join_again_with_the_code() {
    let code = Digest::of_bytes(b"code");
    let mut line = RoomLine::default();
    line.put_codes(&[code]);
    let entrant = StoreJoinRequest {
        holder: Holder([1; 32]),
        code: Some(ShownCode {
            digest: code,
            is_counted: true,
            kept: 0,
        }),
        needs_code: true,
        toll: NetworkToll::NONE,
        now: 0,
    };
    assert_eq!(number(&line.assign(&entrant)), Some(0));
    line.void_number(0, NetworkKeys::NONE);
    assert_eq!(
        line.place_status(0, entrant.holder),
        PresentedPlaceStatus::Left
    );
    let again = line.assign(&entrant);
    assert!(matches!(again, JoinAssignment::New(_)));
    assert_eq!(number(&again), Some(1), "no number is given twice");
    // The failure of the first write is reported after the second join, and must not change the
    // second place.
    line.void_number(0, NetworkKeys::NONE);
    assert!(
        line.place_of(entrant.holder)
            .is_some_and(|place| place.number == 1)
    );
}

#[test]
fn the_numbers_between_the_last_written_number_and_the_freeze_are_void() {
    let line = RoomLine::restore(&StoredLine {
        frozen: Some(3),
        ..StoredLine::default()
    });
    assert_eq!(line.absent_numbers().iter().collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(line.next_number(), 3);
}
