//! Asks for every list and page that needs no key, in an installation with thousands of showings.
//! Measures the processor time of a call. Then many clients ask for one of the lists as fast as
//! they can, and another visitor calls beside them. The baseline is `/healthz`, in the same run.

mod calls;
mod programme;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use hdrhistogram::Histogram;
use serde::Serialize;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::{BenchOutcome, people, report};
use crate::http::{LoadHttpCall, LoadHttpClient};
use crate::rig::{Rig, RigComponent, RigFeatures, RigSpecification};
use calls::{KeylessList, ListKind, call_for, keep_calling, lists};

/// How many on-sales with a room of their own there are.
const ON_SALES: usize = 60;
/// How long another visitor may wait at most in 99 of 100 calls, in milliseconds.
const VISITOR_P99_MS_MAX: f64 = 50.0;
/// How long the processor time of an installation without calls is measured.
const IDLE_FOR: Duration = Duration::from_secs(5);
/// An installation that uses less than this (milliseconds of a core a second) is done with what
/// the import has begun. Its rooms still look at their shows every second.
const IDLE_MS_PER_S: f64 = 250.0;
/// How often an installation is looked at until it is idle.
const IDLE_LOOKS_MAX: usize = 24;
/// How long the processor time of a list is measured, at most.
const COST_FOR_MAX: Duration = Duration::from_secs(2);
/// How often the other visitor calls.
const VISITOR_EVERY: Duration = Duration::from_millis(10);
/// The other visitor's call.
const VISITOR_PATH: &str = "/v1/rooms/live-1";

#[derive(clap::Args)]
pub struct ListBenchOptions {
    /// How many showings the programme has.
    #[arg(long, default_value_t = 15_000)]
    showings: usize,
    /// How many clients ask for a list at once.
    #[arg(long, default_value_t = 20)]
    clients: u32,
    /// For how many seconds they ask for each list.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Asks only for lists whose name has this text.
    #[arg(long, default_value = "")]
    only: String,
    /// Prints the figures without judging them, for programs that are built without optimisation.
    #[arg(long)]
    unjudged: bool,
    /// The processes.
    #[arg(long, default_value = "gateways=1,bookings=0,redis=none,ledger=sqlite")]
    rig: RigSpecification,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

/// The figures of the bench.
#[derive(Debug, Serialize)]
struct ListBenchFigures {
    bench: &'static str,
    rig: String,
    showings: usize,
    clients: u32,
    /// The processor time that the installation uses without calls, in milliseconds a second.
    idle_ms_per_s: f64,
    baseline: ListFigures,
    lists: Vec<ListFigures>,
    held: bool,
}

/// The figures of one list.
#[derive(Debug, Serialize)]
struct ListFigures {
    name: &'static str,
    kind: ListKind,
    /// The processor time of a call in milliseconds, and how many times the baseline that is.
    cpu_ms: f64,
    cpu_ratio: f64,
    /// The length of an answer, in bytes.
    bytes: usize,
    /// What all clients together got.
    answers_per_s: f64,
    /// How long the other visitor waited, in milliseconds.
    visitor_p50_ms: f64,
    visitor_p99_ms: f64,
    held: bool,
}

/// Runs the bench.
///
/// # Errors
/// Where the run is invalid. The error gives the reason.
pub fn run(options: &ListBenchOptions) -> anyhow::Result<BenchOutcome> {
    report::measured(options.json, measure(options))
}

impl report::BenchFigures for ListBenchFigures {
    fn held(&self) -> bool {
        self.held
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!(
                "{} showings, {} clients at each list, on {}; {:.0} ms of a core a second without calls",
                self.showings, self.clients, self.rig, self.idle_ms_per_s
            ),
            "  list                                       CPU a call   × healthz      bytes   answers/s   another visitor p50, p99".to_owned(),
        ];
        let each = std::iter::once(&self.baseline).chain(&self.lists);
        lines.extend(each.map(|list| {
            format!(
                "  {:<40} {:>7.3} ms {:>11.1} {:>10} {:>11.0}   {:>6.1} ms, {:>6.1} ms{}",
                list.name,
                list.cpu_ms,
                list.cpu_ratio,
                list.bytes,
                list.answers_per_s,
                list.visitor_p50_ms,
                list.visitor_p99_ms,
                if list.held { "" } else { "   MISSED" }
            )
        }));
        lines
    }
}

async fn measure(options: &ListBenchOptions) -> anyhow::Result<ListBenchFigures> {
    let features = RigFeatures {
        proxied: true,
        ..RigFeatures::default()
    };
    let rig = Rig::start_with(options.rig, features).await?;
    let url = rig.urls().into_iter().next().context("no gateway")?;
    let address: SocketAddr = url.trim_start_matches("http://").parse()?;
    prepare(&rig, options.showings).await?;
    let idle_ms_per_s = until_idle(&rig, options.unjudged).await?;
    let bench = ListBench {
        rig: &rig,
        address,
        idle_ms_per_s,
        options,
    };
    let healthz = KeylessList::new("/healthz", ListKind::Baseline, |_| "/healthz".to_owned());
    let baseline = bench.measure_list(healthz, None).await?;
    let mut measured = Vec::new();
    for list in lists() {
        if list.name.contains(&options.only) {
            measured.push(bench.measure_list(list, Some(baseline.cpu_ms)).await?);
        }
    }
    rig.stop().await?;
    Ok(ListBenchFigures {
        bench: "lists",
        rig: options.rig.to_string(),
        showings: options.showings,
        clients: options.clients,
        idle_ms_per_s,
        held: baseline.held && measured.iter().all(|list| list.held),
        baseline,
        lists: measured,
    })
}

/// Stores the programme and the on-sales, and waits until the lists have them.
async fn prepare(rig: &Rig, showings: usize) -> anyhow::Result<()> {
    let http = LoadHttpClient::new(&rig.urls());
    let put = async |what: String, document| {
        people::put(&http, rig.promoter_key(), &what, document).await
    };
    let import = LoadHttpCall {
        body: Some(programme::programme(showings)),
        ..LoadHttpCall::new(hyper::Method::PUT, "/v1/promoter/cinema")
    };
    let imported = http.send_slow(&import.bearer(rig.promoter_key())).await;
    let imported = imported.map_err(anyhow::Error::msg)?;
    ensure!(
        imported.is_ok(),
        "the programme was refused: {}",
        imported.status
    );
    let arena = json!({"plan": "grid:20x40", "city": "City 1", "time_zone": "Europe/Paris"});
    put("venues/arena".into(), arena).await?;
    for n in 0..ON_SALES {
        let (show, room) = programme::on_sale(n);
        put(format!("shows/live-{n}"), show).await?;
        put(format!("rooms/live-{n}"), room).await?;
    }
    let last = LoadHttpCall::get(format!("/v1/rooms/live-{}", ON_SALES - 1));
    people::granted(&http, 0, &last).await?;
    Ok(())
}

/// Waits until the installation is done with what the import has begun, unless nothing is judged.
/// Returns the processor time that it uses without calls, in milliseconds a second.
async fn until_idle(rig: &Rig, unjudged: bool) -> anyhow::Result<f64> {
    for _ in 0..IDLE_LOOKS_MAX {
        let begun = cpu_ms(rig);
        sleep(IDLE_FOR).await;
        let ms_per_s = (cpu_ms(rig) - begun) / IDLE_FOR.as_secs_f64();
        if unjudged || ms_per_s < IDLE_MS_PER_S {
            return Ok(ms_per_s);
        }
    }
    anyhow::bail!(
        "the installation uses more than {IDLE_MS_PER_S} ms of a core a second without calls"
    )
}

/// Returns the processor time of all gateways and booking processes so far, in milliseconds.
fn cpu_ms(rig: &Rig) -> f64 {
    let parts = rig.parts().into_iter();
    let ours =
        parts.filter(|part| matches!(part, RigComponent::Gateway(_) | RigComponent::Booking(_)));
    ours.filter_map(|part| rig.cpu_ms(part)).sum()
}

/// A running installation under the bench.
struct ListBench<'b> {
    rig: &'b Rig,
    address: SocketAddr,
    idle_ms_per_s: f64,
    options: &'b ListBenchOptions,
}

impl ListBench<'_> {
    /// Measures one list. `baseline_ms` is the processor time of a call of the baseline.
    async fn measure_list(
        &self,
        list: KeylessList,
        baseline_ms: Option<f64>,
    ) -> anyhow::Result<ListFigures> {
        let (cpu_ms, bytes) = self.cost(list).await?;
        let (answers, waits) = self.crowd(list).await?;
        let ms = |quantile: f64| waits.value_at_quantile(quantile) as f64 / 1e3;
        let is_cheap = list.kind.cpu_ms_max().is_none_or(|max| cpu_ms <= max);
        Ok(ListFigures {
            name: list.name,
            kind: list.kind,
            cpu_ms,
            cpu_ratio: cpu_ms / baseline_ms.unwrap_or(cpu_ms).max(f64::MIN_POSITIVE),
            bytes,
            answers_per_s: answers as f64 / self.options.seconds.max(1) as f64,
            visitor_p50_ms: ms(0.5),
            visitor_p99_ms: ms(0.99),
            held: self.options.unjudged || (is_cheap && ms(0.99) < VISITOR_P99_MS_MAX),
        })
    }

    /// Asks for a list again and again, one call after the other. Returns the processor time of a
    /// call in milliseconds, and the length of the last answer.
    async fn cost(&self, list: KeylessList) -> anyhow::Result<(f64, usize)> {
        let mut stream = TcpStream::connect(self.address).await?;
        let mut bytes = call_for(&mut stream, list, 0, 0).await?;
        let seconds = Duration::from_secs(self.options.seconds);
        let (begun, before) = (Instant::now(), cpu_ms(self.rig));
        let mut calls = 0;
        while calls == 0 || begun.elapsed() < COST_FOR_MAX.min(seconds) {
            calls += 1;
            bytes = call_for(&mut stream, list, 0, calls).await?;
        }
        let idle = self.idle_ms_per_s * begun.elapsed().as_secs_f64();
        let spent = (cpu_ms(self.rig) - before - idle).max(0.0);
        Ok((spent / calls as f64, bytes))
    }

    /// Lets all clients ask for a list at once. Returns how many answers they got, and how long the
    /// other visitor waited, in microseconds.
    async fn crowd(&self, list: KeylessList) -> anyhow::Result<(usize, Histogram<u64>)> {
        let until = Instant::now() + Duration::from_secs(self.options.seconds);
        let mut clients = tokio::task::JoinSet::new();
        for client in 1..=self.options.clients {
            clients.spawn(keep_calling(self.address, list, client, until));
        }
        let mut waits = Histogram::<u64>::new(3)?;
        let visitor = KeylessList::new("visitor", ListKind::Baseline, |_| VISITOR_PATH.to_owned());
        let mut stream = TcpStream::connect(self.address).await?;
        while waits.is_empty() || Instant::now() < until {
            let begun = Instant::now();
            call_for(&mut stream, visitor, 0, 0).await?;
            waits.record(u64::try_from(begun.elapsed().as_micros())?)?;
            sleep(VISITOR_EVERY).await;
        }
        let mut answers = 0;
        while let Some(client) = clients.join_next().await {
            answers += client??;
        }
        Ok((answers, waits))
    }
}
