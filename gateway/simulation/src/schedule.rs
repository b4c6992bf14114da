//! Keeps the events that happen later, in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One step of a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum VisitStep {
    /// The visitor asks for seats.
    Hold,
    /// The visitor swaps one seat of its basket for another.
    Swap,
    /// The visitor gives its basket back and chooses again.
    PutBack,
    /// The visitor orders its basket.
    Order,
    /// The visitor cancels its order.
    Cancel,
    /// The visitor pays.
    Pay {
        /// Whether the payment is declined.
        declined: bool,
    },
    /// The payment has arrived.
    Paid,
    /// The visitor gives its tickets back.
    GiveBack,
    /// The lock with this number ends. It locks the seats of a basket or an order.
    Lapse(u32),
    /// The pass runs out.
    PassEnds,
    /// The visitor joins the waitlist.
    JoinWaitlist,
    /// The visitor leaves the waitlist, if it still waits under this number.
    LeaveWaitlist(u64),
}

/// An event of the sale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SaleEvent {
    /// A visitor claims its pass.
    Claim {
        /// The index of the visit.
        visit: u32,
    },
    /// A visit takes its next step.
    Step {
        /// The index of the visit.
        visit: u32,
        /// The step.
        step: VisitStep,
    },
}

/// The events that happen later. Of events at the same time, the one that was added first comes
/// first.
#[derive(Default)]
pub struct SaleSchedule {
    events: BinaryHeap<Reverse<(i64, u64, SaleEvent)>>,
    added: u64,
}

impl SaleSchedule {
    /// Adds an event at a time in milliseconds after the start.
    pub fn add(&mut self, at_ms: i64, event: SaleEvent) {
        self.added += 1;
        self.events.push(Reverse((at_ms, self.added, event)));
    }

    /// Takes the next event that happens before a time in milliseconds after the start.
    pub fn next_before(&mut self, until_ms: i64) -> Option<(i64, SaleEvent)> {
        let Reverse((at_ms, _, _)) = self.events.peek()?;
        if *at_ms >= until_ms {
            return None;
        }
        let Reverse((at_ms, _, event)) = self.events.pop()?;
        Some((at_ms, event))
    }
}
