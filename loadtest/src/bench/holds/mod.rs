//! Measures how much slower booking's Redis store is than its bare scripts. Measures the holds a
//! second through the store. In the same run, a pipelined client that does nothing else sends the
//! very same script calls, and its rate is the baseline. Also measures holds over HTTP.

mod record;
mod replay;
mod whole;

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, bail, ensure};
use fairgate_servers::RedisServers;
use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};

use super::{BenchOutcome, report};
use record::RedisRecordingProxy;

/// The least share of the bare scripts' rate that the store must reach.
const RATIO_MIN: f64 = 0.7;
/// The number of measured rounds, after one that only records the commands.
const ROUNDS: usize = 5;

#[derive(clap::Args)]
pub struct HoldBenchOptions {
    /// How many holds of two seats a round takes.
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1_000..))]
    n: u32,
    /// How many holds are under way at the same time.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=4_096))]
    at_once: u32,
    /// Do not measure holds over HTTP.
    #[arg(long)]
    no_http: bool,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

/// The figures of the bench. Rates are medians.
#[derive(Serialize)]
struct HoldBenchFigures {
    bench: &'static str,
    n: u32,
    at_once: u32,
    rounds: usize,
    bare_per_s: f64,
    store_per_s: f64,
    ratio: f64,
    ratio_min: f64,
    http_per_s: Option<f64>,
    held: bool,
}

/// Runs the bench.
///
/// # Errors
/// Where the run is invalid. The error gives the reason.
pub fn run(options: &HoldBenchOptions) -> anyhow::Result<BenchOutcome> {
    // Only the holds over HTTP need PostgreSQL.
    let missing = match options.no_http {
        true => fairgate_servers::missing_redis_programs(),
        false => fairgate_servers::missing_programs(),
    };
    if let Some(missing) = missing {
        bail!("this bench starts servers, and these programs are missing: {missing}");
    }
    report::measured(options.json, measure(options))
}

async fn measure(options: &HoldBenchOptions) -> anyhow::Result<HoldBenchFigures> {
    let program = build_hold_example()?;
    let redis = RedisServers::single().await?;
    let (port, url) = (redis.port(0), redis.url());
    // This round only records the commands. Its time does not count.
    let proxy = RedisRecordingProxy::for_redis_port(port).await?;
    let aside = format!("redis://127.0.0.1:{}", proxy.port);
    let taker = HoldExampleProcess::start(&program, &aside, options).await?;
    let opened = proxy.recorded.count();
    taker.run_takes().await?;
    let taken = proxy.recorded.count();
    let keys = redis.command(0, &["DBSIZE"]).await?;
    let opening = proxy.recorded.between(0, opened);
    let taking = proxy.recorded.between(opened, taken);
    let (mut bare, mut store) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        redis.flush_all().await?;
        let example = HoldExampleProcess::start(&program, &url, options).await?;
        store.push(example.run_takes().await?);
        redis.flush_all().await?;
        let (at_once, opening, taking) =
            (options.at_once as usize, opening.clone(), taking.clone());
        let replayed = tokio::task::spawn_blocking(move || {
            replay::replay_commands(port, &opening, at_once)?;
            replay::replay_commands(port, &taking, at_once)
        });
        let (took, errors) = replayed.await??;
        // The replay did the same work only if it made the same number of keys.
        let replayed_keys = redis.command(0, &["DBSIZE"]).await?;
        ensure!(
            replayed_keys == keys && errors == 0,
            "the replay had another result than the recorded run: {replayed_keys:?} keys instead of {keys:?}, {errors} errors"
        );
        bare.push(took.as_secs_f64());
    }
    let http_per_s = match options.no_http {
        true => None,
        false => Some(whole::holds_per_s().await?),
    };
    let rate = |mut took: Vec<f64>| {
        took.sort_by(f64::total_cmp);
        f64::from(options.n) / took[took.len() / 2]
    };
    let (bare_per_s, store_per_s) = (rate(bare), rate(store));
    let ratio = store_per_s / bare_per_s;
    Ok(HoldBenchFigures {
        bench: "holds",
        n: options.n,
        at_once: options.at_once,
        rounds: ROUNDS,
        bare_per_s,
        store_per_s,
        ratio,
        ratio_min: RATIO_MIN,
        http_per_s,
        held: ratio >= RATIO_MIN,
    })
}

impl report::BenchFigures for HoldBenchFigures {
    fn held(&self) -> bool {
        self.held
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!(
                "{} holds of two seats, {} at once, medians of {} alternating rounds",
                self.n, self.at_once, self.rounds
            ),
            format!("  bare scripts, pipelined  {:9.0} holds/s", self.bare_per_s),
            format!(
                "  through the store        {:9.0} holds/s",
                self.store_per_s
            ),
            format!(
                "  ratio                    {:9.2}         at least {}",
                self.ratio, self.ratio_min
            ),
        ];
        if let Some(http_per_s) = self.http_per_s {
            lines.push(format!(
                "  over HTTP, end to end    {http_per_s:9.0} holds/s"
            ));
        }
        lines
    }
}

/// Builds booking's example `holds` in the profile of this program, and returns its path. Cargo
/// builds it only if it is missing or out of date.
fn build_hold_example() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("this program does not know where it is")?;
    let program = own.with_file_name("examples").join("holds");
    let mut build = std::process::Command::new("cargo");
    build.args([
        "build",
        "--quiet",
        "--locked",
        "-p",
        "booking",
        "--example",
        "holds",
    ]);
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    let built = build.status().context("cargo could not be started")?;
    ensure!(
        built.success() && program.is_file(),
        "booking's example \"holds\" could not be built to {}",
        program.display()
    );
    Ok(program)
}

/// The running example `holds` of booking.
struct HoldExampleProcess {
    child: Child,
    lines: Lines<BufReader<ChildStderr>>,
}

impl HoldExampleProcess {
    /// Starts the example, and waits until its show is open.
    async fn start(
        program: &PathBuf,
        url: &str,
        options: &HoldBenchOptions,
    ) -> anyhow::Result<Self> {
        let mut child = Command::new(program)
            .args([url, &options.n.to_string(), &options.at_once.to_string()])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("booking's example could not be started")?;
        let stderr = child.stderr.take().context("the example has no stderr")?;
        let mut taker = Self {
            child,
            lines: BufReader::new(stderr).lines(),
        };
        taker.line_after_prefix("opened").await?;
        Ok(taker)
    }

    /// Lets the example take its holds, and returns how many seconds that took.
    async fn run_takes(mut self) -> anyhow::Result<f64> {
        let mut stdin = self
            .child
            .stdin
            .take()
            .context("the example has no stdin")?;
        stdin.write_all(b"go\n").await?;
        let took = self.line_after_prefix("took ").await?;
        Ok(took.parse()?)
    }

    /// Reads lines until one begins with `prefix`, and returns the rest of that line.
    async fn line_after_prefix(&mut self, prefix: &str) -> anyhow::Result<String> {
        let mut output = String::new();
        while let Some(line) = self.lines.next_line().await? {
            if let Some(rest) = line.strip_prefix(prefix) {
                return Ok(rest.to_owned());
            }
            output.push_str(&line);
        }
        bail!("booking's example ended: {output}")
    }
}
