//! The conditions of a run that its figures depend on.

use serde_json::Value;

use crate::rig::MemorySample;

/// The conditions of a run that its figures depend on.
#[derive(Debug, Clone, Default)]
pub struct RunConditions {
    /// The start of the run, in milliseconds since the epoch.
    pub start_ms: f64,
    /// When the crowd was gone and all faults were healed, in milliseconds since the epoch.
    pub end_ms: f64,
    /// When no seat was held, all money was decided and all refunds were done, in milliseconds
    /// since the epoch; `None` if that took too long.
    pub settled_ms: Option<f64>,
    /// The beginning of the sale, in milliseconds since the epoch.
    pub draw_ms: f64,
    /// The promised pace, in visitors a second.
    pub per_s: f64,
    /// Booking's target for 99 of 100 calls, in milliseconds.
    pub p99_ms: f64,
    /// How many of the visitors are people. The visitors after them are bots.
    pub people: usize,
    /// How many processors the rig may use.
    pub cpus: usize,
    /// The memory of the gateway that uses the most memory, over time.
    pub memory: Vec<MemorySample>,
    /// The report that the promoter reads after the run.
    pub promoters_report: Value,
}
