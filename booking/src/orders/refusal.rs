//! Why an order is not made, paid or exchanged. `http/refusals` turns these values into messages.

use fairgate_model::ids::{OrderId, ShowId};
use fairgate_model::money::{Currency, Money};
use fairgate_model::payments::limits::PaymentSumError;

use crate::holds::refusal::HoldRefusal;
use crate::ledger::{ExchangeRefused, LedgerError};

/// Why a call for an order was refused.
#[derive(Debug, thiserror::Error)]
pub enum OrderRefusal {
    /// The seats or the hold were refused.
    #[error(transparent)]
    Hold(#[from] HoldRefusal),
    /// The name of the buyer or of a traveller is missing or wrong.
    #[error("the names are wrong: {0}")]
    Names(#[from] NamesFault),
    /// The card that paid would have more seats of the show than the limit for one card.
    #[error("the card would have too many seats of the show{}", limit_note(*limit))]
    CardLimit {
        /// The show's limit. `None` if this node does not know the limit yet.
        limit: Option<u32>,
    },
    /// Payments are not configured, so nothing that costs money can be sold.
    #[error("payments are not configured")]
    PaymentsNotConfigured,
    /// The provider never takes this sum.
    #[error("{sum} is {why}: the limit is {limit}")]
    Sum {
        /// The sum to pay.
        sum: Money,
        /// Whether the sum is too small, too large, or wrong in another way.
        why: PaymentSumError,
        /// The provider's limit.
        limit: Money,
    },
    /// The provider refused to prepare the payment, and the order was ended.
    #[error("the payment of {order} was refused")]
    PaymentRefused {
        /// The order.
        order: OrderId,
        /// The sum to pay.
        sum: Money,
        /// What is wrong with the sum, if the sum is known to be the reason.
        why: Option<PaymentSumError>,
    },
    /// The payment could not be prepared just now.
    #[error("the payment of {order} could not be prepared")]
    ProviderUnreachable {
        /// The order, which still exists.
        order: OrderId,
        /// The time until which the order waits for its money.
        pay_until_ms: i64,
    },
    /// There is no such order.
    #[error("there is no order {0}")]
    NoSuchOrder(OrderId),
    /// The order's show no longer exists.
    #[error("there is no show {0}")]
    NoSuchShow(ShowId),
    /// The new seats of the exchange are sold in another currency.
    #[error("the show is sold in {}, the order in {}", show.as_str(), order.as_str())]
    OtherCurrency {
        /// The currency of the show.
        show: Currency,
        /// The currency of the order.
        order: Currency,
    },
    /// The number of seats asked for is not the number of seats that the order has.
    #[error("{asked} seats were asked for, but the order has {seats}")]
    OtherQuantity {
        /// How many seats the order has.
        seats: usize,
        /// How many seats were asked for.
        asked: usize,
    },
    /// The order has these seats already.
    #[error("these are the order's own seats")]
    NothingToExchange,
    /// The order cannot be exchanged.
    #[error(transparent)]
    Exchange(ExchangeRefused),
    /// The ledger did not answer.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Returns the end of a message, which names the limit if it is known.
fn limit_note(limit: Option<u32>) -> String {
    limit.map_or_else(String::new, |limit| format!("; the limit is {limit}"))
}

/// What is wrong with the names in an order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NamesFault {
    /// The buyer's name is empty, too long or not printable.
    #[error("the buyer's name")]
    BuyerName,
    /// The buyer's e-mail address is not valid.
    #[error("the buyer's e-mail address")]
    BuyerEmail,
    /// Names of travellers were sent for a show that is not a train.
    #[error("this show needs no travellers' names")]
    NotWanted,
    /// The number of names is not the number of seats.
    #[error("{name_count} names for {seats} seats")]
    NotOneEach {
        /// How many seats the order has.
        seats: usize,
        /// How many names were sent.
        name_count: usize,
    },
    /// The name at this index is empty, too long or not printable.
    #[error("the name of traveller {0}")]
    TravellerName(usize),
}
