//! Logs failed background work that is tried again. While a server is away, the log of warnings
//! says so once, and each failed try is logged only at debug level.

use fairgate_databases::LedgerError;

/// An error of background work.
pub trait BackgroundError: std::fmt::Display {
    /// Returns whether the same try will probably succeed a little later, because a server did not
    /// answer or this process has not yet read a change. Every other error is logged as a warning
    /// each time.
    fn is_temporary(&self) -> bool;
}

impl BackgroundError for LedgerError {
    fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::Unavailable(_) | Self::Overtaken(_) | Self::SetBack(_) | Self::Unknown(_)
        )
    }
}

/// Logs that background work failed and will be tried again. Callers pass the error first, then
/// the fields and the message as in `tracing::warn!`.
#[macro_export]
macro_rules! log_failed_try {
    ($error:expr, $($rest:tt)+) => {{
        use $crate::retry::BackgroundError as _;
        if $error.is_temporary() {
            ::tracing::debug!(error = %$error, $($rest)+)
        } else {
            ::tracing::warn!(error = %$error, $($rest)+)
        }
    }};
}
