//! Arranges the records of the run once for all invariants: the calls about each hold and each
//! order, and the visitor of each order.

use std::collections::{BTreeMap, HashMap};

use super::dump::{DumpedLedger, DumpedOrder};
use super::history::{
    ChangeCall, ExchangeCall, HistoryCall, HistoryOperation, HistoryRunRecord, HoldCall, OrderCall,
    OrderRead, PayCall, RefundCall, RunHistory,
};

/// The history and the ledger side by side.
pub struct RunTimeline<'a> {
    /// What visitors and observers saw.
    pub history: &'a RunHistory,
    /// What the ledger says.
    pub dump: &'a DumpedLedger,
    /// The holds that visitors were given, by id.
    pub holds: BTreeMap<&'a str, HoldTimeline<'a>>,
    /// The calls about each order, by the order's id.
    pub orders: BTreeMap<&'a str, OrderTimeline<'a>>,
    /// The visitor of each holder, by the joins in the history.
    pub visitor_of_holder: HashMap<&'a str, u64>,
    /// The calls for a hold that may have succeeded, but whose result no visitor learned.
    pub lost_holds: Vec<LostHold<'a>>,
}

/// A call for a hold that may have succeeded, but whose result no visitor learned.
pub struct LostHold<'a> {
    /// The visitor who asked.
    pub visitor: u64,
    /// The show of the seats.
    pub show: &'a str,
    /// When the call was sent.
    pub sent_ms: f64,
}

/// One hold that a visitor was given, with the calls about it.
pub struct HoldTimeline<'a> {
    /// The call that got the hold. If a train journey later got other seats under the same hold id,
    /// this is the first call that got the last seats.
    pub call: &'a HistoryCall,
    /// The fields of that call and its answer.
    pub hold_call: &'a HoldCall,
    /// Until when the hold lasts, unless its owner ends it: its deadline or, if it is earlier, the
    /// time at which its owner's last socket has been closed for as long as the room says.
    pub lasts_until_ms: f64,
    /// The seats that the hold certainly had, by span of time.
    pub seat_spans: Vec<HoldSeatSpan<'a>>,
    /// The seats after the last change; `None` if the result of a change is not known.
    pub seats: Option<Vec<&'a str>>,
    /// When the owner first made a call that may have ended or changed the hold.
    pub touched_ms: f64,
    /// Whether the owner dropped the hold, or may have dropped it.
    pub dropped: bool,
    /// The calls to change the hold.
    pub changes: Vec<(&'a HistoryCall, &'a ChangeCall)>,
    /// The calls to drop the hold.
    pub drops: Vec<&'a HistoryCall>,
    /// The calls to make an order of the hold.
    pub orders: Vec<(&'a HistoryCall, &'a OrderCall)>,
}

/// The seats that a hold certainly had in a span of time.
pub struct HoldSeatSpan<'a> {
    /// When the answer that gave these seats arrived.
    pub from_ms: f64,
    /// The hold's deadline, or the time of an earlier call that may have changed or ended the hold.
    pub until_ms: f64,
    /// The labels of the seats.
    pub seats: Vec<&'a str>,
}

/// One order, with the calls about it.
pub struct OrderTimeline<'a> {
    /// The visitor who ordered.
    pub visitor: u64,
    /// The calls that made the order.
    pub made: Vec<(&'a HistoryCall, &'a OrderCall)>,
    /// The calls to pay.
    pub pays: Vec<(&'a HistoryCall, &'a PayCall)>,
    /// The reads that were answered.
    pub reads: Vec<(&'a HistoryCall, &'a OrderRead)>,
    /// The calls to cancel the order.
    pub cancels: Vec<&'a HistoryCall>,
    /// The calls to refund tickets.
    pub refunds: Vec<(&'a HistoryCall, &'a RefundCall)>,
    /// The calls to exchange the order's seats for others.
    pub exchanges: Vec<(&'a HistoryCall, &'a ExchangeCall)>,
}

impl<'a> RunTimeline<'a> {
    /// Arranges the records of a run.
    pub fn new(history: &'a RunHistory, dump: &'a DumpedLedger) -> Self {
        let mut calls: Vec<&HistoryCall> = history.calls.iter().collect();
        calls.sort_by(|a, b| a.sent_ms.total_cmp(&b.sent_ms));
        let mut timeline = Self {
            history,
            dump,
            holds: BTreeMap::new(),
            orders: BTreeMap::new(),
            visitor_of_holder: HashMap::new(),
            lost_holds: Vec::new(),
        };
        timeline.collect_holds(&calls);
        for call in calls {
            timeline.add_call(call);
        }
        let gone = last_closes(history);
        let away_ms = history.run.as_ref().map_or(0.0, HistoryRunRecord::away_ms);
        for hold in timeline.holds.values_mut() {
            let gone_ms = gone.get(&hold.call.visitor);
            let away_until_ms = gone_ms.map_or(f64::INFINITY, |gone_ms| gone_ms + away_ms);
            hold.lasts_until_ms = hold.hold_call.expires_ms.min(away_until_ms);
            hold.compute_seat_spans(history);
        }
        timeline
    }

    /// Adds all holds. This comes before all other calls, because a call about a hold may have been
    /// sent before the first call whose answer names the hold. Also collects the calls for a hold
    /// whose result is unknown.
    fn collect_holds(&mut self, calls: &[&'a HistoryCall]) {
        let mut answered: HashMap<(u64, &str), ()> = HashMap::new();
        for call in calls.iter().filter(|call| call.done()) {
            let HistoryOperation::Hold(hold_call) = &call.op else {
                continue;
            };
            if let Some(key) = &call.key {
                answered.insert((call.visitor, key), ());
            }
            let hold = self
                .holds
                .entry(&hold_call.hold)
                .or_insert_with(|| HoldTimeline {
                    call,
                    hold_call,
                    lasts_until_ms: f64::INFINITY,
                    seat_spans: Vec::new(),
                    seats: None,
                    touched_ms: f64::INFINITY,
                    dropped: false,
                    changes: Vec::new(),
                    drops: Vec::new(),
                    orders: Vec::new(),
                });
            // A train journey has one hold id until it is ordered. If its hold ran out or was lost,
            // the next hold may have other seats under the same id, and the order is for those
            // seats.
            let is_same_journey = hold_call.legs.is_some() && call.visitor == hold.call.visitor;
            if is_same_journey && hold_call.seats != hold.hold_call.seats {
                (hold.call, hold.hold_call) = (call, hold_call);
            }
        }
        for call in calls
            .iter()
            .filter(|call| call.may_be_done() && !call.done())
        {
            let HistoryOperation::Hold(hold_call) = &call.op else {
                continue;
            };
            let was_answered = call
                .key
                .as_ref()
                .is_some_and(|key| answered.contains_key(&(call.visitor, key)));
            if !was_answered {
                self.lost_holds.push(LostHold {
                    visitor: call.visitor,
                    show: &hold_call.show,
                    sent_ms: call.sent_ms,
                });
            }
        }
    }

    fn add_call(&mut self, call: &'a HistoryCall) {
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
                    hold.dropped |= call.may_be_done();
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

    /// Returns the visitor of an order in the ledger. The history knows the visitor by the order,
    /// by its hold, or by its holder.
    pub fn visitor_of(&self, order: &DumpedOrder) -> Option<u64> {
        let by_order = self
            .orders
            .get(order.order.as_str())
            .map(|timeline| timeline.visitor);
        let by_hold = || {
            self.holds
                .get(order.hold.as_str())
                .map(|hold| hold.call.visitor)
        };
        let by_holder = || self.visitor_of_holder.get(order.visitor.as_str()).copied();
        by_order.or_else(by_hold).or_else(by_holder)
    }

    /// Returns the cells of a seat on the legs that a hold asked for.
    pub fn cells(&self, hold_call: &HoldCall, seat: &str) -> Vec<u32> {
        let show = self.dump.shows.get(&*hold_call.show);
        show.map_or_else(Vec::new, |show| show.cells(seat, hold_call.legs.as_deref()))
    }

    /// Returns whether an order of the ledger belongs to this run.
    pub fn of_this_run(&self, order: &DumpedOrder) -> bool {
        self.history
            .run
            .as_ref()
            .is_some_and(|run| order.room == run.room && order.created_ms >= run.started_ms)
    }
}

/// Returns when the last socket of each visitor closed. From then on, the visitor was gone.
fn last_closes(history: &RunHistory) -> HashMap<u64, f64> {
    let mut last: HashMap<u64, f64> = HashMap::new();
    for (owner, at_ms) in &history.closes {
        if let Some(visitor) = owner.strip_prefix("visitor ")
            && let Ok(visitor) = visitor.parse()
        {
            let last_ms = last.entry(visitor).or_insert(*at_ms);
            *last_ms = last_ms.max(*at_ms);
        }
    }
    last
}

impl<'a> HoldTimeline<'a> {
    /// Returns whether an order was made of the hold, or may have been.
    pub fn ordered(&self) -> bool {
        self.orders.iter().any(|(call, _)| call.may_be_done())
    }

    /// Computes the spans in which the hold certainly had its seats.
    fn compute_seat_spans(&mut self, history: &RunHistory) {
        let mut seats: Option<Vec<&'a str>> =
            Some(self.hold_call.seats.iter().map(|seat| &**seat).collect());
        let mut from_ms = self.call.done_ms;
        let ended_ms = self
            .drops
            .iter()
            .map(|call| call.sent_ms)
            .fold(self.lasts_until_ms, f64::min);
        for (call, change) in &self.changes {
            // While a change is under way, the seats are not certain, even if the change is refused
            // in the end.
            if let Some(seats) = &seats {
                self.seat_spans.push(HoldSeatSpan {
                    from_ms,
                    until_ms: call.sent_ms.min(ended_ms),
                    seats: seats.clone(),
                });
            }
            if call.done() {
                seats = Some(change.seats.iter().map(|seat| &**seat).collect());
            } else if call.may_be_done() || history.forgot_within(self.call.done_ms, call.done_ms) {
                // If the change was refused, a fault may have made the system forget the hold. So
                // the hold's seats are not certain.
                seats = None;
            }
            from_ms = call.done_ms;
        }
        if let Some(seats) = &seats {
            self.seat_spans.push(HoldSeatSpan {
                from_ms,
                until_ms: ended_ms,
                seats: seats.clone(),
            });
        }
        self.seat_spans.retain(|span| span.until_ms > span.from_ms);
        self.seats = seats;
    }
}

impl HoldTimeline<'_> {
    /// Returns when the owner may first have ended the hold by dropping or ordering it.
    pub fn ended_ms(&self) -> f64 {
        let orders = self.orders.iter().map(|(call, _)| call.sent_ms);
        let drops = self.drops.iter().map(|call| call.sent_ms);
        orders.chain(drops).fold(f64::INFINITY, f64::min)
    }
}
