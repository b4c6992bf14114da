//! Cases of the waitlist. While somebody waits, freed cells are kept for the waitlist, so other
//! visitors cannot take them. Kept cells are later offered or become free.

use fairgate_model::holds::HoldSignalState::{Lapsed, Offered};

use super::*;
use crate::store::InventoryRefusal;

pub(super) const CASES: &[Case] = cases![
    cells_that_come_free_while_somebody_waits_are_kept_and_refused_to_others,
    an_offer_takes_kept_cells,
    an_offer_also_takes_free_cells_but_no_cells_of_another_hold,
    offering_with_a_used_id_returns_the_existing_offer,
    cells_of_a_lapsed_or_released_offer_are_kept_again,
    free_kept_cells_frees_kept_cells_and_no_offered_cells,
    kept_cells_become_free_when_nobody_waits_any_more,
    kept_cells_become_free_if_keep_freed_is_not_repeated_in_time,
    the_ledger_may_sell_a_kept_cell,
    kept_cells_are_free_in_a_new_life,
    a_visitor_who_is_offered_seats_gets_a_signal,
    kept_cells_count_neither_as_baskets_nor_as_orders,
    only_the_freed_legs_of_a_seat_are_kept,
    an_offer_takes_a_seat_with_one_kept_leg_and_one_free_leg,
    the_freed_legs_of_an_exchange_and_of_a_refund_are_kept,
];

/// The time until which somebody waits, in milliseconds. It is later than the other deadlines in
/// these cases.
const WAIT_UNTIL_MS: i64 = LOCK_MS * 4;

async fn kept(store: &Store) -> Vec<u32> {
    let kept = store.keep_freed(&show(), WAIT_UNTIL_MS).await;
    kept.expect("the show is open")
}

/// Returns all cells of some seats, ascending.
fn cells(of: &[u32]) -> Vec<u32> {
    let mut cells = fairgate_model::holds::cells_of(&seats(of), GRID);
    cells.sort_unstable();
    cells
}

/// Opens a show in which somebody waits and these seats were given back.
async fn with_kept(store: &Store, of: &[u32]) {
    opened(store).await;
    assert!(kept(store).await.is_empty());
    let hold = taken(store, "given back", BEN, of).await;
    assert_eq!(store.release(&hold.id, BEN, BASKET).await, Ok(()));
    assert_eq!(kept(store).await, cells(of));
}

async fn offered(
    store: &Store,
    key: &str,
    visitor: Holder,
    of: &[u32],
) -> Result<Hold, InventoryRefusal> {
    store.offer(basket(key, visitor, of), NO_LIMIT).await
}

async fn cells_that_come_free_while_somebody_waits_are_kept_and_refused_to_others(store: Store) {
    opened(&store).await;
    let before = taken(&store, "before", ANA, &[7]).await;
    assert_eq!(store.release(&before.id, ANA, BASKET).await, Ok(()));
    assert_eq!(seat(&store, 7).await, CellState::Free, "nobody waits yet");
    assert!(kept(&store).await.is_empty());
    let lapsing = taken(&store, "lapses", ANA, &[0]).await;
    let released = taken(&store, "released", ANA, &[1]).await;
    let changed = taken(&store, "changed", BEN, &[2, 3]).await;
    let sold = row(1, SeatOutboxAction::Sell, "refunded", BEN, &[4]);
    let freed = row(2, SeatOutboxAction::Free, "refunded", BEN, &[4]);
    assert_eq!(store.deliver(&show(), &[sold, freed]).await, Ok(2));
    assert_eq!(store.release(&released.id, ANA, BASKET).await, Ok(()));
    let smaller = store.change(&changed.id, BEN, vec![], vec![2], true, NO_LIMIT);
    assert!(smaller.await.is_ok());
    assert!(
        secured(&store, &changed.id, BEN, WAIT_UNTIL_MS)
            .await
            .is_ok()
    );
    assert_eq!(store.sweep(LOCK_MS, 100).await.lapsed, [lapsing.id]);
    assert_eq!(kept(&store).await, cells(&[0, 1, 2, 4]));
    for of in [0, 1, 2, 4] {
        assert_eq!(seat(&store, of).await, CellState::Held);
        let refused = store.take(basket("crowd", BEN, &[of]), NO_LIMIT).await;
        assert_eq!(
            refused,
            Err(InventoryRefusal::Taken(vec![of, of + GRID.seats]))
        );
    }
    assert!(
        store
            .take(basket("free", BEN, &[5]), NO_LIMIT)
            .await
            .is_ok()
    );
}

async fn an_offer_takes_kept_cells(store: Store) {
    with_kept(&store, &[0, 1]).await;
    let offer = offered(&store, "a", ANA, &[0]).await.expect("it is kept");
    assert_eq!(offer, basket("a", ANA, &[0]));
    assert_eq!(store.hold(&offer.id, ANA).await, Ok(offer.clone()));
    assert_eq!(kept(&store).await, cells(&[1]));
    assert_eq!(seat(&store, 0).await, CellState::Held);
    let second = offered(&store, "b", BEN, &[0]).await;
    assert_eq!(
        second,
        Err(InventoryRefusal::Taken(vec![0, 8])),
        "the cells are offered to one visitor only"
    );
    let limited = store.offer(basket("c", ANA, &[1]), 1).await;
    assert_eq!(limited, Err(InventoryRefusal::Limit { have: 1, limit: 1 }));
    let secured = secured(&store, &offer.id, ANA, LOCK_MS + 1_000).await;
    assert_eq!(secured.map(|hold| hold.stage), Ok(HoldStage::Ordered));
    let sell = row(1, SeatOutboxAction::Sell, "a", ANA, &[0]);
    assert_eq!(store.deliver(&show(), &[sell]).await, Ok(1));
    assert_eq!(seat(&store, 0).await, CellState::Sold);
}

async fn an_offer_also_takes_free_cells_but_no_cells_of_another_hold(store: Store) {
    with_kept(&store, &[0]).await;
    taken(&store, "somebody's", BEN, &[2]).await;
    let before = picture(&store).await;
    let refused = offered(&store, "a", ANA, &[0, 2]).await;
    assert_eq!(refused, Err(InventoryRefusal::Taken(vec![2, 10])));
    assert_eq!(
        (picture(&store).await, kept(&store).await),
        (before, cells(&[0]))
    );
    assert!(offered(&store, "a", ANA, &[0, 1]).await.is_ok());
    assert!(kept(&store).await.is_empty());
    assert_eq!(seat(&store, 1).await, CellState::Held);
}

async fn offering_with_a_used_id_returns_the_existing_offer(store: Store) {
    with_kept(&store, &[0, 1]).await;
    let first = offered(&store, "a", ANA, &[0]).await;
    assert!(first.is_ok());
    assert_eq!(offered(&store, "a", ANA, &[1]).await, first);
    assert_eq!(
        offered(&store, "a", BEN, &[1]).await,
        Err(InventoryRefusal::Foreign)
    );
    assert_eq!(kept(&store).await, cells(&[1]));
}

async fn cells_of_a_lapsed_or_released_offer_are_kept_again(store: Store) {
    with_kept(&store, &[0, 1]).await;
    let (a, b) = (
        offered(&store, "a", ANA, &[0]).await.expect("kept"),
        offered(&store, "b", BEN, &[1]).await.expect("kept"),
    );
    assert_eq!(store.release(&b.id, BEN, BASKET).await, Ok(()));
    assert_eq!(kept(&store).await, cells(&[1]));
    assert_eq!(store.sweep(LOCK_MS, 100).await.lapsed, [a.id]);
    assert_eq!(kept(&store).await, cells(&[0, 1]));
    assert!(offered(&store, "c", ANA, &[0, 1]).await.is_ok());
}

async fn free_kept_cells_frees_kept_cells_and_no_offered_cells(store: Store) {
    with_kept(&store, &[0, 1]).await;
    let offer = offered(&store, "a", ANA, &[1]).await.expect("kept");
    let all = cells(&[0, 1, 2]);
    assert_eq!(store.free_kept_cells(&show(), &all).await, Ok(()));
    assert_eq!(seat(&store, 0).await, CellState::Free);
    assert_eq!(store.hold(&offer.id, ANA).await, Ok(offer));
    assert_eq!(
        seat(&store, 1).await,
        CellState::Held,
        "it is offered to a visitor"
    );
    assert!(kept(&store).await.is_empty());
    taken(&store, "crowd", BEN, &[0]).await;
}

async fn kept_cells_become_free_when_nobody_waits_any_more(store: Store) {
    with_kept(&store, &[0, 1]).await;
    let offer = offered(&store, "a", ANA, &[1]).await.expect("kept");
    assert_eq!(store.keep_freed(&show(), 0).await, Ok(vec![]));
    assert_eq!(seat(&store, 0).await, CellState::Free);
    assert_eq!(store.release(&offer.id, ANA, BASKET).await, Ok(()));
    assert_eq!(seat(&store, 1).await, CellState::Free);
    let before = picture(&store).await;
    assert_eq!(store.keep_freed(&show(), 0).await, Ok(vec![]));
    assert_eq!(picture(&store).await, before);
}

async fn kept_cells_become_free_if_keep_freed_is_not_repeated_in_time(store: Store) {
    with_kept(&store, &[0]).await;
    assert!(store.sweep(WAIT_UNTIL_MS - 1, 100).await.lapsed.is_empty());
    assert_eq!(seat(&store, 0).await, CellState::Held);
    assert!(
        store.sweep(WAIT_UNTIL_MS, 100).await.lapsed.is_empty(),
        "no hold lapsed, only the kept cells"
    );
    assert_eq!(seat(&store, 0).await, CellState::Free);
    let hold = taken(&store, "a", ANA, &[0]).await;
    assert_eq!(store.release(&hold.id, ANA, BASKET).await, Ok(()));
    assert_eq!(seat(&store, 0).await, CellState::Free);
}

async fn the_ledger_may_sell_a_kept_cell(store: Store) {
    with_kept(&store, &[0, 1]).await;
    let sell = row(1, SeatOutboxAction::Sell, "other", ANA, &[0]);
    assert_eq!(store.deliver(&show(), &[sell]).await, Ok(1));
    assert_eq!(kept(&store).await, cells(&[1]));
    assert_eq!(
        store.free_kept_cells(&show(), &cells(&[0, 1])).await,
        Ok(())
    );
    assert_eq!(seat(&store, 0).await, CellState::Sold);
    assert_eq!(seat(&store, 1).await, CellState::Free);
}

async fn kept_cells_are_free_in_a_new_life(store: Store) {
    with_kept(&store, &[0]).await;
    let next = OpeningInventory {
        incarnation: 2,
        edition: 6,
        ..opening()
    };
    let opened = store.open(&show(), next).await;
    assert_eq!(opened, Ok(()), "kept cells do not prevent a new life");
    assert_eq!(seat(&store, 0).await, CellState::Free);
    let hold = taken(&store, "a", ANA, &[0]).await;
    assert_eq!(store.release(&hold.id, ANA, BASKET).await, Ok(()));
    assert_eq!(
        seat(&store, 0).await,
        CellState::Free,
        "in the new life nobody waits yet"
    );
    assert!(kept(&store).await.is_empty());
}

async fn a_visitor_who_is_offered_seats_gets_a_signal(store: Store) {
    with_kept(&store, &[0]).await;
    // Reading the show makes the process read all earlier signals.
    assert_eq!(seat(&store, 0).await, CellState::Held);
    let mut signals = store.signals();
    let offer = offered(&store, "a", ANA, &[0]).await.expect("kept");
    store.sweep(EXPIRES_MS, 100).await;
    store.sweep(LOCK_MS, 100).await;
    let mut received = Vec::new();
    for _ in 0..2 {
        let signal = signals.recv().await.expect("two signals");
        assert_eq!((&signal.hold, signal.visitor), (&offer.id, ANA));
        received.push((signal.state, signal.expires_at_ms));
    }
    assert_eq!(received, [(Offered, EXPIRES_MS), (Lapsed, EXPIRES_MS)]);
}

async fn kept_cells_count_neither_as_baskets_nor_as_orders(store: Store) {
    with_kept(&store, &[0]).await;
    assert_eq!(seat(&store, 0).await, CellState::Held);
    let counted = store.counts(&show(), WAIT_UNTIL_MS * 2, 0).await;
    let (counts, baskets) = counted.expect("the show is open");
    assert_eq!(counts.held, 2);
    assert_eq!(baskets, crate::store::ShowHoldFigures::default());
    assert!(store.holds_locked_for_orders().await.is_empty());
    assert!(offered(&store, "a", ANA, &[0]).await.is_ok());
    assert_eq!(seat(&store, 0).await, CellState::Held);
    let (_, baskets) = store.counts(&show(), LOCK_MS, 0).await.expect("open");
    assert_eq!((baskets.all, baskets.lapsing_cells), (1, 2));
}

/// Builds a basket over one leg of a seat.
fn on_leg(key: &str, visitor: Holder, seat: u32, leg: u16) -> Hold {
    let mut hold = basket(key, visitor, &[seat]);
    hold.items[0].legs = leg..leg + 1;
    hold
}

/// Returns the states of a seat, leg by leg.
async fn legs(store: &Store, seat: u32) -> Vec<CellState> {
    let states = states(store).await;
    let cells = GRID.cells_of(seat, 0..GRID.legs);
    cells.map(|cell| states[cell as usize]).collect()
}

async fn only_the_freed_legs_of_a_seat_are_kept(store: Store) {
    opened(&store).await;
    assert!(kept(&store).await.is_empty());
    // The first leg of seat 0 lapses, and the second leg of seat 1 is given back. Somebody still
    // holds the second leg of seat 0, and the first leg of seat 1 was never taken.
    let lapsing = on_leg("lapses", ANA, 0, 0);
    let stays = Hold {
        lock_until_ms: WAIT_UNTIL_MS,
        ..on_leg("stays", BEN, 0, 1)
    };
    let released = on_leg("released", ANA, 1, 1);
    for hold in [&lapsing, &stays, &released] {
        assert!(store.take(hold.clone(), NO_LIMIT).await.is_ok());
    }
    assert_eq!(store.release(&released.id, ANA, BASKET).await, Ok(()));
    assert_eq!(store.sweep(LOCK_MS, 100).await.lapsed, [lapsing.id]);
    assert_eq!(kept(&store).await, [0, GRID.seats + 1]);
    assert_eq!(legs(&store, 1).await, [CellState::Free, CellState::Held]);
    let whole = offered(&store, "a", ANA, &[0]).await;
    assert_eq!(whole, Err(InventoryRefusal::Taken(vec![GRID.seats])));
    let part = store.offer(on_leg("b", ANA, 0, 0), NO_LIMIT).await;
    assert!(part.is_ok());
    assert_eq!(kept(&store).await, [GRID.seats + 1]);
    assert_eq!(store.hold(&stays.id, BEN).await, Ok(stays));
    assert_eq!(
        store.free_kept_cells(&show(), &[GRID.seats + 1]).await,
        Ok(())
    );
    assert_eq!(seat(&store, 1).await, CellState::Free);
}

async fn an_offer_takes_a_seat_with_one_kept_leg_and_one_free_leg(store: Store) {
    opened(&store).await;
    assert!(kept(&store).await.is_empty());
    let first = on_leg("first", BEN, 0, 0);
    assert!(store.take(first.clone(), NO_LIMIT).await.is_ok());
    assert_eq!(store.release(&first.id, BEN, BASKET).await, Ok(()));
    assert_eq!(legs(&store, 0).await, [CellState::Held, CellState::Free]);
    let crowd = store.take(basket("crowd", BEN, &[0]), NO_LIMIT).await;
    assert_eq!(crowd, Err(InventoryRefusal::Taken(vec![0])));
    let offer = offered(&store, "a", ANA, &[0])
        .await
        .expect("no other hold has the seat");
    assert!(kept(&store).await.is_empty());
    assert_eq!(seat(&store, 0).await, CellState::Held);
    // When the offer is released, both legs are kept, including the leg that was free before.
    assert_eq!(store.release(&offer.id, ANA, BASKET).await, Ok(()));
    assert_eq!(kept(&store).await, cells(&[0]));
}

async fn the_freed_legs_of_an_exchange_and_of_a_refund_are_kept(store: Store) {
    opened(&store).await;
    assert!(kept(&store).await.is_empty());
    let over = |leg: u16, mut row: crate::store::SeatOutboxRow| {
        row.items[0].legs = leg..leg + 1;
        row
    };
    let sold = row(1, SeatOutboxAction::Sell, "whole", ANA, &[4]);
    // The visitor had both legs, and now leaves the train after the first leg.
    let shorter = over(1, row(2, SeatOutboxAction::Free, "whole", ANA, &[4]));
    assert_eq!(store.deliver(&show(), &[sold, shorter]).await, Ok(2));
    assert_eq!(kept(&store).await, [GRID.seats + 4]);
    assert_eq!(legs(&store, 4).await, [CellState::Sold, CellState::Held]);
    let offer = store.offer(on_leg("a", BEN, 4, 1), NO_LIMIT).await;
    assert!(offer.is_ok());
    let refunded = over(0, row(3, SeatOutboxAction::Free, "whole", ANA, &[4]));
    assert_eq!(store.deliver(&show(), &[refunded]).await, Ok(3));
    assert_eq!(kept(&store).await, [4]);
    assert_eq!(store.keep_freed(&show(), 0).await, Ok(vec![]));
    assert_eq!(legs(&store, 4).await, [CellState::Free, CellState::Held]);
}
