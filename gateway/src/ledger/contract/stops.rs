//! Contract cases for passes and places that end early.

use fairgate_pass::VisitEndCause;

use super::*;
use crate::ledger::{EndedPass, NetworkKey, PassStopCause, PlaceSelection, StoppedPass};

pub(super) const OPENED_TWICE: &[Case] = contract_cases![|twice| (&twice.ledger, &twice.reopened);
    a_leaving_stops_the_pass_and_every_node_reads_it,
    a_revoked_place_keeps_its_leaf_and_never_gets_a_pass,
    a_closed_room_has_no_passes_left,
    a_selection_finds_living_places_only,
    of_a_claim_and_a_revocation_at_once_no_pass_is_left,
    a_visit_ends_once_and_its_visitor_can_claim_again,
    visits_of_ended_places_and_of_newer_passes_do_not_end,
];

fn pass(number: u64, exp: i64) -> PassRow {
    PassRow {
        number,
        rank: number,
        holder: holder(number),
        iat: 1,
        exp,
        jti: format!("pass_{number}"),
    }
}

async fn with_places(ledger: &RoomLedger, id: &str, places: u64) {
    let made = ledger.create_room(room(id), entry("room_created")).await;
    assert!(made.unwrap());
    for number in 0..places {
        ledger.record_join(id, join(number)).await.unwrap();
    }
}

async fn stopped_after(
    ledger: &RoomLedger,
    id: &str,
    after: u64,
    now_s: i64,
) -> (u64, Vec<StoppedPass>) {
    let read = ledger.stopped_passes(id, after, now_s).await.unwrap();
    (read.cursor, read.stopped)
}

fn revoked(note: &str) -> (PassStopCause, String) {
    (PassStopCause::Revoked, note.to_owned())
}

async fn versions_of(ledger: &RoomLedger, id: &str) -> (u64, u64) {
    let versions = ledger.versions().await.unwrap();
    let of_room = versions.into_iter().find(|version| version.room == id);
    let of_room = of_room.expect("the room is there");
    (of_room.stops, of_room.revoked)
}

async fn a_leaving_stops_the_pass_and_every_node_reads_it(
    ledger: &RoomLedger,
    reopened: &RoomLedger,
) {
    with_places(ledger, "stop", 3).await;
    ledger.claim("stop", pass(0, 100), 1).await.unwrap();
    ledger.claim("stop", pass(1, 5), 1).await.unwrap();
    assert_eq!(versions_of(reopened, "stop").await, (0, 0));
    for number in 0..3 {
        ledger
            .record_leave("stop", number, 10_000, false)
            .await
            .unwrap();
    }
    // Number 0 has the only pass that could still be used.
    assert_eq!(versions_of(reopened, "stop").await, (1, 0));
    let (cursor, stopped) = stopped_after(reopened, "stop", 0, 10).await;
    let expected = StoppedPass {
        number: 0,
        holder: holder(0),
        exp: 100,
        cause: PassStopCause::Left,
        note: String::new(),
    };
    assert_eq!((cursor, stopped), (1, vec![expected]));
    let none = stopped_after(reopened, "stop", 1, 10).await;
    assert_eq!(none, (1, Vec::new()));
    let expired = stopped_after(reopened, "stop", 0, 100).await;
    assert_eq!(expired, (1, Vec::new()), "its pass is refused anyway");
    for number in 0..3 {
        let claimed = reopened.claim("stop", pass(number, 900), 200).await;
        let stopped = LedgerClaimOutcome::Stopped(PassStopCause::Left);
        assert_eq!(claimed.unwrap(), stopped, "number {number}");
    }
    // Number 2 never had a pass, and has none after its visitor left.
    let mut passes = ledger.line("stop").await.unwrap().passes;
    passes.sort_unstable();
    assert_eq!(passes, [(0, 100), (1, 5)]);
}

async fn a_revoked_place_keeps_its_leaf_and_never_gets_a_pass(
    ledger: &RoomLedger,
    reopened: &RoomLedger,
) {
    with_places(ledger, "revoke", 4).await;
    ledger.claim("revoke", pass(1, 100), 1).await.unwrap();
    ledger.record_leave("revoke", 3, 5, true).await.unwrap();
    let end = async |numbers: Vec<u64>| {
        let entry = Some(entry("revoked"));
        let ended = ledger.revoke_places("revoke", numbers, revoked("bots"), 7, entry);
        ended.await.unwrap()
    };
    assert_eq!(end(vec![1, 2, 3, 9]).await, 2, "1 and 2 were living");
    assert_eq!(end(vec![1, 2]).await, 0);
    assert_eq!(versions_of(reopened, "revoke").await, (1, 2));
    let (_, stopped) = stopped_after(reopened, "revoke", 0, 50).await;
    let mut told: Vec<_> = stopped
        .iter()
        .map(|pass| (pass.number, pass.exp, pass.cause, pass.note.as_str()))
        .collect();
    told.sort_unstable_by_key(|told| told.0);
    let cause = PassStopCause::Revoked;
    assert_eq!(told, [(1, 100, cause, "bots"), (2, 0, cause, "bots")]);
    let claimed = reopened.claim("revoke", pass(2, 100), 1).await.unwrap();
    assert_eq!(claimed, LedgerClaimOutcome::Stopped(cause));
    let leaves = reopened.leaves("revoke", 4).await.unwrap();
    let expected = [holder(0).0, holder(1).0, holder(2).0, [0; 32]].concat();
    assert_eq!(
        leaves, expected,
        "revoked leaves stay, the one that was left is void"
    );
    let audit = reopened.audit("revoke").await.unwrap();
    assert_eq!(
        audit.iter().filter(|row| row.action == "revoked").count(),
        2
    );
    assert_eq!(reopened.place_of("revoke", holder(1)).await.unwrap(), None);
}

async fn a_closed_room_has_no_passes_left(ledger: &RoomLedger, reopened: &RoomLedger) {
    with_places(ledger, "closed", 3).await;
    for number in 0..3 {
        let exp = 10 + i64::try_from(number).expect("small");
        ledger.claim("closed", pass(number, exp), 1).await.unwrap();
    }
    let close = async || {
        let cause = (PassStopCause::Closed, String::new());
        let stopped = ledger.stop_open_passes("closed", u64::MAX, cause, 10_500);
        stopped.await.unwrap();
    };
    let none = (PassStopCause::Cleared, String::new());
    let stopped = ledger.stop_open_passes("closed", 1, none, 10_500).await;
    stopped.unwrap();
    assert_eq!(
        versions_of(reopened, "closed").await,
        (0, 0),
        "number 0 has expired"
    );
    close().await;
    let (cursor, stopped) = stopped_after(reopened, "closed", 0, 5).await;
    let mut numbers: Vec<_> = stopped.iter().map(|pass| pass.number).collect();
    numbers.sort_unstable();
    assert_eq!((cursor, numbers), (1, vec![1, 2]), "the first has expired");
    close().await;
    assert_eq!(versions_of(reopened, "closed").await, (1, 0));
    let living = reopened.living_places("closed", 0, 9, 9).await.unwrap();
    assert_eq!(living, [0, 1, 2], "the places themselves stay");
}

async fn a_selection_finds_living_places_only(ledger: &RoomLedger, reopened: &RoomLedger) {
    let made = ledger
        .create_room(room("find"), entry("room_created"))
        .await;
    assert!(made.unwrap());
    let code = Digest::of_bytes(b"code");
    let put = ledger.put_codes("find", vec![code], entry("codes_replaced"));
    put.await.unwrap();
    let (own, wide): (NetworkKey, NetworkKey) = ([1; 8], [2; 8]);
    for number in 0..4 {
        let networks = match number {
            0 => NetworkKeys::NONE,
            1 | 2 => [own, wide].into_iter().collect(),
            _ => [[3; 8], wide].into_iter().collect(),
        };
        let row = JoinRow {
            code: (number == 1).then_some(code),
            networks,
            ..join(number)
        };
        ledger.record_join("find", row).await.unwrap();
    }
    let find = async |selection| {
        let found = reopened.selected_places("find", selection);
        found.await.unwrap()
    };
    assert_eq!(find(PlaceSelection::Holder(holder(2))).await, [2]);
    assert_eq!(find(PlaceSelection::Code(code)).await, [1]);
    assert_eq!(find(PlaceSelection::Networks(vec![own])).await, [1, 2]);
    assert_eq!(find(PlaceSelection::Networks(vec![wide])).await, [1, 2, 3]);
    let all = reopened.living_places("find", 1, 3, 10).await.unwrap();
    assert_eq!(all, [1, 2]);
    assert_eq!(reopened.next_number("find").await.unwrap(), 4);
    ledger.record_leave("find", 1, 5, false).await.unwrap();
    assert_eq!(find(PlaceSelection::Code(code)).await, [0; 0]);
    assert_eq!(find(PlaceSelection::Networks(vec![own])).await, [2]);
    assert_eq!(find(PlaceSelection::Holder(holder(9))).await, [0; 0]);
    assert_eq!(reopened.next_number("nowhere").await.unwrap(), 0);
}

async fn of_a_claim_and_a_revocation_at_once_no_pass_is_left(
    ledger: &RoomLedger,
    reopened: &RoomLedger,
) {
    with_places(ledger, "race", 30).await;
    let claims = (0..30).map(|number| ledger.claim("race", pass(number, 100), 1));
    let ends = (0..30)
        .map(|number| reopened.revoke_places("race", vec![number], revoked("race"), 1_000, None));
    let (claimed, ended) = futures_util::join!(join_all(claims), join_all(ends));
    assert!(claimed.iter().all(Result::is_ok));
    assert!(ended.into_iter().all(|count| count.unwrap() == 1));
    let (_, stopped) = stopped_after(ledger, "race", 0, 0).await;
    assert_eq!(stopped.len(), 30);
    for number in 0..30 {
        let again = ledger.claim("race", pass(number, 200), 2).await.unwrap();
        let stopped = LedgerClaimOutcome::Stopped(PassStopCause::Revoked);
        assert_eq!(again, stopped, "number {number}");
    }
}

async fn a_visit_ends_once_and_its_visitor_can_claim_again(
    ledger: &RoomLedger,
    reopened: &RoomLedger,
) {
    with_places(ledger, "visits", 3).await;
    for number in 0..3 {
        let claimed = ledger.claim("visits", pass(number, 600), 1).await.unwrap();
        assert!(matches!(claimed, LedgerClaimOutcome::Claimed(_)));
    }
    let both = vec![(0, 600), (1, 600)];
    let end = async |ledger: &RoomLedger| {
        let ended = ledger.end_visits("visits", both.clone(), VisitEndCause::Idle, 130);
        ended.await.unwrap();
    };
    tokio::join!(end(ledger), end(reopened));
    let read = reopened.stopped_passes("visits", 0, 130).await.unwrap();
    let expected = [0, 1].map(|number| EndedPass {
        number,
        holder: holder(number),
        issued_s: 1,
        exp: 600,
        ended_s: 130,
        cause: VisitEndCause::Idle,
    });
    let mut ended = read.ended;
    ended.sort_by_key(|ended| ended.number);
    assert_eq!((ended, read.stopped), (expected.to_vec(), Vec::new()));
    let nothing_new = reopened.stopped_passes("visits", read.cursor, 130).await;
    assert!(nothing_new.unwrap().ended.is_empty());
    let passes = ledger.line("visits").await.unwrap().passes;
    let exp_of = |number| passes.iter().find(|(of, _)| *of == number).unwrap().1;
    assert_eq!([exp_of(0), exp_of(1), exp_of(2)], [130, 130, 600]);
    let second = PassRow {
        iat: 200,
        ..pass(0, 800)
    };
    let claimed = reopened.claim("visits", second.clone(), 200).await.unwrap();
    assert_eq!(claimed, LedgerClaimOutcome::Claimed(second));
}

async fn visits_of_ended_places_and_of_newer_passes_do_not_end(
    ledger: &RoomLedger,
    reopened: &RoomLedger,
) {
    with_places(ledger, "newer", 2).await;
    for number in 0..2 {
        ledger.claim("newer", pass(number, 600), 1).await.unwrap();
    }
    ledger
        .record_leave("newer", 0, 10_000, false)
        .await
        .unwrap();
    let of_other_passes = vec![(0, 600), (1, 599)];
    let ended = ledger.end_visits("newer", of_other_passes, VisitEndCause::Lapses, 20);
    ended.await.unwrap();
    let read = reopened.stopped_passes("newer", 0, 20).await.unwrap();
    assert_eq!((read.ended.len(), read.stopped.len()), (0, 1));
    let live = reopened.claim("newer", pass(1, 900), 20).await.unwrap();
    assert_eq!(live, LedgerClaimOutcome::Claimed(pass(1, 600)));
}
