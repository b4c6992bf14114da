//! A rush on one train. Many buyers ask one or more nodes for stretches at the same time, and give
//! some of their holds back. Afterwards a brute-force checker searches the whole history for a seat
//! that two buyers had on the same leg at the same time.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use booking::catalogue::Catalogue;
use booking::holds::ask::HoldRequest;
use booking::holds::searches::SeatSearches;
use booking::holds::take::{CallHoldIds, HoldDesk};
use booking::inventory::seats::SeatInventory;
use booking::ledger::Ledger;
use booking::stopped_passes::StoppedPasses;
use booking::store::InventoryStore;
use booking::store::redis::{RedisStore, RedisStoreOptions};
use fairgate_base::clock::Clock;
use fairgate_base::http::{Problem, ProblemCode};
use fairgate_databases::{Installation, SqliteDatabase};
use fairgate_model::grid::CellState;
use fairgate_model::ids::{HoldId, HoldIdDeriver, ShowId, VenueId};
use fairgate_model::payments::kind::ProviderKind;
use fairgate_model::shows::Show;
use fairgate_model::venues::VenueLocation;
use fairgate_pass::{Holder, Keyring, LivePass, PassClaims, StoredKey, VerifiedPass};
use fairgate_redis::Redis;
use rand::RngExt;
use serde_json::json;

use crate::train::{CLASS, Daily, carriages, code};

/// The size of a rush.
#[derive(Debug, Clone, Copy)]
pub struct Rush {
    pub seats: u32,
    pub stops: u16,
    pub requests: u32,
    pub buyers: u32,
}

/// The full size: a very long train and a large crowd.
pub const RUSH: Rush = Rush {
    seats: 1_000,
    stops: 16,
    requests: 20_000,
    buyers: 200,
};

/// The share of holds that are given back, in per cent.
const GIVEN_BACK_PCT: u32 = 20;
/// A buyer who is told that too many others ask comes again after this time.
const COMES_AGAIN_AFTER: Duration = Duration::from_millis(20);
/// How soon a node's view must show the holds of all nodes.
const SEEN_WITHIN: Duration = Duration::from_secs(10);

/// The result of a rush.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The number of holds that were taken.
    pub taken: usize,
    /// The number of requests that were refused.
    pub refused: usize,
    /// The number of holds that were given back.
    pub given_back: usize,
    /// The errors that the checker found. There must be none.
    pub findings: Vec<String>,
    /// How long the buyers took.
    pub took: Duration,
    /// The share of the train's cells that are held at the end, in per cent.
    pub filled_pct: f64,
}

/// A seat that a buyer certainly had, from the answer until the buyer began to give it back.
struct Had {
    hold: HoldId,
    seat: u32,
    legs: Range<u16>,
    since: Instant,
    until: Option<Instant>,
}

/// Runs a rush on a new train. There is one node for each store, and the buyers spread over the
/// nodes. The stores are one in-process store, or stores that share one Redis.
pub async fn run(stores: Vec<Arc<dyn InventoryStore>>, ledger: Ledger, rush: Rush) -> Outcome {
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
        let (odd, filled_pct) = compare_view(desk, &show, &history).await;
        outcome.findings.extend(odd);
        outcome.filled_pct = filled_pct;
    }
    outcome
}

/// Makes a node for each store, and returns the desk of each node.
async fn opened(
    stores: Vec<Arc<dyn InventoryStore>>,
    ledger: Ledger,
    rush: Rush,
    clock: &Clock,
) -> Vec<HoldDesk> {
    let stock: VenueId = "stock".parse().expect("a slug");
    let leaves_ms = clock.now_ms() + 3_600_000;
    let leaves = jiff::Timestamp::from_millisecond(leaves_ms).expect("a moment");
    let mut desks = Vec::new();
    for store in stores {
        let catalogue = Catalogue::open(ledger.clone(), ProviderKind::None).await;
        let catalogue = catalogue.expect("it can be read");
        let map = carriages(rush.seats);
        // If another node has already put the plan, this changes nothing.
        let nowhere = VenueLocation::default();
        let now_ms = clock.now_ms();
        let put = catalogue.put_venue(&stock, &map, &nowhere, now_ms).await;
        put.expect("stored");
        let daily = Daily {
            stock: stock.clone(),
            stops: rush.stops,
            seats_per_visitor: 1_000,
            leaves,
        };
        let sold = catalogue.sell_departures(Arc::new(daily)).await;
        sold.expect("its plan can be read");
        let seats = SeatInventory::new(store, ledger.clone(), clock.clone());
        let stopped = StoppedPasses::open(ledger.clone(), clock.clone()).await;
        desks.push(HoldDesk {
            catalogue,
            seats,
            ledger: ledger.clone(),
            stopped: stopped.expect("read"),
            ids: HoldIdDeriver::new([1; 32]),
            searches: SeatSearches::default(),
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
            VerifiedPass::Expired(_) => unreachable!("it is new"),
        }
    };
    (0..buyers).map(pass).collect()
}

/// Makes one buyer's requests one after the other, each for one to three travellers. Returns the
/// seats that the buyer had, and how many requests were refused.
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
        let taken = loop {
            let taken = desk.take(show, pass, &ask, name.clone(), clock.now_ms());
            match taken.await.map_err(Problem::from) {
                // So many others ask for seats that the buyer has to come again.
                Err(problem) if problem.code == ProblemCode::Busy => {
                    tokio::time::sleep(COMES_AGAIN_AFTER).await;
                }
                taken => break taken,
            }
        };
        let hold = match taken {
            Ok(hold) => hold,
            Err(problem) => {
                let known = ["best_available_not_found", "journey_held", "seats_taken"];
                assert!(known.contains(&problem.code.as_str()), "{}", problem.detail);
                refused += 1;
                continue;
            }
        };
        let since = Instant::now();
        // The buyer may hold this journey already. Then the answer is that hold again.
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

/// Finds all pairs of holds that had the same seat on the same leg at the same time.
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

/// Compares a node's view with the holds that were not given back. Waits up to [`SEEN_WITHIN`]
/// until they agree. Returns the differences, and the share of cells that are held, in per cent.
async fn compare_view(desk: &HoldDesk, show: &ShowId, history: &[Had]) -> (Vec<String>, f64) {
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

/// Opens a ledger in a new file of the folder.
pub async fn ledger(folder: &std::path::Path) -> Ledger {
    let writer = SqliteDatabase::open(&folder.join("ledger.db")).expect("a file");
    Ledger::open(Installation::File(writer))
        .await
        .expect("a ledger")
}

/// Returns a store for each of `nodes` nodes, all on one Redis.
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
