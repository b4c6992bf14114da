//! Decides what may happen to an order and what follows from it. All decisions are in one pure
//! table. Exactly one event wins if a deadline, a webhook and a visitor's click race for the same
//! order.

use super::OrderState;
use super::refund::RefundReason;
use crate::holds::SeatOutboxAction;
use crate::payments::PaymentState;

/// The reason code of an order whose payment the provider refused to prepare.
pub const PAYMENT_REFUSED: &str = "payment_refused";

/// The reason code of a pending order whose buyer has begun another try to pay.
pub const PAYMENT_TRIED_AGAIN: &str = "payment_tried_again";

/// How long a buyer whose payment was declined has to begin another try, in milliseconds.
pub const NEXT_TRY_WITHIN_MS: i64 = 60_000;

/// How much longer its claim lasts, in milliseconds. A try that begins at the last moment must
/// reach the ledger before the order expires.
pub const NEXT_TRY_ON_ITS_WAY_MS: i64 = 2_000;

/// An event that changes an order, or tries to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderEvent {
    /// The provider holds the money for us.
    Authorised,
    /// The provider holds the money for us, but with this order the card would have bought more
    /// seats of the show than one card may buy.
    CardFull,
    /// The provider refused the money. The buyer has [`NEXT_TRY_WITHIN_MS`] for another try.
    Declined,
    /// The buyer begins another try to pay.
    TriedAgain,
    /// The provider has captured the money.
    Captured,
    /// The provider refuses to capture the money that it had authorised.
    CaptureRefused,
    /// The provider refused to prepare the payment, so the order can never be paid.
    PaymentRefused,
    /// The payment was cancelled at the provider. There is no money any more.
    PaymentCancelled,
    /// The show began before the buyer had accepted other seats.
    ShowBegun,
    /// The deadline to pay, or to consent, has passed.
    DeadlinePassed,
    /// The buyer cancels the order.
    GivenUp,
    /// The show was cancelled before the order was paid.
    ShowCancelled,
    /// The money came late, and the order's own seats were still free.
    LateSame,
    /// The money came late, and other seats like the order's own are kept until the buyer accepts
    /// or declines them.
    LateOther,
    /// The money came late, can buy nothing any more, and goes back to the buyer.
    LateBack(LateRefundReason),
    /// The buyer accepts the other seats.
    Consented,
    /// The buyer declines the other seats.
    ConsentDeclined,
    /// Some of the order's tickets are given back.
    RefundedPart(RefundReason),
    /// All remaining tickets of the order are given back.
    RefundedAll(RefundReason),
    /// The order costs nothing, or it is a successor (the new order of an exchange) and no
    /// difference has to be paid.
    NothingToPay,
    /// The order's seats are exchanged for other seats.
    Exchanged,
    /// The order is a successor, and the old order cannot be exchanged for it any more.
    ExchangeOver,
}

/// Why money that came late goes back to the buyer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LateRefundReason {
    /// Neither the seats nor any like them are free.
    SeatsGone,
    /// The visitor would have more seats than one visitor may have.
    Limit,
    /// The card would have bought more seats than one card may buy.
    CardLimit,
    /// The show, its plan or its prices are not what they were.
    PlanChanged,
    /// The show or the journey has begun.
    ShowBegun,
    /// The show's sale ended before the show began.
    SalesEnded,
    /// The provider no longer has the money.
    Withdrawn,
    /// The money was the difference of an exchange, and the old order keeps its seats.
    ExchangeOver,
}

impl LateRefundReason {
    /// All reasons. Only tests use this list.
    pub const ALL: [Self; 8] = [
        Self::SeatsGone,
        Self::Limit,
        Self::CardLimit,
        Self::PlanChanged,
        Self::ShowBegun,
        Self::SalesEnded,
        Self::Withdrawn,
        Self::ExchangeOver,
    ];

    /// Returns the reason's code in the order's history.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SeatsGone => "late_seats_gone",
            Self::Limit => "late_limit",
            Self::CardLimit => "late_card_limit",
            Self::PlanChanged => "late_plan_changed",
            Self::ShowBegun => "late_show_begun",
            Self::SalesEnded => "late_sales_ended",
            Self::Withdrawn => "late_money_withdrawn",
            Self::ExchangeOver => "late_exchange_over",
        }
    }
}

/// A call to the provider that the ledger owes after a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectKind {
    /// Capture the payment, then issue the tickets.
    Capture,
    /// Void an authorisation that is not needed any more.
    Void,
    /// Refund captured money.
    Refund,
}

impl EffectKind {
    /// Returns the effect's word in the ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Void => "void",
            Self::Refund => "refund",
        }
    }

    /// Returns the effect with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Capture, Self::Void, Self::Refund]
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }
}

/// What kind of call to the provider is owed after a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwedProviderCall {
    /// The capture of the authorised money.
    Capture,
    /// The return of the money, by a void or by a refund.
    MoneyBack,
}

impl OwedProviderCall {
    /// Returns the effect for this call. Money is returned by a refund if it was captured, and by a
    /// void otherwise.
    #[must_use]
    pub fn effect(self, payment: PaymentState) -> EffectKind {
        match (self, payment) {
            (Self::Capture, _) => EffectKind::Capture,
            (Self::MoneyBack, PaymentState::Captured) => EffectKind::Refund,
            (Self::MoneyBack, _) => EffectKind::Void,
        }
    }
}

/// What happens to the order's claims on cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderClaimChange {
    /// They stay as they are.
    Stay,
    /// They are made again. If that fails, the whole transition does not happen.
    Make,
    /// All of them are dropped.
    Drop,
    /// The claims of the tickets that are given back are dropped.
    DropNamed,
}

/// What happens to the deadlines of a pending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayDeadlineChange {
    /// They stay as they are.
    Stay,
    /// The deadline to pay moves to at most [`NEXT_TRY_WITHIN_MS`] from now, and the end of the
    /// claim to at most [`NEXT_TRY_ON_ITS_WAY_MS`] after it, so that the seats of a buyer who does
    /// not try again are soon free. They never move later.
    Shorten,
    /// They are again what they were before a declined payment shortened them.
    Restore,
}

/// What follows from an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderDecision {
    /// The state afterwards, which may be the same as before.
    pub state: OrderState,
    /// A stable reason code for the history.
    pub reason: &'static str,
    /// What happens to the claims.
    pub claims: OrderClaimChange,
    /// What happens to the deadlines.
    pub deadline: PayDeadlineChange,
    /// What is written to the seat outbox.
    pub seats: Option<SeatOutboxAction>,
    /// What is written to the effects outbox.
    pub owed: Option<OwedProviderCall>,
    /// Whether the worker for late money must find out what the money still buys.
    pub late: bool,
}

impl OrderDecision {
    fn with_state(state: OrderState, reason: &'static str) -> Self {
        Self {
            state,
            reason,
            claims: OrderClaimChange::Stay,
            deadline: PayDeadlineChange::Stay,
            seats: None,
            owed: None,
            late: false,
        }
    }

    fn sells(self) -> Self {
        Self {
            seats: Some(SeatOutboxAction::Sell),
            ..self
        }
    }

    fn captures(self) -> Self {
        Self {
            owed: Some(OwedProviderCall::Capture),
            ..self
        }
    }

    fn frees(self) -> Self {
        Self {
            claims: OrderClaimChange::Drop,
            seats: Some(SeatOutboxAction::Free),
            ..self
        }
    }

    fn frees_named(self) -> Self {
        Self {
            claims: OrderClaimChange::DropNamed,
            seats: Some(SeatOutboxAction::Free),
            ..self
        }
    }

    fn with_deadline(self, deadline: PayDeadlineChange) -> Self {
        Self { deadline, ..self }
    }

    fn make_claims(self) -> Self {
        Self {
            claims: OrderClaimChange::Make,
            ..self
        }
    }

    fn money_back(self) -> Self {
        Self {
            owed: Some(OwedProviderCall::MoneyBack),
            ..self
        }
    }
}

/// Decides what follows from an event in a state. Returns `None` if nothing follows, because the
/// event is a repetition or came out of order.
#[must_use]
pub fn decide(state: OrderState, event: OrderEvent) -> Option<OrderDecision> {
    use OrderEvent as E;
    use OrderState as S;
    let to = OrderDecision::with_state;
    let decision = match (state, event) {
        (S::Pending, E::Authorised) => to(S::Confirmed, "payment_authorised").sells().captures(),
        (S::Pending, E::CardFull) => to(S::Cancelled, "card_limit").frees().money_back(),
        (S::Pending, E::Declined) => {
            to(S::Pending, "payment_declined").with_deadline(PayDeadlineChange::Shorten)
        }
        (S::Pending, E::TriedAgain) => {
            to(S::Pending, PAYMENT_TRIED_AGAIN).with_deadline(PayDeadlineChange::Restore)
        }
        (S::Pending, E::DeadlinePassed) => to(S::Expired, "payment_deadline").frees(),
        (S::Pending, E::GivenUp) => to(S::Cancelled, "by_visitor").frees(),
        (S::Pending, E::ShowCancelled) => to(S::Cancelled, "cancelled_with_show").frees(),
        (S::Pending, E::PaymentRefused) => to(S::Cancelled, PAYMENT_REFUSED).frees(),
        (S::Confirmed, E::Captured) => to(S::Ticketed, "payment_captured"),
        (S::Pending, E::NothingToPay) => to(S::Confirmed, "nothing_to_pay").sells(),
        (S::Confirmed, E::NothingToPay) => to(S::Ticketed, "nothing_to_pay"),
        (S::Ticketed | S::PartlyRefunded, E::Exchanged) => to(S::Exchanged, "exchanged").frees(),
        (S::Pending | S::Confirmed, E::ExchangeOver) => {
            to(S::Cancelled, "exchange_over").frees().money_back()
        }
        // The refund gets a row of its own, with its sum. No effect is therefore owed here.
        (S::Ticketed | S::PartlyRefunded, E::RefundedPart(why)) => {
            to(S::PartlyRefunded, why.as_str()).frees_named()
        }
        (S::Confirmed | S::Ticketed | S::PartlyRefunded, E::RefundedAll(why)) => {
            to(S::Refunded, why.as_str()).frees()
        }
        // The tickets were given back before the money was captured, and now the provider refuses
        // the capture. The authorisation is then voided.
        (S::Refunded, E::CaptureRefused) => to(S::Refunded, "capture_refused").money_back(),
        (S::Confirmed, E::CaptureRefused) => {
            to(S::CaptureFailed, "capture_refused").frees().money_back()
        }
        _ => return decide_late(state, event),
    };
    Some(decision)
}

/// Decides about an order that had ended, or awaited the buyer's consent, when the event came. If
/// money comes for an expired order, a worker decides later what the money can still buy. This
/// transaction cannot decide it, because seats must be locked first.
fn decide_late(state: OrderState, event: OrderEvent) -> Option<OrderDecision> {
    use OrderEvent as E;
    use OrderState as S;
    let to = OrderDecision::with_state;
    let decision = match (state, event) {
        (S::Expired, E::Authorised) => OrderDecision {
            late: true,
            ..to(S::Expired, "late_money")
        },
        (S::Expired, E::CardFull) => {
            to(S::Expired, LateRefundReason::CardLimit.as_str()).money_back()
        }
        (S::Expired, E::LateSame) => to(S::Confirmed, "late_same_seats")
            .make_claims()
            .sells()
            .captures(),
        (S::Expired, E::LateOther) => to(S::AwaitingConsent, "late_other_seats").make_claims(),
        (S::Expired, E::LateBack(why)) => to(S::Expired, why.as_str()).money_back(),
        (S::AwaitingConsent, E::Consented) => to(S::Confirmed, "consent_given").sells().captures(),
        (S::AwaitingConsent, E::ConsentDeclined) => {
            to(S::Cancelled, "consent_declined").frees().money_back()
        }
        (S::AwaitingConsent, E::GivenUp) => to(S::Cancelled, "by_visitor").frees().money_back(),
        (S::AwaitingConsent, E::ShowCancelled) => {
            to(S::Cancelled, "cancelled_with_show").frees().money_back()
        }
        (S::AwaitingConsent, E::PaymentCancelled) => to(S::Cancelled, "payment_cancelled").frees(),
        (S::AwaitingConsent, E::ShowBegun) => {
            to(S::Cancelled, LateRefundReason::ShowBegun.as_str())
                .frees()
                .money_back()
        }
        (S::AwaitingConsent, E::DeadlinePassed) => {
            to(S::Expired, "consent_deadline").frees().money_back()
        }
        // A cancelled order stays cancelled. The transaction that records the money also writes the
        // effect that sends the money back.
        (S::Cancelled, E::Authorised | E::CardFull) => {
            to(S::Cancelled, "late_money_voided").money_back()
        }
        (S::CaptureFailed, E::Authorised | E::CardFull) => {
            to(S::CaptureFailed, "late_money_voided").money_back()
        }
        _ => return None,
    };
    Some(decision)
}

#[cfg(test)]
mod tests;
