//! Runs one worker process, which plays its share of the crowd and reports to the coordinator.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};

use super::message::{FinishedWork, WorkerReport, WorkerTask};
use crate::exit_code::LoadtestExitCode;
use crate::swarm::clock::SwarmClock;
use crate::swarm::crowd;
use crate::swarm::figures::SwarmTally;
use crate::swarm::history::HistoryWriter;
use crate::swarm::scenario::{self, Scenario};
use crate::swarm::shows::read_shows;
use crate::swarm::stage::{SwarmClients, SwarmContext};

/// The time between two reports of progress.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// Reads the task from standard input, plays its visitors, and writes reports to standard output.
///
/// # Errors
/// Why the visitors of this worker could not be played to their end.
pub fn run_worker() -> anyhow::Result<LoadtestExitCode> {
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .context("the task of this worker could not be read")?;
    let task: WorkerTask = serde_json::from_str(&line).context(
        "this command is started by `loadtest swarm --workers`, which sends it its task",
    )?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        tokio::select! {
            ended = play(task) => ended,
            _ = tokio::signal::ctrl_c() => anyhow::bail!("interrupted"),
        }
    })
}

async fn play(task: WorkerTask) -> anyhow::Result<LoadtestExitCode> {
    let scenario = scenario_of(&task)?;
    let clock = SwarmClock::joining(task.start_ms);
    let clients = SwarmClients::new(&task.urls, task.from, task.provider.as_deref());
    let shows = read_shows(&clients.gateways, &scenario).await?;
    let (history, writer) = HistoryWriter::create(&task.history)?;
    let tally = SwarmTally::new(scenario.comers());
    let key = task.keys.clone();
    let stage = SwarmContext::new(scenario, clock, clients, history, tally, shows, key);
    if let Some(cancel) = stage.scenario.cancel.clone() {
        let stage = Arc::clone(&stage);
        tokio::spawn(async move {
            // At this time the coordinator cancels the show. The worker only notes it.
            let at_ms = stage.clock.start_ms() + cancel.at_s * 1e3;
            tokio::time::sleep_until(stage.clock.instant(at_ms).into()).await;
            stage.cancel(&cancel.show);
        });
    }
    let reporting = tokio::spawn(report_progress(Arc::clone(&stage)));
    crowd::play(&stage, task.seed, |visitor| task.is_own(visitor)).await;
    reporting.abort();
    stage.history.close();
    tokio::task::spawn_blocking(|| writer.finish()).await??;
    report(&WorkerReport::Done(Box::new(FinishedWork {
        measured: stage.tally.part(|visitor| task.is_own(visitor)),
        lapses_ms: stage.lapses_ms(),
        paid: stage.unsettled_orders(),
    })))?;
    Ok(LoadtestExitCode::Held)
}

fn scenario_of(task: &WorkerTask) -> anyhow::Result<Scenario> {
    let scenario = scenario::read(&task.scenario).map_err(|faults| anyhow!(faults.join("; ")))?;
    if !task.baseline {
        return Ok(scenario);
    }
    let baseline = scenario.baseline.context("the scenario has no baseline")?;
    Ok(*baseline)
}

async fn report_progress(stage: Arc<SwarmContext>) {
    let mut tick = tokio::time::interval(REPORT_EVERY);
    loop {
        tick.tick().await;
        if report(&WorkerReport::Progress(stage.progress())).is_err() {
            // The coordinator is gone, so nobody will judge this run.
            stage.end();
            return;
        }
    }
}

fn report(report: &WorkerReport) -> anyhow::Result<()> {
    let line = serde_json::to_string(report)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
