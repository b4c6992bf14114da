//! What may happen to an order and what follows from it: one pure table, so that a deadline, a webhook and a
//! visitor's click that race on the same order find exactly one winner.

use super::OrderState;
use crate::store::SeatRowKind;

/// What happens to an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happening {
    /// The provider holds the money for us.
    Authorised,
    /// The provider refused the money; the buyer may try again until the deadline.
    Declined,
    /// The captured money is ours.
    Captured,
    /// The provider refuses to hand over what it had authorised.
    CaptureRefused,
    /// The time to pay is over.
    DeadlinePassed,
    /// The buyer gives it up.
    GivenUp,
}

/// What the ledger owes the outside world after a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectKind {
    /// Capture the payment, then issue the tickets.
    Capture,
    /// Let go of an authorisation that nobody needs any more.
    Void,
}

impl EffectKind {
    /// The word in the ledger.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Void => "void",
        }
    }

    /// Reads the word back.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Capture, Self::Void]
            .into_iter()
            .find(|kind| kind.word() == word)
    }
}

/// What follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// The state afterwards; the same as before where only the history grows.
    pub state: OrderState,
    /// A stable reason code for the history.
    pub reason: &'static str,
    /// What the seat outbox says; `Free` also deletes the claims.
    pub seats: Option<SeatRowKind>,
    /// What the effects outbox says.
    pub effect: Option<EffectKind>,
}

/// Decides; `None` means that nothing follows, now or ever: a repetition, or an event that came out of order.
#[must_use]
pub fn decide(state: OrderState, happening: Happening) -> Option<Decision> {
    use Happening as H;
    use OrderState as S;
    let decision = |state, reason, seats, effect| {
        Some(Decision {
            state,
            reason,
            seats,
            effect,
        })
    };
    match (state, happening) {
        (S::Pending, H::Authorised) => decision(
            S::Confirmed,
            "payment_authorised",
            Some(SeatRowKind::Sell),
            Some(EffectKind::Capture),
        ),
        (S::Pending, H::Declined) => decision(S::Pending, "payment_declined", None, None),
        (S::Pending, H::DeadlinePassed) => decision(
            S::Expired,
            "payment_deadline",
            Some(SeatRowKind::Free),
            None,
        ),
        (S::Pending, H::GivenUp) => {
            decision(S::Cancelled, "by_visitor", Some(SeatRowKind::Free), None)
        }
        (S::Confirmed, H::Captured) => decision(S::Ticketed, "payment_captured", None, None),
        (S::Confirmed, H::CaptureRefused) => decision(
            S::CaptureFailed,
            "capture_refused",
            Some(SeatRowKind::Free),
            Some(EffectKind::Void),
        ),
        // Money that comes too late goes back in the same transaction that records it.
        (S::Expired, H::Authorised) => decision(
            S::Expired,
            "late_money_voided",
            None,
            Some(EffectKind::Void),
        ),
        (S::Cancelled, H::Authorised) => decision(
            S::Cancelled,
            "late_money_voided",
            None,
            Some(EffectKind::Void),
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Happening; 6] = [
        Happening::Authorised,
        Happening::Declined,
        Happening::Captured,
        Happening::CaptureRefused,
        Happening::DeadlinePassed,
        Happening::GivenUp,
    ];

    #[test]
    fn no_capture_before_confirm_and_no_tickets_before_capture() {
        for state in OrderState::ALL {
            for happening in ALL {
                let Some(decision) = decide(state, happening) else {
                    continue;
                };
                if decision.effect == Some(EffectKind::Capture) {
                    assert_eq!(decision.state, OrderState::Confirmed);
                }
                if decision.state == OrderState::Ticketed {
                    assert_eq!(
                        (state, happening),
                        (OrderState::Confirmed, Happening::Captured)
                    );
                }
            }
        }
    }

    #[test]
    fn whoever_comes_second_in_a_race_on_a_pending_order_changes_no_seat() {
        for first in ALL {
            let Some(decision) = decide(OrderState::Pending, first) else {
                continue;
            };
            if decision.state == OrderState::Pending {
                continue;
            }
            for second in [
                Happening::Authorised,
                Happening::DeadlinePassed,
                Happening::GivenUp,
            ] {
                let after = decide(decision.state, second);
                assert!(
                    after
                        .is_none_or(|after| after.seats.is_none() && after.state == decision.state)
                );
            }
        }
    }

    #[test]
    fn seats_are_sold_and_freed_only_out_of_states_that_had_them() {
        for state in [
            OrderState::Expired,
            OrderState::Cancelled,
            OrderState::CaptureFailed,
            OrderState::Ticketed,
        ] {
            for happening in ALL {
                assert!(decide(state, happening).is_none_or(|decision| decision.seats.is_none()));
            }
        }
    }

    #[test]
    fn words_are_read_back() {
        for state in OrderState::ALL {
            assert_eq!(OrderState::of_word(state.word()), Some(state));
        }
    }
}
