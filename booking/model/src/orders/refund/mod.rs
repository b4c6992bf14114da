//! Tickets that are given back: what a refund is, and what changes in the order. The module is
//! pure. The ledger writes the result.

pub mod lost;
pub mod rules;

use super::terms::OrderTerms;
use super::transition::{OrderDecision, OrderEvent, decide};
use super::{Order, OrderItem, OrderState, Ticket};
use crate::ids::{OrderId, RefundId, TicketId};
use crate::payments::Payment;
use crate::payments::refund_copy::RefundCopy;
use rules::{RefundRuleError, in_force};

/// No order has as many refunds as this.
const REFUNDS_MAX: u32 = 1_000;

/// Why tickets were given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefundReason {
    /// The buyer did not want them any more.
    ByBuyer,
    /// The show was cancelled.
    ShowCancelled,
    /// The show was postponed, and the buyer cannot come.
    ShowPostponed,
    /// The train leaves or arrives at other times than it was sold with, and the buyer cannot come.
    TrainRetimed,
    /// The seats were exchanged for cheaper ones. The order itself loses no tickets.
    ExchangeDifference,
    /// Somebody gave the money back in the provider's own pages.
    AtProvider,
    /// The buyer's bank took the money back, and a dispute about that was lost.
    DisputeLost,
}

impl RefundReason {
    /// All reasons.
    pub const ALL: [Self; 7] = [
        Self::ByBuyer,
        Self::ShowCancelled,
        Self::ShowPostponed,
        Self::TrainRetimed,
        Self::ExchangeDifference,
        Self::AtProvider,
        Self::DisputeLost,
    ];

    /// Returns the reason's code in the order's history.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ByBuyer => "refund_by_buyer",
            Self::ShowCancelled => "show_cancelled",
            Self::ShowPostponed => "show_postponed",
            Self::TrainRetimed => "train_retimed",
            Self::ExchangeDifference => "exchange_difference",
            Self::AtProvider => "refunded_at_provider",
            Self::DisputeLost => "dispute_lost",
        }
    }

    /// Returns the reason with this code.
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
    /// The provider could not return the money so far. The refund is tried again.
    Failed,
}

/// One refund of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refund {
    /// Its id, which the provider gets, too.
    pub id: RefundId,
    /// The seats that were given back.
    pub items: Vec<OrderItem>,
    /// The sum that goes back from the order's own payment, in minor units.
    pub amount: i64,
    /// The sum that goes back in addition to `amount`, in minor units. It comes from the payments
    /// of earlier orders whose seats were exchanged for this order's seats.
    pub elsewhere: i64,
    /// If this refund is a part of a later order's refund, the id of that refund; none otherwise.
    pub part_of: Option<RefundId>,
    /// The fee that is kept, in minor units.
    pub fee: i64,
    /// The sum that does not go back with this refund, because money of the order went back at the
    /// provider before, in minor units.
    pub covered: i64,
    /// Whether the money went back at the provider without a call of ours.
    pub at_provider: bool,
    /// Why the tickets were given back.
    pub reason: RefundReason,
    /// When the tickets were given back, in milliseconds since the epoch.
    pub made_at_ms: i64,
    /// When the refund of the order's own payment was done, in milliseconds since the epoch.
    pub done_at_ms: Option<i64>,
    /// The state of the refund with all its parts.
    pub state: RefundState,
}

/// A refund that is to be written.
#[derive(Debug, Clone, Copy)]
pub struct NewRefund<'a> {
    /// The seats that are given back.
    pub items: &'a [OrderItem],
    /// The sum that goes back from all payments together, in minor units.
    pub amount: i64,
    /// The fee that is kept, in minor units.
    pub fee: i64,
    /// Why the tickets are given back.
    pub reason: RefundReason,
}

/// A refund that is owed: the provider has not made it yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwedRefund {
    /// Its id.
    pub id: RefundId,
    /// The sum that goes back, in minor units of the payment's currency.
    pub amount: i64,
    /// How often the provider was asked for it.
    pub attempts: u32,
    /// The payment that is refunded.
    pub payment: Payment,
    /// What the provider keeps of it; none if no seats of the payment's order were given back.
    pub copy: Option<RefundCopy>,
}

/// The money that pays for an order's seats, in minor units. It may be in the payments of orders
/// that were exchanged for this order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MoneyOfOrder {
    /// The part that no refund has taken.
    pub left: i64,
    /// The part that went back at the provider without a call of ours, and that no refund of
    /// tickets counts so far.
    pub uncovered: i64,
    /// The part that went back at the provider, and of which nobody has said what it was for.
    pub unsettled: i64,
}

impl MoneyOfOrder {
    /// Returns how much of a refund still has to go back if the rule gives `amount` for its
    /// tickets, and `keeps_seats` says that other seats of the order stay.
    ///
    /// - What went back at the provider counts for the last tickets of an order, unless somebody
    ///   has said what it was for. So the buyer gets what the rule gives, and not more.
    /// - Seats that stay are never left without any money.
    #[must_use]
    pub fn owed(self, amount: i64, keeps_seats: bool) -> i64 {
        let counts = match keeps_seats {
            true if amount >= self.left => self.uncovered,
            true => 0,
            false => self.uncovered.min(self.unsettled),
        };
        (amount - counts.clamp(0, amount)).min(self.left.max(0))
    }
}

/// The tickets that are to be given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TicketSelection {
    /// All tickets. If one was scanned, no ticket is given back.
    All,
    /// These tickets. If one of them was scanned, no ticket is given back. Tickets that were given
    /// back before are ignored.
    Named(Vec<TicketId>),
    /// All tickets that were not scanned.
    Unscanned,
}

/// Why no ticket of an order can be given back.
#[derive(Debug, thiserror::Error)]
pub enum OrderRefundError {
    /// The order is in a state that has nothing to give back.
    #[error("the order is {}", .0.as_str())]
    State(OrderState),
    /// No rule of the show allows a refund now.
    #[error(transparent)]
    Rule(#[from] RefundRuleError),
    /// Tickets for seats with these labels were scanned at a door.
    #[error("tickets were scanned: {0:?}")]
    Scanned(Vec<String>),
    /// This is not a ticket of the order.
    #[error("{0} is not a ticket of the order")]
    Unknown(TicketId),
}

/// What is known of an order when its tickets are to be given back.
#[derive(Debug)]
pub struct RefundInput<'a> {
    /// The order.
    pub order: &'a Order,
    /// Its tickets, including those that were given back before.
    pub tickets: &'a [Ticket],
    /// The terms that apply to it.
    pub terms: &'a OrderTerms,
}

impl RefundInput<'_> {
    /// Returns the ticket of one of the order's seats, if it was issued.
    fn ticket_of(&self, item: &OrderItem) -> Option<&Ticket> {
        let id = TicketId::of_seat(&self.order.id, item.held.seat);
        self.tickets.iter().find(|ticket| ticket.id == id)
    }

    /// Returns the seats that are given back, and the seats that stay.
    fn split_items(&self, which: &TicketSelection) -> (Vec<OrderItem>, Vec<OrderItem>) {
        let is_named = |item: &OrderItem| {
            let ticket = self.ticket_of(item);
            match which {
                TicketSelection::All => true,
                TicketSelection::Named(named) => ticket.is_some_and(|it| named.contains(&it.id)),
                TicketSelection::Unscanned => ticket.is_none_or(|it| it.scanned_at_ms.is_none()),
            }
        };
        self.order.items.iter().cloned().partition(is_named)
    }

    /// Checks that no ticket of these seats was scanned.
    fn check_unscanned(&self, items: &[OrderItem]) -> Result<(), OrderRefundError> {
        let is_scanned = |item: &&OrderItem| {
            let ticket = self.ticket_of(item);
            ticket.is_some_and(|ticket| ticket.scanned_at_ms.is_some())
        };
        let scanned = items.iter().filter(is_scanned);
        let scanned: Vec<String> = scanned.map(|item| item.label.clone()).collect();
        if scanned.is_empty() {
            Ok(())
        } else {
            Err(OrderRefundError::Scanned(scanned))
        }
    }
}

/// What a refund changes in an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefundPlan {
    /// The seats that are given back.
    pub going: Vec<OrderItem>,
    /// The seats that stay.
    pub staying: Vec<OrderItem>,
    /// The tickets that become invalid; empty if no ticket was issued yet.
    pub tickets: Vec<TicketId>,
    /// The sum that goes back, in minor units.
    pub amount: i64,
    /// The fee that is kept, in minor units.
    pub fee: i64,
    /// How much of these seats' price was never charged, in minor units.
    pub uncharged: i64,
    /// Why the tickets are given back.
    pub reason: RefundReason,
    /// The transition of the order.
    pub decision: OrderDecision,
}

impl RefundPlan {
    /// Returns whether the whole payment goes back before its capture. Then the authorisation is
    /// voided, and the payment never appears on the buyer's statement.
    #[must_use]
    pub fn voids_payment(&self, order: &Order) -> bool {
        order.state == OrderState::Confirmed && self.amount == order.total
    }
}

/// Plans a refund. Returns `None` if the selection has no ticket that can be given back. All of
/// them were given back before or, with [`TicketSelection::Unscanned`], were scanned.
///
/// # Errors
/// [`OrderRefundError`] if the order, its tickets or the show's rules do not allow the refund.
pub fn plan_refund(
    input: &RefundInput<'_>,
    which: &TicketSelection,
    now_ms: i64,
) -> Result<Option<RefundPlan>, OrderRefundError> {
    let RefundInput {
        order,
        tickets,
        terms,
    } = *input;
    if let TicketSelection::Named(named) = which {
        let is_unknown = |id: &&TicketId| tickets.iter().all(|ticket| ticket.id != **id);
        if let Some(unknown) = named.iter().find(is_unknown) {
            return Err(OrderRefundError::Unknown(unknown.clone()));
        }
    }
    if order.state == OrderState::Refunded {
        return Ok(None);
    }
    if decide(order.state, OrderEvent::RefundedAll(RefundReason::ByBuyer)).is_none() {
        return Err(OrderRefundError::State(order.state));
    }
    let (going, staying) = input.split_items(which);
    if going.is_empty() {
        return Ok(None);
    }
    input.check_unscanned(&going)?;
    let rule = in_force(terms, order, now_ms)?;
    let sums = rule.split_price(order, &going);
    // Nobody gives a ticket back for nothing by mistake.
    if sums.amount == 0 && going.iter().any(|item| !item.carried.is_none()) {
        return Err(RefundRuleError::CarriedOver.into());
    }
    let event = if staying.is_empty() {
        OrderEvent::RefundedAll(rule.reason)
    } else {
        OrderEvent::RefundedPart(rule.reason)
    };
    let decision = decide(order.state, event).ok_or(OrderRefundError::State(order.state))?;
    Ok(Some(RefundPlan {
        tickets: going
            .iter()
            .filter_map(|item| input.ticket_of(item).map(|ticket| ticket.id.clone()))
            .collect(),
        going,
        staying,
        amount: sums.amount,
        fee: sums.fee,
        uncharged: sums.uncharged,
        reason: rule.reason,
        decision,
    }))
}

/// Returns the number and the id of the refund of an order that follows the one with number `last`.
/// The first refund has number 1.
#[must_use]
pub fn next_id(order: &OrderId, last: u32) -> (u32, RefundId) {
    let nth = last.saturating_add(1);
    (nth, RefundId::of_order(order, nth))
}

/// Returns the number of an order's refund with this id. Returns `None` if the id belongs to no
/// refund of the order.
#[must_use]
pub fn number_of(order: &OrderId, refund: &RefundId) -> Option<u32> {
    (1..=REFUNDS_MAX).find(|nth| RefundId::of_order(order, *nth) == *refund)
}

#[cfg(test)]
mod tests;
