//! What goes through the seam to the durable record: plain values, and why something was refused.

use std::sync::Arc;

use fairgate_databases::LedgerError;
use fairgate_model::grid::CellGrid;
use fairgate_pass::Holder;

use crate::store::ClaimableHold;
pub use fairgate_model::grid::ClaimedCell;
use fairgate_model::holds::{HeldSeat, Hold, HoldPurpose};
use fairgate_model::ids::{HoldId, OrderId, ShowId, TicketId, VenueId};
use fairgate_model::money::Currency;
use fairgate_model::orders::exchange::OrderExchangeError;
use fairgate_model::orders::exchange::deal::ExchangeRuleError;
use fairgate_model::orders::refund::OrderRefundError;
use fairgate_model::orders::refund::rules::RefundRuleError;
use fairgate_model::orders::transition::{EffectKind, LateRefundReason, OrderEvent};
use fairgate_model::orders::{Order, OrderState, ReplacementOffer};
use fairgate_model::payments::Payment;
use fairgate_model::runs::TrainRun;
use fairgate_model::shows::Show;
use fairgate_model::shows::document::ShowDocument;
use fairgate_model::shows::fate::ShowFate;

/// A stored show: the document and the plan version it pins.
#[derive(Debug, Clone)]
pub struct StoredShow {
    /// The slug.
    pub id: ShowId,
    /// The promoter's document.
    pub document: ShowDocument,
    /// The pinned version of its venue's plan.
    pub plan_version: u32,
    /// A departure's run; none for whatever stays where it is.
    pub run: Option<Arc<TrainRun>>,
    /// What became of it; written by [`super::RefundLedger::put_fate`] only.
    pub fate: Option<ShowFate>,
    /// The number of the terms that the document states; given by the ledger, and not looked at
    /// where a show is put.
    pub terms: u32,
}

/// Everything the inventory store is opened with: exactly what the show's outbox rows up to the
/// cursor have done, and the orders that were pending at that moment.
#[derive(Debug, Clone)]
pub struct ShowPicture {
    /// Confirmed seats by visitor.
    pub sold: Vec<(Holder, Vec<HeldSeat>)>,
    /// Pending orders, as holds.
    pub ordered: Vec<Hold>,
    /// The newest of the show's outbox rows. The picture contains it and all before it, and none
    /// behind it.
    pub cursor: u64,
}

/// A claim that stands beyond its deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverdueClaim {
    /// Whose claim.
    pub order: OrderId,
    /// Its deadline.
    pub claim_until_ms: i64,
    /// The cells, as the store is to lock them.
    pub hold: Hold,
    /// The newest numbered row of the show's seat outbox as of the same moment: what ends this
    /// claim has a larger number.
    pub cursor: u64,
}

/// What one batch of deleting came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PruneOutcome {
    /// Rows that went.
    pub rows: u64,
    /// Where the next batch begins; `None` where nothing more is old enough.
    pub next: Option<i64>,
}

impl PruneOutcome {
    /// Where the oldest are found from the beginning each time: a full batch may not have been the
    /// last.
    pub(super) fn full_or_last(rows: u64, batch_max: u32) -> Self {
        let next = (rows >= u64::from(batch_max)).then_some(0);
        Self { rows, next }
    }
}

/// Why transaction 1 was refused; nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum SeatClaimRefused {
    /// Cells that another order has.
    #[error("cells are claimed: {0:?}")]
    Taken(Vec<u32>),
    /// The visitor's count, re-checked under the lock.
    #[error("the visitor has {have} seats and may have {limit}")]
    Limit {
        /// Seats it has.
        have: u32,
        /// Seats it may have.
        limit: u32,
    },
    /// The card that bought the seats which are exchanged has bought its share of the show.
    #[error("the card has bought its share")]
    CardLimit,
    /// The show pins another plan by now.
    #[error("the plan has changed")]
    PlanChanged,
    /// The show was cancelled.
    #[error("the show was cancelled")]
    Cancelled,
    /// The hold was made for this, and serves nothing else.
    #[error("the hold was made for something else ({})", .0.as_str())]
    OtherPurpose(HoldPurpose),
    /// The locks stood in an incarnation that was lost, and the one after it was built without this
    /// claim.
    #[error("the locks were lost with their incarnation")]
    Superseded,
    /// The ledger did not take it.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Why no ticket was given back; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum RefundRefused {
    /// The order is in a state that has nothing to give back.
    #[error("the order is {}", .0.as_str())]
    State(OrderState),
    /// No rule of the show lets tickets go back now.
    #[error(transparent)]
    Rule(#[from] RefundRuleError),
    /// Somebody went in on these: their labels.
    #[error("tickets were scanned: {0:?}")]
    Scanned(Vec<String>),
    /// The order's seats are being given for others: the successor.
    #[error("{0} is being paid")]
    Exchanging(OrderId),
    /// Not a ticket of this order.
    #[error("{0} is not a ticket of the order")]
    Unknown(TicketId),
    /// The ledger did not take it.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl From<OrderRefundError> for RefundRefused {
    fn from(why: OrderRefundError) -> Self {
        match why {
            OrderRefundError::State(state) => Self::State(state),
            OrderRefundError::Rule(rule) => Self::Rule(rule),
            OrderRefundError::Scanned(labels) => Self::Scanned(labels),
            OrderRefundError::Unknown(ticket) => Self::Unknown(ticket),
        }
    }
}

/// Why nothing was exchanged; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeRefused {
    /// The order is in a state that has nothing to exchange.
    #[error("the order is {}", .0.as_str())]
    State(OrderState),
    /// No rule of its terms lets its seats be exchanged now.
    #[error(transparent)]
    Rule(#[from] ExchangeRuleError),
    /// Somebody went in on these: their labels.
    #[error("tickets were scanned: {0:?}")]
    Scanned(Vec<String>),
    /// An exchange of the order waits for its money.
    #[error("{0} is being paid")]
    Open(OrderId),
    /// The order has other seats by now.
    #[error("the order has changed")]
    Changed,
    /// The new seats cannot be had.
    #[error(transparent)]
    Claim(#[from] SeatClaimRefused),
    /// The ledger did not take it.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl From<OrderExchangeError> for ExchangeRefused {
    fn from(why: OrderExchangeError) -> Self {
        match why {
            OrderExchangeError::State(state) => Self::State(state),
            OrderExchangeError::Rule(rule) => Self::Rule(rule),
            OrderExchangeError::Scanned(labels) => Self::Scanned(labels),
            OrderExchangeError::Changed => Self::Changed,
        }
    }
}

/// What a claim rests on.
#[derive(Debug, Clone, Copy)]
pub struct ClaimBasis {
    /// The shape of the show.
    pub grid: CellGrid,
    /// Seats that one visitor may have of it.
    pub limit: u32,
    /// The life of the store's data in which the cells are locked.
    pub incarnation: u64,
    /// What the hold that locks them was made for.
    pub purpose: HoldPurpose,
}

impl ClaimBasis {
    /// For seats of a show that a hold has locked.
    #[must_use]
    pub fn for_locked_hold(show: &Show, locked: &ClaimableHold) -> Self {
        Self {
            grid: show.grid(),
            limit: show.document.seats_per_visitor,
            incarnation: locked.incarnation,
            purpose: locked.hold.purpose,
        }
    }
}

/// Why a show was not written; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ShowRefused {
    /// Orders have cells that the new plan moves, drops or renames: their seats.
    #[error("the plan is in use at seats {0:?}")]
    PlanInUse(Vec<u32>),
    /// Orders were paid in this currency.
    #[error("the show was sold in {}", .0.as_str())]
    CurrencyInUse(Currency),
    /// The ledger did not take it.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// What became of a happening.
#[derive(Debug, Clone)]
pub struct OrderChangeOutcome {
    /// The order afterwards.
    pub order: Order,
    /// Whether anything was written.
    pub changed: bool,
}

/// An effect that is due.
#[derive(Debug, Clone)]
pub struct DuePaymentEffect {
    /// Its row.
    pub id: i64,
    /// What to do.
    pub kind: EffectKind,
    /// How often it was tried.
    pub attempts: u32,
    /// The payment it is about.
    pub payment: Payment,
}

/// An event of a provider, stored and not settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredProviderEvent {
    /// Whose it is.
    pub provider: String,
    /// Its id there.
    pub event: String,
    /// The raw body.
    pub body: Vec<u8>,
    /// How often it was put off.
    pub attempts: u32,
}

/// What late money buys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LateMoneyOutcome {
    /// The order's own seats, kept by this hold.
    SameSeats(HoldId),
    /// Others, if the buyer says yes.
    OtherSeats(ReplacementOffer),
    /// Nothing: it goes back.
    Back(LateRefundReason),
}

impl LateMoneyOutcome {
    /// What that is for the order.
    #[must_use]
    pub fn happening(&self) -> OrderEvent {
        match self {
            Self::SameSeats(_) => OrderEvent::LateSame,
            Self::OtherSeats(_) => OrderEvent::LateOther,
            Self::Back(why) => OrderEvent::LateBack(*why),
        }
    }
}

/// What a scan met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TicketScanOutcome {
    /// The first scan of the ticket, at this moment: let them in.
    First(i64),
    /// It was scanned before, at this moment.
    Again(i64),
    /// It was given back, at this moment.
    Void(i64),
}

/// The money of some refunds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RefundSum {
    /// How many refunds.
    pub count: u64,
    /// What goes back, in minor units.
    pub amount: i64,
}

/// A show's refunds in figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RefundFigures {
    /// Paid orders with tickets that nobody went in on.
    pub orders_left: u64,
    /// Orders that were given back, whole or in part.
    pub orders_refunded: u64,
    /// Tickets somebody went in on: they stay.
    pub scanned: u64,
    /// Owed, or on its way.
    pub on_its_way: RefundSum,
    /// Gone back.
    pub done: RefundSum,
    /// The provider could not do it so far.
    pub failed: RefundSum,
    /// What was kept as fees, in minor units.
    pub fees: i64,
}

/// A timetable to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTimetable {
    /// The document.
    pub text: String,
    /// Of the document.
    pub digest: [u8; 32],
    /// The carriages of each kind of train, in the document's order.
    pub plans: Vec<NewSeatingPlan>,
}

/// A seating plan to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSeatingPlan {
    /// Whose it is.
    pub venue: VenueId,
    /// The document.
    pub plan: String,
    /// Of the document.
    pub digest: [u8; 32],
}

/// A stored timetable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTimetable {
    /// The document.
    pub text: String,
    /// The plan of each kind of train, in the document's order.
    pub plans: Vec<(VenueId, u32)>,
}

/// An answer kept for retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAnswer {
    /// Digest of what was asked.
    pub asked: [u8; 32],
    /// The status.
    pub status: u16,
    /// The JSON body.
    pub body: String,
}

/// A call under a caller's `Idempotency-Key`, as one node begins it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedCall {
    /// Digest of whose key it is.
    pub scope: [u8; 32],
    /// The key.
    pub key: String,
    /// Digest of what is asked.
    pub asked: [u8; 32],
    /// The node, by a number that each process draws for itself.
    pub node: i64,
}

/// What a call under a key meets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BeginCallOutcome {
    /// It is the caller's to carry out.
    Act,
    /// It was answered before.
    Answered(KeptAnswer),
    /// Another node is carrying it out.
    Running,
    /// The key belongs to a call with another body or address.
    OtherCall,
}
