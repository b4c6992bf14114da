//! A refund that the ledger asked for and no longer has, because it is an older copy of itself. The
//! provider keeps which seats were given back. The module is pure.

use super::{RefundPlan, RefundReason};
use crate::ids::TicketId;
use crate::orders::transition::{OrderEvent, decide};
use crate::orders::{Order, OrderItem};
use crate::payments::refund_copy::RefundCopy;

/// Plans to give the seats of a lost refund back once more, for the sum that went back at the
/// provider. Returns `None` if the order does not have all of them, or has nothing to give back in
/// its state.
#[must_use]
pub fn plan_lost_refund(copy: &RefundCopy, order: &Order, amount: i64) -> Option<RefundPlan> {
    let is_named = |item: &OrderItem| copy.seats.contains(&item.held);
    let (going, staying): (Vec<OrderItem>, Vec<OrderItem>) =
        order.items.iter().cloned().partition(is_named);
    if going.len() != copy.seats.len() {
        return None;
    }
    let reason = RefundReason::parse(&copy.reason)?;
    let event = match staying.is_empty() {
        true => OrderEvent::RefundedAll(reason),
        false => OrderEvent::RefundedPart(reason),
    };
    let ticket = |item: &OrderItem| TicketId::of_seat(&order.id, item.held.seat);
    let priced: i64 = going.iter().map(|item| item.amount).sum();
    let uncharged = priced - amount - copy.fee;
    Some(RefundPlan {
        decision: decide(order.state, event)?,
        tickets: going.iter().map(ticket).collect(),
        going,
        staying,
        amount,
        fee: copy.fee,
        uncharged: uncharged.clamp(0, order.waived),
        reason,
    })
}
