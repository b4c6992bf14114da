//! Contract cases for calls, admissions, passes, and the ends of ticks.

use super::*;

/// The pace of these rooms (visitors a second). It is so fast that the gate keeps nobody out.
const FAST_PER_S: u64 = 1_000;

/// The answer to a claimant who waits for something other than the pace.
pub(super) const WAITS: AdmissionDecision = AdmissionDecision::Wait { entry_in_ms: None };

/// The answer to a latecomer for whom the last ticks left no share of the pace.
pub(super) const WAITS_FOR_A_TICK: AdmissionDecision = AdmissionDecision::Wait {
    entry_in_ms: Some(TICK_MS),
};

/// Builds a claimant of a room that has released ten ranks and lets two visitors be inside.
pub(super) fn claimant(number: u64, now: i64) -> Claimant {
    Claimant {
        number,
        rank: number,
        released: 10,
        max_inside: 2,
        line: true,
        idle_ms: idle_ms(Some(2 * VISITOR_U)),
        toll: NetworkToll::NONE,
        now,
    }
}

/// Builds a failed claim of the first pass of a number. The number's rank is the number itself.
pub(super) fn failed(number: u64) -> FailedPassClaim {
    FailedPassClaim {
        number,
        rank: number,
        first: true,
    }
}

/// Builds the end of a tick that counts from `since` to `until` and calls the given ranks. The
/// visitors of the `away` ranks are not expected to come.
pub(super) fn tick(since: i64, until: i64, called: std::ops::Range<u64>, away: &[u64]) -> TickEnd {
    let waited_for = called.clone().filter(|rank| !away.contains(rank)).count();
    TickEnd {
        since,
        until,
        owed_u: 0,
        credit_u: 0,
        rate_u: Some(FAST_PER_S * VISITOR_U),
        called: (!called.is_empty()).then(|| CalledRanks {
            from: called.start,
            to: called.end,
            people: waited_for as u64,
            away: away.iter().copied().collect(),
        }),
        left: TickCarryover {
            row: ReleaseRow {
                released: called.end,
                ticked_at: until,
                ..ReleaseRow::default()
            },
            memory: "{}".into(),
        },
        now: until,
    }
}

pub(super) async fn join_visitors(store: &dyn RoomStore, count: u64) {
    for at in 0..count {
        store.join("r", entrant(at)).await.unwrap();
    }
}

pub(super) async fn many_claims_at_once_admit_no_more_visitors_than_may_be_inside(
    Pair { store, .. }: Pair,
) {
    join_visitors(store.as_ref(), 8).await;
    store.end_tick("r", tick(0, 1000, 0..8, &[])).await.unwrap();
    let claims: Vec<_> = (0..8)
        .map(|number| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                store
                    .admit_claimant("r", claimant(number, 1500))
                    .await
                    .unwrap()
            })
        })
        .collect();
    let mut let_in = 0;
    for claim in claims {
        let_in += u64::from(claim.await.unwrap() == AdmissionDecision::Let { first: true });
    }
    assert_eq!(let_in, 2, "two visitors may be inside");
    let not_called = Claimant {
        max_inside: 100,
        released: 0,
        ..claimant(9, 1500)
    };
    assert_eq!(
        store.admit_claimant("r", not_called).await.unwrap(),
        WAITS,
        "a rank that is not released waits, even if more visitors may be inside"
    );
}

pub(super) async fn an_admission_ends_when_its_claim_is_written_or_when_it_is_undone_or_lapses(
    Pair { store, .. }: Pair,
) {
    join_visitors(store.as_ref(), 4).await;
    store.end_tick("r", tick(0, 1000, 0..4, &[])).await.unwrap();
    let enter = async |number, now| {
        store
            .admit_claimant("r", claimant(number, now))
            .await
            .unwrap()
    };
    assert_eq!(enter(0, 1100).await, AdmissionDecision::Let { first: true });
    assert_eq!(enter(1, 1100).await, AdmissionDecision::Let { first: true });
    assert_eq!(
        enter(1, 1100).await,
        AdmissionDecision::Let { first: true },
        "a second tab of a visitor who is being admitted is admitted, too"
    );
    assert_eq!(enter(2, 1100).await, WAITS);
    store.undo_admission("r", failed(0)).await.unwrap();
    assert_eq!(
        enter(2, 1200).await,
        AdmissionDecision::Let { first: true },
        "after an admission is undone, another visitor is admitted"
    );
    let claim = RecordedPassClaim {
        number: 2,
        reserved: Some(2),
        exp_s: 100,
        at_s: 1,
    };
    assert!(store.note_claim("r", claim).await.unwrap());
    assert_eq!(enter(2, 1300).await, AdmissionDecision::HasLivePass);
    let seen = figures(store.as_ref(), 1400, &[]).await;
    assert_eq!((seen.counts.inside, seen.entering), (1, 1));
    // The node that admitted number 1 died and never ended the admission. After the admission
    // lapses, it no longer counts, and another visitor is admitted.
    let lapsed = 1100 + ENTRY_LAPSES_MS;
    assert_eq!(figures(store.as_ref(), lapsed, &[]).await.entering, 0);
    store
        .end_tick("r", tick(1000, lapsed, 4..5, &[]))
        .await
        .unwrap();
    assert_eq!(
        enter(4, lapsed + 1).await,
        AdmissionDecision::Let { first: true }
    );
    assert_eq!(
        enter(2, 100_000).await,
        WAITS_FOR_A_TICK,
        "a visitor's second pass waits for the pace"
    );
}

pub(super) async fn a_claim_that_is_undone_never_takes_back_another_visit(
    Pair { store, .. }: Pair,
) {
    join_visitors(store.as_ref(), 4).await;
    store.end_tick("r", tick(0, 1000, 0..4, &[])).await.unwrap();
    let enter = async |number| {
        let claimant = claimant(number, 1100);
        store.admit_claimant("r", claimant).await.unwrap()
    };
    // Two tabs of one visitor claim: one claim is written, and the other fails.
    for _ in 0..2 {
        assert_eq!(enter(0).await, AdmissionDecision::Let { first: true });
    }
    let claim = RecordedPassClaim {
        number: 0,
        reserved: Some(0),
        exp_s: 100,
        at_s: 1,
    };
    assert!(store.note_claim("r", claim).await.unwrap());
    store.undo_admission("r", failed(0)).await.unwrap();
    let leaving = StoreLeaveRequest {
        rank: Some(1),
        ..leaving(1, 0)
    };
    store.leave("r", leaving).await.unwrap();
    assert_eq!(
        enter(1).await,
        WAITS,
        "a visitor who has left is not admitted"
    );
    store.undo_admission("r", failed(1)).await.unwrap();
    let seen = figures(store.as_ref(), 1200, &[]).await;
    assert_eq!(
        (seen.counts.inside, seen.entering, seen.expected),
        (1, 0, 2)
    );
    let later = figures(store.as_ref(), 6001, &[]).await;
    assert!(
        (later.show_up - 21.0 / 24.0).abs() < 1e-9,
        "one of four came: {}",
        later.show_up
    );
}

pub(super) async fn a_visitor_who_leaves_during_a_claim_that_fails_is_not_expected(
    Pair { store, .. }: Pair,
) {
    join_visitors(store.as_ref(), 4).await;
    store.end_tick("r", tick(0, 1000, 0..4, &[])).await.unwrap();
    let entered = store.admit_claimant("r", claimant(1, 1100)).await.unwrap();
    assert_eq!(entered, AdmissionDecision::Let { first: true });
    let leaving = StoreLeaveRequest {
        rank: Some(1),
        ..leaving(1, 1150)
    };
    store.leave("r", leaving).await.unwrap();
    store.undo_admission("r", failed(1)).await.unwrap();
    let seen = figures(store.as_ref(), 1200, &[]).await;
    assert_eq!((seen.entering, seen.expected), (0, 3));
    let later = figures(store.as_ref(), 6001, &[]).await;
    assert!(
        (later.show_up - 20.0 / 24.0).abs() < 1e-9,
        "none of four came: {}",
        later.show_up
    );
}

pub(super) async fn a_visitor_who_was_away_when_called_is_admitted_by_the_pace(
    Pair { store, .. }: Pair,
) {
    join_visitors(store.as_ref(), 4).await;
    store
        .end_tick("r", tick(0, 1000, 0..4, &[0, 2]))
        .await
        .unwrap();
    let roomy = |number| Claimant {
        max_inside: 100,
        ..claimant(number, 1500)
    };
    let enter = async |number| store.admit_claimant("r", roomy(number)).await.unwrap();
    assert_eq!(enter(1).await, AdmissionDecision::Let { first: true });
    assert_eq!(
        enter(0).await,
        WAITS_FOR_A_TICK,
        "latecomers have no credit yet"
    );
    let earned = TickEnd {
        credit_u: VISITOR_U,
        ..tick(1000, 2000, 4..4, &[])
    };
    store.end_tick("r", earned).await.unwrap();
    assert_eq!(enter(2).await, AdmissionDecision::Let { first: true });
    assert_eq!(
        enter(0).await,
        WAITS_FOR_A_TICK,
        "the credit was for one visitor"
    );
    assert_eq!(figures(store.as_ref(), 2500, &[]).await.owed_u, VISITOR_U);
    let no_line = Claimant {
        line: false,
        ..roomy(0)
    };
    assert_eq!(
        store.admit_claimant("r", no_line).await.unwrap(),
        AdmissionDecision::Let { first: true }
    );
}

pub(super) async fn a_called_visitor_is_expected_until_they_come_or_leave_or_the_window_ends(
    Pair { store, .. }: Pair,
) {
    join_visitors(store.as_ref(), 12).await;
    assert_eq!(figures(store.as_ref(), 0, &[]).await.counted_until, 0);
    store
        .end_tick("r", tick(0, 1000, 0..10, &[9]))
        .await
        .unwrap();
    store
        .end_tick("r", tick(1000, 2000, 10..12, &[]))
        .await
        .unwrap();
    let seen = figures(store.as_ref(), 2000, &[]).await;
    assert_eq!((seen.expected, seen.counted_until), (11, 2000));
    assert!((seen.show_up - 1.0).abs() < 1e-9);
    let calls = [(0, 10, 1000), (10, 12, 2000)].map(|(from, to, at)| RankCall { from, to, at });
    assert_eq!(seen.calls, calls);
    for number in [3, 4] {
        let roomy = Claimant {
            max_inside: 100,
            ..claimant(number, 2500)
        };
        store.admit_claimant("r", roomy).await.unwrap();
        let claim = RecordedPassClaim {
            number,
            reserved: Some(number),
            exp_s: 100,
            at_s: 1,
        };
        store.note_claim("r", claim).await.unwrap();
    }
    for rank in [3, 5, 9] {
        let leaving = StoreLeaveRequest {
            rank: Some(rank),
            ..leaving(rank, 0)
        };
        store.leave("r", leaving).await.unwrap();
    }
    let seen = figures(store.as_ref(), 3000, &[]).await;
    assert_eq!(
        seen.expected, 8,
        "a claim and a leaving of one rank count once, and an away rank was never expected"
    );
    let later = figures(store.as_ref(), 6001, &[]).await;
    assert_eq!((later.expected, later.calls.len()), (2, 1));
    assert!(
        (later.show_up - 22.0 / 29.0).abs() < 1e-9,
        "two of nine came: {}",
        later.show_up
    );
    let later = figures(store.as_ref(), 7001, &[]).await;
    assert_eq!((later.expected, later.calls.len()), (0, 0));
}

pub(super) async fn if_two_ticks_begin_together_only_the_first_to_end_stores_its_accounts(
    Pair { store, .. }: Pair,
) {
    join_visitors(store.as_ref(), 4).await;
    let earned = |since, until, called| TickEnd {
        credit_u: 2 * VISITOR_U,
        owed_u: VISITOR_U,
        ..tick(since, until, called, &[])
    };
    assert!(store.end_tick("r", earned(0, 1000, 0..0)).await.unwrap());
    assert!(!store.end_tick("r", earned(0, 1100, 0..2)).await.unwrap());
    let seen = figures(store.as_ref(), 1200, &[]).await;
    assert_eq!((seen.counted_until, seen.owed_u), (1000, VISITOR_U));
    assert_eq!(
        seen.expected, 2,
        "visitors whom the second tick called are expected all the same"
    );
    let late = |number| Claimant {
        max_inside: 100,
        ..claimant(number, 1300)
    };
    let mut let_in = 0;
    for number in [5, 6, 7] {
        let entered = store.admit_claimant("r", late(number)).await.unwrap();
        let_in += u64::from(entered == AdmissionDecision::Let { first: true });
    }
    assert_eq!(
        let_in, 2,
        "latecomers get the entries of the first tick only"
    );
}

pub(super) async fn a_visitor_who_left_with_a_pass_is_soon_not_inside_and_can_still_buy(
    open: StoreOpener<'_>,
) {
    let pair = open(false).await;
    for at in 0..2 {
        pair.store.join("r", entrant(at)).await.unwrap();
        let fresh = crate::ledger::PassRow {
            number: at,
            rank: at,
            holder: holder(at),
            iat: 0,
            exp: 100,
            jti: format!("pass_{at}"),
        };
        pair.ledger.claim("r", fresh, 0).await.unwrap();
        note_claim_without_admission(pair.store.as_ref(), at, 100).await;
        pair.store.leave("r", leaving(at, 0)).await.unwrap();
    }
    let counts = async |pair: &Pair, now_s| {
        let counts = pair.store.counts("r", now_s).await.unwrap();
        (counts.inside, counts.done)
    };
    assert_eq!(counts(&pair, 2).await, (2, 0), "a node may take the passes");
    assert_eq!(counts(&pair, 3).await, (0, 0), "they left at 0 s");
    // What was begun with a pass can still be paid.
    let bought = [holder(0)];
    let finished = pair.ledger.finish("r", 1, &bought, 0);
    finished.await.unwrap();
    let marked = pair.store.mark_ticketed("r", 1, &bought);
    marked.await.unwrap();
    assert_eq!(counts(&pair, 3).await, (0, 1));
    let pair = open(true).await;
    assert_eq!(counts(&pair, 1).await, (0, 1), "also after a restart");
}
