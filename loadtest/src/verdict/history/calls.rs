//! Reads the calls that visitors made and the answers they got.

use anyhow::{Context, bail};
use serde::Deserialize;

/// One call and its answer, if one came.
pub struct HistoryCall {
    /// The line of the history file.
    pub line: u32,
    /// The number of the visitor who called.
    pub visitor: u64,
    /// When the call was sent.
    pub sent_ms: f64,
    /// When the answer came, or the visitor gave up.
    pub done_ms: f64,
    /// What is known of the call's effect.
    pub outcome: HistoryCallOutcome,
    /// The `Idempotency-Key` of the call.
    pub key: Option<Box<str>>,
    /// A digest of the request's address and body, if the history has one.
    pub body: Option<Box<str>>,
    /// The operation that was asked for.
    pub op: HistoryOperation,
}

/// What is known of a call's effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryCallOutcome {
    /// The call was carried out.
    Done,
    /// The call was refused, and nothing was changed.
    Refused,
    /// There is no answer, or the answer leaves open what was done.
    Unknown,
}

/// The operation of a call. The fields that come from the answer are set if the outcome is
/// [`HistoryCallOutcome::Done`].
pub enum HistoryOperation {
    /// `POST …/places`.
    Join {
        number: Option<u64>,
        holder: Option<Box<str>>,
    },
    /// `GET …/place`.
    Place {
        number: Option<u64>,
        rank: Option<u64>,
        /// The people ahead; `None` before the draw.
        ahead: Option<u64>,
        /// Whether the answer said that the visitor's turn has come.
        called: bool,
    },
    /// `DELETE …/place`.
    Leave,
    /// `POST …/pass`.
    Claim {
        exp_ms: f64,
        rank: Option<u64>,
        /// Whether the answer said that the visitor must wait.
        put_off: bool,
    },
    /// A call whose operation no invariant needs, such as a read of seats, `stop_waiting` or
    /// `consent`.
    Read,
    /// `POST …/holds`.
    Hold(Box<HoldCall>),
    /// `PATCH /v1/holds/{hold}`.
    Change(Box<ChangeCall>),
    /// `DELETE /v1/holds/{hold}`.
    Drop { hold: Box<str> },
    /// `POST …/order`.
    Order(Box<OrderCall>),
    /// A payment, by the sandbox's button or by a card.
    Pay(Box<PayCall>),
    /// `GET /v1/orders/{order}`.
    OrderRead(Box<OrderRead>),
    /// `POST …/order` of a hold that is not the visitor's own.
    ForeignOrder { hold: Box<str> },
    /// `POST …/scan`.
    Scan { ticket: Box<str> },
    /// `POST …/waitlist`, or a read of a party's state on the waitlist.
    Wait(Box<WaitCall>),
    /// `POST …/cancel`.
    Cancel { order: Box<str> },
    /// `POST …/refund`.
    Refund(Box<RefundCall>),
    /// `POST …/exchange`.
    Exchange(Box<ExchangeCall>),
}

/// A call for a hold.
pub struct HoldCall {
    pub show: Box<str>,
    pub wanted: Option<Vec<Box<str>>>,
    pub quantity: Option<u64>,
    /// The id of the hold; empty without an answer.
    pub hold: Box<str>,
    pub seats: Vec<Box<str>>,
    /// The legs of a train; all legs if this is absent.
    pub legs: Option<Vec<u16>>,
    pub expires_ms: f64,
}

/// A call that changes a hold.
pub struct ChangeCall {
    pub hold: Box<str>,
    pub add: Vec<Box<str>>,
    pub remove: Vec<Box<str>>,
    pub seats: Vec<Box<str>>,
}

/// A call for an order.
pub struct OrderCall {
    pub hold: Box<str>,
    /// The id of the order; empty without an answer.
    pub order: Box<str>,
    pub amount: i64,
    pub currency: Option<Box<str>>,
    pub state: Option<Box<str>>,
}

/// A payment, by the sandbox's button or by a card.
pub struct PayCall {
    pub order: Box<str>,
    pub approve: bool,
    /// The card that paid, by its name in the run.
    pub card: Option<Box<str>>,
}

/// A call with which a party joins a waitlist or reads its state there.
pub struct WaitCall {
    pub show: Box<str>,
    /// The id of the party; empty if there is no answer or the party does not wait.
    pub waiter: Box<str>,
}

/// An order as it was read.
pub struct OrderRead {
    pub order: Box<str>,
    /// The state of the order; empty without an answer.
    pub state: Box<str>,
    pub tickets: Vec<Box<str>>,
    pub seats: Option<Vec<Box<str>>>,
    pub total: Option<i64>,
}

/// A call that refunds tickets.
pub struct RefundCall {
    pub order: Box<str>,
    /// The tickets that the buyer named; `None` for all tickets of the order.
    pub named: Option<Vec<Box<str>>>,
}

/// A call that exchanges tickets.
pub struct ExchangeCall {
    /// The order whose tickets are exchanged.
    pub order: Box<str>,
    pub wanted: Option<Vec<Box<str>>>,
    /// The legs of a train; all legs if this is absent.
    pub legs: Option<Vec<u16>>,
    /// The order for the new seats; empty without an answer.
    pub successor: Box<str>,
    /// The amount to pay for the exchange, as the answer says.
    pub amount: i64,
}

#[derive(Deserialize)]
struct RawHistoryCall {
    visitor: u64,
    op: String,
    sent_ms: f64,
    done_ms: Option<f64>,
    status: Option<u16>,
    code: Option<Box<str>>,
    key: Option<Box<str>>,
    number: Option<u64>,
    holder: Option<Box<str>>,
    rank: Option<u64>,
    ahead: Option<u64>,
    exp_ms: Option<f64>,
    show: Option<Box<str>>,
    wanted: Option<Vec<Box<str>>>,
    quantity: Option<u64>,
    hold: Option<Box<str>>,
    seats: Option<Vec<Box<str>>>,
    legs: Option<Vec<u16>>,
    expires_ms: Option<f64>,
    #[serde(default)]
    add: Option<Vec<Box<str>>>,
    #[serde(default)]
    remove: Option<Vec<Box<str>>>,
    order: Option<Box<str>>,
    payment: Option<Box<str>>,
    amount: Option<i64>,
    currency: Option<Box<str>>,
    state: Option<Box<str>>,
    outcome: Option<Box<str>>,
    tickets: Option<Vec<Box<str>>>,
    named: Option<Vec<Box<str>>>,
    successor: Option<Box<str>>,
    total: Option<i64>,
    ticket: Option<Box<str>>,
    card: Option<Box<str>>,
    body: Option<Box<str>>,
    waiter: Option<Box<str>>,
}

/// The fields that the judge needs of a call that names wishes or reads seats, a show, a room or a
/// draw. The seats are left out, because the history may not have them as labels.
#[derive(Deserialize)]
struct RawSeatsRead {
    visitor: u64,
    sent_ms: f64,
    done_ms: Option<f64>,
    status: Option<u16>,
}

#[derive(Deserialize)]
struct CallOperationName {
    op: String,
}

impl HistoryCall {
    /// Returns whether the call was carried out.
    pub fn done(&self) -> bool {
        self.outcome == HistoryCallOutcome::Done
    }

    /// Returns whether the call was carried out, or nobody knows whether it was.
    pub fn may_be_done(&self) -> bool {
        self.outcome != HistoryCallOutcome::Refused
    }
}

fn outcome_of(status: Option<u16>) -> HistoryCallOutcome {
    match status {
        Some(200..300) => HistoryCallOutcome::Done,
        // The server may have failed after it had carried out the call.
        None | Some(500..) => HistoryCallOutcome::Unknown,
        Some(_) => HistoryCallOutcome::Refused,
    }
}

/// Reads one call.
pub(super) fn read(line: u32, text: &str) -> anyhow::Result<HistoryCall> {
    let op: CallOperationName = serde_json::from_str(text)?;
    if matches!(
        op.op.as_str(),
        "seats" | "show" | "seatmap" | "room" | "wish" | "draw"
    ) {
        let raw: RawSeatsRead = serde_json::from_str(text)?;
        return Ok(HistoryCall {
            line,
            visitor: raw.visitor,
            sent_ms: raw.sent_ms,
            done_ms: raw.done_ms.unwrap_or(raw.sent_ms),
            outcome: outcome_of(raw.status),
            key: None,
            body: None,
            op: HistoryOperation::Read,
        });
    }
    let raw: RawHistoryCall = serde_json::from_str(text)?;
    let outcome = outcome_of(raw.status);
    Ok(HistoryCall {
        line,
        visitor: raw.visitor,
        sent_ms: raw.sent_ms,
        done_ms: raw.done_ms.unwrap_or(raw.sent_ms),
        outcome,
        key: raw.key.clone(),
        body: raw.body.clone(),
        op: op_of(raw, outcome == HistoryCallOutcome::Done)?,
    })
}

/// Returns the operation of a call, with the fields of its answer.
fn op_of(raw: RawHistoryCall, is_done: bool) -> anyhow::Result<HistoryOperation> {
    match raw.op.as_str() {
        "join" | "place" | "leave" | "claim" => line_op(raw, is_done),
        "hold" | "change" | "drop" | "wait" | "stop_waiting" => seat_op(raw, is_done),
        "order" | "pay" | "order_read" | "cancel" | "foreign_order" | "consent" => {
            order_op(raw, is_done)
        }
        "ticket" | "scan" | "refund" | "exchange" => ticket_op(raw, is_done),
        other => bail!("no call is named {other:?}"),
    }
}

/// Returns a field that every call of a kind must have.
fn required_field<T>(field: &str, value: Option<T>) -> anyhow::Result<T> {
    value.with_context(|| format!("such a call needs \"{field}\""))
}

/// Returns a field that the answer must have if the call was carried out.
fn answered_field<T: Default>(is_done: bool, field: &str, value: Option<T>) -> anyhow::Result<T> {
    match value {
        None if is_done => bail!("an answered call of this kind needs \"{field}\""),
        value => Ok(value.unwrap_or_default()),
    }
}

/// Reads a call about the visitor's place in the line or its pass.
fn line_op(raw: RawHistoryCall, is_done: bool) -> anyhow::Result<HistoryOperation> {
    Ok(match raw.op.as_str() {
        "join" => {
            answered_field(is_done, "number", raw.number)?;
            HistoryOperation::Join {
                number: raw.number,
                holder: raw.holder,
            }
        }
        "place" => HistoryOperation::Place {
            number: raw.number,
            rank: raw.rank,
            ahead: raw.ahead,
            called: raw.state.as_deref() == Some("called"),
        },
        "leave" => HistoryOperation::Leave,
        "claim" => HistoryOperation::Claim {
            exp_ms: answered_field(is_done, "exp_ms", raw.exp_ms)?,
            rank: raw.rank,
            put_off: raw.code.as_deref() == Some("not_called"),
        },
        other => bail!("no call is named {other:?}"),
    })
}

/// Reads a call about a hold or the waitlist.
fn seat_op(raw: RawHistoryCall, is_done: bool) -> anyhow::Result<HistoryOperation> {
    Ok(match raw.op.as_str() {
        "hold" => HistoryOperation::Hold(Box::new(HoldCall {
            show: required_field("show", raw.show)?,
            wanted: raw.wanted,
            quantity: raw.quantity,
            hold: answered_field(is_done, "hold", raw.hold)?,
            seats: answered_field(is_done, "seats", raw.seats)?,
            legs: raw.legs,
            expires_ms: answered_field(is_done, "expires_ms", raw.expires_ms)?,
        })),
        "change" => HistoryOperation::Change(Box::new(ChangeCall {
            hold: required_field("hold", raw.hold)?,
            add: raw.add.unwrap_or_default(),
            remove: raw.remove.unwrap_or_default(),
            seats: answered_field(is_done, "seats", raw.seats)?,
        })),
        "drop" => HistoryOperation::Drop {
            hold: required_field("hold", raw.hold)?,
        },
        "wait" => HistoryOperation::Wait(Box::new(WaitCall {
            show: required_field("show", raw.show)?,
            waiter: raw.waiter.unwrap_or_default(),
        })),
        "stop_waiting" => {
            required_field("show", raw.show)?;
            HistoryOperation::Read
        }
        other => bail!("no call is named {other:?}"),
    })
}

/// Reads a call about an order, but not about its tickets.
fn order_op(raw: RawHistoryCall, is_done: bool) -> anyhow::Result<HistoryOperation> {
    Ok(match raw.op.as_str() {
        "order" => HistoryOperation::Order(Box::new(OrderCall {
            hold: required_field("hold", raw.hold)?,
            order: answered_field(is_done, "order", raw.order)?,
            amount: answered_field(is_done, "amount", raw.amount)?,
            currency: raw.currency,
            state: raw.state,
        })),
        "pay" => {
            required_field("payment", raw.payment)?;
            HistoryOperation::Pay(Box::new(PayCall {
                order: required_field("order", raw.order)?,
                approve: match required_field("outcome", raw.outcome)?.as_ref() {
                    "approve" => true,
                    "decline" => false,
                    other => bail!("no payment ends with {other:?}"),
                },
                card: raw.card,
            }))
        }
        "order_read" => HistoryOperation::OrderRead(Box::new(OrderRead {
            order: required_field("order", raw.order)?,
            state: answered_field(is_done, "state", raw.state)?,
            tickets: raw.tickets.unwrap_or_default(),
            seats: raw.seats,
            total: raw.total,
        })),
        "cancel" => HistoryOperation::Cancel {
            order: required_field("order", raw.order)?,
        },
        "foreign_order" => HistoryOperation::ForeignOrder {
            hold: required_field("hold", raw.hold)?,
        },
        "consent" => {
            required_field("order", raw.order)?;
            HistoryOperation::Read
        }
        other => bail!("no call is named {other:?}"),
    })
}

/// Reads a call about tickets: a read, a scan, a refund or an exchange.
fn ticket_op(raw: RawHistoryCall, is_done: bool) -> anyhow::Result<HistoryOperation> {
    Ok(match raw.op.as_str() {
        "ticket" => {
            answered_field(is_done, "ticket", raw.ticket)?;
            HistoryOperation::Read
        }
        "scan" => HistoryOperation::Scan {
            ticket: required_field("ticket", raw.ticket)?,
        },
        "refund" => HistoryOperation::Refund(Box::new(RefundCall {
            order: required_field("order", raw.order)?,
            named: raw.named,
        })),
        "exchange" => HistoryOperation::Exchange(Box::new(ExchangeCall {
            order: required_field("order", raw.order)?,
            wanted: raw.wanted,
            legs: raw.legs,
            successor: answered_field(is_done, "successor", raw.successor)?,
            amount: answered_field(is_done, "amount", raw.amount)?,
        })),
        other => bail!("no call is named {other:?}"),
    })
}
