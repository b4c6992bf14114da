//! Cases of accepting an offer of the waitlist. An accepted offer becomes a basket exactly once,
//! and keeps its id, its cells and its terms.

use fairgate_model::holds::HoldSignalState::{Lapsed, Short};

use super::*;
use crate::store::{BasketDeadlines, InventoryRefusal};

pub(super) const CASES: &[Case] = cases![
    an_accepted_offer_is_a_basket_with_its_own_deadline_and_nothing_else_changes,
    an_accepted_offer_does_not_lapse_at_the_deadline_of_the_offer,
    accepting_again_changes_no_deadline_and_no_extension,
    only_the_visitor_of_an_offer_accepts_it,
    only_an_offer_is_accepted,
    an_offer_whose_time_is_over_is_not_accepted,
    accepting_an_ordered_offer_is_refused,
    an_offer_is_not_accepted_beyond_the_limit,
    an_offer_that_lost_a_cell_is_not_accepted,
    of_an_acceptance_and_a_lapse_exactly_one_wins,
    of_many_acceptances_one_sets_the_deadline,
    an_accepted_offer_is_released_as_a_basket_and_its_cells_are_kept,
    the_visitor_is_warned_before_the_end_of_an_accepted_offer,
];

/// The deadlines of an offer, and the deadlines of the basket that it becomes.
const OFFER_EXPIRES_MS: i64 = NOW_MS + 60_000;
const OFFER_LOCK_MS: i64 = OFFER_EXPIRES_MS + 5_000;
const BASKET_UNTIL: BasketDeadlines = BasketDeadlines {
    expires_at_ms: EXPIRES_MS,
    lock_until_ms: LOCK_MS,
};
/// The time until which somebody waits, in milliseconds.
const WAIT_UNTIL_MS: i64 = LOCK_MS * 4;

fn offer(key: &str, visitor: Holder, of: &[u32]) -> Hold {
    Hold {
        purpose: HoldPurpose::Offer,
        terms: 7,
        next_to_each_other: true,
        expires_at_ms: OFFER_EXPIRES_MS,
        lock_until_ms: OFFER_LOCK_MS,
        extensions_left: 2,
        ..basket(key, visitor, of)
    }
}

/// Opens a show for which somebody waits, and makes an offer to Ana.
async fn with_offer(store: &Store, of: &[u32]) -> Hold {
    opened(store).await;
    let kept = store.keep_freed(&show(), WAIT_UNTIL_MS).await;
    assert_eq!(kept, Ok(vec![]));
    let made = store.offer(offer("a", ANA, of), NO_LIMIT).await;
    made.expect("the seats are free")
}

async fn accept(store: &Store, hold: &HoldId, visitor: Holder) -> Result<Hold, InventoryRefusal> {
    store
        .accept_offer(hold, visitor, NO_LIMIT, BASKET_UNTIL, NOW_MS)
        .await
}

fn accepted(offer: Hold) -> Hold {
    Hold {
        purpose: HoldPurpose::Basket,
        expires_at_ms: EXPIRES_MS,
        lock_until_ms: LOCK_MS,
        ..offer
    }
}

async fn an_accepted_offer_is_a_basket_with_its_own_deadline_and_nothing_else_changes(
    store: Store,
) {
    let offer = with_offer(&store, &[0, 1]).await;
    let before = picture(&store).await;
    let basket = accept(&store, &offer.id, ANA).await;
    assert_eq!(basket, Ok(accepted(offer.clone())));
    assert_eq!(store.hold(&offer.id, ANA).await, basket);
    assert_eq!(picture(&store).await.1, before.1);
    let more = store.take(super::basket("b", ANA, &[5]), 2).await;
    assert_eq!(more, Err(InventoryRefusal::Limit { have: 2, limit: 2 }));
    // The hold still has the locks of its cells, so its order gets the cells.
    let secured = secured(&store, &offer.id, ANA, LOCK_MS + 1_000).await;
    assert_eq!(secured.map(|hold| hold.stage), Ok(HoldStage::Ordered));
    let sell = row(1, SeatOutboxAction::Sell, "a", ANA, &[0, 1]);
    assert_eq!(store.deliver(&show(), &[sell]).await, Ok(1));
    assert_eq!(seat(&store, 0).await, CellState::Sold);
}

async fn an_accepted_offer_does_not_lapse_at_the_deadline_of_the_offer(store: Store) {
    let offer = with_offer(&store, &[0]).await;
    assert!(accept(&store, &offer.id, ANA).await.is_ok());
    assert!(store.sweep(OFFER_LOCK_MS, 100).await.lapsed.is_empty());
    assert!(store.sweep(LOCK_MS - 1, 100).await.lapsed.is_empty());
    assert_eq!(seat(&store, 0).await, CellState::Held);
    assert_eq!(store.sweep(LOCK_MS, 100).await.lapsed, [offer.id]);
    // Somebody still waits, so the lapsed basket's cells are kept for the waitlist.
    let kept = store.keep_freed(&show(), WAIT_UNTIL_MS).await;
    assert_eq!(kept, Ok(vec![0, GRID.seats]));
}

async fn accepting_again_changes_no_deadline_and_no_extension(store: Store) {
    let offer = with_offer(&store, &[0]).await;
    let first = accept(&store, &offer.id, ANA).await;
    let later = BasketDeadlines {
        expires_at_ms: EXPIRES_MS + 50_000,
        lock_until_ms: LOCK_MS + 50_000,
    };
    let again = store
        .accept_offer(&offer.id, ANA, NO_LIMIT, later, OFFER_LOCK_MS + 1)
        .await;
    assert_eq!(again, first);
    let extended = store
        .extend(&offer.id, ANA, call(1), EXPIRES_MS + 10, LOCK_MS + 10)
        .await
        .expect("two extensions are left");
    assert_eq!((extended.extensions_left, extended.terms), (1, 7));
    assert_eq!(accept(&store, &offer.id, ANA).await, Ok(extended.clone()));
    // A worker that repeats the offer finds the basket.
    let offered = store.offer(super::accepting::offer("a", ANA, &[3]), NO_LIMIT);
    assert_eq!(offered.await, Ok(extended));
    assert_eq!(seat(&store, 3).await, CellState::Free);
}

async fn only_the_visitor_of_an_offer_accepts_it(store: Store) {
    let offer = with_offer(&store, &[0]).await;
    let foreign = accept(&store, &offer.id, BEN).await;
    assert_eq!(foreign, Err(InventoryRefusal::Foreign));
    let unknown = accept(&store, &id("none"), ANA).await;
    assert_eq!(unknown, Err(InventoryRefusal::Gone));
    assert_eq!(store.hold(&offer.id, ANA).await, Ok(offer));
}

async fn only_an_offer_is_accepted(store: Store) {
    opened(&store).await;
    for (n, purpose) in (0_u32..).zip([
        HoldPurpose::Basket,
        HoldPurpose::Exchange,
        HoldPurpose::LateMoney,
    ]) {
        let hold = Hold {
            purpose,
            ..basket(purpose.as_str(), ANA, &[n])
        };
        let hold = store.take(hold, NO_LIMIT).await.expect("free");
        let refused = accept(&store, &hold.id, ANA).await;
        assert_eq!(refused, Err(InventoryRefusal::OtherPurpose(purpose)));
        assert_eq!(store.hold(&hold.id, ANA).await, Ok(hold));
    }
}

async fn an_offer_whose_time_is_over_is_not_accepted(store: Store) {
    let offer = with_offer(&store, &[0]).await;
    let accept = async |now_ms| {
        store
            .accept_offer(&offer.id, ANA, NO_LIMIT, BASKET_UNTIL, now_ms)
            .await
    };
    // No sweep has freed the offer yet.
    assert_eq!(accept(OFFER_LOCK_MS).await, Err(InventoryRefusal::Gone));
    assert_eq!(store.hold(&offer.id, ANA).await, Ok(offer.clone()));
    assert!(accept(OFFER_LOCK_MS - 1).await.is_ok());
}

async fn accepting_an_ordered_offer_is_refused(store: Store) {
    let offer = with_offer(&store, &[0]).await;
    let buyable = &[HoldPurpose::Offer];
    let secured = store.secure(&offer.id, ANA, buyable, LOCK_MS + 1).await;
    let secured = secured.expect("an offer is ordered as it is").hold;
    let refused = accept(&store, &offer.id, ANA).await;
    assert_eq!(refused, Err(InventoryRefusal::Ordered));
    // The order was not made, so the hold is an offer again.
    store
        .unsecure(&offer.id, secured.lock_until_ms, OFFER_LOCK_MS)
        .await;
    assert!(accept(&store, &offer.id, ANA).await.is_ok());
    assert!(
        super::secured(&store, &offer.id, ANA, LOCK_MS + 1)
            .await
            .is_ok()
    );
    let again = accept(&store, &offer.id, ANA).await;
    assert_eq!(again, Err(InventoryRefusal::Ordered));
}

async fn an_offer_is_not_accepted_beyond_the_limit(store: Store) {
    let offer = with_offer(&store, &[0, 1]).await;
    taken(&store, "more", ANA, &[2]).await;
    let accept = async |limit| {
        store
            .accept_offer(&offer.id, ANA, limit, BASKET_UNTIL, NOW_MS)
            .await
    };
    assert_eq!(
        accept(2).await,
        Err(InventoryRefusal::Limit { have: 1, limit: 2 })
    );
    assert_eq!(store.hold(&offer.id, ANA).await, Ok(offer.clone()));
    assert!(accept(3).await.is_ok());
}

async fn an_offer_that_lost_a_cell_is_not_accepted(store: Store) {
    let offer = with_offer(&store, &[0, 1]).await;
    let sold = row(1, SeatOutboxAction::Sell, "other", BEN, &[1]);
    assert_eq!(store.deliver(&show(), &[sold]).await, Ok(1));
    let refused = accept(&store, &offer.id, ANA).await;
    assert_eq!(
        refused,
        Err(InventoryRefusal::Taken(vec![1, 1 + GRID.seats]))
    );
    assert_eq!(store.hold(&offer.id, ANA).await, Ok(offer));
}

async fn of_an_acceptance_and_a_lapse_exactly_one_wins(store: Store) {
    opened(&store).await;
    for n in 0..40_u32 {
        let key = n.to_string();
        let made = store.offer(offer(&key, ANA, &[0]), NO_LIMIT).await;
        let made = made.expect("the seat is free");
        let (mine, his) = (Arc::clone(&store), Arc::clone(&store));
        let hold = made.id.clone();
        // The clock of the process that accepts is behind the clock of the process that sweeps.
        let accept = tokio::spawn(async move {
            mine.accept_offer(&hold, ANA, NO_LIMIT, BASKET_UNTIL, OFFER_LOCK_MS - 1)
                .await
        });
        let sweep = tokio::spawn(async move { his.sweep(OFFER_LOCK_MS, 100).await.lapsed });
        let accepted = accept.await.expect("it runs");
        // The first sweep may have skipped the show, because this process did not know yet that the
        // offer was due.
        let mut lapsed = sweep.await.expect("it runs");
        lapsed.extend(store.sweep(OFFER_LOCK_MS, 100).await.lapsed);
        match accepted {
            Ok(basket) => {
                assert!(lapsed.is_empty(), "an accepted offer lapsed");
                assert_eq!(store.hold(&made.id, ANA).await, Ok(basket));
                assert_eq!(seat(&store, 0).await, CellState::Held);
                assert_eq!(store.release(&made.id, ANA, BASKET).await, Ok(()));
            }
            Err(refused) => {
                assert_eq!(refused, InventoryRefusal::Gone);
                assert_eq!(lapsed, [made.id]);
            }
        }
        assert_eq!(seat(&store, 0).await, CellState::Free);
    }
}

async fn of_many_acceptances_one_sets_the_deadline(store: Store) {
    let offer = with_offer(&store, &[0]).await;
    let mut running = tokio::task::JoinSet::new();
    for n in 0..50_i64 {
        let (store, hold) = (Arc::clone(&store), offer.id.clone());
        running.spawn(async move {
            let until = BasketDeadlines {
                expires_at_ms: EXPIRES_MS + n,
                lock_until_ms: LOCK_MS + n,
            };
            store
                .accept_offer(&hold, ANA, NO_LIMIT, until, NOW_MS)
                .await
        });
    }
    let answers = running.join_all().await;
    let stored = store.hold(&offer.id, ANA).await;
    assert!(stored.is_ok());
    assert!(answers.iter().all(|answer| *answer == stored));
}

async fn an_accepted_offer_is_released_as_a_basket_and_its_cells_are_kept(store: Store) {
    let offer = with_offer(&store, &[0]).await;
    assert!(accept(&store, &offer.id, ANA).await.is_ok());
    let offers = &[HoldPurpose::Offer];
    let other = store.release(&offer.id, ANA, offers).await;
    assert_eq!(
        other,
        Err(InventoryRefusal::OtherPurpose(HoldPurpose::Basket))
    );
    let swapped = store.change(&offer.id, ANA, seats(&[2]), vec![0], true, 1);
    assert_eq!(swapped.await.map(|hold| hold.items), Ok(seats(&[2])));
    assert_eq!(store.release(&offer.id, ANA, BASKET).await, Ok(()));
    let kept = store.keep_freed(&show(), WAIT_UNTIL_MS).await;
    assert_eq!(kept, Ok(vec![0, 2, GRID.seats, GRID.seats + 2]));
    let gone = accept(&store, &offer.id, ANA).await;
    assert_eq!(gone, Err(InventoryRefusal::Gone));
    // The next offer under this id has not been accepted.
    assert!(
        store
            .offer(super::accepting::offer("a", ANA, &[0]), 1)
            .await
            .is_ok()
    );
    let secured = secured(&store, &offer.id, ANA, LOCK_MS).await;
    assert_eq!(
        secured,
        Err(InventoryRefusal::OtherPurpose(HoldPurpose::Offer))
    );
}

async fn the_visitor_is_warned_before_the_end_of_an_accepted_offer(store: Store) {
    let offer = with_offer(&store, &[0]).await;
    // Reading the show makes the process read all earlier signals.
    assert_eq!(seat(&store, 0).await, CellState::Held);
    let mut signals = store.signals();
    assert!(accept(&store, &offer.id, ANA).await.is_ok());
    store.sweep(OFFER_LOCK_MS, 100).await;
    store.sweep(EXPIRES_MS - 1, 100).await;
    store.sweep(LOCK_MS, 100).await;
    let mut received = Vec::new();
    for _ in 0..2 {
        let signal = signals.recv().await.expect("two signals");
        assert_eq!((&signal.hold, signal.visitor), (&offer.id, ANA));
        received.push((signal.state, signal.expires_at_ms));
    }
    assert_eq!(received, [(Short, EXPIRES_MS), (Lapsed, EXPIRES_MS)]);
}
