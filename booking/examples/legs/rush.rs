//! A rush on one train: many buyers ask at once for stretches of it, at one node or several, give
//! some back, and a brute-force checker looks through the whole history for a seat that two of them
//! had on one leg at one time.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use booking::catalogue::Catalogue;
use booking::holds::ask::HoldRequest;
use booking::holds::take::{CallHoldIds, HoldDesk};
use booking::inventory::seats::SeatInventory;
use booking::ledger::Ledger;
use booking::ledger::sql::SqlLedger;
use booking::store::InventoryStore;
use booking::store::redis::{RedisStore, RedisStoreOptions};
use fairgate_base::clock::Clock;
use fairgate_databases::{Installation, SqliteDatabase};
use fairgate_model::grid::CellState;
use fairgate_model::ids::{HoldId, HoldIdDeriver, ShowId, VenueId};
use fairgate_model::payments::kind::ProviderKind;
use fairgate_model::shows::Show;
use fairgate_pass::{Holder, Keyring, LivePass, PassClaims, StoredKey, VerifiedPass};
use fairgate_redis::Redis;
use rand::RngExt;
use serde_json::json;

use crate::train::{CLASS, Daily, carriages, code};

/// How large the rush is.
#[derive(Debug, Clone, Copy)]
pub struct Rush {
    pub seats: u32,
    pub stops: u16,
    pub requests: u32,
    pub buyers: u32,
}

/// A train as long as they come, and a crowd for it.
pub const RUSH: Rush = Rush {
    seats: 1_000,
    stops: 16,
    requests: 20_000,
    buyers: 200,
};

/// Per cent of the holds that are given back.
const GIVEN_BACK_PCT: u32 = 20;
/// A node's picture is what all nodes did within this.
const SEEN_WITHIN: Duration = Duration::from_secs(10);

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Requests that took seats.
    pub taken: usize,
    /// Requests for which nothing was free.
    pub refused: usize,
    /// Holds given back.
    pub given_back: usize,
    /// Findings of the checker; none is right.
    pub findings: Vec<String>,
    /// How long the buyers took.
    pub took: Duration,
    /// Seats sold by the leg, of all there are.
    pub filled_pct: f64,
}

/// One seat that somebody surely had: from when it was told so to when it began to give it back.
struct Had {
    hold: HoldId,
    seat: u32,
    legs: Range<u16>,
    since: Instant,
    until: Option<Instant>,
}

/// Runs a rush on a train of its own, at as many nodes as there are stores: of one memory, or on
/// one Redis. The buyers spread over them.
pub async fn run(
    stores: Vec<Arc<dyn InventoryStore>>,
    ledger: Arc<dyn Ledger>,
    rush: Rush,
) -> Outcome {
    let clock = Clock::system();
    let desks = opened(stores, ledger, rush, &clock).await;
    let show = "t1-rush".parse().expect("a slug");
    let began = Instant::now();
    let mut buying = tokio::task::JoinSet::new();
    for (n, pass) in passes(rush.buyers, clock.now_ms() / 1_000)
        .into_iter()
        .enumerate()
    {
        let (desk, clock) = (desks[n % desks.len()].clone(), clock.clone());
        let show = desk.catalogue.show(&show).expect("it runs");
        let share =
            rush.requests / rush.buyers + u32::from((n as u32) < rush.requests % rush.buyers);
        buying.spawn(async move { buy(&desk, &show, &pass, share, rush.stops, &clock).await });
    }
    let (mut history, mut outcome) = (Vec::new(), Outcome::default());
    for (had, refused) in buying.join_all().await {
        outcome.refused += refused;
        history.extend(had);
    }
    outcome.took = began.elapsed();
    let holds: HashMap<&HoldId, bool> = history
        .iter()
        .map(|had| (&had.hold, had.until.is_some()))
        .collect();
    outcome.taken = holds.len();
    outcome.given_back = holds.values().filter(|back| **back).count();
    outcome.findings = overlaps(&history);
    for desk in &desks {
        let (odd, filled_pct) = picture(desk, &show, &history).await;
        outcome.findings.extend(odd);
        outcome.filled_pct = filled_pct;
    }
    outcome
}

/// A desk at each node.
async fn opened(
    stores: Vec<Arc<dyn InventoryStore>>,
    ledger: Arc<dyn Ledger>,
    rush: Rush,
    clock: &Clock,
) -> Vec<HoldDesk> {
    let stock: VenueId = "stock".parse().expect("a slug");
    let leaves_ms = clock.now_ms() + 3_600_000;
    let leaves = jiff::Timestamp::from_millisecond(leaves_ms).expect("a moment");
    let mut desks = Vec::new();
    for store in stores {
        let catalogue = Catalogue::open(Arc::clone(&ledger), ProviderKind::None).await;
        let catalogue = catalogue.expect("it can be read");
        let map = carriages(rush.seats);
        // What another node put already stays as it is.
        let put = catalogue.put_venue(&stock, &map, clock.now_ms()).await;
        put.expect("stored");
        let daily = Daily {
            stock: stock.clone(),
            stops: rush.stops,
            seats_per_visitor: 1_000,
            leaves,
        };
        let sold = catalogue.sell_departures(Arc::new(daily)).await;
        sold.expect("its plan can be read");
        let seats = SeatInventory::new(store, Arc::clone(&ledger), clock.clone());
        desks.push(HoldDesk {
            catalogue,
            seats,
            ledger: Arc::clone(&ledger),
            ids: HoldIdDeriver::new([1; 32]),
        });
    }
    desks
}

fn passes(buyers: u32, now_s: i64) -> Vec<LivePass> {
    let key = StoredKey::generate(now_s).expect("a key");
    let keyring = Keyring::new(vec![key]).expect("a keyring");
    let verifier = keyring.verifier();
    let pass = |n: u32| {
        let mut sub = [0; 32];
        sub[..4].copy_from_slice(&n.to_be_bytes());
        let claims = PassClaims {
            sub: Holder(sub),
            room: "everyday".to_owned(),
            rank: n.into(),
            number: n.into(),
            iat: now_s,
            nbf: now_s,
            exp: now_s + 3_600,
            jti: format!("pass-{n}"),
        };
        let presented = verifier.verify_pass(&keyring.sign_pass(&claims), now_s);
        match presented.expect("its own signature") {
            VerifiedPass::Live(pass) => pass,
            VerifiedPass::RanOut(_) => unreachable!("it is new"),
        }
    };
    (0..buyers).map(pass).collect()
}

/// One buyer's requests, one after the other: one to three travel together.
async fn buy(
    desk: &HoldDesk,
    show: &Arc<Show>,
    pass: &LivePass,
    requests: u32,
    stops: u16,
    clock: &Clock,
) -> (Vec<Had>, usize) {
    let (mut history, mut refused): (Vec<Had>, usize) = (Vec::new(), 0);
    for n in 0..requests {
        let (from, to, quantity, gives_back) = {
            let mut dice = rand::rng();
            let from = dice.random_range(0..stops - 1);
            let to = dice.random_range(from + 1..stops);
            let gives_back = dice.random_range(0..100) < GIVEN_BACK_PCT;
            (from, to, dice.random_range(1..=3), gives_back)
        };
        let ask = json!({ "best": {"quantity": quantity, "class": CLASS}, "from": code(from), "to": code(to) });
        let ask: HoldRequest = serde_json::from_value(ask).expect("a request");
        let name = CallHoldIds {
            id: desk.ids.hold_of_key(&show.id, pass.sub, &n.to_string()),
            before: None,
        };
        let hold = match desk.take(show, pass, &ask, name, clock.now_ms()).await {
            Ok(hold) => hold,
            Err(problem) => {
                let known = ["best_available_not_found", "journey_held", "seats_taken"];
                let problem = fairgate_base::http::Problem::from(problem);
                assert!(known.contains(&problem.code.as_str()), "{}", problem.detail);
                refused += 1;
                continue;
            }
        };
        let since = Instant::now();
        // What it holds already it is given again.
        if history
            .iter()
            .any(|had| had.hold == hold.id && had.until.is_none())
        {
            continue;
        }
        let until = if gives_back {
            let until = Instant::now();
            let given = desk
                .seats
                .store
                .release(
                    &hold.id,
                    pass.sub,
                    &[fairgate_model::holds::HoldPurpose::Basket],
                )
                .await;
            given.expect("its own basket");
            Some(until)
        } else {
            None
        };
        history.extend(hold.items.iter().map(|item| Had {
            hold: hold.id.clone(),
            seat: item.seat,
            legs: item.legs.clone(),
            since,
            until,
        }));
    }
    (history, refused)
}

/// Every pair of the history that had one seat on one leg at one time.
fn overlaps(history: &[Had]) -> Vec<String> {
    let mut by_seat: HashMap<u32, Vec<&Had>> = HashMap::new();
    for had in history {
        by_seat.entry(had.seat).or_default().push(had);
    }
    let mut findings = Vec::new();
    for (seat, had) in by_seat {
        for (at, one) in had.iter().enumerate() {
            for other in &had[at + 1..] {
                let on_one_leg = one.legs.start < other.legs.end && other.legs.start < one.legs.end;
                let before = |a: &Had, b: &Had| a.until.is_some_and(|until| until <= b.since);
                if on_one_leg && !before(one, other) && !before(other, one) {
                    findings.push(format!(
                        "seat {seat}: {} over {:?} and {} over {:?}",
                        one.hold, one.legs, other.hold, other.legs
                    ));
                }
            }
        }
    }
    findings
}

/// Whether a node's picture is what is left of the history, as soon as it has heard of everything;
/// and how full the train is.
async fn picture(desk: &HoldDesk, show: &ShowId, history: &[Had]) -> (Vec<String>, f64) {
    let show = desk.catalogue.show(show).expect("it is sold");
    let grid = show.grid();
    let mut expected = vec![CellState::Free; grid.cell_count() as usize];
    for had in history.iter().filter(|had| had.until.is_none()) {
        for cell in grid.cells_of(had.seat, had.legs.clone()) {
            expected[cell as usize] = CellState::Held;
        }
    }
    let since = Instant::now();
    loop {
        let seen = desk.seats.current_view(&show).await.expect("it answers");
        let states = seen.expect("it is open").states;
        if states != expected && since.elapsed() < SEEN_WITHIN {
            tokio::task::yield_now().await;
            continue;
        }
        let held = states.iter().filter(|state| **state == CellState::Held);
        let filled_pct = 100.0 * held.count() as f64 / f64::from(grid.cell_count());
        let differing = (0..grid.cell_count())
            .filter(|cell| states[*cell as usize] != expected[*cell as usize]);
        let told = |cell| format!("cell {cell} is not what its holders were told");
        return (differing.map(told).collect(), filled_pct);
    }
}

/// A ledger in a file of its own.
pub async fn ledger(folder: &std::path::Path) -> Arc<dyn Ledger> {
    let writer = SqliteDatabase::open(&folder.join("ledger.db")).expect("a file");
    Arc::new(
        SqlLedger::open(Installation::File(writer))
            .await
            .expect("a ledger"),
    )
}

/// The stores of so many nodes that share one Redis.
pub async fn nodes(
    server: &fairgate_servers::RedisServers,
    nodes: usize,
) -> Vec<Arc<dyn InventoryStore>> {
    let mut stores: Vec<Arc<dyn InventoryStore>> = Vec::new();
    for _ in 0..nodes {
        let redis = Redis::connect(&server.url()).expect("a URL");
        let store =
            RedisStore::open(redis, "ledger", RedisStoreOptions::new(Clock::system())).await;
        stores.push(Arc::new(store.expect("it answers")));
    }
    stores
}
