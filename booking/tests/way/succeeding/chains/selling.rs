//! Holds and buys seats, between imports and during them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fairgate_model::ids::ShowId;
use fairgate_model::shows::coverage::EVERYDAY;
use jiff::civil::Date;
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use super::super::*;
use super::running_trains::RunningTrain;
use super::{Chain, in_force};

/// How many visitors hold seats between two imports.
const SALES: usize = 4;
/// How many visitors at most hold seats during an import.
const SALES_MEANWHILE_MAX: u16 = 40;

/// The codes with which an order is refused at a node that has not read a train's row again.
const BEHIND: [&str; 3] = ["plan_changed", "hold_expired", "seats_not_ready"];

/// A ticket, and the train for which it was sold.
#[derive(Debug)]
pub(super) struct SoldTicket {
    pub(super) order: Value,
    pub(super) show: ShowId,
    /// `None` if it was sold while a timetable was imported, and nobody looked at it since.
    pub(super) key: Option<u32>,
    /// The stations between which it was sold.
    pub(super) ends: (&'static str, &'static str),
    /// The minute at which the train leaves the first of them, as of the last look.
    pub(super) boards: u32,
    pub(super) seat: String,
    /// What the ride cost when it was sold, in minor units.
    pub(super) price: i64,
    /// Whether somebody decided that the train is cancelled or goes on as it was sold.
    pub(super) is_decided: bool,
}

fn any_seat(dice: &mut StdRng) -> String {
    let (carriage, row) = (dice.random_range(3..=8), dice.random_range(1..=17));
    format!("{carriage}-{row}A")
}

fn any_ends(dice: &mut StdRng, stations: &[&'static str]) -> (&'static str, &'static str) {
    let first = dice.random_range(0..stations.len() - 1);
    let last = dice.random_range(first + 1..stations.len());
    (stations[first], stations[last])
}

async fn hold_ride(
    node: &App,
    visitor: u16,
    show: &ShowId,
    (seat, (from, to)): (&str, (&str, &str)),
) -> TestAnswer {
    let who = node.visitor_of(EVERYDAY, visitor);
    let ride = json!({ "seats": [seat], "from": from, "to": to });
    let call = post(&format!("/v1/shows/{show}/holds"), &ride);
    node.ask(call.by(&who)).await
}

/// Orders a seat that a visitor holds at the first node, and pays for it, at the second one.
/// Returns the order, or the problem with which it was refused.
async fn buy((held_at, node): (&App, &App), visitor: u16, hold: &Value) -> Result<Value, Value> {
    let who = held_at.visitor_of(EVERYDAY, visitor);
    let path = format!("/v1/holds/{}/order", text(hold, "hold"));
    let mut wanted = buyer();
    wanted["travellers"] = json!([{"name": "Ana Perez"}]);
    let made = node.ask(post(&path, &wanted).by(&who)).await;
    if made.status != 201 {
        return Err(made.json());
    }
    let order = made.is(201);
    node.pay(&order, "approve").await.is(200);
    node.order_in(&order, "ticketed").await;
    Ok(order)
}

impl Chain {
    /// Holds seats and buys some of them.
    pub(super) async fn sell(&mut self) {
        let timetable = in_force(&self.nodes[0]).await;
        let shows = self
            .trains
            .all
            .iter()
            .zip(0..)
            .filter_map(|(running, trip)| {
                let show = timetable.show_id(trip, self.day)?;
                Some((show, running.clone()))
            });
        let shows: Vec<(ShowId, RunningTrain)> = shows.collect();
        for _ in 0..SALES {
            let Some((show, running)) = shows.choose(&mut self.dice).cloned() else {
                return;
            };
            let ends = any_ends(&mut self.dice, &running.train.stations);
            let seat = any_seat(&mut self.dice);
            self.visitors += 1;
            let node = self.nodes.choose(&mut self.dice).expect("a node");
            // A node that still has the earlier timetable refuses a first hold. One that has not
            // read a train's row again does not know its new stops.
            let held = until("the timetable at this node", async || {
                let held = hold_ride(node, self.visitors, &show, (&seat, ends)).await;
                (![422, 503].contains(&held.status)).then_some(held)
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
            // A node that has not read the train's row again holds seats on its earlier stops. They
            // cannot be ordered.
            let bought = buy((node, node), self.visitors, &hold).await;
            let order = match bought {
                Ok(order) => order,
                Err(refused) => {
                    let code = text(&refused, "code");
                    let is_behind = BEHIND.contains(&code.as_str());
                    assert!(is_behind, "{refused}");
                    continue;
                }
            };
            self.tickets.push(SoldTicket {
                order,
                show,
                key: Some(running.key),
                ends,
                boards: running.at(ends.0).expect("it calls there"),
                seat,
                price: self.trains.price,
                is_decided: false,
            });
        }
    }
}

/// Holds and buys seats at every node while a timetable is imported. Any of these calls may be
/// refused.
pub(super) struct SalesMeanwhile {
    pub(super) nodes: Arc<Vec<App>>,
    pub(super) day: Date,
    /// Visitors with larger numbers hold the seats.
    pub(super) first_visitor: u16,
    /// Whether the import has ended.
    pub(super) has_ended: AtomicBool,
}

impl SalesMeanwhile {
    /// Sells until the import has ended. Returns the tickets, and the last visitor's number.
    pub(super) async fn run(&self, mut dice: StdRng) -> (Vec<SoldTicket>, u16) {
        let mut sold = Vec::new();
        let mut visitor = self.first_visitor;
        let last = self.first_visitor + SALES_MEANWHILE_MAX;
        while visitor < last && !self.has_ended.load(Ordering::Relaxed) {
            visitor += 1;
            sold.extend(self.sell_one(visitor, &mut dice).await);
        }
        (sold, visitor)
    }

    async fn sell_one(&self, visitor: u16, dice: &mut StdRng) -> Option<SoldTicket> {
        let timetable = in_force(&self.nodes[0]).await;
        let trips: Vec<u32> = timetable.trips_on(self.day).collect();
        let show = timetable.show_id(*trips.choose(dice)?, self.day)?;
        let ends = any_ends(dice, &["aa", "bb", "cc"]);
        let seat = any_seat(dice);
        let node = self.nodes.choose(dice)?;
        let held = hold_ride(node, visitor, &show, (&seat, ends)).await;
        if held.status != 201 {
            // The ledger answers all the time, so a refusal names the import.
            assert_ne!(held.json()["code"], "ledger_unavailable", "{held:?}");
            return None;
        }
        let hold = held.is(201);
        let other = self.nodes.choose(dice)?;
        let order = match buy((node, other), visitor, &hold).await {
            Ok(order) => order,
            Err(refused) => {
                assert_ne!(refused["code"], "ledger_unavailable", "{refused}");
                return None;
            }
        };
        Some(SoldTicket {
            order,
            show,
            key: None,
            ends,
            boards: 0,
            seat,
            price: hold["total"]["amount"].as_i64()?,
            is_decided: false,
        })
    }
}
