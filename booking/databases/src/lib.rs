#![doc = include_str!("../README.md")]

mod counter_file;
mod error;
mod file_id;
mod installation;
mod own_tables;
mod postgres;
mod sql;
mod sqlite;
mod transaction;
mod write_check;

pub use counter_file::{CountedOutside, CounterFile, CounterFileError, CounterRecord};
pub use error::LedgerError;
pub use installation::{Installation, LedgerCounter, LedgerSetBack};
pub use postgres::{DatabaseOpenError, PostgresDatabase, PostgresTransaction};
pub use rusqlite;
pub use sql::{
    ColumnValue, FromColumn, Migration, SqlDialect, SqlFuture, SqlRow, SqlValue, SqlValues,
    ToSqlValue,
};
pub use sqlite::{
    LedgerCopy, SqliteDatabase, check_ledger_file, copy_ledger_file, secret_check_of_file,
};
pub use tokio_postgres;
pub use transaction::{NamedLock, SqlTransaction, snapshot_of_file};
