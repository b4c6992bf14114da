//! Cases of taking, changing and releasing holds: all cells or none, and only by the hold's
//! visitor.

use super::*;
use crate::store::InventoryRefusal;

pub(super) const CASES: &[Case] = cases![
    a_show_that_is_not_open_is_not_ready,
    a_hold_takes_all_its_cells_or_none_and_a_refusal_names_the_taken_cells,
    two_journeys_share_a_seat_if_their_legs_do_not_overlap,
    taking_with_a_used_id_returns_the_existing_hold,
    every_call_on_another_visitors_hold_is_refused_as_foreign,
    every_call_on_an_unknown_hold_is_refused_as_gone,
    a_hold_of_another_plan_is_refused,
    the_limit_counts_held_and_bought_seats,
    a_refused_change_changes_nothing,
    the_limit_counts_the_seats_that_a_change_adds_and_the_deadline_does_not_move,
    a_repeated_change_returns_the_first_answer,
    a_call_is_still_known_as_repeated_after_other_calls,
    giving_back_stays_possible_under_a_lowered_limit,
    giving_back_a_seat_that_is_not_in_the_hold_is_refused,
    a_hold_is_extended_while_extensions_are_left_and_never_shortened,
    releasing_a_basket_frees_its_seats_and_removes_the_hold,
    a_repeated_extension_or_release_is_made_once,
    of_five_hundred_tasks_on_one_cell_exactly_one_wins,
    a_call_that_does_not_accept_the_holds_purpose_is_refused,
    a_hold_keeps_its_purpose_and_its_terms,
];

async fn a_show_that_is_not_open_is_not_ready(store: Store) {
    assert_eq!(store.edition(&show()).await, Ok(None));
    let refused = store.take(basket("a", ANA, &[0]), NO_LIMIT).await;
    assert_eq!(refused, Err(InventoryRefusal::NotReady));
    assert!(store.view(&show()).await.is_none());
    assert!(store.packed(&show()).await.is_none());
    assert!(store.changes(&show(), 0).await.is_none());
    assert!(store.counts(&show(), NOW_MS, 0).await.is_none());
    let sell = row(1, SeatOutboxAction::Sell, "a", ANA, &[0]);
    let undelivered = store.deliver(&show(), &[sell]).await;
    assert_eq!(undelivered, Err(InventoryRefusal::NotReady));
    opened(&store).await;
    assert_eq!(store.edition(&show()).await, Ok(Some(5)));
}

async fn a_hold_takes_all_its_cells_or_none_and_a_refusal_names_the_taken_cells(store: Store) {
    opened(&store).await;
    taken(&store, "a", ANA, &[2, 3]).await;
    let before = picture(&store).await;
    let refused = store.take(basket("b", BEN, &[1, 2, 3, 4]), NO_LIMIT).await;
    let Err(InventoryRefusal::Taken(mut cells)) = refused else {
        panic!("cells of another hold were not refused: {refused:?}");
    };
    cells.sort_unstable();
    assert_eq!(cells, [2, 3, 10, 11]);
    assert_eq!(picture(&store).await, before, "a refusal changes nothing");
    assert_eq!(store.hold(&id("b"), BEN).await, Err(InventoryRefusal::Gone));
    assert_eq!(seat(&store, 2).await, CellState::Held);
    assert_eq!(seat(&store, 1).await, CellState::Free);
}

async fn two_journeys_share_a_seat_if_their_legs_do_not_overlap(store: Store) {
    opened(&store).await;
    let over = |key: &str, visitor, legs| Hold {
        items: vec![HeldSeat { seat: 5, legs }],
        ..basket(key, visitor, &[])
    };
    assert!(store.take(over("a", ANA, 0..1), NO_LIMIT).await.is_ok());
    assert!(store.take(over("b", BEN, 1..2), NO_LIMIT).await.is_ok());
    let refused = store.take(over("c", BEN, 0..2), NO_LIMIT).await;
    assert_eq!(refused, Err(InventoryRefusal::Taken(vec![5, 13])));
}

async fn taking_with_a_used_id_returns_the_existing_hold(store: Store) {
    opened(&store).await;
    let first = store.take(basket("a", ANA, &[0, 1]), 2).await;
    let before = picture(&store).await;
    let later = Hold {
        expires_at_ms: EXPIRES_MS + 50_000,
        lock_until_ms: LOCK_MS + 50_000,
        ..basket("a", ANA, &[6])
    };
    assert_eq!(
        store.take(later, 2).await,
        first,
        "a retry moves no deadline"
    );
    assert_eq!(picture(&store).await, before);
    assert_eq!(store.hold(&id("a"), ANA).await, first);
}

async fn every_call_on_another_visitors_hold_is_refused_as_foreign(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[0]).await;
    let before = picture(&store).await;
    let foreign = Err(InventoryRefusal::Foreign);
    assert_eq!(
        store.take(basket("a", BEN, &[7]), NO_LIMIT).await,
        foreign.clone()
    );
    assert_eq!(store.hold(&hold.id, BEN).await, foreign.clone());
    let changed = store
        .change(&hold.id, BEN, seats(&[1]), vec![0], false, NO_LIMIT)
        .await;
    assert_eq!(changed, foreign.clone());
    assert_eq!(
        store
            .extend(&hold.id, BEN, call(1), i64::MAX, i64::MAX)
            .await,
        foreign.clone()
    );
    assert_eq!(secured(&store, &hold.id, BEN, i64::MAX).await, foreign);
    assert_eq!(
        store.release(&hold.id, BEN, BASKET).await,
        Err(InventoryRefusal::Foreign)
    );
    assert_eq!(picture(&store).await, before);
    assert_eq!(store.hold(&hold.id, ANA).await, Ok(hold));
}

async fn every_call_on_an_unknown_hold_is_refused_as_gone(store: Store) {
    opened(&store).await;
    let (none, gone) = (id("none"), Err(InventoryRefusal::Gone));
    assert_eq!(store.hold(&none, ANA).await, gone.clone());
    let changed = store
        .change(&none, ANA, seats(&[1]), vec![], false, NO_LIMIT)
        .await;
    assert_eq!(changed, gone.clone());
    assert_eq!(
        store.extend(&none, ANA, call(1), LOCK_MS, LOCK_MS).await,
        gone.clone()
    );
    assert_eq!(secured(&store, &none, ANA, LOCK_MS).await, gone);
    assert_eq!(
        store.release(&none, ANA, BASKET).await,
        Err(InventoryRefusal::Gone)
    );
    store.unsecure(&none, LOCK_MS, LOCK_MS).await;
    assert!(
        states(&store)
            .await
            .iter()
            .all(|state| *state == CellState::Free)
    );
}

async fn a_hold_of_another_plan_is_refused(store: Store) {
    opened(&store).await;
    let old = Hold {
        plan_version: PLAN - 1,
        ..basket("a", ANA, &[0])
    };
    assert_eq!(
        store.take(old, NO_LIMIT).await,
        Err(InventoryRefusal::PlanChanged)
    );
    assert_eq!(seat(&store, 0).await, CellState::Free);
}

async fn the_limit_counts_held_and_bought_seats(store: Store) {
    opened(&store).await;
    let sell = row(1, SeatOutboxAction::Sell, "bought", ANA, &[0, 1]);
    assert_eq!(store.deliver(&show(), &[sell]).await, Ok(1));
    assert!(store.take(basket("a", ANA, &[2]), 4).await.is_ok());
    let before = picture(&store).await;
    let over = store.take(basket("b", ANA, &[3, 4]), 4).await;
    assert_eq!(over, Err(InventoryRefusal::Limit { have: 3, limit: 4 }));
    assert_eq!(picture(&store).await, before);
    assert!(store.take(basket("c", ANA, &[3]), 4).await.is_ok());
    assert!(
        store.take(basket("d", BEN, &[4, 5, 6, 7]), 4).await.is_ok(),
        "each visitor has a limit of its own"
    );
}

async fn a_refused_change_changes_nothing(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[0, 1]).await;
    taken(&store, "b", BEN, &[4]).await;
    let before = picture(&store).await;
    let refused = store
        .change(&hold.id, ANA, seats(&[3, 4]), vec![0], true, NO_LIMIT)
        .await;
    assert_eq!(refused, Err(InventoryRefusal::Taken(vec![4, 12])));
    assert_eq!(picture(&store).await, before);
    assert_eq!(store.hold(&hold.id, ANA).await, Ok(hold.clone()));
    let refused = store
        .change(&hold.id, ANA, seats(&[3]), vec![], true, 2)
        .await;
    assert_eq!(refused, Err(InventoryRefusal::Limit { have: 2, limit: 2 }));
    assert_eq!(picture(&store).await, before);
}

async fn a_repeated_change_returns_the_first_answer(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[0, 1]).await;
    let ask = || store.change(&hold.id, ANA, seats(&[2]), vec![0], false, 2);
    let first = ask().await;
    let before = picture(&store).await;
    assert_eq!(ask().await, first, "a repeated call");
    assert_eq!(picture(&store).await, before);
    let back = store.change(&hold.id, ANA, seats(&[0]), vec![2], false, 2);
    assert!(back.await.is_ok());
    assert!(ask().await.is_ok(), "another change came in between");
    assert_eq!(seat(&store, 0).await, CellState::Free);
    assert_eq!(seat(&store, 2).await, CellState::Held);
}

async fn a_call_is_still_known_as_repeated_after_other_calls(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[0, 1]).await;
    let change = || store.change(&hold.id, ANA, seats(&[2]), vec![0], false, 2);
    let extend = || store.extend(&hold.id, ANA, call(1), EXPIRES_MS + 10, LOCK_MS + 10);
    change().await.expect("seat 2 is free");
    let extended = extend().await;
    assert!(extended.is_ok());
    assert_eq!(change().await, extended, "a repeated change");
    let secured = store.secure(&hold.id, ANA, BASKET, LOCK_MS + 20).await;
    let secured = secured.expect("it is a basket").hold;
    store
        .unsecure(&hold.id, secured.lock_until_ms, LOCK_MS + 10)
        .await;
    assert_eq!(extend().await, extended, "a repeated extension");
}

async fn the_limit_counts_the_seats_that_a_change_adds_and_the_deadline_does_not_move(
    store: Store,
) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[0, 1]).await;
    let changed = store
        .change(&hold.id, ANA, seats(&[2, 3]), vec![0, 1], true, 2)
        .await
        .expect("two seats replace two seats");
    assert_eq!(
        (changed.expires_at_ms, changed.lock_until_ms),
        (EXPIRES_MS, LOCK_MS)
    );
    assert!(changed.next_to_each_other);
    assert_eq!(changed.items, seats(&[2, 3]));
    assert_eq!(seat(&store, 0).await, CellState::Free);
    assert_eq!(seat(&store, 3).await, CellState::Held);
    let more = store.take(basket("b", ANA, &[5]), 2).await;
    assert_eq!(more, Err(InventoryRefusal::Limit { have: 2, limit: 2 }));
    let less = store.change(&hold.id, ANA, vec![], vec![2], true, 2).await;
    assert_eq!(less.expect("giving back").items, seats(&[3]));
    assert!(store.take(basket("b", ANA, &[5]), 2).await.is_ok());
}

async fn giving_back_stays_possible_under_a_lowered_limit(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[0, 1, 2]).await;
    let changed = store
        .change(&hold.id, ANA, vec![], vec![0], false, 1)
        .await
        .expect("fewer seats break no limit");
    assert_eq!(changed.items, seats(&[1, 2]));
    let swapped = store
        .change(&hold.id, ANA, seats(&[5]), vec![], false, 1)
        .await;
    assert_eq!(swapped, Err(InventoryRefusal::Limit { have: 2, limit: 1 }));
}

async fn giving_back_a_seat_that_is_not_in_the_hold_is_refused(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[0]).await;
    taken(&store, "b", BEN, &[1]).await;
    let before = picture(&store).await;
    let refused = store
        .change(&hold.id, ANA, vec![], vec![0, 1], false, NO_LIMIT)
        .await;
    assert_eq!(refused, Err(InventoryRefusal::NotHeld(vec![1])));
    assert_eq!(picture(&store).await, before);
}

async fn a_hold_is_extended_while_extensions_are_left_and_never_shortened(store: Store) {
    opened(&store).await;
    let hold = Hold {
        extensions_left: 2,
        ..basket("a", ANA, &[0])
    };
    let hold = store.take(hold, NO_LIMIT).await.expect("free");
    let longer = store
        .extend(&hold.id, ANA, call(1), EXPIRES_MS + 10, LOCK_MS + 10)
        .await
        .expect("two are left");
    assert_eq!(
        (
            longer.expires_at_ms,
            longer.lock_until_ms,
            longer.extensions_left
        ),
        (EXPIRES_MS + 10, LOCK_MS + 10, 1)
    );
    let same = store
        .extend(&hold.id, ANA, call(2), NOW_MS, NOW_MS)
        .await
        .expect("one is left");
    assert_eq!(
        (same.expires_at_ms, same.lock_until_ms, same.extensions_left),
        (EXPIRES_MS + 10, LOCK_MS + 10, 0)
    );
    let refused = store
        .extend(&hold.id, ANA, call(3), EXPIRES_MS + 99, LOCK_MS + 99)
        .await;
    assert_eq!(refused, Err(InventoryRefusal::NoExtensions));
    assert_eq!(store.hold(&hold.id, ANA).await, Ok(same));
}

async fn releasing_a_basket_frees_its_seats_and_removes_the_hold(store: Store) {
    opened(&store).await;
    let hold = taken(&store, "a", ANA, &[0, 1]).await;
    assert_eq!(store.release(&hold.id, ANA, BASKET).await, Ok(()));
    assert_eq!(store.hold(&hold.id, ANA).await, Err(InventoryRefusal::Gone));
    assert_eq!(seat(&store, 0).await, CellState::Free);
    assert!(
        store.take(basket("b", ANA, &[0, 1]), 2).await.is_ok(),
        "released seats do not count towards the limit"
    );
}

async fn a_repeated_extension_or_release_is_made_once(store: Store) {
    opened(&store).await;
    let hold = Hold {
        extensions_left: 2,
        ..basket("a", ANA, &[0])
    };
    let hold = store.take(hold, NO_LIMIT).await.expect("free");
    let extend = async |n, ms| {
        store
            .extend(&hold.id, ANA, call(n), EXPIRES_MS + ms, LOCK_MS + ms)
            .await
    };
    let once = extend(1, 10).await.expect("two are left");
    assert_eq!(extend(1, 20).await, Ok(once), "a repeated call");
    let twice = extend(2, 30).await.expect("another one is left");
    assert_eq!(
        (twice.extensions_left, twice.expires_at_ms),
        (0, EXPIRES_MS + 30)
    );
    assert_eq!(extend(2, 40).await, Ok(twice));
    assert_eq!(store.release(&hold.id, ANA, BASKET).await, Ok(()));
    let before = picture(&store).await;
    assert_eq!(
        store.release(&hold.id, ANA, BASKET).await,
        Ok(()),
        "a repeated call"
    );
    assert_eq!(
        store.release(&hold.id, BEN, BASKET).await,
        Err(InventoryRefusal::Gone)
    );
    assert_eq!(picture(&store).await, before);
    let lapsed = taken(&store, "b", ANA, &[0]).await;
    store.sweep(LOCK_MS, 100).await;
    let gone = store.release(&lapsed.id, ANA, BASKET).await;
    assert_eq!(
        gone,
        Err(InventoryRefusal::Gone),
        "it lapsed and was not released"
    );
}

async fn of_five_hundred_tasks_on_one_cell_exactly_one_wins(store: Store) {
    opened(&store).await;
    let mut running = tokio::task::JoinSet::new();
    for n in 0..500_u16 {
        let store = Arc::clone(&store);
        running.spawn(async move {
            let mut visitor = Holder([9; 32]);
            visitor.0[..2].copy_from_slice(&n.to_be_bytes());
            let hold = basket(&n.to_string(), visitor, &[3]);
            store.take(hold, 1).await
        });
    }
    let answers = running.join_all().await;
    let won = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(won, 1);
    let lost = Err(InventoryRefusal::Taken(vec![3, 11]));
    assert_eq!(
        answers.iter().filter(|answer| **answer == lost).count(),
        499
    );
}

async fn a_call_that_does_not_accept_the_holds_purpose_is_refused(store: Store) {
    opened(&store).await;
    for (n, purpose) in (0_u32..).zip([
        HoldPurpose::Exchange,
        HoldPurpose::Offer,
        HoldPurpose::LateMoney,
    ]) {
        let key = purpose.as_str();
        let hold = Hold {
            purpose,
            ..basket(key, ANA, &[n])
        };
        let hold = store.take(hold, NO_LIMIT).await.expect("free");
        let before = picture(&store).await;
        let other = Err(InventoryRefusal::OtherPurpose(purpose));
        let secured = store.secure(&hold.id, ANA, BASKET, LOCK_MS + 1).await;
        assert_eq!(secured.map(|locked| locked.hold), other.clone());
        let changed = store.change(&hold.id, ANA, seats(&[7]), vec![], false, NO_LIMIT);
        assert_eq!(changed.await, other.clone());
        let extended = store.extend(&hold.id, ANA, call(1), EXPIRES_MS + 1, LOCK_MS + 1);
        assert_eq!(extended.await, other.clone());
        let released = store.release(&hold.id, ANA, BASKET).await;
        assert_eq!(released, other.map(drop));
        assert_eq!(picture(&store).await, before, "a refusal changes nothing");
        // The visitor may read the hold, and a call that accepts its purpose may use it.
        assert_eq!(store.hold(&hold.id, ANA).await, Ok(hold.clone()));
        let own = &[HoldPurpose::Basket, purpose];
        let secured = store.secure(&hold.id, ANA, own, LOCK_MS + 1).await;
        assert_eq!(
            secured.map(|locked| locked.hold.stage),
            Ok(HoldStage::Ordered)
        );
        store.unsecure(&hold.id, LOCK_MS + 1, LOCK_MS).await;
        assert_eq!(store.release(&hold.id, ANA, own).await, Ok(()));
    }
}

async fn a_hold_keeps_its_purpose_and_its_terms(store: Store) {
    opened(&store).await;
    let hold = Hold {
        purpose: HoldPurpose::Exchange,
        terms: 7,
        ..basket("a", ANA, &[1])
    };
    let taken = store.take(hold.clone(), NO_LIMIT).await.expect("free");
    let found = store.hold(&hold.id, ANA).await.expect("the hold exists");
    for hold in [taken, found] {
        assert_eq!((hold.purpose, hold.terms), (HoldPurpose::Exchange, 7));
    }
    let again = store.take(hold, NO_LIMIT).await.expect("the same");
    assert_eq!((again.purpose, again.terms), (HoldPurpose::Exchange, 7));
}
