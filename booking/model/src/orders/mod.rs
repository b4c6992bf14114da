//! Orders: a hold on its way to money and tickets. The state machine is pure; the ledger carries it
//! out.

pub mod exchange;
pub mod item;
pub mod late;
pub mod refund;
pub mod settling;
pub mod terms;
pub mod transition;

use fairgate_pass::Holder;
use serde::{Deserialize, Serialize};

use crate::holds::HeldSeat;
use crate::ids::{HoldId, OrderId, PaymentId, ShowId, TicketId};
use crate::money::Currency;

/// The states of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OrderState {
    /// Its seats are claimed; the money is awaited.
    Pending,
    /// The money is authorised and the seats are sold.
    Confirmed,
    /// The money is captured and the tickets are there.
    Ticketed,
    /// The time to pay ran out; the seats are free.
    Expired,
    /// The buyer gave it up; the seats are free.
    Cancelled,
    /// The provider refused the capture; the seats are free, nothing was charged.
    CaptureFailed,
    /// The money came after the seats had gone; others are kept until the buyer says yes or no.
    AwaitingConsent,
    /// Some of its tickets were given back; the others are good.
    PartlyRefunded,
    /// All its tickets that could be were given back; the seats are free, and the money is back or
    /// on its way.
    Refunded,
    /// Its seats were given for others, which another order has; its money pays for those.
    Exchanged,
}

impl OrderState {
    /// All states, for reading them back.
    pub const ALL: [Self; 10] = [
        Self::Pending,
        Self::Confirmed,
        Self::Ticketed,
        Self::Expired,
        Self::Cancelled,
        Self::CaptureFailed,
        Self::AwaitingConsent,
        Self::PartlyRefunded,
        Self::Refunded,
        Self::Exchanged,
    ];

    /// The word of the contract.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Confirmed => "confirmed",
            Self::Ticketed => "ticketed",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::CaptureFailed => "capture_failed",
            Self::AwaitingConsent => "awaiting_consent",
            Self::PartlyRefunded => "partly_refunded",
            Self::Refunded => "refunded",
            Self::Exchanged => "exchanged",
        }
    }

    /// Reads the word back.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// Who buys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Buyer {
    /// A name, 1 to 200 characters.
    pub name: String,
    /// An e-mail address.
    pub email: String,
}

/// Who travels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Traveller {
    /// A name, 1 to 200 characters.
    pub name: String,
}

/// One seat of an order, with the words that stand on its ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderItem {
    /// Seat and legs.
    pub held: HeldSeat,
    /// What it costs, in minor units.
    pub amount: i64,
    /// The seat's label.
    pub label: String,
    /// The category's label.
    pub category: String,
    /// The category's key, by which its price is found; empty in orders that are older than that.
    pub category_key: String,
    /// Who travels on it, where the show wants names.
    pub traveller: Option<String>,
}

/// An order as the ledger keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Its id.
    pub id: OrderId,
    /// The show.
    pub show: ShowId,
    /// The hold it was made of.
    pub hold: HoldId,
    /// Whose it is.
    pub visitor: Holder,
    /// The room of the pass.
    pub room: String,
    /// Who buys.
    pub buyer: Buyer,
    /// Currency of all its amounts.
    pub currency: Currency,
    /// What it was made for cost, in minor units; refunds do not change it.
    pub total: i64,
    /// Its seats; those that were given back are no longer among them.
    pub items: Vec<OrderItem>,
    /// The plan its seat indices belong to.
    pub plan_version: u32,
    /// The version of the show's terms that it was made under.
    pub terms: u32,
    /// What of its seats' prices was never charged, because the provider takes no sums so small: of
    /// exchanges only.
    pub let_go: i64,
    /// Where it stands.
    pub state: OrderState,
    /// Why it stands there.
    pub reason: String,
    /// When it was made.
    pub created_at_ms: i64,
    /// Until when the buyer is asked to pay.
    pub pay_until_ms: i64,
    /// Until when a payment is still accepted.
    pub claim_until_ms: i64,
    /// Its payment.
    pub payment: PaymentId,
}

impl Order {
    /// Who travels on a ticket of this order.
    #[must_use]
    pub fn traveller(&self, ticket: &TicketId) -> Option<&str> {
        let of_ticket = |item: &&OrderItem| TicketId::of_seat(&self.id, item.held.seat) == *ticket;
        self.items.iter().find(of_ticket)?.traveller.as_deref()
    }

    /// Its seats without their words.
    #[must_use]
    pub fn held_seats(&self) -> Vec<HeldSeat> {
        self.items.iter().map(|item| item.held.clone()).collect()
    }
}

/// Other seats for money that came after the order's own had gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacementOffer {
    /// The hold that keeps them.
    pub hold: HoldId,
    /// The seats; together they cost what the order's own did.
    pub items: Vec<OrderItem>,
    /// Until when the buyer may say yes.
    pub until_ms: i64,
}

/// One step in an order's life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = Step)]
pub struct OrderHistoryEntry {
    /// When, RFC 3339.
    pub at: String,
    /// The state after it.
    pub state: OrderState,
    /// A stable reason code.
    pub reason: String,
}

/// A ticket as the ledger keeps it; its signed form follows from this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// Its id.
    pub id: TicketId,
    /// Its order.
    pub order: OrderId,
    /// The show.
    pub show: ShowId,
    /// The seat's label.
    pub label: String,
    /// The legs it is good for.
    pub legs: Vec<u16>,
    /// Who travels on it, where the show wanted names.
    pub name: Option<String>,
    /// When it was issued.
    pub issued_at_ms: i64,
    /// When a door scanned it.
    pub scanned_at_ms: Option<i64>,
    /// When it was given back: it opens no door any more.
    pub voided_at_ms: Option<i64>,
    /// The order's visitor.
    pub visitor: Holder,
    /// The room of the order's pass.
    pub room: String,
}

/// An order with all that is told about it.
#[derive(Debug, Clone)]
pub struct OrderRecord {
    /// The order.
    pub order: Order,
    /// Its life so far.
    pub history: Vec<OrderHistoryEntry>,
    /// Its tickets, once issued.
    pub tickets: Vec<Ticket>,
    /// Where its payment stands.
    pub payment: crate::payments::PaymentState,
    /// What it waits for consent to; none in every other state.
    pub offer: Option<ReplacementOffer>,
    /// What went back or goes back of its money, in order.
    pub refunds: Vec<refund::Refund>,
    /// The exchanges it is part of: at most one as a successor, and one as what is exchanged.
    pub exchanges: Vec<exchange::ExchangeRole>,
}
