//! Describes a scenario: an on-sale, a crowd, how its visitors behave, and the bounds on the
//! figures. The file is checked before anything starts. A misspelt threshold is therefore reported
//! as an error of usage, and not silently ignored.

mod line;
mod live;
mod onsale;
mod read;
mod thresholds;
mod train;

pub use fairgate_simulation::behaviour::{SecondsRange, VisitorBehaviour};
pub use fairgate_simulation::crowd::CrowdSettings;
pub use line::line_train;
pub use live::LiveChange;
pub use onsale::{PromoterCall, ScenarioOnsale, ScenarioTrain};
pub use read::{read, read_text, read_to_plan};
pub use thresholds::{MissedThreshold, Threshold};
pub use train::TrainPlan;

use serde::Deserialize;

use crate::rig::PlannedKill;

/// A scenario as the swarm runs it.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The file's name without its extension.
    pub name: String,
    /// One line that says what the scenario shows.
    pub title: String,
    /// The expected duration of a run, in seconds. The percentages of `--kill gateway@30%`,
    /// `[slow]` and `[cancel]` are shares of it.
    pub planned_s: f64,
    /// When the run ends at the latest, in seconds after the start. Visitors who are not done by
    /// then count as still waiting.
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
    /// What the promoter changes of the room while the crowd is there, by time.
    pub live_changes: Vec<LiveChange>,
    /// The bounds on figures.
    pub thresholds: Vec<Threshold>,
    /// The same scenario with some values replaced. It runs first, on a rig of its own.
    pub baseline: Option<Box<Scenario>>,
}

impl Scenario {
    /// Returns when a kill happens, in seconds after the start of the run.
    pub fn kill_s(&self, kill: &PlannedKill) -> f64 {
        let draw_s = self.onsale.at_s("draw_at").unwrap_or_default();
        kill.when.at_s(self.planned_s, draw_s)
    }

    /// Returns the number of people and bots together.
    pub fn comers(&self) -> usize {
        self.crowd.visitors + self.crowd.bots
    }
}

/// `[slow]`: the processes that host booking run for only 1/`factor` of the time.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedSlowdown {
    /// When the slowdown begins, in seconds after the start of the run.
    pub at_s: f64,
    /// How many times slower the processes run. It is above 1.
    pub factor: f64,
    /// How long the slowdown lasts, in seconds.
    pub for_s: f64,
}

/// `[cancel]`: the promoter cancels a show while the crowd buys its seats, and everything that was
/// paid for the show is refunded.
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
