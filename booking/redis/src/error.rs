//! The three kinds of errors of calls to Redis. A store must treat each kind in its own way.

use redis::{ErrorKind, RedisError, ServerErrorKind};

/// Why a call to Redis failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RedisCallError {
    /// The server gave no answer, or said that it cannot serve the call now. It is away, slow, or
    /// just changing its role. The call **may have been carried out**.
    #[error("Redis did not answer: {0}")]
    Unreachable(String),
    /// The server or a script refused the call, and nothing was changed. The first field is the
    /// code, which is the reply's first word. The second field is the rest of the reply.
    #[error("Redis refused: {0} {1}")]
    Refused(String, String),
    /// The answer or the address has the wrong form. This is a fault of this program or of its
    /// configuration.
    #[error("{0}")]
    Wrong(String),
}

impl RedisCallError {
    /// Returns the code of a refusal.
    #[must_use]
    pub fn refusal_code(&self) -> Option<&str> {
        match self {
            Self::Refused(code, _) => Some(code),
            Self::Unreachable(_) | Self::Wrong(_) => None,
        }
    }
}

impl From<RedisError> for RedisCallError {
    fn from(error: RedisError) -> Self {
        match error.kind() {
            ErrorKind::Server(kind) if is_away(kind) => Self::Unreachable(error.to_string()),
            ErrorKind::Server(_) | ErrorKind::Extension => refusal_from(
                error.code().unwrap_or("ERR"),
                error.detail().unwrap_or_default(),
            ),
            ErrorKind::AuthenticationFailed => refusal_from("WRONGPASS", &error.to_string()),
            ErrorKind::UnexpectedReturnType | ErrorKind::Client => Self::Wrong(error.to_string()),
            ErrorKind::InvalidClientConfig | ErrorKind::EmptySentinelList => {
                Self::Wrong(error.to_string())
            }
            _ => Self::Unreachable(error.to_string()),
        }
    }
}

fn refusal_from(code: &str, detail: &str) -> RedisCallError {
    RedisCallError::Refused(code.to_owned(), detail.to_owned())
}

/// Returns whether the server reported that it cannot serve the call now, or that another server
/// must be asked. Nothing was changed, and a later call may succeed.
fn is_away(kind: ServerErrorKind) -> bool {
    matches!(
        kind,
        ServerErrorKind::BusyLoading
            | ServerErrorKind::Moved
            | ServerErrorKind::Ask
            | ServerErrorKind::TryAgain
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::MasterDown
            | ServerErrorKind::ReadOnly
    )
}
