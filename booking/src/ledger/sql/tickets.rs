//! Issues, reads and scans tickets. Also has the ledger's methods for calls under an
//! `Idempotency-Key`; their statements are in `keyed`.

use fairgate_databases::{SqlDialect, SqlRow, SqlTransaction};
use fairgate_model::ids::{OrderId, TicketId};
use fairgate_model::orders::{Order, Ticket};
use fairgate_model::payments::kind::ProviderKind;

use super::rows::{Result, corrupt, find_order, from_json, parsed, scan_outcome, text, to_json};
use super::{Ledger, keyed};
use crate::ledger::{BeginCallOutcome, KeptAnswer, KeyedCall, TicketScanOutcome};

/// Tickets, and answers that are stored for repeated calls.
impl Ledger {
    /// Returns a ticket.
    pub async fn ticket(&self, ticket: &TicketId) -> Result<Option<Ticket>> {
        self.installation
            .read_snapshot(ticket.clone(), |tx, ticket| Box::pin(find(tx, ticket)))
            .await
    }

    /// Returns the kind of provider that took the money for an order's seats, or
    /// [`ProviderKind::None`] if they cost nothing. If exchanges led to the order, the money of the
    /// exchanged orders counts, too. If the sandbox took any of the money, returns
    /// [`ProviderKind::Sandbox`], because the seats were then not paid for with real money alone.
    pub async fn paid_by(&self, order: &OrderId) -> Result<ProviderKind> {
        self.installation
            .read(order.clone(), |tx, order| Box::pin(paid_by(tx, order)))
            .await
    }

    /// Marks a ticket as scanned, unless it was scanned before, is void or is blocked. `by` is the
    /// digest of the scanner and the scan's key. A repeated scan with the same digest within
    /// [`SCAN_KEY_MS`] still counts as the first scan. Returns `None` if there is no such ticket.
    pub async fn scan(
        &self,
        ticket: &TicketId,
        by: Option<[u8; 32]>,
        now_ms: i64,
    ) -> Result<Option<TicketScanOutcome>> {
        self.installation
            .write((ticket.clone(), by), move |tx, (ticket, by)| {
                Box::pin(scan(tx, ticket, by.as_ref(), now_ms))
            })
            .await
    }

    /// Registers a call under its caller's key before a node carries out the call. So of two
    /// different calls under one key, only one is ever carried out, even if they arrive at
    /// different nodes. The call belongs to the node for [`CALL_LEASE_MS`]. In this time no other
    /// node may begin the call, but the node itself may begin it again.
    pub async fn begin_call(&self, call: KeyedCall, now_ms: i64) -> Result<BeginCallOutcome> {
        self.installation
            .write(call, move |tx, call| {
                Box::pin(keyed::begin_call(tx, call, now_ms))
            })
            .await
    }

    /// Sets until when a call belongs to its node, if the node still has the call. A node with no
    /// final answer passes a time in the past: any node may then begin the same call again at once.
    /// The key still belongs to this call.
    pub async fn set_call_lease(&self, call: KeyedCall, until_ms: i64) -> Result<()> {
        self.installation
            .write(call, move |tx, call| {
                Box::pin(keyed::set_call_lease(tx, call, until_ms))
            })
            .await
    }

    /// Stores the answer of a call, which ends the call. If an answer is stored already, that
    /// answer stays.
    pub async fn keep(
        &self,
        scope: [u8; 32],
        key: String,
        answer: KeptAnswer,
        now_ms: i64,
    ) -> Result<()> {
        self.installation
            .write((key, answer), move |tx, (key, answer)| {
                Box::pin(keyed::keep_answer(tx, scope, key, answer, now_ms))
            })
            .await
    }
}

async fn find(tx: &SqlTransaction, ticket: &TicketId) -> Result<Option<Ticket>> {
    let sql = "SELECT order_id FROM tickets WHERE ticket = $1";
    let Some(row) = tx.first(sql, &[&ticket.as_str()]).await? else {
        return Ok(None);
    };
    let order: OrderId = parsed(text(&row, 0)?)?;
    let order = find_order(tx, &order).await?;
    let order = order.ok_or_else(|| corrupt("a ticket without an order"))?;
    let tickets = of_order(tx, &order).await?;
    Ok(tickets.into_iter().find(|stored| stored.id == *ticket))
}

async fn paid_by(tx: &SqlTransaction, order: &OrderId) -> Result<ProviderKind> {
    let sql = "WITH RECURSIVE exchanged (order_id) AS (SELECT order_id FROM orders WHERE order_id = $1 UNION \
             SELECT x.order_id FROM exchanges x JOIN exchanged e ON x.successor = e.order_id \
             WHERE x.done_at IS NOT NULL) \
         SELECT DISTINCT p.provider FROM payments p JOIN exchanged e ON e.order_id = p.order_id";
    let mut paid_by = ProviderKind::None;
    for row in tx.query(sql, &[&order.as_str()]).await? {
        let kind = text(&row, 0)?.parse();
        match kind.map_err(|_| corrupt("a payment's provider"))? {
            ProviderKind::None => {}
            ProviderKind::Sandbox => return Ok(ProviderKind::Sandbox),
            kind => paid_by = kind,
        }
    }
    Ok(paid_by)
}

async fn scan(
    tx: &SqlTransaction,
    ticket: &TicketId,
    by: Option<&[u8; 32]>,
    now_ms: i64,
) -> Result<Option<TicketScanOutcome>> {
    let sql = "UPDATE tickets SET scanned_at = $2, scanned_by = $3 \
         WHERE ticket = $1 AND scanned_at IS NULL AND voided_at IS NULL AND blocked_at IS NULL";
    let written = tx.execute(sql, &[&ticket.as_str(), &now_ms, &by]).await?;
    let is_first = written == 1;
    let sql =
        "SELECT scanned_at, voided_at, scanned_by = $2, blocked_at FROM tickets WHERE ticket = $1";
    let Some(row) = tx.first(sql, &[&ticket.as_str(), &by]).await? else {
        return Ok(None);
    };
    let is_own = is_first || row.get::<Option<bool>>(2)? == Some(true);
    let (scanned_at, voided_at, blocked_at) = (row.get(0)?, row.get(1)?, row.get(3)?);
    Ok(scan_outcome(
        is_own, scanned_at, voided_at, blocked_at, now_ms,
    ))
}

/// Reads the tickets of an order, in the order of its seats.
pub(super) async fn of_order(tx: &SqlTransaction, order: &Order) -> Result<Vec<Ticket>> {
    let sql = match tx.dialect() {
        SqlDialect::Sqlite => {
            "SELECT ticket, label, legs, issued_at, scanned_at, voided_at, blocked_at FROM tickets \
             WHERE order_id = $1 ORDER BY rowid"
        }
        SqlDialect::Postgres => {
            "SELECT ticket, label, legs, issued_at, scanned_at, voided_at, blocked_at FROM tickets \
             WHERE order_id = $1 ORDER BY position"
        }
    };
    let rows = tx.query(sql, &[&order.id.as_str()]).await?;
    let read = |row: &SqlRow| {
        let id: TicketId = parsed(text(row, 0)?)?;
        let item = order.item_of_ticket(&id);
        Ok(Ticket {
            name: item.and_then(|item| item.traveller.clone()),
            buyer: order.buyer.name.clone(),
            category: item.map(|item| item.category.clone()),
            price: item.map(|item| order.currency.with_amount(item.amount)),
            id,
            order: order.id.clone(),
            show: order.show.clone(),
            label: text(row, 1)?.to_owned(),
            legs: from_json(text(row, 2)?)?,
            plan_version: order.plan_version,
            issued_at_ms: row.get(3)?,
            scanned_at_ms: row.get(4)?,
            voided_at_ms: row.get(5)?,
            blocked_at_ms: row.get(6)?,
            visitor: order.visitor,
            room: order.room.clone(),
        })
    };
    rows.iter().map(read).collect()
}

/// Returns whether an order has a ticket that is not void.
pub(super) async fn any_valid(tx: &SqlTransaction, order: &OrderId) -> Result<bool> {
    let sql = "SELECT 1 FROM tickets WHERE order_id = $1 AND voided_at IS NULL LIMIT 1";
    Ok(tx.first(sql, &[&order.as_str()]).await?.is_some())
}

/// The time at which tickets of an order are issued, from the parameter `$3`: it is not before the
/// newest step of the order, because another worker may have read a later time.
const ISSUED_AT: &str = "GREATEST($3::bigint, COALESCE((SELECT MAX(h.at) FROM order_history h \
     WHERE h.order_id = $1), 0))";

/// Issues the tickets of an order. A repeated call changes nothing.
pub(super) async fn issue(tx: &SqlTransaction, order: &Order, now_ms: i64) -> Result<()> {
    let (mut ids, mut labels, mut legs) = (Vec::new(), Vec::new(), Vec::new());
    for item in &order.items {
        ids.push(TicketId::of_seat(&order.id, item.held.seat).to_string());
        labels.push(item.label.as_str());
        legs.push(to_json(&item.held.legs.clone().collect::<Vec<u16>>())?);
    }
    let (order, show) = (order.id.as_str(), order.show.as_str());
    if tx.is_postgres() {
        return put_tickets_fused(tx, (order, show), now_ms, (ids, labels, legs)).await;
    }
    let sql = format!(
        "INSERT INTO tickets (ticket, order_id, show, label, legs, issued_at) \
         VALUES ($4, $1, $2, $5, $6, {ISSUED_AT}) ON CONFLICT (ticket) DO NOTHING"
    );
    for ((id, label), legs) in ids.iter().zip(labels).zip(&legs) {
        tx.execute(&sql, &[&order, &show, &now_ms, id, &label, legs])
            .await?;
    }
    Ok(())
}

/// Writes all tickets of an order in one statement instead of one round trip for each, because the
/// order's row stays locked meanwhile.
async fn put_tickets_fused(
    tx: &SqlTransaction,
    (order, show): (&str, &str),
    now_ms: i64,
    (ids, labels, legs): (Vec<String>, Vec<&str>, Vec<String>),
) -> Result<()> {
    let sql = format!(
        "INSERT INTO tickets (ticket, order_id, show, label, legs, issued_at) \
         SELECT ticket, $1, $2, label, legs, {ISSUED_AT} \
         FROM unnest($4::text[], $5::text[], $6::text[]) \
         WITH ORDINALITY AS t (ticket, label, legs, nth) ORDER BY nth \
         ON CONFLICT (ticket) DO NOTHING"
    );
    tx.execute(&sql, &[&order, &show, &now_ms, &ids, &labels, &legs])
        .await?;
    Ok(())
}

/// Locks an order's tickets. A scan at the same moment is either committed before this lock is
/// taken, or waits until this transaction ends. A file needs no lock, because it has a single
/// writer.
pub(super) async fn lock(tx: &SqlTransaction, order: &OrderId) -> Result<()> {
    if tx.is_postgres() {
        let sql = "SELECT 1 FROM tickets WHERE order_id = $1 ORDER BY position FOR UPDATE";
        tx.query(sql, &[&order.as_str()]).await?;
    }
    Ok(())
}
