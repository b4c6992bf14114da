//! Writes one step of an order: its state, its history, its claims, its tickets and a row of the
//! seat outbox.

use fairgate_databases::{SqlTransaction, ToSqlValue};
use fairgate_model::holds::HeldSeat;
use fairgate_model::ids::{HoldId, TicketId};
use fairgate_model::orders::{Order, OrderItem, OrderState};

use super::rows::{Result, corrupt, items_text, seat_word};
use super::{order_history, outbox};
use crate::store::SeatOutboxAction;

/// One step of an order, as it is to be written. The caller has locked the order's row.
pub(super) struct OrderStep<'a> {
    /// The order before the step.
    pub order: &'a Order,
    /// The order's state after the step.
    pub state: OrderState,
    /// The reason for the step, as a stable code.
    pub reason: &'a str,
    /// The order's items after the step. `None` leaves them as they are.
    pub items: Option<&'a [OrderItem]>,
    /// The amount by which the step lowers [`Order::waived`], in minor units.
    pub uncharged: i64,
    /// The claims of the order that end.
    pub ended_claims: FreedClaims<'a>,
    /// The row of the seat outbox: what the store must do, with which hold and seats. `None` if the
    /// store must do nothing.
    pub seat_row: Option<(SeatOutboxAction, &'a HoldId, &'a [OrderItem])>,
    /// The tickets of the order that become void.
    pub voided: VoidedTickets<'a>,
    /// The time of the step, in milliseconds since the epoch.
    pub now_ms: i64,
}

/// Which claims of an order end.
#[derive(Clone, Copy)]
pub(super) enum FreedClaims<'a> {
    /// None of them.
    Nothing,
    /// All of them.
    All,
    /// The claims of these items.
    Of(&'a [OrderItem]),
}

/// Which tickets of an order become void.
#[derive(Clone, Copy)]
pub(super) enum VoidedTickets<'a> {
    /// None of them.
    Nothing,
    /// All that are not void yet.
    All,
    /// These tickets.
    Named(&'a [TicketId]),
}

impl OrderStep<'_> {
    /// Writes the step.
    pub(super) async fn write(self, tx: &SqlTransaction) -> Result<()> {
        let moved = if tx.is_postgres() {
            self.write_fused(tx).await?
        } else {
            self.write_one_by_one(tx).await?
        };
        if moved {
            Ok(())
        } else {
            Err(corrupt("an order that moved while its row was locked"))
        }
    }

    async fn write_one_by_one(&self, tx: &SqlTransaction) -> Result<bool> {
        let id = self.order.id.as_str();
        let sql = "UPDATE orders SET state = $2, reason = $3, items = COALESCE($5, items), \
             let_go = let_go - $6 WHERE order_id = $1 AND state = $4";
        let items = self.items.map(items_text).transpose()?;
        let (from, to) = (self.order.state.as_str(), self.state.as_str());
        let with: [&(dyn ToSqlValue + Sync); 6] =
            [&id, &to, &self.reason, &from, &items, &self.uncharged];
        if tx.execute(sql, &with).await? != 1 {
            return Ok(false);
        }
        order_history::add_step(tx, &self.order.id, self.state, self.reason, self.now_ms).await?;
        self.free_claims(tx).await?;
        if let Some((kind, hold, items)) = self.seat_row {
            outbox::write_seat_row(tx, self.order, seat_word(kind), hold, items).await?;
        }
        self.void_tickets(tx).await?;
        Ok(true)
    }

    async fn free_claims(&self, tx: &SqlTransaction) -> Result<()> {
        let id = self.order.id.as_str();
        match self.ended_claims {
            FreedClaims::Nothing => {}
            FreedClaims::All => {
                let sql = "DELETE FROM claims WHERE order_id = $1";
                tx.execute(sql, &[&id]).await?;
            }
            FreedClaims::Of(items) => {
                let sql = "DELETE FROM claims WHERE order_id = $1 AND seat = $2 AND leg >= $3 \
                     AND leg < $4";
                for item in items {
                    let HeldSeat { seat, legs } = &item.held;
                    tx.execute(sql, &[&id, seat, &legs.start, &legs.end])
                        .await?;
                }
            }
        }
        Ok(())
    }

    async fn void_tickets(&self, tx: &SqlTransaction) -> Result<()> {
        match self.voided {
            VoidedTickets::Nothing => {}
            VoidedTickets::All => {
                let sql = "UPDATE tickets SET voided_at = $2 WHERE order_id = $1 \
                     AND voided_at IS NULL";
                tx.execute(sql, &[&self.order.id.as_str(), &self.now_ms])
                    .await?;
            }
            VoidedTickets::Named(tickets) => {
                let sql = "UPDATE tickets SET voided_at = $2 WHERE ticket = $1";
                for ticket in tickets {
                    tx.execute(sql, &[&ticket.as_str(), &self.now_ms]).await?;
                }
            }
        }
        Ok(())
    }

    /// Writes the step in one round trip instead of two or more, because the order's row stays
    /// locked meanwhile. Each purchase takes two such steps.
    async fn write_fused(&self, tx: &SqlTransaction) -> Result<bool> {
        let (every, freed): (bool, &[OrderItem]) = match self.ended_claims {
            FreedClaims::Nothing => (false, &[]),
            FreedClaims::All => (true, &[]),
            FreedClaims::Of(items) => (false, items),
        };
        let number = |of: fn(&HeldSeat) -> i64| -> Vec<i64> {
            freed.iter().map(|item| of(&item.held)).collect()
        };
        let seats = number(|held| held.seat.into());
        let from_legs = number(|held| held.legs.start.into());
        let to_legs = number(|held| held.legs.end.into());
        let outbox_items = self
            .seat_row
            .map(|(.., items)| items_text(items))
            .transpose()?;
        let (every_ticket, tickets): (bool, &[TicketId]) = match self.voided {
            VoidedTickets::Nothing => (false, &[]),
            VoidedTickets::All => (true, &[]),
            VoidedTickets::Named(tickets) => (false, tickets),
        };
        let tickets: Vec<String> = tickets.iter().map(ToString::to_string).collect();
        let with: [&(dyn ToSqlValue + Sync); 18] = [
            &self.order.id.as_str(),
            &self.state.as_str(),
            &self.reason,
            &self.order.state.as_str(),
            &self.items.map(items_text).transpose()?,
            &self.uncharged,
            &self.now_ms,
            &!matches!(self.ended_claims, FreedClaims::Nothing),
            &every,
            &seats,
            &from_legs,
            &to_legs,
            &self.seat_row.map(|(kind, ..)| seat_word(kind)),
            &self.seat_row.map(|(_, hold, _)| hold.as_str()),
            &outbox_items,
            &!matches!(self.voided, VoidedTickets::Nothing),
            &every_ticket,
            &tickets,
        ];
        Ok(tx.query_one(FUSED, &with).await?.get::<i64>(0)? == 1)
    }
}

/// The statement of [`OrderStep::write_fused`]. Its parameters switch off the parts that are not
/// needed: freeing claims, voiding tickets, or writing a row of the seat outbox.
const FUSED: &str = "WITH moved AS (UPDATE orders SET state = $2, reason = $3, \
         items = COALESCE($5, items), let_go = let_go - $6 \
         WHERE order_id = $1 AND state = $4 RETURNING order_id, show, visitor), \
     noted AS (INSERT INTO order_history (order_id, step, at, state, reason) \
         SELECT order_id, \
             (SELECT COALESCE(MAX(step), 0) + 1 FROM order_history WHERE order_id = $1), \
             GREATEST($7, (SELECT MAX(at) FROM order_history WHERE order_id = $1)), $2, $3 \
         FROM moved), \
     freed AS (DELETE FROM claims c WHERE $8 AND c.order_id IN (SELECT order_id FROM moved) \
         AND ($9 OR EXISTS (SELECT 1 FROM unnest($10::bigint[], $11::bigint[], $12::bigint[]) \
             AS g (seat, from_leg, to_leg) \
             WHERE c.seat = g.seat AND c.leg >= g.from_leg AND c.leg < g.to_leg))), \
     told AS (INSERT INTO seat_outbox (show, kind, order_id, hold, visitor, items) \
         SELECT show, $13::text, order_id, $14::text, visitor, $15::text FROM moved \
         WHERE $13::text IS NOT NULL), \
     voided AS (UPDATE tickets t SET voided_at = $7 WHERE $16 AND t.voided_at IS NULL \
         AND t.order_id IN (SELECT order_id FROM moved) AND ($17 OR t.ticket = ANY ($18))) \
     SELECT COUNT(*) FROM moved";
