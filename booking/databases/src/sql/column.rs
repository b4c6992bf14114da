//! The columns of a row, in a form that both databases can fill.

use std::error::Error;

use tokio_postgres::types::{FromSql, Type};

/// The value of one column of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnValue<'a> {
    /// SQL's `NULL`.
    Null,
    /// A boolean of PostgreSQL. SQLite returns a number instead.
    Flag(bool),
    /// A whole number.
    Number(i64),
    /// Text, or a JSON document.
    Text(&'a str),
    /// Binary data.
    Bytes(&'a [u8]),
}

impl ColumnValue<'_> {
    /// Describes the value for an error message. Text and bytes may be secret or personal, so only
    /// their length is shown.
    pub(super) fn error_description(&self) -> String {
        match self {
            Self::Null => "nothing".to_owned(),
            Self::Flag(flag) => flag.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => format!("a text of {} bytes", text.len()),
            Self::Bytes(bytes) => format!("{} bytes", bytes.len()),
        }
    }
}

/// A type that a column can be read as.
pub trait FromColumn<'a>: Sized {
    /// Returns the value, or `None` where the column's value does not fit this type.
    fn from_column(value: ColumnValue<'a>) -> Option<Self>;
}

impl FromColumn<'_> for bool {
    fn from_column(value: ColumnValue<'_>) -> Option<Self> {
        match value {
            ColumnValue::Flag(flag) => Some(flag),
            ColumnValue::Number(number) => Some(number != 0),
            _ => None,
        }
    }
}

/// Reads whole numbers. A number that the wanted type cannot hold becomes `None`.
macro_rules! whole_numbers {
    ($($number:ty),*) => {
        $(impl FromColumn<'_> for $number {
            fn from_column(value: ColumnValue<'_>) -> Option<Self> {
                match value {
                    ColumnValue::Number(number) => Self::try_from(number).ok(),
                    _ => None,
                }
            }
        })*
    };
}

whole_numbers!(u8, u16, u32, u64, usize, i32, i64);

impl<'a> FromColumn<'a> for &'a str {
    fn from_column(value: ColumnValue<'a>) -> Option<Self> {
        match value {
            ColumnValue::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl FromColumn<'_> for String {
    fn from_column(value: ColumnValue<'_>) -> Option<Self> {
        <&str>::from_column(value).map(str::to_owned)
    }
}

impl<'a> FromColumn<'a> for &'a [u8] {
    fn from_column(value: ColumnValue<'a>) -> Option<Self> {
        match value {
            ColumnValue::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// Reads bytes of one fixed length. Bytes of another length become `None`.
impl<const LENGTH: usize> FromColumn<'_> for [u8; LENGTH] {
    fn from_column(value: ColumnValue<'_>) -> Option<Self> {
        <&[u8]>::from_column(value)?.try_into().ok()
    }
}

impl FromColumn<'_> for Vec<u8> {
    fn from_column(value: ColumnValue<'_>) -> Option<Self> {
        <&[u8]>::from_column(value).map(<[u8]>::to_vec)
    }
}

impl<'a, T: FromColumn<'a>> FromColumn<'a> for Option<T> {
    fn from_column(value: ColumnValue<'a>) -> Option<Self> {
        match value {
            ColumnValue::Null => Some(None),
            value => T::from_column(value).map(Some),
        }
    }
}

impl<'a> FromSql<'a> for ColumnValue<'a> {
    fn from_sql(column: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(match *column {
            Type::BOOL => Self::Flag(bool::from_sql(column, raw)?),
            Type::INT8 => Self::Number(i64::from_sql(column, raw)?),
            Type::INT4 => Self::Number(i32::from_sql(column, raw)?.into()),
            Type::INT2 => Self::Number(i16::from_sql(column, raw)?.into()),
            Type::TEXT | Type::VARCHAR | Type::NAME => Self::Text(<&str>::from_sql(column, raw)?),
            Type::BYTEA => Self::Bytes(raw),
            ref other => return Err(format!("no form is known for the type {other}").into()),
        })
    }

    fn from_sql_null(_column: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(_column: &Type) -> bool {
        // A column of an unknown type is refused later, when `from_sql` reads its value.
        true
    }
}
