//! The dump: the contents of the ledger and the payments, one record per line. It is for a judge,
//! which is a separate program that checks whether all sales were right. This module defines the
//! records. `ledger/sql/dump` reads them, `lines` writes them as JSON, `commands/dump` puts them
//! into a file, and `http/dump` sends them.

pub mod lines;
pub mod sold;
pub mod terms;
pub mod waiting;

use std::collections::HashMap;

use fairgate_databases::LedgerError;
use fairgate_model::grid::CellGrid;
use fairgate_model::holds::{HeldSeat, cells_of};
use fairgate_model::ids::{OrderId, ShowId};
use fairgate_model::orders::exchange::carried::CarriedMoney;
use fairgate_model::orders::exchange::{parts, total_price};
use fairgate_model::orders::refund::Refund;
use fairgate_model::orders::{Order, OrderItem};
use fairgate_model::payments::returns::DisputeState;
use fairgate_model::payments::{Payment, PaymentState};
use fairgate_model::plans::seatmap::SeatMap;
use fairgate_model::runs::stored::run_of;
use fairgate_model::shows::document::ShowDocument;
use fairgate_model::stored_forms::items_of;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use sold::{FateRecord, SeatSaleRecord};
use terms::TermsRecord;
use waiting::WaiterRecord;

/// The version of this format. Additions do not change it.
pub const VERSION: u32 = 1;

/// One line of a dump. Times are in milliseconds since the epoch. Amounts are in minor units.
/// Holders are in hex.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DumpRecord {
    /// The first line.
    Dump {
        /// [`VERSION`].
        version: u32,
        /// When the ledger was read.
        at_ms: i64,
    },
    /// A show, with the rules that a judge needs.
    Show(ShowRecord),
    /// A version of a show's terms.
    Terms(TermsRecord),
    /// An order with its history.
    Order(Box<OrderDumpRecord>),
    /// A cell that belongs to an order.
    Claim {
        /// The show.
        show: String,
        /// `leg × seats + seat`.
        cell: u32,
        /// The seat's index in the plan.
        seat: u32,
        /// The leg.
        leg: u16,
        /// The order that it belongs to.
        order: String,
    },
    /// A payment, as the ledger and the provider know it.
    Payment(PaymentRecord),
    /// A ticket.
    Ticket {
        /// The ticket's id.
        ticket: String,
        /// The order's id.
        order: String,
        /// The show.
        show: String,
        /// The seat's label.
        label: String,
        /// The legs that it is valid for.
        legs: Vec<u16>,
        /// When it was issued.
        issued_ms: i64,
        /// When the ticket became void. Null while it is valid.
        void_ms: Option<i64>,
        /// When the ticket was scanned at the door. Null before that.
        scanned_ms: Option<i64>,
        /// Since when the ticket is blocked, because its payment is disputed. Null if it is not.
        blocked_ms: Option<i64>,
    },
    /// A refund to the buyer, for tickets that were given back or for an exchange to cheaper seats.
    Refund {
        /// The refund's id.
        refund: String,
        /// The order's id.
        order: String,
        /// The cells of the tickets that were given back. Empty for an exchange.
        cells: Vec<u32>,
        /// The labels of their seats.
        labels: Vec<String>,
        /// The price of these seats, in minor units.
        paid: i64,
        /// How much of this order's payment is refunded, in minor units.
        amount: i64,
        /// The fee that is not refunded, in minor units.
        fee: i64,
        /// The reason: `refund_by_buyer`, `show_cancelled`, `show_postponed`, `train_retimed`,
        /// `exchange_difference`, `refunded_at_provider`, `dispute_lost`.
        reason: String,
        /// When the refund was decided.
        at_ms: i64,
        /// When the whole amount had been refunded. Null while a part of it is not.
        done_ms: Option<i64>,
        /// The refund of a later order, if this refund is a part of that refund. This happens if
        /// the later order got its seats from this order by an exchange.
        part_of: Option<String>,
        /// The sum that does not go back with this refund, because money of the order went back at
        /// the provider before, in minor units.
        covered: i64,
        /// Whether the money went back at the provider without a call of ours.
        at_provider: bool,
    },
    /// An exchange of one order's seats for those of a new order.
    Exchange {
        /// The order that was made for the new seats.
        successor: String,
        /// The order whose seats are given up.
        order: String,
        /// The seats that are given up.
        given: SeatsRecord,
        /// What the given seats had cost, in minor units.
        credit: i64,
        /// What the new seats cost, in minor units.
        price: i64,
        /// The new seats with the money that is carried over to each, in the order in which it is
        /// spread over them.
        items: Vec<ItemRecord>,
        /// The new cells that the old order did not have.
        gained: SeatsRecord,
        /// The fee of the exchange itself, in minor units.
        fee: i64,
        /// The sum that is refunded to the buyer, in minor units. Null for old exchanges, which did
        /// not record it.
        back: Option<i64>,
        /// When the exchange was begun.
        at_ms: i64,
        /// When the seats were exchanged. Null if they were not exchanged, or not yet.
        done_ms: Option<i64>,
    },
    /// Money that somebody has to look at, or has settled.
    MoneyFinding {
        /// The provider's id of the refund, of the dispute or of the payment.
        finding: String,
        /// `refunded_in_part` or `unknown_money`.
        what: String,
        /// The order whose seats the money pays for. Null if there is none.
        order: Option<String>,
        /// The sum, in minor units.
        amount: i64,
        /// When it was settled. Null before that.
        settled_ms: Option<i64>,
    },
    /// A party on a waitlist.
    Waiter(WaiterRecord),
    /// A call to the provider that has to be made or was made.
    Effect {
        /// The order it belongs to.
        order: String,
        /// `capture`, `void` or `refund`.
        what: String,
        /// When the next attempt is due.
        due_ms: i64,
        /// When the call was done. Null before that.
        done_ms: Option<i64>,
    },
    /// The last line: what was not finished when the ledger was read.
    Pending {
        /// Seat rows that were not delivered to the store yet. Null for a ledger file, because only
        /// the process with the in-process store knows them.
        seat_rows: Option<u64>,
        /// Effects and refunds that are not done.
        effects: u64,
        /// Provider events that are not settled.
        events: u64,
    },
}

/// A show, with its plan and the rules of its sale.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShowRecord {
    /// The slug.
    pub show: String,
    /// How many seats the pinned plan has.
    pub seats: u32,
    /// How many legs the show has. 1 for a show without stops.
    pub legs: u16,
    /// ISO 4217.
    pub currency: String,
    /// Prices in minor units, by category key or label, as the promoter wrote them.
    pub prices: std::collections::BTreeMap<String, i64>,
    /// How many seconds a hold lasts.
    pub hold_s: u32,
    /// How many seconds the lock outlives the hold.
    pub grace_s: u32,
    /// How many seconds the claim outlives the time to pay.
    pub claim_grace_s: u32,
    /// The fewest seconds that a buyer has to pay an order.
    pub pay_s: u32,
    /// How many seats one visitor may have.
    pub seats_per_visitor: u32,
    /// The newest version of its terms.
    pub terms: u32,
    /// How many seats one card may buy. Null if there is no limit.
    pub seats_per_card: Option<u32>,
    /// The labels of the plan's seats, by seat index.
    pub labels: Vec<String>,
    /// The categories and fares of its seats.
    #[serde(flatten)]
    pub sold_as: SeatSaleRecord,
    /// How the show was cancelled or postponed. Null if it was not.
    pub fate: Option<FateRecord>,
}

/// One seat of an order with its price.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ItemRecord {
    /// The seat's index in the plan.
    pub seat: u32,
    /// The index of the first leg.
    pub from: u16,
    /// The index after the last leg.
    pub to: u16,
    /// The price in minor units.
    pub amount: i64,
    /// The label of its category.
    pub category: String,
    /// The part of the price that was carried over from an exchanged order, and how much of it a
    /// refund may return. Absent if nothing was carried over.
    #[serde(skip_serializing_if = "CarriedMoney::is_none")]
    pub carried: CarriedMoney,
}

/// An order with its current state and its history.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OrderDumpRecord {
    /// The order's id.
    pub order: String,
    /// The show.
    pub show: String,
    /// The hold from which the order was made.
    pub hold: String,
    /// The visitor who ordered.
    pub visitor: String,
    /// The room whose pass was used.
    pub room: String,
    /// The state.
    pub state: String,
    /// The reason code of the change to this state.
    pub reason: String,
    /// The price in minor units.
    pub amount: i64,
    /// ISO 4217.
    pub currency: String,
    /// The version of the show's terms under which the order was made.
    pub terms: u32,
    /// The part of the seats' prices that was waived, in minor units, because the provider does not
    /// take so small a sum. Only exchanges waive a sum.
    pub let_go: i64,
    /// The seats with their prices, including seats that were given back.
    pub items: Vec<ItemRecord>,
    /// The cells that the order is or was for. The refunds name the cells that were given back.
    pub cells: Vec<u32>,
    /// The labels of its seats.
    pub labels: Vec<String>,
    /// The seats for which the order was made, if its late money bought other seats. Null
    /// otherwise.
    pub made_for: Option<SeatsRecord>,
    /// The seats that late money bought, or that were offered for it, even if the offer lapsed.
    /// Null if there are none.
    pub offered: Option<SeatsRecord>,
    /// When the order was made.
    pub created_ms: i64,
    /// The time until which the buyer is asked to pay.
    pub pay_until_ms: i64,
    /// The time until which a payment is accepted.
    pub claim_until_ms: i64,
    /// Its steps, in order.
    pub history: Vec<OrderStepRecord>,
}

/// Some seats, by cells and labels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeatsRecord {
    /// `leg × seats + seat`.
    pub cells: Vec<u32>,
    /// Their labels.
    pub labels: Vec<String>,
}

/// One step of an order's life.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OrderStepRecord {
    /// When the step was made.
    pub at_ms: i64,
    /// The state after the step.
    pub state: String,
    /// The reason for the step.
    pub reason: String,
}

/// A payment with its current state.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PaymentRecord {
    /// The payment's id.
    pub payment: String,
    /// The order's id.
    pub order: String,
    /// The provider's name.
    pub provider: String,
    /// The state in the ledger.
    pub state: String,
    /// The amount asked for, in minor units.
    pub amount: i64,
    /// ISO 4217.
    pub currency: String,
    /// The amount captured, in minor units.
    pub captured: i64,
    /// The amount refunded to the buyer, in minor units.
    pub refunded: i64,
    /// Where the disputes of the payment stand: `open`, `won` or `lost`. Null without a dispute.
    pub dispute: Option<&'static str>,
    /// When it last changed.
    pub updated_ms: i64,
    /// The state in the sandbox's own records. Null if the buyer never went to the sandbox, or if
    /// another provider took the payment.
    pub provider_state: Option<String>,
    /// The refunds in the sandbox's own records. Null if `provider_state` is null.
    pub provider_refunds: Option<Vec<SandboxRefundRecord>>,
    /// The cards that paid for this order, or for an earlier order whose seats were exchanged for
    /// this order's seats. Each is a hash of the card's fingerprint at the provider.
    pub cards: Vec<String>,
}

/// A refund in the sandbox's own records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxRefundRecord {
    /// The ledger's id of the refund.
    pub refund: String,
    /// The amount that was refunded, in minor units.
    pub amount: i64,
}

/// What is stored about a payment in addition to the payment itself.
#[derive(Debug, Default)]
pub struct ProviderPaymentData {
    /// The state in the sandbox's own records.
    pub state: Option<String>,
    /// The refunds in the sandbox's own records, as a JSON list.
    pub refunds: Option<String>,
    /// The provider's fingerprints of the order's cards, as a JSON list.
    pub cards: String,
}

fn corrupt(what: String) -> LedgerError {
    LedgerError::Corrupt(what)
}

impl ShowRecord {
    /// Makes the record from a stored document, its plan, and the run of a departure.
    ///
    /// # Errors
    /// Returns an error if one of them cannot be read, or if the plan is missing.
    pub fn read(
        show: &ShowId,
        document: &str,
        plan: Option<&str>,
        run: Option<&str>,
        (terms, fate): (u32, Option<FateRecord>),
    ) -> Result<(Self, CellGrid), LedgerError> {
        let unreadable = |error: serde_json::Error| corrupt(format!("show {show}: {error}"));
        let document: ShowDocument = serde_json::from_str(document).map_err(unreadable)?;
        let plan = plan.ok_or_else(|| corrupt(format!("show {show} lacks its plan")))?;
        let map: SeatMap = serde_json::from_str(plan).map_err(unreadable)?;
        let run = run.map(run_of).transpose();
        let run = run.map_err(|error| corrupt(error.to_string()))?;
        let grid = CellGrid {
            seats: map.cell_count(),
            legs: run.as_ref().map_or(1, |run| run.leg_count()),
        };
        let record = Self {
            show: show.to_string(),
            seats: grid.seats,
            legs: grid.legs,
            currency: document.currency.as_str().to_owned(),
            prices: document.prices,
            hold_s: document.hold_s,
            grace_s: document.grace_s,
            claim_grace_s: document.claim_grace_s,
            pay_s: document.pay_s,
            seats_per_visitor: document.seats_per_visitor,
            terms,
            seats_per_card: document.seats_per_card,
            sold_as: SeatSaleRecord::from_plan(&map, run.as_deref()),
            fate,
            labels: map.seats.iter().map(|seat| seat.label.clone()).collect(),
        };
        Ok((record, grid))
    }
}

impl ItemRecord {
    fn from_item(item: &OrderItem) -> Self {
        Self {
            seat: item.held.seat,
            from: item.held.legs.start,
            to: item.held.legs.end,
            amount: item.amount,
            category: item.category.clone(),
            carried: item.carried,
        }
    }
}

impl OrderDumpRecord {
    /// Makes the record from an order and its steps.
    #[must_use]
    pub fn from_order(
        order: &Order,
        grid: CellGrid,
        history: Vec<OrderStepRecord>,
        late: Option<&LateMoneySeats>,
        given_back: Vec<OrderItem>,
    ) -> Self {
        let seats = |items: &[OrderItem]| seats_of(items, grid);
        let mut items = order.items.clone();
        items.extend(given_back);
        let by_seat = |items: &[OrderItem]| {
            let mut seats: Vec<u32> = items.iter().map(|item| item.held.seat).collect();
            seats.sort_unstable();
            seats
        };
        let made_for = late.map(|late| late.made_for.as_slice());
        let others = made_for.filter(|made_for| by_seat(made_for) != by_seat(&items));
        let all = seats(&items);
        Self {
            made_for: others.map(seats),
            offered: late.map(|late| seats(&late.given)),
            order: order.id.to_string(),
            show: order.show.to_string(),
            hold: order.hold.to_string(),
            visitor: order.visitor.to_string(),
            room: order.room.clone(),
            state: order.state.as_str().to_owned(),
            reason: order.reason.clone(),
            amount: order.total,
            currency: order.currency.as_str().to_owned(),
            terms: order.terms,
            let_go: order.waived,
            items: items.iter().map(ItemRecord::from_item).collect(),
            cells: all.cells,
            labels: all.labels,
            created_ms: order.created_at_ms,
            pay_until_ms: order.pay_until_ms,
            claim_until_ms: order.claim_until_ms,
            history,
        }
    }
}

fn seats_of(items: &[OrderItem], grid: CellGrid) -> SeatsRecord {
    let held: Vec<HeldSeat> = items.iter().map(|item| item.held.clone()).collect();
    SeatsRecord {
        cells: cells_of(&held, grid),
        labels: items.iter().map(|item| item.label.clone()).collect(),
    }
}

impl DumpRecord {
    /// Makes the record of a refund. `grid` is the shape of the order's show.
    #[must_use]
    pub fn of_refund(order: &OrderId, refund: &Refund, grid: CellGrid) -> Self {
        let SeatsRecord { cells, labels } = seats_of(&refund.items, grid);
        Self::Refund {
            refund: refund.id.to_string(),
            order: order.to_string(),
            cells,
            labels,
            paid: refund.items.iter().map(|item| item.amount).sum(),
            amount: refund.amount,
            fee: refund.fee,
            reason: refund.reason.as_str().to_owned(),
            at_ms: refund.made_at_ms,
            done_ms: refund.done_at_ms,
            part_of: refund.part_of.as_ref().map(ToString::to_string),
            covered: refund.covered,
            at_provider: refund.at_provider,
        }
    }

    /// Makes the record of a stored exchange. The pairs are: the successor and the old order, the
    /// new seats and the seats given up, the fee and the refunded sum, and when the exchange was
    /// begun and done.
    ///
    /// # Errors
    /// Returns an error if one of the shows is unknown.
    pub fn of_exchange(
        (successor, order): (&OrderId, &OrderId),
        (items, given): (&[OrderItem], &[OrderItem]),
        (fee, back): (i64, Option<i64>),
        (at_ms, done_ms): (i64, Option<i64>),
        grids: &ShowGrids,
    ) -> Result<Self, LedgerError> {
        let is_same_show = successor.show() == order.show();
        let given_of_same_show = if is_same_show { given } else { &[] };
        let gained = parts(given_of_same_show, items).gained;
        Ok(Self::Exchange {
            given: seats_of(given, grids.show_grid(&order.show())?),
            gained: seats_of(&gained, grids.show_grid(&successor.show())?),
            credit: total_price(given),
            price: total_price(items),
            items: items.iter().map(ItemRecord::from_item).collect(),
            successor: successor.to_string(),
            order: order.to_string(),
            fee,
            back,
            at_ms,
            done_ms,
        })
    }
}

impl PaymentRecord {
    /// Makes the record of a payment. `updated_ms` is when the payment last changed. `provider` has
    /// the additional data.
    ///
    /// # Errors
    /// Returns an error if the cards or the sandbox's records cannot be read.
    pub fn from_payment(
        payment: Payment,
        updated_ms: i64,
        provider: ProviderPaymentData,
    ) -> Result<Self, LedgerError> {
        let unreadable = |error: serde_json::Error| corrupt(format!("sandbox refunds: {error}"));
        let refunds = provider.refunds.as_deref().map(serde_json::from_str);
        let cards: Vec<String> = serde_json::from_str(&provider.cards)
            .map_err(|error| corrupt(format!("an order's cards: {error}")))?;
        let hash = |card: &String| hex::encode(&Sha256::digest(card)[..8]);
        Ok(Self {
            payment: payment.id.to_string(),
            order: payment.order.to_string(),
            provider: payment.provider,
            state: payment.state.as_str().to_owned(),
            amount: payment.amount.amount,
            currency: payment.amount.currency.as_str().to_owned(),
            // A payment is always captured in full.
            captured: match payment.state {
                PaymentState::Captured | PaymentState::Refunded => payment.amount.amount,
                _ => 0,
            },
            refunded: payment.refunded,
            dispute: payment.dispute.map(DisputeState::as_str),
            updated_ms,
            provider_state: provider.state,
            provider_refunds: refunds.transpose().map_err(unreadable)?,
            cards: cards.iter().map(hash).collect(),
        })
    }
}

/// Seats of an order whose money came late.
#[derive(Debug)]
pub struct LateMoneySeats {
    /// The seats for which the order was made.
    pub made_for: Vec<OrderItem>,
    /// The seats that the money bought, or that were offered for it.
    pub given: Vec<OrderItem>,
}

impl LateMoneySeats {
    /// Reads both lists from their stored form. Returns `None` if the money bought nothing and
    /// nothing was offered.
    ///
    /// # Errors
    /// Returns an error if a list cannot be read.
    pub fn read(
        made_for: Option<String>,
        given: Option<String>,
    ) -> Result<Option<Self>, LedgerError> {
        let (Some(made_for), Some(given)) = (made_for, given) else {
            return Ok(None);
        };
        let items = |text: &str| items_of(text).map_err(|error| corrupt(error.to_string()));
        Ok(Some(Self {
            made_for: items(&made_for)?,
            given: items(&given)?,
        }))
    }
}

/// The grids of all shows. They are needed to compute the cells of seats.
#[derive(Debug, Default)]
pub struct ShowGrids(HashMap<ShowId, CellGrid>);

impl ShowGrids {
    /// Adds a show's grid.
    pub fn add(&mut self, show: ShowId, grid: CellGrid) {
        self.0.insert(show, grid);
    }

    /// Returns the grid of a show.
    ///
    /// # Errors
    /// Returns an error if the show is unknown.
    pub fn show_grid(&self, show: &ShowId) -> Result<CellGrid, LedgerError> {
        let grid = self.0.get(show).copied();
        grid.ok_or_else(|| corrupt(format!("an order for show {show}, which is not there")))
    }
}
