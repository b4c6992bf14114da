//! Contract cases for visits: what visitors inside do, how their visits end, and when they are
//! called again.

use fairgate_pass::LEEWAY_S;

use super::*;
use crate::store::{EndedVisit, IdleVisitor, LapsedVisit, NotedBasket};

/// A pass of these cases ends at this time, unless the case says otherwise.
const EXP_S: i64 = 600;

/// Lets `people` join and calls the first `called` of them. The pace admits everybody who asks.
async fn call(store: &dyn RoomStore, people: u64, called: u64) {
    for at in 0..people {
        store.join("r", entrant(at)).await.unwrap();
    }
    let end = TickEnd {
        rate_u: Some(100 * VISITOR_U),
        ..tick(0, 1_000, 0..called, &[])
    };
    assert!(store.end_tick("r", end).await.unwrap());
}

async fn ask(store: &dyn RoomStore, number: u64, released: u64, now: i64) -> AdmissionDecision {
    let claimant = Claimant {
        released,
        max_inside: 1_000,
        ..claimant(number, now)
    };
    store.admit_claimant("r", claimant).await.unwrap()
}

async fn enter(store: &dyn RoomStore, number: u64, at_s: i64, exp_s: i64) {
    let claimed = RecordedPassClaim {
        number,
        reserved: Some(number),
        exp_s,
        at_s,
    };
    store.note_claim("r", claimed).await.unwrap();
}

async fn called_behind(store: &dyn RoomStore, of: u64) -> Option<u64> {
    let place = store.place_of("r", holder(of)).await.unwrap();
    place.expect("it has a place").called_behind
}

pub(super) async fn whoever_had_a_pass_is_called_behind_those_who_stood_in_line_when_it_ended(
    Pair { store, .. }: Pair,
) {
    let store = store.as_ref();
    call(store, 6, 2).await;
    assert_eq!(called_behind(store, 0).await, None);
    enter(store, 0, 1, 60).await;
    assert_eq!(
        called_behind(store, 0).await,
        Some(6),
        "if the pass ended now"
    );
    let over = 60 + LEEWAY_S;
    store.counts("r", over).await.unwrap();
    // Whoever joins later stands behind.
    for of in 6..9 {
        store.join("r", entrant(of)).await.unwrap();
    }
    assert_eq!(called_behind(store, 0).await, Some(6));
    let later = (over + 60) * 1_000;
    assert_eq!(ask(store, 0, 5, later).await, WAITS);
    let decision = ask(store, 0, 6, later).await;
    assert_eq!(decision, WAITS_FOR_A_TICK, "it needs a share of the pace");
    let share = TickEnd {
        rate_u: Some(100 * VISITOR_U),
        credit_u: 5 * VISITOR_U,
        ..tick(1_000, 2_000, 2..6, &[])
    };
    assert!(store.end_tick("r", share).await.unwrap());
    figures(store, later, &[]).await;
    let second = AdmissionDecision::Let { first: false };
    assert_eq!(ask(store, 0, 6, later + 2_000).await, second);
    enter(store, 0, over + 62, over + 122).await;
    assert_eq!(called_behind(store, 0).await, Some(9), "a new visit");
}

pub(super) async fn of_those_who_wait_again_whoever_came_out_first_enters_first(
    Pair { store, .. }: Pair,
) {
    let store = store.as_ref();
    call(store, 3, 3).await;
    for (number, exp_s) in [(2, 60), (0, 70), (1, 80)] {
        enter(store, number, 1, exp_s).await;
    }
    let over = (80 + LEEWAY_S) * 1_000;
    store.counts("r", over / 1_000).await.unwrap();
    // One visitor may be inside. The last one who came out asks first, and most often.
    let ask = async |number, now| {
        let claimant = Claimant {
            released: 3,
            max_inside: 1,
            ..claimant(number, now)
        };
        store.admit_claimant("r", claimant).await.unwrap()
    };
    let share = TickEnd {
        rate_u: Some(100 * VISITOR_U),
        credit_u: 5 * VISITOR_U,
        ..tick(1_000, over, 3..3, &[])
    };
    figures(store, over, &[]).await;
    for number in [1, 0, 2] {
        assert_eq!(ask(number, over).await, WAITS_FOR_A_TICK, "{number}");
    }
    assert!(store.end_tick("r", share).await.unwrap());
    for number in [1, 0, 1] {
        assert_eq!(ask(number, over + 1_500).await, WAITS, "{number}");
    }
    let enters = AdmissionDecision::Let { first: false };
    assert_eq!(ask(2, over + 1_600).await, enters);
}

pub(super) async fn a_visit_without_seats_that_fit_does_not_count_unless_it_makes_a_basket(
    Pair { store, .. }: Pair,
) {
    let store = store.as_ref();
    call(store, 5, 3).await;
    for number in 0..3 {
        enter(store, number, 1, 60).await;
    }
    store.excuse_visit("r", 0).await.unwrap();
    store.excuse_visit("r", 1).await.unwrap();
    let basket = NotedBasket {
        hold: "hold_x_1".into(),
        at: 2_000,
        in_checkout: false,
    };
    store.note_basket("r", 1, basket).await.unwrap();
    store.counts("r", 60 + LEEWAY_S).await.unwrap();
    let behind = [0, 1, 2].map(|of| called_behind(store, of));
    let behind = futures_util::future::join_all(behind).await;
    assert_eq!(behind, [Some(0), Some(5), Some(5)]);
}

pub(super) async fn a_buyer_who_wants_more_is_called_again_behind_the_line(
    Pair { store, .. }: Pair,
) {
    let store = store.as_ref();
    call(store, 4, 2).await;
    enter(store, 0, 1, EXP_S).await;
    store.mark_ticketed("r", 1, &[holder(0)]).await.unwrap();
    store.join("r", entrant(4)).await.unwrap();
    assert_eq!(called_behind(store, 0).await, Some(4));
    assert!(
        store
            .idle_visitors("r", 1_000, 10)
            .await
            .unwrap()
            .is_empty()
    );
}

pub(super) async fn visitors_who_do_nothing_are_found_the_longest_idle_first(
    Pair { store, .. }: Pair,
) {
    let store = store.as_ref();
    call(store, 5, 5).await;
    for number in 0..4 {
        enter(store, number, 100 + number as i64, EXP_S).await;
    }
    let idle = |number: u64, active_s| IdleVisitor {
        number,
        holder: holder(number),
        active_s,
        pass_exp_s: EXP_S,
    };
    let found = async |until_s, max| store.idle_visitors("r", until_s, max).await.unwrap();
    assert_eq!(found(99, 10).await, []);
    assert_eq!(found(101, 10).await, [idle(0, 100), idle(1, 101)]);
    // Number 4 is not inside. An earlier time changes nothing.
    let active = [(0, 150), (1, 90), (4, 150), (77, 150)];
    store.note_active("r", &active).await.unwrap();
    assert_eq!(
        found(149, 10).await,
        [idle(1, 101), idle(2, 102), idle(3, 103)]
    );
    assert_eq!(found(149, 2).await, [idle(1, 101), idle(2, 102)]);
    // The same pass again is no action, and whoever has left does nothing any more.
    note_claim_again(store, 2).await;
    store.leave("r", leaving(1, 120_000)).await.unwrap();
    assert_eq!(found(149, 10).await, [idle(2, 102), idle(3, 103)]);
    store.note_active("r", &[(2, 400)]).await.unwrap();
    assert_eq!(found(399, 10).await, [idle(3, 103), idle(0, 150)]);
}

async fn note_claim_again(store: &dyn RoomStore, number: u64) {
    let claimed = RecordedPassClaim {
        number,
        reserved: None,
        exp_s: EXP_S,
        at_s: 300,
    };
    store.note_claim("r", claimed).await.unwrap();
}

pub(super) async fn an_ended_visit_frees_its_entry_and_another_pass_goes_on(
    Pair { store, .. }: Pair,
) {
    let store = store.as_ref();
    call(store, 4, 4).await;
    enter(store, 0, 1, EXP_S).await;
    enter(store, 1, 1, EXP_S).await;
    let end = |number, pass_exp_s| EndedVisit {
        number,
        pass_exp_s,
        ended_s: 130,
    };
    let ended = [end(0, EXP_S), end(1, EXP_S - 1)];
    for _ in 0..2 {
        store.end_visits("r", &ended).await.unwrap();
    }
    let place = store.place_of("r", holder(0)).await.unwrap().unwrap();
    assert_eq!((place.pass_exp, place.called_behind), (Some(130), Some(4)));
    let other = store.place_of("r", holder(1)).await.unwrap().unwrap();
    assert_eq!(other.pass_exp, Some(EXP_S));
    let inside = async |now_s| store.counts("r", now_s).await.unwrap().inside;
    let free_s = ended[0].stopped_s();
    assert_eq!(
        inside(free_s - 1).await,
        2,
        "a node may still take the pass"
    );
    assert_eq!(inside(free_s).await, 1);
    let idle = store.idle_visitors("r", 1_000, 10).await.unwrap();
    assert_eq!(idle.iter().map(|idle| idle.number).collect::<Vec<_>>(), [1]);
}

pub(super) async fn each_basket_that_lapsed_counts_once_and_for_its_visit(
    Pair { store, .. }: Pair,
) {
    let store = store.as_ref();
    call(store, 3, 3).await;
    let lapse = async |of, hold: &str| store.note_lapse("r", holder(of), hold).await.unwrap();
    for hold in ["hold_x_1", "hold_x_2", "hold_x_3"] {
        let basket = NotedBasket {
            hold: hold.into(),
            at: 2_000,
            in_checkout: false,
        };
        store.note_basket("r", 0, basket).await.unwrap();
    }
    assert_eq!(lapse(0, "hold_x_1").await, None, "it never had a pass");
    enter(store, 0, 1, 60).await;
    let visit = |lapses, pass_exp_s| {
        Some(LapsedVisit {
            number: 0,
            lapses,
            pass_exp_s,
        })
    };
    for _ in 0..2 {
        assert_eq!(lapse(0, "hold_x_1").await, visit(1, 60));
    }
    assert_eq!(lapse(0, "hold_x_9").await, None, "nobody noted it");
    assert_eq!(lapse(1, "hold_x_2").await, None, "it is another visitor's");
    assert_eq!(lapse(0, "hold_x_2").await, visit(2, 60));
    enter(store, 0, 100, EXP_S).await;
    assert_eq!(lapse(0, "hold_x_3").await, visit(1, EXP_S), "a new visit");
}

pub(super) async fn after_a_restart_it_is_known_behind_whom_an_ended_visit_is_called(
    open: StoreOpener<'_>,
) {
    let pair = open(false).await;
    for at in 0..6 {
        let entrant = StoreJoinRequest {
            now: 10_000 * (at as i64 + 1),
            ..entrant(at)
        };
        pair.store.join("r", entrant).await.unwrap();
    }
    pair.store.flush_to_ledger("r").await.unwrap();
    // The pass of number 1 ended when numbers 0 to 3 had joined. That of number 2 lives.
    for (number, exp) in [(1, 45), (2, EXP_S)] {
        let row = crate::ledger::PassRow {
            number,
            rank: number,
            holder: holder(number),
            iat: 20,
            exp,
            jti: format!("pass_{number}"),
        };
        pair.ledger.claim("r", row, 20).await.unwrap();
        enter(pair.store.as_ref(), number, 20, exp).await;
    }
    pair.store.counts("r", 61).await.unwrap();
    let pair = open(true).await;
    let store = pair.store.as_ref();
    store.counts("r", 62).await.unwrap();
    let expected = if pair.outlives { 6 } else { 4 };
    assert_eq!(called_behind(store, 1).await, Some(expected));
    assert_eq!(called_behind(store, 2).await, Some(6));
    let idle = store.idle_visitors("r", 61, 10).await.unwrap();
    assert!(pair.outlives || idle.is_empty(), "{idle:?}");
    let idle = store.idle_visitors("r", 62, 10).await.unwrap();
    assert_eq!(idle.iter().map(|idle| idle.number).collect::<Vec<_>>(), [2]);
}
