//! The contract cases that every room store must pass. `open(false)` opens a store over a fresh
//! ledger. `open(true)` opens a store over the same data as before, as a restart does. One case
//! takes random steps and compares the store with a model.

mod baskets;
mod codes;
mod ending;
mod entering;
mod inside;
mod late;
mod letting;
mod model;
mod networks;
mod visits;
mod wishes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use baskets::*;
use codes::*;
use ending::*;
use entering::*;
use fairgate_pass::{Digest, Holder};
use fairgate_servers::{ContractCase, contract_cases, run_contract};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use inside::*;
use late::*;
use letting::*;
use model::random_steps_follow_the_model_over_restarts;
use networks::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use visits::*;
use wishes::*;

use super::{
    AdmissionDecision, CalledRanks, Claimant, FailedPassClaim, NetworkToll, PresentedPlace,
    PresentedPlaceStatus, RecordedPassClaim, RoomStore, ShownCode, StoreFreezeOutcome,
    StoreJoinRefusal, StoreJoinRequest, StoreLeaveRequest, TickCarryover, TickEnd, TickFigures,
    TickFiguresRequest,
};
use crate::ledger::{LineFreeze, ReleaseRow, RoomAuditEntry, RoomChangeOutcome, RoomLedger};
use fairgate_rules::pace::VISITOR_U;
use fairgate_rules::release_cohorts::{ENTRY_LAPSES_MS, RankCall, TICK_MS, idle_ms};

/// A store and the ledger to which it writes.
pub struct Pair {
    /// The store under test; the room `"r"` is open.
    pub store: Arc<dyn RoomStore>,
    /// The ledger of the store.
    pub ledger: RoomLedger,
    /// Whether a server keeps the store's data. If so, a restart of this process does not lose it.
    pub outlives: bool,
}

fn holder(of: u64) -> Holder {
    Holder(Digest::of_bytes(&of.to_be_bytes()).0)
}

fn entrant(of: u64) -> StoreJoinRequest {
    StoreJoinRequest {
        holder: holder(of),
        code: None,
        needs_code: false,
        toll: NetworkToll::NONE,
        now: 1000,
    }
}

/// A code of which every wrong one counts, and no try is kept for others.
fn counted(digest: Digest) -> ShownCode {
    ShownCode {
        digest,
        is_counted: true,
        kept: 0,
    }
}

fn shown(number: u64, of: u64) -> PresentedPlace {
    PresentedPlace {
        number,
        holder: holder(of),
        code: None,
        at: 1000,
    }
}

fn leaving(number: u64, now: i64) -> StoreLeaveRequest {
    StoreLeaveRequest {
        number,
        rank: None,
        now,
    }
}

async fn freeze_line(store: &dyn RoomStore, now: i64) -> LineFreeze {
    match store.freeze("r", now).await.unwrap() {
        StoreFreezeOutcome::Done(freeze) => freeze,
        StoreFreezeOutcome::NotBefore(at) => panic!("not before {at}"),
    }
}

/// Notes a claim that was written without an admission.
async fn note_claim_without_admission(store: &dyn RoomStore, number: u64, exp_s: i64) -> bool {
    let claimed = RecordedPassClaim {
        number,
        reserved: None,
        exp_s,
        at_s: 1,
    };
    store.note_claim("r", claimed).await.unwrap()
}

async fn figures(store: &dyn RoomStore, now: i64, ends_s: &[i64]) -> TickFigures {
    let moment = TickFiguresRequest {
        now,
        claim_ms: 5000,
        ends_s: ends_s.to_vec(),
        vitals: "{}".into(),
    };
    store.tick_figures("r", moment).await.unwrap()
}

/// Opens a store: over a fresh ledger for `false`, over the same data as before for `true`.
type StoreOpener<'a> = &'a dyn Fn(bool) -> LocalBoxFuture<'a, Pair>;

type Case<'a> = ContractCase<'a, StoreOpener<'a>>;

fn every_case<'a>() -> Vec<Case<'a>> {
    let on_one_store: &[Case<'a>] = contract_cases![|open| (open(false).await);
        a_holder_who_joins_twice_gets_one_place,
        joins_at_once_get_distinct_durable_numbers,
        leaving_voids_the_leaf_before_the_freeze_and_not_after_it,
        a_leaving_is_in_the_ledger_before_the_call_returns,
        an_ended_place_counts_as_left_and_keeps_its_leaf,
        a_code_gives_one_place_and_stays_used_after_its_holder_leaves,
        wrong_codes_use_up_a_budget_that_right_ones_do_not,
        the_last_tries_of_the_budget_are_kept_for_others,
        a_code_that_is_looked_up_in_two_forms_uses_up_one_try,
        passes_and_finished_orders_are_counted,
        many_claims_at_once_admit_no_more_visitors_than_may_be_inside,
        an_admission_ends_when_its_claim_is_written_or_when_it_is_undone_or_lapses,
        a_claim_that_is_undone_never_takes_back_another_visit,
        a_visitor_who_leaves_during_a_claim_that_fails_is_not_expected,
        a_visitor_who_was_away_when_called_is_admitted_by_the_pace,
        visitors_who_are_expected_and_never_come_keep_no_latecomer_out_for_long,
        after_a_silence_visitors_enter_at_the_pace_and_in_the_order_of_their_calls,
        a_visitor_who_does_not_ask_again_keeps_nobody_out,
        a_pace_that_falls_counts_for_the_very_next_entry,
        a_called_visitor_is_expected_until_they_come_or_leave_or_the_window_ends,
        if_two_ticks_begin_together_only_the_first_to_end_stores_its_accounts,
        visitors_who_left_do_not_count_as_inside,
        visitors_whose_places_were_ended_do_not_count_as_inside,
        written_claims_count_as_inside_until_their_passes_run_out_or_are_used,
        a_visitor_who_left_with_a_live_pass_fills_an_entry_until_no_node_takes_it,
        a_pass_that_ran_out_fills_an_entry_while_it_is_taken_except_for_its_visitor,
        a_network_gets_as_many_places_as_it_paid_for,
        baskets_are_known_by_number_and_those_made_before_a_checkout_are_in_it,
        it_is_known_who_was_seen_since_a_moment,
        whoever_had_a_pass_is_called_behind_those_who_stood_in_line_when_it_ended,
        of_those_who_wait_again_whoever_came_out_first_enters_first,
        a_visit_without_seats_that_fit_does_not_count_unless_it_makes_a_basket,
        a_buyer_who_wants_more_is_called_again_behind_the_line,
        visitors_who_do_nothing_are_found_the_longest_idle_first,
        an_ended_visit_frees_its_entry_and_another_pass_goes_on,
        each_basket_that_lapsed_counts_once_and_for_its_visit,
        the_last_wishes_of_a_number_are_kept_and_their_changes_are_read_once,
        many_changed_wishes_are_read_in_parts,
        the_wishes_of_a_place_that_was_given_up_are_forgotten,
        joins_at_once_exceed_no_bound,
        the_price_in_one_slash_40_grows_with_its_recent_places,
        the_recent_places_of_a_slash_32_bound_joins_and_claims,
        a_place_counts_after_it_was_left,
        networks_of_a_room_that_is_over_are_forgotten,
        the_waits_of_a_network_follow_each_other_up_to_a_limit,
        only_the_networks_of_earlier_days_are_forgotten_daily,
        a_solution_counts_once,
        a_code_counts_once_even_for_many_at_once,
        the_last_move_of_a_place_is_noted,
        a_claim_is_refused_where_its_network_has_more_places_than_were_paid_for,
    ];
    let over_restarts: &[Case<'a>] = contract_cases![
        a_visitor_who_left_with_a_pass_is_soon_not_inside_and_can_still_buy,
        a_visitor_not_seen_for_a_minute_is_away_until_a_store_in_memory_restarts,
        whoever_was_away_in_an_ordered_line_is_remembered_until_a_store_in_memory_restarts,
        random_steps_follow_the_model_over_restarts,
        the_places_of_networks_are_known_after_a_restart,
        an_ended_place_stays_ended_after_a_restart,
        after_a_restart_it_is_known_behind_whom_an_ended_visit_is_called,
    ];
    [on_one_store, over_restarts].concat()
}

/// Runs every case on the stores that `open` opens.
pub async fn suite<F: Future<Output = Pair>>(open: impl Fn(bool) -> F) {
    let open = |again| open(again).boxed_local();
    run_contract(&every_case(), async || &open as StoreOpener<'_>).await;
}

async fn a_holder_who_joins_twice_gets_one_place(Pair { store, .. }: Pair) {
    let first = store.join("r", entrant(1)).await.unwrap();
    let again = store.join("r", entrant(1)).await.unwrap();
    assert!(first.fresh && !again.fresh);
    assert_eq!((first.number, again.number), (0, 0));
    assert_eq!(
        store
            .place_of("r", holder(1))
            .await
            .unwrap()
            .map(|place| place.number),
        Some(0)
    );
    assert!(matches!(
        store.check_presented_place("r", shown(0, 1)).await.unwrap(),
        PresentedPlaceStatus::Here(_)
    ));
    assert_eq!(
        store.check_presented_place("r", shown(0, 2)).await.unwrap(),
        PresentedPlaceStatus::Unknown,
        "another holder shows the number"
    );
    assert_eq!(
        store.check_presented_place("r", shown(7, 1)).await.unwrap(),
        PresentedPlaceStatus::Unknown
    );
}

async fn joins_at_once_get_distinct_durable_numbers(Pair { store, ledger, .. }: Pair) {
    // Every holder joins twice at once, as from two tabs of one browser.
    let joins: Vec<_> = (0..200)
        .map(|at| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.join("r", entrant(at / 2)).await.unwrap() })
        })
        .collect();
    let mut numbers = BTreeMap::new();
    for join in joins {
        let place = join.await.unwrap();
        assert_eq!(
            *numbers.entry(place.holder).or_insert(place.number),
            place.number
        );
    }
    let distinct: BTreeSet<_> = numbers.values().copied().collect();
    assert_eq!(distinct, (0..100).collect());
    store.flush_to_ledger("r").await.unwrap();
    assert_eq!(
        ledger.line("r").await.unwrap().places.len(),
        100,
        "every answered join is in the ledger"
    );
}

async fn leaving_voids_the_leaf_before_the_freeze_and_not_after_it(
    Pair { store, ledger, .. }: Pair,
) {
    for at in 0..4 {
        store.join("r", entrant(at)).await.unwrap();
    }
    store.leave("r", leaving(1, 2000)).await.unwrap();
    assert_eq!(
        store.check_presented_place("r", shown(1, 1)).await.unwrap(),
        PresentedPlaceStatus::Left
    );
    let back = store.join("r", entrant(1)).await.unwrap();
    assert_eq!(back.number, 4, "joining again gives a new number");
    let freeze = freeze_line(store.as_ref(), 3000).await;
    assert_eq!(
        (freeze.n, freeze_line(store.as_ref(), 4000).await),
        (5, freeze)
    );
    store.leave("r", leaving(2, 5000)).await.unwrap();
    assert_eq!(
        store.join("r", entrant(2)).await.unwrap().number,
        5,
        "after the freeze numbers begin at n"
    );
    let leaves = ledger.leaves("r", 5).await.unwrap();
    let expected = [holder(0).0, [0; 32], holder(2).0, holder(3).0, holder(1).0].concat();
    assert_eq!(leaves, expected);
    let absent = store.absent_numbers("r").await.unwrap();
    assert_eq!(absent.iter().collect::<Vec<_>>(), [1, 2]);
    assert!(absent.contains(2) && !absent.contains(3) && !absent.contains(1 << 40));
}

async fn a_leaving_is_in_the_ledger_before_the_call_returns(Pair { store, ledger, .. }: Pair) {
    for at in 0..20 {
        let number = store.join("r", entrant(at)).await.unwrap().number;
        store.leave("r", leaving(number, 2000)).await.unwrap();
        store.leave("r", leaving(number, 3000)).await.unwrap();
        let places = ledger.places("r", number, 1).await.unwrap();
        assert!(places[0].left && places[0].join.number == number);
    }
    store.leave("r", leaving(99, 2000)).await.unwrap();
    let counts = store.counts("r", 0).await.unwrap();
    assert_eq!((counts.next, counts.joined, counts.left), (20, 20, 20));
}

async fn a_code_gives_one_place_and_stays_used_after_its_holder_leaves(
    Pair { store, ledger, .. }: Pair,
) {
    let code = Digest::of_bytes(b"code");
    let entry = || RoomAuditEntry {
        at: 0,
        role: "promoter",
        action: "codes_replaced",
        detail: serde_json::Value::Null,
    };
    for codes in [vec![Digest::of_bytes(b"replaced")], vec![code]] {
        let put = store.put_codes("r", codes, entry()).await.unwrap();
        assert!(matches!(put, RoomChangeOutcome::To(_)));
    }
    let with = |of, code: Option<Digest>| StoreJoinRequest {
        code: code.map(counted),
        needs_code: true,
        ..entrant(of)
    };
    for bad in [
        None,
        Some(Digest::of_bytes(b"other")),
        Some(Digest::of_bytes(b"replaced")),
    ] {
        assert!(matches!(
            store.join("r", with(1, bad)).await,
            Err(StoreJoinRefusal::CodeInvalid { .. })
        ));
    }
    let place = store.join("r", with(1, Some(code))).await.unwrap();
    assert_eq!(
        (place.number, place.code),
        (0, Some(code)),
        "a refused code used up no number"
    );
    let others = vec![Digest::of_bytes(b"too late")];
    assert_eq!(
        store.put_codes("r", others, entry()).await.unwrap(),
        RoomChangeOutcome::Joined,
        "the codes stay once somebody has joined, even if the ledger does not have the join yet"
    );
    assert_eq!(
        store.join("r", with(1, None)).await.unwrap().number,
        0,
        "a holder with a place needs no code"
    );
    assert!(matches!(
        store.join("r", with(2, Some(code))).await,
        Err(StoreJoinRefusal::CodeUsed)
    ));
    store.leave("r", leaving(0, 0)).await.unwrap();
    assert!(matches!(
        store.join("r", with(1, Some(code))).await,
        Err(StoreJoinRefusal::CodeUsed)
    ));
    store.flush_to_ledger("r").await.unwrap();
    let line = ledger.line("r").await.unwrap();
    assert_eq!(line.codes, [(code, Some(0))]);
}

async fn passes_and_finished_orders_are_counted(Pair { store, .. }: Pair) {
    for at in 0..3 {
        store.join("r", entrant(at)).await.unwrap();
    }
    assert!(note_claim_without_admission(store.as_ref(), 0, 100).await);
    assert!(note_claim_without_admission(store.as_ref(), 1, 200).await);
    assert!(
        !note_claim_without_admission(store.as_ref(), 1, 210).await,
        "the second pass of one number"
    );
    // A pass is taken for a while longer.
    let taken_until = 100 + fairgate_pass::LEEWAY_S;
    assert_eq!(store.counts("r", taken_until - 1).await.unwrap().inside, 2);
    assert_eq!(
        store.counts("r", taken_until).await.unwrap().inside,
        1,
        "a visitor with an expired pass is not inside"
    );
    assert_eq!(
        figures(store.as_ref(), (taken_until + 1) * 1000, &[100, 209, 210])
            .await
            .beyond,
        [1, 1, 0],
        "visitors inside whose pass ends after each time"
    );
    store
        .mark_ticketed("r", 4, &[holder(1), holder(9)])
        .await
        .unwrap();
    let counts = store.counts("r", taken_until + 1).await.unwrap();
    assert_eq!(
        (counts.inside, counts.claimed, counts.done, counts.finished),
        (0, 2, 1, 4)
    );
    assert_eq!(counts.ended, 1, "one pass expired");
}

async fn whoever_was_away_in_an_ordered_line_is_remembered_until_a_store_in_memory_restarts(
    open: StoreOpener<'_>,
) {
    let pair = open(false).await;
    for at in 0..11 {
        pair.store.join("r", entrant(at)).await.unwrap();
    }
    let away = async |pair: &Pair, now_s, is_ordered| {
        let away = pair.store.away_numbers("r", now_s, is_ordered).await;
        let away = away.unwrap();
        [away.now, away.ever].map(|numbers| numbers.iter().collect::<Vec<_>>())
    };
    let nobody: [Vec<u64>; 2] = [vec![], vec![]];
    assert_eq!(away(&pair, 100, true).await, nobody);
    let here: Vec<u64> = (0..11).filter(|at| ![2, 9].contains(at)).collect();
    pair.store.note_seen("r", &here, 150).await.unwrap();
    assert_eq!(away(&pair, 170, false).await, [vec![2, 9], vec![]]);
    assert_eq!(away(&pair, 171, true).await, [vec![2, 9], vec![2, 9]]);
    pair.store.note_seen("r", &[2], 172).await.unwrap();
    pair.store.join("r", entrant(11)).await.unwrap();
    let [now, ever] = away(&pair, 173, true).await;
    assert!(!now.contains(&2), "{now:?}");
    assert!(ever.contains(&2) && ever.contains(&9), "{ever:?}");
    assert!(!ever.contains(&0) && !ever.contains(&10), "{ever:?}");
    let pair = open(true).await;
    let [_, ever] = away(&pair, 174, false).await;
    assert_eq!(ever.contains(&9), pair.outlives);
}

async fn a_visitor_not_seen_for_a_minute_is_away_until_a_store_in_memory_restarts(
    open: StoreOpener<'_>,
) {
    let pair = open(false).await;
    for at in 0..4 {
        pair.store.join("r", entrant(at)).await.unwrap();
    }
    let away = async |pair: &Pair, now_s| {
        let away = pair.store.away_numbers("r", now_s, false).await.unwrap();
        assert_eq!(away.ever.iter().count(), 0, "the line is not ordered yet");
        away.now.iter().collect::<Vec<_>>()
    };
    assert!(
        away(&pair, 100).await.is_empty(),
        "the store has not watched the visitors for a minute yet"
    );
    pair.store.note_seen("r", &[1, 77], 130).await.unwrap();
    pair.store.leave("r", leaving(3, 0)).await.unwrap();
    assert!(away(&pair, 159).await.is_empty());
    assert_eq!(
        away(&pair, 160).await,
        [0, 2],
        "a visitor who left is absent, not away"
    );
    pair.store.note_seen("r", &[0], 170).await.unwrap();
    assert_eq!(away(&pair, 189).await, [2]);
    assert_eq!(
        away(&pair, 195).await,
        [1, 2],
        "a store may report a visitor as away a few seconds late, but never early"
    );
    let pair = open(true).await;
    if pair.outlives {
        assert_eq!(
            away(&pair, 200).await,
            [1, 2],
            "the server still knows when each visitor was last seen"
        );
        return;
    }
    assert!(
        away(&pair, 200).await.is_empty(),
        "presence is unknown after a restart"
    );
    assert_eq!(away(&pair, 260).await, [0, 1, 2]);
}
