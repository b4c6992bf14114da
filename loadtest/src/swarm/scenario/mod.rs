//! Describes a scenario: an on-sale, a crowd, how its people behave, and what must come of it. The
//! whole file is checked before anything starts, so that a misspelt threshold is an error of usage
//! and not a threshold that is never checked.

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
    /// The file's name without its extension.
    pub name: String,
    /// One line on what the scenario shows.
    pub title: String,
    /// The expected duration of a run, in seconds. `--kill gateway@30%` and `[slow]` count from it.
    pub planned_s: f64,
    /// When visitors who are not done are counted as still waiting, in seconds after the start.
    pub deadline_s: f64,
    /// Who comes, and when.
    pub crowd: CrowdSettings,
    /// What visitors do.
    pub behaviour: VisitorBehaviour,
    /// The promoter's documents.
    pub onsale: ScenarioOnsale,
    /// The slowdown of booking, if there is one.
    pub slow: Option<PlannedSlowdown>,
    /// The show that the promoter cancels, if there is one.
    pub cancel: Option<PlannedCancel>,
    /// The bounds on figures.
    pub thresholds: Vec<Threshold>,
    /// The same scenario with other people, which runs first.
    pub baseline: Option<Box<Scenario>>,
}

/// How arrivals are spread over their time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalPattern {
    /// Arrivals are independent of each other, at a mean rate.
    #[default]
    Poisson,
    /// Arrivals are evenly spaced.
    Uniform,
}

/// `[crowd]`: who comes, and when.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrowdSettings {
    /// The number of visitors.
    pub visitors: usize,
    /// When the first may come, seconds after the lobby opened.
    #[serde(default)]
    pub from_s: f64,
    /// Over how many seconds they come; 0 is all at once.
    pub over_s: f64,
    /// How arrivals are spread over that time.
    #[serde(default)]
    pub arrivals: ArrivalPattern,
    /// The share that comes only after the draw, over as many seconds as the others.
    #[serde(default)]
    pub after_draw: f64,
    /// The share of visitors with a live socket; the others poll.
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
    /// When the slowdown begins, in seconds after the start of the run.
    pub at_s: f64,
    /// How many times slower the process runs.
    pub factor: f64,
    /// How long the slowdown lasts, in seconds.
    pub for_s: f64,
}

/// `[cancel]`: the promoter cancels a show while the crowd buys it, and everything that was paid
/// for the show is refunded.
#[derive(Debug, Clone)]
pub struct PlannedCancel {
    /// The id of the show.
    pub show: String,
    /// When the show is cancelled, in seconds after the start of the run.
    pub at_s: f64,
}

impl Scenario {
    /// Returns whether the scenario may refund anything that was sold.
    pub fn gives_back(&self) -> bool {
        self.cancel.is_some() || self.behaviour.give_back + self.behaviour.exchange > 0.0
    }
}
