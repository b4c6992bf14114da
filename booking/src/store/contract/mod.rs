//! The contract of every inventory store. Each case tests one promise of the store. It gets a fresh
//! store, and fails under its own name.

mod accepting;
mod deciding;
mod finding;
mod holding;
pub(crate) mod model;
mod seeing;
mod timing;
mod waiting;

use std::sync::Arc;

use fairgate_model::grid::{CellGrid, CellState};
use fairgate_model::holds::{HeldSeat, Hold, HoldPurpose, HoldStage};
use fairgate_model::ids::{HoldId, ShowId};
use fairgate_pass::Holder;
use fairgate_servers::{ContractCase, contract_cases as cases, run_contract};

use super::{
    CallId, InventoryRefusal, InventoryStore, OpeningInventory, SeatOutboxAction, SeatOutboxRow,
    SecuredHold,
};

pub(crate) type Store = Arc<dyn InventoryStore>;
type Case = ContractCase<'static, Store>;

/// Runs every case on a fresh store from `make`, and names all cases that failed.
///
/// # Panics
/// Panics if a case fails. The message names the case.
pub async fn suite(make: impl AsyncFn() -> Arc<dyn InventoryStore>) {
    let all = [
        holding::CASES,
        timing::CASES,
        deciding::CASES,
        seeing::CASES,
        waiting::CASES,
        accepting::CASES,
        finding::CASES,
    ];
    run_contract(&all.concat(), make).await;
}

/// Two legs of eight seats: enough for a seat that two people use one after the other.
const GRID: CellGrid = CellGrid { seats: 8, legs: 2 };
const PLAN: u32 = 3;
pub(crate) const NOW_MS: i64 = 1_000_000;
/// The deadline that the buyer sees, and the deadline of the locks.
const EXPIRES_MS: i64 = NOW_MS + 300_000;
const LOCK_MS: i64 = EXPIRES_MS + 5_000;
/// A limit that no case reaches.
const NO_LIMIT: u32 = 100;
/// The purpose of most holds in these cases.
const BASKET: &[HoldPurpose] = &[HoldPurpose::Basket];
const ANA: Holder = Holder([1; 32]);
const BEN: Holder = Holder([2; 32]);

fn show() -> ShowId {
    "night-1".parse().expect("a slug")
}

fn opening() -> OpeningInventory {
    OpeningInventory {
        grid: GRID,
        plan_version: PLAN,
        incarnation: 1,
        blocked: Vec::new(),
        sold: Vec::new(),
        ordered: Vec::new(),
        cursor: 0,
        edition: 5,
        ends_older_holds: false,
    }
}

/// Begins a show and opens it from its first picture.
async fn begin_and_open(store: &Store, opening: OpeningInventory) {
    store
        .begin(&show(), &opening)
        .await
        .expect("it is not open");
    let opened = store.open(&show(), opening).await;
    opened.expect("a fresh store takes any picture");
}

async fn opened(store: &Store) {
    begin_and_open(store, opening()).await;
}

/// Returns seats over all legs.
fn seats(seats: &[u32]) -> Vec<HeldSeat> {
    let held = |seat: &u32| HeldSeat {
        seat: *seat,
        legs: 0..GRID.legs,
    };
    seats.iter().map(held).collect()
}

fn id(key: &str) -> HoldId {
    HoldId::of_key(&show(), ANA, key)
}

fn call(n: u8) -> CallId {
    CallId([n; 16])
}

/// Builds a basket over all legs of some seats. Its id comes from the key alone, not from the
/// visitor.
fn basket(key: &str, visitor: Holder, of: &[u32]) -> Hold {
    Hold {
        id: id(key),
        visitor,
        room: "demo".to_owned(),
        purpose: HoldPurpose::Basket,
        terms: 1,
        items: seats(of),
        plan_version: PLAN,
        next_to_each_other: false,
        expires_at_ms: EXPIRES_MS,
        lock_until_ms: LOCK_MS,
        extensions_left: 1,
        stage: HoldStage::Basket,
    }
}

/// Secures a hold and returns it, without the life in which it is locked.
async fn secured(
    store: &Store,
    hold: &HoldId,
    visitor: Holder,
    until_ms: i64,
) -> Result<Hold, InventoryRefusal> {
    let secured = store.secure(hold, visitor, BASKET, until_ms).await;
    secured.map(|claimable| claimable.hold)
}

async fn taken(store: &Store, key: &str, visitor: Holder, of: &[u32]) -> Hold {
    let hold = store.take(basket(key, visitor, of), NO_LIMIT).await;
    hold.expect("the seats are free")
}

fn row(seq: u64, kind: SeatOutboxAction, key: &str, visitor: Holder, of: &[u32]) -> SeatOutboxRow {
    SeatOutboxRow {
        seq,
        kind,
        hold: id(key),
        visitor,
        items: seats(of),
    }
}

async fn states(store: &Store) -> Vec<CellState> {
    store.view(&show()).await.expect("the show is open").states
}

/// Returns the state of a seat that is the same on all legs.
async fn seat(store: &Store, seat: u32) -> CellState {
    let states = states(store).await;
    let of: Vec<CellState> = GRID
        .cells_of(seat, 0..GRID.legs)
        .map(|cell| states[cell as usize])
        .collect();
    assert!(
        of.iter().all(|state| *state == of[0]),
        "seat {seat} is split: {of:?}"
    );
    of[0]
}

/// Returns the version and every state. A refused transition must not change them.
async fn picture(store: &Store) -> (u64, Vec<CellState>) {
    let view = store.view(&show()).await.expect("the show is open");
    (view.version, view.states)
}

mod tests {
    use super::*;
    use crate::store::memory::MemoryStore;

    #[tokio::test(flavor = "multi_thread")]
    async fn the_in_process_store_keeps_the_contract() {
        suite(async || Arc::new(MemoryStore::default()) as Store).await;
    }
}
