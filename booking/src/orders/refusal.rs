//! Why an order is not made, paid or exchanged, as plain values. `http/refusals` words them.

use fairgate_model::ids::{OrderId, ShowId};
use fairgate_model::money::{Currency, Money};
use fairgate_model::payments::limits::PaymentSumError;

use crate::holds::refusal::HoldRefusal;
use crate::ledger::{ExchangeRefused, LedgerError};

/// Why a call for an order was refused.
#[derive(Debug, thiserror::Error)]
pub enum OrderRefusal {
    /// Its seats cannot be had.
    #[error(transparent)]
    Hold(#[from] HoldRefusal),
    /// Who buys or who travels is not said as it should be.
    #[error("the names are wrong: {0}")]
    Names(#[from] NamesFault),
    /// The card that paid for the seats would have more of the show than a card may.
    #[error("a card may buy {limit:?} seats")]
    CardLimit {
        /// The show's limit.
        limit: Option<u32>,
    },
    /// Nobody takes money here.
    #[error("payments are not configured")]
    PaymentsNotConfigured,
    /// The provider never takes this sum.
    #[error("{sum} is {why}: the limit is {limit}")]
    Sum {
        /// What would have to be paid.
        sum: Money,
        /// What is wrong with it.
        why: PaymentSumError,
        /// What the provider takes.
        limit: Money,
    },
    /// The provider refused to prepare the payment, and the order was ended.
    #[error("the payment of {order} was refused")]
    PaymentRefused {
        /// The order.
        order: OrderId,
        /// What was to be paid.
        sum: Money,
        /// What is wrong with the sum, where that is known to be why.
        why: Option<PaymentSumError>,
    },
    /// The payment could not be prepared just now.
    #[error("the payment of {order} could not be prepared")]
    ProviderUnreachable {
        /// The order, which stands.
        order: OrderId,
        /// Until when it waits for its money.
        pay_until_ms: i64,
    },
    /// There is no such order.
    #[error("there is no order {0}")]
    NoSuchOrder(OrderId),
    /// The order's show is not there any more.
    #[error("there is no show {0}")]
    NoSuchShow(ShowId),
    /// The seats wanted in exchange are sold in another currency.
    #[error("the show is sold in {}, the order in {}", show.as_str(), order.as_str())]
    OtherCurrency {
        /// The show's.
        show: Currency,
        /// The order's.
        order: Currency,
    },
    /// Another number of seats was asked for than the order has.
    #[error("{asked} seats for {seats}")]
    OtherQuantity {
        /// The order's seats.
        seats: usize,
        /// The seats asked for.
        asked: usize,
    },
    /// The order has these seats already.
    #[error("these are the order's own seats")]
    NothingToExchange,
    /// The order is not exchanged.
    #[error(transparent)]
    Exchange(ExchangeRefused),
    /// The ledger did not answer.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// What is wrong with the names that came with an order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NamesFault {
    /// The buyer's name is empty, too long or not printable.
    #[error("the buyer's name")]
    BuyerName,
    /// The buyer's address is none.
    #[error("the buyer's e-mail address")]
    BuyerEmail,
    /// The show wants no names of those who travel.
    #[error("names nobody asked for")]
    NotWanted,
    /// Not one name a seat.
    #[error("{came} names for {seats} seats")]
    NotOneEach {
        /// The seats.
        seats: usize,
        /// The names that came.
        came: usize,
    },
    /// The name of the traveller at this place is empty, too long or not printable.
    #[error("the name of traveller {0}")]
    TravellerName(usize),
}
