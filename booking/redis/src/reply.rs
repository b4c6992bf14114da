//! The replies of Redis, and functions that read them. With these, stores need no types of the
//! `redis` package. A store reads a value by its name, and never by its place in a list.

use redis::Value;

use crate::RedisCallError;

/// A reply of Redis. What a list has at a certain place can be read only in this file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedisReply(ReplyValue);

#[derive(Debug, Clone, PartialEq, Eq)]
enum ReplyValue {
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
        let value = match value {
            Value::Nil => ReplyValue::Nil,
            Value::Int(number) => ReplyValue::Int(number),
            Value::Boolean(yes) => ReplyValue::Int(yes.into()),
            Value::BulkString(bytes) => ReplyValue::Bytes(bytes),
            Value::SimpleString(text) | Value::VerbatimString { text, .. } => {
                ReplyValue::Bytes(text.into_bytes())
            }
            Value::Okay => ReplyValue::Bytes(b"OK".to_vec()),
            Value::Double(number) => ReplyValue::Bytes(number.to_string().into_bytes()),
            Value::Array(values) | Value::Set(values) => Self::list_of(values)?,
            Value::Map(pairs) => {
                Self::list_of(pairs.into_iter().flat_map(|(key, value)| [key, value]))?
            }
            Value::ServerError(error) => {
                return Err(redis::RedisError::from(error).into());
            }
            other => return Err(RedisCallError::Wrong(format!("Redis answered {other:?}"))),
        };
        Ok(Self(value))
    }

    fn list_of(values: impl IntoIterator<Item = Value>) -> Result<ReplyValue, RedisCallError> {
        let replies: Result<Vec<_>, _> = values.into_iter().map(Self::from_value).collect();
        replies.map(ReplyValue::List)
    }

    /// Returns the reply, or `None` if it has no value.
    #[must_use]
    pub fn present(&self) -> Option<&Self> {
        (self.0 != ReplyValue::Nil).then_some(self)
    }

    /// Returns the value of a field of an answer with names. Such are the answers that scripts make
    /// with `named`, hashes (`HGETALL`), and the fields of a stream's entry.
    ///
    /// # Errors
    /// `Wrong` where the reply has no names, or not this one. The error names the field.
    pub fn field(&self, name: impl AsRef<[u8]>) -> Result<&RedisReply, RedisCallError> {
        let name = name.as_ref();
        let mut pairs = self.pairs()?;
        let found =
            pairs.find(|(key, _)| matches!(&key.0, ReplyValue::Bytes(bytes) if bytes == name));
        found.map(|(_, value)| value).ok_or_else(|| {
            let name = String::from_utf8_lossy(name);
            RedisCallError::Wrong(format!("Redis answered without \"{name}\""))
        })
    }

    /// Returns the names and values of an answer with names.
    ///
    /// # Errors
    /// `Wrong` where the reply is not a list of pairs.
    pub fn pairs(
        &self,
    ) -> Result<impl Iterator<Item = (&RedisReply, &RedisReply)>, RedisCallError> {
        let (pairs, rest) = self.as_list()?.as_chunks();
        if !rest.is_empty() {
            return Err(self.unexpected_reply("names with values"));
        }
        Ok(pairs.iter().map(|[name, value]| (name, value)))
    }

    /// Reads a list of like items, each with `read`.
    ///
    /// # Errors
    /// `Wrong` where the reply is not a list. Otherwise the first error of `read`.
    pub fn read_list<'a, T>(
        &'a self,
        read: impl FnMut(&'a RedisReply) -> Result<T, RedisCallError>,
    ) -> Result<Vec<T>, RedisCallError> {
        self.as_list()?.iter().map(read).collect()
    }

    /// Reads the entries of a stream, each with `read`, which gets the entry's id and its fields.
    ///
    /// # Errors
    /// `Wrong` where the reply is not a list of entries. Otherwise the first error of `read`.
    pub fn read_stream<'a, T>(
        &'a self,
        mut read: impl FnMut(&'a str, &'a RedisReply) -> Result<T, RedisCallError>,
    ) -> Result<Vec<T>, RedisCallError> {
        self.read_list(|entry| match entry.as_list()? {
            [id, fields] => read(id.as_text()?, fields),
            _ => Err(entry.unexpected_reply("an entry of a stream")),
        })
    }

    /// Reads the reply of `TIME`: the time by the server's clock, in milliseconds.
    ///
    /// # Errors
    /// `Wrong` where the reply is not a time.
    pub fn as_server_ms(&self) -> Result<i64, RedisCallError> {
        match self.as_list()? {
            [seconds, micros] => Ok(seconds.as_integer()? * 1_000 + micros.as_integer()? / 1_000),
            _ => Err(self.unexpected_reply("a time")),
        }
    }

    /// Returns the reply as a number. A text of digits is also accepted.
    ///
    /// # Errors
    /// `Wrong` where the reply is not a number.
    pub fn as_integer(&self) -> Result<i64, RedisCallError> {
        match &self.0 {
            ReplyValue::Int(number) => Ok(*number),
            ReplyValue::Bytes(bytes) => std::str::from_utf8(bytes)
                .ok()
                .and_then(|text| text.parse().ok())
                .ok_or_else(|| self.unexpected_reply("a number")),
            ReplyValue::Nil | ReplyValue::List(_) => Err(self.unexpected_reply("a number")),
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
        match &self.0 {
            ReplyValue::Bytes(bytes) => Ok(bytes),
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
    fn as_list(&self) -> Result<&[RedisReply], RedisCallError> {
        match &self.0 {
            ReplyValue::List(replies) => Ok(replies),
            _ => Err(self.unexpected_reply("a list")),
        }
    }

    fn unexpected_reply(&self, expected: &str) -> RedisCallError {
        let shape = match &self.0 {
            ReplyValue::Nil => "nothing",
            ReplyValue::Int(_) => "a number",
            ReplyValue::Bytes(_) => "bytes",
            ReplyValue::List(_) => "a list",
        };
        RedisCallError::Wrong(format!("Redis answered {shape} instead of {expected}"))
    }
}
