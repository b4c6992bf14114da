//! Cases of deadlines: which holds lapse, when, and how an order keeps a hold from lapsing.

use fairgate_model::holds::HoldSignalState::{Lapsed, Ordered, Short};

use super::*;
use crate::store::{InventoryRefusal, PROLONGED_BY_MS_MIN};

pub(super) const CASES: &[Case] = cases![
    a_hold_lapses_on_time_and_not_before,
    an_extended_hold_lapses_at_its_new_deadline,
    a_sweep_frees_a_bounded_batch_and_reports_that_more_is_due,
    lapsing_frees_no_cell_that_was_sold_meanwhile,
    securing_a_hold_moves_its_lock_beyond_the_baskets_deadline,
    securing_again_moves_the_deadline_and_a_secured_hold_refuses_changes,
    securing_a_hold_that_lost_cells_is_refused_and_names_the_cells,
    an_unsecured_hold_is_a_basket_and_lapses,
    undoing_one_secure_call_does_not_shorten_the_lock_of_the_next_call,
    a_prolonged_lock_lasts_until_its_new_deadline,
    the_lapsed_hold_of_an_order_is_locked_again_and_counted_once,
    the_lapsed_hold_of_an_order_takes_no_cells_of_another_hold,
    the_lapsed_hold_of_an_order_is_not_locked_again_after_a_later_decision,
    prolonging_an_ended_order_does_not_change_a_basket_with_the_same_id,
    the_list_of_holds_with_orders_has_no_baskets,
    the_owner_gets_signals_that_a_hold_is_ordered_short_or_lapsed,
];

async fn lapsed(store: &Store, now_ms: i64) -> Vec<HoldId> {
    store.sweep(now_ms, 100).await.lapsed
}

async fn a_hold_lapses_on_time_and_not_before(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[0]).await;
    assert!(lapsed(&store, LOCK_MS - 1).await.is_empty());
    assert_eq!(store.hold(&hold.id, ANA).await, Ok(hold.clone()));
    assert_eq!(
        lapsed(&store, LOCK_MS).await,
        std::slice::from_ref(&hold.id)
    );
    assert!(
        lapsed(&store, LOCK_MS).await.is_empty(),
        "a hold lapses once"
    );
    assert_eq!(store.hold(&hold.id, ANA).await, Err(InventoryRefusal::Gone));
    assert_eq!(seat(&store, 0).await, CellState::Free);
    assert!(
        store.take(basket("b", ANA, &[0]), 1).await.is_ok(),
        "a lapsed hold does not count towards the limit"
    );
}

async fn an_extended_hold_lapses_at_its_new_deadline(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[0]).await;
    let extended = store
        .extend(&hold.id, ANA, call(1), EXPIRES_MS + 500, LOCK_MS + 500)
        .await;
    assert!(extended.is_ok());
    assert!(lapsed(&store, LOCK_MS + 499).await.is_empty());
    assert_eq!(lapsed(&store, LOCK_MS + 500).await, [hold.id]);
}

async fn a_sweep_frees_a_bounded_batch_and_reports_that_more_is_due(store: Store) {
    opened(&store).await;
    for n in 0..5 {
        taken(&store, &n.to_string(), ANA, &[n]).await;
    }
    let mut freed = Vec::new();
    for (count, more) in [(2, true), (2, true)] {
        let swept = store.sweep(LOCK_MS, 2).await;
        assert_eq!((swept.lapsed.len(), swept.more), (count, more));
        freed.extend(swept.lapsed);
    }
    freed.extend(lapsed(&store, LOCK_MS).await);
    freed.sort();
    freed.dedup();
    assert_eq!(freed.len(), 5);
    assert!(!store.sweep(LOCK_MS, 2).await.more);
}

async fn lapsing_frees_no_cell_that_was_sold_meanwhile(store: Store) {
    opened(&store).await;
    taken(&store, "a", ANA, &[0, 1]).await;
    let sell = row(1, SeatOutboxAction::Sell, "b", BEN, &[1]);
    assert!(store.deliver(&show(), &[sell]).await.is_ok());
    assert_eq!(lapsed(&store, LOCK_MS).await.len(), 1);
    assert_eq!(seat(&store, 0).await, CellState::Free);
    assert_eq!(seat(&store, 1).await, CellState::Sold);
}

async fn securing_a_hold_moves_its_lock_beyond_the_baskets_deadline(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[0]).await;
    let until = LOCK_MS + 90_000;
    let secured = secured(&store, &hold.id, ANA, until)
        .await
        .expect("the visitor's own hold");
    assert_eq!(
        (secured.stage, secured.lock_until_ms, secured.expires_at_ms),
        (HoldStage::Ordered, until, EXPIRES_MS)
    );
    assert!(lapsed(&store, until - 1).await.is_empty());
    assert_eq!(seat(&store, 0).await, CellState::Held);
    assert_eq!(
        lapsed(&store, until).await,
        [hold.id],
        "the lock of an order ends, too, if nobody prolongs it"
    );
}

async fn securing_again_moves_the_deadline_and_a_secured_hold_refuses_changes(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[0]).await;
    let first = secured(&store, &hold.id, ANA, LOCK_MS + 1_000).await;
    let first = first.expect("the visitor's own hold");
    for (asked_ms, until_ms) in [(9_000, 9_000), (9_000, 9_001), (0, 9_002)] {
        let again = secured(&store, &hold.id, ANA, LOCK_MS + asked_ms).await;
        let expected = Hold {
            lock_until_ms: LOCK_MS + until_ms,
            ..first.clone()
        };
        assert_eq!(again, Ok(expected), "each call sets a later deadline");
    }
    let last = store.hold(&hold.id, ANA).await;
    let ordered = Err(InventoryRefusal::Ordered);
    let changed = store
        .change(&hold.id, ANA, seats(&[1]), vec![], false, NO_LIMIT)
        .await;
    assert_eq!(changed, ordered.clone());
    assert_eq!(
        store
            .extend(&hold.id, ANA, call(1), i64::MAX, i64::MAX)
            .await,
        ordered
    );
    assert_eq!(
        store.release(&hold.id, ANA, BASKET).await,
        Err(InventoryRefusal::Ordered)
    );
    assert_eq!(
        store.take(basket("a", ANA, &[0]), NO_LIMIT).await,
        last,
        "a repeated take returns the secured hold"
    );
    assert_eq!(seat(&store, 0).await, CellState::Held);
}

async fn securing_a_hold_that_lost_cells_is_refused_and_names_the_cells(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[0, 1]).await;
    let sell = row(1, SeatOutboxAction::Sell, "b", BEN, &[1]);
    assert!(store.deliver(&show(), &[sell]).await.is_ok());
    let before = picture(&store).await;
    let refused = secured(&store, &hold.id, ANA, LOCK_MS + 1_000).await;
    assert_eq!(refused, Err(InventoryRefusal::Taken(vec![1, 9])));
    assert_eq!(picture(&store).await, before);
    let still = store.hold(&hold.id, ANA).await.expect("the hold exists");
    assert_eq!(
        (still.stage, still.lock_until_ms),
        (HoldStage::Basket, LOCK_MS)
    );
}

async fn an_unsecured_hold_is_a_basket_and_lapses(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[0]).await;
    assert!(
        secured(&store, &hold.id, ANA, LOCK_MS + 90_000)
            .await
            .is_ok()
    );
    store.unsecure(&hold.id, LOCK_MS + 90_000, LOCK_MS).await;
    assert_eq!(
        store.hold(&hold.id, ANA).await.map(|hold| hold.stage),
        Ok(HoldStage::Basket)
    );
    assert_eq!(lapsed(&store, LOCK_MS).await, [hold.id]);
    let hold = taken(&store, "b", ANA, &[0]).await;
    assert!(secured(&store, &hold.id, ANA, i64::MAX - 1).await.is_ok());
    store.unsecure(&hold.id, i64::MAX - 1, LOCK_MS).await;
    assert_eq!(store.release(&hold.id, ANA, BASKET).await, Ok(()));
    assert_eq!(seat(&store, 0).await, CellState::Free);
}

async fn undoing_one_secure_call_does_not_shorten_the_lock_of_the_next_call(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[0]).await;
    let secure = async || secured(&store, &hold.id, ANA, LOCK_MS + 1_000).await;
    let first = secure().await.expect("the visitor's own hold");
    let second = secure().await.expect("the visitor's own hold");
    store.unsecure(&hold.id, first.lock_until_ms, LOCK_MS).await;
    assert_eq!(store.hold(&hold.id, ANA).await, Ok(second.clone()));
    assert!(lapsed(&store, LOCK_MS).await.is_empty());
    store
        .unsecure(&hold.id, second.lock_until_ms, LOCK_MS)
        .await;
    assert_eq!(lapsed(&store, LOCK_MS).await, [hold.id]);
}

/// Builds the hold of an order as the ledger returns it. Its lock must last until `lock_until_ms`.
fn ordered(key: &str, of: &[u32], lock_until_ms: i64) -> Hold {
    Hold {
        lock_until_ms,
        extensions_left: 0,
        stage: HoldStage::Ordered,
        ..basket(key, ANA, of)
    }
}

async fn a_prolonged_lock_lasts_until_its_new_deadline(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[0]).await;
    assert!(secured(&store, &hold.id, ANA, LOCK_MS).await.is_ok());
    let before = picture(&store).await;
    let until_ms = LOCK_MS + PROLONGED_BY_MS_MIN;
    for asked_ms in [until_ms, until_ms + PROLONGED_BY_MS_MIN - 1, LOCK_MS] {
        let asked = ordered("a", &[0], asked_ms);
        assert_eq!(store.prolong(asked, 0).await, Ok(()));
        let now = store.hold(&hold.id, ANA).await.expect("the hold exists");
        assert_eq!(
            (now.stage, now.lock_until_ms),
            (HoldStage::Ordered, until_ms)
        );
    }
    assert_eq!(picture(&store).await, before, "the picture does not change");
    assert!(lapsed(&store, until_ms - 1).await.is_empty());
    assert_eq!(lapsed(&store, until_ms).await, [hold.id]);
    assert_eq!(seat(&store, 0).await, CellState::Free);
}

async fn the_lapsed_hold_of_an_order_is_locked_again_and_counted_once(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[0, 1]).await;
    assert!(secured(&store, &hold.id, ANA, LOCK_MS).await.is_ok());
    assert_eq!(lapsed(&store, LOCK_MS).await.len(), 1);
    for _ in 0..2 {
        let again = ordered("a", &[0, 1], LOCK_MS * 2);
        assert_eq!(store.prolong(again, 0).await, Ok(()));
    }
    let now = store
        .hold(&hold.id, ANA)
        .await
        .expect("the hold exists again");
    assert_eq!((now.stage, now.items), (HoldStage::Ordered, hold.items));
    assert_eq!(seat(&store, 0).await, CellState::Held);
    let third = store.take(basket("b", ANA, &[2]), 2).await;
    assert_eq!(third, Err(InventoryRefusal::Limit { have: 2, limit: 2 }));
    // The ledger's next decision applies to this hold as to any other.
    let sell = row(1, SeatOutboxAction::Sell, "a", ANA, &[0, 1]);
    assert_eq!(store.deliver(&show(), &[sell]).await, Ok(1));
    assert_eq!(seat(&store, 1).await, CellState::Sold);
    assert!(lapsed(&store, i64::MAX).await.is_empty());
}

async fn the_lapsed_hold_of_an_order_takes_no_cells_of_another_hold(store: Store) {
    opened(&store).await;
    let theirs = taken(&store, "theirs", BEN, &[1]).await;
    let before = picture(&store).await;
    let again = store.prolong(ordered("a", &[0, 1], LOCK_MS * 2), 0).await;
    assert_eq!(again, Err(InventoryRefusal::Taken(vec![1, 9])));
    assert_eq!(picture(&store).await, before);
    // While somebody waits, freed cells are kept for the waitlist. The order still gets the kept
    // cells.
    assert_eq!(store.keep_freed(&show(), LOCK_MS * 4).await, Ok(vec![]));
    assert_eq!(store.release(&theirs.id, BEN, BASKET).await, Ok(()));
    let again = store.prolong(ordered("a", &[0, 1], LOCK_MS * 2), 0).await;
    assert_eq!(again, Ok(()));
    assert_eq!(store.keep_freed(&show(), LOCK_MS * 4).await, Ok(vec![]));
    assert_eq!(seat(&store, 0).await, CellState::Held);
}

async fn the_lapsed_hold_of_an_order_is_not_locked_again_after_a_later_decision(store: Store) {
    opened(&store).await;
    let free = row(1, SeatOutboxAction::Free, "a", ANA, &[0]);
    assert_eq!(store.deliver(&show(), &[free]).await, Ok(1));
    let again = |cursor| store.prolong(ordered("a", &[0], LOCK_MS * 2), cursor);
    assert_eq!(again(0).await, Err(InventoryRefusal::NotReady));
    assert_eq!(seat(&store, 0).await, CellState::Free);
    assert_eq!(again(1).await, Ok(()));
    assert_eq!(seat(&store, 0).await, CellState::Held);
}

async fn prolonging_an_ended_order_does_not_change_a_basket_with_the_same_id(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[0]).await;
    let late = ordered("a", &[0], LOCK_MS * 2);
    assert_eq!(store.prolong(late, 0).await, Ok(()));
    assert_eq!(store.hold(&hold.id, ANA).await, Ok(hold.clone()));
    assert_eq!(lapsed(&store, LOCK_MS).await, [hold.id]);
}

async fn the_list_of_holds_with_orders_has_no_baskets(store: Store) {
    opened(&store).await;
    taken(&store, "basket", BEN, &[1]).await;
    assert!(store.holds_locked_for_orders().await.is_empty());
    let hold = taken(&store, "a", ANA, &[0]).await;
    let until_ms = LOCK_MS + 1_000;
    assert!(secured(&store, &hold.id, ANA, until_ms).await.is_ok());
    // A process lists only holds that it has read, so the test reads the show first.
    assert_eq!(seat(&store, 0).await, CellState::Held);
    let secured = SecuredHold {
        hold: hold.id.clone(),
        expires_at_ms: EXPIRES_MS,
        lock_until_ms: until_ms,
    };
    assert_eq!(store.holds_locked_for_orders().await, [secured]);
    store.unsecure(&hold.id, until_ms, LOCK_MS).await;
    assert_eq!(seat(&store, 0).await, CellState::Held);
    assert!(store.holds_locked_for_orders().await.is_empty());
}

async fn the_owner_gets_signals_that_a_hold_is_ordered_short_or_lapsed(store: Store) {
    opened(&store).await;
    let mut signals = store.signals();
    let kept = taken(&store, "kept", ANA, &[0]).await;
    let left = taken(&store, "left", BEN, &[1]).await;
    assert!(secured(&store, &kept.id, ANA, LOCK_MS * 2).await.is_ok());
    store.sweep(EXPIRES_MS - 1, 100).await;
    store.sweep(LOCK_MS, 100).await;
    let mut received = Vec::new();
    for _ in 0..3 {
        let signal = signals.recv().await.expect("three signals");
        received.push((signal.hold, signal.visitor, signal.state));
    }
    assert_eq!(
        received,
        [
            (kept.id, ANA, Ordered),
            (left.id.clone(), BEN, Short),
            (left.id, BEN, Lapsed),
        ]
    );
}
