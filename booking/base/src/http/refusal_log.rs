//! Logs the requests that the ledger refused. An outage can refuse thousands of requests, and so
//! can a faulty SQL statement. Therefore only the first refusal of an outage is logged as a
//! warning. The same fault is logged as an error at most once a minute. All other refusals are
//! logged at debug level.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::retry::BackgroundError;

use super::request_id;

/// A refusal that comes at least this long after the previous one belongs to another outage.
const OUTAGE_ENDS_AFTER: Duration = Duration::from_secs(60);
/// The shortest time between two error lines about the same fault.
const FAULT_EVERY: Duration = Duration::from_secs(60);
/// The maximum number of faults that have an entry of their own. All further faults share one
/// entry.
const FAULTS_MAX: usize = 64;

static LOG: Mutex<RefusalLog> = Mutex::new(RefusalLog::new());

/// What was logged lately. This type itself writes no log and reads no clock.
#[derive(Debug)]
struct RefusalLog {
    /// When an outage last refused a request.
    outage: Option<Instant>,
    /// The faults of the last minute, by their text.
    faults: BTreeMap<String, LoggedFault>,
}

#[derive(Debug)]
struct LoggedFault {
    at: Instant,
    /// How many times the fault came again since it was logged.
    repeats: u64,
}

impl RefusalLog {
    const fn new() -> Self {
        Self {
            outage: None,
            faults: BTreeMap::new(),
        }
    }

    /// Notes that an outage refused a request. Returns whether this is the outage's first refusal.
    fn note_outage(&mut self, now: Instant) -> bool {
        let before = self.outage.replace(now);
        before.is_none_or(|at| now.saturating_duration_since(at) >= OUTAGE_ENDS_AFTER)
    }

    /// Notes that a fault refused a request. If the fault should be logged now, returns how many
    /// times it came again since it was last logged.
    fn note_fault(&mut self, text: &str, now: Instant) -> Option<u64> {
        let is_full = self.faults.len() >= FAULTS_MAX && !self.faults.contains_key(text);
        let text = if is_full { "" } else { text };
        let logged = self.faults.get_mut(text);
        if let Some(fault) = logged
            && now.saturating_duration_since(fault.at) < FAULT_EVERY
        {
            fault.repeats += 1;
            return None;
        }
        let before = self.faults.remove(text);
        // Faults that ended are forgotten here, so that new ones find space.
        self.faults
            .retain(|_, fault| now.saturating_duration_since(fault.at) < FAULT_EVERY);
        self.faults.insert(
            text.to_owned(),
            LoggedFault {
                at: now,
                repeats: 0,
            },
        );
        Some(before.map_or(0, |fault| fault.repeats))
    }
}

/// Logs that the ledger refused a request. The log line is at debug level if this outage is in the
/// log already, or if the same fault was logged within the last minute.
pub(super) fn log_refusal(error: &impl BackgroundError) {
    let request_id = request_id::current();
    let mut log = LOG.lock();
    if error.is_temporary() {
        let is_first = log.note_outage(Instant::now());
        drop(log);
        if is_first {
            tracing::warn!(
                %error,
                request_id,
                "a request was refused, because the ledger is away; further ones are logged as debug"
            );
        } else {
            tracing::debug!(%error, request_id, "a request was refused, because the ledger is away");
        }
        return;
    }
    let due = log.note_fault(&error.to_string(), Instant::now());
    drop(log);
    match due {
        Some(repeats) => tracing::error!(
            %error,
            request_id,
            again = repeats,
            "a request was refused, because of a fault at the ledger"
        ),
        None => tracing::debug!(%error, request_id, "the same fault refused another request"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(seconds: u64, begun: Instant) -> Instant {
        begun + Duration::from_secs(seconds)
    }

    #[test]
    fn an_outage_is_logged_at_its_first_refusal_however_long_it_lasts() {
        let (mut log, begun) = (RefusalLog::new(), Instant::now());
        assert!(log.note_outage(begun));
        for at in 1..=200 {
            assert!(!log.note_outage(second(at, begun)), "{at} s");
        }
        assert!(!log.note_outage(second(259, begun)));
        assert!(log.note_outage(second(319, begun)), "the next outage");
    }

    #[test]
    fn the_same_fault_is_logged_once_a_minute_and_another_one_at_once() {
        let (mut log, begun) = (RefusalLog::new(), Instant::now());
        assert_eq!(log.note_fault("no such table", begun), Some(0));
        for _ in 0..1_000 {
            assert_eq!(log.note_fault("no such table", second(59, begun)), None);
        }
        assert_eq!(log.note_fault("unreadable", second(59, begun)), Some(0));
        let later = second(60, begun);
        assert_eq!(log.note_fault("no such table", later), Some(1_000));
        assert_eq!(log.note_fault("unreadable", later), None);
    }

    #[test]
    fn faults_that_all_differ_do_not_fill_the_log_or_the_memory() {
        let (mut log, begun) = (RefusalLog::new(), Instant::now());
        let lines = (0..10_000).filter(|number| {
            let text = format!("value {number} does not fit");
            log.note_fault(&text, begun).is_some()
        });
        assert_eq!(lines.count(), FAULTS_MAX + 1);
        assert_eq!(log.faults.len(), FAULTS_MAX + 1);
        let later = second(60, begun);
        assert_eq!(log.note_fault("value 1 does not fit", later), Some(0));
        assert_eq!(log.faults.len(), 1, "ended faults are forgotten");
    }
}
