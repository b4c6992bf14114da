//! One argument of a command or a script.

use redis::Cmd;

/// One argument: bytes, or a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedisArgument {
    /// Bytes as they are.
    Bytes(Vec<u8>),
    /// A number, in decimal.
    Int(i64),
}

impl From<&str> for RedisArgument {
    fn from(text: &str) -> Self {
        Self::Bytes(text.as_bytes().to_vec())
    }
}

impl From<String> for RedisArgument {
    fn from(text: String) -> Self {
        Self::Bytes(text.into_bytes())
    }
}

impl From<&[u8]> for RedisArgument {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

impl<const N: usize> From<[u8; N]> for RedisArgument {
    fn from(bytes: [u8; N]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

impl From<Vec<u8>> for RedisArgument {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<i64> for RedisArgument {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<u16> for RedisArgument {
    fn from(number: u16) -> Self {
        Self::Int(number.into())
    }
}

impl From<u32> for RedisArgument {
    fn from(number: u32) -> Self {
        Self::Int(number.into())
    }
}

impl From<u64> for RedisArgument {
    fn from(number: u64) -> Self {
        // A number beyond the range of i64 is sent as its digits.
        i64::try_from(number).map_or_else(|_| Self::from(number.to_string()), Self::Int)
    }
}

/// Scripts compare booleans with '1' and '0'.
impl From<bool> for RedisArgument {
    fn from(yes: bool) -> Self {
        Self::Int(yes.into())
    }
}

/// Scripts compare a missing value with ''.
impl<T: Into<RedisArgument>> From<Option<T>> for RedisArgument {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(|| Self::Bytes(Vec::new()), Into::into)
    }
}

/// Adds arguments to a command of the `redis` package.
pub(crate) fn add_arguments(command: &mut Cmd, arguments: &[RedisArgument]) {
    for argument in arguments {
        match argument {
            RedisArgument::Bytes(bytes) => command.arg(&bytes[..]),
            RedisArgument::Int(number) => command.arg(*number),
        };
    }
}
