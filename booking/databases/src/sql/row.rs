//! The rows that statements return.

use super::column::{ColumnValue, FromColumn};
use super::sqlite_row::CopiedSqliteRow;
use crate::LedgerError;

/// A row from either database.
#[derive(Debug)]
pub struct SqlRow(SqlRowColumns);

#[derive(Debug)]
enum SqlRowColumns {
    Sqlite(CopiedSqliteRow),
    Postgres(tokio_postgres::Row),
}

impl SqlRow {
    /// Copies a row of SQLite out of its statement.
    pub(crate) fn of_sqlite(row: &rusqlite::Row<'_>) -> Result<Self, LedgerError> {
        CopiedSqliteRow::copy(row).map(|row| Self(SqlRowColumns::Sqlite(row)))
    }

    pub(crate) fn of_postgres(row: tokio_postgres::Row) -> Self {
        Self(SqlRowColumns::Postgres(row))
    }

    /// Returns the column at a position, counted from 0.
    ///
    /// # Errors
    /// Returns an error where there is no such column, or where its value does not fit `T`.
    pub fn get<'a, T: FromColumn<'a>>(&'a self, index: usize) -> Result<T, LedgerError> {
        let value = self.column(index)?;
        T::from_column(value).ok_or_else(|| {
            LedgerError::Corrupt(format!(
                "column {index} holds {}, which is no {}",
                value.error_description(),
                std::any::type_name::<T>()
            ))
        })
    }

    fn column(&self, index: usize) -> Result<ColumnValue<'_>, LedgerError> {
        match &self.0 {
            SqlRowColumns::Postgres(row) => Ok(row.try_get(index)?),
            SqlRowColumns::Sqlite(row) => row
                .column(index)
                .ok_or_else(|| LedgerError::Corrupt(format!("column {index} cannot be read"))),
        }
    }
}
