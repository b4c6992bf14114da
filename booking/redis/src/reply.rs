//! The replies of Redis, and functions that read them. With these, stores need no types of the
//! `redis` package.

use redis::Value;

use crate::RedisCallError;

/// A reply of Redis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedisReply {
    /// No value.
    Nil,
    /// A number.
    Int(i64),
    /// Bytes, or the text of a status reply.
    Bytes(Vec<u8>),
    /// Several replies. A map becomes a list in which each key is followed by its value.
    List(Vec<RedisReply>),
}

impl RedisReply {
    pub(crate) fn from_value(value: Value) -> Result<Self, RedisCallError> {
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
            other => return Err(RedisCallError::Wrong(format!("Redis answered {other:?}"))),
        })
    }

    fn list_of(values: impl IntoIterator<Item = Value>) -> Result<Self, RedisCallError> {
        let replies: Result<Vec<_>, _> = values.into_iter().map(Self::from_value).collect();
        replies.map(Self::List)
    }

    /// Returns whether the reply has no value.
    #[must_use]
    pub fn is_nil(&self) -> bool {
        *self == Self::Nil
    }

    /// Returns the reply as a number. A text of digits is also accepted.
    ///
    /// # Errors
    /// `Wrong` where the reply is not a number.
    pub fn as_integer(&self) -> Result<i64, RedisCallError> {
        match self {
            Self::Int(number) => Ok(*number),
            Self::Bytes(bytes) => std::str::from_utf8(bytes)
                .ok()
                .and_then(|text| text.parse().ok())
                .ok_or_else(|| self.unexpected_reply("a number")),
            Self::Nil | Self::List(_) => Err(self.unexpected_reply("a number")),
        }
    }

    /// Returns the reply as a number that is not negative.
    ///
    /// # Errors
    /// `Wrong` where the reply is not such a number.
    pub fn as_count(&self) -> Result<u64, RedisCallError> {
        u64::try_from(self.as_integer()?).map_err(|_| self.unexpected_reply("a count"))
    }

    /// Returns the reply as bytes.
    ///
    /// # Errors
    /// `Wrong` where the reply is not bytes.
    pub fn as_bytes(&self) -> Result<&[u8], RedisCallError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(self.unexpected_reply("bytes")),
        }
    }

    /// Returns the reply as text.
    ///
    /// # Errors
    /// `Wrong` where the reply is not text.
    pub fn as_text(&self) -> Result<&str, RedisCallError> {
        std::str::from_utf8(self.as_bytes()?).map_err(|_| self.unexpected_reply("text"))
    }

    /// Returns the replies of a list.
    ///
    /// # Errors
    /// `Wrong` where the reply is not a list.
    pub fn as_list(&self) -> Result<&[RedisReply], RedisCallError> {
        match self {
            Self::List(replies) => Ok(replies),
            _ => Err(self.unexpected_reply("a list")),
        }
    }

    /// Returns the reply at an index of a list.
    ///
    /// # Errors
    /// `Wrong` where the list has no such index.
    pub fn item_at(&self, index: usize) -> Result<&RedisReply, RedisCallError> {
        self.as_list()?.get(index).ok_or_else(|| {
            RedisCallError::Wrong(format!("Redis answered fewer than {} parts", index + 1))
        })
    }

    fn unexpected_reply(&self, expected: &str) -> RedisCallError {
        let shape = match self {
            Self::Nil => "nothing",
            Self::Int(_) => "a number",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "a list",
        };
        RedisCallError::Wrong(format!("Redis answered {shape} instead of {expected}"))
    }
}
