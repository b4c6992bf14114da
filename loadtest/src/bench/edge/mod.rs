//! Lets clients misuse a gateway. They send long bodies without a key, never read an answer, send a
//! body at one byte a second, or open sockets and send nothing. Measures the gateway's memory, how
//! long another visitor waits meanwhile, and what a large seat map costs.

pub mod clients;

use std::net::SocketAddr;
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use clients::{ask, ask_and_stop_reading, drip, head, open_many, upload_without_key};
use serde::Serialize;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{BenchOutcome, people, report};
use crate::http::{LoadHttpCall, LoadHttpClient};
use crate::rig::{Rig, RigComponent, RigFeatures};

/// The room whose line is frozen.
const ROOM: &str = "sale";
const SHOW: &str = "night";
/// The length of an upload without a key, in bytes.
const UPLOAD_BYTES: usize = 60_000_000;
/// How much the memory may grow while clients upload without a key, in megabytes.
const UPLOAD_MB_MAX: f64 = 10.0;
/// How much the memory may grow while clients do not read, in megabytes.
const UNREAD_MB_MAX: f64 = 20.0;
/// How long a visitor may wait for an answer, in milliseconds.
const VISITOR_MS_MAX: f64 = 100.0;
/// The longest compressed seat map, in bytes.
const MAP_BYTES_MAX: usize = 30_000;
/// The most processor time for one request for the seat map, in milliseconds.
const MAP_CPU_MS_MAX: f64 = 0.2;
/// How many people join at the same time.
const JOINS_AT_ONCE: u32 = 4;
/// The wait before the next try of a join that was refused under load.
const JOIN_AGAIN: Duration = Duration::from_millis(500);
/// How long the memory is measured while clients do not read.
const UNREAD_FOR: Duration = Duration::from_secs(5);
/// The time within which the server must have ended every slow body.
const CUT_WITHIN: Duration = Duration::from_secs(40);

#[derive(clap::Args)]
pub struct EdgeBenchOptions {
    /// How many clients upload 60 MB each without a key.
    #[arg(long, default_value_t = 40)]
    uploads: usize,
    /// How many people join before the draw. Each makes a leaf of 32 bytes.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    leaves: u32,
    /// How many clients ask for the leaves and never read them.
    #[arg(long, default_value_t = 400)]
    readers: usize,
    /// How many clients send a body at one byte a second. As many others open a socket and send
    /// nothing.
    #[arg(long, default_value_t = 3_000)]
    sockets: usize,
    /// How many requests for the seat map are measured. With 0, the cost of a request is not
    /// judged. Use 0 for programs that are built without optimisation.
    #[arg(long, default_value_t = 3_000)]
    map_requests: u32,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

/// The figures of the bench.
#[derive(Debug, Serialize)]
struct EdgeBenchFigures {
    bench: &'static str,
    uploads: usize,
    upload_mb: f64,
    readers: usize,
    leaves: u32,
    unread_mb: f64,
    sockets: usize,
    visitor_max_ms: f64,
    visitor_calls: usize,
    /// The time until the server had ended the last slow body, in seconds.
    slow_body_s: f64,
    map_bytes: usize,
    map_json_bytes: usize,
    map_cpu_ms: f64,
    map_json_cpu_ms: f64,
    held: bool,
}

/// Runs the bench.
///
/// # Errors
/// Where the run is invalid. The error gives the reason.
pub fn run(options: &EdgeBenchOptions) -> anyhow::Result<BenchOutcome> {
    report::measured(options.json, measure(options))
}

impl report::BenchFigures for EdgeBenchFigures {
    fn held(&self) -> bool {
        self.held
    }

    fn lines(&self) -> Vec<String> {
        vec![
            format!(
                "  {} × 60 MB without a key        +{:.1} MB (at most {UPLOAD_MB_MAX}); each refused with 401",
                self.uploads, self.upload_mb
            ),
            format!(
                "  {} clients that never read {} leaves   +{:.1} MB (at most {UNREAD_MB_MAX})",
                self.readers, self.leaves, self.unread_mb
            ),
            format!(
                "  {0} slow bodies, {0} silent sockets   a visitor waited {1:.0} ms at most in {2} calls (at most {VISITOR_MS_MAX}); the last slow body ended after {3:.0} s",
                self.sockets, self.visitor_max_ms, self.visitor_calls, self.slow_body_s
            ),
            format!(
                "  a map of 20,000 seats, binary   {} bytes (at most {MAP_BYTES_MAX}), {:.3} ms of a core a request (at most {MAP_CPU_MS_MAX})",
                self.map_bytes, self.map_cpu_ms
            ),
            format!(
                "  the same map as JSON            {} bytes, {:.3} ms of a core a request",
                self.map_json_bytes, self.map_json_cpu_ms
            ),
        ]
    }
}

async fn measure(options: &EdgeBenchOptions) -> anyhow::Result<EdgeBenchFigures> {
    let features = RigFeatures {
        proxied: true,
        ..RigFeatures::default()
    };
    let spec = "gateways=1,bookings=0,redis=none,ledger=sqlite";
    let spec = spec.parse().map_err(anyhow::Error::msg)?;
    let rig = Rig::start_with(spec, features).await?;
    let url = rig.urls().into_iter().next().context("no gateway")?;
    let address: SocketAddr = url.trim_start_matches("http://").parse()?;
    prepare(&rig, address, options.leaves).await?;

    let uploads = upload_all(address, options.uploads);
    let upload_mb = memory_growth_mb(&rig, uploads).await?;
    let unread_mb = memory_growth_mb(&rig, leave_unread(address, options.readers)).await?;
    let crowd = crowd(address, options.sockets).await?;
    let packed = "accept: application/vnd.fairgate.seatmap\r\n";
    let (map_bytes, map_cpu_ms) = map_cost(&rig, address, packed, options.map_requests).await?;
    let (map_json_bytes, map_json_cpu_ms) =
        map_cost(&rig, address, "", options.map_requests).await?;
    rig.stop().await?;
    Ok(EdgeBenchFigures {
        bench: "edge",
        uploads: options.uploads,
        upload_mb,
        readers: options.readers,
        leaves: options.leaves,
        unread_mb,
        sockets: options.sockets,
        visitor_max_ms: crowd.visitor_max.as_secs_f64() * 1e3,
        visitor_calls: crowd.visitor_calls,
        slow_body_s: crowd.slow_body.as_secs_f64(),
        map_bytes,
        map_json_bytes,
        map_cpu_ms,
        map_json_cpu_ms,
        held: upload_mb <= UPLOAD_MB_MAX
            && unread_mb <= UNREAD_MB_MAX
            && crowd.visitor_max.as_secs_f64() * 1e3 < VISITOR_MS_MAX
            && map_bytes <= MAP_BYTES_MAX
            && (options.map_requests == 0 || map_cpu_ms <= MAP_CPU_MS_MAX),
    })
}

/// Stores a show of 20,000 seats, and freezes a line of `joins` people.
async fn prepare(rig: &Rig, address: SocketAddr, joins: u32) -> anyhow::Result<()> {
    let http = LoadHttpClient::new(&rig.urls());
    let put = async |what: String, document| {
        people::put(&http, rig.promoter_key(), &what, document).await
    };
    put("venues/hall".into(), json!({"plan": "grid:100x200"})).await?;
    let show = json!({
        "venue": "hall", "title": "A night", "starts_at": "2099-06-01T20:00:00Z",
        "currency": "EUR", "prices": {"cat1": 1000, "cat2": 1000},
    });
    put(format!("shows/{SHOW}"), show).await?;
    let room = json!({
        "title": "A sale", "shows": [SHOW], "opens_at": "2026-01-01T00:00:00Z",
        "draw_at": "2099-01-01T00:00:00Z", "closes_at": "2099-05-01T00:00:00Z",
    });
    put(format!("rooms/{ROOM}"), room).await?;
    let mut joining = JoinSet::new();
    for first_person in 0..JOINS_AT_ONCE {
        joining.spawn(join_every_nth(address, first_person, joins));
    }
    while let Some(joined) = joining.join_next().await {
        joined??;
    }
    let draw = LoadHttpCall::post(format!("/v1/promoter/rooms/{ROOM}/draw"), json!({}));
    let drawn = http.send(&draw.bearer(rig.promoter_key()), 0).await;
    ensure!(drawn.map_err(anyhow::Error::msg)?.is_ok(), "no draw");
    let frozen = LoadHttpCall::get(format!("/v1/rooms/{ROOM}/draw/proof/0"));
    people::granted(&http, 0, &frozen).await?;
    let mut stream = TcpStream::connect(address).await?;
    let leaves = head("GET", &format!("/v1/rooms/{ROOM}/draw/leaves"), "");
    let leaves = ask(&mut stream, &leaves).await?;
    ensure!(
        leaves.body_bytes == joins as usize * 32,
        "leaves are missing"
    );
    Ok(())
}

/// Joins as the person `first_person` and every [`JOINS_AT_ONCE`]-th person after that, each from a
/// network of their own. Tries again when the gateway has too much to do.
async fn join_every_nth(address: SocketAddr, first_person: u32, joins: u32) -> anyhow::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    let path = format!("/v1/rooms/{ROOM}/places");
    for person in (first_person..joins).step_by(JOINS_AT_ONCE as usize) {
        let headers = format!(
            "x-forwarded-for: 10.{}.{}.5\r\ncontent-length: 0\r\n",
            person >> 8,
            person & 0xff
        );
        let join = head("POST", &path, &headers);
        loop {
            let status = ask(&mut stream, &join).await?.status;
            match status {
                201 => break,
                429 | 503 => sleep(JOIN_AGAIN).await,
                _ => bail!("a join got {status}"),
            }
        }
    }
    Ok(())
}

/// Does the work. Returns the largest growth of the gateway's memory meanwhile, in megabytes.
async fn memory_growth_mb(
    rig: &Rig,
    work: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<f64> {
    let resident = || {
        let resident = rig.resident_mb(RigComponent::Gateway(0));
        resident.context("the gateway's memory cannot be read")
    };
    let before_mb = resident()?;
    let mut highest_mb = before_mb;
    let mut work = pin!(work);
    loop {
        tokio::select! {
            result = work.as_mut() => {
                result?;
                return Ok(highest_mb.max(resident()?) - before_mb);
            }
            () = sleep(Duration::from_millis(20)) => highest_mb = highest_mb.max(resident()?),
        }
    }
}

async fn upload_all(address: SocketAddr, uploads: usize) -> anyhow::Result<()> {
    let mut uploading = JoinSet::new();
    for _ in 0..uploads {
        uploading.spawn(upload_without_key(address, UPLOAD_BYTES));
    }
    while let Some(status) = uploading.join_next().await {
        let status = status??;
        ensure!(status == 401, "an upload without a key got {status}");
    }
    Ok(())
}

async fn leave_unread(address: SocketAddr, readers: usize) -> anyhow::Result<()> {
    let path = format!("/v1/rooms/{ROOM}/draw/leaves");
    let mut unread = Vec::with_capacity(readers);
    for _ in 0..readers {
        unread.push(ask_and_stop_reading(address, &path).await?);
    }
    sleep(UNREAD_FOR).await;
    drop(unread);
    Ok(())
}

/// What a visitor saw while others misused their connections.
struct CrowdFigures {
    visitor_max: Duration,
    visitor_calls: usize,
    slow_body: Duration,
}

/// Opens slow bodies and silent sockets. Calls as a visitor from another network until the server
/// has ended all slow bodies.
async fn crowd(address: SocketAddr, sockets: usize) -> anyhow::Result<CrowdFigures> {
    const SLOW: &str = "POST /v1/rooms/sale/places HTTP/1.1\r\nhost: edge\r\n\
        x-forwarded-for: 203.0.113.7\r\ncontent-length: 60000\r\n\r\n";
    let silent_sockets = open_many(address, sockets, "").await?;
    let slow_bodies = open_many(address, sockets, SLOW).await?;
    let mut ending = pin!(drip(slow_bodies, CUT_WITHIN));
    let request = head(
        "GET",
        &format!("/v1/rooms/{ROOM}"),
        "x-forwarded-for: 198.51.100.9\r\nconnection: close\r\n",
    );
    let (mut visitor_max, mut visitor_calls) = (Duration::ZERO, 0);
    loop {
        let call = async {
            let begun = Instant::now();
            let mut stream = TcpStream::connect(address).await?;
            let answer = ask(&mut stream, &request).await?;
            ensure!(answer.status == 200, "a visitor got {}", answer.status);
            let took = begun.elapsed();
            sleep(Duration::from_millis(50)).await;
            anyhow::Ok(took)
        };
        tokio::select! {
            slow_body = ending.as_mut() => {
                drop(silent_sockets);
                return Ok(CrowdFigures { visitor_max, visitor_calls, slow_body: slow_body? });
            }
            took = call => {
                visitor_max = visitor_max.max(took?);
                visitor_calls += 1;
            }
        }
    }
}

/// Returns the length of the compressed seat map in bytes, and the processor time for one request
/// for it in milliseconds.
async fn map_cost(
    rig: &Rig,
    address: SocketAddr,
    accept: &str,
    requests: u32,
) -> anyhow::Result<(usize, f64)> {
    let cpu_ms = || {
        let spent = rig.cpu_ms(RigComponent::Gateway(0));
        spent.context("the gateway's processor time cannot be read")
    };
    let path = format!("/v1/shows/{SHOW}/seatmap");
    let request = head("GET", &path, &format!("{accept}accept-encoding: gzip\r\n"));
    let mut stream = TcpStream::connect(address).await?;
    let first = ask(&mut stream, &request).await?;
    ensure!(
        first.status == 200,
        "the seat map answered {}",
        first.status
    );
    let before = cpu_ms()?;
    for _ in 0..requests {
        ask(&mut stream, &request).await?;
    }
    let spent = cpu_ms()? - before;
    Ok((first.body_bytes, spent / f64::from(requests.max(1))))
}
