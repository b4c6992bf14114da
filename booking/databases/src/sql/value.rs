//! The values that statements take, in a form that both databases can take.

use std::error::Error;

use rusqlite::types::ToSqlOutput;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, Kind, ToSql, Type};

use crate::LedgerError;

/// One value for a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SqlValue<'a> {
    /// SQL's `NULL`.
    Null,
    /// A boolean, which SQLite stores as 1 or 0.
    Flag(bool),
    /// A whole number.
    Number(i64),
    /// Text, or a JSON document where the column holds one.
    Text(&'a str),
    /// Binary data.
    Bytes(&'a [u8]),
    /// An array of PostgreSQL. SQLite gets a JSON list instead, with bytes as hexadecimal digits.
    List(Vec<SqlValue<'a>>),
}

/// A type that can be a value of a statement.
pub trait ToSqlValue {
    /// Returns the value in the form that both databases can take.
    fn to_sql_value(&self) -> SqlValue<'_>;
}

impl<T: ToSqlValue + ?Sized> ToSqlValue for &T {
    fn to_sql_value(&self) -> SqlValue<'_> {
        (**self).to_sql_value()
    }
}

impl<T: ToSqlValue> ToSqlValue for Option<T> {
    fn to_sql_value(&self) -> SqlValue<'_> {
        self.as_ref()
            .map_or(SqlValue::Null, ToSqlValue::to_sql_value)
    }
}

impl ToSqlValue for bool {
    fn to_sql_value(&self) -> SqlValue<'_> {
        SqlValue::Flag(*self)
    }
}

/// Converts whole numbers. A number above `i64::MAX` is stored as `i64::MAX`.
macro_rules! whole_numbers {
    ($($number:ty),*) => {
        $(impl ToSqlValue for $number {
            fn to_sql_value(&self) -> SqlValue<'_> {
                SqlValue::Number(i64::try_from(*self).unwrap_or(i64::MAX))
            }
        })*
    };
}

whole_numbers!(u8, u16, u32, u64, usize, i32, i64);

impl ToSqlValue for str {
    fn to_sql_value(&self) -> SqlValue<'_> {
        SqlValue::Text(self)
    }
}

impl ToSqlValue for String {
    fn to_sql_value(&self) -> SqlValue<'_> {
        SqlValue::Text(self)
    }
}

impl ToSqlValue for [u8] {
    fn to_sql_value(&self) -> SqlValue<'_> {
        SqlValue::Bytes(self)
    }
}

impl ToSqlValue for Vec<u8> {
    fn to_sql_value(&self) -> SqlValue<'_> {
        SqlValue::Bytes(self)
    }
}

impl<const LENGTH: usize> ToSqlValue for [u8; LENGTH] {
    fn to_sql_value(&self) -> SqlValue<'_> {
        SqlValue::Bytes(self)
    }
}

/// Converts lists. The member types are listed one by one. `u8` is not among them, because bytes
/// must not become a list of numbers.
macro_rules! lists {
    ($($member:ty),*) => {
        $(impl ToSqlValue for [$member] {
            fn to_sql_value(&self) -> SqlValue<'_> {
                SqlValue::List(self.iter().map(ToSqlValue::to_sql_value).collect())
            }
        }

        impl ToSqlValue for Vec<$member> {
            fn to_sql_value(&self) -> SqlValue<'_> {
                self.as_slice().to_sql_value()
            }
        })*
    };
}

lists!(
    bool,
    u64,
    i64,
    Option<i64>,
    String,
    &str,
    &[u8],
    Option<&[u8]>,
    Vec<u8>,
    [u8; 32],
    Option<[u8; 32]>
);

impl ToSql for SqlValue<'_> {
    fn to_sql(
        &self,
        column: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Flag(flag) => flag.to_sql(column, out),
            Self::Number(number) => match *column {
                Type::INT4 => i32::try_from(*number)?.to_sql(column, out),
                Type::INT2 => i16::try_from(*number)?.to_sql(column, out),
                _ => number.to_sql(column, out),
            },
            Self::Text(text) if *column == Type::JSONB => {
                // JSONB's binary form is a byte with the version, which is 1, and then the text.
                out.extend_from_slice(&[1]);
                text.to_sql(&Type::TEXT, out)
            }
            Self::Text(text) => text.to_sql(column, out),
            Self::Bytes(bytes) => bytes.to_sql(column, out),
            Self::List(members) => members.to_sql(column, out),
        }
    }

    fn accepts(_column: &Type) -> bool {
        // A value that does not fit its column is refused later, by `to_sql_checked`.
        true
    }

    fn to_sql_checked(
        &self,
        column: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        if self.fits_column(column) {
            self.to_sql(column, out)
        } else {
            // The value itself may be personal data, so it is not shown.
            Err(format!("a value does not fit a column of the type {column}").into())
        }
    }
}

impl SqlValue<'_> {
    fn fits_column(&self, column: &Type) -> bool {
        match self {
            Self::Null => true,
            Self::Flag(_) => *column == Type::BOOL,
            Self::Number(_) => matches!(*column, Type::INT8 | Type::INT4 | Type::INT2),
            Self::Text(_) => {
                matches!(
                    *column,
                    Type::TEXT | Type::VARCHAR | Type::JSONB | Type::JSON
                )
            }
            Self::Bytes(_) => *column == Type::BYTEA,
            Self::List(members) => match column.kind() {
                Kind::Array(member) => members.iter().all(|value| value.fits_column(member)),
                _ => false,
            },
        }
    }

    /// Returns the value in the form that SQLite takes.
    ///
    /// # Errors
    /// Returns [`LedgerError::Sql`] for a list within a list, which cannot be sent to SQLite.
    pub(crate) fn for_sqlite(&self) -> Result<ToSqlOutput<'_>, LedgerError> {
        use rusqlite::types::{Value, ValueRef};
        Ok(match self {
            Self::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Self::Flag(flag) => ToSqlOutput::Borrowed(ValueRef::Integer(i64::from(*flag))),
            Self::Number(number) => ToSqlOutput::Borrowed(ValueRef::Integer(*number)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::Bytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
            Self::List(members) => {
                let members: Vec<serde_json::Value> = members
                    .iter()
                    .map(Self::for_json)
                    .collect::<Result<_, _>>()?;
                ToSqlOutput::Owned(Value::Text(serde_json::Value::from(members).to_string()))
            }
        })
    }

    fn for_json(&self) -> Result<serde_json::Value, LedgerError> {
        Ok(match self {
            Self::Null => serde_json::Value::Null,
            Self::Flag(flag) => i64::from(*flag).into(),
            Self::Number(number) => (*number).into(),
            Self::Text(text) => (*text).into(),
            Self::Bytes(bytes) => hex::encode(bytes).into(),
            Self::List(_) => return Err(LedgerError::Sql("a list within a list".to_owned())),
        })
    }
}
