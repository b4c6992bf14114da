//! Contract cases for `max_inside`: who counts as inside, and who does not.

use fairgate_pass::LEEWAY_S;

use super::*;
use crate::ledger::PassStopCause;

/// Builds a claimant of a room that has released 100 ranks and lets three visitors be inside.
fn claimant(number: u64, now: i64) -> Claimant {
    Claimant {
        number,
        rank: number,
        released: 100,
        max_inside: 3,
        line: true,
        idle_ms: idle_ms(Some(2 * VISITOR_U)),
        toll: NetworkToll::NONE,
        now,
    }
}

/// Lets `count` visitors join, and calls all of them in one tick that ends at 1,000 ms.
async fn join_and_call(store: &dyn RoomStore, count: u64) {
    for at in 0..count {
        store.join("r", entrant(at)).await.unwrap();
    }
    let called = CalledRanks {
        from: 0,
        to: count,
        people: count,
        away: std::collections::HashSet::new(),
    };
    let end = TickEnd {
        since: 0,
        until: 1000,
        owed_u: 0,
        credit_u: 0,
        rate_u: Some(100 * VISITOR_U),
        called: Some(called),
        left: TickCarryover {
            row: ReleaseRow {
                released: count,
                ticked_at: 1000,
                ..ReleaseRow::default()
            },
            memory: "{}".into(),
        },
        now: 1000,
    };
    assert!(store.end_tick("r", end).await.unwrap());
}

/// Lets the visitors of these numbers claim one after the other. If an admission is granted, the
/// claim is written with this expiry. Returns the numbers that were admitted.
async fn claim_each(
    store: &dyn RoomStore,
    numbers: std::ops::Range<u64>,
    now: i64,
    exp_s: i64,
) -> Vec<u64> {
    let mut admitted = Vec::new();
    for number in numbers {
        let decided = store.admit_claimant("r", claimant(number, now)).await;
        if let AdmissionDecision::Let { .. } = decided.unwrap() {
            let written = RecordedPassClaim {
                number,
                reserved: Some(number),
                exp_s,
                at_s: 1,
            };
            store.note_claim("r", written).await.unwrap();
            admitted.push(number);
        }
    }
    admitted
}

async fn leave_with_rank(store: &dyn RoomStore, number: u64) {
    let leaving = StoreLeaveRequest {
        rank: Some(number),
        ..leaving(number, 1100)
    };
    store.leave("r", leaving).await.unwrap();
}

pub(super) async fn visitors_who_left_do_not_count_as_inside(Pair { store, .. }: Pair) {
    let store = store.as_ref();
    join_and_call(store, 20).await;
    for number in 0..10 {
        leave_with_rank(store, number).await;
    }
    assert_eq!(store.counts("r", 2).await.unwrap().left, 10);
    assert_eq!(
        claim_each(store, 10..20, 1500, 100).await,
        [10, 11, 12],
        "three visitors may be inside, however many have left"
    );
}

pub(super) async fn visitors_whose_places_were_ended_do_not_count_as_inside(pair: Pair) {
    let store = pair.store.as_ref();
    join_and_call(store, 20).await;
    store.flush_to_ledger("r").await.unwrap();
    let cause = (PassStopCause::Revoked, String::new());
    let revoked = pair
        .ledger
        .revoke_places("r", (0..10).collect(), cause, 1200, None);
    revoked.await.unwrap();
    let ended: Vec<_> = (0..10)
        .map(|number| StoreLeaveRequest {
            rank: Some(number),
            ..leaving(number, 1200)
        })
        .collect();
    store.end_places("r", &ended).await.unwrap();
    assert_eq!(claim_each(store, 10..20, 1500, 100).await, [10, 11, 12]);
}

pub(super) async fn written_claims_count_as_inside_until_their_passes_run_out_or_are_used(
    Pair { store, .. }: Pair,
) {
    let store = store.as_ref();
    join_and_call(store, 20).await;
    for number in 0..2 {
        assert!(note_claim_without_admission(store, number, 50).await);
    }
    assert_eq!(
        claim_each(store, 2..20, 1500, 100).await,
        [2],
        "two claims were written before"
    );
    assert!(claim_each(store, 2..20, 2000, 100).await.is_empty());
    store.mark_ticketed("r", 1, &[holder(0)]).await.unwrap();
    assert_eq!(
        claim_each(store, 3..20, 2000, 100).await,
        [3],
        "who has bought is no longer inside"
    );
    assert!(
        claim_each(store, 4..20, 2000, 100).await.is_empty(),
        "numbers 1, 2 and 3 are inside"
    );
    // Number 1's pass ran out at 50 s, and is taken for a while longer. The visitors who were
    // called have been silent for so long that their window has ended, and they all come at once.
    let free_from = 50_000 + LEEWAY_S * 1000;
    figures(store, free_from, &[]).await;
    let latecomers = Claimant {
        line: false,
        ..claimant(4, free_from)
    };
    let mut let_in = 0;
    for number in 4..20 {
        let late = Claimant {
            number,
            rank: number,
            ..latecomers
        };
        let decided = store.admit_claimant("r", late).await.unwrap();
        let_in += u64::from(decided == AdmissionDecision::Let { first: true });
    }
    assert_eq!(let_in, 1, "numbers 2 and 3 are still inside");
}

pub(super) async fn a_visitor_who_left_with_a_live_pass_fills_an_entry_until_no_node_takes_it(
    Pair { store, .. }: Pair,
) {
    let store = store.as_ref();
    join_and_call(store, 20).await;
    assert_eq!(claim_each(store, 0..20, 1000, 100).await, [0, 1, 2]);
    for number in 0..3 {
        leave_with_rank(store, number).await;
    }
    // They left at 1.1 s, and the clock of their passes counts in seconds.
    assert!(
        claim_each(store, 3..20, 3999, 100).await.is_empty(),
        "another node may still take the three passes"
    );
    assert_eq!(claim_each(store, 3..20, 4000, 200).await, [3, 4, 5]);
    // A second run of a departure changes nothing.
    leave_with_rank(store, 0).await;
    assert!(claim_each(store, 6..20, 4500, 200).await.is_empty());
}

pub(super) async fn a_pass_that_ran_out_fills_an_entry_while_it_is_taken_except_for_its_visitor(
    Pair { store, .. }: Pair,
) {
    let store = store.as_ref();
    join_and_call(store, 20).await;
    assert_eq!(claim_each(store, 0..20, 1500, 50).await, [0, 1, 2]);
    let within = 50_000 + LEEWAY_S * 1000 - 1;
    figures(store, within, &[]).await;
    let decide = async |number, now| {
        let late = Claimant {
            line: false,
            ..claimant(number, now)
        };
        store.admit_claimant("r", late).await.unwrap()
    };
    assert_eq!(decide(4, within).await, WAITS);
    let again = AdmissionDecision::Let { first: false };
    assert_eq!(decide(1, within).await, again, "its own entry");
    let written = RecordedPassClaim {
        number: 1,
        reserved: Some(1),
        exp_s: 100,
        at_s: 1,
    };
    store.note_claim("r", written).await.unwrap();
    let first = AdmissionDecision::Let { first: true };
    let decided = [
        decide(4, within + 1).await,
        decide(5, within + 1).await,
        decide(6, within + 1).await,
    ];
    assert_eq!(decided, [first, first, WAITS]);
}
