//! One way to say a transaction that both databases carry out.
//!
//! A transaction is an `async fn` over [`SqlTransaction`]. Its statements are written for
//! PostgreSQL; for SQLite they are translated when they are prepared, once. What only one of the
//! databases can do in one statement is told apart by [`SqlTransaction::dialect`].
//!
//! **Architecture invariant:** the futures of a SQLite transaction are always ready. One that waits
//! for anything else is rolled back and answered as an error.

/// The database's time in milliseconds since the epoch, within a statement. Unlike `now()` it goes
/// on within a transaction.
macro_rules! now_ms {
    () => {
        "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    };
}
pub(crate) use now_ms;

mod locks;
mod migration;
mod row;
mod transaction;
mod translate;
mod value;

use std::pin::Pin;

pub use locks::NamedLock;
pub use migration::Migration;
pub(crate) use migration::apply;
pub use row::{ColumnValue, FromColumn, SqlRow};
pub use transaction::SqlTransaction;
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
