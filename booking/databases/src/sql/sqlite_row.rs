//! A row that was copied out of a SQLite statement. All its texts share one buffer, and all its
//! byte values share another one. So a row costs at most three allocations, however many columns it
//! has.

use std::ops::Range;

use rusqlite::types::ValueRef;

use super::column::ColumnValue;
use crate::LedgerError;

/// The columns of one row.
#[derive(Debug)]
pub(super) struct CopiedSqliteRow {
    columns: Vec<CopiedColumn>,
    texts: String,
    bytes: Vec<u8>,
}

/// One column. A range is a part of the row's texts or bytes.
#[derive(Debug)]
enum CopiedColumn {
    Null,
    Number(i64),
    Text(Range<usize>),
    Bytes(Range<usize>),
    /// A number with a fraction. No table of this project has one.
    Real,
}

impl CopiedSqliteRow {
    /// Copies the current row of a statement.
    ///
    /// # Errors
    /// Returns an error where a text is not UTF-8.
    pub(super) fn copy(row: &rusqlite::Row<'_>) -> Result<Self, LedgerError> {
        let count = row.as_ref().column_count();
        let (mut of_texts, mut of_bytes) = (0, 0);
        for at in 0..count {
            match row.get_ref(at)? {
                ValueRef::Text(text) => of_texts += text.len(),
                ValueRef::Blob(bytes) => of_bytes += bytes.len(),
                ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => {}
            }
        }
        let mut copied = Self {
            columns: Vec::with_capacity(count),
            texts: String::with_capacity(of_texts),
            bytes: Vec::with_capacity(of_bytes),
        };
        for at in 0..count {
            let column = copied.copy_column(row.get_ref(at)?, at)?;
            copied.columns.push(column);
        }
        Ok(copied)
    }

    fn copy_column(
        &mut self,
        value: ValueRef<'_>,
        index: usize,
    ) -> Result<CopiedColumn, LedgerError> {
        Ok(match value {
            ValueRef::Null => CopiedColumn::Null,
            ValueRef::Integer(number) => CopiedColumn::Number(number),
            ValueRef::Real(_) => CopiedColumn::Real,
            ValueRef::Text(text) => {
                let text = std::str::from_utf8(text).map_err(|error| {
                    LedgerError::Corrupt(format!("the text of column {index} is no UTF-8: {error}"))
                })?;
                let from = self.texts.len();
                self.texts.push_str(text);
                CopiedColumn::Text(from..self.texts.len())
            }
            ValueRef::Blob(bytes) => {
                let from = self.bytes.len();
                self.bytes.extend_from_slice(bytes);
                CopiedColumn::Bytes(from..self.bytes.len())
            }
        })
    }

    /// Returns the column at a position. Returns `None` if there is no such column, or if it holds
    /// a number with a fraction.
    pub(super) fn column(&self, index: usize) -> Option<ColumnValue<'_>> {
        Some(match self.columns.get(index)? {
            CopiedColumn::Null => ColumnValue::Null,
            CopiedColumn::Number(number) => ColumnValue::Number(*number),
            CopiedColumn::Text(range) => ColumnValue::Text(&self.texts[range.clone()]),
            CopiedColumn::Bytes(range) => ColumnValue::Bytes(&self.bytes[range.clone()]),
            CopiedColumn::Real => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(select: &str) -> Result<CopiedSqliteRow, LedgerError> {
        let connection = rusqlite::Connection::open_in_memory().expect("opened");
        let mut statement = connection.prepare(select).expect("prepared");
        let mut rows = statement.raw_query();
        CopiedSqliteRow::copy(rows.next().expect("read").expect("a row"))
    }

    #[test]
    fn columns_of_every_type_are_read_in_their_order() {
        let row = copied("SELECT 'Zürich', x'0102', NULL, 7, '', x'', 'B-2', x'03'").unwrap();
        let expected = [
            ColumnValue::Text("Zürich"),
            ColumnValue::Bytes(&[1, 2]),
            ColumnValue::Null,
            ColumnValue::Number(7),
            ColumnValue::Text(""),
            ColumnValue::Bytes(&[]),
            ColumnValue::Text("B-2"),
            ColumnValue::Bytes(&[3]),
        ];
        for (at, expected) in expected.into_iter().enumerate() {
            assert_eq!(row.column(at), Some(expected), "column {at}");
        }
        assert_eq!(row.column(8), None);
    }

    #[test]
    fn fractions_and_text_that_is_no_utf_8_are_refused() {
        assert_eq!(copied("SELECT 0.5").unwrap().column(0), None);
        let refused = copied("SELECT CAST(x'ff' AS TEXT)").unwrap_err();
        assert!(matches!(refused, LedgerError::Corrupt(_)), "{refused}");
    }
}
