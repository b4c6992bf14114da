//! Shares a crowd among several processes, because one process can open only a limited number of
//! files. The coordinator applies the on-sale, watches the seats, inflicts the faults and judges
//! the run. The worker processes play the visitors.

mod message;
mod process;

use std::process::Stdio;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use futures_util::future::try_join_all;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

use super::stage::SwarmContext;
use message::{FinishedWork, WorkerReport};

pub use message::WorkerTask;
pub use process::run_worker;

/// The command with which this program starts its worker processes.
pub const WORKER_COMMAND: &str = "swarm-worker";

/// Plays the crowd in as many processes as `task` says. Adds their measurements and histories to
/// the context. Each worker gets `task` with a number and a history file of its own.
///
/// # Errors
/// If a worker ended before its visitors were done.
pub async fn play(stage: &Arc<SwarmContext>, task: &WorkerTask) -> anyhow::Result<()> {
    let folder = tempfile::tempdir().context("no temporary folder could be made")?;
    let tasks: Vec<WorkerTask> = (0..task.of)
        .map(|index| WorkerTask {
            index,
            history: folder.path().join(format!("history-{index}.jsonl")),
            ..task.clone()
        })
        .collect();
    let working = tasks.iter().map(|task| work(stage, task));
    // If one of them fails, the others are dropped, which ends their processes.
    let finished = try_join_all(working).await?;
    stage.end();
    stage.forget_workers();
    for (task, work) in tasks.iter().zip(finished) {
        stage.history.add_file(&task.history)?;
        stage.tally.add_part(work.measured);
        stage.note_abandoned(work.lapses_ms);
        work.paid
            .into_iter()
            .for_each(|paid| stage.note_paid_order(paid));
    }
    Ok(())
}

/// Runs one worker process to its end.
async fn work(stage: &SwarmContext, task: &WorkerTask) -> anyhow::Result<FinishedWork> {
    let program = std::env::current_exe().context("this program does not know where it is")?;
    let mut process = Command::new(program)
        .arg(WORKER_COMMAND)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("a worker process could not be started")?;
    let mut input = process.stdin.take().context("a worker takes no task")?;
    let mut line = serde_json::to_vec(task)?;
    line.push(b'\n');
    input.write_all(&line).await?;
    let output = process.stdout.take().context("a worker reports nothing")?;
    let mut reports = BufReader::new(output).lines();
    let mut finished = None;
    while let Some(line) = reports.next_line().await? {
        match serde_json::from_str(&line).context("a report of a worker could not be read")? {
            WorkerReport::Progress(progress) => stage.note_worker(task.index, progress),
            WorkerReport::Done(work) => finished = Some(work),
        }
    }
    let ended = process.wait().await?;
    ensure!(ended.success(), "worker {} failed: {ended}", task.index);
    match finished {
        Some(work) => Ok(*work),
        None => bail!("worker {} ended before its visitors were done", task.index),
    }
}
