//! Cases of refunds: of tickets, of orders that are being captured, and of orders of cancelled
//! shows. Also cases of the refunded money.

pub(super) mod captures;
pub(super) mod money;
pub(super) mod shows;
pub(super) mod tickets;

use OrderState::{CaptureFailed, PartlyRefunded, Refunded, Ticketed};
use SeatOutboxAction::{Free, Sell};
use fairgate_model::ids::TicketId;
use fairgate_model::orders::refund::{OwedRefund, RefundReason, RefundState, TicketSelection};
use fairgate_model::orders::transition::EffectKind;
use fairgate_model::shows::fate::ShowFate;
use fairgate_model::shows::rules::{CheaperSeatsRule, ExchangeRule};

use super::*;
use crate::ledger::{NewFate, RefundRefused, TAKEN_QUIET_MS, TicketScanOutcome};

pub(super) async fn with_rules(ledger: &Books, rules: serde_json::Value) {
    stocked(ledger).await;
    let mut show = stored(1);
    show.document.refunds = serde_json::from_value(rules).expect("rules");
    show.document.exchange = Some(ExchangeRule {
        until_h: 0,
        fee: 0,
        cheaper: CheaperSeatsRule::Refund,
    });
    ledger.put_show(show, None, NOW_MS).await.expect("stored");
}

/// Stores a show that refunds and exchanges all tickets without a fee.
pub(super) async fn with_free_refunds(ledger: &Books) {
    with_rules(ledger, serde_json::json!([{"until_h": 0, "fee_pct": 0}])).await;
}

pub(super) async fn confirmed(ledger: &Books, key: &str, visitor: Holder, seats: &[u32]) -> Order {
    let order = claimed(ledger, key, visitor, seats).await;
    authorised(ledger, &order).await;
    order
}

pub(super) async fn capture_of(ledger: &Books, order: &Order) -> i64 {
    let due = ledger.due_effects(NOW_MS + 1, 100).await.expect("readable");
    let own = due.iter().find(|due| due.payment.order == order.id);
    own.expect("its capture is owed").id
}

pub(super) async fn ticketed(ledger: &Books, key: &str, visitor: Holder, seats: &[u32]) -> Order {
    let order = confirmed(ledger, key, visitor, seats).await;
    let capture = capture_of(ledger, &order).await;
    ledger.captured(capture, NOW_MS + 2).await.expect("written");
    order
}

pub(super) fn named(order: &Order, seats: &[u32]) -> TicketSelection {
    let id = |seat: &u32| TicketId::of_seat(&order.id, *seat);
    TicketSelection::Named(seats.iter().map(id).collect())
}

async fn refunded(ledger: &Books, order: &Order, which: TicketSelection) -> Order {
    let applied = ledger.refund(&order.id, which, NOW_MS + 3).await;
    let applied = applied.expect("allowed").expect("known");
    assert!(applied.changed);
    applied.order
}

pub(super) async fn owed(ledger: &Books, now_ms: i64) -> Vec<OwedRefund> {
    ledger.due_refunds(now_ms, 100).await.expect("readable")
}

pub(super) async fn seats_claimed(ledger: &Books) -> Vec<u32> {
    let mut claimed = ledger.claimed(&show()).await.expect("readable");
    claimed.sort_unstable();
    claimed.dedup_by_key(|(seat, ..)| *seat);
    claimed.into_iter().map(|(seat, ..)| seat).collect()
}
