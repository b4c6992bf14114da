//! What Redis answers, and small readers of it, so that stores need no types of the package.

use redis::Value;

use crate::Error;

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedisReply {
    /// Nothing is there.
    Nil,
    /// A number.
    Int(i64),
    /// Bytes, also those of a status.
    Bytes(Vec<u8>),
    /// Several answers; a map is its keys and values in turn.
    List(Vec<RedisReply>),
}

impl RedisReply {
    pub(crate) fn of(value: Value) -> Result<Self, Error> {
        Ok(match value {
            Value::Nil => Self::Nil,
            Value::Int(number) => Self::Int(number),
            Value::Boolean(yes) => Self::Int(yes.into()),
            Value::BulkString(bytes) => Self::Bytes(bytes),
            Value::SimpleString(text) | Value::VerbatimString { text, .. } => {
                Self::Bytes(text.into_bytes())
            }
            Value::Okay => Self::Bytes(b"OK".to_vec()),
            Value::Double(number) => Self::Bytes(number.to_string().into_bytes()),
            Value::Array(values) | Value::Set(values) => Self::list_of(values)?,
            Value::Map(pairs) => {
                Self::list_of(pairs.into_iter().flat_map(|(key, value)| [key, value]))?
            }
            Value::ServerError(error) => {
                return Err(redis::RedisError::from(error).into());
            }
            other => return Err(Error::Wrong(format!("Redis answered {other:?}"))),
        })
    }

    fn list_of(values: impl IntoIterator<Item = Value>) -> Result<Self, Error> {
        let replies: Result<Vec<_>, _> = values.into_iter().map(Self::of).collect();
        replies.map(Self::List)
    }

    /// Whether nothing is there.
    #[must_use]
    pub fn is_nil(&self) -> bool {
        *self == Self::Nil
    }

    /// A number, also one written in digits.
    ///
    /// # Errors
    /// `Wrong` where it is none.
    pub fn int(&self) -> Result<i64, Error> {
        match self {
            Self::Int(number) => Ok(*number),
            Self::Bytes(bytes) => std::str::from_utf8(bytes)
                .ok()
                .and_then(|text| text.parse().ok())
                .ok_or_else(|| self.not("a number")),
            Self::Nil | Self::List(_) => Err(self.not("a number")),
        }
    }

    /// A number that is not negative.
    ///
    /// # Errors
    /// `Wrong` where it is none.
    pub fn count(&self) -> Result<u64, Error> {
        u64::try_from(self.int()?).map_err(|_| self.not("a count"))
    }

    /// Bytes.
    ///
    /// # Errors
    /// `Wrong` where they are none.
    pub fn bytes(&self) -> Result<&[u8], Error> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(self.not("bytes")),
        }
    }

    /// Text.
    ///
    /// # Errors
    /// `Wrong` where it is none.
    pub fn text(&self) -> Result<&str, Error> {
        std::str::from_utf8(self.bytes()?).map_err(|_| self.not("text"))
    }

    /// Several answers.
    ///
    /// # Errors
    /// `Wrong` where it is one.
    pub fn list(&self) -> Result<&[RedisReply], Error> {
        match self {
            Self::List(replies) => Ok(replies),
            _ => Err(self.not("a list")),
        }
    }

    /// The answer at an index of a list.
    ///
    /// # Errors
    /// `Wrong` where there is none.
    pub fn at(&self, index: usize) -> Result<&RedisReply, Error> {
        self.list()?
            .get(index)
            .ok_or_else(|| Error::Wrong(format!("Redis answered fewer than {} parts", index + 1)))
    }

    fn not(&self, what: &str) -> Error {
        let shape = match self {
            Self::Nil => "nothing",
            Self::Int(_) => "a number",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "a list",
        };
        Error::Wrong(format!("Redis answered {shape} instead of {what}"))
    }
}
