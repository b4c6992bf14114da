//! Cases of a ledger that went back to an older state.

use fairgate_databases::CountedOutside;
use fairgate_model::orders::order_copy::CopiedExchange;
use fairgate_model::orders::refund::TicketSelection;

use super::exchanging::{exchanged, wanted};
use super::free::{claim_free, free};
use super::refunding::{capture_of, ticketed, with_free_refunds};
use super::*;
use crate::ledger::{LedgerError, RefundRefused, RestoreOutcome, RestoredOrder};

pub(super) const CASES: &[Case] = cases![
    a_ledger_behind_the_counter_outside_closes_every_show_once,
    orders_of_which_no_provider_knows_are_counted_and_told_when_they_are_lost,
    a_closed_show_takes_no_claim_and_what_is_pending_can_be_paid,
    a_reopened_show_sells_until_the_ledger_goes_back_again,
    nothing_is_reopened_in_a_ledger_that_never_went_back,
    a_lost_order_is_restored_once_and_only_while_its_show_is_closed,
    an_order_whose_seats_prices_or_plan_do_not_fit_is_not_restored,
    a_lost_exchange_is_restored_and_its_capture_swaps_the_seats,
    an_order_that_nobody_paid_ends_for_the_one_that_had_its_seat_next,
    pending_orders_and_refunds_wait_until_their_provider_was_asked,
];

/// Returns what a place outside tells that knows so many further commits and orders without a
/// provider.
async fn ahead(ledger: &Books, commits: u64, orders: u64) -> CountedOutside {
    let counter = ledger.raise_counter().await.expect("raised");
    CountedOutside {
        counter: counter.counter + commits,
        orders_without_provider: Some(counter.orders_without_provider + orders),
    }
}

/// Makes the ledger one that lacks 100 commits.
async fn set_back(ledger: &Books) {
    let noticed = ledger.note_outside_counter(ahead(ledger, 100, 0).await);
    noticed.await.expect("written").expect("it is behind");
}

fn is_closed(refused: &Result<Order, SeatClaimRefused>) -> bool {
    matches!(
        refused,
        Err(SeatClaimRefused::Ledger(LedgerError::SetBack(_)))
    )
}

async fn a_ledger_behind_the_counter_outside_closes_every_show_once(ledger: Books) {
    stocked(&ledger).await;
    assert_eq!(ledger.sale_closure().await.expect("readable"), None);
    let outside = ahead(&ledger, 0, 0).await;
    let noticed = ledger.note_outside_counter(outside).await;
    assert_eq!(noticed.expect("readable"), None, "it is not behind");
    set_back(&ledger).await;
    let closure = ledger.sale_closure().await.expect("readable");
    let closure = closure.expect("it went back");
    assert!(closure.lacking > 0 && closure.lacking <= 100, "{closure:?}");
    assert!(closure.is_closed(&show()) && closure.noticed_at_ms > 0);
    let again = ledger.note_outside_counter(CountedOutside {
        counter: outside.counter + 50,
        ..outside
    });
    let again = again.await;
    assert_eq!(again.expect("readable"), None);
}

/// Makes an order whose money is at a real provider, until its tickets are issued.
async fn paid_by_card(ledger: &Books, key: &str, seats: &[u32]) {
    let order = order(key, BEN, seats);
    let paid = Payment {
        provider: "stripe".to_owned(),
        ..payment(&order)
    };
    let made = ledger.claim(order, paid, BASKET_BASIS).await;
    let order = made.expect("the cells are free");
    let event = provider_event(&order, ProviderEventKind::Authorised);
    settled_by(ledger, "stripe", event, NOW_MS + 1).await;
    let capture = capture_of(ledger, &order).await;
    ledger.captured(capture, NOW_MS + 2).await.expect("written");
}

async fn orders_of_which_no_provider_knows_are_counted_and_told_when_they_are_lost(ledger: Books) {
    with_free_refunds(&ledger).await;
    let counted = async || {
        let counter = ledger.raise_counter().await.expect("raised");
        counter.orders_without_provider
    };
    let before = counted().await;
    let sandbox = ticketed(&ledger, "sandbox", ANA, &[0]).await;
    assert_eq!(counted().await, before + 1);
    paid_by_card(&ledger, "card", &[1]).await;
    claimed(&ledger, "pending", BEN, &[2]).await;
    assert_eq!(
        counted().await,
        before + 1,
        "a provider knows the one order"
    );
    let free = free("free", ANA, &[3]);
    claim_free(&ledger, &free)
        .await
        .expect("the cells are free");
    claim_free(&ledger, &free).await.expect("a retry");
    assert_eq!(counted().await, before + 2);
    let old = record(&ledger, &sandbox).await.order;
    exchanged(&ledger, &old, "x", &[(4, 0..2, 1_000)]).await;
    assert_eq!(counted().await, before + 3, "nothing was paid for it");

    let outside = ahead(&ledger, 10, 4).await;
    let noticed = ledger.note_outside_counter(outside).await;
    let noticed = noticed.expect("written").expect("it is behind");
    assert_eq!(noticed.orders_lost, Some(4));
    let closure = ledger.sale_closure().await.expect("readable");
    assert_eq!(closure.expect("it went back").orders_lost, Some(4));
    assert_eq!(counted().await, before + 7, "the number goes on");
}

async fn a_closed_show_takes_no_claim_and_what_is_pending_can_be_paid(ledger: Books) {
    stocked(&ledger).await;
    let pending = claimed(&ledger, "before", ANA, &[1]).await;
    set_back(&ledger).await;
    let refused = claim(&ledger, &order("after", BEN, &[2])).await;
    assert!(is_closed(&refused), "{refused:?}");
    let same = claim(&ledger, &order("before", ANA, &[1])).await;
    assert_eq!(same.expect("the order is there").id, pending.id);
    authorised(&ledger, &pending).await;
    let state = record(&ledger, &pending).await.order.state;
    assert_eq!(state, OrderState::Confirmed);
}

async fn a_reopened_show_sells_until_the_ledger_goes_back_again(ledger: Books) {
    stocked(&ledger).await;
    set_back(&ledger).await;
    let version = ledger.catalogue_version().await.expect("readable");
    for other in ["night-2", "night", "night_1", "ight-*"] {
        ledger
            .reopen_shows(other.to_owned(), NOW_MS)
            .await
            .expect("written");
        let refused = claim(&ledger, &order("x", ANA, &[1])).await;
        assert!(is_closed(&refused), "{other}: {refused:?}");
    }
    let reopened = ledger.reopen_shows("night-*".to_owned(), NOW_MS).await;
    assert!(reopened.expect("written"));
    assert!(ledger.catalogue_version().await.expect("readable") > version);
    claimed(&ledger, "x", ANA, &[1]).await;
    let closure = ledger.sale_closure().await.expect("readable");
    assert!(!closure.expect("it went back").is_closed(&show()));
    set_back(&ledger).await;
    let refused = claim(&ledger, &order("y", BEN, &[2])).await;
    assert!(is_closed(&refused), "{refused:?}");
    let reopened = ledger.reopen_shows("*".to_owned(), NOW_MS).await;
    assert!(reopened.expect("written"));
    claimed(&ledger, "y", BEN, &[2]).await;
}

async fn nothing_is_reopened_in_a_ledger_that_never_went_back(ledger: Books) {
    stocked(&ledger).await;
    let reopened = ledger.reopen_shows("*".to_owned(), NOW_MS).await;
    assert!(!reopened.expect("written"));
    assert_eq!(ledger.sale_closure().await.expect("readable"), None);
    set_back(&ledger).await;
    let refused = claim(&ledger, &order("x", ANA, &[1])).await;
    assert!(is_closed(&refused), "{refused:?}");
}

/// Returns an order as the provider's copy gives it, with its payment.
fn lost(order: &Order) -> RestoredOrder {
    let order = Order {
        reason: "restored_from_provider".to_owned(),
        ..order.clone()
    };
    RestoredOrder {
        items: order.items.clone(),
        exchange: None,
        payment: Payment {
            reference: Some(format!("pi_{}", order.hold)),
            ..payment(&order)
        },
        order,
        grid: GRID,
    }
}

async fn payments_on(ledger: &Books, seats: &[u32]) -> Vec<Payment> {
    let seats = order("x", ANA, seats).held_seats();
    let payments = ledger.payments_on_seats(&show(), seats).await;
    payments.expect("readable")
}

async fn restore(ledger: &Books, lost: RestoredOrder) -> Result<RestoreOutcome, SeatClaimRefused> {
    ledger.restore_order(lost, NOW_MS + 1).await
}

async fn a_lost_order_is_restored_once_and_only_while_its_show_is_closed(ledger: Books) {
    stocked(&ledger).await;
    let order = order("lost", ANA, &[1, 2]);
    let open = restore(&ledger, lost(&order)).await.expect("no fault");
    assert_eq!(open, RestoreOutcome::Impossible);
    assert!(ledger.order(&order.id).await.expect("readable").is_none());
    set_back(&ledger).await;
    let (one, other) = tokio::join!(
        restore(&ledger, lost(&order)),
        restore(&ledger, lost(&order))
    );
    for restored in [one, other, restore(&ledger, lost(&order)).await] {
        assert_eq!(restored.expect("no fault"), RestoreOutcome::Restored);
    }
    let claims = ledger.claimed(&show()).await.expect("readable");
    assert_eq!(claims.len(), 4, "two seats on two legs");
    let paid = ledger.payment(&order.payment).await.expect("readable");
    assert!(paid.is_some_and(|payment| payment.reference.is_some()));
    authorised(&ledger, &order).await;
    let capture = capture_of(&ledger, &order).await;
    ledger.captured(capture, NOW_MS + 2).await.expect("written");
    let record = record(&ledger, &order).await;
    assert_eq!(record.order.state, OrderState::Ticketed);
    assert_eq!(record.tickets.len(), 2);
    let restored = async |pattern: &str, since_ms| {
        let counted = ledger.restored_orders(pattern.to_owned(), since_ms);
        counted.await.expect("readable")
    };
    for pattern in ["night-1", "night*", "*"] {
        assert_eq!(restored(pattern, NOW_MS).await, 1, "{pattern}");
        assert_eq!(restored(pattern, NOW_MS + 9).await, 0, "{pattern}");
    }
    assert_eq!(restored("night_1", 0).await, 0);
}

async fn an_order_whose_seats_prices_or_plan_do_not_fit_is_not_restored(ledger: Books) {
    stocked(&ledger).await;
    let there = claimed(&ledger, "there", BEN, &[1]).await;
    authorised(&ledger, &there).await;
    set_back(&ledger).await;
    let payments = payments_on(&ledger, &[0, 1, 2]).await;
    assert_eq!(payments.len(), 1);
    assert_eq!(payments[0].order, there.id);
    assert_eq!(payments_on(&ledger, &[2]).await, []);
    let taken = restore(&ledger, lost(&order("a", ANA, &[0, 1]))).await;
    assert!(
        matches!(taken, Err(SeatClaimRefused::Taken(_))),
        "{taken:?}"
    );
    let mut cheap = lost(&order("b", ANA, &[3]));
    cheap.items[0].amount = 1;
    assert!(restore(&ledger, cheap).await.is_err());
    let mut other_plan = lost(&order("c", ANA, &[3]));
    other_plan.order.plan_version += 1;
    let mut other_terms = lost(&order("d", ANA, &[3]));
    other_terms.order.terms += 1;
    let mut no_old_order = lost(&order("e", ANA, &[3]));
    no_old_order.exchange = Some(CopiedExchange {
        of: order("f", ANA, &[4]).id,
        fee: 0,
    });
    for unfit in [other_plan, other_terms, no_old_order] {
        let id = unfit.order.id.clone();
        let outcome = restore(&ledger, unfit).await.expect("no fault");
        assert_eq!(outcome, RestoreOutcome::Impossible);
        assert!(ledger.order(&id).await.expect("readable").is_none());
    }
    let claims = ledger.claimed(&show()).await.expect("readable");
    assert_eq!(claims.len(), 2, "nothing was claimed");
}

async fn an_order_that_nobody_paid_ends_for_the_one_that_had_its_seat_next(ledger: Books) {
    stocked(&ledger).await;
    let unpaid = claimed(&ledger, "unpaid", BEN, &[1, 2]).await;
    set_back(&ledger).await;
    let next = order("next", ANA, &[2, 3]);
    let restored = restore(&ledger, lost(&next)).await.expect("no fault");
    assert_eq!(restored, RestoreOutcome::Restored);
    let ended = record(&ledger, &unpaid).await.order;
    assert_eq!(ended.state, OrderState::Expired);
    let payments = payments_on(&ledger, &[1, 2, 3]).await;
    assert!(payments.iter().all(|payment| payment.order == next.id));
}

async fn pending_orders_and_refunds_wait_until_their_provider_was_asked(ledger: Books) {
    with_free_refunds(&ledger).await;
    paid_by_card(&ledger, "paid", &[0]).await;
    let paid = order("paid", BEN, &[0]);
    let pending = order("pending", BEN, &[1]);
    let by_card = Payment {
        provider: "stripe".to_owned(),
        ..payment(&pending)
    };
    let made = ledger.claim(pending.clone(), by_card, BASKET_BASIS).await;
    made.expect("the cells are free");
    let sandbox = claimed(&ledger, "sandbox", ANA, &[2]).await;
    set_back(&ledger).await;
    let closure = ledger.sale_closure().await.expect("readable");
    let closure = closure.expect("it went back");
    assert!(!closure.is_provider_asked);

    let later = pending.claim_until_ms + 1;
    let expired = ledger.expire_due(later, 10).await.expect("written");
    assert_eq!(expired, [sandbox.id], "no provider knows this one");
    let give_back = async || {
        ledger
            .refund(&paid.id, TicketSelection::All, NOW_MS + 3)
            .await
    };
    let refused = give_back().await;
    assert!(
        matches!(refused, Err(RefundRefused::Ledger(LedgerError::SetBack(_)))),
        "{refused:?}"
    );

    ledger.note_provider_asked(&closure).await.expect("written");
    let closure = ledger.sale_closure().await.expect("readable");
    assert!(closure.expect("it went back").is_provider_asked);
    let expired = ledger.expire_due(later, 10).await.expect("written");
    assert_eq!(expired, [pending.id]);
    let given = give_back().await.expect("no fault").expect("an order");
    assert!(given.changed);
}

async fn a_lost_exchange_is_restored_and_its_capture_swaps_the_seats(ledger: Books) {
    with_free_refunds(&ledger).await;
    let old = ticketed(&ledger, "a", ANA, &[0]).await;
    let old = record(&ledger, &old).await.order;
    set_back(&ledger).await;
    let exchange = wanted(&old, "x", &[(4, 0..2, 1_700)]);
    let new = exchange.successor;
    let lost = RestoredOrder {
        items: exchange.items.clone(),
        exchange: Some(CopiedExchange {
            of: old.id.clone(),
            fee: 0,
        }),
        ..lost(&Order {
            items: Vec::new(),
            ..new.clone()
        })
    };
    let restored = restore(&ledger, lost).await.expect("no fault");
    assert_eq!(restored, RestoreOutcome::Restored);
    let pending = record(&ledger, &new).await.order;
    assert_eq!((pending.total, pending.items.len()), (700, 1));
    authorised(&ledger, &new).await;
    let capture = capture_of(&ledger, &new).await;
    ledger.captured(capture, NOW_MS + 4).await.expect("written");
    let swapped = record(&ledger, &new).await.order;
    assert_eq!(swapped.state, OrderState::Ticketed);
    assert_eq!(swapped.items, exchange.items);
    let exchanged = record(&ledger, &old).await.order.state;
    assert_eq!(exchanged, OrderState::Exchanged);
}
