//! Logs the warnings that `/readyz` shows to operators: one line when a warning begins, and one
//! when it ends.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};

use super::stopped;

/// How often the warnings are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The warnings that were logged and have not ended, by [`identity`].
#[derive(Debug, Default)]
pub struct WarningLog {
    begun: BTreeMap<String, BegunWarning>,
}

#[derive(Debug)]
struct BegunWarning {
    text: String,
    at: Instant,
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WarningLine {
    /// A warning began.
    Began(String),
    /// A warning that began this long ago has ended.
    Ended(String, Duration),
}

impl WarningLog {
    /// Compares the present warnings with the logged ones, and returns the lines to log.
    pub fn update(&mut self, warnings: Vec<String>, now: Instant) -> Vec<WarningLine> {
        let warnings: BTreeMap<String, String> = warnings
            .into_iter()
            .map(|text| (identity(&text), text))
            .collect();
        let mut lines = Vec::new();
        self.begun.retain(|identity, warning| {
            let goes_on = warnings.contains_key(identity);
            if !goes_on {
                let lasted = now.saturating_duration_since(warning.at);
                lines.push(WarningLine::Ended(warning.text.clone(), lasted));
            }
            goes_on
        });
        for (identity, text) in warnings {
            self.begun.entry(identity).or_insert_with(|| {
                lines.push(WarningLine::Began(text.clone()));
                BegunWarning { text, at: now }
            });
        }
        lines
    }
}

/// Returns the beginning of a warning, up to its first number. The rest may change while the
/// warning stays the same: it says for how long a server has been silent, and what its last error
/// was.
fn identity(warning: &str) -> String {
    let is_number = |word: &str| {
        let digits = word.trim_matches(|edge: char| edge.is_ascii_punctuation());
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let words = warning.split(' ').take_while(|word| !is_number(word));
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the warning that the ledger took no write within the time `waited`. An outage has
/// several reasons one after the other: first connections break, then they are refused. The text
/// therefore names the reason after the number, so that [`WarningLog`] treats all reasons as one
/// warning.
#[must_use]
pub fn ledger_away(waited: Duration, why: &str) -> String {
    format!(
        "the ledger took no write within {} ms: {why}",
        waited.as_millis()
    )
}

/// Logs the warnings that `look` returns, until the process drains.
pub async fn log_warnings(
    look: impl AsyncFn() -> Vec<String> + Send + 'static,
    mut stopping: watch::Receiver<bool>,
) {
    let mut log = WarningLog::default();
    let mut ticks = tokio::time::interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stopped(&mut stopping) => return,
        }
        for line in log.update(look().await, Instant::now()) {
            match line {
                WarningLine::Began(text) => tracing::warn!("{text}"),
                WarningLine::Ended(text, lasted) => {
                    tracing::info!(lasted_s = lasted.as_secs(), "no longer so: {text}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_warning_is_logged_when_it_begins_and_when_it_ends_however_its_numbers_change() {
        let (mut log, begun) = (WarningLog::default(), Instant::now());
        let first = "booking at http://10.0.0.5:8090/ has not answered for 3 s: away";
        let later = "booking at http://10.0.0.5:8090/ has not answered for 44 s: timed out";
        let other = "booking at http://10.0.0.6:8090/ has not answered for 44 s: away";
        let lines = log.update(texts(&[first]), begun);
        assert_eq!(lines, [WarningLine::Began(first.to_owned())]);
        assert_eq!(log.update(texts(&[later]), begun), []);
        let lines = log.update(texts(&[later, other]), begun);
        assert_eq!(lines, [WarningLine::Began(other.to_owned())]);
        let lasted = Duration::from_secs(50);
        let lines = log.update(texts(&[other]), begun + lasted);
        assert_eq!(lines, [WarningLine::Ended(first.to_owned(), lasted)]);
        let lines = log.update(texts(&[first, other]), begun + lasted);
        assert_eq!(lines, [WarningLine::Began(first.to_owned())], "it is back");
    }

    #[test]
    fn an_outage_of_the_ledger_is_one_warning_whatever_its_reason_is() {
        let (mut log, begun) = (WarningLog::default(), Instant::now());
        let given = Duration::from_millis(800);
        let first = ledger_away(given, "connection closed");
        let lines = log.update(vec![first.clone()], begun);
        assert_eq!(lines, [WarningLine::Began(first.clone())]);
        for why in ["it did not answer", "connection refused", "it is starting"] {
            assert_eq!(
                log.update(vec![ledger_away(given, why)], begun),
                [],
                "{why}"
            );
        }
        let lasted = Duration::from_secs(9);
        let lines = log.update(Vec::new(), begun + lasted);
        assert_eq!(lines, [WarningLine::Ended(first, lasted)]);
    }
}
