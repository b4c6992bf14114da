//! The log: text for people or JSON for programs, on the standard error stream.

use std::error::Error;
use std::io::IsTerminal;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt};

use crate::config::BadConfig;

/// The form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogFormat {
    Text,
    Json,
}

/// The levels if `FAIRGATE_LOG` is not set.
const DEFAULT_LEVELS: &str = "warn,gateway=info,booking=info,fairgate=info";
/// The target of the pool of PostgreSQL connections. The pool warns of each connection that an
/// outage breaks. The ledger itself logs the outage once.
const POOL: &str = "deadpool.postgres";

/// Starts logging. `FAIRGATE_LOG` sets levels by target, as in `warn,gateway=debug`, and
/// `FAIRGATE_LOG_FORMAT` is `text` or `json`. Text has colours only on a terminal.
///
/// # Errors
/// If one of the variables cannot be read. Then logging is not started.
pub fn start_logging() -> Result<(), BadConfig> {
    let set = |variable| std::env::var(variable).ok().filter(|text| !text.is_empty());
    let mut faults = Vec::new();
    let targets = targets(set("FAIRGATE_LOG").as_deref()).map_err(|fault| faults.push(fault));
    let format = format(set("FAIRGATE_LOG_FORMAT").as_deref()).map_err(|fault| faults.push(fault));
    let (Ok(targets), Ok(format)) = (targets, format) else {
        return Err(BadConfig(faults));
    };
    let layer: Box<dyn Layer<Registry> + Send + Sync> = match format {
        LogFormat::Text => {
            let plain = std::env::var_os("NO_COLOR").is_some_and(|set| !set.is_empty());
            let colours = std::io::stderr().is_terminal() && !plain;
            Box::new(fmt::layer().with_ansi(colours).with_writer(std::io::stderr))
        }
        LogFormat::Json => Box::new(
            fmt::layer()
                .json()
                .flatten_event(true)
                .with_writer(std::io::stderr),
        ),
    };
    tracing_subscriber::registry()
        .with(layer.with_filter(targets))
        .init();
    Ok(())
}

fn targets(wanted: Option<&str>) -> Result<Targets, String> {
    let wanted = wanted.unwrap_or(DEFAULT_LEVELS);
    // The wanted levels come last, so that they can override the pool's level.
    format!("{POOL}=error,{wanted}").parse().map_err(|_| {
        format!("FAIRGATE_LOG: {wanted} is not a list of levels such as warn,gateway=debug")
    })
}

fn format(wanted: Option<&str>) -> Result<LogFormat, String> {
    match wanted {
        None | Some("text") => Ok(LogFormat::Text),
        Some("json") => Ok(LogFormat::Json),
        Some(other) => Err(format!("FAIRGATE_LOG_FORMAT: {other} is not text or json")),
    }
}

/// Returns the message of an error and of its causes. An error often repeats its cause, so a
/// message that is already in the text is left out.
#[must_use]
pub fn error_text(error: &dyn Error) -> String {
    let mut text = error.to_string().trim_end().to_owned();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(message.trim_end()) {
            text = format!("{text}: {}", message.trim_end());
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer: {0}")]
    struct Outer(#[source] std::io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("it failed")]
    struct Silent(#[source] std::io::Error);

    #[test]
    fn a_cause_is_told_once() {
        let cause = || std::io::Error::other("the cause");
        assert_eq!(error_text(&Outer(cause())), "outer: the cause");
        assert_eq!(error_text(&Silent(cause())), "it failed: the cause");
    }

    #[test]
    fn levels_and_formats_that_cannot_be_read_are_faults() {
        assert!(targets(Some("warn,gateway=debug")).is_ok());
        for (wanted, warns) in [
            (None, false),
            (Some("warn"), false),
            (Some("deadpool.postgres=warn"), true),
        ] {
            let levels = targets(wanted).expect("levels");
            assert_eq!(levels.would_enable(POOL, &Level::WARN), warns, "{wanted:?}");
        }
        let told = targets(Some("a=b=c")).expect_err("it is no level");
        assert!(told.starts_with("FAIRGATE_LOG:"), "{told}");
        assert_eq!(format(None), Ok(LogFormat::Text));
        assert_eq!(format(Some("json")), Ok(LogFormat::Json));
        let told = format(Some("xml")).expect_err("it is no format");
        assert!(told.starts_with("FAIRGATE_LOG_FORMAT:"), "{told}");
    }
}
