#![doc = include_str!("../README.md")]

mod error;
mod finding;
mod installation;
mod own_tables;
mod postgres;
mod sql;
mod sqlite;

pub use error::LedgerError;
pub use installation::Installation;
pub use postgres::{Database, Tx};
pub use rusqlite;
pub use sql::{
    ColumnValue, FromColumn, Migration, NamedLock, SqlDialect, SqlFuture, SqlRow, SqlTransaction,
    SqlValue, SqlValues, ToSqlValue,
};
pub use sqlite::{Writer, snapshot_of_file};
pub use tokio_postgres;
