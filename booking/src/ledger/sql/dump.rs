//! Reads the whole ledger for a dump. All records are read in one snapshot, so they show the same
//! moment even while nodes write. Tables are read row by row, so that no whole table is ever in
//! memory.

use fairgate_databases::{Migration, SqlDialect, SqlRow, SqlTransaction};
use fairgate_model::ids::ShowId;

use super::migrations::MIGRATIONS;
use super::rows::{
    self, ORDER_COLUMNS, ORDER_COLUMNS_LEN, PAYMENT_COLUMNS, REFUND_COLUMNS, RefundRow, Result,
    corrupt, count, from_json, items, parsed, read_refund, small, text,
};
use super::waitlist::{self, WAITER_COLUMNS};
use crate::dump::sold::FateRecord;
use crate::dump::terms::TermsRecord;
use crate::dump::waiting::WaiterRecord;
use crate::dump::{
    DumpRecord, LateMoneySeats, OrderDumpRecord, OrderStepRecord, PaymentRecord,
    ProviderPaymentData, ShowGrids, ShowRecord, VERSION,
};

/// A function that takes one record. If it returns an error, the reading ends.
type RecordSink<'a> = dyn FnMut(&DumpRecord) -> Result<()> + Send + 'a;

/// Passes all records of the dump to `sink`, from its first line to its last.
///
/// # Errors
/// Returns an error if the database holds no ledger of this version, or cannot be read. Also
/// returns an error of `sink`, unchanged.
pub async fn read_records(
    tx: &SqlTransaction,
    now_ms: i64,
    sink: &mut RecordSink<'_>,
) -> Result<()> {
    check_version(tx).await?;
    sink(&DumpRecord::Dump {
        version: VERSION,
        at_ms: now_ms,
    })?;
    let grids = dump_shows(tx, sink).await?;
    dump_terms(tx, sink).await?;
    dump_orders(tx, &grids, sink).await?;
    dump_exchanges(tx, &grids, sink).await?;
    dump_claims(tx, &grids, sink).await?;
    dump_payments(tx, sink).await?;
    dump_tickets(tx, sink).await?;
    dump_waiters(tx, sink).await?;
    dump_effects(tx, sink).await?;
    dump_findings(tx, sink).await?;
    sink(&pending_record(tx).await?)
}

async fn check_version(tx: &SqlTransaction) -> Result<()> {
    let (sql, no_ledger) = match tx.dialect() {
        SqlDialect::Sqlite => (
            "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'migrations')",
            "this file is not a ledger, or holds nothing of booking yet",
        ),
        SqlDialect::Postgres => (
            "SELECT to_regclass('migrations') IS NOT NULL",
            "this database is not a ledger",
        ),
    };
    if !tx.query_one(sql, &[]).await?.get::<bool>(0)? {
        return Err(corrupt(no_ledger));
    }
    let sql = "SELECT COALESCE(MAX(version), 0) FROM migrations WHERE owner = 'booking'";
    let have: i64 = tx.query_one(sql, &[]).await?.get(0)?;
    let newest = Migration::version_of(tx.dialect(), MIGRATIONS);
    match have {
        have if have == newest => Ok(()),
        0 => Err(corrupt("it holds nothing of booking yet")),
        have => Err(corrupt(&format!(
            "its tables are of version {have}, and this program knows version {newest}: \
             use the program of the gateway's version"
        ))),
    }
}

async fn dump_shows(tx: &SqlTransaction, sink: &mut RecordSink<'_>) -> Result<ShowGrids> {
    let mut grids = ShowGrids::default();
    let sql = "SELECT s.show, s.document::text, v.plan, s.run, f.fate, f.at, f.refunds_until, s.terms \
         FROM shows s LEFT JOIN venues v \
         ON v.venue = s.document ->> 'venue' AND v.version = s.plan_version \
         LEFT JOIN show_fates f ON f.show = s.show ORDER BY s.show COLLATE \"C\"";
    tx.query_each(sql, &[], |row| {
        let show: ShowId = parsed(text(&row, 0)?)?;
        let (plan, run): (Option<&str>, Option<&str>) = (row.get(2)?, row.get(3)?);
        let fate = FateRecord::read(row.get(4)?, row.get(5)?, row.get(6)?)?;
        let (record, grid) =
            ShowRecord::read(&show, text(&row, 1)?, plan, run, (small(&row, 7)?, fate))?;
        grids.add(show, grid);
        sink(&DumpRecord::Show(record))
    })
    .await?;
    Ok(grids)
}

async fn dump_terms(tx: &SqlTransaction, sink: &mut RecordSink<'_>) -> Result<()> {
    let sql = "SELECT t.show, t.version, t.at, t.terms, s.run, \
         CASE WHEN s.run IS NOT NULL THEN v.plan END FROM terms t \
         LEFT JOIN shows s ON s.show = t.show LEFT JOIN venues v \
         ON v.venue = s.document ->> 'venue' AND v.version = s.plan_version \
         ORDER BY t.show COLLATE \"C\", t.version";
    tx.query_each(sql, &[], |row| {
        let version = (row.get(0)?, small(&row, 1)?, row.get(2)?);
        let (run, plan): (Option<&str>, Option<&str>) = (row.get(4)?, row.get(5)?);
        let record = TermsRecord::read(version, text(&row, 3)?, plan.zip(run))?;
        sink(&DumpRecord::Terms(record))
    })
    .await
}

async fn dump_orders(
    tx: &SqlTransaction,
    grids: &ShowGrids,
    sink: &mut RecordSink<'_>,
) -> Result<()> {
    let sql = format!(
        "SELECT {ORDER_COLUMNS}, (SELECT json_agg(json_build_object(\
         'at_ms', h.at, 'state', h.state, 'reason', h.reason) ORDER BY h.step)::text \
         FROM order_history h WHERE h.order_id = o.order_id), l.made_for, l.items, \
         (SELECT json_agg(json_build_array({REFUND_COLUMNS}) ORDER BY r.nth)::text \
         FROM refunds r WHERE r.order_id = o.order_id) FROM orders o \
         LEFT JOIN late_money l ON l.order_id = o.order_id \
         ORDER BY o.created_at, o.order_id COLLATE \"C\""
    );
    tx.query_each(&sql, &[], |row| dump_order(&row, grids, sink))
        .await
}

/// Passes an order and its refunds to `sink`.
fn dump_order(row: &SqlRow, grids: &ShowGrids, sink: &mut RecordSink<'_>) -> Result<()> {
    let order = rows::order(row, 0)?;
    let history: Vec<OrderStepRecord> = from_json(text(row, ORDER_COLUMNS_LEN)?)?;
    let grid = grids.show_grid(&order.show)?;
    let late = LateMoneySeats::read(
        row.get(ORDER_COLUMNS_LEN + 1)?,
        row.get(ORDER_COLUMNS_LEN + 2)?,
    )?;
    let refunds: Option<&str> = row.get(ORDER_COLUMNS_LEN + 3)?;
    let refunds: Vec<RefundRow> = refunds.map_or(Ok(Vec::new()), from_json)?;
    let refunds = refunds
        .into_iter()
        .map(read_refund)
        .collect::<Result<Vec<_>>>()?;
    let given_back = refunds.iter().flat_map(|refund| refund.items.clone());
    let record =
        OrderDumpRecord::from_order(&order, grid, history, late.as_ref(), given_back.collect());
    sink(&DumpRecord::Order(Box::new(record)))?;
    for refund in &refunds {
        sink(&DumpRecord::of_refund(&order.id, refund, grid))?;
    }
    Ok(())
}

async fn dump_exchanges(
    tx: &SqlTransaction,
    grids: &ShowGrids,
    sink: &mut RecordSink<'_>,
) -> Result<()> {
    let sql = "SELECT successor, order_id, items, given, fee, back, made_at, done_at \
         FROM exchanges ORDER BY made_at, successor COLLATE \"C\"";
    tx.query_each(sql, &[], |row| {
        let ids = (&parsed(text(&row, 0)?)?, &parsed(text(&row, 1)?)?);
        let seats = (&items(text(&row, 2)?)?[..], &items(text(&row, 3)?)?[..]);
        let (deal, times) = ((row.get(4)?, row.get(5)?), (row.get(6)?, row.get(7)?));
        sink(&DumpRecord::of_exchange(ids, seats, deal, times, grids)?)
    })
    .await
}

async fn dump_claims(
    tx: &SqlTransaction,
    grids: &ShowGrids,
    sink: &mut RecordSink<'_>,
) -> Result<()> {
    let sql = "SELECT show, seat, leg, order_id FROM claims ORDER BY show COLLATE \"C\", leg, seat";
    tx.query_each(sql, &[], |row| {
        let show: ShowId = parsed(text(&row, 0)?)?;
        let (seat, leg) = (small(&row, 1)?, small(&row, 2)?);
        sink(&DumpRecord::Claim {
            cell: u32::from(leg) * grids.show_grid(&show)?.seats + seat,
            show: show.to_string(),
            seat,
            leg,
            order: row.get(3)?,
        })
    })
    .await
}

async fn dump_payments(tx: &SqlTransaction, sink: &mut RecordSink<'_>) -> Result<()> {
    let sequence = match tx.dialect() {
        SqlDialect::Sqlite => "p.rowid",
        SqlDialect::Postgres => "p.payment COLLATE \"C\"",
    };
    let sql = format!(
        "SELECT {PAYMENT_COLUMNS}, p.updated_at, s.state, CASE WHEN s.state IS NOT NULL THEN \
         COALESCE((SELECT json_agg(json_build_object('refund', r.refund, 'amount', r.amount)) \
         FROM sandbox_refunds r WHERE r.payment = p.payment), '[]'::json)::text END, \
         (SELECT COALESCE(json_agg(c.card ORDER BY c.card), '[]'::json)::text \
         FROM order_cards c WHERE c.order_id = p.order_id) \
         FROM payments p LEFT JOIN sandbox_payments s ON s.payment = p.payment \
         ORDER BY {sequence}"
    );
    tx.query_each(&sql, &[], |row| {
        let payment = rows::payment(&row, 0)?;
        let provider = ProviderPaymentData {
            state: row.get(12)?,
            refunds: row.get(13)?,
            cards: row.get(14)?,
        };
        let record = PaymentRecord::from_payment(payment, row.get(11)?, provider)?;
        sink(&DumpRecord::Payment(record))
    })
    .await
}

async fn dump_tickets(tx: &SqlTransaction, sink: &mut RecordSink<'_>) -> Result<()> {
    let sql = match tx.dialect() {
        SqlDialect::Sqlite => {
            "SELECT ticket, order_id, show, label, legs, issued_at, voided_at, scanned_at, blocked_at \
             FROM tickets ORDER BY rowid"
        }
        SqlDialect::Postgres => {
            "SELECT ticket, order_id, show, label, legs, issued_at, voided_at, scanned_at, blocked_at \
             FROM tickets ORDER BY position"
        }
    };
    tx.query_each(sql, &[], |row| {
        sink(&DumpRecord::Ticket {
            ticket: row.get(0)?,
            order: row.get(1)?,
            show: row.get(2)?,
            label: row.get(3)?,
            legs: from_json(text(&row, 4)?)?,
            issued_ms: row.get(5)?,
            void_ms: row.get(6)?,
            scanned_ms: row.get(7)?,
            blocked_ms: row.get(8)?,
        })
    })
    .await
}

async fn dump_waiters(tx: &SqlTransaction, sink: &mut RecordSink<'_>) -> Result<()> {
    let sql = format!("SELECT {WAITER_COLUMNS} FROM waiters ORDER BY show COLLATE \"C\", number");
    tx.query_each(&sql, &[], |row| {
        let waiter = waitlist::read_waiter(&row)?;
        sink(&DumpRecord::Waiter(WaiterRecord::from_waiter(&waiter)))
    })
    .await
}

async fn dump_effects(tx: &SqlTransaction, sink: &mut RecordSink<'_>) -> Result<()> {
    let sql = "SELECT order_id, kind, due_at, done_at FROM effects ORDER BY effect";
    tx.query_each(sql, &[], |row| {
        sink(&DumpRecord::Effect {
            order: row.get(0)?,
            what: row.get(1)?,
            due_ms: row.get(2)?,
            done_ms: row.get(3)?,
        })
    })
    .await
}

async fn dump_findings(tx: &SqlTransaction, sink: &mut RecordSink<'_>) -> Result<()> {
    let sql = "SELECT finding, kind, order_id, amount, settled_at FROM money_findings \
         ORDER BY first_seen, finding COLLATE \"C\"";
    tx.query_each(sql, &[], |row| {
        sink(&DumpRecord::MoneyFinding {
            finding: row.get(0)?,
            what: row.get(1)?,
            order: row.get(2)?,
            amount: row.get(3)?,
            settled_ms: row.get(4)?,
        })
    })
    .await
}

async fn pending_record(tx: &SqlTransaction) -> Result<DumpRecord> {
    let sql = "SELECT (SELECT COUNT(*) FROM seat_outbox s \
         LEFT JOIN seat_marks m ON m.show = s.show \
         WHERE s.number IS NULL OR s.number > m.delivered), \
         (SELECT COUNT(*) FROM effects WHERE done_at IS NULL) \
         + (SELECT COUNT(*) FROM refunds WHERE done_at IS NULL), \
         (SELECT COUNT(*) FROM provider_events WHERE settled_at IS NULL)";
    let row = tx.query_one(sql, &[]).await?;
    Ok(DumpRecord::Pending {
        // If the ledger is a file, the store is in the memory of the process that writes the file.
        // So a dump does not know which rows the store still lacks.
        seat_rows: tx.is_postgres().then(|| count(&row, 0)).transpose()?,
        effects: count(&row, 1)?,
        events: count(&row, 2)?,
    })
}
