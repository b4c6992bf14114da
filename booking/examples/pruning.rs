//! Measures what a ledger full of old rows costs. First it measures how long booking takes to start
//! with such a ledger and to make a first purchase. Then it measures the purchases per second, in
//! turns with and without deletion of old rows. The exit code is 99 if the start with a first
//! purchase takes 1 s or longer, or if the rate during the deletion is less than 0.95 of the rate
//! without it.
//!
//! `pruning ROWS SECONDS [DATABASE_URL]`. ROWS is the number of old rows. SECONDS is the length of
//! each turn, such as 0.5. DATABASE_URL names an empty PostgreSQL database to fill. Without it the
//! ledger is a file in a temporary folder.

#![expect(
    clippy::print_stdout,
    reason = "its figures are what whoever runs it wants to read"
)]

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use booking::app::{Booking, BookingSetup};
use booking::config::PaymentSettings;
use booking::ledger::{KeptAnswer, Ledger};
use booking::pruner::LEASE;
use booking::retention::RetentionKind;
use booking::store::memory::MemoryStore;
use fairgate_base::clock::Clock;
use fairgate_base::http::keys::{Role, RoleKeys};
use fairgate_base::secret::InstallationSecret;
use fairgate_databases::{Installation, PostgresDatabase, SqliteDatabase};
use fairgate_model::payments::ParsedProviderEvent;
use fairgate_pass::{Holder, Keyring, PassClaims, StoredKey};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tower::ServiceExt;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The number of pairs of turns. A pair is a turn with deletion and a turn without it. The result
/// is the median of the pairs' ratios.
const PAIRS: u32 = 5;
const BUYERS: u32 = 8;
/// The number of writes that run at once while the ledger is filled.
const FILLING: u64 = 256;
/// Of every five old rows, this many are answers that were stored for an `Idempotency-Key`. The
/// other rows are provider events.
const ANSWERS_OF_FIVE: u64 = 4;
const START_MAX: Duration = Duration::from_secs(1);
const RATIO_MIN: f64 = 0.95;
const PROMOTER: &str = "promoter";
const HALL: &str = "grid:200x200";

#[tokio::main]
async fn main() -> Result<ExitCode, Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (rows, seconds, url) = match &arguments[..] {
        [rows, seconds] => (rows, seconds, None),
        [rows, seconds, url] => (rows, seconds, Some(url.as_str())),
        _ => return Err("pruning ROWS SECONDS [DATABASE_URL]".into()),
    };
    let (rows, turn) = (
        rows.parse()?,
        Duration::try_from_secs_f64(seconds.parse()?)?,
    );
    let folder = tempfile::tempdir()?;
    let open = async || -> Result<Ledger, Failure> {
        let ledger: Ledger = match url {
            Some(url) => {
                Ledger::open(Installation::Server(PostgresDatabase::connect(url).await?)).await?
            }
            None => {
                let writer = SqliteDatabase::open(&folder.path().join("ledger.db"))?;
                Ledger::open(Installation::File(writer)).await?
            }
        };
        Ok(ledger)
    };
    let shop = Arc::new(Shop::new()?);
    let ledger = open().await?;
    shop.stock(&ledger).await?;
    let began = Instant::now();
    fill(&ledger, rows).await?;
    println!("filled with {rows} old rows in {:.1?}", began.elapsed());
    drop(ledger);

    let began = Instant::now();
    let running = shop.started(open().await?).await?;
    shop.buy(&running.router).await?;
    let start = began.elapsed();
    println!("start with a first purchase: {start:.3?} (less than {START_MAX:?})");
    drop(running);

    let ratio = turns(&shop, &open().await?, turn).await?;
    println!("purchases beside the deleting: {ratio:.3} of those without (at least {RATIO_MIN})");
    let held = start < START_MAX && ratio >= RATIO_MIN;
    Ok(if held {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(99)
    })
}

/// Writes old stored answers and old, settled provider events.
async fn fill(ledger: &Ledger, rows: u64) -> Result<(), Failure> {
    let now_ms = Clock::system().now_ms();
    let mut filling = JoinSet::new();
    for first in 0..FILLING {
        let ledger = ledger.clone();
        filling.spawn(async move {
            for n in (first..rows).step_by(usize::try_from(FILLING)?) {
                // In real use, scopes and event ids come in no order.
                let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                if n % 5 < ANSWERS_OF_FIVE {
                    let mut scope = [0; 32];
                    scope[..8].copy_from_slice(&mixed.to_be_bytes());
                    let answer = KeptAnswer {
                        asked: [7; 32],
                        status: 201,
                        body: format!("{{\"order\":\"{}\"}}", "x".repeat(600)),
                    };
                    let at_ms = RetentionKind::Answers.before_ms(now_ms) - 1_000;
                    ledger
                        .keep(scope, format!("key-{n}"), answer, at_ms)
                        .await?;
                } else {
                    let event = format!("evt_{mixed:016x}");
                    let at_ms = RetentionKind::ProviderEvents.before_ms(now_ms) - 1_000;
                    let body = vec![b'x'; 1_000];
                    ledger
                        .keep_event("old", event.clone(), None, body, at_ms)
                        .await?;
                    ledger
                        .settle("old".to_owned(), event, ParsedProviderEvent::Ignored, at_ms)
                        .await?;
                }
            }
            Ok::<(), Failure>(())
        });
    }
    while let Some(filled) = filling.join_next().await {
        filled??;
    }
    Ok(())
}

/// Runs pairs of turns, one turn with deletion and one without it. Returns the median of the pairs'
/// ratios. A ratio is the purchases per second with deletion, divided by those without it.
async fn turns(shop: &Arc<Shop>, ledger: &Ledger, turn: Duration) -> Result<f64, Failure> {
    // While this program has the lease, booking's own worker deletes nothing. That worker tries
    // again only a minute later.
    while !ledger.lease(LEASE, "bench", 3_600_000).await? {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let running = shop.started(ledger.clone()).await?;
    shop.sell(&running.router, turn / 2).await?;
    ledger.end_lease(LEASE, "bench").await?;
    let pruner = running.app.pruner();
    let mut ratios = Vec::new();
    for pair in 0..PAIRS {
        let mut sold = [0.0; 2];
        // The order alternates, because the second turn of a pair profits from caches that the
        // first turn filled.
        for which in if pair % 2 == 0 { [0, 1] } else { [1, 0] } {
            let deleting = (which == 1).then(|| tokio::spawn(pruner.clone().prune_forever()));
            sold[which] = shop.sell(&running.router, turn).await?;
            if let Some(deleting) = deleting {
                deleting.abort();
            }
        }
        let [without, beside] = sold;
        println!(
            "pair {}: {without:.1} purchases a second without, {beside:.1} beside it",
            pair + 1
        );
        ratios.push(beside / without);
    }
    ratios.sort_by(f64::total_cmp);
    Ok(ratios[ratios.len() / 2])
}

/// A running booking and its workers. The workers end when this value is dropped.
struct Running {
    app: Booking,
    router: Router,
    _workers: JoinSet<()>,
}

/// The keys that sign passes, the labels of the seats, and the index of the next seat to sell.
struct Shop {
    keyring: Keyring,
    labels: std::sync::OnceLock<Vec<String>>,
    next: AtomicU32,
}

impl Shop {
    fn new() -> Result<Self, Failure> {
        let key = StoredKey::generate(Clock::system().now_ms() / 1_000)?;
        Ok(Self {
            keyring: Keyring::new(vec![key])?,
            labels: std::sync::OnceLock::new(),
            next: AtomicU32::new(0),
        })
    }

    async fn started(&self, ledger: Ledger) -> Result<Running, Failure> {
        let mut keys = RoleKeys::default();
        keys.add(Role::Promoter, PROMOTER);
        let setup = BookingSetup {
            secret: InstallationSecret::derive("a test's secret"),
            keyring: self.keyring.clone(),
            keys,
            clock: Clock::system(),
            payments: PaymentSettings::Sandbox,
        };
        let app = Booking::with_store(Arc::new(MemoryStore::default()), ledger, setup).await?;
        Ok(Running {
            router: app.router().split_for_parts().0,
            _workers: app.start(),
            app,
        })
    }

    async fn stock(&self, ledger: &Ledger) -> Result<(), Failure> {
        let Running {
            app,
            router,
            _workers,
        } = self.started(ledger.clone()).await?;
        app.gateways()
            .replace_coverage(vec![("sale".to_owned(), vec!["*".to_owned()])])
            .await?;
        let plan = json!({ "plan": HALL });
        call(&router, "PUT", "/v1/promoter/venues/hall", PROMOTER, &plan).await?;
        let show = json!({"venue": "hall", "title": "Night", "starts_at": "2100-01-01T20:00:00Z",
            "currency": "EUR", "prices": {"cat1": 1_000}, "orphans": "allow"});
        call(&router, "PUT", "/v1/promoter/shows/night", PROMOTER, &show).await?;
        let map = call(&router, "GET", "/v1/shows/night/seatmap", "", &Value::Null).await?;
        let seats = map["seats"].as_array().ok_or("a map without seats")?;
        let label = |seat: &Value| seat["label"].as_str().map(str::to_owned);
        self.labels
            .get_or_init(|| seats.iter().filter_map(label).collect());
        Ok(())
    }

    /// Buys for the length of `turn`, and returns the purchases per second.
    async fn sell(self: &Arc<Self>, router: &Router, turn: Duration) -> Result<f64, Failure> {
        let (began, mut buying) = (Instant::now(), JoinSet::new());
        for _ in 0..BUYERS {
            let (shop, router) = (Arc::clone(self), router.clone());
            buying.spawn(async move {
                let mut bought = 0_u32;
                while began.elapsed() < turn {
                    shop.buy(&router).await?;
                    bought += 1;
                }
                Ok::<u32, Failure>(bought)
            });
        }
        let mut bought = 0;
        while let Some(done) = buying.join_next().await {
            bought += done??;
        }
        Ok(f64::from(bought) / began.elapsed().as_secs_f64())
    }

    /// Holds the next seat, orders it, and pays for it.
    async fn buy(&self, router: &Router) -> Result<(), Failure> {
        let n = self.next.fetch_add(1, Ordering::Relaxed);
        let labels = self.labels.get().ok_or("nothing is sold")?;
        let label = labels.get(n as usize).ok_or("the hall is too small")?;
        let now_s = Clock::system().now_ms() / 1_000;
        let mut sub = [0; 32];
        sub[..4].copy_from_slice(&n.to_be_bytes());
        let pass = self.keyring.sign_pass(&PassClaims {
            sub: Holder(sub),
            room: "sale".to_owned(),
            rank: u64::from(n),
            number: u64::from(n),
            iat: now_s,
            nbf: now_s,
            exp: now_s + 600,
            jti: format!("pass-{n}"),
        });
        let wish = json!({ "seats": [label] });
        let hold = call(router, "POST", "/v1/shows/night/holds", &pass, &wish).await?;
        let path = format!(
            "/v1/holds/{}/order",
            hold["hold"].as_str().ok_or("no hold")?
        );
        let buyer = json!({"buyer": {"name": "Ana", "email": "ana@example.org"}});
        let order = call(router, "POST", &path, &pass, &buyer).await?;
        let payment = order["payment"]["payment"].as_str().ok_or("no payment")?;
        let path = format!("/v1/sandbox/payments/{payment}");
        call(router, "POST", &path, "", &json!({"outcome": "approve"})).await?;
        Ok(())
    }
}

async fn call(
    router: &Router,
    method: &str,
    path: &str,
    bearer: &str,
    body: &Value,
) -> Result<Value, Failure> {
    let mut request = Request::builder().method(method).uri(path);
    if !bearer.is_empty() {
        request = request.header("authorization", format!("Bearer {bearer}"));
    }
    let sent = match body {
        Value::Null => Body::empty(),
        body => {
            request = request
                .header("content-type", "application/json")
                .header("idempotency-key", path);
            Body::from(body.to_string())
        }
    };
    let response = router.clone().oneshot(request.body(sent)?).await?;
    let (status, body) = (response.status(), response.into_body());
    let body = body.collect().await?.to_bytes();
    if !status.is_success() {
        return Err(format!(
            "{method} {path}: {status} {}",
            String::from_utf8_lossy(&body)
        )
        .into());
    }
    Ok(serde_json::from_slice(&body).unwrap_or_default())
}
