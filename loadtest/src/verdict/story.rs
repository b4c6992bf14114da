//! The run put in order, once for all invariants: each hold's life, and who each order belongs to.

use std::collections::{BTreeMap, HashMap};

use super::dump::{DumpedLedger, DumpedOrder};
use super::history::{
    ChangeCall, ExchangeCall, HistoryCall, HistoryOperation, HoldCall, OrderCall, OrderRead,
    PayCall, RefundCall, RunHistory,
};

/// The history and the ledger side by side.
pub struct RunTimeline<'a> {
    /// What visitors and observers saw.
    pub history: &'a RunHistory,
    /// What the ledger says.
    pub dump: &'a DumpedLedger,
    /// Holds that were answered, by id.
    pub holds: BTreeMap<&'a str, HoldTimeline<'a>>,
    /// What was done with orders, by id.
    pub orders: BTreeMap<&'a str, OrderTimeline<'a>>,
    /// The visitor of a ledger's holder, where the history tells.
    pub visitor_of_holder: HashMap<&'a str, u64>,
    /// Hold calls of which nobody ever learned what became of them.
    pub lost_holds: Vec<LostHold<'a>>,
}

/// A hold that may have been given, and nobody heard of it.
pub struct LostHold<'a> {
    /// Who asked.
    pub visitor: u64,
    /// Of which show.
    pub show: &'a str,
    /// When.
    pub sent_ms: f64,
}

/// One hold, from its first answer on.
pub struct HoldTimeline<'a> {
    /// The first answer.
    pub call: &'a HistoryCall,
    /// What it said.
    pub asked: &'a HoldCall,
    /// What it had when, as far as that is certain.
    pub stretches: Vec<HoldSeatSpan<'a>>,
    /// What it has now; none where a change was left open.
    pub seats: Option<Vec<&'a str>>,
    /// When its owner first did anything to it that may have ended or changed it.
    pub touched_ms: f64,
    /// Whether it was, or may have been, given back.
    pub dropped: bool,
    /// Changes that were asked for.
    pub changes: Vec<(&'a HistoryCall, &'a ChangeCall)>,
    /// When it was given back.
    pub drops: Vec<&'a HistoryCall>,
    /// When an order was asked for.
    pub orders: Vec<(&'a HistoryCall, &'a OrderCall)>,
}

/// What a hold had for certain.
pub struct HoldSeatSpan<'a> {
    /// From this answer on.
    pub from_ms: f64,
    /// Until this call was sent, or the deadline.
    pub until_ms: f64,
    /// These seats.
    pub seats: Vec<&'a str>,
}

/// One order, as it was asked for and read.
pub struct OrderTimeline<'a> {
    /// Whose it is.
    pub visitor: u64,
    /// The answers that made it.
    pub made: Vec<(&'a HistoryCall, &'a OrderCall)>,
    /// The sandbox's button.
    pub pays: Vec<(&'a HistoryCall, &'a PayCall)>,
    /// Reads that were answered.
    pub reads: Vec<(&'a HistoryCall, &'a OrderRead)>,
    /// Cancellations that were asked for.
    pub cancels: Vec<&'a HistoryCall>,
    /// Tickets that were to go back.
    pub refunds: Vec<(&'a HistoryCall, &'a RefundCall)>,
    /// Others that were to be had for its seats.
    pub exchanges: Vec<(&'a HistoryCall, &'a ExchangeCall)>,
}

impl<'a> RunTimeline<'a> {
    /// Puts a run in order.
    pub fn new(history: &'a RunHistory, dump: &'a DumpedLedger) -> Self {
        let mut calls: Vec<&HistoryCall> = history.calls.iter().collect();
        calls.sort_by(|a, b| a.sent_ms.total_cmp(&b.sent_ms));
        let mut story = Self {
            history,
            dump,
            holds: BTreeMap::new(),
            orders: BTreeMap::new(),
            visitor_of_holder: HashMap::new(),
            lost_holds: Vec::new(),
        };
        story.begin_holds(&calls);
        for call in calls {
            story.tell(call);
        }
        for hold in story.holds.values_mut() {
            hold.compute_stretches(history);
        }
        story
    }

    /// Holds first: what is done to them may stand before a late answer.
    fn begin_holds(&mut self, calls: &[&'a HistoryCall]) {
        let mut answered: HashMap<(u64, &str), ()> = HashMap::new();
        for call in calls.iter().filter(|call| call.done()) {
            let HistoryOperation::Hold(asked) = &call.op else {
                continue;
            };
            if let Some(key) = &call.key {
                answered.insert((call.visitor, key), ());
            }
            let hold = self
                .holds
                .entry(&asked.hold)
                .or_insert_with(|| HoldTimeline {
                    call,
                    asked,
                    stretches: Vec::new(),
                    seats: None,
                    touched_ms: f64::INFINITY,
                    dropped: false,
                    changes: Vec::new(),
                    drops: Vec::new(),
                    orders: Vec::new(),
                });
            // A journey on a train has one id until it is ordered: once its basket ran out or was
            // lost, the next one has other seats under it, and that is what is ordered.
            let is_anew = asked.legs.is_some() && call.visitor == hold.call.visitor;
            if is_anew && asked.seats != hold.asked.seats {
                (hold.call, hold.asked) = (call, asked);
            }
        }
        for call in calls.iter().filter(|call| call.perhaps() && !call.done()) {
            let HistoryOperation::Hold(asked) = &call.op else {
                continue;
            };
            let known = call
                .key
                .as_ref()
                .is_some_and(|key| answered.contains_key(&(call.visitor, key)));
            if !known {
                self.lost_holds.push(LostHold {
                    visitor: call.visitor,
                    show: &asked.show,
                    sent_ms: call.sent_ms,
                });
            }
        }
    }

    fn tell(&mut self, call: &'a HistoryCall) {
        match &call.op {
            HistoryOperation::Join {
                holder: Some(holder),
                ..
            } => {
                self.visitor_of_holder.entry(holder).or_insert(call.visitor);
            }
            HistoryOperation::Change(change) => {
                if let Some(hold) = self.holds.get_mut(&*change.hold) {
                    hold.changes.push((call, change));
                    hold.touched_ms = hold.touched_ms.min(call.sent_ms);
                }
            }
            HistoryOperation::Drop { hold } => {
                if let Some(hold) = self.holds.get_mut(&**hold) {
                    hold.drops.push(call);
                    hold.dropped |= call.perhaps();
                    hold.touched_ms = hold.touched_ms.min(call.sent_ms);
                }
            }
            HistoryOperation::Order(order) => {
                if let Some(hold) = self.holds.get_mut(&*order.hold) {
                    hold.orders.push((call, order));
                    hold.touched_ms = hold.touched_ms.min(call.sent_ms);
                }
                if call.done() {
                    self.order(&order.order, call.visitor)
                        .made
                        .push((call, order));
                }
            }
            HistoryOperation::Pay(pay) => {
                self.order(&pay.order, call.visitor).pays.push((call, pay))
            }
            HistoryOperation::OrderRead(read) => {
                let order = self.order(&read.order, call.visitor);
                if call.done() {
                    order.reads.push((call, read));
                }
            }
            HistoryOperation::Cancel { order } => {
                self.order(order, call.visitor).cancels.push(call)
            }
            HistoryOperation::Exchange(exchange) => {
                if call.done() {
                    self.order(&exchange.successor, call.visitor);
                }
                let order = self.order(&exchange.order, call.visitor);
                order.exchanges.push((call, exchange));
            }
            HistoryOperation::Refund(refund) => {
                let order = self.order(&refund.order, call.visitor);
                order.refunds.push((call, refund));
            }
            _ => {}
        }
    }

    fn order(&mut self, id: &'a str, visitor: u64) -> &mut OrderTimeline<'a> {
        self.orders.entry(id).or_insert_with(|| OrderTimeline {
            visitor,
            made: Vec::new(),
            pays: Vec::new(),
            reads: Vec::new(),
            cancels: Vec::new(),
            refunds: Vec::new(),
            exchanges: Vec::new(),
        })
    }

    /// Who an order of the ledger belongs to, by what the history says of it, of its hold, or of
    /// its holder.
    pub fn visitor_of(&self, order: &DumpedOrder) -> Option<u64> {
        let by_order = self
            .orders
            .get(order.order.as_str())
            .map(|story| story.visitor);
        let by_hold = || {
            self.holds
                .get(order.hold.as_str())
                .map(|hold| hold.call.visitor)
        };
        let by_holder = || self.visitor_of_holder.get(order.visitor.as_str()).copied();
        by_order.or_else(by_hold).or_else(by_holder)
    }

    /// The cells that a hold takes with a seat.
    pub fn cells(&self, asked: &HoldCall, seat: &str) -> Vec<u32> {
        let show = self.dump.shows.get(&*asked.show);
        show.map_or_else(Vec::new, |show| show.cells(seat, asked.legs.as_deref()))
    }

    /// Whether an order of the ledger is this run's.
    pub fn of_this_run(&self, order: &DumpedOrder) -> bool {
        self.history
            .run
            .as_ref()
            .is_some_and(|run| order.room == run.room && order.created_ms >= run.started_ms)
    }
}

impl<'a> HoldTimeline<'a> {
    /// Whether an order was made of it, or may have been.
    pub fn ordered(&self) -> bool {
        self.orders.iter().any(|(call, _)| call.perhaps())
    }

    /// Walks through its life.
    fn compute_stretches(&mut self, history: &RunHistory) {
        let mut seats: Option<Vec<&'a str>> =
            Some(self.asked.seats.iter().map(|seat| &**seat).collect());
        let mut from_ms = self.call.done_ms;
        let ends = self
            .drops
            .iter()
            .map(|call| call.sent_ms)
            .fold(self.asked.expires_ms, f64::min);
        for (call, change) in &self.changes {
            // A change that was refused changed nothing, but it may only be called certain where
            // none was under way.
            if let Some(seats) = &seats {
                self.stretches.push(HoldSeatSpan {
                    from_ms,
                    until_ms: call.sent_ms.min(ends),
                    seats: seats.clone(),
                });
            }
            if call.done() {
                seats = Some(change.seats.iter().map(|seat| &**seat).collect());
            } else if call.perhaps() || history.forgot_within(self.call.done_ms, call.done_ms) {
                // Refused after a kill, it may have been refused because the basket was forgotten.
                seats = None;
            }
            from_ms = call.done_ms;
        }
        if let Some(seats) = &seats {
            self.stretches.push(HoldSeatSpan {
                from_ms,
                until_ms: ends,
                seats: seats.clone(),
            });
        }
        self.stretches
            .retain(|stretch| stretch.until_ms > stretch.from_ms);
        self.seats = seats;
    }
}

impl HoldTimeline<'_> {
    /// When it may first have ended by its owner's doing: given back, or made an order.
    pub fn ended_ms(&self) -> f64 {
        let orders = self.orders.iter().map(|(call, _)| call.sent_ms);
        let drops = self.drops.iter().map(|call| call.sent_ms);
        orders.chain(drops).fold(f64::INFINITY, f64::min)
    }
}
