//! Cases of money that goes back at the provider without a call of ours: refunds in the provider's
//! own pages, disputes, payments that are cancelled there, and money that the ledger does not know.

use OrderState::{PartlyRefunded, Refunded, Ticketed};
use fairgate_model::ids::TicketId;
use fairgate_model::orders::refund::{RefundReason, RefundState, TicketSelection};
use fairgate_model::payments::CreatedPayment;
use fairgate_model::payments::returns::{
    DisputeState, ProviderReturns, ReturnOrigin, ReturnState, ReturnedSum,
};

use super::exchanging::exchanged;
use super::refunding::{named, owed, seats_claimed, ticketed, with_free_refunds, with_rules};
use super::*;
use crate::ledger::{
    MoneyFindingCounts, MoneyFindingKind, OrderSettlement, SettleRefused, TicketScanOutcome,
};

pub(super) const CASES: &[Case] = cases![
    an_order_whose_whole_money_went_back_has_no_tickets_and_no_seats,
    an_order_of_whose_money_a_part_went_back_is_listed_until_it_is_settled,
    named_tickets_of_a_settled_order_are_void_and_no_more_money_goes_back,
    what_is_owed_is_at_most_what_is_left,
    a_buyer_gets_no_more_than_what_is_left,
    what_went_back_at_the_provider_does_not_lift_the_fee,
    a_ticket_that_stays_is_never_left_without_money,
    money_of_an_exchanged_order_ends_the_order_that_has_its_seats,
    an_open_finding_follows_the_seats_into_an_exchange,
    a_refund_at_the_provider_that_fails_is_struck_out,
    a_refund_that_somebody_made_by_hand_is_not_made_again,
    a_refund_that_somebody_made_by_hand_in_two_sums_is_not_made_again,
    a_payment_that_was_cancelled_at_the_provider_may_be_paid_anew,
    events_of_an_ended_attempt_change_nothing,
    unknown_money_is_kept_until_somebody_settles_it,
];

pub(super) fn at_provider(id: &str, amount: i64) -> ReturnedSum {
    ReturnedSum {
        id: id.to_owned(),
        amount,
        origin: ReturnOrigin::AtProvider,
        state: ReturnState::Done,
        copy: None,
    }
}

/// Settles an event about returned money and disputes, as the inbox completes it.
pub(super) async fn report(
    ledger: &Books,
    order: &Order,
    (sums, dispute): (Vec<ReturnedSum>, Option<DisputeState>),
    n: i64,
) -> &'static str {
    let done = sums.iter().filter(|sum| sum.state == ReturnState::Done);
    let refunded: i64 = done.map(|sum| sum.amount).sum();
    let event = ProviderEvent {
        event: format!("evt_{n}_{}", order.id),
        amount: order.currency.with_amount(refunded.min(order.total)),
        returns: Some(ProviderReturns { sums, dispute }),
        ..provider_event(order, ProviderEventKind::Refunded)
    };
    settled(ledger, event, NOW_MS + n).await
}

pub(super) async fn counts(ledger: &Books) -> (u64, u64) {
    let MoneyFindingCounts {
        orders, unknown, ..
    } = ledger.money_finding_counts().await.expect("readable");
    (orders, unknown)
}

pub(super) async fn payment_of(ledger: &Books, order: &Order) -> Payment {
    let payment = ledger.payment(&order.payment).await.expect("readable");
    payment.expect("known")
}

pub(super) async fn scanned(ledger: &Books, order: &Order, seat: u32) -> TicketScanOutcome {
    let ticket = TicketId::of_seat(&order.id, seat);
    let scanned = ledger.scan(&ticket, None, NOW_MS + 50).await;
    scanned.expect("written").expect("a ticket")
}

async fn an_order_whose_whole_money_went_back_has_no_tickets_and_no_seats(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    rows(&ledger).await;
    let sums = vec![at_provider("re_1", 2_000)];
    assert_eq!(
        report(&ledger, &order, (sums.clone(), None), 5).await,
        "applied"
    );
    let now = record(&ledger, &order).await;
    assert_eq!(now.order.state, Refunded);
    assert_eq!(now.order.reason, "refunded_at_provider");
    assert_eq!(seats_claimed(&ledger).await, [] as [u32; 0]);
    let outbox = outbox(&ledger).await;
    assert_eq!(outbox.last().map(|row| row.0), Some(SeatOutboxAction::Free));
    assert!(matches!(
        scanned(&ledger, &order, 0).await,
        TicketScanOutcome::Void(_)
    ));
    let [refund] = &now.refunds[..] else {
        panic!("one refund: {:?}", now.refunds);
    };
    assert_eq!((refund.amount, refund.state), (2_000, RefundState::Done));
    assert_eq!(
        (refund.items.len(), refund.reason),
        (2, RefundReason::AtProvider)
    );
    let payment = payment_of(&ledger, &order).await;
    assert_eq!(
        (payment.state, payment.refunded),
        (PaymentState::Refunded, 2_000)
    );
    // The same news again, and an older list, change nothing.
    report(&ledger, &order, (sums, None), 6).await;
    assert_eq!(record(&ledger, &order).await.refunds.len(), 1);
    assert_eq!(
        (
            counts(&ledger).await,
            owed(&ledger, NOW_MS + 99).await.len()
        ),
        ((0, 0), 0)
    );
}

async fn an_order_of_whose_money_a_part_went_back_is_listed_until_it_is_settled(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    report(&ledger, &order, (vec![at_provider("re_1", 700)], None), 5).await;
    assert_eq!(record(&ledger, &order).await.order.state, Ticketed);
    assert_eq!(counts(&ledger).await, (1, 0));
    let open = ledger.open_money_findings(10).await.expect("readable");
    assert_eq!(open[0].kind, MoneyFindingKind::RefundedInPart);
    assert_eq!(
        (open[0].sum.amount, &open[0].order),
        (700, &Some(order.id.clone()))
    );
    let goodwill = || OrderSettlement::Goodwill {
        reason: "a seat with a bad view".to_owned(),
    };
    let settled = ledger.settle_order(&order.id, goodwill(), NOW_MS + 6).await;
    assert!(settled.expect("allowed").expect("known").changed);
    assert_eq!(counts(&ledger).await, (0, 0));
    assert!(matches!(
        scanned(&ledger, &order, 0).await,
        TicketScanOutcome::First(_)
    ));
    let again = ledger.settle_order(&order.id, goodwill(), NOW_MS + 7).await;
    assert!(matches!(again, Err(SettleRefused::NothingToSettle)));
    // Another part is another finding.
    let sums = vec![at_provider("re_1", 700), at_provider("re_2", 100)];
    report(&ledger, &order, (sums, None), 8).await;
    assert_eq!(counts(&ledger).await, (1, 0));
    assert_eq!(payment_of(&ledger, &order).await.refunded, 800);
}

async fn named_tickets_of_a_settled_order_are_void_and_no_more_money_goes_back(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    let other = ticketed(&ledger, "b", BEN, &[2]).await;
    report(&ledger, &order, (vec![at_provider("re_1", 1_000)], None), 5).await;
    let settle = async |tickets: Vec<TicketId>| {
        let settlement = OrderSettlement::Tickets { tickets };
        ledger.settle_order(&order.id, settlement, NOW_MS + 6).await
    };
    let strange = settle(vec![TicketId::of_seat(&other.id, 2)]).await;
    assert!(matches!(strange, Err(SettleRefused::Unknown(_))));
    settle(vec![TicketId::of_seat(&order.id, 0)])
        .await
        .expect("allowed");
    let now = record(&ledger, &order).await;
    assert_eq!(
        (now.order.state, now.order.items.len()),
        (PartlyRefunded, 1)
    );
    assert_eq!(seats_claimed(&ledger).await, [1, 2]);
    assert_eq!(owed(&ledger, NOW_MS + 99).await.len(), 0);
    assert_eq!(counts(&ledger).await, (0, 0));
    // The other ticket is given back by its buyer: the rest of the money goes back.
    let rest = ledger
        .refund(&order.id, TicketSelection::All, NOW_MS + 7)
        .await;
    rest.expect("allowed");
    let due = owed(&ledger, NOW_MS + 99).await;
    assert_eq!(due.iter().map(|one| one.amount).sum::<i64>(), 1_000);
}

async fn what_is_owed_is_at_most_what_is_left(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    // The buyer gives all back, and somebody gives half of it back at the provider at this moment.
    let refund = ledger
        .refund(&order.id, TicketSelection::All, NOW_MS + 3)
        .await;
    refund.expect("allowed");
    let lent = owed(&ledger, NOW_MS + 4).await.remove(0);
    let failed = ledger.put_off_refund(&lent.id, NOW_MS + 9_000, "too large".into(), true, NOW_MS);
    failed.await.expect("written");
    report(&ledger, &order, (vec![at_provider("re_1", 1_500)], None), 5).await;
    let due = owed(&ledger, NOW_MS + 6).await;
    assert_eq!((due.len(), due[0].amount), (1, 500));
    ledger
        .refund_done(&due[0].id, NOW_MS + 7)
        .await
        .expect("written");
    let payment = payment_of(&ledger, &order).await;
    assert_eq!(
        (payment.state, payment.refunded),
        (PaymentState::Refunded, 2_000)
    );
    assert_eq!(counts(&ledger).await, (0, 0), "no ticket is valid");
    assert_eq!(ledger.backlog().await.expect("readable").1, 0);
}

async fn a_buyer_gets_no_more_than_what_is_left(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    report(&ledger, &order, (vec![at_provider("re_1", 1_200)], None), 5).await;
    let applied = ledger
        .refund(&order.id, TicketSelection::All, NOW_MS + 6)
        .await;
    applied.expect("allowed");
    let due = owed(&ledger, NOW_MS + 7).await;
    assert_eq!(due.iter().map(|one| one.amount).collect::<Vec<_>>(), [800]);
    let refunds = record(&ledger, &order).await.refunds;
    assert_eq!((refunds[1].amount, refunds[1].covered), (800, 1_200));
    assert_eq!(counts(&ledger).await, (0, 0), "nothing is left to settle");
}

async fn what_went_back_at_the_provider_does_not_lift_the_fee(ledger: Books) {
    with_rules(&ledger, serde_json::json!([{"until_h": 0, "fee_pct": 10}])).await;
    let due = async |n| {
        let due = owed(&ledger, NOW_MS + n).await;
        due.iter().map(|one| one.amount).collect::<Vec<_>>()
    };
    // Nobody has said what the 300 were for, so the buyer gets 1,800 in all.
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    report(&ledger, &order, (vec![at_provider("re_1", 300)], None), 5).await;
    let money = record(&ledger, &order).await.money;
    assert_eq!((money.left, money.unsettled), (1_700, 300));
    let refund = ledger.refund(&order.id, named(&order, &[0]), NOW_MS + 6);
    refund.await.expect("allowed");
    assert_eq!(due(7).await, [900]);
    let refund = ledger.refund(&order.id, TicketSelection::All, NOW_MS + 8);
    refund.await.expect("allowed");
    assert_eq!(due(9).await, [600]);
    assert_eq!(counts(&ledger).await, (0, 0));
    // A present comes on top of what the rule gives.
    let order = ticketed(&ledger, "b", BEN, &[2, 3]).await;
    report(&ledger, &order, (vec![at_provider("re_2", 100)], None), 15).await;
    let goodwill = OrderSettlement::Goodwill {
        reason: "a seat with a bad view".to_owned(),
    };
    let settled = ledger.settle_order(&order.id, goodwill, NOW_MS + 16).await;
    settled.expect("allowed");
    let refund = ledger.refund(&order.id, TicketSelection::All, NOW_MS + 17);
    refund.await.expect("allowed");
    assert_eq!(due(18).await, [1_800]);
}

async fn a_ticket_that_stays_is_never_left_without_money(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    report(&ledger, &order, (vec![at_provider("re_1", 1_700)], None), 5).await;
    let refund = ledger
        .refund(&order.id, named(&order, &[0]), NOW_MS + 6)
        .await;
    refund.expect("allowed");
    assert_eq!(
        owed(&ledger, NOW_MS + 7).await.len(),
        0,
        "1,700 are more than the ticket cost"
    );
    let now = record(&ledger, &order).await;
    assert_eq!((now.order.state, now.money.left), (PartlyRefunded, 300));
    assert_eq!((now.refunds[1].amount, now.refunds[1].covered), (0, 1_000));
    let refund = ledger
        .refund(&order.id, TicketSelection::All, NOW_MS + 8)
        .await;
    refund.expect("allowed");
    let due = owed(&ledger, NOW_MS + 9).await;
    assert_eq!(due.iter().map(|one| one.amount).collect::<Vec<_>>(), [300]);
}

async fn money_of_an_exchanged_order_ends_the_order_that_has_its_seats(ledger: Books) {
    with_free_refunds(&ledger).await;
    let old = ticketed(&ledger, "a", ANA, &[0]).await;
    let new = exchanged(&ledger, &old, "b", &[(1, 0..2, 1_000)]).await;
    assert_eq!(record(&ledger, &new).await.order.state, Ticketed);
    report(&ledger, &old, (vec![at_provider("re_1", 400)], None), 5).await;
    assert_eq!(record(&ledger, &new).await.order.state, Ticketed);
    let open = ledger.open_money_findings(10).await.expect("readable");
    assert_eq!(open[0].order, Some(new.id.clone()));
    let sums = vec![at_provider("re_1", 400), at_provider("re_2", 600)];
    report(&ledger, &old, (sums, None), 6).await;
    let now = record(&ledger, &new).await;
    assert_eq!(now.order.state, Refunded);
    assert_eq!((now.refunds[0].amount, now.refunds[0].elsewhere), (0, 600));
    assert_eq!(seats_claimed(&ledger).await, [] as [u32; 0]);
    assert_eq!(counts(&ledger).await, (0, 0));
}

async fn an_open_finding_follows_the_seats_into_an_exchange(ledger: Books) {
    with_free_refunds(&ledger).await;
    let old = ticketed(&ledger, "a", ANA, &[0]).await;
    report(&ledger, &old, (vec![at_provider("re_1", 400)], None), 5).await;
    let new = exchanged(&ledger, &old, "b", &[(1, 0..2, 1_000)]).await;
    let open = ledger.open_money_findings(10).await.expect("readable");
    assert_eq!(open[0].order, Some(new.id.clone()));
    let settlement = OrderSettlement::Tickets {
        tickets: vec![TicketId::of_seat(&new.id, 1)],
    };
    let settled = ledger.settle_order(&new.id, settlement, NOW_MS + 6).await;
    assert_eq!(
        settled.expect("allowed").expect("known").order.state,
        Refunded
    );
}

async fn a_refund_at_the_provider_that_fails_is_struck_out(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    report(&ledger, &order, (vec![at_provider("re_1", 700)], None), 5).await;
    let failed = ReturnedSum {
        state: ReturnState::Failed,
        ..at_provider("re_1", 700)
    };
    report(&ledger, &order, (vec![failed.clone()], None), 6).await;
    assert_eq!(counts(&ledger).await, (0, 0));
    let refund = ledger
        .refund(&order.id, TicketSelection::All, NOW_MS + 7)
        .await;
    refund.expect("allowed");
    let due = owed(&ledger, NOW_MS + 8).await;
    assert_eq!(
        due.iter().map(|one| one.amount).collect::<Vec<_>>(),
        [2_000]
    );
    // After a whole refund the tickets are void, so a failed one is owed again.
    let other = ticketed(&ledger, "b", BEN, &[2]).await;
    report(&ledger, &other, (vec![at_provider("re_2", 1_000)], None), 9).await;
    let failed = ReturnedSum {
        state: ReturnState::Failed,
        ..at_provider("re_2", 1_000)
    };
    report(&ledger, &other, (vec![failed], None), 10).await;
    let due = owed(&ledger, NOW_MS + 11).await;
    let again = due.iter().find(|one| one.payment.order == other.id);
    assert_eq!(again.map(|one| one.amount), Some(1_000));
}

async fn a_refund_that_somebody_made_by_hand_is_not_made_again(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    let refund = ledger
        .refund(&order.id, named(&order, &[0]), NOW_MS + 3)
        .await;
    refund.expect("allowed");
    let lent = owed(&ledger, NOW_MS + 4).await.remove(0);
    let failed = ledger.put_off_refund(&lent.id, NOW_MS + 9_000, "closed".into(), true, NOW_MS);
    failed.await.expect("written");
    report(&ledger, &order, (vec![at_provider("re_1", 1_000)], None), 5).await;
    let refunds = record(&ledger, &order).await.refunds;
    assert_eq!((refunds.len(), refunds[0].state), (1, RefundState::Done));
    assert_eq!(counts(&ledger).await, (0, 0));
    assert_eq!(record(&ledger, &order).await.order.state, PartlyRefunded);
}

/// Stores the provider's payment of an attempt to pay.
async fn made(ledger: &Books, order: &Order, attempt: u32, reference: &str) {
    let made = CreatedPayment {
        reference: reference.to_owned(),
        client: format!("{reference}_secret"),
    };
    let kept = ledger
        .record_created_payment((&order.payment, attempt), made)
        .await;
    kept.expect("written");
}

fn of_reference(order: &Order, kind: ProviderEventKind, reference: &str) -> ProviderEvent {
    ProviderEvent {
        event: format!("{kind:?}_{reference}_{}", order.id),
        reference: Some(reference.to_owned()),
        ..provider_event(order, kind)
    }
}

async fn a_payment_that_was_cancelled_at_the_provider_may_be_paid_anew(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    made(&ledger, &order, 0, "pi_1").await;
    let cancelled = of_reference(&order, ProviderEventKind::Voided, "pi_1");
    assert_eq!(
        settled(&ledger, cancelled.clone(), NOW_MS + 1).await,
        "applied"
    );
    let payment = payment_of(&ledger, &order).await;
    assert_eq!((payment.attempt, payment.state), (1, PaymentState::Created));
    assert_eq!((payment.reference, payment.client), (None, None));
    assert_eq!(
        record(&ledger, &order).await.order.state,
        OrderState::Pending
    );
    // A late answer of the first attempt is not stored as that of the second.
    made(&ledger, &order, 0, "pi_1").await;
    assert_eq!(payment_of(&ledger, &order).await.reference, None);
    made(&ledger, &order, 1, "pi_2").await;
    let again = ProviderEvent {
        event: "again".to_owned(),
        ..cancelled
    };
    assert_eq!(settled(&ledger, again, NOW_MS + 2).await, "ended_attempt");
    let approved = of_reference(&order, ProviderEventKind::Authorised, "pi_2");
    assert_eq!(settled(&ledger, approved, NOW_MS + 3).await, "applied");
    assert_eq!(
        record(&ledger, &order).await.order.state,
        OrderState::Confirmed
    );
}

async fn events_of_an_ended_attempt_change_nothing(ledger: Books) {
    stocked(&ledger).await;
    let order = claimed(&ledger, "a", ANA, &[0]).await;
    made(&ledger, &order, 0, "pi_1").await;
    let cancelled = of_reference(&order, ProviderEventKind::Voided, "pi_1");
    settled(&ledger, cancelled, NOW_MS + 1).await;
    for kind in [ProviderEventKind::Authorised, ProviderEventKind::Captured] {
        let late = of_reference(&order, kind, "pi_1");
        assert_eq!(settled(&ledger, late, NOW_MS + 2).await, "ended_attempt");
    }
    assert_eq!(
        record(&ledger, &order).await.order.state,
        OrderState::Pending
    );
    assert!(
        ledger
            .has_ended(&order.payment, "pi_1".to_owned())
            .await
            .expect("readable")
    );
    let found = ledger
        .payment_of_reference(PROVIDER, "pi_1".to_owned())
        .await;
    assert_eq!(found.expect("readable"), None);
}

async fn a_refund_that_somebody_made_by_hand_in_two_sums_is_not_made_again(ledger: Books) {
    with_free_refunds(&ledger).await;
    let order = ticketed(&ledger, "a", ANA, &[0, 1]).await;
    let refund = ledger.refund(&order.id, named(&order, &[0]), NOW_MS + 3);
    refund.await.expect("allowed");
    let lent = owed(&ledger, NOW_MS + 4).await.remove(0);
    let failed = ledger.put_off_refund(&lent.id, NOW_MS + 9_000, "closed".into(), true, NOW_MS);
    failed.await.expect("written");
    report(&ledger, &order, (vec![at_provider("re_1", 400)], None), 5).await;
    assert_eq!(counts(&ledger).await, (0, 0), "it was for that refund");
    let sums = vec![at_provider("re_1", 400), at_provider("re_2", 600)];
    report(&ledger, &order, (sums, None), 6).await;
    assert_eq!(owed(&ledger, NOW_MS + 99_999).await.len(), 0);
    assert_eq!(payment_of(&ledger, &order).await.refunded, 1_000);
    assert_eq!(counts(&ledger).await, (0, 0));
    let money = record(&ledger, &order).await.money;
    assert_eq!((money.left, money.unsettled), (1_000, 0));
}

async fn unknown_money_is_kept_until_somebody_settles_it(ledger: Books) {
    stocked(&ledger).await;
    let sum = |amount| Currency::EUR.with_amount(amount);
    let note = async |amount, n| {
        let id = "pi_9".to_owned();
        let noted =
            ledger.note_unknown_money(PROVIDER, id, ("payment_x".into(), None), sum(amount), n);
        noted.await.expect("written");
    };
    note(900, NOW_MS).await;
    note(900, NOW_MS + 1).await;
    assert_eq!(counts(&ledger).await, (0, 1));
    let open = ledger.open_money_findings(10).await.expect("readable");
    assert_eq!((open[0].sum, open[0].first_seen_ms), (sum(900), NOW_MS));
    assert_eq!(open[0].kind, MoneyFindingKind::UnknownMoney);
    let settle = async || {
        let settled = ledger.settle_unknown_money("pi_9".into(), "given back".into(), NOW_MS + 2);
        settled.await.expect("written")
    };
    assert!(settle().await);
    assert!(!settle().await);
    note(900, NOW_MS + 3).await;
    assert_eq!(counts(&ledger).await, (0, 0), "it is settled");
    note(1_000, NOW_MS + 4).await;
    assert_eq!(counts(&ledger).await, (0, 1), "more money is news");
    let left = async |left, n| {
        let noted = ledger.note_unknown_left("pi_9".to_owned(), left, n);
        noted.await.expect("written");
        let open = ledger.open_money_findings(10).await.expect("readable");
        open.first().map(|one| one.sum.amount)
    };
    assert_eq!(left(400, NOW_MS + 5).await, Some(400));
    let is_listed = async || {
        let listed = ledger.is_unknown_money("pi_9".to_owned()).await;
        listed.expect("readable")
    };
    assert!(is_listed().await);
    assert_eq!(left(0, NOW_MS + 6).await, None, "all of it went back");
    assert!(!is_listed().await);
}
