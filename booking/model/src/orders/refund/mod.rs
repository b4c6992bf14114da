//! Tickets given back: what a refund is, and what of an order it takes. Pure; the ledger carries it
//! out.

pub mod rules;

use super::terms::OrderTerms;
use super::transition::{OrderDecision, OrderEvent, decide};
use super::{Order, OrderItem, OrderState, Ticket};
use crate::ids::{OrderId, RefundId, TicketId};
use crate::payments::Payment;
use rules::{RefundRuleError, in_force};

/// Why tickets were given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefundReason {
    /// The buyer did not want them any more.
    ByBuyer,
    /// The show was cancelled.
    ShowCancelled,
    /// The show was postponed, and the buyer cannot come.
    ShowPostponed,
    /// The seats were given for others that cost less: nothing of the order itself.
    ExchangeDifference,
}

impl RefundReason {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::ByBuyer,
        Self::ShowCancelled,
        Self::ShowPostponed,
        Self::ExchangeDifference,
    ];

    /// The code in the order's history.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ByBuyer => "refund_by_buyer",
            Self::ShowCancelled => "show_cancelled",
            Self::ShowPostponed => "show_postponed",
            Self::ExchangeDifference => "exchange_difference",
        }
    }

    /// Reads the word back.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == word)
    }
}

/// Where a refund stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefundState {
    /// The money is owed, or on its way.
    OnItsWay,
    /// The provider says that the money has gone back.
    Done,
    /// The provider could not bring it back so far; it is tried again.
    Failed,
}

/// One refund of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refund {
    /// Its id, which the provider knows it by.
    pub id: RefundId,
    /// The seats that were given back.
    pub items: Vec<OrderItem>,
    /// What goes back of the order's own payment, in minor units.
    pub amount: i64,
    /// What goes back besides, of the payments of orders that these seats came from by exchange.
    pub elsewhere: i64,
    /// The later order's refund that this is a part of.
    pub part_of: Option<RefundId>,
    /// What is kept, in minor units.
    pub fee: i64,
    /// Why.
    pub reason: RefundReason,
    /// When the tickets were given back.
    pub made_at_ms: i64,
    /// When the own payment's money had gone back.
    pub done_at_ms: Option<i64>,
    /// Where it stands, with its parts.
    pub state: RefundState,
}

/// What goes back, and for what.
#[derive(Debug, Clone, Copy)]
pub struct NewRefund<'a> {
    /// The seats.
    pub items: &'a [OrderItem],
    /// What goes back, in minor units, of whichever payments have it.
    pub amount: i64,
    /// What is kept, in minor units.
    pub fee: i64,
    /// Why.
    pub reason: RefundReason,
}

/// A refund that is to be asked of the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwedRefund {
    /// Its id.
    pub id: RefundId,
    /// What goes back, in minor units of the payment's currency.
    pub amount: i64,
    /// How often it was tried.
    pub attempts: u32,
    /// The payment it is of.
    pub payment: Payment,
}

/// Which tickets are to go back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TicketSelection {
    /// All, or none where one was scanned.
    All,
    /// These, or none where one of them was scanned; those that went back before count as done.
    Named(Vec<TicketId>),
    /// All that were not scanned.
    Unscanned,
}

/// Why an order, as it stands, gives no ticket back.
#[derive(Debug, thiserror::Error)]
pub enum OrderRefundError {
    /// The order is in a state that has nothing to give back.
    #[error("the order is {}", .0.as_str())]
    State(OrderState),
    /// No rule of the show lets tickets go back now.
    #[error(transparent)]
    Rule(#[from] RefundRuleError),
    /// Somebody went in on these: their labels.
    #[error("tickets were scanned: {0:?}")]
    Scanned(Vec<String>),
    /// Not a ticket of this order.
    #[error("{0} is not a ticket of the order")]
    Unknown(TicketId),
}

/// What is known of an order at the moment its tickets are to go back.
#[derive(Debug)]
pub struct RefundInput<'a> {
    /// The order.
    pub order: &'a Order,
    /// Its tickets, those that went back before among them.
    pub tickets: &'a [Ticket],
    /// The terms that count for it.
    pub terms: &'a OrderTerms,
}

/// What a refund takes of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefundPlan {
    /// The seats that go back.
    pub going: Vec<OrderItem>,
    /// The seats that stay.
    pub staying: Vec<OrderItem>,
    /// The tickets that open nothing any more; none where none was issued yet.
    pub tickets: Vec<TicketId>,
    /// What goes back, in minor units.
    pub amount: i64,
    /// What is kept, in minor units.
    pub fee: i64,
    /// What of these seats was never charged, in minor units.
    pub uncharged: i64,
    /// Why.
    pub reason: RefundReason,
    /// What happens to the order.
    pub decision: OrderDecision,
}

impl RefundPlan {
    /// Whether all of a payment goes back that was not taken yet: it is let go, and nobody ever
    /// sees it on a statement.
    #[must_use]
    pub fn lets_go(&self, order: &Order) -> bool {
        order.state == OrderState::Confirmed && self.amount == order.total
    }
}

/// Plans a refund; `None` where all that is named went back before.
///
/// # Errors
/// [`OrderRefundError`], for a reason that stands in the order, its tickets or the show.
pub fn plan_refund(
    standing: &RefundInput<'_>,
    which: &TicketSelection,
    now_ms: i64,
) -> Result<Option<RefundPlan>, OrderRefundError> {
    let RefundInput {
        order,
        tickets,
        terms,
    } = *standing;
    let of = |item: &OrderItem| {
        let id = TicketId::of_seat(&order.id, item.held.seat);
        tickets.iter().find(|ticket| ticket.id == id)
    };
    if let TicketSelection::Named(named) = which {
        let known = |id: &&TicketId| tickets.iter().all(|ticket| ticket.id != **id);
        if let Some(stranger) = named.iter().find(known) {
            return Err(OrderRefundError::Unknown(stranger.clone()));
        }
    }
    if order.state == OrderState::Refunded {
        return Ok(None);
    }
    if decide(order.state, OrderEvent::RefundedAll(RefundReason::ByBuyer)).is_none() {
        return Err(OrderRefundError::State(order.state));
    }
    let is_named = |item: &OrderItem| match which {
        TicketSelection::All => true,
        TicketSelection::Named(named) => of(item).is_some_and(|ticket| named.contains(&ticket.id)),
        TicketSelection::Unscanned => of(item).is_none_or(|ticket| ticket.scanned_at_ms.is_none()),
    };
    let (going, staying): (Vec<OrderItem>, Vec<OrderItem>) =
        order.items.iter().cloned().partition(is_named);
    if going.is_empty() {
        return Ok(None);
    }
    let scanned = |item: &&OrderItem| of(item).is_some_and(|ticket| ticket.scanned_at_ms.is_some());
    let scanned: Vec<String> = going
        .iter()
        .filter(scanned)
        .map(|item| item.label.clone())
        .collect();
    if !scanned.is_empty() {
        return Err(OrderRefundError::Scanned(scanned));
    }
    let rule = in_force(terms, terms.begins_ms(&order.items), now_ms)?;
    let fee: i64 = going
        .iter()
        .map(|item| rule.fee_for_price(item.amount))
        .sum();
    let paid: i64 = going.iter().map(|item| item.amount).sum();
    let happening = if staying.is_empty() {
        OrderEvent::RefundedAll(rule.reason)
    } else {
        OrderEvent::RefundedPart(rule.reason)
    };
    let decision = decide(order.state, happening).ok_or(OrderRefundError::State(order.state))?;
    // What was not charged when these seats were exchanged for does not go back.
    let uncharged = order.let_go.min(paid - fee).max(0);
    Ok(Some(RefundPlan {
        tickets: going
            .iter()
            .filter_map(|item| of(item).map(|ticket| ticket.id.clone()))
            .collect(),
        going,
        staying,
        amount: paid - fee - uncharged,
        fee,
        uncharged,
        reason: rule.reason,
        decision,
    }))
}

/// The id of an order's next refund, after so many.
#[must_use]
pub fn next_id(order: &OrderId, before: u32) -> (u32, RefundId) {
    let nth = before.saturating_add(1);
    (nth, RefundId::of_order(order, nth))
}

#[cfg(test)]
mod tests;
