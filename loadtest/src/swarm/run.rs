//! Runs a scenario once against running gateways: applies the on-sale, starts the visitors, waits
//! until seats and money are final, and records the final state.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use hyper::Method;
use serde_json::{Value, json};

use super::clock::SwarmClock;
use super::figures::{RunConditions, SwarmReport, SwarmTally};
use super::history::HistoryWriter;
use super::scenario::{PromoterCall, Scenario};
use super::schedule::ScheduledFault;
use super::scheduled_fault;
use super::shows::read_shows;
use super::stage::{StaffKeys, SwarmClients, SwarmContext, SwarmShow, round};
use super::workers::WorkerTask;
use super::{crowd, faults, observer, processors, progress, promoter, settle, workers};
use crate::http::{LoadHttpCall, LoadHttpClient, SourceNetwork};
use crate::rig::{PlannedKill, Rig};
use crate::verdict::oracle;

/// The longest time that the last changes take to reach the observers.
const LAST_FRAMES: Duration = Duration::from_millis(2_000);

/// What a run needs in addition to the scenario.
pub struct SwarmEnvironment<'a> {
    /// The addresses of the gateways, `http://…`.
    pub urls: &'a [String],
    /// The promoter's key.
    pub key: &'a str,
    /// The key that scans tickets. It is not used if nobody scans any.
    pub door_key: &'a str,
    /// The rig, if the swarm started the processes itself.
    pub rig: Option<Arc<Rig>>,
    /// The faults that are inflicted on the system.
    pub trouble: SwarmFaults,
    /// The seed that the crowd is planned from.
    pub seed: u64,
    /// The file of the history.
    pub history: &'a Path,
    /// The network whose addresses the calls come from.
    pub from: Option<SourceNetwork>,
    /// The processes that share the crowd; `None` if this process plays it.
    pub workers: Option<SwarmWorkers>,
}

/// The processes that share a crowd.
#[derive(Debug, Clone)]
pub struct SwarmWorkers {
    /// How many processes there are.
    pub count: usize,
    /// The scenario's file, which each of them reads.
    pub scenario: PathBuf,
    /// Whether they play the scenario's baseline.
    pub baseline: bool,
}

/// The faults that are inflicted on the system during the run.
pub enum SwarmFaults {
    /// Kills, each at its time.
    Kills(Vec<PlannedKill>),
    /// A schedule of faults. The run does not end before everything is healed.
    Strikes(Vec<ScheduledFault>),
}

impl SwarmEnvironment<'_> {
    fn keys(&self) -> StaffKeys {
        StaffKeys {
            door: self.door_key.to_owned(),
            promoter: self.key.to_owned(),
        }
    }

    /// Returns the address of the payment provider, or `None` if no rig runs one.
    fn provider(&self) -> Option<&str> {
        Some(self.rig.as_ref()?.stripe()?.url())
    }

    fn clients(&self) -> SwarmClients {
        SwarmClients::new(self.urls, self.from, self.provider())
    }

    /// Plays the crowd in this process, or in worker processes.
    async fn play_crowd(&self, stage: &Arc<SwarmContext>) -> anyhow::Result<()> {
        let Some(workers) = &self.workers else {
            crowd::play(stage, self.seed, |_| true).await;
            return Ok(());
        };
        let task = WorkerTask {
            scenario: workers.scenario.clone(),
            baseline: workers.baseline,
            urls: self.urls.to_vec(),
            provider: self.provider().map(str::to_owned),
            keys: self.keys(),
            seed: self.seed,
            start_ms: stage.clock.start_ms(),
            index: 0,
            of: workers.count,
            from: self.from,
            history: PathBuf::new(),
        };
        workers::play(stage, &task).await
    }
}

/// Plays the scenario once, and returns its figures.
///
/// # Errors
/// Why the run could not be completed.
pub async fn play_scenario(
    scenario: &Scenario,
    environment: &SwarmEnvironment<'_>,
) -> anyhow::Result<SwarmReport> {
    let clients = environment.clients();
    let http = &clients.gateways;
    let (venues, _) = split(scenario.onsale.steps(jiff::Timestamp::now()));
    apply(http, environment.key, &venues).await?;
    // The gateway may need a second to read a large plan, and no visitor should wait for that. The
    // clock therefore starts only after the venues are applied.
    let clock = SwarmClock::start();
    let (_, sale_steps) = split(scenario.onsale.steps(clock.started()));
    apply(http, environment.key, &sale_steps).await?;
    let shows = read_shows(http, scenario).await?;
    trains_are_as_planned(scenario, &shows)?;
    let (history, writer) = HistoryWriter::create(environment.history)?;
    write_beginning(&history, scenario, environment, clock, &shows);
    let tally = SwarmTally::new(scenario.comers());
    let keys = environment.keys();
    let stage = SwarmContext::new(
        scenario.clone(),
        clock,
        clients,
        history,
        tally,
        shows,
        keys,
    );

    let observers = observer::open(&stage).await?;
    // `loadtest faults` shows no progress, because it runs many seeds and nobody watches each.
    let progress_task = matches!(environment.trouble, SwarmFaults::Kills(_));
    let progress_task = progress_task.then(|| tokio::spawn(progress::show(Arc::clone(&stage))));
    let cpu_watch = environment.rig.clone();
    let cpu_watch = cpu_watch.map(|rig| tokio::spawn(processors::watch(Arc::clone(&stage), rig)));
    let crowd_result = crowd_in_trouble(&stage, environment).await;
    if let Some(cpu_watch) = cpu_watch {
        cpu_watch.abort();
    }
    crowd_result?;
    let end_ms = stage.clock.now_ms();
    if let Some(rig) = &environment.rig {
        rig.wake();
    }
    all_kills_were_inflicted(&stage, &environment.trouble)?;
    let settled_ms = settle::settle(&stage, environment.rig.as_deref(), environment.key).await;
    if let Some(progress_task) = progress_task {
        progress_task.abort();
        progress::end_line();
    }
    tokio::time::sleep(LAST_FRAMES).await;
    write_finals(&stage).await?;
    drop(observers);

    let memory = environment
        .rig
        .as_ref()
        .map(|rig| rig.memory(clock.start_ms()));
    let setting = RunConditions {
        start_ms: clock.start_ms(),
        end_ms,
        settled_ms,
        draw_ms: clock.start_ms() + scenario.onsale.at_s("draw_at").unwrap_or_default() * 1e3,
        per_s: scenario.onsale.number("per_s").unwrap_or(500.0),
        p99_ms: scenario.onsale.number("p99_ms").unwrap_or(300.0),
        people: scenario.crowd.visitors,
        cpus: cpus(environment.rig.as_deref()),
        memory: memory.unwrap_or_default(),
        promoters_report: promoter::room_report(&stage, environment.key).await,
    };
    let report = SwarmReport::from_measurements(&stage.tally.seen(), &setting);
    write_ending(&stage, &report, settled_ms.is_some());
    stage.history.close();
    tokio::task::spawn_blocking(|| writer.finish()).await??;
    Ok(report)
}

/// Fails if a train does not have the number of seats that its `[[train]]` says. A plan of the same
/// file would then predict a different sale.
fn trains_are_as_planned(scenario: &Scenario, shows: &[SwarmShow]) -> anyhow::Result<()> {
    let trains = shows.iter().filter(|show| show.train.is_some());
    for (plan, train) in scenario.onsale.train_plans().iter().zip(trains) {
        ensure!(
            plan.seats as usize == train.labels.len(),
            "train \"{}\" has {} seats, and the scenario says {}",
            plan.id,
            train.labels.len(),
            plan.seats
        );
    }
    Ok(())
}

/// Returns how many processors a rig may use. Without a limit, it may use all.
fn cpus(rig: Option<&Rig>) -> usize {
    let limit = rig.and_then(|rig| rig.spec().cpus);
    limit.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Runs the crowd. Meanwhile cancels a show and changes the room if the scenario says so, and
/// inflicts the faults of the run. Returns when the crowd is done, scheduled faults are healed and
/// the show is cancelled.
async fn crowd_in_trouble(
    stage: &Arc<SwarmContext>,
    environment: &SwarmEnvironment<'_>,
) -> anyhow::Result<()> {
    let cancelling = stage.scenario.cancel.clone().map(|cancel| {
        let stage = Arc::clone(stage);
        tokio::spawn(promoter::cancel(stage, environment.key.to_owned(), cancel))
    });
    let changing = promoter::change_room(
        Arc::clone(stage),
        environment.key.to_owned(),
        stage.scenario.live_changes.clone(),
    );
    let changing = tokio::spawn(changing);
    match (&environment.rig, &environment.trouble) {
        (Some(rig), SwarmFaults::Strikes(strikes)) => {
            let strikes =
                scheduled_fault::inflict(Arc::clone(stage), Arc::clone(rig), strikes.clone());
            let strikes = tokio::spawn(strikes);
            environment.play_crowd(stage).await?;
            strikes.await??;
        }
        (Some(rig), SwarmFaults::Kills(kills)) => {
            let kills = faults::inflict(Arc::clone(stage), Arc::clone(rig), kills.clone());
            let kills = tokio::spawn(kills);
            environment.play_crowd(stage).await?;
            // No visitor is left whom a kill could disturb, so kills that have not happened by now
            // are dropped. `all_kills_were_inflicted` then fails the run.
            kills.abort();
            let _ = kills.await;
        }
        (None, _) => environment.play_crowd(stage).await?,
    }
    if let Some(cancelling) = cancelling {
        cancelling.await??;
    }
    ensure!(
        changing.is_finished(),
        "not all changes of the room were made: the crowd was done before"
    );
    changing.await?
}

/// Fails if a planned kill did not happen, or if the killed process did not become ready again.
fn all_kills_were_inflicted(stage: &SwarmContext, trouble: &SwarmFaults) -> anyhow::Result<()> {
    let SwarmFaults::Kills(kills) = trouble else {
        return Ok(());
    };
    let measurements = stage.tally.seen();
    let killed = measurements
        .disturbances
        .iter()
        .filter(|disturbance| !disturbance.slow)
        .count();
    ensure!(
        killed == kills.len(),
        "only {killed} of {} kills happened and ended with a ready process: the crowd was done before, or a killed process did not come back",
        kills.len()
    );
    Ok(())
}

fn write_ending(stage: &SwarmContext, report: &SwarmReport, is_settled: bool) {
    if is_settled {
        let at_ms = round(stage.clock.now_ms());
        stage.history.write("settled", json!({ "at_ms": at_ms }));
    }
    stage.history.write(
        "finished",
        json!({"at_ms": round(stage.clock.now_ms()), "figures": report.figures}),
    );
}

/// Splits the calls into the calls for venues and all others.
fn split(steps: Vec<PromoterCall>) -> (Vec<PromoterCall>, Vec<PromoterCall>) {
    steps
        .into_iter()
        .partition(|step| step.path.starts_with("/v1/promoter/venues/"))
}

async fn apply(http: &LoadHttpClient, key: &str, steps: &[PromoterCall]) -> anyhow::Result<()> {
    for step in steps {
        let body: Value = serde_json::from_str(&step.body)
            .with_context(|| format!("the document of {} is not JSON", step.what))?;
        let call = LoadHttpCall {
            body: Some(body),
            ..LoadHttpCall::new(Method::PUT, step.path.clone())
        }
        .bearer(key);
        let answer = http.send(&call, 0).await.map_err(anyhow::Error::msg)?;
        if !answer.is_ok() {
            bail!(
                "{} was refused ({}): {}",
                step.what,
                answer.status,
                String::from_utf8_lossy(&answer.body)
            );
        }
    }
    Ok(())
}

fn write_beginning(
    history: &HistoryWriter,
    scenario: &Scenario,
    ground: &SwarmEnvironment<'_>,
    clock: SwarmClock,
    shows: &[SwarmShow],
) {
    let (room_doc, show_docs) = scenario.onsale.documents(clock.started());
    history.write(
        "run",
        json!({
            "version": 1, "scenario": scenario.name, "seed": ground.seed,
            "started_ms": round(clock.start_ms()), "planned": scenario.comers(),
            "room": scenario.onsale.room(), "shows": shows.iter().map(|show| &show.id).collect::<Vec<_>>(),
            "room_doc": room_doc, "show_docs": show_docs,
            "cancels": scenario.cancel.as_ref().map(|cancel| &cancel.show),
            "rig": ground.rig.as_ref().map(|rig| rig.spec().to_string()),
        }),
    );
    for show in shows {
        history.write("seatmap", json!({"show": show.id, "labels": show.labels}));
    }
}

/// Gives a rank to visitors who never read theirs: the rank of the published draw, or the join
/// number if the draw does not contain the visitor. The line counts such visitors as long as it
/// assumes that they are present, so the figures of the pace need their ranks.
fn fill_missing_ranks(stage: &SwarmContext, record: &Value) {
    let seed = record["seed"]
        .as_str()
        .and_then(|hex| hex::decode(hex).ok());
    let drawn = match (
        seed.and_then(|seed| seed.try_into().ok()),
        record["n"].as_u64(),
    ) {
        (Some(seed), Some(n)) => oracle::line(&seed, n),
        _ => Vec::new(),
    };
    let ranks: HashMap<u64, u64> = drawn.into_iter().zip(0..).collect();
    for person in &mut stage.tally.seen().people {
        if let (None, Some(number)) = (person.rank, person.number) {
            person.rank = Some(ranks.get(&number).copied().unwrap_or(number));
        }
    }
}

async fn write_finals(stage: &SwarmContext) -> anyhow::Result<()> {
    for show in &stage.shows {
        let seats = settle::read_seats(stage, &show.id).await?;
        stage.history.write(
            "final_seats",
            json!({
                "show": show.id, "version": seats.version.to_string(),
                "packed": hex::encode(&seats.packed),
            }),
        );
    }
    let get = async |what: &str| {
        let call = LoadHttpCall::get(stage.room_path(what));
        stage.http.send(&call, 0).await.map_err(anyhow::Error::msg)
    };
    let record = get("draw").await?;
    if record.is_ok() {
        let leaves = get("draw/leaves").await?;
        let leaves = leaves.is_ok().then(|| hex::encode(&leaves.body));
        fill_missing_ranks(stage, &record.json());
        stage.history.write(
            "draw_record",
            json!({"record": record.json(), "leaves": leaves}),
        );
    }
    Ok(())
}
