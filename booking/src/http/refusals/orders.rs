//! Builds the problems for refused calls that make, pay or exchange an order.

use fairgate_base::clock::rfc3339;
use fairgate_base::http::{Problem, ProblemCode};
use fairgate_model::counted::counted;
use fairgate_model::ids::OrderId;
use fairgate_model::money::Money;
use fairgate_model::orders::exchange::deal::ExchangeRuleError;
use fairgate_model::orders::people::NAME_CHARS_MAX;
use fairgate_model::payments::limits::PaymentSumError;

use crate::http::holds::MoneyView;
use crate::ledger::ExchangeRefused;
use crate::orders::refusal::{NamesFault, OrderRefusal};

/// After how many seconds to try again if payments are not configured. Only the organiser can
/// configure payments, so trying sooner is useless.
const NOT_CONFIGURED_RETRY_S: u64 = 600;

impl From<OrderRefusal> for Problem {
    fn from(refusal: OrderRefusal) -> Self {
        match refusal {
            OrderRefusal::Hold(refusal) => refusal.into(),
            OrderRefusal::Names(fault) => names_problem(&fault),
            OrderRefusal::CardLimit { limit } => card_limit(limit),
            OrderRefusal::PaymentsNotConfigured => not_configured(),
            OrderRefusal::Sum { sum, why, limit } => sum_refused(sum, why, limit),
            OrderRefusal::PaymentRefused { order, sum, why } => payment_refused(&order, sum, why),
            OrderRefusal::ProviderUnreachable {
                order,
                pay_until_ms,
            } => provider_unreachable(&order, pay_until_ms),
            OrderRefusal::NoSuchOrder(order) => Self::not_found("order", order.as_str()),
            OrderRefusal::NoSuchShow(show) => Self::not_found("show", show.as_str()),
            OrderRefusal::OtherCurrency { show, order } => Self::invalid_field(
                "show",
                format!(
                    "show: it is sold in {}, and the order was paid in {}. Nothing was changed; choose a show in the same currency.",
                    show.as_str(),
                    order.as_str()
                ),
            ),
            OrderRefusal::OtherQuantity { seats, asked } => {
                let (has, asked) = (
                    counted(seats, "seat", "seats"),
                    counted(asked, "was", "were"),
                );
                let detail = format!(
                    "The order has {has}, and {asked} asked for. Nothing was changed; ask for as many as it has. What nobody needs any more is given back by a refund."
                );
                Self::new(ProblemCode::ExchangeQuantity, detail).with_member("seats", seats)
            }
            OrderRefusal::NothingToExchange => Self::new(
                ProblemCode::NothingToExchange,
                "The order has these seats already. Nothing was changed; choose others.",
            ),
            OrderRefusal::Exchange(refused) => exchange_problem(refused),
            OrderRefusal::Ledger(error) => error.into(),
        }
    }
}

fn names_problem(fault: &NamesFault) -> Problem {
    match fault {
        NamesFault::BuyerName => Problem::invalid_field(
            "buyer.name",
            "buyer.name: a name has 1 to 200 printable characters. Your seats are still held.",
        ),
        NamesFault::BuyerEmail => Problem::invalid_field(
            "buyer.email",
            "buyer.email: this is not an e-mail address such as ana@example.org, with one @ and without blanks or brackets. Your seats are still held.",
        ),
        NamesFault::NotWanted => Problem::invalid_field(
            "travellers",
            "travellers: this show wants no names; leave them out. Your seats are still held.",
        ),
        NamesFault::NotOneEach { seats, name_count } => Problem::invalid_field(
            "travellers",
            format!(
                "travellers: give one name for each seat, in the order of the hold's seats. The hold has {}, but {} sent. Your seats are still held.",
                counted(*seats, "seat", "seats"),
                counted(*name_count, "name was", "names were")
            ),
        ),
        NamesFault::TravellerName(at) => {
            let field = format!("travellers[{at}].name");
            let detail = format!(
                "{field}: a name has 1 to {NAME_CHARS_MAX} printable characters. Your seats are still held."
            );
            Problem::invalid_field(&field, detail)
        }
    }
}

fn card_limit(limit: Option<u32>) -> Problem {
    let rule = match limit {
        Some(limit) => {
            let seats = counted(limit, "seat", "seats");
            format!("A card may buy {seats} of this show")
        }
        None => "This show limits how many seats a card may buy".to_owned(),
    };
    Problem::new(
        ProblemCode::LimitExceeded,
        format!(
            "{rule}, and the card that paid for these seats would have more. Nothing was changed."
        ),
    )
    .with_title("Too many seats for one card")
    .with_member("limit", limit)
}

fn not_configured() -> Problem {
    Problem::new(
        ProblemCode::PaymentsNotConfigured,
        "This installation has no payment provider, so no order was made. Your seats are still held. The organiser sets FAIRGATE_PAYMENTS.",
    )
    .retry_after(NOT_CONFIGURED_RETRY_S)
}

fn provider_unreachable(order: &OrderId, pay_until_ms: i64) -> Problem {
    Problem::new(
        ProblemCode::PaymentProviderUnreachable,
        format!(
            "The payment provider does not take payments just now, so nothing was charged. Your order is there and its seats are kept until {}. Send the same call again.",
            rfc3339(pay_until_ms)
        ),
    )
    .with_member("order", order)
    .retry_after(2)
}

fn sum_refused(sum: Money, why: PaymentSumError, limit: Money) -> Problem {
    let rule = match why {
        PaymentSumError::TooSmall => "takes no less than",
        PaymentSumError::TooLarge => "takes no more at once than",
        PaymentSumError::TooFine => "takes only multiples of",
    };
    let detail = format!(
        "{sum} would have to be paid, and the payment provider {rule} {limit}. No order was made, and your seats are as they were. {}",
        advice(why)
    );
    let (code, member) = code_and_member(why);
    Problem::new(code, detail)
        .with_member("total", MoneyView(sum))
        .with_member(member, MoneyView(limit))
}

/// Returns the problem's code, and the name of the member that states the limit.
fn code_and_member(why: PaymentSumError) -> (ProblemCode, &'static str) {
    match why {
        PaymentSumError::TooSmall => (ProblemCode::AmountTooSmall, "minimum"),
        PaymentSumError::TooLarge => (ProblemCode::AmountTooLarge, "maximum"),
        PaymentSumError::TooFine => (ProblemCode::AmountTooFine, "step"),
    }
}

fn advice(why: PaymentSumError) -> &'static str {
    match why {
        PaymentSumError::TooSmall => "Add seats, or tell the promoter.",
        PaymentSumError::TooLarge => "Give some of the seats back and buy them in another order.",
        PaymentSumError::TooFine => "Tell the promoter.",
    }
}

fn payment_refused(order: &OrderId, sum: Money, why: Option<PaymentSumError>) -> Problem {
    let (code, advice) = match why {
        Some(why) => (code_and_member(why).0, advice(why)),
        None => (
            ProblemCode::PaymentRefused,
            "Tell the promoter, or choose other seats.",
        ),
    };
    let detail = format!(
        "The payment provider does not take this payment of {sum}. Nothing was charged; the order was ended and its seats went back to everybody. {advice}"
    );
    Problem::new(code, detail)
        .with_member("order", order)
        .with_member("total", MoneyView(sum))
}

/// Builds 409 `exchange_open`: the order cannot be refunded or exchanged again until its open
/// exchange is paid or cancelled.
#[must_use]
pub fn exchange_open(successor: &OrderId) -> Problem {
    let detail = format!(
        "An exchange of this order waits for its payment, as {successor}. Nothing was changed: pay that one, or cancel it, before anything else."
    );
    Problem::new(ProblemCode::ExchangeOpen, detail).with_member("order", successor)
}

/// Builds 409 `exchange_open` for a new order whose exchange is not done yet.
#[must_use]
pub fn exchange_unfinished() -> Problem {
    Problem::new(
        ProblemCode::ExchangeOpen,
        "The exchange that made this order is paid and about to be done. Nothing was changed: send the same call again in a few seconds.",
    )
    .retry_after(2)
}

/// Builds 409 `payment_disputed`: until a dispute about the payment is settled, the order can
/// neither be refunded nor exchanged.
#[must_use]
pub fn disputed_payment() -> Problem {
    Problem::new(
        ProblemCode::PaymentDisputed,
        "The payment of this order was disputed at the buyer's bank, and that is not settled yet. Nothing was changed. Wait until it is, or ask the organiser.",
    )
}

fn exchange_problem(refused: ExchangeRefused) -> Problem {
    match refused {
        ExchangeRefused::State(state) => {
            let detail = format!(
                "The order is {}; only a paid order's seats can be given for others. Nothing was changed.",
                state.as_str()
            );
            Problem::new(ProblemCode::NotExchangeable, detail).with_member("state", state)
        }
        ExchangeRefused::Rule(ExchangeRuleError::NotOffered) => {
            let detail = "This show offers no exchange. Nothing was changed; the tickets are good.";
            Problem::new(ProblemCode::NotExchangeable, detail).with_member("reason", "no_exchange")
        }
        ExchangeRefused::Rule(ExchangeRuleError::Over { until_ms }) => {
            let until = rfc3339(until_ms);
            let detail = format!(
                "These seats could be exchanged until {until}. Nothing was changed; the tickets are as they were."
            );
            Problem::new(ProblemCode::NotExchangeable, detail)
                .with_member("reason", "too_late")
                .with_member("until", until)
        }
        ExchangeRefused::Scanned(seats) => Problem::new(
            ProblemCode::TicketScanned,
            format!(
                "The tickets for {} were scanned at a door, so this order cannot be exchanged. Nothing was changed. Order other seats if you need them.",
                seats.join(", ")
            ),
        )
        .with_member("seats", seats),
        ExchangeRefused::Open(successor) => exchange_open(&successor),
        ExchangeRefused::Disputed => disputed_payment(),
        ExchangeRefused::Changed => Problem::new(
            ProblemCode::NotExchangeable,
            "The order changed while you were choosing. Nothing was exchanged. Read the order and choose anew.",
        )
        .with_title("The order has changed"),
        // A refused claim is already turned into another refusal by `OrderDesk::exchange`, which
        // knows the seats.
        ExchangeRefused::Claim(refused) => Problem::new(ProblemCode::NotExchangeable, refused.to_string()),
        ExchangeRefused::Ledger(error) => error.into(),
    }
}
