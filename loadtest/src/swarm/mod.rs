//! Runs `loadtest swarm`. It plays a crowd of visitors from join to ticket. The visitors know only
//! the public contract.

mod beside;
mod clock;
mod crowd;
mod faults;
mod figures;
mod history;
mod observer;
mod outcome;
mod page;
mod plan;
mod processors;
mod progress;
mod promoter;
mod run;
mod scenario;
pub mod schedule;
mod scheduled_fault;
mod settle;
mod shows;
mod socket;
mod stage;
mod target;
mod visitor;
mod workers;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;

use crate::compare::FigureFile;
use crate::exit_code::LoadtestExitCode;
use crate::http::{LoadHttpClient, SourceNetwork};
use crate::output::unless_closed;
use crate::rig::{PlannedKill, Rig, RigFeatures, RigSpecification};
use outcome::SwarmOutcome;
use run::SwarmWorkers;

pub use figures::SwarmReport;
pub use run::{SwarmEnvironment, SwarmFaults, play_scenario};
pub use scenario::{
    CrowdSettings, Scenario, ScenarioOnsale, TrainPlan, line_train, read_text as scenario_of,
    read_to_plan,
};
pub use socket::SwarmSeatSnapshot;
pub use workers::{WORKER_COMMAND, run_worker};

/// The command line of `loadtest swarm`.
#[derive(clap::Args)]
pub struct SwarmOptions {
    /// The scenario's file
    scenario: PathBuf,
    /// Running gateways, such as http://127.0.0.1:8080, separated by commas. The promoter's key is
    /// read from FAIRGATE_PROMOTER_KEY. If the scenario scans tickets, a door's key is read from
    /// FAIRGATE_DOOR_KEY
    #[arg(
        long,
        conflicts_with = "rig",
        required_unless_present = "rig",
        value_delimiter = ','
    )]
    target: Vec<String>,
    /// Starts its own processes:
    /// gateways=3,bookings=2,redis=none|single|replica|sentinel|cluster,ledger=sqlite|postgres
    #[arg(long, num_args = 0..=1, default_missing_value = "")]
    rig: Option<RigSpecification>,
    /// Kills gateway, booking, redis or ledger without warning, and starts it again. The time is a
    /// share of the planned duration or a time after the draw: gateway@30%,gateway@draw+60s. If
    /// there are several such processes, they are killed in turn
    #[arg(long, requires = "rig", value_delimiter = ',')]
    kill: Vec<PlannedKill>,
    /// The file for the history. Without this option the history is deleted after the verdict
    #[arg(long)]
    history: Option<PathBuf>,
    /// The file for the ledger's dump. Without this option the dump is deleted after the verdict
    #[arg(long, conflicts_with = "no_verdict")]
    dump: Option<PathBuf>,
    /// Shares the visitors among this many processes. One process can open only a limited number of
    /// sockets
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    workers: u16,
    /// Makes the calls from the addresses of this network, such as 127.9.0.0/16. The machine must
    /// have these addresses
    #[arg(long, value_name = "CIDR")]
    from: Option<SourceNetwork>,
    /// Leaves the verdict to a later `loadtest verdict`
    #[arg(long)]
    no_verdict: bool,
    /// Writes the result with charts into this file, an HTML page that needs no other file. Also
    /// writes, beside it, the figures as .json and the points of the charts as .csv
    #[arg(long, value_parser = crate::html::page_file)]
    html: Option<PathBuf>,
    /// The file with the figures of an earlier run, as --json printed them. The report shows what
    /// differs
    #[arg(long)]
    baseline: Option<PathBuf>,
    /// Prints all figures as one JSON document
    #[arg(long)]
    json: bool,
    /// Decides when visitors come and what they do
    #[arg(long, default_value_t = 1)]
    seed: u64,
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
    if let Some(fault) = why_it_cannot_start(options, &scenario) {
        eprintln!("{fault} Nothing was started.");
        return Ok(LoadtestExitCode::Usage);
    }
    let earlier = options.baseline.as_deref().map(FigureFile::read);
    let earlier = match earlier.transpose() {
        Ok(earlier) => earlier,
        Err(fault) => {
            eprintln!("--baseline {fault}. Nothing was started.");
            return Ok(LoadtestExitCode::Usage);
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        tokio::select! {
            ended = perform(options, &scenario, earlier) => ended,
            // When the run is dropped, the processes of the rig end and its folder is removed.
            _ = tokio::signal::ctrl_c() => anyhow::bail!("interrupted"),
        }
    })
}

/// Returns why the run cannot start with this command line, scenario and environment, or `None` if
/// it can.
fn why_it_cannot_start(options: &SwarmOptions, scenario: &Scenario) -> Option<String> {
    if let Some(network) = options.from
        && let Some(missing) = LoadHttpClient::missing_source(network)
    {
        return Some(format!(
            "--from {network}: this machine has no address {missing}. `ip route add local {network} dev lo` gives it the whole network."
        ));
    }
    let late = |kill: &&PlannedKill| scenario.kill_s(kill) >= scenario.deadline_s;
    if let Some(kill) = options.kill.iter().find(late) {
        return Some(format!(
            "--kill {}@{}: the run ends {} s after its start, before that.",
            kill.what, kill.when, scenario.deadline_s
        ));
    }
    if let Some(rig) = &options.rig {
        let kills = options.kill.iter();
        let mut missing = kills.filter_map(|kill| Some((kill.what, kill.what.why_missing(rig)?)));
        return missing
            .next()
            .map(|(what, why)| format!("--kill {what}: {why}."));
    }
    if !scenario.onsale.train_plans().is_empty() {
        return Some("This scenario sells a train. Only --rig imports its timetable.".to_owned());
    }
    if scenario.slow.is_some() || scenario.baseline.is_some() {
        return Some(
            "This scenario slows booking or runs a baseline on a system of its own, so it needs --rig."
                .to_owned(),
        );
    }
    if promoter_key().is_empty() {
        return Some(
            "FAIRGATE_PROMOTER_KEY is not set, and the on-sale cannot be applied without it."
                .to_owned(),
        );
    }
    if scenario.behaviour.scan > 0.0 && door_key().is_empty() {
        return Some(
            "FAIRGATE_DOOR_KEY is not set, and this scenario scans tickets, which only a door's key does."
                .to_owned(),
        );
    }
    let mut targets = options.target.iter();
    let target = targets.find(|target| !target.starts_with("http://"))?;
    Some(format!(
        "--target {target} is not an address such as http://127.0.0.1:8080; TLS is not supported."
    ))
}

async fn perform(
    options: &SwarmOptions,
    scenario: &Scenario,
    earlier: Option<FigureFile>,
) -> anyhow::Result<LoadtestExitCode> {
    let folder = tempfile::tempdir().context("no temporary folder could be made")?;
    let default_history = folder.path().join("history.jsonl");
    let history = options.history.as_deref().unwrap_or(&default_history);
    let baseline = match &scenario.baseline {
        None => None,
        Some(baseline) => {
            eprintln!("first the baseline");
            let baseline_history = folder.path().join("baseline.jsonl");
            Some(
                run_once(options, baseline, true, (&baseline_history, &[]))
                    .await?
                    .0,
            )
        }
    };
    let kills = &options.kill;
    let (report, rig) = run_once(options, scenario, false, (history, kills)).await?;
    let judged = match rig {
        _ if options.no_verdict => None,
        Some(rig) => Some(rig.judge(history, options.dump.as_deref()).await?),
        None => {
            let default_dump = folder.path().join("ledger.jsonl");
            let dump = options.dump.as_deref().unwrap_or(&default_dump);
            Some(target::judge(&options.target, &promoter_key(), history, dump).await?)
        }
    };
    let outcome = SwarmOutcome::from_report(scenario, report, baseline, judged, !kills.is_empty());
    unless_closed(outcome.print(options.seed, options.json))?;
    beside::write(options, &outcome, earlier.as_ref())?;
    Ok(outcome.exit_code())
}

/// Returns the features that the rig must be started with for this scenario.
fn features(scenario: &Scenario) -> RigFeatures {
    RigFeatures {
        proxied: scenario.crowd.bots > 0,
        train: !scenario.onsale.trains().is_empty(),
        ..RigFeatures::default()
    }
}

/// Returns the promoter's key of a running installation; empty if it is not set.
fn promoter_key() -> String {
    std::env::var("FAIRGATE_PROMOTER_KEY").unwrap_or_default()
}

/// Returns the key that scans tickets of a running installation; empty if it is not set.
fn door_key() -> String {
    std::env::var("FAIRGATE_DOOR_KEY").unwrap_or_default()
}

/// Runs the scenario once, in a new rig if the command line asks for a rig. Returns the figures and
/// the stopped rig, which the verdict needs.
async fn run_once(
    options: &SwarmOptions,
    scenario: &Scenario,
    is_baseline: bool,
    (history, kills): (&Path, &[PlannedKill]),
) -> anyhow::Result<(figures::SwarmReport, Option<Arc<Rig>>)> {
    let rig = match &options.rig {
        Some(spec) => Some(Arc::new(Rig::start_with(*spec, features(scenario)).await?)),
        None => None,
    };
    let key = match &rig {
        Some(rig) => rig.promoter_key().to_owned(),
        None => promoter_key(),
    };
    let door_key = match &rig {
        Some(rig) => rig.door_key().to_owned(),
        None => door_key(),
    };
    let urls = match &rig {
        Some(rig) => rig.urls(),
        None => options.target.clone(),
    };
    let ground = SwarmEnvironment {
        urls: &urls,
        key: &key,
        door_key: &door_key,
        rig: rig.clone(),
        trouble: SwarmFaults::Kills(kills.to_vec()),
        seed: options.seed,
        history,
        from: options.from,
        workers: (options.workers > 1).then(|| SwarmWorkers {
            count: options.workers.into(),
            scenario: options.scenario.clone(),
            baseline: is_baseline,
        }),
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
