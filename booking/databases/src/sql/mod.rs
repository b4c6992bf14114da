//! What both databases share: values, rows, migration steps, and the translation of statements.
//!
//! Statements are written for PostgreSQL. For SQLite each statement is translated once, when it is
//! prepared.

/// SQL for the database's time in milliseconds since the epoch. Unlike `now()`, it moves on within
/// a transaction.
macro_rules! now_ms {
    () => {
        "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    };
}
pub(crate) use now_ms;

mod column;
mod migration;
mod row;
mod sqlite_row;
mod translate;
mod value;

use std::pin::Pin;

pub use column::{ColumnValue, FromColumn};
pub use migration::Migration;
pub use row::SqlRow;
pub(crate) use translate::for_sqlite;
pub use value::{SqlValue, ToSqlValue};

/// The boxed future of a transaction or a reading of either database.
pub type SqlFuture<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// The values of a statement. The first one is `$1`.
pub type SqlValues<'a> = &'a [&'a (dyn ToSqlValue + Sync)];

/// The SQL dialect of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlDialect {
    /// One file with one writer. Nothing waits for a lock, and a statement costs no round trip.
    Sqlite,
    /// A server with many writers. Each statement costs a round trip.
    Postgres,
}
