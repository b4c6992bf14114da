//! The contract cases that every ledger must pass. Each case opens the same data twice, so that it
//! also reads what a restart would read.

mod lives;
mod stops;

use fairgate_pass::{Digest, Holder};
use fairgate_rules::phase::RoomFacts;
use fairgate_rules::room_document::{JoinCodePolicy, LineMethod, RoomDocument};
use fairgate_servers::{ContractCase, contract_cases, run_contract};
use futures_util::future::join_all;
use serde_json::json;

use super::{
    AppliedRoom, AppliedRoomChange, DrawSecret, JoinRow, LedgerClaimOutcome, LedgerFreezeOutcome,
    LedgerJoinOutcome, LineFreeze, NetworkKeys, PassRow, PublishedDraw, PublishedFreeze,
    ReleaseRow, RoomAuditEntry, RoomChangeOutcome, RoomLedger, RoomRow, RoomSample, RoomsRefused,
};

fn entry(action: &'static str) -> RoomAuditEntry {
    RoomAuditEntry {
        at: 1000,
        role: "promoter",
        action,
        detail: json!({"why": action}),
    }
}

fn room(id: &str) -> RoomRow {
    let document = RoomDocument {
        codes: JoinCodePolicy::Required,
        method: LineMethod::Draw,
        per_s: 0.3,
        ..RoomDocument::everyday()
    };
    RoomRow {
        room: id.into(),
        document,
        facts: RoomFacts::default(),
        version: 1,
        secret: DrawSecret([7; 32]),
        created_at: 5,
    }
}

fn join(number: u64) -> JoinRow {
    JoinRow {
        number,
        holder: holder(number),
        code: None,
        at: 10,
        networks: NetworkKeys::NONE,
    }
}

/// Creates a room, which is over from `closes_at` (ms) on.
pub(super) async fn make_room(ledger: &RoomLedger, id: &str, closes_at: Option<i64>) {
    let mut row = room(id);
    row.document.closes_at = closes_at;
    let made = ledger.create_room(row, entry("room_created")).await;
    assert!(made.expect("it is written"));
}

/// Freezes the line of a room at two numbers, and publishes its root.
pub(super) async fn publish_freeze(ledger: &RoomLedger, room: &str) {
    let freeze = LineFreeze { n: 2, at: 30 };
    let frozen = ledger.record_freeze(room, freeze, None).await;
    frozen.expect("it is written");
    let sealed = PublishedFreeze {
        voids: 0,
        root: Digest([3; 32]),
        signature: "a.b.c".into(),
    };
    let sealed = ledger.seal(room, sealed, entry("frozen")).await;
    sealed.expect("it is written");
}

fn holder(number: u64) -> Holder {
    Holder(Digest::of_bytes(&number.to_be_bytes()).0)
}

/// Two handles on the same data. They stand for two nodes, or for one node before and after a
/// restart.
struct LedgerTwice {
    ledger: RoomLedger,
    reopened: RoomLedger,
}

type Case = ContractCase<'static, LedgerTwice>;

const OPENED_ONCE: &[Case] = contract_cases![|twice| (&twice.ledger);
    a_code_gives_one_place,
    the_counter_moves_only_from_its_stored_value_and_never_back,
    a_claim_returns_the_living_pass_and_replaces_an_expired_one,
    a_refused_join_does_not_affect_the_joins_queued_with_it,
];
const OPENED_TWICE: &[Case] = contract_cases![|twice| (&twice.ledger, &twice.reopened);
    rooms_change_by_compare_and_set,
    the_rooms_of_a_file_are_written_all_or_none,
    a_line_reads_back_as_it_was_written,
    a_draw_is_written_once_and_in_order,
    finished_visitors_and_their_cursor_stay,
    audit_and_samples_stay_in_order,
    audit_entries_of_two_nodes_at_once_form_one_chain,
    two_nodes_see_one_id_one_clock_and_one_owner_of_each_lease,
];

/// Runs every case. `open` opens the ledgers of each case.
pub async fn suite(open: impl AsyncFn() -> RoomLedger) {
    let cases = [
        OPENED_ONCE,
        OPENED_TWICE,
        lives::OPENED_ONCE,
        lives::OPENED_TWICE,
        stops::OPENED_TWICE,
    ];
    run_contract(&cases.concat(), async || LedgerTwice {
        ledger: open().await,
        reopened: open().await,
    })
    .await;
}

async fn the_rooms_of_a_file_are_written_all_or_none(ledger: &RoomLedger, reopened: &RoomLedger) {
    let file = |row: RoomRow, change| AppliedRoom {
        row,
        change,
        applied: json!({"per_s": 1}).to_string(),
    };
    let create = || AppliedRoomChange::Create(entry("room_created"));
    let (one, two) = (room("file-1"), room("file-2"));
    let both = vec![file(one.clone(), create()), file(two, create())];
    ledger.apply_rooms(both).await.expect("written");
    assert!(reopened.room("file-2").await.expect("readable").is_some());
    let mut applied = reopened.applied_rooms().await.expect("readable");
    applied.retain(|(room, _)| room.starts_with("file-"));
    assert_eq!(applied.len(), 2);
    // The second room has another version by now, so the first one stays as it is, too.
    let replace = || AppliedRoomChange::Replace {
        entry: entry("room_replaced"),
        before_joins: false,
    };
    let later = |row: RoomRow, version: u64| RoomRow {
        document: RoomDocument {
            title: "Later".into(),
            ..row.document.clone()
        },
        version,
        ..row
    };
    let stale = vec![
        file(later(one.clone(), 2), replace()),
        file(later(room("file-2"), 9), replace()),
    ];
    let refused = ledger.apply_rooms(stale).await;
    assert!(matches!(refused, Err(RoomsRefused::ChangedMeanwhile)));
    let stored = reopened.room("file-1").await.expect("readable");
    assert_eq!(
        stored.expect("it exists").document.title,
        one.document.title
    );
    let good = vec![file(later(one, 2), replace())];
    ledger.apply_rooms(good).await.expect("written");
    let stored = reopened.room("file-1").await.expect("readable");
    let stored = stored.expect("it exists");
    assert_eq!((stored.version, &*stored.document.title), (2, "Later"));
}

async fn rooms_change_by_compare_and_set(ledger: &RoomLedger, reopened: &RoomLedger) {
    let row = room("cas");
    assert!(
        ledger
            .create_room(row.clone(), entry("room_created"))
            .await
            .unwrap()
    );
    assert!(
        !ledger
            .create_room(room("cas"), entry("room_created"))
            .await
            .unwrap(),
        "the room exists already"
    );
    let document = RoomDocument {
        title: "New".into(),
        ..row.document.clone()
    };
    let facts = RoomFacts {
        paused: true,
        ..RoomFacts::default()
    };
    let changed = ledger
        .change_room(
            "cas",
            1,
            document.clone(),
            facts.clone(),
            true,
            Some(entry("room_replaced")),
        )
        .await;
    assert_eq!(changed.unwrap(), RoomChangeOutcome::To(2));
    let stale = ledger
        .change_room(
            "cas",
            1,
            row.document.clone(),
            RoomFacts::default(),
            false,
            Some(entry("stale")),
        )
        .await;
    assert_eq!(stale.unwrap(), RoomChangeOutcome::Conflict);
    ledger.record_join("cas", join(0)).await.unwrap();
    let late = ledger
        .change_room(
            "cas",
            2,
            row.document.clone(),
            RoomFacts::default(),
            true,
            Some(entry("late")),
        )
        .await;
    assert_eq!(late.unwrap(), RoomChangeOutcome::Joined);
    let rows = reopened.rooms().await.unwrap();
    let read = rows.iter().find(|row| row.room == "cas").unwrap();
    assert_eq!(
        read,
        &RoomRow {
            document,
            facts,
            version: 2,
            ..row
        }
    );
    let actions: Vec<_> = reopened
        .audit("cas")
        .await
        .unwrap()
        .into_iter()
        .map(|row| row.action)
        .collect();
    assert_eq!(
        actions,
        ["room_created", "room_replaced"],
        "refused changes add no audit row"
    );
}

async fn a_line_reads_back_as_it_was_written(ledger: &RoomLedger, reopened: &RoomLedger) {
    ledger
        .create_room(room("line"), entry("room_created"))
        .await
        .unwrap();
    let writes = [0, 1, 2, 4].map(|number| ledger.record_join("line", join(number)));
    let leaves = [
        ledger.record_leave("line", 1, 20, true),
        ledger.record_leave("line", 4, 20, false),
    ];
    // Waiting for the barrier also waits for every write that was queued before it.
    ledger.barrier().await.unwrap();
    ledger.check().await.unwrap();
    for write in writes {
        assert_eq!(write.await.unwrap(), LedgerJoinOutcome::Done);
    }
    for leave in leaves {
        leave.await.unwrap();
    }
    let again = JoinRow {
        number: 5,
        ..join(1)
    };
    assert_eq!(
        ledger.record_join("line", again).await.unwrap(),
        LedgerJoinOutcome::Done,
        "a holder who left may join again"
    );
    assert!(
        ledger
            .record_join(
                "line",
                JoinRow {
                    number: 6,
                    ..join(2)
                }
            )
            .await
            .is_err(),
        "a holder cannot have two places"
    );

    let line = reopened.line("line").await.unwrap();
    let read: Vec<_> = line
        .places
        .iter()
        .map(|place| (place.join.number, place.left, place.void))
        .collect();
    assert_eq!(
        read,
        [
            (0, false, false),
            (1, true, true),
            (2, false, false),
            (4, true, false),
            (5, false, false)
        ]
    );
    let leaves = reopened.leaves("line", 5).await.unwrap();
    let expected = [holder(0).0, [0; 32], holder(2).0, [0; 32], holder(4).0].concat();
    assert_eq!(
        leaves, expected,
        "void and missing numbers are zeros; a place left without `void` keeps its leaf"
    );
}

async fn a_code_gives_one_place(ledger: &RoomLedger) {
    ledger
        .create_room(room("codes"), entry("room_created"))
        .await
        .unwrap();
    let codes = [Digest::of_bytes(b"one"), Digest::of_bytes(b"two")];
    assert_eq!(
        ledger
            .put_codes("codes", codes.to_vec(), entry("codes_replaced"))
            .await
            .unwrap(),
        RoomChangeOutcome::To(1)
    );
    let with = |number, code| JoinRow {
        code: Some(code),
        ..join(number)
    };
    assert_eq!(
        ledger
            .record_join("codes", with(0, codes[0]))
            .await
            .unwrap(),
        LedgerJoinOutcome::Done
    );
    assert_eq!(
        ledger
            .record_join("codes", with(1, codes[0]))
            .await
            .unwrap(),
        LedgerJoinOutcome::CodeRefused
    );
    assert_eq!(
        ledger
            .record_join("codes", with(2, Digest::of_bytes(b"no")))
            .await
            .unwrap(),
        LedgerJoinOutcome::CodeRefused
    );
    let mut line = ledger.line("codes").await.unwrap();
    line.codes.sort_unstable();
    let mut expected = vec![(codes[0], Some(0)), (codes[1], None)];
    expected.sort_unstable();
    assert_eq!(
        (line.codes, line.places.len()),
        (expected, 1),
        "a refused join writes nothing"
    );
    assert_eq!(
        ledger
            .put_codes("codes", vec![], entry("late"))
            .await
            .unwrap(),
        RoomChangeOutcome::Joined
    );
}

async fn a_draw_is_written_once_and_in_order(ledger: &RoomLedger, reopened: &RoomLedger) {
    ledger
        .create_room(room("draw"), entry("room_created"))
        .await
        .unwrap();
    let sealed = PublishedFreeze {
        voids: 1,
        root: Digest([3; 32]),
        signature: "a.b.c".into(),
    };
    let drawn = PublishedDraw {
        seed: Digest([4; 32]),
        at: 40,
    };
    assert!(
        ledger
            .seal("draw", sealed.clone(), entry("frozen"))
            .await
            .is_err(),
        "no root without a freeze"
    );
    let freeze = LineFreeze { n: 9, at: 30 };
    let stands = LedgerFreezeOutcome::Stands(freeze);
    let frozen = ledger.record_freeze("draw", freeze, None).await;
    assert_eq!(frozen.unwrap(), stands);
    assert_eq!(
        ledger
            .record_freeze("draw", LineFreeze { n: 11, at: 31 }, None)
            .await
            .unwrap(),
        stands,
        "the first freeze is not replaced"
    );
    assert!(
        ledger
            .record_draw("draw", drawn.clone(), entry("drawn"))
            .await
            .is_err(),
        "no draw without a root"
    );
    assert_eq!(
        ledger
            .seal("draw", sealed.clone(), entry("frozen"))
            .await
            .unwrap(),
        sealed
    );
    let other = PublishedFreeze {
        voids: 2,
        ..sealed.clone()
    };
    assert_eq!(
        ledger.seal("draw", other, entry("frozen")).await.unwrap(),
        sealed,
        "the first root is not replaced"
    );
    assert_eq!(
        ledger
            .record_draw("draw", drawn.clone(), entry("drawn"))
            .await
            .unwrap(),
        drawn
    );
    let row = reopened.draw("draw").await.unwrap();
    assert_eq!(
        (row.freeze, row.sealed, row.drawn),
        (Some(freeze), Some(sealed), Some(drawn))
    );
    assert_eq!(reopened.line("draw").await.unwrap().frozen, Some(9));
}

async fn the_counter_moves_only_from_its_stored_value_and_never_back(ledger: &RoomLedger) {
    let start = ledger.read_release_counter("counter").await.unwrap();
    assert_eq!(start, ReleaseRow::default());
    let five = ReleaseRow {
        released: 5,
        remainder_u: 300_000,
        ticked_at: 1000,
        memory: r#"{"learned":1}"#.into(),
    };
    let with = |released| ReleaseRow {
        released,
        ..five.clone()
    };
    assert!(
        ledger
            .advance_release_counter("counter", &start, &five)
            .await
            .unwrap()
    );
    assert!(
        !ledger
            .advance_release_counter("counter", &start, &with(9))
            .await
            .unwrap(),
        "the counter no longer equals `start`"
    );
    assert!(
        !ledger
            .advance_release_counter("counter", &five, &with(4))
            .await
            .unwrap(),
        "never backwards"
    );
    let forgotten = ReleaseRow {
        memory: String::new(),
        ..five.clone()
    };
    assert!(
        !ledger
            .advance_release_counter("counter", &forgotten, &with(9))
            .await
            .unwrap(),
        "the memory differs"
    );
    assert_eq!(ledger.read_release_counter("counter").await.unwrap(), five);
    let (one, two) = (with(6), with(7));
    let both = tokio::join!(
        ledger.advance_release_counter("counter", &five, &one),
        ledger.advance_release_counter("counter", &five, &two)
    );
    assert!(
        both.0.unwrap() ^ both.1.unwrap(),
        "of two moves at once, exactly one succeeds"
    );
}

async fn a_claim_returns_the_living_pass_and_replaces_an_expired_one(ledger: &RoomLedger) {
    let pass = |iat: i64, jti: &str| PassRow {
        number: 3,
        rank: 1,
        holder: holder(3),
        iat,
        exp: iat + 10,
        jti: jti.into(),
    };
    let claimed = async |iat: i64, jti: &str| match ledger.claim("pass", pass(iat, jti), iat).await
    {
        Ok(LedgerClaimOutcome::Claimed(row)) => row,
        other => panic!("no pass: {other:?}"),
    };
    let last = async || ledger.last_pass("pass", 3).await.unwrap();
    assert_eq!(last().await, None);
    assert_eq!(claimed(100, "a").await, pass(100, "a"));
    assert_eq!(claimed(105, "b").await, pass(100, "a"));
    assert_eq!(last().await, Some(pass(100, "a")));
    assert_eq!(claimed(110, "c").await, pass(110, "c"));
    assert_eq!(last().await, Some(pass(110, "c")));
    assert_eq!(ledger.last_pass("pass", 4).await.unwrap(), None);
    assert_eq!(ledger.last_pass("other", 3).await.unwrap(), None);
    assert_eq!(ledger.line("pass").await.unwrap().passes, [(3, 120)]);
}

async fn finished_visitors_and_their_cursor_stay(ledger: &RoomLedger, reopened: &RoomLedger) {
    ledger
        .create_room(room("done"), entry("room_created"))
        .await
        .unwrap();
    ledger.record_join("done", join(0)).await.unwrap();
    ledger.record_join("done", join(1)).await.unwrap();
    ledger
        .finish("done", 8, &[holder(1), holder(77)], 50)
        .await
        .unwrap();
    ledger.finish("done", 6, &[], 51).await.unwrap();
    let line = reopened.line("done").await.unwrap();
    assert_eq!(
        line.places
            .iter()
            .map(|place| place.done)
            .collect::<Vec<_>>(),
        [false, true]
    );
    assert_eq!(line.finished, 8, "the cursor never goes back");
}

async fn audit_and_samples_stay_in_order(ledger: &RoomLedger, reopened: &RoomLedger) {
    for action in ["first", "second", "third"] {
        ledger.note("notes", entry(action)).await.unwrap();
    }
    let audit = reopened.audit("notes").await.unwrap();
    assert_eq!(
        audit.iter().map(|row| row.seq).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    assert!(audit.iter().all(|row| row.hash == row.expected_hash()));
    assert!(audit.windows(2).all(|pair| pair[1].prev == pair[0].hash));
    for at_ms in [10, 20] {
        ledger
            .sample(
                "notes",
                RoomSample {
                    at_ms,
                    joined: 1,
                    ..RoomSample::default()
                },
            )
            .await
            .unwrap();
    }
    assert_eq!(reopened.samples("notes").await.unwrap().len(), 2);
}

async fn audit_entries_of_two_nodes_at_once_form_one_chain(
    ledger: &RoomLedger,
    reopened: &RoomLedger,
) {
    let both = (0..20).flat_map(|_| {
        [
            ledger.note("chain", entry("here")),
            reopened.note("chain", entry("there")),
        ]
    });
    for noted in join_all(both).await {
        noted.unwrap();
    }
    let audit = ledger.audit("chain").await.unwrap();
    let seqs: Vec<_> = audit.iter().map(|row| row.seq).collect();
    assert_eq!(seqs, (1..=40).collect::<Vec<_>>());
    assert!(audit.windows(2).all(|pair| pair[1].prev == pair[0].hash));
}

async fn a_refused_join_does_not_affect_the_joins_queued_with_it(ledger: &RoomLedger) {
    let made = ledger.create_room(room("queue"), entry("room_created"));
    assert!(made.await.unwrap());
    let code = Digest::of_bytes(b"one");
    let put = ledger.put_codes("queue", vec![code], entry("codes_replaced"));
    put.await.unwrap();
    let coded = |number| JoinRow {
        code: Some(code),
        ..join(number)
    };
    let again = |number, of| JoinRow { number, ..join(of) };
    let queued = [
        ledger.record_join("queue", join(0)),
        ledger.record_join("queue", coded(1)),
        ledger.record_join("queue", coded(2)),
        ledger.record_join("queue", again(3, 0)),
        ledger.record_join("queue", join(4)),
    ];
    let left = ledger.record_leave("queue", 0, 20, true);
    let back = ledger.record_join("queue", again(5, 0));
    let outcomes: Vec<_> = join_all(queued).await.into_iter().map(Result::ok).collect();
    let (done, refused) = (
        Some(LedgerJoinOutcome::Done),
        Some(LedgerJoinOutcome::CodeRefused),
    );
    assert_eq!(outcomes, [done, done, refused, None, done]);
    left.await.unwrap();
    assert_eq!(
        back.await.unwrap(),
        LedgerJoinOutcome::Done,
        "it was queued after the leaving"
    );
    let numbers: Vec<_> = ledger.line("queue").await.unwrap().places;
    let numbers: Vec<_> = numbers.iter().map(|place| place.join.number).collect();
    assert_eq!(numbers, [0, 1, 4, 5]);
}

async fn two_nodes_see_one_id_one_clock_and_one_owner_of_each_lease(
    ledger: &RoomLedger,
    reopened: &RoomLedger,
) {
    assert_eq!(ledger.id().await.unwrap(), reopened.id().await.unwrap());
    let before = ledger.now_ms().await.unwrap();
    assert!(before > 1_600_000_000_000 && reopened.now_ms().await.unwrap() >= before);
    assert!(ledger.lease("l", "one", 60_000).await.unwrap());
    assert!(!reopened.lease("l", "two", 60_000).await.unwrap());
    assert!(ledger.lease("l", "one", 60_000).await.unwrap());
    reopened.end_lease("l", "two").await.unwrap();
    assert!(!reopened.lease("l", "two", 60_000).await.unwrap());
    ledger.end_lease("l", "one").await.unwrap();
    assert!(reopened.lease("l", "two", 60_000).await.unwrap());
}
