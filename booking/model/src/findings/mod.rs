//! Finds where the payment provider, the ledger and the store disagree, from one snapshot of all
//! three. Such a disagreement is called drift. Each kind of drift gives one kind of finding, and
//! each finding has one repair. The module is pure.

use std::fmt;

use jiff::Timestamp;
use serde::Serialize;

use crate::grid::CellState;
use crate::holds::SecuredHold;
use crate::ids::{OrderId, PaymentId, ShowId};
use crate::money::Money;
use crate::orders::OrderState;
use crate::orders::transition::{EffectKind, OwedProviderCall};
use crate::payments::{Payment, PaymentState, ProviderPayment};

/// A change needs some time to reach the provider, the ledger and the store. While a change is
/// younger than this, in milliseconds, a disagreement is no drift.
pub const ON_ITS_WAY_MS: i64 = 5_000;

/// If a hold is locked for an order, the ledger must have the order within this many milliseconds.
/// Otherwise the hold is drift.
pub const ORDER_COMES_WITHIN_MS: i64 = 2_000;

/// How many cells one finding names, at most.
const CELLS_SHOWN_MAX: usize = 8;

/// The kinds of drift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftKind {
    /// An order is past its deadline and has not ended.
    OrderOverdue,
    /// An order is confirmed, but the effects outbox has no capture for it.
    CaptureNotOwed,
    /// An order has ended and its payment has the buyer's money, but the effects outbox has neither
    /// a void nor a refund for it.
    MoneyNotReturned,
    /// An order is ticketed, but some or all of its tickets are missing.
    TicketsMissing,
    /// The provider reports a change that never reached the ledger: an event was lost.
    NewsMissed,
    /// Cells are sold in the ledger and not in the store.
    SoldOnlyInLedger,
    /// Cells are sold in the store and not in the ledger.
    SoldOnlyInStore,
    /// Cells that an unpaid order has claimed in the ledger are free in the store.
    ClaimNotHeld,
    /// Cells are locked for an order that does not exist.
    HoldWithoutOrder,
    /// The provider could not refund the money to the buyer.
    RefundFailed,
    /// A part of an order's money went back at the provider, and nobody has said what for.
    RefundedInPart,
    /// The provider has money that belongs to no payment of the ledger.
    UnknownMoney,
}

impl DriftKind {
    /// All kinds. The metrics use them, so that each kind has a count from the start.
    pub const ALL: [Self; 12] = [
        Self::OrderOverdue,
        Self::CaptureNotOwed,
        Self::MoneyNotReturned,
        Self::TicketsMissing,
        Self::NewsMissed,
        Self::SoldOnlyInLedger,
        Self::SoldOnlyInStore,
        Self::ClaimNotHeld,
        Self::HoldWithoutOrder,
        Self::RefundFailed,
        Self::RefundedInPart,
        Self::UnknownMoney,
    ];

    /// Returns the kind's name in metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OrderOverdue => "order_overdue",
            Self::CaptureNotOwed => "capture_not_owed",
            Self::MoneyNotReturned => "money_not_returned",
            Self::TicketsMissing => "tickets_missing",
            Self::NewsMissed => "news_missed",
            Self::SoldOnlyInLedger => "sold_only_in_ledger",
            Self::SoldOnlyInStore => "sold_only_in_store",
            Self::ClaimNotHeld => "claim_not_held",
            Self::HoldWithoutOrder => "hold_without_order",
            Self::RefundFailed => "refund_failed",
            Self::RefundedInPart => "refunded_in_part",
            Self::UnknownMoney => "unknown_money",
        }
    }
}

/// What a finding is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DriftSubject {
    /// An order in the ledger.
    Order(OrderId),
    /// A payment in the ledger, and the same payment at the provider.
    Payment(Box<Payment>, ProviderPayment),
    /// A show's cells.
    Show(ShowId),
    /// A hold in the store that is locked for an order that does not exist.
    Hold(SecuredHold),
    /// Money that somebody has to settle, by the provider's id of it.
    Money(String),
}

impl fmt::Display for DriftSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Order(order) => order.fmt(f),
            Self::Payment(payment, _) => payment.id.fmt(f),
            Self::Show(show) => show.fmt(f),
            Self::Hold(secured) => secured.hold.fmt(f),
            Self::Money(id) => id.fmt(f),
        }
    }
}

/// One disagreement between provider, ledger and store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriftFinding {
    /// Its kind.
    pub kind: DriftKind,
    /// What it is about.
    pub about: DriftSubject,
    /// Since when the disagreement has existed, as far as is known, in milliseconds since the
    /// epoch.
    pub since_ms: i64,
    /// A description in words.
    pub description: String,
}

/// What the reconciler needs to know of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderFacts {
    /// The order.
    pub order: OrderId,
    /// Its state.
    pub state: OrderState,
    /// When it reached that state, in milliseconds since the epoch.
    pub changed_ms: i64,
    /// Its deadline in that state, for states that have one, in milliseconds since the epoch.
    pub claim_until_ms: i64,
    /// How many seats it is for.
    pub seats: u32,
    /// How many tickets it has.
    pub tickets: u32,
    /// The id of its payment.
    pub payment: PaymentId,
    /// The payment's state.
    pub money: PaymentState,
    /// The effects that are owed for it and not done yet.
    pub owed: Vec<EffectKind>,
    /// Whether the worker for late money still has to decide about it.
    pub late: bool,
    /// Whether the provider has failed to make a refund that is owed for the order.
    pub refund_failed: bool,
}

/// A show's cells as the ledger and the store have them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShowFacts {
    /// The show.
    pub show: ShowId,
    /// Each claimed cell, and whether it is sold.
    pub claims: Vec<(u32, bool)>,
    /// The state of each cell in the store.
    pub states: Vec<CellState>,
    /// When the states were read, in milliseconds since the epoch.
    pub read_ms: i64,
}

/// A hold that is locked for an order that the ledger does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldFacts {
    /// The hold.
    pub secured: SecuredHold,
    /// Since when the ledger has not had the order, in milliseconds since the epoch.
    pub since_ms: i64,
}

/// Money that somebody has to settle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsettledMoney {
    /// The provider's id of it.
    pub id: String,
    /// The order that the money went back of; none if the ledger does not know the money.
    pub refunded_of: Option<OrderId>,
    /// The sum.
    pub sum: Money,
    /// When it was seen first, in milliseconds since the epoch.
    pub since_ms: i64,
}

/// All the facts that are compared at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReconcilerSnapshot {
    /// Orders that may disagree with their payments, their tickets or the effects outbox.
    pub orders: Vec<OrderFacts>,
    /// Payments that were read back from the provider. Each entry has the ledger's payment, when it
    /// last changed (in milliseconds since the epoch), and the provider's payment.
    pub payments: Vec<(Payment, i64, ProviderPayment)>,
    /// Shows that are open in the store.
    pub shows: Vec<ShowFacts>,
    /// Holds that are locked for orders that the ledger does not have.
    pub holds: Vec<HoldFacts>,
    /// Money that somebody has to settle.
    pub money: Vec<UnsettledMoney>,
}

/// What an order's state requires and the ledger lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingOrderPart {
    /// Its tickets, or some of them.
    Tickets,
    /// The outbox row of this call to the provider.
    Owed(OwedProviderCall),
}

/// Returns what may be missing for an order in a state. `owed` says whether a call to the provider
/// is owed for the order. `late_undecided` says whether the worker for late money still has to
/// decide about the order. `has_money` says whether the provider has the buyer's money.
#[must_use]
pub fn missing_for_order(
    state: OrderState,
    owed: bool,
    late_undecided: bool,
    has_money: bool,
) -> Option<MissingOrderPart> {
    match state {
        OrderState::Ticketed => Some(MissingOrderPart::Tickets),
        OrderState::Confirmed if !owed => Some(MissingOrderPart::Owed(OwedProviderCall::Capture)),
        OrderState::Expired | OrderState::Cancelled | OrderState::CaptureFailed
            if has_money && !owed && !late_undecided =>
        {
            Some(MissingOrderPart::Owed(OwedProviderCall::MoneyBack))
        }
        _ => None,
    }
}

/// Returns a finding for each disagreement in the snapshot.
#[must_use]
pub fn findings(snapshot: &ReconcilerSnapshot, now_ms: i64) -> Vec<DriftFinding> {
    let mut found: Vec<DriftFinding> = snapshot
        .orders
        .iter()
        .filter_map(|facts| of_order(facts, now_ms))
        .collect();
    for (payment, changed_ms, read) in &snapshot.payments {
        found.extend(of_payment(payment, *changed_ms, read));
    }
    for facts in &snapshot.shows {
        of_show(facts, &mut found);
    }
    found.extend(
        snapshot
            .holds
            .iter()
            .filter_map(|facts| of_hold(facts, now_ms)),
    );
    found.extend(snapshot.money.iter().map(of_money));
    found
}

/// Converts milliseconds since the epoch to a timestamp. Moments out of range become the beginning
/// of 1970.
fn timestamp_from_ms(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn of_money(money: &UnsettledMoney) -> DriftFinding {
    let sum = money.sum;
    let (kind, description) = match &money.refunded_of {
        Some(order) => (
            DriftKind::RefundedInPart,
            format!("{sum} of {order} went back at the provider, and nobody has said what for"),
        ),
        None => (
            DriftKind::UnknownMoney,
            format!("the provider has {sum} that belong to no payment here"),
        ),
    };
    DriftFinding {
        kind,
        about: DriftSubject::Money(money.id.clone()),
        since_ms: money.since_ms,
        description,
    }
}

fn of_hold(facts: &HoldFacts, now_ms: i64) -> Option<DriftFinding> {
    (facts.since_ms + ORDER_COMES_WITHIN_MS <= now_ms).then(|| DriftFinding {
        kind: DriftKind::HoldWithoutOrder,
        about: DriftSubject::Hold(facts.secured.clone()),
        since_ms: facts.since_ms,
        description: format!(
            "locked until {} for an order that was not made",
            timestamp_from_ms(facts.secured.lock_until_ms)
        ),
    })
}

fn of_order(facts: &OrderFacts, now_ms: i64) -> Option<DriftFinding> {
    let old_enough = facts.changed_ms + ON_ITS_WAY_MS < now_ms;
    let (kind, since_ms, description) = match facts.state {
        _ if facts.refund_failed => {
            let text = format!("the provider could not refund {}", facts.payment);
            (DriftKind::RefundFailed, facts.changed_ms, text)
        }
        OrderState::Pending | OrderState::AwaitingConsent => {
            let overdue = facts.claim_until_ms + ON_ITS_WAY_MS < now_ms;
            let text = format!(
                "{} past its deadline of {}",
                facts.state.as_str(),
                timestamp_from_ms(facts.claim_until_ms)
            );
            overdue.then_some((DriftKind::OrderOverdue, facts.claim_until_ms, text))?
        }
        OrderState::Confirmed => {
            let owed = facts.owed.contains(&EffectKind::Capture);
            let text = "confirmed, but no capture is owed".to_owned();
            (old_enough && !owed).then_some((DriftKind::CaptureNotOwed, facts.changed_ms, text))?
        }
        OrderState::Expired | OrderState::Cancelled | OrderState::CaptureFailed => {
            let on_its_way = facts.late || !facts.owed.is_empty();
            let text = format!(
                "{}, but neither a void nor a refund of {} ({}) is owed",
                facts.state.as_str(),
                facts.payment,
                facts.money.as_str()
            );
            (old_enough && facts.money.has_money() && !on_its_way).then_some((
                DriftKind::MoneyNotReturned,
                facts.changed_ms,
                text,
            ))?
        }
        // Refunds of tickets have rows of their own. The transaction that changes the order writes
        // them, so none can be missing.
        OrderState::PartlyRefunded | OrderState::Refunded | OrderState::Exchanged => return None,
        OrderState::Ticketed => {
            let text = format!("ticketed with {} of {} tickets", facts.tickets, facts.seats);
            (facts.tickets < facts.seats).then_some((
                DriftKind::TicketsMissing,
                facts.changed_ms,
                text,
            ))?
        }
    };
    Some(DriftFinding {
        kind,
        about: DriftSubject::Order(facts.order.clone()),
        since_ms,
        description,
    })
}

fn of_payment(payment: &Payment, changed_ms: i64, read: &ProviderPayment) -> Option<DriftFinding> {
    let last = read.events(payment, changed_ms).pop()?;
    let news = payment.state.may_become(read.state)
        || (read.state == PaymentState::Refunded
            && payment.state.may_become(PaymentState::Captured))
        || (payment.state.is_taken() && read.refunded != payment.refunded)
        || payment.dispute_changes(read);
    news.then(|| DriftFinding {
        kind: DriftKind::NewsMissed,
        since_ms: changed_ms,
        description: format!(
            "{} here and {} at the provider, a sum of {}",
            payment.state.as_str(),
            read.state.as_str(),
            last.amount.amount
        ),
        about: DriftSubject::Payment(Box::new(payment.clone()), read.clone()),
    })
}

fn of_show(facts: &ShowFacts, found: &mut Vec<DriftFinding>) {
    let state = |cell: u32| facts.states.get(cell as usize).copied();
    let mut claimed = vec![false; facts.states.len()];
    let (mut unsold, mut unheld, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for (cell, sold) in &facts.claims {
        if let Some(slot) = claimed.get_mut(*cell as usize) {
            *slot = true;
        }
        match (sold, state(*cell)) {
            (true, Some(CellState::Sold)) => {}
            (true, _) => unsold.push(*cell),
            (false, Some(CellState::Free)) => unheld.push(*cell),
            (false, _) => {}
        }
    }
    for (cell, (cell_state, claimed)) in (0_u32..).zip(facts.states.iter().zip(&claimed)) {
        if *cell_state == CellState::Sold && !claimed {
            unknown.push(cell);
        }
    }
    for (kind, cells, difference) in [
        (
            DriftKind::SoldOnlyInLedger,
            unsold,
            "sold in the ledger and not in the store",
        ),
        (
            DriftKind::SoldOnlyInStore,
            unknown,
            "sold in the store and not in the ledger",
        ),
        (
            DriftKind::ClaimNotHeld,
            unheld,
            "claimed by an order in the ledger and free in the store",
        ),
    ] {
        if cells.is_empty() {
            continue;
        }
        let shown = &cells[..cells.len().min(CELLS_SHOWN_MAX)];
        found.push(DriftFinding {
            kind,
            about: DriftSubject::Show(facts.show.clone()),
            since_ms: facts.read_ms,
            description: format!("{} cells are {difference}, such as {shown:?}", cells.len()),
        });
    }
}

#[cfg(test)]
mod tests;
