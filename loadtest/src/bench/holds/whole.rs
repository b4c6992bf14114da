//! The same over the whole way: one gateway with booking inside, Redis and PostgreSQL, and visitors with passes who ask
//! over HTTP. It has no threshold: it says how much of a hold is anything but the hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use hyper::Method;
use serde_json::json;
use tokio::task::JoinSet;

use crate::rig::Rig;
use crate::swarm::{Call, Http};

/// One hold each.
const VISITORS: usize = 1_500;
/// So many ask at once.
const AT_ONCE: usize = 64;
/// How long the line may take to let everybody in.
const LET_IN_WITHIN: Duration = Duration::from_secs(60);

/// Holds a second.
///
/// # Errors
/// What kept it from being measured.
pub async fn holds_per_s() -> anyhow::Result<f64> {
    let spec = "gateways=1,bookings=0,redis=single,ledger=postgres".parse();
    let rig = Rig::start(spec.map_err(anyhow::Error::msg)?).await?;
    let http = Http::new(&rig.urls());
    apply(&http, rig.promoter_key()).await?;
    let passes = all(&http, (0..VISITORS).map(|who| (who, String::new())), pass).await?;
    let begun = Instant::now();
    let asked = passes.into_iter().enumerate();
    all(&http, asked, hold).await?;
    let took = begun.elapsed();
    rig.stop().await?;
    #[expect(clippy::cast_precision_loss, reason = "thousands of visitors")]
    Ok(VISITORS as f64 / took.as_secs_f64())
}

/// Does something for everybody, so many at once; answers stand in the order of the people.
async fn all<F: Future<Output = anyhow::Result<String>> + Send + 'static>(
    http: &Http,
    people: impl Iterator<Item = (usize, String)>,
    what: impl Fn(Http, usize, String) -> F + Copy + Send + Sync + 'static,
) -> anyhow::Result<Vec<String>> {
    let people: Arc<Vec<(usize, String)>> = Arc::new(people.collect());
    let next = Arc::new(AtomicUsize::new(0));
    let mut doing = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (http, people, next) = (http.clone(), Arc::clone(&people), Arc::clone(&next));
        doing.spawn(async move {
            let mut done = Vec::new();
            while let Some((who, with)) = people.get(next.fetch_add(1, Ordering::Relaxed)) {
                done.push((*who, what(http.clone(), *who, with.clone()).await?));
            }
            anyhow::Ok(done)
        });
    }
    let mut answers = Vec::new();
    while let Some(done) = doing.join_next().await {
        answers.extend(done??);
    }
    answers.sort_by_key(|(who, _)| *who);
    Ok(answers.into_iter().map(|(_, answer)| answer).collect())
}

async fn apply(http: &Http, key: &str) -> anyhow::Result<()> {
    let documents = [
        ("venues/hall", None),
        (
            "shows/night",
            Some(json!({
                "venue": "hall", "title": "A night", "starts_at": "2027-06-01T20:00:00Z",
                "prices": {"cat1": 9900, "cat2": 4900},
            })),
        ),
        (
            "rooms/sale",
            Some(json!({
                "title": "A night", "shows": ["night"], "method": "open", "max_inside": VISITORS * 2,
                "opens_at": "2026-01-01T00:00:00Z", "draw_at": "2026-01-01T00:00:00Z",
                "closes_at": "2027-05-01T00:00:00Z",
            })),
        ),
    ];
    for (what, document) in documents {
        let call = Call {
            body: Some(document.unwrap_or_else(|| json!({"plan": "grid:50x80"}))),
            ..Call::new(Method::PUT, format!("/v1/promoter/{what}"))
        };
        let answer = http.send(&call.bearer(key), 0).await;
        let answer = answer.map_err(anyhow::Error::msg)?;
        if !answer.is_ok() {
            let told = String::from_utf8_lossy(&answer.body);
            bail!("{what} was refused ({}): {told}", answer.status);
        }
    }
    Ok(())
}

/// A place and its pass, as soon as the line gives one.
async fn pass(http: Http, who: usize, _: String) -> anyhow::Result<String> {
    let begun = Instant::now();
    let mut secret = [0; 32];
    secret[..8].copy_from_slice(&who.to_be_bytes());
    let secret = json!({"secret": hex::encode(secret)});
    let place = ask(
        &http,
        who,
        begun,
        &Call::post("/v1/rooms/sale/places", secret),
        "place",
    )
    .await?;
    let claim = Call::new(Method::POST, "/v1/rooms/sale/pass").bearer(&place);
    ask(&http, who, begun, &claim, "pass").await
}

async fn hold(http: Http, who: usize, pass: String) -> anyhow::Result<String> {
    let call = Call::post("/v1/shows/night/holds", json!({"best": {"quantity": 2}}));
    let call = call.bearer(&pass).key(&format!("hold-{who}"));
    ask(&http, who, Instant::now(), &call, "hold").await
}

/// Asks until it is granted, and gives one field of the answer.
async fn ask(
    http: &Http,
    who: usize,
    begun: Instant,
    call: &Call,
    field: &str,
) -> anyhow::Result<String> {
    loop {
        let answer = http.send(call, who).await.map_err(anyhow::Error::msg)?;
        if answer.is_ok() {
            let said = answer.json();
            let said = said[field].as_str();
            return said
                .map(str::to_owned)
                .context("an answer without what was asked");
        }
        if begun.elapsed() > LET_IN_WITHIN || !matches!(answer.status, 409 | 429 | 503) {
            let told = String::from_utf8_lossy(&answer.body);
            bail!("{}: {} {told}", call.path, answer.status);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
