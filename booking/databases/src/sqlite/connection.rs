//! One connection to the file, and the statements that were translated for it.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{CachedStatement, Connection};

use crate::LedgerError;
use crate::sql::{SqlRow, SqlValues, for_sqlite};

/// A connection in a lock. The compiler needs the lock because a transaction's future could in
/// principle move to another thread. In practice the lock is always free.
pub(crate) struct SqliteConnection(Mutex<CachingConnection>);

struct CachingConnection {
    connection: Connection,
    /// The translated statements, by their original text.
    translated: HashMap<String, Arc<str>>,
    /// How many orders without a provider the open transaction has counted so far.
    orders_without_provider: u64,
}

impl CachingConnection {
    fn prepare(&mut self, sql: &str) -> Result<CachedStatement<'_>, LedgerError> {
        let known = self.translated.get(sql).map(Arc::clone);
        let translated = known.unwrap_or_else(|| {
            let translated: Arc<str> = for_sqlite(sql).into();
            self.translated
                .insert(sql.to_owned(), Arc::clone(&translated));
            translated
        });
        Ok(self.connection.prepare_cached(&translated)?)
    }
}

/// Binds as many values as the translated statement has placeholders. Any further values are left
/// out, because only PostgreSQL's statement uses them.
fn bind_values(
    statement: &mut CachedStatement<'_>,
    values: SqlValues<'_>,
) -> Result<(), LedgerError> {
    let places = statement.parameter_count();
    if places > values.len() {
        return Err(LedgerError::Sql(format!(
            "{} values for {places} placeholders",
            values.len()
        )));
    }
    for (at, value) in (1..=places).zip(values) {
        statement.raw_bind_parameter(at, value.to_sql_value().for_sqlite()?)?;
    }
    Ok(())
}

impl SqliteConnection {
    pub(crate) fn new(connection: Connection) -> Arc<Self> {
        Arc::new(Self(Mutex::new(CachingConnection {
            connection,
            translated: HashMap::new(),
            orders_without_provider: 0,
        })))
    }

    /// Runs `work` on the connection itself.
    pub(crate) fn with_connection<T>(&self, work: impl FnOnce(&Connection) -> T) -> T {
        work(&self.0.lock().connection)
    }

    /// Returns whether a transaction is open.
    pub(crate) fn has_transaction(&self) -> bool {
        !self.with_connection(Connection::is_autocommit)
    }

    /// Returns how many orders without a provider the open transaction has counted so far.
    pub(crate) fn orders_without_provider(&self) -> u64 {
        self.0.lock().orders_without_provider
    }

    /// Sets how many orders without a provider the open transaction has counted so far.
    pub(crate) fn set_orders_without_provider(&self, orders: u64) {
        self.0.lock().orders_without_provider = orders;
    }

    /// Returns the connection itself. Returns `None` if another handle still uses it.
    pub(crate) fn into_connection(self: Arc<Self>) -> Option<Connection> {
        let inner = Arc::into_inner(self)?.0.into_inner();
        Some(inner.connection)
    }

    /// Passes the rows of a query to `each`, until `each` returns `false`.
    pub(crate) fn query_each(
        &self,
        sql: &str,
        values: SqlValues<'_>,
        mut each: impl FnMut(SqlRow) -> bool,
    ) -> Result<(), LedgerError> {
        let mut inner = self.0.lock();
        let mut statement = inner.prepare(sql)?;
        bind_values(&mut statement, values)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            if !each(SqlRow::of_sqlite(row)?) {
                break;
            }
        }
        Ok(())
    }

    pub(crate) fn execute(&self, sql: &str, values: SqlValues<'_>) -> Result<u64, LedgerError> {
        let mut inner = self.0.lock();
        let mut statement = inner.prepare(sql)?;
        bind_values(&mut statement, values)?;
        Ok(statement.raw_execute()? as u64)
    }

    pub(crate) fn batch(&self, sql: &str) -> Result<(), LedgerError> {
        self.with_connection(|connection| connection.execute_batch(sql))?;
        Ok(())
    }
}
