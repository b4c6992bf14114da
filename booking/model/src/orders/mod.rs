//! Orders: a hold becomes an order, is paid, and gets its tickets. The state machine here is pure.
//! The ledger stores what the state machine decides.

pub mod exchange;
pub mod item;
pub mod late;
pub mod order_copy;
pub mod people;
pub mod refund;
pub mod settling;
pub mod terms;
pub mod transition;

use exchange::carried::CarriedMoney;
use fairgate_pass::Holder;
use serde::{Deserialize, Serialize};
use transition::{
    NEXT_TRY_ON_ITS_WAY_MS, NEXT_TRY_WITHIN_MS, PAYMENT_TRIED_AGAIN, PayDeadlineChange,
};

use crate::holds::HeldSeat;
use crate::ids::{HoldId, OrderId, PaymentId, ShowId, TicketId};
use crate::money::{Currency, Money};

/// The states of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OrderState {
    /// Its seats are claimed, and the money is awaited.
    Pending,
    /// The money is authorised, or there is nothing to pay. The seats are sold.
    Confirmed,
    /// The money is captured, or there was nothing to pay. The tickets are issued.
    Ticketed,
    /// The time to pay, or to consent, ran out. The seats are free.
    Expired,
    /// The buyer gave it up, or it cannot be completed. The seats are free.
    Cancelled,
    /// The provider refused the capture. Nothing was charged, and the seats are free.
    CaptureFailed,
    /// The money came late, when the seats were gone. Other seats are kept until the buyer accepts
    /// or declines them.
    AwaitingConsent,
    /// Some of its tickets were given back. The others are valid.
    PartlyRefunded,
    /// All its tickets were given back. The seats are free, and the money is back or on its way.
    Refunded,
    /// Its seats were exchanged for other seats, which belong to another order. The money of this
    /// order pays for those seats.
    Exchanged,
}

impl OrderState {
    /// All states.
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

    /// Returns the contract's word for the state.
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

    /// Returns the state with this word.
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

/// One seat of an order, with the texts that are printed on its ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderItem {
    /// The seat and the legs.
    pub held: HeldSeat,
    /// What it costs, in minor units.
    pub amount: i64,
    /// The seat's label.
    pub label: String,
    /// The category's label.
    pub category: String,
    /// The category's key, by which its price is found. It is empty in orders that were stored
    /// before items had keys.
    pub category_key: String,
    /// The traveller's name, if the show asks for names.
    pub traveller: Option<String>,
    /// The part of `amount` that was carried over from an exchanged order.
    pub carried: CarriedMoney,
}

/// An order as the ledger stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Its id.
    pub id: OrderId,
    /// The show.
    pub show: ShowId,
    /// The hold it was made from.
    pub hold: HoldId,
    /// The visitor who has the order.
    pub visitor: Holder,
    /// The room of the pass with which it was made.
    pub room: String,
    /// The buyer's name and e-mail address.
    pub buyer: Buyer,
    /// The currency of all its amounts.
    pub currency: Currency,
    /// What the buyer has to pay, in minor units: the price of all seats that the order was made
    /// for or, if an exchange made it, the difference. Refunds do not change it.
    pub total: i64,
    /// Its seats, without those that were given back.
    pub items: Vec<OrderItem>,
    /// The version of the plan that its seat indices belong to.
    pub plan_version: u32,
    /// The version of the show's terms that it was made under.
    pub terms: u32,
    /// The part of its seats' prices that was waived, in minor units, because the provider does not
    /// take so small a sum. Only exchanges waive a sum, so it is 0 in all other orders.
    pub waived: i64,
    /// Its state.
    pub state: OrderState,
    /// The reason code of the change to that state.
    pub reason: String,
    /// When it was made, in milliseconds since the epoch.
    pub created_at_ms: i64,
    /// Until when the buyer is asked to pay, in milliseconds since the epoch.
    pub pay_until_ms: i64,
    /// Until when the buyer is asked to pay while no payment was declined, or once another try has
    /// begun, in milliseconds since the epoch. Never before `pay_until_ms`.
    pub full_pay_until_ms: i64,
    /// Until when a payment is still accepted, in milliseconds since the epoch.
    pub claim_until_ms: i64,
    /// Until when a payment is accepted while no payment was declined, or once another try has
    /// begun, in milliseconds since the epoch. Never before `claim_until_ms` of a pending order.
    pub full_claim_until_ms: i64,
    /// The id of its payment.
    pub payment: PaymentId,
}

impl Order {
    /// Returns the seat of a ticket of this order, unless the ticket was given back.
    #[must_use]
    pub fn item_of_ticket(&self, ticket: &TicketId) -> Option<&OrderItem> {
        let of_ticket = |item: &&OrderItem| TicketId::of_seat(&self.id, item.held.seat) == *ticket;
        self.items.iter().find(of_ticket)
    }

    /// Returns whether it waits for its payment, and the buyer has begun another try since a
    /// payment was declined.
    #[must_use]
    pub fn is_tried_again(&self) -> bool {
        self.state == OrderState::Pending && self.reason == PAYMENT_TRIED_AGAIN
    }

    /// Moves its deadlines. The claim outlives the deadline to pay because a payment may be under
    /// way then. After a decline none is, until another try begins. So the claim lasts only a
    /// moment longer than the deadline.
    pub fn move_deadline(&mut self, change: PayDeadlineChange, now_ms: i64) {
        match change {
            PayDeadlineChange::Stay => {}
            PayDeadlineChange::Shorten => {
                self.pay_until_ms = self.pay_until_ms.min(now_ms + NEXT_TRY_WITHIN_MS);
                let try_came_ms = self.pay_until_ms + NEXT_TRY_ON_ITS_WAY_MS;
                self.claim_until_ms = self.claim_until_ms.min(try_came_ms);
            }
            PayDeadlineChange::Restore => {
                self.pay_until_ms = self.full_pay_until_ms;
                self.claim_until_ms = self.full_claim_until_ms;
            }
        }
    }

    /// Returns until when a payment can still be accepted if the buyer begins another try in time,
    /// in milliseconds since the epoch.
    #[must_use]
    pub fn longest_claim_until_ms(&self) -> i64 {
        match self.state {
            OrderState::Pending => self.full_claim_until_ms,
            _ => self.claim_until_ms,
        }
    }

    /// Returns its seats without labels and prices.
    #[must_use]
    pub fn held_seats(&self) -> Vec<HeldSeat> {
        self.items.iter().map(|item| item.held.clone()).collect()
    }
}

/// Other seats that are offered to a buyer. The buyer's money came late, and the order's own seats
/// are taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacementOffer {
    /// The hold that locks the seats.
    pub hold: HoldId,
    /// The seats. Together they cost the same as the order's own seats.
    pub items: Vec<OrderItem>,
    /// Until when the buyer may accept, in milliseconds since the epoch.
    pub until_ms: i64,
}

/// One step in an order's life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = Step)]
pub struct OrderHistoryEntry {
    /// When this step happened, RFC 3339.
    pub at: String,
    /// The state after this step.
    pub state: OrderState,
    /// A stable reason code.
    pub reason: String,
}

/// A ticket as the ledger stores it. The ticket's signed form is computed from these fields.
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
    /// The plan version that the seat and the legs belong to.
    pub plan_version: u32,
    /// The traveller's name, if the show asked for names.
    pub name: Option<String>,
    /// The name of the order's buyer.
    pub buyer: String,
    /// The label of the seat's category. `None` if the seat was given back.
    pub category: Option<String>,
    /// What the seat cost. `None` if the seat was given back.
    pub price: Option<Money>,
    /// When it was issued, in milliseconds since the epoch.
    pub issued_at_ms: i64,
    /// When it was scanned at a door, in milliseconds since the epoch.
    pub scanned_at_ms: Option<i64>,
    /// When it was given back or exchanged, in milliseconds since the epoch. From then on it is not
    /// valid.
    pub voided_at_ms: Option<i64>,
    /// Since when it is blocked, because its payment is disputed, in milliseconds since the epoch.
    pub blocked_at_ms: Option<i64>,
    /// The order's visitor.
    pub visitor: Holder,
    /// The room of the order's pass.
    pub room: String,
}

impl OrderRecord {
    /// Returns whether its tickets open no door, because a payment for them is disputed.
    #[must_use]
    pub fn is_disputed(&self) -> bool {
        let blocked =
            |ticket: &Ticket| ticket.blocked_at_ms.is_some() && ticket.voided_at_ms.is_none();
        self.tickets.iter().any(blocked)
    }
}

/// An order with its history, tickets, payment, refunds and exchanges.
#[derive(Debug, Clone)]
pub struct OrderRecord {
    /// The order.
    pub order: Order,
    /// The steps of its life so far, in order.
    pub history: Vec<OrderHistoryEntry>,
    /// Its tickets, once issued.
    pub tickets: Vec<Ticket>,
    /// The state of its payment.
    pub payment: crate::payments::PaymentState,
    /// The seats that are offered to the buyer. `None` unless the order awaits the buyer's consent.
    pub offer: Option<ReplacementOffer>,
    /// The money that pays for its seats.
    pub money: refund::MoneyOfOrder,
    /// Its refunds, in order.
    pub refunds: Vec<refund::Refund>,
    /// The exchanges it is part of: at most one as the successor, and at most one as the old order.
    pub exchanges: Vec<exchange::ExchangeRole>,
}
