//! Holds one node's measurements of booking in the last seconds, and combines the measurements of
//! several nodes. A node's measurements are small enough to be sent to all nodes once a second.

use serde::{Deserialize, Serialize};

use crate::valve::HealthReading;

/// The number of seconds whose calls are stored.
pub const SECONDS: usize = 10;
/// A reading always covers the present second and this many full seconds before it.
const LOOK_BACK: usize = 3;
/// A reading with fewer calls than this also covers earlier seconds, so that booking does not count
/// as ill because of one slow call in a quiet hour.
const CALLS_MIN: u64 = 50;
/// Calls are counted in this many buckets, by the time that they took. The upper limit of the first
/// bucket is a millisecond. Each further limit is a tenth higher, up to about a minute.
pub const BUCKETS: usize = 116;
const BUCKET_STEP: f64 = 1.1;

/// The calls of one second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastSecondCalls {
    /// How many seconds ago this second was; less than [`SECONDS`].
    pub back: usize,
    /// The number of calls that were answered or given up.
    pub calls: u64,
    /// The number of those calls that failed.
    pub errors: u64,
    /// The buckets that are not empty, and how many calls are in each.
    pub buckets: Vec<(usize, u64)>,
}

/// One node's measurements.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeMeasurements {
    /// The seconds in which there were calls.
    pub seconds: Vec<PastSecondCalls>,
    /// How long a call waits before the process handles it, in milliseconds.
    pub lag_ms: u64,
    /// Whether the process refuses new holds because it is overloaded.
    pub shedding: bool,
    /// The visitors inside the room who were told at this node that there are no seats for them,
    /// and hold none, by the time since they entered. A node of an earlier version sends none.
    #[serde(default)]
    pub told_none: [u64; 4],
}

impl NodeMeasurements {
    /// Writes the measurements as they are sent to other nodes.
    #[must_use]
    pub fn to_text(&self) -> String {
        // All fields are plain numbers, so this cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what another node sent. Returns `None` if the text cannot be read, for instance
    /// because another version wrote it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// Returns the bucket of a call that took `ms` milliseconds.
#[must_use]
pub fn bucket(ms: f64) -> usize {
    // Below a millisecond, the logarithm is negative and becomes 0.
    let at = (ms.ln() / BUCKET_STEP.ln()).ceil().max(0.0) as usize;
    at.min(BUCKETS - 1)
}

/// Adds up the visitors of all nodes who were told that there are no seats for them.
#[must_use]
pub fn told_none(nodes: &[NodeMeasurements]) -> [u64; 4] {
    std::array::from_fn(|group| nodes.iter().map(|node| node.told_none[group]).sum())
}

/// Combines the measurements of all nodes into booking's health.
#[must_use]
pub fn combined_reading(nodes: &[NodeMeasurements]) -> HealthReading {
    let mut buckets = [0_u64; BUCKETS];
    let (mut calls, mut errors) = (0, 0);
    for back in 0..SECONDS {
        if back > LOOK_BACK && calls >= CALLS_MIN {
            break;
        }
        let seconds = nodes.iter().flat_map(|node| &node.seconds);
        for second in seconds.filter(|second| second.back == back) {
            calls += second.calls;
            errors += second.errors;
            for (at, count) in &second.buckets {
                buckets[(*at).min(BUCKETS - 1)] += count;
            }
        }
    }
    // A call also waits before the process handles it. If this wait is longer than the answers
    // take, people feel the wait.
    let lag_ms = nodes.iter().map(|node| node.lag_ms).max().unwrap_or(0);
    let slow_bucket = slow_bucket(&buckets, calls);
    let slow_ms = slow_bucket.map(upper_ms);
    let shedding = nodes.iter().any(|node| node.shedding);
    let is_late_now = shedding || slow_ms.is_none_or(|slow_ms| lag_ms > slow_ms);
    HealthReading {
        p99_ms: match slow_ms {
            Some(slow_ms) => Some(slow_ms.max(lag_ms)),
            // A process can be late even without calls.
            None => (lag_ms > 0).then_some(lag_ms),
        },
        calls,
        errors,
        shedding,
        ill_back_s: if is_late_now {
            0
        } else {
            newest_ill_second(nodes, slow_bucket.unwrap_or(BUCKETS))
        },
    }
}

/// Returns how many seconds ago the newest call was that failed, or that is in `slow_bucket` or
/// above. Returns 0 if there is no such call.
fn newest_ill_second(nodes: &[NodeMeasurements], slow_bucket: usize) -> u64 {
    let seconds = nodes.iter().flat_map(|node| &node.seconds);
    let is_ill = |second: &&PastSecondCalls| {
        second.errors > 0 || second.buckets.iter().any(|(at, _)| *at >= slow_bucket)
    };
    let newest = seconds.filter(is_ill).map(|second| second.back).min();
    newest.map_or(0, |back| back as u64)
}

/// Returns the bucket above which at most one call in a hundred is.
fn slow_bucket(buckets: &[u64; BUCKETS], calls: u64) -> Option<usize> {
    let slow_calls = calls / 100;
    let mut calls_above = 0;
    let mut descending = buckets.iter().enumerate().rev();
    let found = descending.find(|(_, count)| {
        calls_above += **count;
        calls_above > slow_calls
    });
    found.map(|(at, _)| at)
}

/// Returns the upper limit of a bucket, in whole milliseconds.
fn upper_ms(bucket: usize) -> u64 {
    let at = i32::try_from(bucket).unwrap_or(i32::MAX);
    BUCKET_STEP.powi(at).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(ms: f64, calls: u64, back: usize) -> NodeMeasurements {
        NodeMeasurements {
            seconds: vec![PastSecondCalls {
                back,
                calls,
                errors: calls / 10,
                buckets: vec![(bucket(ms), calls)],
            }],
            ..NodeMeasurements::default()
        }
    }

    #[test]
    fn one_slow_node_among_three_shows_in_the_combined_reading() {
        let nodes = [node(20.0, 98, 0), node(20.0, 98, 1), node(900.0, 4, 0)];
        let reading = combined_reading(&nodes);
        assert_eq!((reading.calls, reading.errors), (200, 18));
        assert!(reading.p99_ms.is_some_and(|p99| (900..=991).contains(&p99)));
        let alone = combined_reading(&nodes[..1]).p99_ms;
        assert!(alone.is_some_and(|p99| (20..=23).contains(&p99)));
    }

    #[test]
    fn the_longest_lag_and_any_shedding_count_for_all_nodes() {
        let late = NodeMeasurements {
            lag_ms: 70,
            shedding: true,
            ..NodeMeasurements::default()
        };
        let reading = combined_reading(&[node(20.0, 100, 0), late.clone()]);
        assert_eq!((reading.p99_ms, reading.shedding), (Some(70), true));
        assert_eq!(
            combined_reading(&[late]).p99_ms,
            Some(70),
            "also without calls"
        );
        assert_eq!(combined_reading(&[]), HealthReading::default());
    }

    #[test]
    fn the_newest_slow_or_failed_call_tells_since_when_booking_was_ill() {
        let slow = NodeMeasurements {
            seconds: [node(900.0, 5, 3), node(20.0, 9, 0)]
                .map(|node| node.seconds[0].clone())
                .into(),
            ..NodeMeasurements::default()
        };
        assert_eq!(combined_reading(std::slice::from_ref(&slow)).ill_back_s, 3);
        let failed = node(20.0, 10, 1);
        assert_eq!(combined_reading(&[slow.clone(), failed]).ill_back_s, 1);
        let late = NodeMeasurements {
            lag_ms: 2_000,
            ..NodeMeasurements::default()
        };
        assert_eq!(combined_reading(&[slow, late]).ill_back_s, 0);
    }

    #[test]
    fn measurements_that_are_sent_as_text_are_read_back_unchanged() {
        let vitals = node(20.0, 98, 3);
        assert_eq!(NodeMeasurements::parse(&vitals.to_text()), Some(vitals));
    }
}
