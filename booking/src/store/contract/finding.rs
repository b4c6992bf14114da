//! Cases of finding a visitor's holds, as a device does to which the visitor brought the place.

use super::*;
use crate::store::{InventoryRefusal, PROLONGED_BY_MS_MIN};

pub(super) const CASES: &[Case] = cases![
    a_visitor_finds_their_own_holds_as_they_are_and_no_others,
    a_visitor_finds_the_hold_of_a_pending_order_after_an_opening_and_after_a_lapse,
];

async fn own(store: &Store, visitor: Holder) -> Vec<Hold> {
    let own = store.holds_of(&show(), visitor).await;
    own.expect("the show is open")
}

async fn a_visitor_finds_their_own_holds_as_they_are_and_no_others(store: Store) {
    let unopened = store.holds_of(&show(), ANA).await;
    assert_eq!(unopened, Err(InventoryRefusal::NotReady));
    opened(&store).await;
    assert!(own(&store, ANA).await.is_empty());
    let first = taken(&store, "a", ANA, &[0]).await;
    taken(&store, "ben", BEN, &[7]).await;
    let second = taken(&store, "b", ANA, &[1, 2]).await;
    taken(&store, "a", ANA, &[0]).await;
    let extended = store
        .extend(&first.id, ANA, call(1), EXPIRES_MS + 500, LOCK_MS + 500)
        .await
        .expect("an extension is left");
    let changed = store
        .change(&second.id, ANA, seats(&[3]), vec![1], false, NO_LIMIT)
        .await
        .expect("the seat is free");
    assert_eq!(own(&store, ANA).await, [changed, extended]);
    let secured = secured(&store, &first.id, ANA, LOCK_MS + 900).await;
    let ordered = secured.expect("a basket");
    assert_eq!(own(&store, ANA).await[1], ordered);
    // What is sold, given back or lapsed is no hold any more.
    let sell = row(1, SeatOutboxAction::Sell, "a", ANA, &[0]);
    store.deliver(&show(), &[sell]).await.expect("the next row");
    assert_eq!(own(&store, ANA).await.len(), 1);
    let released = store.release(&second.id, ANA, BASKET).await;
    assert_eq!(released, Ok(()));
    assert!(own(&store, ANA).await.is_empty());
    assert_eq!(own(&store, BEN).await.len(), 1, "Ben still has his");
    store.sweep(LOCK_MS, 100).await;
    assert!(own(&store, BEN).await.is_empty());
}

async fn a_visitor_finds_the_hold_of_a_pending_order_after_an_opening_and_after_a_lapse(
    store: Store,
) {
    let pending = Hold {
        stage: HoldStage::Ordered,
        ..basket("a", ANA, &[4])
    };
    let opening = OpeningInventory {
        ordered: vec![pending.clone()],
        ..opening()
    };
    begin_and_open(&store, opening).await;
    let found: Vec<HoldId> = own(&store, ANA)
        .await
        .into_iter()
        .map(|hold| hold.id)
        .collect();
    assert_eq!(found, std::slice::from_ref(&pending.id));
    store.sweep(LOCK_MS, 100).await;
    assert!(own(&store, ANA).await.is_empty());
    let later = Hold {
        lock_until_ms: LOCK_MS + PROLONGED_BY_MS_MIN,
        ..pending
    };
    store.prolong(later, 0).await.expect("its cell is free");
    assert_eq!(own(&store, ANA).await.len(), 1);
}
