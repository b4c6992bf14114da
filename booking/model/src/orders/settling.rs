//! Decides what an event of the provider does to a payment and to its order. The module is pure, so
//! that all ledgers do the same.

use crate::orders::OrderState;
use crate::orders::transition::OrderEvent;
use crate::payments::{Payment, PaymentState, ProviderEvent, ProviderEventKind};

/// The consequences of a provider's event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaymentSettlement {
    /// The payment's new state; none if it does not change.
    pub payment: Option<PaymentState>,
    /// The event that the order's state machine gets; none if the order does not get one.
    pub order_event: Option<OrderEvent>,
    /// How much was refunded to the buyer so far, in minor units; none if the event does not say.
    pub refunded: Option<i64>,
    /// Whether the provider reports a smaller refunded sum than the ledger has recorded, for
    /// example because a refund failed after it was reported. The refunds must then be requested
    /// again.
    pub refunded_sum_decreased: bool,
    /// Whether the attempt to pay ended at the provider, while the order still waits for its
    /// payment. The buyer may then pay with another attempt.
    pub attempt_ended: bool,
    /// The outcome that the ledger records with the event if the order does not change.
    pub outcome: &'static str,
}

impl PaymentSettlement {
    fn nothing(outcome: &'static str) -> Self {
        Self {
            payment: None,
            order_event: None,
            refunded: None,
            refunded_sum_decreased: false,
            attempt_ended: false,
            outcome,
        }
    }
}

/// Decides what follows from an event. The order has a state, and `tries_again` is its
/// [`is_tried_again`](crate::orders::Order::is_tried_again). `over_card_limit` is true if, with
/// this order, one card would buy more seats of the show than one card may buy.
#[must_use]
pub fn settle_event(
    payment: &Payment,
    (order, tries_again): (OrderState, bool),
    provider: &str,
    event: &ProviderEvent,
    over_card_limit: bool,
) -> PaymentSettlement {
    if payment.provider != provider {
        return PaymentSettlement::nothing("foreign_provider");
    }
    if let (Some(known), Some(named)) = (&payment.reference, &event.reference)
        && known != named
    {
        return PaymentSettlement::nothing("foreign_reference");
    }
    if event.kind == ProviderEventKind::Refunded {
        return refunded(payment, event);
    }
    if payment.amount != event.amount {
        return PaymentSettlement::nothing("wrong_amount");
    }
    let next = match event.kind {
        ProviderEventKind::Authorised => PaymentState::Authorised,
        ProviderEventKind::Declined => PaymentState::Declined,
        ProviderEventKind::Voided => PaymentState::Voided,
        ProviderEventKind::Captured | ProviderEventKind::Refunded => PaymentState::Captured,
    };
    if tries_again && next == PaymentState::Declined {
        return declined_while_trying(payment.state);
    }
    if !payment.state.may_become(next) {
        return PaymentSettlement::nothing("out_of_order");
    }
    if next == PaymentState::Voided && order == OrderState::Pending && event.reference.is_some() {
        return PaymentSettlement {
            attempt_ended: true,
            ..PaymentSettlement::nothing("attempt_ended")
        };
    }
    let order_event = order_event(payment, order, next, over_card_limit);
    PaymentSettlement {
        payment: Some(next),
        order_event,
        refunded: None,
        refunded_sum_decreased: false,
        attempt_ended: false,
        outcome: "without_effect",
    }
}

/// Decides about a decline that comes while another try to pay runs. If the ledger knew of an
/// earlier decline when the try began, this one ends the try. If it knew of none, the buyer was
/// faster than the event of the earlier decline. That event must not take the time of the try that
/// runs.
fn declined_while_trying(payment: PaymentState) -> PaymentSettlement {
    let (state, order_event) = match payment {
        PaymentState::Created => (Some(PaymentState::Declined), None),
        PaymentState::Declined => (None, Some(OrderEvent::Declined)),
        _ => return PaymentSettlement::nothing("out_of_order"),
    };
    PaymentSettlement {
        payment: state,
        order_event,
        ..PaymentSettlement::nothing("decline_of_an_earlier_try")
    }
}

/// Returns the event that the order gets when its payment becomes `next`.
fn order_event(
    payment: &Payment,
    order: OrderState,
    next: PaymentState,
    over_card_limit: bool,
) -> Option<OrderEvent> {
    match next {
        PaymentState::Authorised if over_card_limit => Some(OrderEvent::CardFull),
        PaymentState::Authorised => Some(OrderEvent::Authorised),
        PaymentState::Declined => Some(OrderEvent::Declined),
        // The event of our own capture may arrive before the answer to the capture call.
        PaymentState::Captured if order == OrderState::Confirmed => Some(OrderEvent::Captured),
        // The order has already handled the authorisation of this payment. If the order is not
        // confirmed, the capture changes nothing in it.
        PaymentState::Captured if payment.state == PaymentState::Authorised => None,
        // If no authorisation came first, the capture has the effect of an authorisation on the
        // order. The payment itself becomes captured.
        PaymentState::Captured if over_card_limit => Some(OrderEvent::CardFull),
        PaymentState::Captured => Some(OrderEvent::Authorised),
        PaymentState::Voided if order == OrderState::AwaitingConsent => {
            Some(OrderEvent::PaymentCancelled)
        }
        _ => None,
    }
}

fn refunded(payment: &Payment, event: &ProviderEvent) -> PaymentSettlement {
    let whole = payment.amount.amount;
    if payment.amount.currency != event.amount.currency
        || !(0..=whole).contains(&event.amount.amount)
    {
        return PaymentSettlement::nothing("wrong_amount");
    }
    // If the payment is not known to be captured, the refund has no effect here. The reconciler
    // will read the capture from the provider, and then the refund.
    if !matches!(
        payment.state,
        PaymentState::Captured | PaymentState::Refunded
    ) {
        return PaymentSettlement::nothing("out_of_order");
    }
    let is_full_refund = event.amount.amount == whole && payment.state == PaymentState::Captured;
    PaymentSettlement {
        payment: is_full_refund.then_some(PaymentState::Refunded),
        order_event: None,
        refunded: Some(event.amount.amount),
        refunded_sum_decreased: event.amount.amount < payment.refunded,
        attempt_ended: false,
        outcome: "refund_noted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{HoldId, OrderId, PaymentId};
    use crate::money::Currency;

    fn payment(state: PaymentState) -> Payment {
        let show = "night-1".parse().expect("a slug");
        let hold = HoldId::of_key(&show, fairgate_pass::Holder([1; 32]), "k");
        let order = OrderId::of_hold(&hold);
        Payment {
            id: PaymentId::of_order(&order),
            order,
            provider: "stripe".to_owned(),
            amount: Currency::EUR.with_amount(2_000),
            state,
            reference: Some("pi_1".to_owned()),
            client: None,
            refunded: 0,
            attempt: 0,
            dispute: None,
        }
    }

    fn event(kind: ProviderEventKind) -> ProviderEvent {
        let payment = payment(PaymentState::Created);
        ProviderEvent {
            event: "evt_1".to_owned(),
            kind,
            payment: payment.id,
            amount: payment.amount,
            reference: None,
            card: None,
            returns: None,
        }
    }

    fn check(state: PaymentState, order: OrderState, event: &ProviderEvent) -> PaymentSettlement {
        settle_event(&payment(state), (order, false), "stripe", event, false)
    }

    #[test]
    fn while_another_try_runs_only_the_decline_of_that_try_ends_it() {
        let declined = event(ProviderEventKind::Declined);
        let settle = |state, tries_again| {
            let order = (OrderState::Pending, tries_again);
            let settlement = settle_event(&payment(state), order, "stripe", &declined, false);
            (settlement.payment, settlement.order_event)
        };
        let declined = (Some(PaymentState::Declined), Some(OrderEvent::Declined));
        assert_eq!(settle(PaymentState::Created, false), declined);
        assert_eq!(settle(PaymentState::Declined, false), (None, None));
        let earlier = (Some(PaymentState::Declined), None);
        assert_eq!(settle(PaymentState::Created, true), earlier);
        let own = (None, Some(OrderEvent::Declined));
        assert_eq!(settle(PaymentState::Declined, true), own);
        assert_eq!(settle(PaymentState::Authorised, true), (None, None));
    }

    #[test]
    fn a_capture_event_gives_a_confirmed_order_the_event_captured() {
        let settlement = check(
            PaymentState::Authorised,
            OrderState::Confirmed,
            &event(ProviderEventKind::Captured),
        );
        assert_eq!(settlement.order_event, Some(OrderEvent::Captured));
        assert_eq!(settlement.payment, Some(PaymentState::Captured));
    }

    #[test]
    fn a_capture_without_an_authorisation_gives_the_order_the_event_authorised() {
        for order in [
            OrderState::Pending,
            OrderState::Expired,
            OrderState::Cancelled,
        ] {
            let settlement = check(
                PaymentState::Created,
                order,
                &event(ProviderEventKind::Captured),
            );
            assert_eq!(
                settlement.order_event,
                Some(OrderEvent::Authorised),
                "{order:?}"
            );
        }
    }

    #[test]
    fn a_payment_that_is_cancelled_at_the_provider_ends_one_attempt_of_a_pending_order() {
        let mut cancelled = event(ProviderEventKind::Voided);
        cancelled.reference = Some("pi_1".to_owned());
        for state in [PaymentState::Created, PaymentState::Declined] {
            let settlement = check(state, OrderState::Pending, &cancelled);
            assert!(settlement.attempt_ended && settlement.payment.is_none());
        }
        let settlement = check(PaymentState::Created, OrderState::Expired, &cancelled);
        assert_eq!(settlement.payment, Some(PaymentState::Voided));
        let settlement = check(
            PaymentState::Authorised,
            OrderState::AwaitingConsent,
            &cancelled,
        );
        assert_eq!(settlement.order_event, Some(OrderEvent::PaymentCancelled));
    }

    #[test]
    fn another_payments_reference_or_a_wrong_amount_changes_nothing() {
        let mut other = event(ProviderEventKind::Authorised);
        other.reference = Some("pi_2".to_owned());
        let settlement = check(PaymentState::Created, OrderState::Pending, &other);
        assert_eq!(settlement, PaymentSettlement::nothing("foreign_reference"));
        other = event(ProviderEventKind::Authorised);
        other.amount.amount -= 1;
        let settlement = check(PaymentState::Created, OrderState::Pending, &other);
        assert_eq!(settlement, PaymentSettlement::nothing("wrong_amount"));
    }

    #[test]
    fn a_partial_refund_is_recorded_and_only_a_full_refund_ends_the_payment() {
        let mut part = event(ProviderEventKind::Refunded);
        part.amount.amount = 500;
        let settlement = check(PaymentState::Captured, OrderState::Ticketed, &part);
        assert_eq!((settlement.payment, settlement.refunded), (None, Some(500)));
        part.amount.amount = 2_000;
        let settlement = check(PaymentState::Captured, OrderState::Ticketed, &part);
        assert_eq!(settlement.payment, Some(PaymentState::Refunded));
        let mut known = payment(PaymentState::Refunded);
        known.refunded = 2_000;
        for (refunded, decreased) in [(1_999, true), (2_000, false)] {
            part.amount.amount = refunded;
            let settlement = settle_event(
                &known,
                (OrderState::Refunded, false),
                "stripe",
                &part,
                false,
            );
            assert_eq!(settlement.refunded_sum_decreased, decreased);
        }
        part.amount.amount = 2_001;
        let settlement = check(PaymentState::Captured, OrderState::Ticketed, &part);
        assert_eq!(settlement.outcome, "wrong_amount");
    }
}
