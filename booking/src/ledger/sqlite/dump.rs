//! Reads the whole ledger for a dump: one read-only connection, one read transaction, so that all records are of the
//! same moment even while a gateway writes on.

use std::path::Path;
use std::time::Duration;

use fairgate_databases::LedgerError;
use fairgate_databases::rusqlite::{Connection, OpenFlags};

use super::MIGRATIONS;
use super::rows::{self, ORDER_COLUMNS, PAYMENT_COLUMNS, Result, corrupt, first};
use super::waitlist::WAITER_COLUMNS;
use crate::dump::sold::FateRecord;
use crate::dump::waiting::WaiterRecord;
use crate::dump::{
    Grids, LateSeats, OrderRecord, PaymentRecord, ProvidersSide, Record, ShowRecord, StepRecord,
    TermsRecord, VERSION,
};
use crate::ids::ShowId;

/// Takes one record; an error ends the reading.
type Sink<'a> = dyn FnMut(&Record) -> Result<()> + 'a;

/// Hands every record of the ledger file at `path` to `sink`, the first and the last line included.
///
/// # Errors
/// Where the file is no ledger of this version, or cannot be read; whatever `sink` returns.
pub fn read(path: &Path, now_ms: i64, sink: &mut Sink<'_>) -> Result<()> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(Duration::from_secs(5))?;
    let snapshot = connection.unchecked_transaction()?;
    check_version(&snapshot)?;
    sink(&Record::Dump {
        version: VERSION,
        at_ms: now_ms,
    })?;
    let grids = shows(&snapshot, sink)?;
    terms(&snapshot, sink)?;
    orders(&snapshot, &grids, sink)?;
    exchanges(&snapshot, &grids, sink)?;
    claims(&snapshot, &grids, sink)?;
    payments(&snapshot, sink)?;
    tickets(&snapshot, sink)?;
    waiters(&snapshot, sink)?;
    effects(&snapshot, sink)?;
    sink(&pending(&snapshot)?)
}

fn check_version(connection: &Connection) -> Result<()> {
    let have: Option<i64> = first(
        connection,
        "SELECT MAX(version) FROM migrations WHERE owner = 'booking'",
        [],
    )
    .map_err(|_| corrupt("this file is not a ledger, or holds nothing of booking yet"))?
    .flatten();
    let newest = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    match have {
        Some(have) if have == newest => Ok(()),
        Some(have) => Err(corrupt(&format!(
            "its tables are of version {have}, and this program knows version {newest}: use the one that belongs to the gateway"
        ))),
        None => Err(corrupt("it holds nothing of booking yet")),
    }
}

fn shows(connection: &Connection, sink: &mut Sink<'_>) -> Result<Grids> {
    let mut grids = Grids::default();
    let sql = "SELECT s.show, s.document, v.plan, s.run, f.fate, f.refunds_until, s.terms FROM shows s LEFT JOIN venues v \
         ON v.venue = json_extract(s.document, '$.venue') AND v.version = s.plan_version \
         LEFT JOIN show_fates f ON f.show = s.show ORDER BY s.show";
    each(connection, sql, |row| {
        let show: ShowId = rows::parsed(&row.get::<_, String>(0)?)?;
        let (document, plan): (String, Option<String>) = (row.get(1)?, row.get(2)?);
        let run: Option<String> = row.get(3)?;
        let fate = FateRecord::read(row.get(4)?, row.get(5)?)?;
        let (plan, run) = (plan.as_deref(), run.as_deref());
        let (record, grid) = ShowRecord::read(&show, &document, plan, run, (row.get(6)?, fate))?;
        grids.add(show, grid);
        sink(&Record::Show(record))
    })?;
    Ok(grids)
}

fn terms(connection: &Connection, sink: &mut Sink<'_>) -> Result<()> {
    let sql = "SELECT show, version, at, terms FROM terms ORDER BY show, version";
    each(connection, sql, |row| {
        let text: String = row.get(3)?;
        let record = TermsRecord::read(row.get(0)?, row.get(1)?, row.get(2)?, &text)?;
        sink(&Record::Terms(record))
    })
}

fn orders(connection: &Connection, grids: &Grids, sink: &mut Sink<'_>) -> Result<()> {
    let late = |column| {
        format!("(SELECT l.{column} FROM late_money l WHERE l.order_id = orders.order_id)")
    };
    let sql = format!(
        "SELECT {ORDER_COLUMNS}, {}, {} FROM orders ORDER BY created_at, order_id",
        late("made_for"),
        late("items")
    );
    each(connection, &sql, |row| {
        let order = rows::order(row)?;
        let mut history = Vec::new();
        let mut steps = connection.prepare_cached(
            "SELECT at, state, reason FROM order_history WHERE order_id = ?1 ORDER BY step",
        )?;
        let mut steps = steps.query([order.id.as_str()])?;
        while let Some(step) = steps.next()? {
            history.push(StepRecord {
                at_ms: step.get(0)?,
                state: step.get(1)?,
                reason: step.get(2)?,
            });
        }
        let grid = grids.of(&order.show)?;
        let late = LateSeats::read(row.get(18)?, row.get(19)?)?;
        let refunds = super::refunds::of_order(connection, &order.id)?;
        let given_back = refunds.iter().flat_map(|refund| refund.items.clone());
        let record = OrderRecord::of(&order, grid, history, late.as_ref(), given_back.collect());
        sink(&Record::Order(Box::new(record)))?;
        for refund in &refunds {
            sink(&Record::of_refund(&order.id, refund, grid))?;
        }
        Ok(())
    })
}

fn exchanges(connection: &Connection, grids: &Grids, sink: &mut Sink<'_>) -> Result<()> {
    let sql = "SELECT successor, order_id, items, given, fee, back, made_at, done_at FROM exchanges ORDER BY made_at, successor";
    each(connection, sql, |row| {
        let text = |at: usize| -> Result<String> { Ok(row.get(at)?) };
        let ids = (&rows::parsed(&text(0)?)?, &rows::parsed(&text(1)?)?);
        let seats = (&rows::items(&text(2)?)?[..], &rows::items(&text(3)?)?[..]);
        let (deal, times) = ((row.get(4)?, row.get(5)?), (row.get(6)?, row.get(7)?));
        sink(&Record::of_exchange(ids, seats, deal, times, grids)?)
    })
}

fn claims(connection: &Connection, grids: &Grids, sink: &mut Sink<'_>) -> Result<()> {
    let sql = "SELECT show, seat, leg, order_id FROM claims ORDER BY show, leg, seat";
    each(connection, sql, |row| {
        let show: ShowId = rows::parsed(&row.get::<_, String>(0)?)?;
        let (seat, leg) = (row.get(1)?, row.get(2)?);
        let grid = grids.of(&show)?;
        sink(&Record::Claim {
            show: show.to_string(),
            cell: u32::from(leg) * grid.seats + seat,
            seat,
            leg,
            order: row.get(3)?,
        })
    })
}

fn payments(connection: &Connection, sink: &mut Sink<'_>) -> Result<()> {
    let sql = format!(
        "SELECT {PAYMENT_COLUMNS}, p.updated_at, s.state, \
         CASE WHEN s.state IS NOT NULL THEN (SELECT json_group_array(json_object('refund', r.refund, 'amount', r.amount)) \
         FROM sandbox_refunds r WHERE r.payment = p.payment) END, \
         (SELECT json_group_array(c.card) FROM order_cards c WHERE c.order_id = p.order_id) FROM payments p \
         LEFT JOIN sandbox_payments s ON s.payment = p.payment ORDER BY p.rowid"
    );
    each(connection, &sql, |row| {
        let payment = rows::payment(row, 0)?;
        let provider = ProvidersSide {
            state: row.get(10)?,
            refunds: row.get(11)?,
            cards: row.get(12)?,
        };
        let record = PaymentRecord::of(payment, row.get(9)?, provider)?;
        sink(&Record::Payment(record))
    })
}

fn tickets(connection: &Connection, sink: &mut Sink<'_>) -> Result<()> {
    let sql = "SELECT ticket, order_id, show, label, legs, issued_at, voided_at, scanned_at FROM tickets ORDER BY rowid";
    each(connection, sql, |row| {
        let legs: String = row.get(4)?;
        sink(&Record::Ticket {
            ticket: row.get(0)?,
            order: row.get(1)?,
            show: row.get(2)?,
            label: row.get(3)?,
            legs: serde_json::from_str(&legs).map_err(|error| corrupt(&error.to_string()))?,
            issued_ms: row.get(5)?,
            void_ms: row.get(6)?,
            scanned_ms: row.get(7)?,
        })
    })
}

fn waiters(connection: &Connection, sink: &mut Sink<'_>) -> Result<()> {
    let sql = format!("SELECT {WAITER_COLUMNS} FROM waiters ORDER BY show, number");
    each(connection, &sql, |row| {
        let waiter = super::waitlist::read(row)?;
        sink(&Record::Waiter(WaiterRecord::of(&waiter)))
    })
}

fn effects(connection: &Connection, sink: &mut Sink<'_>) -> Result<()> {
    let sql = "SELECT order_id, kind, due_at, done_at FROM effects ORDER BY effect";
    each(connection, sql, |row| {
        sink(&Record::Effect {
            order: row.get(0)?,
            what: row.get(1)?,
            due_ms: row.get(2)?,
            done_ms: row.get(3)?,
        })
    })
}

fn pending(connection: &Connection) -> Result<Record> {
    let count = |sql| -> Result<u64> {
        let found: Option<i64> = first(connection, sql, [])?;
        Ok(found.unwrap_or(0).unsigned_abs())
    };
    Ok(Record::Pending {
        seat_rows: None,
        effects: count("SELECT COUNT(*) FROM effects WHERE done_at IS NULL")?
            + count("SELECT COUNT(*) FROM refunds WHERE done_at IS NULL")?,
        events: count("SELECT COUNT(*) FROM provider_events WHERE settled_at IS NULL")?,
    })
}

/// Walks a query row by row, so that no table is ever held in memory.
fn each(
    connection: &Connection,
    sql: &str,
    mut see: impl FnMut(&fairgate_databases::rusqlite::Row<'_>) -> Result<()>,
) -> std::result::Result<(), LedgerError> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        see(row)?;
    }
    Ok(())
}
