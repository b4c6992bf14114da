//! Random chains of imports. Trains are added, doubled, removed, retimed and renumbered, and get
//! other stations, ids and fares, while seats are held and sold between the imports. Whatever
//! happens, each ticket stays with its train and its price, or somebody decided about it, and no
//! train is sold under two ids. At two nodes, seats are also held and sold during the imports.
//!
//! `FAIRGATE_CHAINS` sets how many chains are played at one node and at two; there are few by
//! default. If `FAIRGATE_DUMPS` names a folder, each chain writes its files for the judge there.

mod checking;
mod running_trains;
mod selling;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fairgate_databases::tokio_postgres;
use fairgate_model::ids::ShowId;
use fairgate_model::timetables::Timetable;
use fairgate_servers as servers;
use jiff::civil::Date;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::judging::{self, CancelledShow};
use running_trains::{RunningTrain, RunningTrains};
use selling::{SalesMeanwhile, SoldTicket};

const CHAINS: u64 = 4;
const CHAINS_AT_NODES: u64 = 2;
const IMPORTS: usize = 5;
/// How many chains are played at the same time. A chain spends most of its time waiting until the
/// nodes have read the new timetable.
const AT_ONCE: usize = 4;

/// One chain of imports.
struct Chain {
    seed: u64,
    /// The nodes that sell, at least one.
    nodes: Arc<Vec<App>>,
    /// The day on which people travel.
    day: Date,
    /// The first and the last day of the timetable.
    days: String,
    dice: StdRng,
    trains: RunningTrains,
    /// The trains as the last timetable but one had them.
    before: Vec<RunningTrain>,
    tickets: Vec<SoldTicket>,
    cancelled: Vec<CancelledShow>,
    /// How many of the tickets were sold during imports.
    sold_meanwhile: usize,
    visitors: u16,
}

/// Returns the timetable in force.
async fn in_force(node: &App) -> Timetable {
    let ledger = node.ledger().await;
    let version = ledger.newest_timetable().await.expect("readable");
    let stored = ledger.timetable(version.expect("imported")).await;
    let stored = stored.expect("readable").expect("stored");
    let read = Timetable::read(&stored.text).expect("sound");
    read.with_kept_ids(stored.kept)
        .expect("its trips are there")
}

/// Returns the moment of a minute of a day.
fn moment(day: Date, minute: u32) -> String {
    format!("{day}T{:02}:{:02}:00Z", minute / 60, minute % 60)
}

impl Chain {
    /// Begins a chain at nodes that share a ledger, or at one node whose ledger is a file.
    async fn begin(seed: u64, nodes: Vec<App>) -> Self {
        let now = jiff::Timestamp::from_millisecond(nodes[0].clock.now_ms()).expect("a moment");
        let today = now.to_zoned(jiff::tz::TimeZone::UTC).date();
        let day = today.checked_add(jiff::ToSpan::days(3)).expect("a day");
        let mut dice = StdRng::seed_from_u64(seed);
        let mut chain = Self {
            seed,
            nodes: Arc::default(),
            day,
            days: format!("{0}0101,{1}1231", today.year(), today.year() + 1),
            trains: RunningTrains::new(&mut dice),
            dice,
            before: Vec::new(),
            tickets: Vec::new(),
            cancelled: Vec::new(),
            sold_meanwhile: 0,
            visitors: 0,
        };
        let parts = chain.timetable();
        nodes[0].import_timetable(&parts).await;
        let mut ready = Vec::new();
        for node in nodes {
            // A server over a file reads its timetable when it starts.
            ready.push(match node.ledger().await.is_shared() {
                true => node,
                false => node.restarted().await,
            });
        }
        chain.nodes = Arc::new(ready);
        chain.until_all_sell().await;
        chain
    }

    fn timetable(&self) -> TimetableParts {
        let RunningTrains { all, price, .. } = &self.trains;
        let trains: Vec<Train> = all.iter().map(|running| running.train.clone()).collect();
        timetable_between(&trains, *price, &self.days)
    }

    /// Decides about a departure as somebody does who knows the trains.
    fn decide(&mut self, parts: &TimetableParts, show: &ShowId, choices: &mut ShowChoices) {
        let new = Timetable::new(parts.clone()).expect("sound");
        let key = self.tickets.iter().find(|ticket| ticket.show == *show);
        let key = key.and_then(|ticket| ticket.key);
        let mut trains = self.trains.all.iter();
        let runs = trains.position(|running| Some(running.key) == key);
        let id = runs.and_then(|at| new.show_id(u32::try_from(at).expect("few"), self.day));
        let has_been_tried = choices.matches.remove(show).is_some();
        match id {
            Some(id) if !has_been_tried => {
                choices.matches.insert(show.clone(), id);
            }
            Some(_) => _ = choices.cancel.insert(show.clone()),
            None if self.dice.random_range(0..2) == 0 => _ = choices.keep.insert(show.clone()),
            None => _ = choices.cancel.insert(show.clone()),
        }
    }

    /// Imports the trains as they are now. Decides about each departure that is named, and checks
    /// that a refused import changes nothing. Returns the decisions.
    async fn import(&mut self) -> ShowChoices {
        let parts = self.timetable();
        let mut choices = none();
        let before = in_force(&self.nodes[0]).await.kept_departures().to_vec();
        loop {
            let asked_ms = self.nodes[0].clock.now_ms();
            let undecided = match replace_by(&self.nodes[0], &parts, choices.clone()).await {
                Ok(_) => {
                    let at_ms = self.nodes[0].clock.now_ms();
                    let cancelled = choices.cancel.iter().cloned();
                    let trains = cancelled.map(|show| CancelledShow {
                        show: show.to_string(),
                        asked_ms,
                        at_ms,
                    });
                    self.cancelled.extend(trains);
                    return choices;
                }
                Err(undecided) => undecided,
            };
            assert_eq!(in_force(&self.nodes[0]).await.kept_departures(), before);
            for departure in undecided {
                let mut tickets = self.tickets.iter();
                let is_sold = tickets.any(|ticket| ticket.show == departure.show);
                let sells_meanwhile = self.nodes.len() > 1;
                assert!(is_sold || sells_meanwhile, "nobody bought {departure:?}");
                self.decide(&parts, &departure.show, &mut choices);
            }
        }
    }

    /// Imports the trains as they are now. At several nodes, visitors hold and buy seats meanwhile.
    async fn import_and_sell(&mut self) {
        let sales_meanwhile = SalesMeanwhile {
            nodes: Arc::clone(&self.nodes),
            day: self.day,
            first_visitor: self.visitors,
            has_ended: AtomicBool::new(self.nodes.len() == 1),
        };
        let dice = StdRng::seed_from_u64(self.dice.random());
        let importing = async {
            let decided = self.import().await;
            self.until_all_sell().await;
            sales_meanwhile.has_ended.store(true, Ordering::Relaxed);
            decided
        };
        let (choices, (sold, visitors)) = tokio::join!(importing, sales_meanwhile.run(dice));
        self.visitors = visitors;
        self.sold_meanwhile += sold.len();
        self.tickets.extend(sold);
        for ticket in &mut self.tickets {
            let show = &ticket.show;
            ticket.is_decided |= choices.keep.contains(show) || choices.cancel.contains(show);
        }
    }

    /// Waits until a search at each node finds the trains as they are, at their price.
    async fn until_all_sell(&self) {
        let path = format!("/v1/rail/trips?from=aa&to=cc&date={}", self.day);
        let timetable = in_force(&self.nodes[0]).await;
        let sold = self.trains.all.iter().zip(0..);
        let sold = sold.filter_map(|(running, trip)| {
            let show = timetable.show_id(trip, self.day)?;
            let leaves = moment(self.day, running.train.leaves);
            Some((show.to_string(), leaves, self.trains.price))
        });
        let expected: BTreeSet<(String, String, i64)> = sold.collect();
        let of = |trip: &Value| {
            let price = trip["classes"][2]["price"]["amount"].as_i64();
            let price = price.expect("a price");
            (text(trip, "show"), text(trip, "departs"), price)
        };
        for node in &*self.nodes {
            until("the new timetable and its rows", async || {
                if self.nodes.len() == 1 {
                    node.clock.advance_ms(1_000);
                }
                let trips = node.ask(get(&path)).await;
                // A node that has not read the first timetable yet sells no trains.
                let trips = (trips.status == 200).then(|| trips.is(200))?;
                let listed = trips.as_array().expect("a list");
                let found: BTreeSet<(String, String, i64)> = listed.iter().map(of).collect();
                (found == expected).then_some(())
            })
            .await;
        }
    }
}

impl Chain {
    /// Writes what the judge reads, once the tickets of cancelled trains are refunded.
    async fn write_files(&self, folder: &Path) {
        let node = &self.nodes[0];
        for ticket in &self.tickets {
            let show = ticket.show.to_string();
            if self.cancelled.iter().any(|train| train.show == show) {
                node.order_in(&ticket.order, "refunded").await;
            }
        }
        let name = format!("{}-{}", self.nodes.len(), self.seed);
        judging::write_files(folder, &name, node, &self.cancelled).await;
    }
}

/// Plays one chain. Returns how many tickets were sold, and how many of them during imports.
async fn play(seed: u64, nodes: Vec<App>) -> (usize, usize) {
    let mut chain = Chain::begin(seed, nodes).await;
    for _ in 0..IMPORTS {
        chain.sell().await;
        chain.before.clone_from(&chain.trains.all);
        for _ in 0..chain.dice.random_range(1..=3) {
            chain.trains.change(&mut chain.dice);
        }
        chain.import_and_sell().await;
        chain.check().await;
    }
    if let Some(folder) = std::env::var_os("FAIRGATE_DUMPS") {
        chain.write_files(Path::new(&folder)).await;
    }
    (chain.tickets.len(), chain.sold_meanwhile)
}

/// Plays chains, some of them at the same time, and tells how many tickets were sold. Returns the
/// tickets that were sold during imports.
async fn play_all(
    by_default: u64,
    nodes: &str,
    play: impl AsyncFn(u64) -> (usize, usize),
) -> usize {
    let chains = std::env::var("FAIRGATE_CHAINS");
    let chains = chains.map_or(by_default, |count| count.parse().expect("a number"));
    let (mut sold, mut meanwhile) = (0, 0);
    for first in (0..chains).step_by(AT_ONCE) {
        let seeds = first..chains.min(first + AT_ONCE as u64);
        eprintln!("chains {seeds:?}");
        for (of_chain, of_imports) in join_all(seeds.map(|seed| play(seed))).await {
            (sold, meanwhile) = (sold + of_chain, meanwhile + of_imports);
        }
    }
    eprintln!(
        "FIGURE {chains} chains of {IMPORTS} imports at {nodes}, {sold} tickets, {meanwhile} of them sold during imports; each with its train"
    );
    meanwhile
}

#[tokio::test(flavor = "multi_thread")]
async fn in_random_chains_of_imports_each_ticket_stays_with_its_train() {
    let at_one = async |seed| play(seed, vec![App::new().await]).await;
    play_all(CHAINS, "one node", at_one).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_two_nodes_that_sell_meanwhile_each_ticket_stays_with_its_train() {
    if servers::must_skip("chains of imports at two nodes") {
        return;
    }
    let at_nodes = async |seed| {
        let redis = servers::RedisServers::single().await.expect("Redis starts");
        play(seed, App::nodes(2, &redis.url()).await).await
    };
    let meanwhile = play_all(CHAINS_AT_NODES, "two nodes", at_nodes).await;
    assert!(meanwhile > 0, "nothing was sold during the imports");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_and_a_refund_at_the_same_time_never_wait_for_each_other() {
    if servers::must_skip("a refund during an import") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let mut chain = Chain::begin(1, App::nodes(2, &redis.url()).await).await;
    while chain.tickets.is_empty() {
        chain.sell().await;
    }
    for running in &mut chain.trains.all {
        running_trains::toggle_stop(&mut running.train, 1, "dd");
    }
    let nodes = Arc::clone(&chain.nodes);
    let (show, order) = (
        chain.tickets[0].show.clone(),
        chain.tickets[0].order.clone(),
    );
    // Somebody else holds the show's lock until both wait for it, the import first.
    let (other, session) = tokio_postgres::connect(&nodes[0].url(), tokio_postgres::NoTls)
        .await
        .expect("it answers");
    tokio::spawn(session);
    let lock = format!("BEGIN; SELECT pg_advisory_xact_lock(1, hashtext('{show}'))");
    other.batch_execute(&lock).await.expect("locked");
    let count_of = async |sql: &str| {
        let told = nodes[0].database().query(sql).await.expect("it answers");
        told.trim().parse::<u32>().expect("a number")
    };
    let waiting = "SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'";
    let until_waiting = async |least: u32| {
        until("transactions wait for the show", async || {
            (count_of(waiting).await >= least).then_some(())
        })
        .await;
    };
    let refunding = async {
        until_waiting(1).await;
        let path = format!("/v1/orders/{}/refund", text(&order, "order"));
        let call = post(&path, &json!({})).by(&text(&order, "order_key"));
        nodes[1].ask(call).await.is(200)
    };
    let releasing = async {
        until_waiting(2).await;
        other.batch_execute("COMMIT").await.expect("released");
    };
    tokio::join!(chain.import(), refunding, releasing);
    chain.until_all_sell().await;
    let met = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(count_of(met).await, 0, "deadlocks");
}
