//! The plain values that the ledger takes and returns, and the reasons of refusals.

use std::sync::Arc;

use fairgate_databases::LedgerError;
use fairgate_model::grid::CellGrid;
use fairgate_pass::Holder;
use jiff::Timestamp;

use crate::store::ClaimableHold;
pub use fairgate_model::grid::ClaimedCell;
use fairgate_model::holds::{HeldSeat, Hold, HoldPurpose};
use fairgate_model::ids::{HoldId, OrderId, ShowId, TicketId};
use fairgate_model::money::Currency;
use fairgate_model::orders::exchange::OrderExchangeError;
use fairgate_model::orders::exchange::deal::ExchangeRuleError;
use fairgate_model::orders::order_copy::CopiedExchange;
use fairgate_model::orders::refund::OrderRefundError;
use fairgate_model::orders::refund::rules::RefundRuleError;
use fairgate_model::orders::transition::{EffectKind, LateRefundReason, OrderEvent};
use fairgate_model::orders::{Order, OrderItem, OrderState, ReplacementOffer};
use fairgate_model::payments::Payment;
use fairgate_model::runs::TrainRun;
use fairgate_model::shows::Show;
use fairgate_model::shows::document::ShowDocument;
use fairgate_model::shows::fate::ShowFate;

/// A stored show: its document and the plan version that it pins.
#[derive(Debug, Clone)]
pub struct StoredShow {
    /// The slug.
    pub id: ShowId,
    /// The promoter's document.
    pub document: ShowDocument,
    /// The pinned version of its venue's plan.
    pub plan_version: u32,
    /// The run of a departure. `None` for other shows.
    pub run: Option<Arc<TrainRun>>,
    /// Whether the show was cancelled or postponed. Only [`super::Ledger::put_fate`] writes
    /// this.
    pub fate: Option<ShowFate>,
    /// The number of the terms in the document. The ledger gives the number, so `put_show` ignores
    /// this field.
    pub terms: u32,
}

/// The data with which the inventory store opens a show. The picture shows the effect of all outbox
/// rows up to the cursor, and the orders that waited for payment or consent when it was read.
#[derive(Debug, Clone)]
pub struct ShowPicture {
    /// Sold seats, by visitor.
    pub sold: Vec<(Holder, Vec<HeldSeat>)>,
    /// The holds of orders that wait for payment or consent.
    pub ordered: Vec<Hold>,
    /// The number of the show's newest outbox row. The picture shows the effect of this row and of
    /// all earlier rows, and of no later row.
    pub cursor: u64,
}

/// A claim that still exists in the ledger after its deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverdueClaim {
    /// The order that has the claim.
    pub order: OrderId,
    /// The claim's deadline, in milliseconds since the epoch.
    pub claim_until_ms: i64,
    /// The claimed cells, as the store must lock them.
    pub hold: Hold,
    /// The number of the newest row of the show's seat outbox when the claim was read. The row that
    /// will end this claim has a larger number.
    pub cursor: u64,
}

/// The result of one batch of deletions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PruneOutcome {
    /// The number of deleted rows.
    pub rows: u64,
    /// Where the next batch begins; `None` if nothing more is old enough.
    pub next: Option<i64>,
}

impl PruneOutcome {
    /// Builds the outcome of a batch that started at the oldest row. If the batch was full, more
    /// rows may be old enough, and the next batch starts at the oldest row again.
    pub(super) fn full_or_last(rows: u64, batch_max: u32) -> Self {
        let next = (rows >= u64::from(batch_max)).then_some(0);
        Self { rows, next }
    }
}

/// Why a claim of seats was refused. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum SeatClaimRefused {
    /// Another order has these cells.
    #[error("cells are claimed: {0:?}")]
    Taken(Vec<u32>),
    /// The visitor would have more seats than the show allows.
    #[error("the visitor has {have} seats and may have {limit}")]
    Limit {
        /// Seats that the visitor has.
        have: u32,
        /// Seats that the visitor may have.
        limit: u32,
    },
    /// A card that bought the old seats of an exchange would have more seats than the show allows.
    #[error("the card has reached the show's limit")]
    CardLimit,
    /// The show pins another plan now.
    #[error("the plan has changed")]
    PlanChanged,
    /// The show begins at another time than in the order's terms.
    #[error("the show begins at another time")]
    TimeChanged,
    /// The show was cancelled.
    #[error("the show was cancelled")]
    Cancelled,
    /// The hold was made for this other purpose.
    #[error("the hold was made for something else ({})", .0.as_str())]
    OtherPurpose(HoldPurpose),
    /// The incarnation of the locks was lost, and the next incarnation was built without this
    /// claim.
    #[error("the locks were lost with their incarnation")]
    Superseded,
    /// The ledger could not write the claim.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Why a refund was refused. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum RefundRefused {
    /// In this state, the order has nothing to give back.
    #[error("the order is {}", .0.as_str())]
    State(OrderState),
    /// No rule allows a refund now.
    #[error(transparent)]
    Rule(#[from] RefundRuleError),
    /// Tickets with these labels were scanned.
    #[error("tickets were scanned: {0:?}")]
    Scanned(Vec<String>),
    /// An exchange of the order is being paid. This is the successor.
    #[error("{0} is being paid")]
    Exchanging(OrderId),
    /// The order comes from an exchange whose money is there, and which is not done yet.
    #[error("the exchange that made the order is not done yet")]
    ExchangeUnfinished,
    /// The payment of the order is disputed.
    #[error("the payment is disputed")]
    Disputed,
    /// The order has no such ticket.
    #[error("{0} is not a ticket of the order")]
    Unknown(TicketId),
    /// The ledger could not write the refund.
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

/// Why an exchange was refused. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeRefused {
    /// In this state, the order has nothing to exchange.
    #[error("the order is {}", .0.as_str())]
    State(OrderState),
    /// No rule of its terms allows an exchange now.
    #[error(transparent)]
    Rule(#[from] ExchangeRuleError),
    /// Tickets with these labels were scanned.
    #[error("tickets were scanned: {0:?}")]
    Scanned(Vec<String>),
    /// Another exchange of the order is being paid. This is the successor.
    #[error("{0} is being paid")]
    Open(OrderId),
    /// The payment of the order is disputed.
    #[error("the payment is disputed")]
    Disputed,
    /// The order's seats or the cost of the exchange have changed since the exchange was offered,
    /// or another order has the successor's hold.
    #[error("the order has changed")]
    Changed,
    /// The new seats cannot be claimed.
    #[error(transparent)]
    Claim(#[from] SeatClaimRefused),
    /// The ledger could not write the exchange.
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

/// What the ledger must know about a show and a hold in order to check a claim.
#[derive(Debug, Clone, Copy)]
pub struct ClaimBasis {
    /// The number of seats and legs of the show.
    pub grid: CellGrid,
    /// The most seats of the show that one visitor may have.
    pub limit: u32,
    /// The incarnation of the store's data in which the cells are locked.
    pub incarnation: u64,
    /// The purpose of the hold that locks the cells.
    pub purpose: HoldPurpose,
}

impl ClaimBasis {
    /// Returns the basis for claiming seats of a show that a hold has locked.
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

/// An order that a ledger which went back no longer has, made again from the provider's copy.
#[derive(Debug, Clone)]
pub struct RestoredOrder {
    /// The order, pending. If an exchange made it, it has no items yet.
    pub order: Order,
    /// Its seats at their own prices.
    pub items: Vec<OrderItem>,
    /// The exchange that made it, if one did.
    pub exchange: Option<CopiedExchange>,
    /// Its payment, with the provider's id of it.
    pub payment: Payment,
    /// The number of seats and legs of the show.
    pub grid: CellGrid,
}

/// What came of restoring an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreOutcome {
    /// The ledger has the order now.
    Restored,
    /// The order that was exchanged for this one must be settled first.
    NotYet,
    /// The show is not closed, or has another plan; the order's terms are not stored; or the
    /// exchanged order has nothing to exchange.
    Impossible,
}

/// Why a show was not written. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ShowRefused {
    /// Orders have these seats, which the new plan moves, drops or renames.
    #[error("the plan is in use at seats {0:?}")]
    PlanInUse(Vec<u32>),
    /// Orders have seats at prices in this currency, so the currency cannot change.
    #[error("the show was sold in {}", .0.as_str())]
    CurrencyInUse(Currency),
    /// Orders have seats, so these fields cannot change: the time and the venue.
    #[error("the show has orders, and {0:?} would change")]
    PostponeInstead(Vec<&'static str>),
    /// The ledger could not write the show.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// The order after an event, and whether the event changed it.
#[derive(Debug, Clone)]
pub struct OrderChangeOutcome {
    /// The order after the event.
    pub order: Order,
    /// Whether anything was written.
    pub changed: bool,
}

/// A due call to the provider about a payment.
#[derive(Debug, Clone)]
pub struct DuePaymentEffect {
    /// The row's id in the ledger.
    pub id: i64,
    /// Whether the payment is to be captured, voided or refunded.
    pub kind: EffectKind,
    /// How often the effect was tried without success.
    pub attempts: u32,
    /// The payment.
    pub payment: Payment,
}

/// A provider's event that is stored and not settled yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredProviderEvent {
    /// The provider's name.
    pub provider: String,
    /// The event's id at the provider.
    pub event: String,
    /// The raw body.
    pub body: Vec<u8>,
    /// How often the event was put off.
    pub attempts: u32,
}

/// The decision about late money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LateMoneyOutcome {
    /// The money buys the order's own seats, which this hold locks.
    SameSeats(HoldId),
    /// The money buys other seats if the buyer consents.
    OtherSeats(ReplacementOffer),
    /// The money buys nothing and goes back.
    Back(LateRefundReason),
}

impl LateMoneyOutcome {
    /// Returns the order's event for this outcome.
    #[must_use]
    pub fn order_event(&self) -> OrderEvent {
        match self {
            Self::SameSeats(_) => OrderEvent::LateSame,
            Self::OtherSeats(_) => OrderEvent::LateOther,
            Self::Back(why) => OrderEvent::LateBack(*why),
        }
    }
}

/// What a scan found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TicketScanOutcome {
    /// This is the ticket's first scan, made at this time: the door admits the person.
    First(i64),
    /// The ticket was scanned before, at this time.
    Again(i64),
    /// The ticket became void at this time, by a refund or an exchange.
    Void(i64),
    /// The ticket has been blocked since this time, because its payment is disputed.
    Blocked(i64),
}

/// The sum of some refunds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RefundSum {
    /// The number of refunds.
    pub count: u64,
    /// The refunded amount, in minor units.
    pub amount: i64,
}

/// A show's refunds in figures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RefundFigures {
    /// Why the show was cancelled or postponed, in the promoter's words.
    pub reason: Option<String>,
    /// Paid orders that have something to refund: they have no tickets yet, or tickets that are
    /// neither scanned nor void.
    pub orders_left: u64,
    /// Orders that were refunded in whole or in part.
    pub orders_refunded: u64,
    /// Scanned tickets, which are not refunded.
    pub scanned: u64,
    /// Refunds that are not done and have not failed.
    pub on_its_way: RefundSum,
    /// Refunds that are done.
    pub done: RefundSum,
    /// Refunds that the provider could not make so far.
    pub failed: RefundSum,
    /// Fees that were deducted from refunds, in minor units.
    pub fees: i64,
}

/// A show's new fate.
#[derive(Debug, Clone)]
pub struct NewFate {
    /// What happens to the show.
    pub fate: ShowFate,
    /// The show's new beginning. A show that is cancelled has none.
    pub starts_at: Option<Timestamp>,
    /// Why, in the promoter's words.
    pub reason: Option<String>,
}

impl NewFate {
    /// The fate of a show that is cancelled without a reason.
    pub const CANCELLED: Self = Self {
        fate: ShowFate::Cancelled,
        starts_at: None,
        reason: None,
    };
}

/// The stored answer of a call, for retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAnswer {
    /// Digest of the request.
    pub asked: [u8; 32],
    /// The HTTP status.
    pub status: u16,
    /// The JSON body. In the ledger it is sealed, because it may have an order's key.
    pub body: String,
}

/// Returns the name under which the body of a kept answer is sealed.
pub fn answer_place(scope: &[u8; 32], key: &str) -> String {
    format!("kept_answers/{}/{key}", hex::encode(scope))
}

/// A call under a caller's `Idempotency-Key` that one node wants to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedCall {
    /// A digest that identifies the caller. The key belongs to this caller.
    pub scope: [u8; 32],
    /// The key.
    pub key: String,
    /// Digest of the request.
    pub asked: [u8; 32],
    /// The number of the node. Each process chooses its number at random.
    pub node: i64,
}

/// How the ledger answers a node that wants to begin a call under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BeginCallOutcome {
    /// The node may carry out the call.
    Act,
    /// The call was answered before.
    Answered(KeptAnswer),
    /// Another node is carrying out the call.
    Running,
    /// The key belongs to a call with another body or address.
    OtherCall,
}
