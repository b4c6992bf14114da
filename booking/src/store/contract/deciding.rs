//! Cases of the ledger's decisions, and of shows that are opened from the ledger's picture. The
//! store carries out each decision once, and all of them in order.

use super::*;
use crate::store::InventoryRefusal;
use SeatOutboxAction::{Free, Sell};

pub(super) const CASES: &[Case] = cases![
    selling_a_hold_sells_its_seats_and_removes_the_hold,
    rows_are_carried_out_in_order_and_once,
    rows_after_a_gap_are_not_carried_out,
    seats_of_a_hold_that_its_order_did_not_buy_become_free,
    selling_overrides_the_lock_of_another_hold,
    freeing_an_order_removes_only_the_orders_own_locks,
    freeing_a_sold_order_frees_its_seats_and_lowers_the_visitors_count,
    freeing_a_part_of_an_order_frees_its_seats_and_lowers_the_visitors_count,
    freeing_a_part_of_an_order_leaves_freed_seats_that_somebody_else_took,
    a_seat_that_an_exchange_keeps_is_counted_once,
    freeing_an_expired_order_does_not_lower_the_count_of_bought_seats,
    a_show_opens_from_the_ledgers_picture,
    securing_a_hold_returns_the_life_of_its_lock,
    nothing_is_locked_between_begin_and_open,
    a_show_with_baskets_is_not_replaced,
    holds_on_an_older_plan_end_where_the_opening_says_so,
    a_show_is_replaced_if_the_picture_has_all_its_holds,
    a_picture_without_a_secured_hold_does_not_replace_the_show,
    an_abandoned_show_is_closed_until_it_is_opened_again,
];

async fn deliver(store: &Store, rows: &[SeatOutboxRow]) {
    let newest = rows.last().expect("some rows").seq;
    let delivered = store.deliver(&show(), rows).await.expect("open");
    assert!(
        delivered >= newest,
        "only {delivered} of {newest} rows were carried out"
    );
}

async fn seats_counted(store: &Store, visitor: Holder, limit: u32) -> Option<u32> {
    // Taking all seats exceeds the limit. The refusal contains the count, and nothing changes.
    let all: Vec<u32> = (0..GRID.seats).collect();
    match store.take(basket("probe", visitor, &all), limit).await {
        Err(InventoryRefusal::Limit { have, .. }) => Some(have),
        _ => None,
    }
}

async fn selling_a_hold_sells_its_seats_and_removes_the_hold(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[0, 1]).await;
    assert!(secured(&store, &hold.id, ANA, LOCK_MS * 2).await.is_ok());
    deliver(&store, &[row(1, Sell, "a", ANA, &[0, 1])]).await;
    assert_eq!(seat(&store, 0).await, CellState::Sold);
    assert_eq!(store.hold(&hold.id, ANA).await, Err(InventoryRefusal::Gone));
    assert!(store.sweep(i64::MAX, 100).await.lapsed.is_empty());
    assert_eq!(seat(&store, 1).await, CellState::Sold);
    assert_eq!(seats_counted(&store, ANA, 4).await, Some(2), "counted once");
}

async fn rows_are_carried_out_in_order_and_once(store: Store) {
    opened(&store).await;
    let rows = [
        row(1, Sell, "a", ANA, &[0]),
        row(2, Free, "a", ANA, &[0]),
        row(3, Sell, "b", BEN, &[0]),
    ];
    deliver(&store, &rows).await;
    let before = picture(&store).await;
    deliver(&store, &rows).await;
    deliver(&store, &rows[1..2]).await;
    assert_eq!(picture(&store).await, before, "repeated rows do nothing");
    assert_eq!(seat(&store, 0).await, CellState::Sold);
    assert_eq!(seats_counted(&store, ANA, 4).await, Some(0));
    assert_eq!(seats_counted(&store, BEN, 4).await, Some(1));
}

async fn rows_after_a_gap_are_not_carried_out(store: Store) {
    opened(&store).await;
    deliver(&store, &[row(1, Sell, "a", ANA, &[0])]).await;
    let before = picture(&store).await;
    let later = [row(3, Sell, "b", BEN, &[1]), row(4, Sell, "c", BEN, &[2])];
    assert_eq!(store.deliver(&show(), &later).await, Ok(1));
    assert_eq!(
        store.deliver(&show(), &[]).await,
        Ok(1),
        "the newest row carried out"
    );
    assert_eq!(picture(&store).await, before);
    deliver(&store, &[row(2, Sell, "d", BEN, &[3])]).await;
    assert_eq!(store.deliver(&show(), &later).await, Ok(4));
    assert_eq!(seat(&store, 1).await, CellState::Sold);
}

async fn seats_of_a_hold_that_its_order_did_not_buy_become_free(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[0, 1]).await;
    assert!(secured(&store, &hold.id, ANA, LOCK_MS * 2).await.is_ok());
    deliver(&store, &[row(1, Sell, "a", ANA, &[0])]).await;
    assert_eq!(seat(&store, 0).await, CellState::Sold);
    assert_eq!(seat(&store, 1).await, CellState::Free);
    assert!(store.take(basket("b", BEN, &[1]), NO_LIMIT).await.is_ok());
}

async fn selling_overrides_the_lock_of_another_hold(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[0, 1]).await;
    deliver(&store, &[row(1, Sell, "b", BEN, &[0])]).await;
    assert_eq!(seat(&store, 0).await, CellState::Sold);
    assert_eq!(seat(&store, 1).await, CellState::Held);
    assert_eq!(store.release(&hold.id, ANA, BASKET).await, Ok(()));
    assert_eq!(
        seat(&store, 0).await,
        CellState::Sold,
        "the hold no longer has this seat"
    );
    assert_eq!(seat(&store, 1).await, CellState::Free);
}

async fn freeing_an_order_removes_only_the_orders_own_locks(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[0, 1]).await;
    assert!(secured(&store, &hold.id, ANA, LOCK_MS).await.is_ok());
    store.sweep(LOCK_MS, 100).await;
    taken(&store, "b", BEN, &[1]).await;
    deliver(&store, &[row(1, Free, "a", ANA, &[0, 1])]).await;
    assert_eq!(seat(&store, 0).await, CellState::Free);
    assert_eq!(
        seat(&store, 1).await,
        CellState::Held,
        "another hold has this seat"
    );
    let hold = taken(&store, "c", ANA, &[4]).await;
    assert!(secured(&store, &hold.id, ANA, LOCK_MS * 2).await.is_ok());
    deliver(&store, &[row(2, Free, "c", ANA, &[4])]).await;
    assert_eq!(seat(&store, 4).await, CellState::Free);
    assert_eq!(store.hold(&hold.id, ANA).await, Err(InventoryRefusal::Gone));
    assert_eq!(seats_counted(&store, ANA, 4).await, Some(0));
}

async fn freeing_a_sold_order_frees_its_seats_and_lowers_the_visitors_count(store: Store) {
    opened(&store).await;
    deliver(&store, &[row(1, Sell, "a", ANA, &[0, 1])]).await;
    assert_eq!(seats_counted(&store, ANA, 4).await, Some(2));
    deliver(&store, &[row(2, Free, "a", ANA, &[0, 1])]).await;
    assert_eq!(seat(&store, 0).await, CellState::Free);
    assert_eq!(seats_counted(&store, ANA, 4).await, Some(0));
}

async fn freeing_a_part_of_an_order_frees_its_seats_and_lowers_the_visitors_count(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[0, 1, 2]).await;
    assert!(secured(&store, &hold.id, ANA, LOCK_MS * 2).await.is_ok());
    deliver(&store, &[row(1, Sell, "a", ANA, &[0, 1, 2])]).await;
    for _ in 0..2 {
        deliver(&store, &[row(2, Free, "a", ANA, &[1])]).await;
        assert_eq!(seat(&store, 1).await, CellState::Free);
        assert_eq!(seat(&store, 0).await, CellState::Sold);
        assert_eq!(seat(&store, 2).await, CellState::Sold);
        assert_eq!(seats_counted(&store, ANA, 4).await, Some(2));
    }
    deliver(&store, &[row(3, Free, "a", ANA, &[0, 2])]).await;
    assert_eq!(seats_counted(&store, ANA, 4).await, Some(0));
    taken(&store, "b", BEN, &[0, 1, 2]).await;
}

async fn a_seat_that_an_exchange_keeps_is_counted_once(store: Store) {
    opened(&store).await;
    let over = |legs: std::ops::Range<u16>| HeldSeat {
        legs,
        ..seats(&[0])[0].clone()
    };
    let item_row = |seq, kind, key: &str, item: HeldSeat| SeatOutboxRow {
        items: vec![item],
        ..row(seq, kind, key, ANA, &[])
    };
    deliver(&store, &[item_row(1, Sell, "a", over(0..1))]).await;
    // The journey becomes longer: the visitor gains a cell and keeps the seat.
    let hold = Hold {
        items: vec![over(1..2)],
        ..basket("b", ANA, &[])
    };
    let held = store.take(hold, NO_LIMIT).await.expect("the cell is free");
    assert!(secured(&store, &held.id, ANA, LOCK_MS * 2).await.is_ok());
    let sold = item_row(2, Sell, "b", over(1..2));
    deliver(&store, &[sold, item_row(3, Free, "a", over(0..0))]).await;
    assert_eq!(seat(&store, 0).await, CellState::Sold);
    assert_eq!(seats_counted(&store, ANA, 4).await, Some(1));
    // The journey becomes shorter again. The visitor needs no new cell for that, so the hold has no
    // cells.
    let hold = Hold {
        items: vec![over(0..0)],
        ..basket("c", ANA, &[])
    };
    let held = store.take(hold.clone(), NO_LIMIT).await;
    assert_eq!(
        held.expect("a hold without cells is never refused").items,
        hold.items
    );
    assert!(secured(&store, &hold.id, ANA, LOCK_MS * 2).await.is_ok());
    let sold = item_row(4, Sell, "c", over(0..0));
    deliver(&store, &[sold, item_row(5, Free, "b", over(1..2))]).await;
    let states = states(&store).await;
    let of: Vec<CellState> = GRID
        .cells_of(0, 0..GRID.legs)
        .map(|cell| states[cell as usize])
        .collect();
    assert_eq!(of, [CellState::Sold, CellState::Free]);
    assert_eq!(seats_counted(&store, ANA, 4).await, Some(1));
}

async fn freeing_a_part_of_an_order_leaves_freed_seats_that_somebody_else_took(store: Store) {
    let sold = OpeningInventory {
        sold: vec![(ANA, seats(&[0, 1]))],
        cursor: 4,
        ..opening()
    };
    begin_and_open(&store, sold).await;
    deliver(&store, &[row(5, Free, "a", ANA, &[0])]).await;
    let hold = taken(&store, "b", BEN, &[0]).await;
    deliver(&store, &[row(6, Free, "a", ANA, &[1])]).await;
    assert_eq!(seat(&store, 0).await, CellState::Held);
    assert_eq!(store.hold(&hold.id, BEN).await, Ok(hold));
    assert_eq!(seat(&store, 1).await, CellState::Free);
    assert_eq!(seats_counted(&store, ANA, 4).await, Some(0));
}

async fn freeing_an_expired_order_does_not_lower_the_count_of_bought_seats(store: Store) {
    opened(&store).await;
    deliver(&store, &[row(1, Sell, "bought", ANA, &[0, 1])]).await;
    let hold = taken(&store, "late", ANA, &[2, 3]).await;
    assert!(secured(&store, &hold.id, ANA, LOCK_MS).await.is_ok());
    // The ledger did not answer for so long that the sweep freed the lock first.
    store.sweep(LOCK_MS, 100).await;
    deliver(&store, &[row(2, Free, "late", ANA, &[2, 3])]).await;
    assert_eq!(seats_counted(&store, ANA, 4).await, Some(2));
}

async fn a_show_opens_from_the_ledgers_picture(store: Store) {
    let pending = Hold {
        stage: HoldStage::Ordered,
        ..basket("pending", BEN, &[3])
    };
    let from = OpeningInventory {
        incarnation: 4,
        blocked: vec![7, 15],
        sold: vec![(ANA, seats(&[0, 1]))],
        ordered: vec![pending.clone()],
        cursor: 20,
        ..opening()
    };
    begin_and_open(&store, from).await;
    for (index, state) in [
        (0, CellState::Sold),
        (1, CellState::Sold),
        (2, CellState::Free),
        (3, CellState::Held),
        (7, CellState::Blocked),
    ] {
        assert_eq!(seat(&store, index).await, state, "seat {index}");
    }
    assert_eq!(store.hold(&pending.id, BEN).await, Ok(pending.clone()));
    let refused = store.take(basket("x", BEN, &[7]), NO_LIMIT).await;
    assert_eq!(
        refused,
        Err(InventoryRefusal::Taken(vec![7, 15])),
        "not for sale"
    );
    assert_eq!(seats_counted(&store, ANA, 4).await, Some(2));
    assert_eq!(seats_counted(&store, BEN, 4).await, Some(1));
    deliver(&store, &[row(20, Free, "pending", BEN, &[3])]).await;
    assert_eq!(
        seat(&store, 3).await,
        CellState::Held,
        "the picture already contained row 20"
    );
    deliver(&store, &[row(21, Sell, "pending", BEN, &[3])]).await;
    assert_eq!(seat(&store, 3).await, CellState::Sold);
}

async fn securing_a_hold_returns_the_life_of_its_lock(store: Store) {
    let fourth = OpeningInventory {
        incarnation: 4,
        ..opening()
    };
    begin_and_open(&store, fourth).await;
    let hold = taken(&store, "a", ANA, &[2]).await;
    for until_ms in [LOCK_MS * 2, LOCK_MS * 3] {
        let claimable = store.secure(&hold.id, ANA, BASKET, until_ms).await;
        assert_eq!(claimable.expect("the visitor's own hold").incarnation, 4);
    }
}

async fn nothing_is_locked_between_begin_and_open(store: Store) {
    let not_begun = store.open(&show(), opening()).await;
    assert_eq!(
        not_begun,
        Err(InventoryRefusal::NotReady),
        "no life is live"
    );
    opened(&store).await;
    let next = || OpeningInventory {
        incarnation: 2,
        ..opening()
    };
    let hold = taken(&store, "a", ANA, &[2]).await;
    let before = picture(&store).await;
    let refused = store.begin(&show(), &next()).await;
    assert_eq!(refused, Err(InventoryRefusal::Taken(vec![2, 10])));
    assert_eq!(picture(&store).await, before);
    assert_eq!(store.release(&hold.id, ANA, BASKET).await, Ok(()));
    for _ in 0..2 {
        assert_eq!(store.begin(&show(), &next()).await, Ok(()));
        let early = store.take(basket("b", BEN, &[2]), NO_LIMIT).await;
        assert_eq!(early, Err(InventoryRefusal::NotReady));
    }
    assert_eq!(store.open(&show(), next()).await, Ok(()));
    taken(&store, "c", BEN, &[2]).await;
}

async fn a_show_with_baskets_is_not_replaced(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[2]).await;
    let before = picture(&store).await;
    let next = OpeningInventory {
        incarnation: 2,
        plan_version: PLAN + 1,
        ..opening()
    };
    let refused = store.open(&show(), next).await;
    assert_eq!(refused, Err(InventoryRefusal::Taken(vec![2, 10])));
    assert_eq!(picture(&store).await, before);
    assert_eq!(store.hold(&hold.id, ANA).await, Ok(hold));
}

async fn holds_on_an_older_plan_end_where_the_opening_says_so(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[2]).await;
    let same_plan = OpeningInventory {
        incarnation: 2,
        ends_older_holds: true,
        ..opening()
    };
    let refused = store.begin(&show(), &same_plan).await;
    assert_eq!(refused, Err(InventoryRefusal::Taken(vec![2, 10])));
    assert_eq!(store.hold(&hold.id, ANA).await, Ok(hold.clone()));
    let next = OpeningInventory {
        plan_version: PLAN + 1,
        ..same_plan
    };
    assert_eq!(store.begin(&show(), &next).await, Ok(()));
    assert_eq!(store.open(&show(), next).await, Ok(()));
    let ended = store.hold(&hold.id, ANA).await;
    assert_eq!(ended, Err(InventoryRefusal::Gone));
    let again = Hold {
        plan_version: PLAN + 1,
        ..basket("b", BEN, &[2])
    };
    assert!(
        store.take(again, NO_LIMIT).await.is_ok(),
        "its seat is free"
    );
}

async fn a_show_is_replaced_if_the_picture_has_all_its_holds(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[2]).await;
    let secured = secured(&store, &hold.id, ANA, LOCK_MS * 2).await;
    let secured = secured.expect("the visitor's own hold");
    let (before, _) = picture(&store).await;
    let next = OpeningInventory {
        incarnation: 2,
        plan_version: PLAN + 1,
        ordered: vec![secured.clone()],
        ..opening()
    };
    store
        .open(&show(), next)
        .await
        .expect("the picture has the only hold");
    assert!(picture(&store).await.0 > before, "versions never decrease");
    assert_eq!(store.hold(&hold.id, ANA).await, Ok(secured));
    let old = store.take(basket("b", ANA, &[4]), NO_LIMIT).await;
    assert_eq!(old, Err(InventoryRefusal::PlanChanged));
}

async fn a_picture_without_a_secured_hold_does_not_replace_the_show(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[2]).await;
    // The hold is secured, and its claim is on the way to the ledger. The picture was read before
    // the claim arrived.
    let secured = secured(&store, &hold.id, ANA, LOCK_MS * 2).await;
    let next = || OpeningInventory {
        incarnation: 2,
        ..opening()
    };
    let refused = store.open(&show(), next()).await;
    assert_eq!(refused, Err(InventoryRefusal::Taken(vec![2, 10])));
    assert_eq!(store.hold(&hold.id, ANA).await, secured);
    deliver(&store, &[row(1, Sell, "a", ANA, &[2])]).await;
    let sold = OpeningInventory {
        sold: vec![(ANA, seats(&[2]))],
        cursor: 1,
        ..next()
    };
    assert_eq!(store.open(&show(), sold).await, Ok(()));
    assert_eq!(seat(&store, 2).await, CellState::Sold);
    assert_eq!(seats_counted(&store, ANA, 4).await, Some(1));
}

async fn an_abandoned_show_is_closed_until_it_is_opened_again(store: Store) {
    opened(&store).await;
    taken(&store, "a", ANA, &[0]).await;
    deliver(&store, &[row(1, Sell, "b", BEN, &[1])]).await;
    assert_eq!(store.abandon(&show(), 0).await, Ok(()));
    assert_eq!(
        store.edition(&show()).await,
        Ok(Some(5)),
        "the show stays open, because its cursor is past 0"
    );
    assert_eq!(store.abandon(&show(), 1).await, Ok(()));
    assert_eq!(store.edition(&show()).await, Ok(None));
    let refused = store.take(basket("c", BEN, &[2]), NO_LIMIT).await;
    assert_eq!(refused, Err(InventoryRefusal::NotReady));
    let anew = OpeningInventory {
        incarnation: 2,
        sold: vec![(BEN, seats(&[1, 2]))],
        cursor: 9,
        ..opening()
    };
    begin_and_open(&store, anew).await;
    assert_eq!(seat(&store, 2).await, CellState::Sold);
    assert_eq!(seat(&store, 0).await, CellState::Free);
    deliver(&store, &[row(10, Sell, "d", ANA, &[3])]).await;
    assert_eq!(seat(&store, 3).await, CellState::Sold);
}
