//! Takes holds through the inventory's Redis store as fast as possible. `loadtest bench holds`
//! starts this program, because the load test does not link the store itself. The program opens a
//! show, prints "opened", and waits for a line on its input. Then it takes all holds, and prints
//! how many seconds that took.
//!
//! `holds REDIS_URL HOLDS AT_ONCE`

use std::io::BufRead;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use booking::store::redis::{RedisStore, RedisStoreOptions};
use booking::store::{InventoryStore, OpeningInventory};
use fairgate_base::clock::Clock;
use fairgate_model::grid::CellGrid;
use fairgate_model::holds::{HeldSeat, Hold, HoldStage};
use fairgate_model::ids::{HoldId, ShowId};
use fairgate_pass::Holder;
use fairgate_redis::Redis;

/// The number of seats of each hold.
const SEATS: u32 = 2;
/// How long a hold lasts, in milliseconds. No hold lapses during the run.
const HOLD_MS: i64 = 600_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, holds, at_once] = &arguments[..] else {
        return Err("holds REDIS_URL HOLDS AT_ONCE".into());
    };
    let (holds, at_once): (u32, u32) = (holds.parse()?, at_once.parse()?);
    let clock = Clock::system();
    let options = RedisStoreOptions {
        // The bench replays these calls later, with the same times. The scripts must not refuse
        // them because the times are old.
        clock_off_ms_max: i64::MAX / 4,
        ..RedisStoreOptions::new(clock.clone())
    };
    let store = RedisStore::open(Redis::connect(url)?, "bench", options).await?;
    let show: ShowId = "night".parse()?;
    let opening = OpeningInventory {
        grid: CellGrid {
            seats: holds * SEATS,
            legs: 1,
        },
        plan_version: 1,
        incarnation: 1,
        blocked: Vec::new(),
        sold: Vec::new(),
        ordered: Vec::new(),
        cursor: 0,
        edition: 1,
        ends_older_holds: false,
    };
    store.begin(&show, &opening).await?;
    store.open(&show, opening).await?;
    eprintln!("opened");
    std::io::stdin().lock().lines().next();
    let begun = Instant::now();
    take_all(&store, &show, &clock, holds, at_once).await?;
    eprintln!("took {}", begun.elapsed().as_secs_f64());
    Ok(())
}

/// Takes `holds` holds, up to `at_once` of them at the same time.
async fn take_all(
    store: &RedisStore,
    show: &ShowId,
    clock: &Clock,
    holds: u32,
    at_once: u32,
) -> Result<(), Box<dyn std::error::Error>> {
    let next = Arc::new(AtomicU32::new(0));
    let mut taking = tokio::task::JoinSet::new();
    for _ in 0..at_once {
        let (store, show, clock) = (store.clone(), show.clone(), clock.clone());
        let next = Arc::clone(&next);
        taking.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= holds {
                    return Ok(());
                }
                store
                    .take(hold(&show, number, clock.now_ms()), SEATS)
                    .await?;
            }
        });
    }
    while let Some(taken) = taking.join_next().await {
        taken?.map_err(|refused: booking::store::InventoryRefusal| refused.to_string())?;
    }
    Ok(())
}

fn hold(show: &ShowId, number: u32, now_ms: i64) -> Hold {
    let mut visitor = [0; 32];
    visitor[..4].copy_from_slice(&number.to_be_bytes());
    let visitor = Holder(visitor);
    let item = |seat: u32| HeldSeat {
        seat: number * SEATS + seat,
        legs: 0..1,
    };
    Hold {
        id: HoldId::of_key(show, visitor, "bench"),
        visitor,
        room: "sale".to_owned(),
        purpose: fairgate_model::holds::HoldPurpose::Basket,
        terms: 1,
        items: (0..SEATS).map(item).collect(),
        plan_version: 1,
        next_to_each_other: true,
        expires_at_ms: now_ms + HOLD_MS,
        lock_until_ms: now_ms + HOLD_MS + 5_000,
        extensions_left: 0,
        stage: HoldStage::Basket,
    }
}
