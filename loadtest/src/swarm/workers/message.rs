//! Defines the messages between the coordinator of a swarm and its worker processes. Each message
//! is one JSON document on one line.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::http::SourceNetwork;
use crate::swarm::figures::{CrowdProgress, MeasuredPart};
use crate::swarm::stage::{StaffKeys, SwarmPaidOrder};

/// The task of a worker process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WorkerTask {
    /// The scenario's file.
    pub scenario: PathBuf,
    /// Whether the scenario's baseline is played.
    pub baseline: bool,
    /// The addresses of the gateways.
    pub urls: Vec<String>,
    /// The address of the payment provider, if the rig runs one.
    pub provider: Option<String>,
    /// The keys of the staff whom the run imitates.
    pub keys: StaffKeys,
    /// The seed that the whole crowd is planned from.
    pub seed: u64,
    /// When the run began, in milliseconds since the epoch.
    pub start_ms: f64,
    /// The number of this worker, from 0.
    pub index: usize,
    /// How many workers share the crowd.
    pub of: usize,
    /// The network whose addresses the calls come from.
    pub from: Option<SourceNetwork>,
    /// The file of this worker's history.
    pub history: PathBuf,
}

impl WorkerTask {
    /// Returns whether the visitor with this number belongs to this worker.
    pub fn is_own(&self, visitor: usize) -> bool {
        visitor % self.of == self.index
    }
}

/// What a worker process reports.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerReport {
    /// The progress of its visitors.
    Progress(CrowdProgress),
    /// Its visitors are done. This is the last report.
    Done(Box<FinishedWork>),
}

/// What a worker passes to the coordinator when its visitors are done.
#[derive(Serialize, Deserialize)]
pub struct FinishedWork {
    /// The measurements of the worker.
    pub measured: MeasuredPart,
    /// When the last abandoned basket or order lapses, in milliseconds since the epoch.
    pub lapses_ms: f64,
    /// The orders that may have been paid and whose final state was not seen.
    pub paid: Vec<SwarmPaidOrder>,
}
