//! Random chains of imports. Trains are added, doubled, removed, retimed and renumbered, and get
//! other stations, ids and fares, while seats are held and sold between the imports. Whatever
//! happens, each ticket stays with its train and its price, or somebody decided about it, and no
//! train is sold under two ids. `FAIRGATE_CHAINS` sets how many chains are played; there are few by
//! default.

use std::collections::{BTreeMap, BTreeSet};

use fairgate_model::ids::ShowId;
use fairgate_model::timetables::Timetable;
use jiff::civil::Date;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::*;

const CHAINS: u64 = 4;
const IMPORTS: usize = 5;
const SALES: usize = 4;

/// A train that runs, whatever a timetable calls it.
#[derive(Debug, Clone)]
struct RunningTrain {
    key: u32,
    train: Train,
}

/// A ticket, and the train for which it was sold.
#[derive(Debug)]
struct SoldTicket {
    order: Value,
    show: ShowId,
    key: u32,
    /// The minute at which the train leaves, as of the last look.
    leaves: u32,
    seat: String,
    /// What a ride cost when it was sold, in minor units.
    price: i64,
    /// Whether somebody decided that the train is cancelled or goes on as it was sold.
    is_decided: bool,
}

/// One chain of imports.
struct Chain {
    app: App,
    dice: StdRng,
    trains: Vec<RunningTrain>,
    /// The trains as the last timetable but one had them.
    before: Vec<RunningTrain>,
    tickets: Vec<SoldTicket>,
    /// What a ride costs, in minor units.
    price: i64,
    next_key: u32,
    visitors: u16,
}

fn day() -> Date {
    DAY.parse().expect("a day")
}

/// Returns the moment of a minute of the day.
fn moment(minute: u32) -> String {
    format!("{DAY}T{:02}:{:02}:00Z", minute / 60, minute % 60)
}

impl Chain {
    async fn begin(seed: u64) -> Self {
        let mut chain = Self {
            app: App::new().await,
            dice: StdRng::seed_from_u64(seed),
            trains: Vec::new(),
            before: Vec::new(),
            tickets: Vec::new(),
            price: PRICE,
            next_key: 0,
            visitors: 0,
        };
        for _ in 0..4 {
            chain.add_train();
        }
        let parts = chain.timetable();
        chain.app.import_timetable(&parts).await;
        chain.app = chain.app.restarted().await;
        chain
    }

    fn timetable(&self) -> TimetableParts {
        timetable_at(&self.listed(), self.price)
    }

    fn listed(&self) -> Vec<Train> {
        self.trains
            .iter()
            .map(|running| running.train.clone())
            .collect()
    }

    /// Adds a train, which may have the number of another one, or none.
    fn add_train(&mut self) {
        let key = self.next_key;
        self.next_key += 1;
        let numbers = ["RE 101", "RE 102", "RE 103", ""];
        let number = *numbers.choose(&mut self.dice).expect("a number");
        let minute = 360 + 15 * self.dice.random_range(0..60);
        let train = Train {
            leaves: minute,
            ..train(&format!("t{key}"), number, "06:00")
        };
        self.trains.push(RunningTrain { key, train });
    }

    /// Changes one thing about the trains.
    fn change(&mut self) {
        let kind = self.dice.random_range(0..9);
        // A timetable without trains is refused.
        if kind == 0 || (kind == 1 && self.trains.len() == 1) {
            self.add_train();
            return;
        }
        let at = self.dice.random_range(0..self.trains.len());
        match kind {
            1 => {
                self.trains.remove(at);
            }
            2 => {
                let mut doubled = self.trains[at].clone();
                doubled.key = self.next_key;
                doubled.train.trip = format!("d{}", self.next_key);
                self.next_key += 1;
                self.trains.push(doubled);
            }
            3 | 4 => {
                let by = self.dice.random_range(0..=90) * 2;
                let train = &mut self.trains[at].train;
                train.leaves = (train.leaves + by).saturating_sub(90).max(300);
            }
            8 => self.price = 10 * self.dice.random_range(50..200),
            5 => self.trains[at].train.number = format!("RE {}", 104 + at),
            6 => {
                let stations = &mut self.trains[at].train.stations;
                if stations.pop_if(|last| *last == "dd").is_none() {
                    stations.push("dd");
                }
            }
            _ => {
                // Each edition of some feeds gives all ids anew, to other trains.
                let mut ids: Vec<String> = self.listed().into_iter().map(|one| one.trip).collect();
                ids.rotate_left(1);
                for (running, id) in self.trains.iter_mut().zip(ids) {
                    running.train.trip = id;
                }
            }
        }
    }

    /// Returns the timetable in force.
    async fn in_force(&self) -> Timetable {
        let ledger = self.app.ledger().await;
        let version = ledger.newest_timetable().await.expect("readable");
        let stored = ledger.timetable(version.expect("imported")).await;
        let stored = stored.expect("readable").expect("stored");
        let read = Timetable::read(&stored.text).expect("sound");
        read.with_kept_ids(stored.kept)
            .expect("its trips are there")
    }

    /// Holds seats and buys some of them.
    async fn sell(&mut self) {
        let timetable = self.in_force().await;
        let shows: Vec<(ShowId, u32)> = self
            .trains
            .iter()
            .zip(0..)
            .filter_map(|(running, trip)| Some((timetable.show_id(trip, day())?, running.key)))
            .collect();
        for _ in 0..SALES {
            let Some((show, key)) = shows.choose(&mut self.dice).cloned() else {
                return;
            };
            self.visitors += 1;
            let seat = format!(
                "{}-{}A",
                self.dice.random_range(3..=8),
                self.dice.random_range(1..=17)
            );
            let app = &self.app;
            // A node that still has the earlier timetable refuses a first hold.
            let held = until("the timetable at this node", async || {
                let held = held(app, self.visitors, show.as_str(), &seat).await;
                (held.status != 503).then_some(held)
            })
            .await;
            if held.status == 409 {
                held.problem(409, "seats_taken");
                continue;
            }
            let hold = held.is(201);
            if self.dice.random_range(0..3) == 0 {
                continue;
            }
            let mut trains = self.trains.iter();
            let sold = trains.find(|running| running.key == key);
            let leaves = sold.expect("it runs").train.leaves;
            let who = self.app.visitor_of(EVERYDAY, self.visitors);
            let order = bought(&self.app, &who, &hold, &["Ana Perez"]).await;
            self.tickets.push(SoldTicket {
                order,
                show,
                key,
                leaves,
                seat,
                price: self.price,
                is_decided: false,
            });
        }
    }

    /// Decides about a departure as somebody does who knows the trains.
    fn decide(&mut self, parts: &TimetableParts, show: &ShowId, choices: &mut ShowChoices) {
        let new = Timetable::new(parts.clone()).expect("sound");
        let key = self.tickets.iter().find(|ticket| ticket.show == *show);
        let key = key.map(|ticket| ticket.key);
        let runs = self
            .trains
            .iter()
            .position(|running| Some(running.key) == key);
        let id = runs.and_then(|at| new.show_id(u32::try_from(at).expect("few"), day()));
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
    /// that a refused import changes nothing.
    async fn import(&mut self) {
        let parts = self.timetable();
        let mut choices = none();
        let before = self.in_force().await.kept_departures().to_vec();
        let switched = loop {
            let undecided = match replace_by(&self.app, &parts, choices.clone()).await {
                Ok(switched) => break switched,
                Err(undecided) => undecided,
            };
            assert_eq!(self.in_force().await.kept_departures(), before);
            for departure in undecided {
                let is_sold = self
                    .tickets
                    .iter()
                    .any(|ticket| ticket.show == departure.show);
                assert!(is_sold, "nobody bought {departure:?}");
                self.decide(&parts, &departure.show, &mut choices);
            }
        };
        for ticket in &mut self.tickets {
            let show = &ticket.show;
            ticket.is_decided |= choices.keep.contains(show) || choices.cancel.contains(show);
        }
        let version = switched.version;
        until("the new timetable and its rows", async || {
            let path = format!("/v1/rail/trips?from=aa&to=bb&date={DAY}");
            self.app.clock.advance_ms(1_000);
            let trips = self.app.ask(get(&path)).await.is(200);
            let listed = trips.as_array().expect("a list").clone();
            let timetable = self.in_force().await;
            let sold = self.trains.iter().zip(0..).filter_map(|(running, trip)| {
                let show = timetable.show_id(trip, day())?;
                Some((show.to_string(), moment(running.train.leaves), self.price))
            });
            let expected: BTreeSet<(String, String, i64)> = sold.collect();
            let of = |trip: &Value| {
                let price = trip["classes"][2]["price"]["amount"].as_i64();
                let price = price.expect("a price");
                (text(trip, "show"), text(trip, "departs"), price)
            };
            let found: BTreeSet<(String, String, i64)> = listed.iter().map(of).collect();
            (found == expected).then_some(version)
        })
        .await;
    }

    /// Checks each ticket against the trains that run.
    async fn check(&mut self) {
        let timetable = self.in_force().await;
        let mut sold_as: BTreeMap<u32, BTreeSet<&ShowId>> = BTreeMap::new();
        let mut seats = BTreeSet::new();
        for ticket in &mut self.tickets {
            let record = self.app.read(&ticket.order).await;
            let paid = record["seats"][0]["price"]["amount"].as_i64();
            assert_eq!(paid, Some(ticket.price), "{ticket:?}");
            let state = text(&record, "state");
            if state != "ticketed" {
                assert!(ticket.is_decided, "{state} without a decision: {ticket:?}");
                continue;
            }
            let seat = (ticket.show.clone(), ticket.seat.clone());
            assert!(seats.insert(seat), "sold twice: {ticket:?}");
            let Some((trip, _)) = timetable.trip_of_show(&ticket.show) else {
                assert!(ticket.is_decided, "a ticket without a train: {ticket:?}");
                continue;
            };
            let running = &self.trains[trip as usize];
            // Of trains that nobody could tell apart, a ticket may go with any, and with the one
            // that kept its time.
            let kept_time = running.train.leaves == ticket.leaves;
            let is_own = running.key == ticket.key;
            let as_before = |key: u32| {
                let was = self.before.iter().find(|before| before.key == key)?;
                Some((&was.train.number, was.train.leaves, &was.train.stations))
            };
            let were_alike = as_before(running.key) == as_before(ticket.key);
            // Nobody can tell a train that is new, or that has another number and moved far, from
            // one that was renumbered and moved a little, if no other train may be it.
            let is_far = |minute: u32| running.train.leaves.abs_diff(minute) > 60;
            let was_known = self.before.iter().any(|before| {
                let was = &before.train;
                let number = &running.train.number;
                let is_renamed = number.is_empty() || was.number != *number;
                before.key == running.key && !(is_renamed && is_far(was.leaves))
            });
            let still_runs = self.trains.iter().any(|train| train.key == ticket.key);
            let is_only_one = !was_known && !still_runs && !is_far(ticket.leaves);
            assert!(
                is_own || kept_time || were_alike || is_only_one,
                "the ticket of train {} at {} as {} is for {running:?} of {:?}",
                ticket.key,
                moment(ticket.leaves),
                ticket.show,
                self.trains
            );
            ticket.key = running.key;
            ticket.leaves = running.train.leaves;
            let leaves = moment(ticket.leaves);
            assert_eq!(record["journey"]["from"]["at"], leaves, "{ticket:?}");
            sold_as.entry(ticket.key).or_default().insert(&ticket.show);
        }
        for (key, shows) in sold_as {
            assert_eq!(shows.len(), 1, "train {key} is sold as {shows:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_random_chains_of_imports_each_ticket_stays_with_its_train() {
    let chains = std::env::var("FAIRGATE_CHAINS");
    let chains = chains.map_or(CHAINS, |count| count.parse().expect("a number"));
    for seed in 0..chains {
        eprintln!("chain {seed}");
        let mut chain = Chain::begin(seed).await;
        for _ in 0..IMPORTS {
            chain.sell().await;
            chain.before = chain.trains.clone();
            for _ in 0..chain.dice.random_range(1..=3) {
                chain.change();
            }
            chain.import().await;
            chain.check().await;
        }
    }
    eprintln!("FIGURE {chains} chains of {IMPORTS} imports, each ticket with its train");
}
