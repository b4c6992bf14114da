//! A scenario: an on-sale, a crowd, how its people behave, and what must come of it. Read whole and
//! checked before anything starts, so that a misspelt threshold is a fault of usage and never a
//! threshold that nobody looked at.

mod behaviour;
mod onsale;
mod read;
mod thresholds;

pub use behaviour::{SecondsRange, VisitorBehaviour};
pub use onsale::{PromoterCall, ScenarioOnsale, ScenarioTrain};
pub use read::{read, read_text};
pub use thresholds::{MissedThreshold, Threshold};

use serde::Deserialize;

/// A scenario as the swarm runs it.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The file's name without its ending.
    pub name: String,
    /// One line on what it shows.
    pub title: String,
    /// What a run is expected to take, seconds: `--kill gateway@30%` and `[slow]` count from here.
    pub planned_s: f64,
    /// Visitors who are not done by then are counted as still waiting, seconds after the start.
    pub deadline_s: f64,
    /// Who comes.
    pub crowd: CrowdSettings,
    /// What they do.
    pub behaviour: VisitorBehaviour,
    /// The promoter's documents.
    pub onsale: ScenarioOnsale,
    /// A disturbance of booking.
    pub slow: Option<PlannedSlowdown>,
    /// A show that does not take place after all.
    pub cancel: Option<PlannedCancel>,
    /// Bounds on figures.
    pub thresholds: Vec<Threshold>,
    /// The same with other people, run first.
    pub baseline: Option<Box<Scenario>>,
}

/// How arrivals lie in their time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalPattern {
    /// Independent of each other, at a mean rate.
    #[default]
    Poisson,
    /// Evenly.
    Uniform,
}

/// `[crowd]`: who comes, and when.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrowdSettings {
    /// How many.
    pub visitors: usize,
    /// When the first may come, seconds after the lobby opened.
    #[serde(default)]
    pub from_s: f64,
    /// Over how many seconds they come; 0 is all at once.
    pub over_s: f64,
    /// How they lie in it.
    #[serde(default)]
    pub arrivals: ArrivalPattern,
    /// The share that comes only after the draw, over as many seconds as the others.
    #[serde(default)]
    pub after_draw: f64,
    /// The share with a live socket; the others poll.
    #[serde(default = "default_socket_share")]
    pub socket: f64,
    /// How many of the visitors open a socket, watch the seats, and never read from it.
    #[serde(default)]
    pub mute: usize,
}

fn default_socket_share() -> f64 {
    0.8
}

/// `[slow]`: the process that hosts booking gets one part in `factor` of its time.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedSlowdown {
    /// When, seconds after the start of the run.
    pub at_s: f64,
    /// How many times slower.
    pub factor: f64,
    /// For how long, seconds.
    pub for_s: f64,
}

/// `[cancel]`: the promoter cancels a show while the crowd buys it, and all that was paid for it
/// goes back.
#[derive(Debug, Clone)]
pub struct PlannedCancel {
    /// Which.
    pub show: String,
    /// When, seconds after the start of the run.
    pub at_s: f64,
}

impl Scenario {
    /// Whether anything that was sold may go back.
    pub fn gives_back(&self) -> bool {
        self.cancel.is_some() || self.behaviour.give_back + self.behaviour.exchange > 0.0
    }
}
