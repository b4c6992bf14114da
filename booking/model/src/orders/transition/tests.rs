//! Which event leads to which decision, and which to none.

use super::*;

fn all() -> Vec<OrderEvent> {
    let plain = [
        OrderEvent::Authorised,
        OrderEvent::CardFull,
        OrderEvent::Declined,
        OrderEvent::TriedAgain,
        OrderEvent::Captured,
        OrderEvent::CaptureRefused,
        OrderEvent::PaymentRefused,
        OrderEvent::DeadlinePassed,
        OrderEvent::GivenUp,
        OrderEvent::ShowCancelled,
        OrderEvent::LateSame,
        OrderEvent::LateOther,
        OrderEvent::Consented,
        OrderEvent::ConsentDeclined,
        OrderEvent::NothingToPay,
        OrderEvent::Exchanged,
        OrderEvent::ExchangeOver,
    ];
    let back = LateRefundReason::ALL.map(OrderEvent::LateBack);
    let part = RefundReason::ALL.map(OrderEvent::RefundedPart);
    let whole = RefundReason::ALL.map(OrderEvent::RefundedAll);
    plain
        .into_iter()
        .chain(back)
        .chain(part)
        .chain(whole)
        .collect()
}

/// Lists every decision of the table.
fn table() -> Vec<(OrderState, OrderEvent, OrderDecision)> {
    let mut table = Vec::new();
    for state in OrderState::ALL {
        for happening in all() {
            if let Some(decision) = decide(state, happening) {
                table.push((state, happening, decision));
            }
        }
    }
    table
}

#[test]
fn no_capture_before_confirm_and_no_tickets_before_capture() {
    for (state, happening, decision) in table() {
        if decision.owed == Some(OwedProviderCall::Capture) {
            assert_eq!(decision.state, OrderState::Confirmed);
        }
        if decision.state == OrderState::Ticketed {
            assert_eq!(state, OrderState::Confirmed);
            assert!(matches!(
                happening,
                OrderEvent::Captured | OrderEvent::NothingToPay
            ));
        }
    }
}

#[test]
fn only_a_decline_and_the_next_try_move_a_deadline_and_only_of_a_pending_order() {
    for (state, happening, decision) in table() {
        let expected = match happening {
            OrderEvent::Declined => PayDeadlineChange::Shorten,
            OrderEvent::TriedAgain => PayDeadlineChange::Restore,
            _ => PayDeadlineChange::Stay,
        };
        assert_eq!(decision.deadline, expected, "{state:?} {happening:?}");
        if decision.deadline != PayDeadlineChange::Stay {
            let states = (state, decision.state);
            assert_eq!(states, (OrderState::Pending, OrderState::Pending));
        }
    }
}

#[test]
fn an_order_has_claims_exactly_in_the_states_that_own_seats() {
    let owns = |state: OrderState| {
        matches!(
            state,
            OrderState::Pending
                | OrderState::Confirmed
                | OrderState::Ticketed
                | OrderState::AwaitingConsent
                | OrderState::PartlyRefunded
        )
    };
    for (state, happening, decision) in table() {
        let expected = match (owns(state), owns(decision.state)) {
            _ if matches!(happening, OrderEvent::RefundedPart(_)) => OrderClaimChange::DropNamed,
            (false, true) => OrderClaimChange::Make,
            (true, false) => OrderClaimChange::Drop,
            _ => OrderClaimChange::Stay,
        };
        assert_eq!(decision.claims, expected, "{state:?} {happening:?}");
    }
}

#[test]
fn the_second_event_in_a_race_on_a_pending_order_changes_no_seat() {
    for first in all() {
        let Some(decision) = decide(OrderState::Pending, first) else {
            continue;
        };
        if decision.state == OrderState::Pending {
            continue;
        }
        for second in [
            OrderEvent::Authorised,
            OrderEvent::CardFull,
            OrderEvent::DeadlinePassed,
            OrderEvent::GivenUp,
        ] {
            let after = decide(decision.state, second);
            assert!(
                after.is_none_or(|after| after.seats.is_none() && after.state == decision.state)
            );
        }
    }
}

#[test]
fn an_order_that_ended_changes_its_state_only_by_late_money_and_with_new_claims() {
    for (state, happening, decision) in table() {
        let ended = matches!(
            state,
            OrderState::Expired | OrderState::Cancelled | OrderState::CaptureFailed
        );
        if ended && decision.state != state {
            assert_eq!(state, OrderState::Expired);
            assert!(matches!(
                happening,
                OrderEvent::LateSame | OrderEvent::LateOther
            ));
            assert_eq!(decision.claims, OrderClaimChange::Make);
        }
        if ended {
            assert_ne!(decision.seats, Some(SeatOutboxAction::Free));
        }
    }
}

#[test]
fn money_that_arrives_is_captured_or_sent_back_or_left_to_the_worker_for_late_money() {
    for state in OrderState::ALL {
        for money in [OrderEvent::Authorised, OrderEvent::CardFull] {
            let decision = decide(state, money);
            // In these states the money has already come, and a payment is authorised only once.
            let has_money = matches!(
                state,
                OrderState::Confirmed
                    | OrderState::Ticketed
                    | OrderState::AwaitingConsent
                    | OrderState::PartlyRefunded
                    | OrderState::Refunded
                    | OrderState::Exchanged
            );
            assert_eq!(decision.is_none(), has_money, "{state:?} {money:?}");
            if let Some(decision) = decision {
                assert!(decision.owed.is_some() || decision.late);
            }
        }
    }
}

#[test]
fn only_paid_orders_are_refunded_and_a_refunded_order_stays_refunded() {
    for (state, happening, decision) in table() {
        let refunds = matches!(
            happening,
            OrderEvent::RefundedPart(_) | OrderEvent::RefundedAll(_)
        );
        if refunds {
            assert!(
                matches!(
                    state,
                    OrderState::Confirmed | OrderState::Ticketed | OrderState::PartlyRefunded
                ),
                "{state:?}"
            );
            assert_eq!(decision.seats, Some(SeatOutboxAction::Free));
        }
        if state == OrderState::Refunded {
            assert_eq!(decision.state, OrderState::Refunded, "{happening:?}");
            assert_eq!(
                (decision.claims, decision.seats),
                (OrderClaimChange::Stay, None)
            );
        }
        if state == OrderState::PartlyRefunded {
            assert!(
                refunds || happening == OrderEvent::Exchanged,
                "{happening:?}"
            );
        }
    }
}

#[test]
fn captured_money_is_refunded_and_authorised_money_is_voided() {
    assert_eq!(
        OwedProviderCall::MoneyBack.effect(PaymentState::Captured),
        EffectKind::Refund
    );
    assert_eq!(
        OwedProviderCall::MoneyBack.effect(PaymentState::Authorised),
        EffectKind::Void
    );
    assert_eq!(
        OwedProviderCall::Capture.effect(PaymentState::Captured),
        EffectKind::Capture
    );
}

#[test]
fn every_state_is_read_from_its_word() {
    for state in OrderState::ALL {
        assert_eq!(OrderState::parse(state.as_str()), Some(state));
    }
}
