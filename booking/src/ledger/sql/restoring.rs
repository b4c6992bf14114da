//! Writes orders again that this ledger no longer has, because it is an older copy of itself.

use std::collections::BTreeSet;

use fairgate_databases::{SqlTransaction, ToSqlValue};
use fairgate_model::holds::HeldSeat;
use fairgate_model::ids::{OrderId, PaymentId, ShowId};
use fairgate_model::orders::exchange::carried::CarriedMoney;
use fairgate_model::orders::exchange::deal::ExchangeCost;
use fairgate_model::orders::exchange::{Exchange, parts};
use fairgate_model::orders::transition::OrderEvent;
use fairgate_model::orders::{Order, OrderItem, OrderState};
use fairgate_model::payments::{Payment, PaymentState};

use super::claims::{insert_order_with_claims, lock_for_claim};
use super::exchanges::insert_exchange;
use super::order_changes::apply_to_order;
use super::payment_rows::find_payment;
use super::rows::{
    Result, check_item_prices, find_order, from_json, lock_order, parsed, run_of, text,
};
use super::set_backs::IS_CLOSED;
use super::{Ledger, finding_rows};
use crate::ledger::{RestoreOutcome, RestoredOrder, SeatClaimRefused};

impl Ledger {
    /// Writes an order again, pending, with its payment and its claims, if its show is closed
    /// because the ledger went back. If the order exists, changes nothing. For the successor of an
    /// exchange, also writes the exchange, which the capture of its payment then completes. Orders
    /// that have its seats, and that nobody has paid, end: they had ended before this one was made.
    /// Events are settled in the order in which they happened, so their money would be known.
    ///
    /// # Errors
    /// [`SeatClaimRefused`] if other orders have its seats or its prices are not those of its
    /// terms.
    pub async fn restore_order(
        &self,
        restored: RestoredOrder,
        now_ms: i64,
    ) -> std::result::Result<RestoreOutcome, SeatClaimRefused> {
        self.installation
            .write(restored, move |tx, restored| {
                Box::pin(restore(tx, restored, now_ms))
            })
            .await
    }

    /// Returns the payments of other orders that have one of these seats.
    pub async fn payments_on_seats(
        &self,
        show: &ShowId,
        seats: Vec<HeldSeat>,
    ) -> Result<Vec<Payment>> {
        self.installation
            .read_snapshot((show.clone(), seats), move |tx, (show, seats)| {
                Box::pin(async move {
                    let mut found = Vec::new();
                    for order in orders_on(tx, show, seats).await? {
                        let payment = PaymentId::of_order(&order);
                        found.extend(find_payment(tx, payment.as_str()).await?);
                    }
                    Ok(found)
                })
            })
            .await
    }
}

/// Returns the orders that have one of these seats.
async fn orders_on(
    tx: &SqlTransaction,
    show: &ShowId,
    seats: &[HeldSeat],
) -> Result<BTreeSet<OrderId>> {
    let sql = "SELECT DISTINCT order_id FROM claims \
         WHERE show = $1 AND seat = $2 AND leg >= $3 AND leg < $4";
    let mut orders = BTreeSet::new();
    for HeldSeat { seat, legs } in seats {
        let with: [&(dyn ToSqlValue + Sync); 4] = [&show.as_str(), seat, &legs.start, &legs.end];
        for row in tx.query(sql, &with).await? {
            orders.insert(parsed(text(&row, 0)?)?);
        }
    }
    Ok(orders)
}

/// Ends orders without money that have seats of `order`.
async fn end_unpaid(tx: &SqlTransaction, order: &Order, now_ms: i64) -> Result<()> {
    for other in orders_on(tx, &order.show, &order.held_seats()).await? {
        let Some(other) = lock_order(tx, other.as_str()).await? else {
            continue;
        };
        let payment = find_payment(tx, other.payment.as_str()).await?;
        let has_money = payment.is_some_and(|payment| {
            matches!(
                payment.state,
                PaymentState::Authorised | PaymentState::Captured | PaymentState::Refunded
            )
        });
        if other.state == OrderState::Pending && !has_money {
            apply_to_order(tx, other, OrderEvent::DeadlinePassed, now_ms).await?;
        }
    }
    Ok(())
}

async fn restore(
    tx: &SqlTransaction,
    restored: &RestoredOrder,
    now_ms: i64,
) -> std::result::Result<RestoreOutcome, SeatClaimRefused> {
    let order = &restored.order;
    lock_for_claim(tx, order).await?;
    if find_order(tx, &order.id).await?.is_some() {
        return Ok(RestoreOutcome::Restored);
    }
    let sql = format!(
        "SELECT {IS_CLOSED}, s.plan_version, s.run, t.terms FROM shows s \
         JOIN terms t ON t.show = s.show AND t.version = $2 WHERE s.show = $1"
    );
    let with: [&(dyn ToSqlValue + Sync); 2] = [&order.show.as_str(), &order.terms];
    let Some(row) = tx.first(&sql, &with).await? else {
        return Ok(RestoreOutcome::Impossible);
    };
    let is_closed: bool = row.get(0)?;
    if !is_closed || row.get::<i64>(1)? != i64::from(order.plan_version) {
        return Ok(RestoreOutcome::Impossible);
    }
    let run: Option<&str> = row.get(2)?;
    let run = run.map(run_of).transpose()?;
    let terms: &str = row.get(3)?;
    check_item_prices(&restored.items, &from_json(terms)?, run.as_deref())?;
    let old = match exchanged_order(tx, restored).await? {
        ExchangedOrder::None => None,
        ExchangedOrder::Ready(old) => Some(old),
        ExchangedOrder::NotYet => return Ok(RestoreOutcome::NotYet),
        ExchangedOrder::Lost => return Ok(RestoreOutcome::Impossible),
    };
    let order = Order {
        items: match &old {
            Some(old) => gained(old, order, &restored.items),
            None => order.items.clone(),
        },
        ..order.clone()
    };
    end_unpaid(tx, &order, now_ms).await?;
    insert_order_with_claims(tx, &order, &restored.payment, restored.grid).await?;
    let sql = "UPDATE payments SET reference = $2 WHERE payment = $1";
    let reference = &restored.payment.reference;
    tx.execute(sql, &[&order.payment.as_str(), reference])
        .await?;
    if let Some(reference) = reference {
        finding_rows::close(tx, reference, "restored", "", now_ms).await?;
    }
    if let Some(old) = old {
        let exchange = exchange_of(restored, order, &old);
        insert_exchange(tx, &old.id, &exchange, now_ms).await?;
    }
    Ok(RestoreOutcome::Restored)
}

/// The order that was exchanged for a restored one.
enum ExchangedOrder {
    /// No exchange made the restored order.
    None,
    /// It has its tickets, and its row is locked.
    Ready(Box<Order>),
    /// It gets its tickets soon.
    NotYet,
    /// It is not there, or has nothing to exchange.
    Lost,
}

async fn exchanged_order(tx: &SqlTransaction, restored: &RestoredOrder) -> Result<ExchangedOrder> {
    let Some(exchange) = &restored.exchange else {
        return Ok(ExchangedOrder::None);
    };
    let Some(old) = lock_order(tx, exchange.of.as_str()).await? else {
        return Ok(ExchangedOrder::Lost);
    };
    Ok(match old.state {
        OrderState::Confirmed => ExchangedOrder::NotYet,
        OrderState::Ticketed | OrderState::PartlyRefunded => ExchangedOrder::Ready(Box::new(old)),
        _ => ExchangedOrder::Lost,
    })
}

/// Returns the exchange of `old` for a restored order, as it was when it began.
fn exchange_of(restored: &RestoredOrder, successor: Order, old: &Order) -> Exchange {
    let sum = |part: fn(&CarriedMoney) -> i64| {
        let carried = restored.items.iter().map(|item| part(&item.carried));
        carried.sum()
    };
    Exchange {
        payment: restored.payment.clone(),
        items: restored.items.clone(),
        given: old.items.clone(),
        deal: ExchangeCost {
            due: successor.total,
            back: 0,
            fee: restored
                .exchange
                .as_ref()
                .map_or(0, |exchange| exchange.fee),
            waived: 0,
            carried: CarriedMoney {
                amount: sum(|carried| carried.amount),
                refundable: sum(|carried| carried.refundable),
            },
        },
        least: 0,
        successor,
    }
}

/// Returns the cells that the successor gains. The first one costs the whole difference.
fn gained(old: &Order, successor: &Order, items: &[OrderItem]) -> Vec<OrderItem> {
    let own = match old.show == successor.show {
        true => &old.items[..],
        false => &[],
    };
    let mut gained = parts(own, items).gained;
    let mut difference = successor.total;
    for item in &mut gained {
        item.amount = std::mem::take(&mut difference);
    }
    gained
}
