//! Values of the ledger about money that somebody has to look at.

use fairgate_databases::LedgerError;
use fairgate_model::counted::counted;
use fairgate_model::ids::{OrderId, TicketId};
use fairgate_model::money::Money;
use fairgate_model::orders::OrderState;

/// The kinds of money that somebody has to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MoneyFindingKind {
    /// A part of an order's money went back at the provider, and nobody has said which tickets it
    /// was for.
    RefundedInPart,
    /// The provider has money that belongs to no payment of the ledger.
    UnknownMoney,
    /// The provider could not make a refund that is owed. It is tried again.
    RefundFailed,
    /// The buyer's bank disputes a payment, and has not decided yet.
    Disputed,
}

impl MoneyFindingKind {
    /// Returns the kind's word in the ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RefundedInPart => "refunded_in_part",
            Self::UnknownMoney => "unknown_money",
            Self::RefundFailed => "refund_failed",
            Self::Disputed => "disputed",
        }
    }

    /// Returns the kind with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [
            Self::RefundedInPart,
            Self::UnknownMoney,
            Self::RefundFailed,
            Self::Disputed,
        ]
        .into_iter()
        .find(|kind| kind.as_str() == word)
    }
}

/// Money that somebody has to look at, until it is settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoneyFinding {
    /// The provider's id of the refund, of the dispute or of the payment.
    pub id: String,
    /// The kind.
    pub kind: MoneyFindingKind,
    /// The provider's name.
    pub provider: String,
    /// The payment that the provider names. The ledger may not have it.
    pub payment: String,
    /// The order whose seats the money pays for; none if there is none.
    pub order: Option<OrderId>,
    /// The sum that went back, or that the provider has.
    pub sum: Money,
    /// When it was seen first, in milliseconds since the epoch.
    pub first_seen_ms: i64,
}

/// How much is not settled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MoneyFindingCounts {
    /// Orders of whose money a part went back at the provider.
    pub orders: u64,
    /// Sums at the provider that the ledger does not know.
    pub unknown: u64,
    /// Refunds that the provider could not make so far.
    pub failed_refunds: u64,
    /// Payments that are disputed at the bank.
    pub disputes: u64,
}

impl MoneyFindingCounts {
    /// Returns what an operator is told about it.
    #[must_use]
    pub fn warnings(self) -> Vec<String> {
        let told = [
            (
                counted(self.orders, "order", "orders"),
                self.orders,
                "got a part of the money back at the payment provider, and nobody has said which tickets it was for",
            ),
            (
                counted(self.unknown, "sum", "sums"),
                self.unknown,
                "at the payment provider that no payment of this ledger accounts for",
            ),
            (
                counted(self.failed_refunds, "refund", "refunds"),
                self.failed_refunds,
                "that the payment provider could not make so far",
            ),
            (
                counted(self.disputes, "payment", "payments"),
                self.disputes,
                "disputed at the buyer's bank, which waits for an answer",
            ),
        ];
        let open = told.iter().filter(|(_, count, _)| *count > 0);
        open.map(|(counted, _, what)| format!("{counted} {what}: GET /v1/promoter/attention"))
            .collect()
    }
}

/// What a refund of a part, made at the provider, was for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrderSettlement {
    /// These tickets. They become void.
    Tickets {
        /// The tickets, at least one.
        tickets: Vec<TicketId>,
    },
    /// Nothing: the tickets stay valid.
    Goodwill {
        /// Why the money was given.
        reason: String,
    },
}

/// Why an order was not settled. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum SettleRefused {
    /// No refund of a part waits to be settled.
    #[error("nothing waits to be settled")]
    NothingToSettle,
    /// In this state, the order has no tickets that could become void.
    #[error("the order is {}", .0.as_str())]
    State(OrderState),
    /// The order has no such ticket.
    #[error("{0} is not a ticket of the order")]
    Unknown(TicketId),
    /// This ticket is void already.
    #[error("{0} is void")]
    Void(TicketId),
    /// The ticket for the seat with this label was scanned.
    #[error("the ticket for {0} was scanned")]
    Scanned(String),
    /// The ledger could not write it.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}
