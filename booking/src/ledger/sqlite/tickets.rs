//! Tickets and kept answers.

use async_trait::async_trait;
use fairgate_databases::rusqlite::{Connection, Row};

use super::rows::{Result, collect, corrupt, find_order, first, met, parsed};
use super::{SqliteLedger, keyed};
use crate::ids::{OrderId, TicketId};
use crate::ledger::{CallBegun, KeptAnswer, KeyedCall, Scan, TicketLedger};
use crate::orders::{Order, Ticket};

#[async_trait]
impl TicketLedger for SqliteLedger {
    async fn ticket(&self, ticket: &TicketId) -> Result<Option<Ticket>> {
        let ticket = ticket.to_string();
        self.writer
            .read(move |connection| {
                let order: Option<String> = first(
                    connection,
                    "SELECT order_id FROM tickets WHERE ticket = ?1",
                    [&ticket],
                )?;
                let Some(order) = order else { return Ok(None) };
                let order: OrderId = parsed(&order)?;
                let order = find_order(connection, &order)?
                    .ok_or_else(|| corrupt("a ticket without an order"))?;
                Ok(of_order(connection, &order)?
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
        let ticket = ticket.to_string();
        self.writer
            .write(move |tx| {
                let sql = "UPDATE tickets SET scanned_at = ?2, scanned_by = ?3 \
                     WHERE ticket = ?1 AND scanned_at IS NULL AND voided_at IS NULL";
                let is_first = tx.prepare_cached(sql)?.execute((&ticket, now_ms, by))? == 1;
                let sql =
                    "SELECT scanned_at, voided_at, scanned_by = ?2 FROM tickets WHERE ticket = ?1";
                let met = collect(tx, sql, (&ticket, by), |row| {
                    let is_own = is_first || row.get::<_, Option<bool>>(2)? == Some(true);
                    Ok(met(is_own, row.get(0)?, row.get(1)?, now_ms))
                })?;
                Ok(met.into_iter().next().flatten())
            })
            .await
    }

    async fn begin_call(&self, call: KeyedCall, now_ms: i64) -> Result<CallBegun> {
        self.writer
            .write(move |tx| keyed::begin(tx, &call, now_ms))
            .await
    }

    async fn lend_call(&self, call: KeyedCall, until_ms: i64) -> Result<()> {
        self.writer
            .write(move |tx| keyed::lend(tx, &call, until_ms))
            .await
    }

    async fn keep(
        &self,
        scope: [u8; 32],
        key: String,
        answer: KeptAnswer,
        now_ms: i64,
    ) -> Result<()> {
        self.writer
            .write(move |tx| keyed::keep(tx, scope, &key, &answer, now_ms))
            .await
    }
}

/// The tickets of an order, in the order of its seats.
pub(super) fn of_order(connection: &Connection, order: &Order) -> Result<Vec<Ticket>> {
    let read = |row: &Row<'_>| {
        let legs: String = row.get(2)?;
        let id: TicketId = parsed(&row.get::<_, String>(0)?)?;
        Ok(Ticket {
            name: order.traveller(&id).map(str::to_owned),
            id,
            order: order.id.clone(),
            show: order.show.clone(),
            label: row.get(1)?,
            legs: serde_json::from_str(&legs).map_err(|error| corrupt(&error.to_string()))?,
            issued_at_ms: row.get(3)?,
            scanned_at_ms: row.get(4)?,
            voided_at_ms: row.get(5)?,
            visitor: order.visitor,
            room: order.room.clone(),
        })
    };
    collect(
        connection,
        "SELECT ticket, label, legs, issued_at, scanned_at, voided_at FROM tickets WHERE order_id = ?1 ORDER BY rowid",
        [order.id.as_str()],
        read,
    )
}

/// Issues the tickets of an order; again changes nothing.
pub(super) fn issue(tx: &Connection, order: &Order, now_ms: i64) -> Result<()> {
    let mut insert = tx.prepare_cached(
        "INSERT OR IGNORE INTO tickets (ticket, order_id, show, label, legs, issued_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for item in &order.items {
        let id = TicketId::of_seat(&order.id, item.held.seat);
        let legs: Vec<u16> = item.held.legs.clone().collect();
        let legs = serde_json::to_string(&legs).map_err(|error| corrupt(&error.to_string()))?;
        insert.execute((
            id.as_str(),
            order.id.as_str(),
            order.show.as_str(),
            &item.label,
            legs,
            now_ms,
        ))?;
    }
    Ok(())
}
