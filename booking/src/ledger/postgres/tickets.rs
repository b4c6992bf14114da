//! Tickets and kept answers.

use std::sync::Arc;

use async_trait::async_trait;
use fairgate_databases::Tx;

use super::rows::{Result, corrupt, find_order, json, met, parsed, text, to_json};
use super::{PostgresLedger, keyed};
use crate::ids::{OrderId, TicketId};
use crate::ledger::{CallBegun, KeptAnswer, KeyedCall, Scan, TicketLedger};
use crate::orders::{Order, Ticket};

#[async_trait]
impl TicketLedger for PostgresLedger {
    async fn ticket(&self, ticket: &TicketId) -> Result<Option<Ticket>> {
        let ticket = ticket.to_string();
        self.database
            .snapshot(async move |tx: Tx| {
                let sql = "SELECT order_id FROM tickets WHERE ticket = $1";
                let Some(row) = tx.first(sql, &[&ticket]).await? else {
                    return Ok(None);
                };
                let order: OrderId = parsed(text(&row, 0)?)?;
                let order = find_order(&tx, &order).await?;
                let order = order.ok_or_else(|| corrupt("a ticket without an order"))?;
                let tickets = of_order(&tx, &order).await?;
                Ok(tickets
                    .into_iter()
                    .find(|found| found.id.as_str() == ticket))
            })
            .await
    }

    async fn scan(
        &self,
        ticket: &TicketId,
        by: Option<[u8; 32]>,
        now_ms: i64,
    ) -> Result<Option<Scan>> {
        let ticket = Arc::new(ticket.to_string());
        self.database
            .write(move |tx| {
                let ticket = Arc::clone(&ticket);
                async move {
                    let by = by.as_ref().map(<[u8; 32]>::as_slice);
                    let sql = "UPDATE tickets SET scanned_at = $2, scanned_by = $3 \
                         WHERE ticket = $1 AND scanned_at IS NULL AND voided_at IS NULL";
                    let is_first = tx.execute(sql, &[&*ticket, &now_ms, &by]).await? == 1;
                    let sql = "SELECT scanned_at, voided_at, scanned_by = $2 FROM tickets WHERE ticket = $1";
                    let Some(row) = tx.first(sql, &[&*ticket, &by]).await? else {
                        return Ok(None);
                    };
                    let is_own = is_first || row.try_get::<_, Option<bool>>(2)? == Some(true);
                    Ok(met(is_own, row.try_get(0)?, row.try_get(1)?, now_ms))
                }
            })
            .await
    }

    async fn begin_call(&self, call: KeyedCall, now_ms: i64) -> Result<CallBegun> {
        let call = Arc::new(call);
        self.database
            .write(move |tx| {
                let call = Arc::clone(&call);
                async move { keyed::begin(&tx, &call, now_ms).await }
            })
            .await
    }

    async fn lend_call(&self, call: KeyedCall, until_ms: i64) -> Result<()> {
        let call = Arc::new(call);
        self.database
            .write(move |tx| {
                let call = Arc::clone(&call);
                async move { keyed::lend(&tx, &call, until_ms).await }
            })
            .await
    }

    async fn keep(
        &self,
        scope: [u8; 32],
        key: String,
        answer: KeptAnswer,
        now_ms: i64,
    ) -> Result<()> {
        let given = Arc::new((key, answer));
        self.database
            .write(move |tx| {
                let given = Arc::clone(&given);
                async move { keyed::keep(&tx, scope, &given.0, &given.1, now_ms).await }
            })
            .await
    }
}

/// The tickets of an order, in the order of its seats.
pub(super) async fn of_order(tx: &Tx, order: &Order) -> Result<Vec<Ticket>> {
    let sql = "SELECT ticket, label, legs, issued_at, scanned_at, voided_at FROM tickets WHERE order_id = $1 ORDER BY position";
    let rows = tx.query(sql, &[&order.id.as_str()]).await?;
    let read = |row| {
        let id: TicketId = parsed(text(row, 0)?)?;
        Ok(Ticket {
            name: order.traveller(&id).map(str::to_owned),
            id,
            order: order.id.clone(),
            show: order.show.clone(),
            label: text(row, 1)?.to_owned(),
            legs: json(text(row, 2)?)?,
            issued_at_ms: row.try_get(3)?,
            scanned_at_ms: row.try_get(4)?,
            voided_at_ms: row.try_get(5)?,
            visitor: order.visitor,
            room: order.room.clone(),
        })
    };
    rows.iter().map(read).collect()
}

/// Issues the tickets of an order; again changes nothing.
pub(super) async fn issue(tx: &Tx, order: &Order, now_ms: i64) -> Result<()> {
    let (mut ids, mut labels, mut legs) = (Vec::new(), Vec::new(), Vec::new());
    for item in &order.items {
        ids.push(TicketId::of_seat(&order.id, item.held.seat).to_string());
        labels.push(item.label.as_str());
        legs.push(to_json(&item.held.legs.clone().collect::<Vec<u16>>())?);
    }
    tx.execute(
        "INSERT INTO tickets (ticket, order_id, show, label, legs, issued_at) \
         SELECT ticket, $1, $2, label, legs, $3 \
         FROM unnest($4::text[], $5::text[], $6::text[]) WITH ORDINALITY AS t (ticket, label, legs, nth) ORDER BY nth \
         ON CONFLICT (ticket) DO NOTHING",
        &[&order.id.as_str(), &order.show.as_str(), &now_ms, &ids, &labels, &legs],
    )
    .await?;
    Ok(())
}
