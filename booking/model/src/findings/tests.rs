//! Every kind of drift is found, and changes that are still on their way are not reported.

use super::*;
use crate::ids::HoldId;
use crate::money::Currency;
use crate::payments::returns::ProviderReturns;

const NOW_MS: i64 = 1_000_000;

fn facts(state: OrderState, money: PaymentState) -> OrderFacts {
    let show = "night-1".parse().expect("a slug");
    let order = OrderId::of_hold(&HoldId::of_key(&show, fairgate_pass::Holder([1; 32]), "k"));
    OrderFacts {
        payment: PaymentId::of_order(&order),
        order,
        state,
        changed_ms: NOW_MS - ON_ITS_WAY_MS - 1,
        claim_until_ms: NOW_MS,
        seats: 2,
        tickets: 2,
        money,
        owed: Vec::new(),
        late: false,
        refund_failed: false,
    }
}

fn check(facts: &OrderFacts, expected: Option<DriftKind>) {
    let snapshot = ReconcilerSnapshot {
        orders: vec![facts.clone()],
        ..ReconcilerSnapshot::default()
    };
    let found = findings(&snapshot, NOW_MS);
    assert_eq!(
        found.first().map(|finding| finding.kind),
        expected,
        "{facts:?}"
    );
}

#[test]
fn consistent_orders_and_recent_changes_give_no_finding() {
    use OrderState as S;
    use PaymentState as P;
    check(&facts(S::Pending, P::Created), None);
    check(&facts(S::Expired, P::Created), None);
    check(&facts(S::Expired, P::Voided), None);
    check(&facts(S::Ticketed, P::Captured), None);
    let mut late = facts(S::Expired, P::Authorised);
    late.late = true;
    check(&late, None);
    let mut owed = facts(S::Cancelled, P::Authorised);
    owed.owed = vec![EffectKind::Void];
    check(&owed, None);
    let mut young = facts(S::Confirmed, P::Authorised);
    young.changed_ms = NOW_MS - ON_ITS_WAY_MS;
    check(&young, None);
}

#[test]
fn each_kind_of_drift_of_an_order_is_found() {
    use OrderState as S;
    use PaymentState as P;
    for state in [S::Pending, S::AwaitingConsent] {
        let mut overdue = facts(state, P::Created);
        overdue.claim_until_ms = NOW_MS - ON_ITS_WAY_MS - 1;
        check(&overdue, Some(DriftKind::OrderOverdue));
    }
    check(
        &facts(S::Confirmed, P::Authorised),
        Some(DriftKind::CaptureNotOwed),
    );
    for money in [P::Authorised, P::Captured] {
        for state in [S::Expired, S::Cancelled, S::CaptureFailed] {
            check(&facts(state, money), Some(DriftKind::MoneyNotReturned));
        }
    }
    let mut bare = facts(S::Ticketed, P::Captured);
    bare.tickets = 1;
    check(&bare, Some(DriftKind::TicketsMissing));
    let mut failed = facts(S::Expired, P::Captured);
    failed.owed = vec![EffectKind::Refund];
    failed.refund_failed = true;
    check(&failed, Some(DriftKind::RefundFailed));
}

#[test]
fn only_a_payment_that_has_gone_further_at_the_provider_gives_a_finding() {
    use PaymentState as P;
    let facts = facts(OrderState::Pending, P::Created);
    let payment = |state| Payment {
        id: facts.payment.clone(),
        order: facts.order.clone(),
        provider: "stripe".to_owned(),
        amount: Currency::EUR.with_amount(100),
        state,
        reference: None,
        client: None,
        refunded: if state == P::Refunded { 100 } else { 0 },
        attempt: 0,
        dispute: None,
    };
    for (here, there, refunded, news) in [
        (P::Created, P::Created, 0, false),
        (P::Created, P::Authorised, 0, true),
        (P::Declined, P::Authorised, 0, true),
        (P::Authorised, P::Refunded, 100, true),
        (P::Captured, P::Authorised, 0, false),
        (P::Captured, P::Captured, 0, false),
        (P::Captured, P::Captured, 40, true),
        (P::Captured, P::Refunded, 100, true),
        (P::Refunded, P::Refunded, 100, false),
        (P::Refunded, P::Captured, 0, true),
        (P::Voided, P::Voided, 0, false),
    ] {
        let read = ProviderPayment {
            state: there,
            amount: Currency::EUR.with_amount(100),
            refunded,
            returns: ProviderReturns::default(),
            card: None,
        };
        let found = of_payment(&payment(here), 0, &read);
        assert_eq!(found.is_some(), news, "{here:?} {there:?}");
    }
}

#[test]
fn a_refund_that_fails_again_after_a_change_of_its_payment_is_another_event() {
    let facts = facts(OrderState::Ticketed, PaymentState::Refunded);
    let refunded = Payment {
        id: facts.payment,
        order: facts.order,
        provider: "sandbox".to_owned(),
        amount: Currency::EUR.with_amount(100),
        state: PaymentState::Refunded,
        reference: None,
        client: None,
        refunded: 100,
        attempt: 0,
        dispute: None,
    };
    let read = ProviderPayment {
        state: PaymentState::Captured,
        amount: Currency::EUR.with_amount(100),
        refunded: 0,
        returns: ProviderReturns::default(),
        card: None,
    };
    let id = |changed_ms| {
        let event = read.events(&refunded, changed_ms).pop();
        event.expect("the refund failed").event
    };
    assert_eq!(id(1), id(1));
    assert_ne!(id(1), id(2));
}

#[test]
fn cells_are_compared_in_both_directions_and_baskets_are_no_drift() {
    use CellState as C;
    let facts = |claims: &[(u32, bool)], states: &[CellState]| ShowFacts {
        show: "night-1".parse().expect("a slug"),
        claims: claims.to_vec(),
        states: states.to_vec(),
        read_ms: NOW_MS,
    };
    let kinds = |facts: ShowFacts| -> Vec<DriftKind> {
        let mut found = Vec::new();
        of_show(&facts, &mut found);
        found.iter().map(|finding| finding.kind).collect()
    };
    let right = [C::Sold, C::Held, C::Held, C::Free, C::Blocked];
    assert!(kinds(facts(&[(0, true), (1, false)], &right)).is_empty());
    assert_eq!(
        kinds(facts(&[(0, true), (2, true)], &right)),
        [DriftKind::SoldOnlyInLedger]
    );
    assert_eq!(kinds(facts(&[], &right)), [DriftKind::SoldOnlyInStore]);
    assert_eq!(
        kinds(facts(&[(0, true), (3, false)], &right)),
        [DriftKind::ClaimNotHeld]
    );
    assert_eq!(
        kinds(facts(&[(0, true), (9, true)], &right)),
        [DriftKind::SoldOnlyInLedger]
    );
}

#[test]
fn unsettled_money_is_a_finding_with_its_sum() {
    let order = facts(OrderState::Ticketed, PaymentState::Captured).order;
    let money = |refunded_of| UnsettledMoney {
        id: "re_1".to_owned(),
        refunded_of,
        sum: Currency::EUR.with_amount(1_250),
        since_ms: 7,
    };
    let snapshot = ReconcilerSnapshot {
        money: vec![money(Some(order)), money(None)],
        ..ReconcilerSnapshot::default()
    };
    let found = findings(&snapshot, 8);
    let kinds: Vec<DriftKind> = found.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [DriftKind::RefundedInPart, DriftKind::UnknownMoney]);
    assert!(found[1].description.contains("12.50 EUR"), "{found:?}");
}
