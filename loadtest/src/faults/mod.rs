//! Runs `loadtest faults`. For each seed, it starts real processes, lets a crowd buy, and inflicts
//! faults. The seed decides which faults come and when. Each run ends with the verdict.

mod page;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use serde_json::{Value, json};

use crate::exit_code::LoadtestExitCode;
use crate::output::print_line;
use crate::rig::{Rig, RigFeatures, RigPaymentProvider, RigSpecification, SmallDisk};
use crate::swarm::schedule::{self, FaultAction, ScheduledFault};
use crate::swarm::{
    Scenario, SwarmEnvironment, SwarmFaults, SwarmReport, line_train, play_scenario, scenario_of,
};
use crate::verdict::RunVerdict;

/// The scenario of the crowd. Its `hold_s`, `grace_s` and `claim_grace_s` are short, so that
/// everything is final soon.
const CROWD: &str = include_str!("../../scenarios/faults.toml");
/// Seats and money must be final within this many seconds after the crowd has gone and all faults
/// are healed.
const FINAL_WITHIN_S: f64 = 10.0;
/// How many seats of a show one card may buy. The limit applies only if the provider can tell cards
/// apart.
const SEATS_PER_CARD: u64 = 4;
/// The options of `loadtest faults`.
#[derive(clap::Args)]
pub struct FaultTrialOptions {
    /// How many seeds to play, counted from 1
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Plays only these seeds, such as 3,17,40
    #[arg(long, conflicts_with = "seeds", value_delimiter = ',')]
    seed: Vec<u64>,
    /// The processes. Without this option, they change from seed to seed, in rounds of ten. Eight
    /// seeds have gateways=2,bookings=2,ledger=postgres: each of the four forms of Redis with the
    /// sandbox, and then each with payments=stripe. Two seeds have everything in one process on
    /// SQLite
    #[arg(long)]
    rig: Option<RigSpecification>,
    /// Writes the results into this file, an HTML page that needs nothing else. Beside it, writes
    /// the figures as .json and the points of the charts as .csv
    #[arg(long, value_parser = crate::html::page_file)]
    html: Option<PathBuf>,
    /// Prints the results of all seeds as one JSON document
    #[arg(long)]
    json: bool,
}

/// The result of one seed.
struct FaultTrial {
    seed: u64,
    spec: RigSpecification,
    strikes: Vec<ScheduledFault>,
    took_s: f64,
    /// The figures of the crowd, or `None` if an error ended the scenario, for instance because a
    /// process did not start again.
    report: Option<SwarmReport>,
    judged: Option<RunVerdict>,
    /// Why the trial failed. Empty if everything held.
    faults: Vec<String>,
}

impl FaultTrialOptions {
    /// Plays every seed.
    ///
    /// # Errors
    /// If a seed cannot be judged: a program is missing, a server does not start, there is no
    /// verdict, or the run is interrupted.
    pub fn run(&self) -> anyhow::Result<LoadtestExitCode> {
        let scenario = scenario_of("faults", CROWD).map_err(|faults| {
            anyhow::anyhow!("the crowd cannot be played: {}", faults.join("; "))
        })?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        let trials = runtime.block_on(async {
            tokio::select! {
                trials = self.trials(&scenario) => trials,
                // Dropping the run ends the processes of the rig and removes its folder.
                _ = tokio::signal::ctrl_c() => anyhow::bail!("interrupted"),
            }
        })?;
        self.print(&trials)?;
        if let Some(file) = &self.html {
            page::page(&trials).write(file, &document(&trials))?;
        }
        let held = trials.iter().all(|trial| trial.faults.is_empty());
        Ok(if held {
            LoadtestExitCode::Held
        } else {
            LoadtestExitCode::Failed
        })
    }

    async fn trials(&self, scenario: &Scenario) -> anyhow::Result<Vec<FaultTrial>> {
        let seeds: Vec<u64> = match self.seed.is_empty() {
            false => self.seed.clone(),
            true => (1..=self.seeds).collect(),
        };
        let mut trials = Vec::new();
        for seed in seeds {
            let spec = self.rig.unwrap_or_else(|| schedule::spec_of_seed(seed));
            let trial = trial(scenario, seed, spec).await?;
            eprintln!("{}", trial.line());
            trials.push(trial);
        }
        Ok(trials)
    }

    fn print(&self, trials: &[FaultTrial]) -> std::io::Result<()> {
        let hits = hits(trials);
        let held = trials.iter().filter(|trial| trial.faults.is_empty());
        let (held, count) = (held.count(), trials.len());
        if self.json {
            return print_line(format_args!("{:#}", document(trials)));
        }
        for (kind, count) in &hits {
            print_line(format_args!("{count:5}  {kind}"))?;
        }
        print_line(format_args!("{held} of {count} seeds held"))
    }
}

/// Runs one seed from the start of its rig to its verdict. If an error occurs while the crowd plays
/// or while the rig is stopped, the seed has failed. Any other error ends the command.
async fn trial(
    scenario: &Scenario,
    seed: u64,
    spec: RigSpecification,
) -> anyhow::Result<FaultTrial> {
    let mut strikes = schedule::draw(seed, spec);
    let fills = |strike: &ScheduledFault| strike.what == FaultAction::FullDisk;
    if strikes.iter().any(fills) && !SmallDisk::can_be_had() {
        eprintln!("seed {seed}: no disk is filled, because this user may not mount one");
        strikes.retain(|strike| !fills(strike));
    }
    let scenario = &with_train_and_limits(scenario, spec)?;
    let rig = Arc::new(Rig::start_with(spec, breakable(&strikes)).await?);
    let begun = Instant::now();
    let history = rig.folder().join("history.jsonl");
    let environment = SwarmEnvironment {
        urls: &rig.urls(),
        key: rig.promoter_key(),
        door_key: rig.door_key(),
        rig: Some(Arc::clone(&rig)),
        trouble: SwarmFaults::Strikes(strikes.clone()),
        seed,
        history: &history,
        from: None,
        workers: None,
    };
    let played = play_scenario(scenario, &environment).await;
    let mut faults = Vec::new();
    let report = played
        .map_err(|error| faults.push(format!("{error:#}")))
        .ok();
    faults.extend(report.as_ref().and_then(not_final_in_time));
    if let Err(error) = rig.stop().await {
        faults.push(format!("{error:#}"));
    }
    let judged = match &report {
        None => None,
        Some(_) => Some(rig.judge(&history, None).await.context("the verdict")?),
    };
    if judged.as_ref().is_some_and(|judged| !judged.held) {
        faults.push("the verdict does not hold".to_owned());
    }
    if !faults.is_empty() {
        faults.push(format!(
            "logs, history and dump are kept in {}",
            rig.keep_folder()
        ));
    }
    Ok(FaultTrial {
        seed,
        spec,
        strikes,
        took_s: begun.elapsed().as_secs_f64(),
        report,
        judged,
        faults,
    })
}

/// Returns the scenario with a train on sale. If the provider can tell cards apart, each card also
/// has a limit.
fn with_train_and_limits(scenario: &Scenario, spec: RigSpecification) -> anyhow::Result<Scenario> {
    let mut scenario = scenario.clone();
    if spec.payments == RigPaymentProvider::Stripe {
        scenario.onsale.limit_cards(SEATS_PER_CARD);
    }
    scenario.onsale.sell_train(line_train()?);
    Ok(scenario)
}

/// Returns a message if seats or money were not final in time, and otherwise `None`.
fn not_final_in_time(report: &SwarmReport) -> Option<String> {
    match report.figures.get("settled_s") {
        None => Some(format!(
            "seats, money or refunds were not final {FINAL_WITHIN_S} s after healing"
        )),
        Some(settled_s) => (*settled_s > FINAL_WITHIN_S)
            .then(|| format!("everything was final only {settled_s:.1} s after healing")),
    }
}

/// Returns the features that the rig must be started with for these faults.
fn breakable(strikes: &[ScheduledFault]) -> RigFeatures {
    let any_strike = |is: fn(&FaultAction) -> bool| strikes.iter().any(|strike| is(&strike.what));
    RigFeatures {
        redis_clocks: any_strike(|what| matches!(what, FaultAction::Clock(_))),
        clocks: any_strike(|what| matches!(what, FaultAction::NodeClock(..))),
        commits: any_strike(|what| matches!(what, FaultAction::CutCommits)),
        disk: any_strike(|what| matches!(what, FaultAction::FullDisk)),
        train: true,
        ..RigFeatures::default()
    }
}

/// Returns the results of all seeds as one JSON document.
fn document(trials: &[FaultTrial]) -> Value {
    let held = trials.iter().all(|trial| trial.faults.is_empty());
    let documents: Vec<Value> = trials.iter().map(FaultTrial::document).collect();
    json!({"held": held, "hits": hits(trials), "trials": documents})
}

/// Counts the planned faults of all trials by kind. A kind without faults is listed with 0.
fn hits(trials: &[FaultTrial]) -> BTreeMap<String, u64> {
    let kinds = schedule::KINDS.iter().map(|kind| ((*kind).to_owned(), 0));
    let mut hits: BTreeMap<String, u64> = kinds.collect();
    for trial in trials {
        for strike in &trial.strikes {
            *hits.entry(strike.what.kind(trial.spec)).or_default() += 1;
        }
    }
    hits
}

impl FaultTrial {
    /// Returns one line for the trial, with the reasons for a failure below it.
    fn line(&self) -> String {
        let strikes: Vec<String> = self.strikes.iter().map(ScheduledFault::to_string).collect();
        let figure = |name: &str| {
            let figures = self.report.as_ref().map(|report| &report.figures);
            figures.and_then(|figures| figures.get(name)).copied()
        };
        let verdict = if self.faults.is_empty() {
            "held"
        } else {
            "FAILED"
        };
        let judged = self.judged.as_ref();
        let refunds = judged.and_then(|judged| judged.document["judged"]["refunds"].as_u64());
        let settled = figure("settled_s").map_or_else(
            || "never final".to_owned(),
            |settled_s| format!("final {settled_s:.1} s after healing"),
        );
        let mut line = format!(
            "{verdict:6} seed {} on {}: {}; {:.0} joined, {:.0} bought, {} refunds, {settled}, {:.1} s in all",
            self.seed,
            self.spec,
            strikes.join(", "),
            figure("joined").unwrap_or_default(),
            figure("purchases").unwrap_or_default(),
            refunds.unwrap_or_default(),
            self.took_s,
        );
        for fault in &self.faults {
            line.push_str(&format!("\n       {fault}"));
        }
        if let Some(judged) = self.judged.as_ref().filter(|judged| !judged.held) {
            line.push('\n');
            line.push_str(judged.told.trim_end());
        }
        line
    }

    fn document(&self) -> Value {
        let strikes = self.strikes.iter().map(|strike| {
            json!({"what": strike.what.to_string(), "at_s": strike.at_s, "for_s": strike.for_s})
        });
        json!({
            "seed": self.seed, "rig": self.spec.to_string(), "strikes": strikes.collect::<Vec<_>>(),
            "held": self.faults.is_empty(), "faults": self.faults, "took_s": self.took_s,
            "figures": self.report.as_ref().map(|report| &report.figures),
            "outcomes": self.report.as_ref().map(|report| &report.outcomes),
            "verdict": self.judged.as_ref().map(|judged| &judged.document),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_that_never_became_final_is_not_told_as_final_at_once() {
        let trial = FaultTrial {
            seed: 1,
            spec: RigSpecification::default(),
            strikes: Vec::new(),
            took_s: 200.0,
            report: None,
            judged: None,
            faults: vec!["seats were not final".to_owned()],
        };
        let line = trial.line();
        assert!(line.contains("never final, 200.0 s in all"), "{line}");
    }
}
