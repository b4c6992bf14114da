//! Random histories of what happens at the provider between our calls: refunds and cancellations in
//! its dashboard, disputes that are won and lost, and money that belongs to no payment. Two booking
//! processes share one PostgreSQL and one Redis, and are killed again and again. The provider
//! drops, repeats and delays events, and refuses calls.
//!
//! Whatever happens, the ledger and the provider agree about every payment, no ticket is valid
//! whose money is gone, and nothing is tried for ever.
//!
//! `FAIRGATE_HISTORIES` sets how many histories are played; there are few by default.
//! `FAIRGATE_HISTORIES_SEED` sets the seed of the first one.

mod checking;
mod nodes;
mod playing;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fairgate_servers::actors::until;
use fairgate_servers::{FakeStripeServer, StripeFaultSettings, must_skip};
use futures_util::future::join;
use futures_util::{StreamExt, stream};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use nodes::TwoNodes;
use playing::{History, PlayedHistory};

const HISTORIES: u64 = 10;
/// How many histories are played at the same time.
const AT_ONCE: usize = 6;

/// The provider's faults while the histories are played.
const FAULTS: StripeFaultSettings = StripeFaultSettings {
    away: false,
    sums_pct: 0,
    too_many_pct: 3,
    locked_pct: 2,
    broken_pct: 3,
    hang_pct: 3,
    drop_pct: 30,
    twice_pct: 20,
    delay_ms_max: 400,
};

fn number(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| value.parse().expect("a number"))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ledger_agrees_with_the_provider_after_any_history_at_two_nodes_with_kills() {
    if must_skip("histories of a provider at two nodes") {
        return;
    }
    let count = number("FAIRGATE_HISTORIES", HISTORIES);
    let seed = number("FAIRGATE_HISTORIES_SEED", 1);
    let stripe = FakeStripeServer::start(seed).await.expect("a port");
    let nodes = Arc::new(TwoNodes::start(&stripe).await);
    nodes.put_shows().await;
    nodes.until_events_are_followed(&stripe).await;
    stripe.misbehave(FAULTS);
    let over = AtomicBool::new(false);
    let histories = async {
        let histories = (seed..seed + count)
            .map(|seed| History::new(seed, Arc::clone(&nodes), stripe.clone()).play());
        let played: Vec<PlayedHistory> = stream::iter(histories)
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        over.store(true, Ordering::Relaxed);
        played
    };
    let (played, kills) = join(histories, kill_now_and_then(&nodes, &over, seed)).await;
    stripe.misbehave(StripeFaultSettings::default());
    nodes.until_all_run().await;
    checking::check(&nodes, &stripe, &played).await;
    let acts = played.iter().map(|one| one.acts.len()).sum::<usize>();
    eprintln!("FIGURE {count} histories from seed {seed}: {acts} acts, {kills} kills");
    assert!(kills > 0, "no node was killed");
}

/// Kills one node after the other, and starts it again, until the histories are over. Returns how
/// often.
async fn kill_now_and_then(nodes: &TwoNodes, over: &AtomicBool, seed: u64) -> u32 {
    let mut dice = StdRng::seed_from_u64(seed);
    let mut kills = 0;
    while !over.load(Ordering::Relaxed) {
        let work = dice.random_range(20..80);
        let from = nodes.calls();
        let kill_after =
            async || (nodes.calls() >= from + work || over.load(Ordering::Relaxed)).then_some(());
        until("some calls before the next kill", kill_after).await;
        nodes.kill_and_restart(dice.random_range(0..2)).await;
        kills += 1;
    }
    kills
}
