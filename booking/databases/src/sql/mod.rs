//! What both databases say alike: values, rows, the steps by which tables come to be, and the
//! translation of statements.
//!
//! Statements are written for PostgreSQL; for SQLite they are translated when they are prepared,
//! once.

/// The database's time in milliseconds since the epoch, within a statement. Unlike `now()` it goes
/// on within a transaction.
macro_rules! now_ms {
    () => {
        "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    };
}
pub(crate) use now_ms;

mod migration;
mod row;
mod translate;
mod value;

use std::pin::Pin;

pub use migration::Migration;
pub use row::{ColumnValue, FromColumn, SqlRow};
pub(crate) use translate::for_sqlite;
pub use value::{SqlValue, ToSqlValue};

/// What a transaction or a reading of either database will come to.
pub type SqlFuture<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// The values of a statement: the first one is `$1`.
pub type SqlValues<'a> = &'a [&'a (dyn ToSqlValue + Sync)];

/// Whose SQL the database at hand reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlDialect {
    /// One file and one writer: locks are never waited for, and statements cost no round trip.
    Sqlite,
    /// A server and many writers: each statement costs a round trip.
    Postgres,
}
