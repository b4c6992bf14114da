//! `loadtest swarm`: a crowd of visitors who know only the public contract, from join to ticket.

mod clock;
mod faults;
mod figures;
mod history;
mod observer;
mod outcome;
mod plan;
mod progress;
mod promoter;
mod run;
mod scenario;
pub mod schedule;
mod scheduled_fault;
mod settle;
mod socket;
mod stage;
mod visitor;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;

use crate::rig::{PlannedKill, Rig, RigSpecification};
use outcome::SwarmOutcome;

pub use figures::SwarmReport;
pub use run::{SwarmEnvironment, SwarmFaults, play_scenario};
pub use scenario::{
    Scenario, ScenarioOnsale, ScenarioTrain, read_text as scenario_of, read_to_plan,
};
pub use socket::SwarmSeatSnapshot;

/// The command line of `loadtest swarm`.
#[derive(clap::Args)]
pub struct SwarmOptions {
    /// The scenario's file
    scenario: PathBuf,
    /// A running gateway, such as http://127.0.0.1:8080; the promoter's key is read from
    /// FAIRGATE_PROMOTER_KEY
    #[arg(long, conflicts_with = "rig", required_unless_present = "rig")]
    target: Option<String>,
    /// Starts the processes itself:
    /// gateways=3,bookings=2,redis=none|single|replica|sentinel|cluster,ledger=sqlite|postgres
    #[arg(long, num_args = 0..=1, default_missing_value = "")]
    rig: Option<RigSpecification>,
    /// Kills gateway, booking, redis or ledger without warning at shares of the planned duration,
    /// and starts it again: gateway@30%,gateway@60%. If there are several such processes,
    /// they are killed in turn
    #[arg(long, requires = "rig", value_delimiter = ',')]
    kill: Vec<PlannedKill>,
    /// The file of the history; without it the history is deleted after the verdict
    #[arg(long)]
    history: Option<PathBuf>,
    /// The file of the ledger's dump; without it the dump is deleted after the verdict
    #[arg(long, requires = "rig", conflicts_with = "no_verdict")]
    dump: Option<PathBuf>,
    /// Leaves the verdict to a later `loadtest verdict`
    #[arg(long)]
    no_verdict: bool,
    /// Prints all figures as one JSON document
    #[arg(long)]
    json: bool,
    /// Decides when visitors come and what they do
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// How a command ended, as an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadtestExitCode {
    /// Every threshold and invariant held.
    Held,
    /// A threshold or an invariant did not hold.
    Failed,
    /// The command line or the scenario is wrong; nothing was started.
    Usage,
    /// The swarm missed its own schedule, so the run proves nothing about the system.
    Invalid,
}

impl From<LoadtestExitCode> for std::process::ExitCode {
    fn from(ended: LoadtestExitCode) -> Self {
        Self::from(match ended {
            LoadtestExitCode::Held => 0,
            LoadtestExitCode::Failed => 99,
            LoadtestExitCode::Usage => 2,
            LoadtestExitCode::Invalid => 3,
        })
    }
}

/// Runs the swarm as the command line asks.
///
/// # Errors
/// Why the run could not be completed.
pub fn run(options: &SwarmOptions) -> anyhow::Result<LoadtestExitCode> {
    let scenario = match scenario::read(&options.scenario) {
        Ok(scenario) => scenario,
        Err(faults) => {
            let file = options.scenario.display();
            eprintln!("{file} cannot be played; nothing was started:");
            faults.iter().for_each(|fault| eprintln!("  - {fault}"));
            return Ok(LoadtestExitCode::Usage);
        }
    };
    if let Some(fault) = misfit(options, &scenario) {
        eprintln!("{fault} Nothing was started.");
        return Ok(LoadtestExitCode::Usage);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        tokio::select! {
            ended = perform(options, &scenario) => ended,
            // Dropping the run ends the processes of the rig and removes its folder.
            _ = tokio::signal::ctrl_c() => anyhow::bail!("interrupted"),
        }
    })
}

/// Returns why the run cannot start with this command line, scenario and environment, or `None` if
/// it can.
fn misfit(options: &SwarmOptions, scenario: &Scenario) -> Option<String> {
    if let Some(rig) = &options.rig {
        let kills = options.kill.iter();
        let mut spared = kills.filter_map(|kill| Some((kill.what, rig.why_no_target(kill.what)?)));
        return spared
            .next()
            .map(|(what, why)| format!("--kill {what}: {why}."));
    }
    if scenario.slow.is_some() || scenario.baseline.is_some() {
        return Some(
            "This scenario slows booking or runs a baseline on a system of its own, so it needs --rig."
                .to_owned(),
        );
    }
    let key = std::env::var("FAIRGATE_PROMOTER_KEY").unwrap_or_default();
    let target = options.target.as_deref().unwrap_or_default();
    if key.is_empty() {
        return Some(
            "FAIRGATE_PROMOTER_KEY is not set, and the on-sale cannot be applied without it."
                .to_owned(),
        );
    }
    (!target.starts_with("http://")).then(|| {
        format!("--target {target} is not an address such as http://127.0.0.1:8080; TLS is not spoken here.")
    })
}

async fn perform(options: &SwarmOptions, scenario: &Scenario) -> anyhow::Result<LoadtestExitCode> {
    let folder = tempfile::tempdir().context("no temporary folder could be made")?;
    let own = folder.path().join("history.jsonl");
    let history = options.history.as_deref().unwrap_or(&own);
    let baseline = match &scenario.baseline {
        None => None,
        Some(baseline) => {
            eprintln!("first the baseline");
            let aside = folder.path().join("baseline.jsonl");
            Some(run_once(options, baseline, &aside, &[]).await?.0)
        }
    };
    let kills = &options.kill;
    let (report, rig) = run_once(options, scenario, history, kills).await?;
    let judged = match rig {
        Some(rig) if !options.no_verdict => {
            Some(rig.judge(history, options.dump.as_deref()).await?)
        }
        _ => None,
    };
    let outcome = SwarmOutcome::from_report(scenario, report, baseline, judged, !kills.is_empty());
    outcome.print(options.seed, options.json)?;
    Ok(outcome.ended())
}

/// Runs the scenario once, in a new rig if the command line asks for a rig. Returns the figures and
/// the stopped rig, which the verdict needs.
async fn run_once(
    options: &SwarmOptions,
    scenario: &Scenario,
    history: &Path,
    kills: &[PlannedKill],
) -> anyhow::Result<(figures::SwarmReport, Option<Arc<Rig>>)> {
    let rig = match &options.rig {
        Some(spec) => Some(Arc::new(Rig::start(*spec).await?)),
        None => None,
    };
    let key = match &rig {
        Some(rig) => rig.promoter_key().to_owned(),
        None => std::env::var("FAIRGATE_PROMOTER_KEY").unwrap_or_default(),
    };
    let urls = match &rig {
        Some(rig) => rig.urls(),
        None => options.target.iter().cloned().collect(),
    };
    let ground = SwarmEnvironment {
        urls: &urls,
        key: &key,
        rig: rig.clone(),
        trouble: SwarmFaults::Kills(kills.to_vec()),
        seed: options.seed,
        history,
    };
    let report = play_scenario(scenario, &ground).await;
    if let Some(rig) = &rig {
        if report.is_err() {
            rig.tell_log();
        }
        rig.stop().await?;
    }
    Ok((report?, rig))
}
