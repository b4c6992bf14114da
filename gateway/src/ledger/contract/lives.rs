//! Contract cases for the lives of a room's data in Redis, for the blocks of numbers that a life
//! reserves, and for the rows that are copied from Redis into the ledger.

use std::collections::BTreeMap;

use fairgate_pass::Digest;
use fairgate_servers::contract_cases;

use super::{Case, entry, holder, join, room};
use crate::ledger::{
    DrawStage, FREEZE_AFTER_MS, JoinRow, LedgerError, LedgerFreezeOutcome, LineCopyOutcome,
    LineFeedEntry, LineFreeze, RoomLedger, RoomVersion,
};

pub(super) const OPENED_ONCE: &[Case] = contract_cases![|twice| (&twice.ledger);
    a_holder_with_two_numbers_keeps_the_lower,
    a_code_that_was_used_twice_keeps_the_first_number,
    the_code_of_a_void_number_stays_used,
    new_rows_below_the_freeze_or_above_the_reserved_block_are_refused,
    only_the_current_life_freezes_and_not_within_a_minute_after_it_began,
    a_place_is_found_by_its_holder_and_a_long_line_is_read_in_parts,
];
pub(super) const OPENED_TWICE: &[Case] = contract_cases![|twice| (&twice.ledger, &twice.reopened);
    a_life_begins_once_and_above_every_number,
    only_the_current_life_reserves_and_copies,
    copying_again_changes_nothing,
    every_change_shows_in_the_versions,
];

fn given(number: u64) -> LineFeedEntry {
    LineFeedEntry::Join(join(number))
}

/// Builds a join that gives the holder of number `of` a second number.
fn again(number: u64, of: u64) -> LineFeedEntry {
    LineFeedEntry::Join(JoinRow { number, ..join(of) })
}

fn left(number: u64, void: bool) -> LineFeedEntry {
    LineFeedEntry::Leave {
        number,
        at: 20,
        void,
    }
}

/// Creates a room whose first life may give numbers below 100.
async fn room_with_life(ledger: &RoomLedger, id: &str) {
    let made = ledger.create_room(room(id), entry("room_created")).await;
    assert!(made.unwrap());
    let life = ledger.begin_life(id, 0, 0, 1000).await.unwrap();
    let reserved = ledger.reserve(id, life.incarnation, 100).await.unwrap();
    assert_eq!(reserved.map(|life| life.ceiling), Some(100));
}

async fn copy(ledger: &RoomLedger, id: &str, rows: &[LineFeedEntry]) -> LineCopyOutcome {
    let copied = ledger.copy_line(id, 1, rows.to_vec()).await.unwrap();
    copied.expect("the first life is the current one")
}

/// Reads each place as its number, whether it was left, and whether it is void.
async fn places(ledger: &RoomLedger, id: &str) -> Vec<(u64, bool, bool)> {
    let line = ledger.line(id).await.unwrap();
    let places = line.places.iter();
    places
        .map(|place| (place.join.number, place.left, place.void))
        .collect()
}

async fn a_life_begins_once_and_above_every_number(ledger: &RoomLedger, reopened: &RoomLedger) {
    room_with_life(ledger, "begin").await;
    let first = ledger.begin_life("begin", 0, 0, 2000).await.unwrap();
    assert_eq!(
        (
            first.incarnation,
            first.first,
            first.ceiling,
            first.begun_at
        ),
        (1, 0, 100, 1000),
        "the second caller gets the current life"
    );
    let (one, two) = tokio::join!(
        ledger.begin_life("begin", 1, 0, 3000),
        reopened.begin_life("begin", 1, 0, 3001)
    );
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!(one, two, "two nodes that see the same loss begin one life");
    assert_eq!((one.incarnation, one.first, one.ceiling), (2, 100, 100));
    assert_eq!(reopened.line("begin").await.unwrap().life, Some(one));
    assert!(
        matches!(
            ledger.begin_life("begin", 7, 0, 4000).await,
            Err(LedgerError::Corrupt(_))
        ),
        "the caller knows life 7, which this ledger never had, so this ledger is an older copy"
    );

    let life = ledger.begin_life("begin", 2, 700, 5000).await.unwrap();
    assert_eq!(
        life.first, 700,
        "the new life begins at the number that the caller gave as `above`"
    );

    let made = ledger.create_room(room("embedded"), entry("room_created"));
    assert!(made.await.unwrap());
    ledger.record_join("embedded", join(7)).await.unwrap();
    let freeze = LineFreeze { n: 12, at: 30 };
    let life = ledger.begin_life("embedded", 0, 0, 10).await.unwrap();
    assert_eq!(
        life.first, 8,
        "above the numbers that the in-process store recorded"
    );
    let frozen = ledger.record_freeze("embedded", freeze, None).await;
    assert_eq!(frozen.unwrap(), LedgerFreezeOutcome::Stands(freeze));
    let life = ledger.begin_life("embedded", 1, 0, 20).await.unwrap();
    assert_eq!(
        life.first, 12,
        "no number below the freeze is given after the freeze"
    );
}

async fn only_the_current_life_reserves_and_copies(ledger: &RoomLedger, reopened: &RoomLedger) {
    room_with_life(ledger, "reserve").await;
    let less = ledger.reserve("reserve", 1, 50).await.unwrap();
    assert_eq!(
        less.map(|life| life.ceiling),
        Some(100),
        "a lower request does not lower the ceiling"
    );
    ledger.begin_life("reserve", 1, 0, 2000).await.unwrap();
    assert_eq!(ledger.reserve("reserve", 1, 200).await.unwrap(), None);
    assert_eq!(
        ledger
            .copy_line("reserve", 1, vec![given(0)])
            .await
            .unwrap(),
        None
    );
    assert_eq!(ledger.reserve("nowhere", 1, 200).await.unwrap(), None);
    let lives = reopened.lives().await.unwrap();
    let (_, life) = lives.iter().find(|(room, _)| room == "reserve").unwrap();
    assert_eq!((life.incarnation, life.ceiling), (2, 100));
    assert_eq!(places(reopened, "reserve").await, []);
}

async fn copying_again_changes_nothing(ledger: &RoomLedger, reopened: &RoomLedger) {
    room_with_life(ledger, "copy").await;
    let rows = [
        given(0),
        given(1),
        given(2),
        left(1, true),
        left(2, false),
        again(3, 1),
    ];
    let expected = [
        (0, false, false),
        (1, true, true),
        (2, true, false),
        (3, false, false),
    ];
    assert_eq!(
        copy(ledger, "copy", &rows).await,
        LineCopyOutcome::default()
    );
    assert_eq!(places(reopened, "copy").await, expected);
    let left_before = LineCopyOutcome {
        voided: vec![1],
        refused: vec![],
    };
    assert_eq!(copy(reopened, "copy", &rows).await, left_before);
    // If a copier dies after some of the rows, the next copier can begin at any row.
    for from in 0..rows.len() {
        copy(ledger, "copy", &rows[from..]).await;
    }
    assert_eq!(places(reopened, "copy").await, expected);
    let leaves = reopened.leaves("copy", 4).await.unwrap();
    let expected = [holder(0).0, [0; 32], holder(2).0, holder(1).0].concat();
    assert_eq!(leaves, expected);
}

async fn a_holder_with_two_numbers_keeps_the_lower(ledger: &RoomLedger) {
    room_with_life(ledger, "twice").await;
    copy(ledger, "twice", &[given(5)]).await;
    let higher = copy(ledger, "twice", &[again(9, 5)]).await;
    assert_eq!(higher.voided, [9]);
    // The lost number is restored after its holder got another one.
    let lower = copy(ledger, "twice", &[again(2, 5)]).await;
    assert_eq!((lower.voided, lower.refused), (vec![5], vec![]));
    assert_eq!(
        places(ledger, "twice").await,
        [(2, false, false), (5, true, true), (9, true, true)]
    );
    let place = ledger.place_of("twice", holder(5)).await.unwrap();
    assert_eq!(place.map(|place| place.join.number), Some(2));
    let together = [again(31, 30), given(30), again(32, 30)];
    assert_eq!(copy(ledger, "twice", &together).await.voided, [31, 32]);
    let other = LineFeedEntry::Join(JoinRow {
        number: 2,
        ..join(77)
    });
    let refused = copy(ledger, "twice", &[other]).await;
    assert_eq!(refused.refused, [2], "another holder has the number");
}

async fn a_code_that_was_used_twice_keeps_the_first_number(ledger: &RoomLedger) {
    room_with_life(ledger, "coded").await;
    let code = Digest::of_bytes(b"one");
    let put = ledger.put_codes("coded", vec![code], entry("codes_replaced"));
    put.await.unwrap();
    let with = |number, code| {
        LineFeedEntry::Join(JoinRow {
            code: Some(code),
            ..join(number)
        })
    };
    let rows = [
        with(0, code),
        left(0, true),
        with(1, code),
        with(2, Digest::of_bytes(b"none")),
    ];
    copy(ledger, "coded", &rows).await;
    let copied = copy(ledger, "coded", &rows).await;
    assert_eq!(copied.voided, [0, 1, 2]);
    let line = ledger.line("coded").await.unwrap();
    assert_eq!(
        line.codes,
        [(code, Some(0))],
        "the code of a place that was left stays used"
    );
    assert!(line.places.iter().all(|place| place.left && place.void));
}

async fn the_code_of_a_void_number_stays_used(ledger: &RoomLedger) {
    room_with_life(ledger, "spent").await;
    let [one, other] = [&b"one"[..], b"other"].map(Digest::of_bytes);
    let put = ledger.put_codes("spent", vec![one, other], entry("codes_replaced"));
    put.await.unwrap();
    let with = |number, of, code| {
        LineFeedEntry::Join(JoinRow {
            number,
            code: Some(code),
            ..join(of)
        })
    };
    let used = async || {
        let line = ledger.line("spent").await.unwrap();
        line.codes.into_iter().collect::<BTreeMap<_, _>>()
    };
    // Holder 1 has number 3, joins again with another code, and gets number 5, which is void.
    copy(ledger, "spent", &[with(3, 1, one)]).await;
    assert_eq!(
        copy(ledger, "spent", &[with(5, 1, other)]).await.voided,
        [5]
    );
    assert_eq!(used().await, [(one, Some(3)), (other, Some(5))].into());
    // Number 2 of holder 1 is restored with the first code. It is lower than number 3, so number 3
    // becomes void, and the first code counts as used by number 2.
    let copied = copy(ledger, "spent", &[with(2, 1, one)]).await;
    assert_eq!((copied.voided, copied.refused), (vec![3], vec![]));
    assert_eq!(used().await, [(one, Some(2)), (other, Some(5))].into());
    // Number 8 of holder 9 is void, because holder 1 has used the same code. Holder 9 keeps number
    // 9.
    copy(ledger, "spent", &[given(9)]).await;
    assert_eq!(copy(ledger, "spent", &[with(8, 9, one)]).await.voided, [8]);
    let place = ledger.place_of("spent", holder(9)).await.unwrap();
    assert_eq!(place.map(|place| place.join.number), Some(9));
    // One batch has both numbers of one holder. The lower number comes last.
    room_with_life(ledger, "batch").await;
    let put = ledger.put_codes("batch", vec![one], entry("codes_replaced"));
    put.await.unwrap();
    let rows = [with(7, 7, one), with(4, 7, one)];
    assert_eq!(copy(ledger, "batch", &rows).await.voided, [7]);
    let line = ledger.line("batch").await.unwrap();
    assert_eq!(line.codes, [(one, Some(4))]);
}

async fn new_rows_below_the_freeze_or_above_the_reserved_block_are_refused(ledger: &RoomLedger) {
    room_with_life(ledger, "limits").await;
    copy(ledger, "limits", &[given(0), given(1)]).await;
    let freeze = LineFreeze { n: 4, at: 500 };
    let frozen = ledger.record_freeze("limits", freeze, Some(1)).await;
    assert_eq!(frozen.unwrap(), LedgerFreezeOutcome::Stands(freeze));
    let rows = [
        given(2),
        given(4),
        left(1, true),
        left(4, true),
        given(99),
        given(100),
    ];
    let copied = copy(ledger, "limits", &rows).await;
    assert_eq!(copied.refused, [2, 100]);
    assert_eq!(
        places(ledger, "limits").await,
        [
            (0, false, false),
            (1, true, false),
            (4, true, true),
            (99, false, false)
        ],
        "number 1 is below the freeze, so it can be left but not void"
    );
}

async fn only_the_current_life_freezes_and_not_within_a_minute_after_it_began(ledger: &RoomLedger) {
    room_with_life(ledger, "young").await;
    ledger.begin_life("young", 1, 0, 5000).await.unwrap();
    let freeze = |at| LineFreeze { n: 3, at };
    let record = |at, life| ledger.record_freeze("young", freeze(at), Some(life));
    let from = 5000 + FREEZE_AFTER_MS;
    assert_eq!(
        record(from, 1).await.unwrap(),
        LedgerFreezeOutcome::OtherLife
    );
    assert_eq!(
        record(from - 1, 2).await.unwrap(),
        LedgerFreezeOutcome::NotBefore(from)
    );
    assert_eq!(ledger.draw("young").await.unwrap().freeze, None);
    let stands = LedgerFreezeOutcome::Stands(freeze(from));
    assert_eq!(record(from, 2).await.unwrap(), stands);
    assert_eq!(
        record(from + 1, 1).await.unwrap(),
        stands,
        "a later call gets the stored freeze"
    );
}

async fn a_place_is_found_by_its_holder_and_a_long_line_is_read_in_parts(ledger: &RoomLedger) {
    room_with_life(ledger, "parts").await;
    copy(
        ledger,
        "parts",
        &[given(0), given(1), given(3), left(1, false)],
    )
    .await;
    assert_eq!(ledger.place_of("parts", holder(1)).await.unwrap(), None);
    let place = ledger.place_of("parts", holder(3)).await.unwrap().unwrap();
    assert_eq!((place.join, place.left), (join(3), false));
    let line = ledger.line("parts").await.unwrap();
    let mut parts = ledger.places("parts", 0, 2).await.unwrap();
    assert_eq!(parts.len(), 2);
    parts.extend(ledger.places("parts", 2, 2).await.unwrap());
    assert_eq!(parts, line.places);
    let bare = ledger.bare_line("parts").await.unwrap();
    assert_eq!((bare.places.len(), bare.life), (0, line.life));
}

async fn every_change_shows_in_the_versions(ledger: &RoomLedger, reopened: &RoomLedger) {
    let row = room("seen");
    let made = ledger.create_room(row.clone(), entry("room_created")).await;
    assert!(made.unwrap());
    let seen = async || {
        let versions = reopened.versions().await.unwrap();
        versions.into_iter().find(|version| version.room == "seen")
    };
    let expected = |version, stage| {
        Some(RoomVersion {
            room: "seen".into(),
            version,
            stage,
            stops: 0,
            revoked: 0,
            owes_secrets: false,
        })
    };
    assert_eq!(seen().await, expected(1, DrawStage::Open));
    assert_eq!(reopened.room("seen").await.unwrap(), Some(row.clone()));
    assert_eq!(reopened.room("nowhere").await.unwrap(), None);
    ledger
        .change_room("seen", 1, row.document, row.facts, false, None)
        .await
        .unwrap();
    assert_eq!(seen().await, expected(2, DrawStage::Open));
    let frozen = ledger.record_freeze("seen", LineFreeze { n: 0, at: 1 }, None);
    frozen.await.unwrap();
    assert_eq!(seen().await, expected(2, DrawStage::Frozen));
}
