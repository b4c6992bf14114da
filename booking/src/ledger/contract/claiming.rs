//! Cases of claims, of deadlines, and of the picture: the data with which the store opens a show.

use SeatOutboxAction::{Free, Sell};
use fairgate_model::orders::transition::OrderEvent;

use super::*;
use crate::ledger::ShowRefused;

pub(super) const CASES: &[Case] = cases![
    a_claim_is_all_or_none_and_names_the_taken_cells,
    two_orders_claim_one_seat_if_their_legs_do_not_overlap,
    an_order_over_given_legs_is_found_until_its_cells_are_free,
    a_visitor_finds_their_own_orders_until_the_cells_are_free,
    a_second_claim_of_an_order_returns_the_order_as_it_is,
    a_claim_beyond_the_visitors_limit_is_refused,
    an_order_on_another_plan_is_refused,
    of_fifty_claims_at_once_on_one_cell_exactly_one_wins,
    an_expired_order_loses_its_claims_and_writes_a_row_that_frees_its_seats,
    orders_expire_at_their_deadline_and_in_bounded_batches,
    an_order_with_an_event_by_its_deadline_waits_and_other_orders_expire,
    an_overdue_claim_is_listed_with_the_newest_outbox_number,
    an_order_that_was_paid_in_time_does_not_expire,
    of_money_and_deadline_at_once_exactly_one_wins,
    a_cancelled_order_frees_its_cells_once,
    a_picture_has_the_sold_seats_and_the_pending_orders,
    a_new_plan_that_moves_claimed_seats_is_refused,
    a_show_that_moves_to_another_hall_pins_a_larger_version,
    each_incarnation_has_the_next_number,
    a_claim_on_locks_of_a_lost_incarnation_is_refused,
    a_claim_during_an_opening_is_in_the_picture_or_refused,
];

async fn a_claim_is_all_or_none_and_names_the_taken_cells(ledger: Books) {
    stocked(&ledger).await;
    claimed(&ledger, "a", ANA, &[2, 3]).await;
    let late = order("b", BEN, &[1, 2, 3]);
    let refused = claim(&ledger, &late).await;
    let Err(SeatClaimRefused::Taken(mut cells)) = refused else {
        panic!("claimed twice: {refused:?}");
    };
    cells.sort_unstable();
    assert_eq!(cells, [2, 3, 10, 11]);
    assert!(ledger.order(&late.id).await.expect("readable").is_none());
    let paid = ledger.payment(&late.payment).await.expect("readable");
    assert!(paid.is_none(), "a refused order leaves no payment");
    claimed(&ledger, "c", BEN, &[1]).await;
}

async fn two_orders_claim_one_seat_if_their_legs_do_not_overlap(ledger: Books) {
    stocked(&ledger).await;
    let over = |key, visitor, legs: std::ops::Range<u16>| {
        let mut order = order(key, visitor, &[5]);
        order.items[0].held.legs = legs;
        order
    };
    assert!(claim(&ledger, &over("a", ANA, 0..1)).await.is_ok());
    assert!(claim(&ledger, &over("b", BEN, 1..2)).await.is_ok());
    let refused = claim(&ledger, &over("c", BEN, 0..2)).await;
    assert!(matches!(refused, Err(SeatClaimRefused::Taken(cells)) if cells == [5, 13]));
}

async fn an_order_over_given_legs_is_found_until_its_cells_are_free(ledger: Books) {
    stocked(&ledger).await;
    let over = async |visitor, legs| {
        let found = ledger.order_over(&show(), visitor, legs).await;
        found.expect("readable")
    };
    let mut first = order("a", ANA, &[4, 5]);
    for item in &mut first.items {
        item.held.legs = 0..1;
    }
    assert_eq!(over(ANA, 0..1).await, None);
    claim(&ledger, &first).await.expect("the cells are free");
    assert_eq!(over(ANA, 0..1).await, Some(first.id.clone()));
    assert_eq!(
        over(ANA, 0..2).await,
        None,
        "no order goes on to the second leg"
    );
    assert_eq!(
        over(ANA, 1..2).await,
        None,
        "no order begins at the second leg"
    );
    assert_eq!(over(BEN, 0..1).await, None, "another visitor has no order");
    // Two orders for one seat count as two journeys, not as one longer journey.
    let mut onward = order("b", ANA, &[4]);
    onward.items[0].held.legs = 1..2;
    claim(&ledger, &onward).await.expect("the cells are free");
    assert_eq!(over(ANA, 0..2).await, None);
    assert_eq!(over(ANA, 1..2).await, Some(onward.id));
    authorised(&ledger, &first).await;
    assert_eq!(over(ANA, 0..1).await, Some(first.id), "paid");
    let expired = ledger.expire_due(CLAIM_UNTIL_MS, 10).await;
    assert_eq!(expired.expect("written").len(), 1);
    assert_eq!(over(ANA, 1..2).await, None, "the order has expired");
}

async fn a_visitor_finds_their_own_orders_until_the_cells_are_free(ledger: Books) {
    stocked(&ledger).await;
    let own = async |visitor| {
        let found = ledger.orders_of(&show(), visitor).await;
        found.expect("readable")
    };
    assert!(own(ANA).await.is_empty());
    let first = claimed(&ledger, "a", ANA, &[2, 3]).await;
    let second = claimed(&ledger, "b", ANA, &[4]).await;
    claimed(&ledger, "c", BEN, &[1]).await;
    let named = |order: &Order| (order.id.clone(), order.hold.clone());
    let mut both = [named(&first), named(&second)];
    both.sort();
    assert_eq!(own(ANA).await, both);
    authorised(&ledger, &first).await;
    let expired = ledger.expire_due(CLAIM_UNTIL_MS, 10).await;
    assert_eq!(expired.expect("written").len(), 2);
    assert_eq!(own(ANA).await, [named(&first)], "the paid order is left");
    assert!(own(BEN).await.is_empty());
}

async fn a_second_claim_of_an_order_returns_the_order_as_it_is(ledger: Books) {
    stocked(&ledger).await;
    let first = claimed(&ledger, "a", ANA, &[0]).await;
    let later = Order {
        claim_until_ms: CLAIM_UNTIL_MS * 2,
        ..first.clone()
    };
    assert_eq!(claim(&ledger, &later).await.expect("a retry"), first);
    authorised(&ledger, &first).await;
    let retried = claim(&ledger, &later).await.expect("a retry");
    assert_eq!(retried.state, OrderState::Confirmed);
    assert_eq!(history(&ledger, &first).await.len(), 2);
}

async fn a_claim_beyond_the_visitors_limit_is_refused(ledger: Books) {
    stocked(&ledger).await;
    let pending = claimed(&ledger, "a", ANA, &[0, 1]).await;
    let four = ClaimBasis {
        limit: 4,
        ..BASKET_BASIS
    };
    let over = order("b", ANA, &[2, 3, 4]);
    let refused = ledger.claim(over.clone(), payment(&over), four).await;
    assert!(matches!(
        refused,
        Err(SeatClaimRefused::Limit { have: 2, limit: 4 })
    ));
    let fits = order("c", ANA, &[2, 3]);
    assert!(
        ledger
            .claim(fits.clone(), payment(&fits), four)
            .await
            .is_ok()
    );
    let given_up = ledger
        .apply_event(&pending.id, OrderEvent::GivenUp, NOW_MS)
        .await;
    assert!(given_up.expect("written").expect("known").changed);
    let again = order("d", ANA, &[4, 5]);
    assert!(
        ledger
            .claim(again.clone(), payment(&again), four)
            .await
            .is_ok(),
        "a cancelled order no longer counts"
    );
}

async fn an_order_on_another_plan_is_refused(ledger: Books) {
    stocked(&ledger).await;
    let old = Order {
        plan_version: 2,
        ..order("a", ANA, &[0])
    };
    let refused = claim(&ledger, &old).await;
    assert!(matches!(refused, Err(SeatClaimRefused::PlanChanged)));
    assert!(ledger.order(&old.id).await.expect("readable").is_none());
}

async fn of_fifty_claims_at_once_on_one_cell_exactly_one_wins(ledger: Books) {
    stocked(&ledger).await;
    let mut running = tokio::task::JoinSet::new();
    for n in 0..50_u8 {
        let ledger = ledger.clone();
        running.spawn(async move {
            let order = order("a", Holder([n + 10; 32]), &[3]);
            claim(&ledger, &order).await.is_ok()
        });
    }
    let answers = running.join_all().await;
    assert_eq!(answers.iter().filter(|won| **won).count(), 1);
}

async fn an_expired_order_loses_its_claims_and_writes_a_row_that_frees_its_seats(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0, 1]).await;
    let expired = ledger.expire_due(CLAIM_UNTIL_MS, 10).await;
    assert_eq!(expired.expect("written"), std::slice::from_ref(&order.id));
    let after = record(&ledger, &order).await;
    assert_eq!(
        (after.order.state, after.order.reason.as_str()),
        (OrderState::Expired, "payment_deadline")
    );
    assert_eq!(outbox(&ledger).await, [(Free, order.hold)]);
    claimed(&ledger, "b", BEN, &[0, 1]).await;
}

async fn orders_expire_at_their_deadline_and_in_bounded_batches(ledger: Books) {
    stocked(&ledger).await;
    for seat in 0..5 {
        claimed(&ledger, &seat.to_string(), ANA, &[seat]).await;
    }
    let due = async |now_ms| ledger.expire_due(now_ms, 2).await.expect("written").len();
    assert_eq!(due(CLAIM_UNTIL_MS - 1).await, 0);
    for expected in [2, 2, 1, 0] {
        assert_eq!(due(CLAIM_UNTIL_MS).await, expected);
    }
}

async fn an_order_with_an_event_by_its_deadline_waits_and_other_orders_expire(ledger: Books) {
    stocked(&ledger).await;
    let mut orders = Vec::new();
    for (seat, event_after_ms) in [(0, Some(0)), (1, Some(1)), (2, None)] {
        let order = claimed(&ledger, &seat.to_string(), ANA, &[seat]).await;
        let event = provider_event(&order, ProviderEventKind::Authorised);
        if let Some(after_ms) = event_after_ms {
            let at_ms = CLAIM_UNTIL_MS + after_ms;
            let about = Some(order.payment.clone());
            let kept = ledger.keep_event(PROVIDER, event.event.clone(), about, vec![1], at_ms);
            assert!(kept.await.expect("stored"));
        }
        orders.push((order, event));
    }
    let mut expired = ledger
        .expire_due(CLAIM_UNTIL_MS + 9, 10)
        .await
        .expect("written");
    expired.sort();
    let mut late = [orders[1].0.id.clone(), orders[2].0.id.clone()];
    late.sort();
    assert_eq!(expired, late);
    let (order, event) = orders.swap_remove(0);
    assert_eq!(
        settled(&ledger, event, CLAIM_UNTIL_MS + 10).await,
        "applied"
    );
    let state = record(&ledger, &order).await.order.state;
    assert_eq!(state, OrderState::Confirmed);
    // If the event is settled already, the order expires at its deadline.
    let order = claimed(&ledger, "declined", BEN, &[3]).await;
    let declined = provider_event(&order, ProviderEventKind::Declined);
    assert_eq!(settled(&ledger, declined, NOW_MS).await, "applied");
    let expired = ledger.expire_due(CLAIM_UNTIL_MS, 10).await;
    assert_eq!(expired.expect("written"), [order.id]);
}

async fn an_overdue_claim_is_listed_with_the_newest_outbox_number(ledger: Books) {
    stocked(&ledger).await;
    let overdue = async |now_ms, after, batch_max| {
        let claims = ledger.overdue_claims(now_ms, after, batch_max).await;
        claims.expect("readable")
    };
    let mut orders = Vec::new();
    for (key, seat) in [("a", 0), ("b", 1), ("c", 2)] {
        orders.push(claimed(&ledger, key, ANA, &[seat]).await);
    }
    let sold = claimed(&ledger, "sold", BEN, &[3]).await;
    authorised(&ledger, &sold).await;
    rows(&ledger).await;
    assert!(overdue(CLAIM_UNTIL_MS - 1, None, 10).await.is_empty());
    orders.sort_by(|one, other| one.id.cmp(&other.id));
    let all = overdue(CLAIM_UNTIL_MS, None, 10).await;
    let listed: Vec<_> = all.iter().map(|claim| &claim.order).collect();
    let own: Vec<_> = orders.iter().map(|order| &order.id).collect();
    assert_eq!(listed, own, "a sold order is not listed");
    assert_eq!(all[0].hold.id, orders[0].hold);
    assert_eq!(all[0].hold.items, orders[0].held_seats());
    assert!(all[0].hold.lock_until_ms > CLAIM_UNTIL_MS);
    assert_eq!(
        all.iter().map(|claim| claim.cursor).collect::<Vec<_>>(),
        [1; 3]
    );
    let one = overdue(CLAIM_UNTIL_MS, None, 1).await;
    let after = Some((one[0].claim_until_ms, one[0].order.clone()));
    assert_eq!(overdue(CLAIM_UNTIL_MS, after, 10).await, all[1..]);
    let expired = ledger.expire_due(CLAIM_UNTIL_MS, 10).await;
    assert_eq!(expired.expect("written").len(), 3);
    assert!(overdue(CLAIM_UNTIL_MS, None, 10).await.is_empty());
}

async fn an_order_that_was_paid_in_time_does_not_expire(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    authorised(&ledger, &order).await;
    let expired = ledger.expire_due(CLAIM_UNTIL_MS * 2, 10).await;
    assert!(expired.expect("written").is_empty());
    let late = ledger
        .apply_event(&order.id, OrderEvent::DeadlinePassed, CLAIM_UNTIL_MS)
        .await;
    assert!(!late.expect("written").expect("known").changed);
    assert_eq!(outbox(&ledger).await, [(Sell, order.hold.clone())]);
    let taken = claim(&ledger, &super::order("b", BEN, &[0])).await;
    assert!(matches!(taken, Err(SeatClaimRefused::Taken(_))));
}

async fn of_money_and_deadline_at_once_exactly_one_wins(ledger: Books) {
    stocked(&ledger).await;
    for round in 0..20 {
        let order = claimed(&ledger, &round.to_string(), ANA, &[0]).await;
        let event = provider_event(&order, ProviderEventKind::Authorised);
        ledger.number_seat_rows().await.expect("numbered");
        let before = ledger.seat_cursor(&show()).await.expect("readable");
        let (outcome, expired) = tokio::join!(
            settled(&ledger, event, CLAIM_UNTIL_MS),
            ledger.expire_due(CLAIM_UNTIL_MS, 10)
        );
        let expired = !expired.expect("written").is_empty();
        assert_eq!(outcome, "applied", "late money is settled too: by a void");
        ledger.number_seat_rows().await.expect("numbered");
        let new_rows = ledger.seat_rows(&show(), before, 10).await;
        let new_rows = new_rows.expect("readable");
        let state = record(&ledger, &order).await.order.state;
        let kinds: Vec<SeatOutboxAction> = new_rows.iter().map(|row| row.kind).collect();
        if expired {
            assert_eq!((state, kinds), (OrderState::Expired, vec![Free]));
        } else {
            assert_eq!((state, kinds), (OrderState::Confirmed, vec![Sell]));
            let effect = ledger.due_effects(i64::MAX, 100).await.expect("readable");
            let effect = effect.iter().find(|due| due.payment.order == order.id);
            let capture = effect.expect("a capture is owed").id;
            let freed = ledger
                .capture_refused(capture, "makes room for the next round".into(), NOW_MS)
                .await;
            freed.expect("written");
        }
    }
}

async fn a_cancelled_order_frees_its_cells_once(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    for changed in [true, false] {
        let applied = ledger
            .apply_event(&order.id, OrderEvent::GivenUp, NOW_MS)
            .await;
        let applied = applied.expect("written").expect("known");
        assert_eq!(
            (applied.changed, applied.order.state),
            (changed, OrderState::Cancelled)
        );
    }
    assert_eq!(outbox(&ledger).await, [(Free, order.hold)]);
    let unknown = super::order("never", BEN, &[1]);
    let applied = ledger
        .apply_event(&unknown.id, OrderEvent::GivenUp, NOW_MS)
        .await;
    assert!(applied.expect("written").is_none());
}

async fn a_picture_has_the_sold_seats_and_the_pending_orders(ledger: Books) {
    stocked(&ledger).await;
    let sold = claimed(&ledger, "a", ANA, &[0, 1]).await;
    authorised(&ledger, &sold).await;
    let pending = claimed(&ledger, "b", BEN, &[2]).await;
    let gone = claimed(&ledger, "c", BEN, &[3]).await;
    let given_up = ledger
        .apply_event(&gone.id, OrderEvent::GivenUp, NOW_MS)
        .await;
    given_up.expect("written");
    let picture = ledger
        .open_show(&show(), PLAN, None)
        .await
        .expect("readable");
    assert_eq!(picture.sold, [(ANA, sold.held_seats())]);
    assert_eq!(picture.ordered.len(), 1);
    let hold = &picture.ordered[0];
    assert_eq!(
        (&hold.id, hold.visitor, &hold.items),
        (&pending.hold, BEN, &pending.held_seats())
    );
    assert!(
        hold.lock_until_ms > CLAIM_UNTIL_MS,
        "the lock lasts longer than the claim"
    );
    assert_eq!(
        picture.cursor, 2,
        "one row of the sale, and one of the cancelled order"
    );
    assert_eq!(ledger.seat_cursor(&show()).await.expect("readable"), 2);
}

async fn a_new_plan_that_moves_claimed_seats_is_refused(ledger: Books) {
    stocked(&ledger).await;
    claimed(&ledger, "a", ANA, &[0, 3]).await;
    let refused = ledger
        .put_show(stored(2), Some(check(1, |seat| seat < 3)), NOW_MS)
        .await;
    assert!(matches!(refused, Err(ShowRefused::PlanInUse(seats)) if seats == [3]));
    let pinned = ledger.shows().await.expect("readable");
    assert_eq!(pinned[0].plan_version, 1, "nothing was written");
    for unchecked in [None, Some(check(3, |_| true))] {
        let refused = ledger.put_show(stored(2), unchecked, NOW_MS).await;
        assert!(
            matches!(refused, Err(ShowRefused::PlanInUse(seats)) if seats == [0, 3]),
            "the new plan was not compared with the plan that the show pins"
        );
    }
    let mut elsewhere = stored(1);
    elsewhere.document.venue = "other-hall".parse().expect("a slug");
    let refused = ledger.put_show(elsewhere, None, NOW_MS).await;
    assert!(matches!(refused, Err(ShowRefused::PostponeInstead(of)) if of == ["venue"]));
    let kept = ledger
        .put_show(stored(2), Some(check(1, |seat| seat < 4)), NOW_MS)
        .await;
    assert!(kept.is_ok());
    let pinned = ledger.shows().await.expect("readable");
    assert_eq!((pinned.len(), pinned[0].plan_version), (1, 2));
    let old = claim(&ledger, &order("b", BEN, &[5])).await;
    assert!(matches!(old, Err(SeatClaimRefused::PlanChanged)));
}

async fn a_show_that_moves_to_another_hall_pins_a_larger_version(ledger: Books) {
    stocked(&ledger).await;
    let other: VenueId = "other-hall".parse().expect("a slug");
    let put = ledger.put_venue(&other, plan_of("plan", [2; 32]), NOWHERE, NOW_MS);
    assert_eq!(put.await.expect("stored"), 1);
    let mut moved = stored(1);
    moved.document.venue = other.clone();
    let versions = ledger.put_show(moved, None, NOW_MS).await.expect("stored");
    assert_eq!(versions.plan, 2, "orders of the old hall have the number 1");
    let shown = ledger.shows().await.expect("readable").remove(0);
    assert_eq!((&shown.document.venue, shown.plan_version), (&other, 2));
    assert_eq!(ledger.newest_plan(&other).await.expect("readable"), Some(2));
    let old = claim(&ledger, &order("a", ANA, &[0])).await;
    assert!(matches!(old, Err(SeatClaimRefused::PlanChanged)));
    let back = ledger.put_show(stored(1), None, NOW_MS).await;
    assert_eq!(back.expect("stored").plan, 3);
}

async fn each_incarnation_has_the_next_number(ledger: Books) {
    stocked(&ledger).await;
    let next = async || {
        ledger
            .next_incarnation(&show(), PLAN)
            .await
            .expect("written")
    };
    let first = next().await;
    assert!(first > 0);
    assert_eq!(next().await, first + 1);
    let changed = ledger.put_show(stored(1), None, NOW_MS).await;
    changed.expect("written");
    assert_eq!(
        next().await,
        first + 2,
        "a new document does not change the numbers"
    );
}

async fn a_claim_on_locks_of_a_lost_incarnation_is_refused(ledger: Books) {
    stocked(&ledger).await;
    let early = claimed(&ledger, "early", ANA, &[0]).await;
    ledger
        .open_show(&show(), PLAN, None)
        .await
        .expect("readable");
    claimed(&ledger, "still", ANA, &[1]).await;
    let picture = ledger.open_show(&show(), PLAN, Some(LIFE + 1)).await;
    assert_eq!(picture.expect("readable").ordered.len(), 2);
    let order = order("late", ANA, &[2]);
    let refused = claim(&ledger, &order).await;
    assert!(matches!(refused, Err(SeatClaimRefused::Superseded)));
    assert!(ledger.order(&order.id).await.expect("readable").is_none());
    let again = claim(&ledger, &early).await;
    assert_eq!(again.expect("the written order stays").id, early.id);
    let in_the_next = ClaimBasis {
        incarnation: LIFE + 1,
        ..BASKET_BASIS
    };
    let anew = ledger.claim(order.clone(), payment(&order), in_the_next);
    assert!(anew.await.is_ok());
    // If an older opening comes after a newer one, it does not undo the newer one.
    let older = ledger.open_show(&show(), PLAN, Some(LIFE)).await;
    assert_eq!(older.expect("readable").ordered.len(), 3);
    let refused = claim(&ledger, &super::order("later", ANA, &[3])).await;
    assert!(matches!(refused, Err(SeatClaimRefused::Superseded)));
}

async fn a_claim_during_an_opening_is_in_the_picture_or_refused(ledger: Books) {
    stocked(&ledger).await;
    for round in 0..15_u64 {
        let incarnation = LIFE + round;
        let mut claiming = tokio::task::JoinSet::new();
        for seat in 0..8_u32 {
            let ledger = ledger.clone();
            claiming.spawn(async move {
                let visitor = Holder([u8::try_from(seat).expect("few seats") + 10; 32]);
                let order = order(&format!("{round}"), visitor, &[seat]);
                let basis = ClaimBasis {
                    incarnation,
                    ..BASKET_BASIS
                };
                let answer = ledger.claim(order.clone(), payment(&order), basis).await;
                (order, answer)
            });
        }
        let lost = Some(incarnation + 1);
        let picture = ledger
            .open_show(&show(), PLAN, lost)
            .await
            .expect("readable");
        for (order, answer) in claiming.join_all().await {
            let is_seen = picture.ordered.iter().any(|hold| hold.id == order.hold);
            match answer {
                Ok(_) => assert!(is_seen, "round {round}: claimed and not seen"),
                Err(SeatClaimRefused::Superseded) => assert!(!is_seen),
                Err(other) => panic!("{other}"),
            }
            let given_up = ledger
                .apply_event(&order.id, OrderEvent::GivenUp, NOW_MS)
                .await;
            given_up.expect("written");
        }
    }
}
