//! The views of an order over HTTP: the order, its payment, the exchange and refund that its owner
//! may make now, and the exchange and refunds that were made.

use fairgate_base::clock::rfc3339;
use fairgate_model::ids::{OrderId, PaymentId, RefundId, TicketId};
use fairgate_model::money::Currency;
use fairgate_model::orders::exchange::{check_exchangeable, deal};
use fairgate_model::orders::refund::rules::{RefundRuleInForce, in_force};
use fairgate_model::orders::refund::{
    MoneyOfOrder, Refund, RefundInput, RefundState, TicketSelection, plan_refund,
};
use fairgate_model::orders::terms::OrderTerms;
use fairgate_model::orders::{Order, OrderHistoryEntry, OrderItem, OrderState, Ticket};
use fairgate_model::payments::PaymentState;
use serde::Serialize;

use super::holds::MoneyView;
use super::venue_views::VenueLocationView;
use crate::rail::journey::JourneySummary;

/// What the payment page needs.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct PaymentView {
    #[schema(value_type = String)]
    pub(super) payment: PaymentId,
    pub(super) provider: String,
    pub(super) amount: MoneyView,
    pub(super) state: PaymentState,
    /// The provider's data with which the page can pay.
    pub(super) client: serde_json::Value,
}

/// An order as its owner sees it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct OrderView {
    #[schema(value_type = String)]
    pub(super) order: OrderId,
    #[schema(value_type = String)]
    pub(super) show: fairgate_model::ids::ShowId,
    /// The room of the pass with which the order was made.
    pub(super) room: String,
    /// The show's title and beginning, as the catalogue has them now.
    pub(super) title: Option<String>,
    pub(super) starts_at: Option<String>,
    #[serde(flatten)]
    pub(super) place: VenueLocationView,
    pub(super) state: OrderState,
    /// The stable code of the reason for this state.
    pub(super) reason: String,
    /// Rail: the stretch of the train. Null for other shows.
    pub(super) journey: Option<JourneySummary>,
    /// Rail: the stretch as it was sold, if the train has another number, other times or other
    /// names of stations there now. Null otherwise.
    pub(super) journey_as_sold: Option<JourneySummary>,
    pub(super) seats: Vec<OrderSeat>,
    pub(super) total: MoneyView,
    pub(super) created_at: String,
    pub(super) pay_until: String,
    pub(super) server_time: String,
    pub(super) payment: PaymentView,
    /// Other seats for money that came late. Null if the order does not wait for consent.
    pub(super) offer: Option<ReplacementOfferView>,
    pub(super) tickets: Vec<TicketLink>,
    /// Whether the payment was disputed at the buyer's bank, and that is not settled. The tickets
    /// then open no door, and can be neither given back nor exchanged.
    pub(super) disputed: bool,
    /// What may be given back now, and what that costs. Null if nothing may be given back.
    pub(super) refund_offer: Option<RefundOffer>,
    /// The refunds that were made, each with the state of its money.
    pub(super) refunds: Vec<RefundView>,
    /// The order whose seats replace this order's seats, or will replace them. Null if there is
    /// none.
    pub(super) exchange: Option<SuccessorView>,
    /// What an exchange of the seats costs now, in addition to the difference in price. Null if the
    /// seats may not be exchanged now.
    pub(super) exchange_offer: Option<ExchangeOffer>,
    /// The order whose seats this order replaces, or will replace. Null if there is none.
    #[schema(value_type = Option<String>)]
    pub(super) exchange_of: Option<OrderId>,
    pub(super) history: Vec<OrderHistoryEntry>,
}

/// Other seats, for the sum that was paid for the order's own seats.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = OfferView)]
pub struct ReplacementOfferView {
    pub(super) seats: Vec<OrderSeat>,
    /// The time until which the buyer can accept the seats. After that the money goes back.
    pub(super) consent_until: String,
}

/// One seat of an order.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct OrderSeat {
    pub(super) label: String,
    pub(super) category: String,
    pub(super) price: MoneyView,
    /// Rail: the name of the traveller. Null for other shows.
    pub(super) traveller: Option<String>,
    /// Whether the seat was given back.
    pub(super) refunded: bool,
}

/// A link to a ticket.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct TicketLink {
    #[schema(value_type = String)]
    pub(super) ticket: TicketId,
    pub(super) seat: String,
    pub(super) legs: Vec<u16>,
    /// Rail: the codes of the stations between which the ticket is valid. Null for other shows.
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    pub(super) url: String,
}

/// The order that an order's seats are exchanged for.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SuccessorView {
    /// Its id.
    #[schema(value_type = String)]
    pub order: OrderId,
    /// The key that opens the order on any device.
    pub order_key: String,
    /// Its state.
    pub state: OrderState,
}

/// What an exchange of the order's seats costs, in addition to the difference in price.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ExchangeOffer {
    /// The end of this offer, RFC 3339.
    until: String,
    /// What the exchange itself costs. The fee does not depend on the number of seats.
    fee: MoneyView,
    /// The percentage of the difference that is at most kept if the new seats are cheaper.
    kept_pct: u32,
}

/// What may be given back now, and what that costs.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct RefundOffer {
    /// How much would be refunded for all tickets that may be given back.
    amount: MoneyView,
    /// How much less than by the rule this is, because money of the order went back at the payment
    /// provider before. Null if nothing did.
    returned: Option<MoneyView>,
    /// How much of the price of these tickets would be kept.
    fee: MoneyView,
    /// The percentage of each ticket's price that is kept. The sum that is kept is rounded down. Of
    /// money that was carried over, more may be kept.
    fee_pct: u32,
    /// What the price of these tickets has of money that was carried over from exchanged tickets.
    /// Null if nothing was carried over, or if all of it goes back.
    carried: Option<CarriedView>,
    /// The end of this offer, RFC 3339. Null if the offer does not end.
    until: Option<String>,
    /// The rule that applies: `refund_by_buyer`, `show_cancelled`, `show_postponed`,
    /// `train_retimed`.
    reason: &'static str,
    /// The tickets that may be given back. Empty while no ticket is issued.
    tickets: Vec<RefundableTicket>,
}

/// Money that was carried over from exchanged tickets.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct CarriedView {
    amount: MoneyView,
    /// How much of it could be refunded when the tickets were exchanged. No more goes back now.
    refundable: MoneyView,
}

/// One ticket that may be given back, and what goes back and is kept if it is given back alone.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = TicketOffer)]
pub struct RefundableTicket {
    #[schema(value_type = String)]
    ticket: TicketId,
    seat: String,
    amount: MoneyView,
    fee: MoneyView,
}

/// One refund of an order.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct RefundView {
    #[schema(value_type = String)]
    refund: RefundId,
    /// The seats that were given back.
    seats: Vec<String>,
    /// The sum that is refunded.
    amount: MoneyView,
    /// The sum that is kept.
    fee: MoneyView,
    reason: &'static str,
    /// When the tickets were given back, RFC 3339.
    at: String,
    state: RefundState,
    /// When the whole amount had been refunded. Null until then.
    done_at: Option<String>,
}

/// Returns the exchange that an order's owner may make now, or `None` if the seats may not be
/// exchanged now.
#[must_use]
pub fn exchange_offer(
    order: &Order,
    tickets: &[Ticket],
    terms: &OrderTerms,
    now_ms: i64,
) -> Option<ExchangeOffer> {
    check_exchangeable(order, tickets, &order.items).ok()?;
    let offer = deal::exchange_quote(terms, order, now_ms).ok()?;
    Some(ExchangeOffer {
        until: rfc3339(offer.until_ms),
        fee: MoneyView(order.currency.with_amount(offer.fee)),
        kept_pct: offer.kept_pct,
    })
}

/// Returns the refund that an order's owner may get now for all tickets that are not scanned, or
/// `None` if there is no such refund. It is what the ledger would owe.
#[must_use]
pub fn refund_offer(
    (order, paid): (&Order, MoneyOfOrder),
    tickets: &[Ticket],
    terms: &OrderTerms,
    now_ms: i64,
) -> Option<RefundOffer> {
    let input = RefundInput {
        order,
        tickets,
        terms,
    };
    let plan = plan_refund(&input, &TicketSelection::Unscanned, now_ms).ok()??;
    let rule = in_force(terms, order, now_ms).ok()?;
    let money = |amount| MoneyView(order.currency.with_amount(amount));
    let owed = |amount, going| paid.owed(amount, going < order.items.len());
    let ticket = |item: &OrderItem| {
        let id = TicketId::of_seat(&order.id, item.held.seat);
        let alone = rule.split_price(order, std::slice::from_ref(item));
        plan.tickets.contains(&id).then(|| RefundableTicket {
            ticket: id,
            seat: item.label.clone(),
            amount: money(owed(alone.amount, 1)),
            fee: money(alone.fee),
        })
    };
    let amount = owed(plan.amount, plan.going.len());
    Some(RefundOffer {
        amount: money(amount),
        returned: (amount < plan.amount).then(|| money(plan.amount - amount)),
        fee: money(plan.fee),
        fee_pct: rule.fee_pct,
        carried: carried_view(&plan.going, rule, order.currency),
        until: rule.until_ms.map(rfc3339),
        reason: rule.reason.as_str(),
        tickets: plan.going.iter().filter_map(ticket).collect(),
    })
}

fn carried_view(
    items: &[OrderItem],
    rule: RefundRuleInForce,
    currency: Currency,
) -> Option<CarriedView> {
    let sum = |part: fn(&OrderItem) -> i64| {
        let sum: i64 = items.iter().map(part).sum();
        MoneyView(currency.with_amount(sum))
    };
    let has_carried = items.iter().any(|item| !item.carried.is_none());
    (has_carried && !rule.frees_carried_money()).then(|| CarriedView {
        amount: sum(|item| item.carried.amount),
        refundable: sum(|item| item.carried.refundable.min(item.carried.amount)),
    })
}

/// Builds the view of a refund for its owner.
#[must_use]
pub fn refund_view(refund: Refund, currency: Currency) -> RefundView {
    RefundView {
        refund: refund.id,
        seats: refund.items.into_iter().map(|item| item.label).collect(),
        amount: MoneyView(currency.with_amount(refund.amount + refund.elsewhere)),
        fee: MoneyView(currency.with_amount(refund.fee)),
        reason: refund.reason.as_str(),
        at: rfc3339(refund.made_at_ms),
        state: refund.state,
        done_at: refund
            .done_at_ms
            .filter(|_| refund.state == RefundState::Done)
            .map(rfc3339),
    }
}
