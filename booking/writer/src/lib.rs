#![doc = include_str!("../README.md")]

mod error;
mod finding;
mod installation;
mod postgres;
mod sqlite;

pub use error::LedgerError;
pub use installation::Installation;
pub use postgres::{Database, Tx};
pub use rusqlite;
pub use sqlite::Writer;
pub use tokio_postgres;
