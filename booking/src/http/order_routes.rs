//! The handles of the order routes. They check who may open an order, and build the views of
//! orders.

use axum::http::HeaderMap;
use fairgate_base::clock::{Clock, rfc3339};
use fairgate_base::http::Problem;
use fairgate_model::ids::OrderId;
use fairgate_model::money::Currency;
use fairgate_model::orders::exchange::{ExchangeRole, total_price};
use fairgate_model::orders::refund::Refund;
use fairgate_model::orders::terms::OrderTerms;
use fairgate_model::orders::{Order, OrderItem, OrderRecord, OrderState, ReplacementOffer, Ticket};
use fairgate_model::payments::PaymentState;
use fairgate_model::runs::TrainRun;
use fairgate_model::shows::Show;

use super::answers::IdempotencyAnswers;
use super::holds::MoneyView;
use super::order_views::{
    OrderSeat, OrderView, PaymentView, RefundView, ReplacementOfferView, SuccessorView, TicketLink,
    exchange_offer, refund_offer, refund_view,
};
use super::visitor::CallerVerifier;
use crate::orders::checkout::OrderDesk;
use crate::rail::journey::JourneySummary;
use crate::wake::LedgerNotifiers;

/// What the handlers of orders need.
#[derive(Clone)]
pub struct OrderRoutes {
    /// Makes and changes orders.
    pub desk: OrderDesk,
    /// Checks who may call.
    pub door: CallerVerifier,
    /// Answers stored for repeated calls.
    pub answers: IdempotencyAnswers,
    /// The clock.
    pub clock: Clock,
    /// Wakes the workers that deliver the seat outbox, call the payment provider and refund
    /// tickets.
    pub notifiers: LedgerNotifiers,
}

impl OrderRoutes {
    /// Returns an order, if the caller is its visitor or has its key.
    pub(super) async fn open_order(
        &self,
        order: &str,
        headers: &HeaderMap,
    ) -> Result<OrderRecord, Problem> {
        let id: OrderId = order
            .parse()
            .map_err(|_| Problem::not_found("order", order))?;
        let caller = self
            .door
            .order_caller(headers, &id, self.clock.now_ms() / 1_000)?;
        let record = self.desk.order_record(&id).await?;
        caller.may_open(record.order.visitor)?;
        Ok(record)
    }

    /// Builds the view of an order's payment. It shows `state` or, if that is `None`, the state in
    /// the ledger.
    pub(super) async fn payment_view(
        &self,
        order: &Order,
        state: Option<PaymentState>,
    ) -> Result<PaymentView, Problem> {
        let payment = self.desk.ledger.payment(&order.payment).await?;
        let payment =
            payment.ok_or_else(|| Problem::not_found("payment", order.payment.as_str()))?;
        let client = match &self.desk.provider {
            Some(provider) if provider.name() == payment.provider => provider.client(&payment),
            _ => serde_json::Value::Null,
        };
        Ok(PaymentView {
            payment: payment.id,
            provider: payment.provider,
            amount: MoneyView(payment.amount),
            state: state.unwrap_or(payment.state),
            client,
        })
    }

    /// Builds the view of an order with its payment, tickets, refunds and exchanges.
    pub(super) async fn order_view(&self, record: OrderRecord) -> Result<OrderView, Problem> {
        let disputed = record.is_disputed();
        let OrderRecord {
            order,
            history,
            tickets,
            payment,
            offer,
            money,
            refunds,
            exchanges,
        } = record;
        let exchanged = self.exchanged(&order, exchanges);
        let catalogue = &self.desk.holds.catalogue;
        let show = catalogue.ordered_show(&order.show, order.plan_version);
        let show = show.await?;
        let place = show.as_ref().map(|show| catalogue.place_of(show));
        // The payment's state was read together with the history. A state that is read now might
        // not fit the history.
        let payment = self.payment_view(&order, Some(payment)).await?;
        let currency = order.currency;
        let run = show.as_ref();
        let run = run.and_then(|show| show.run_of_plan(order.plan_version));
        let legs = exchanged.items.first().map(|item| &item.held.legs);
        let journey = run.zip(legs);
        let now_ms = self.clock.now_ms();
        let terms = self.terms_of(show.as_deref(), &order).await?;
        let terms = terms.as_ref();
        let offered = terms.filter(|_| !disputed);
        Ok(OrderView {
            journey_as_sold: terms
                .zip(journey)
                .and_then(|(terms, ride)| JourneySummary::as_sold(terms, ride)),
            journey: journey.and_then(|(run, legs)| JourneySummary::from_leg_range(run, legs)),
            title: show.as_ref().map(|show| show.document.title.clone()),
            starts_at: show.as_ref().map(|show| starts_at(show)),
            place: place.unwrap_or_default().into(),
            offer: offer.map(|offer| replacement_view(&offer, currency)),
            seats: order_seats(&exchanged.items, &refunds, currency),
            exchange_offer: offered
                .filter(|_| !exchanged.is_open())
                .and_then(|terms| exchange_offer(&order, &tickets, terms, now_ms)),
            refund_offer: offered
                .and_then(|terms| refund_offer((&order, money), &tickets, terms, now_ms)),
            disputed,
            exchange: exchanged.into,
            exchange_of: exchanged.of,
            total: MoneyView(currency.with_amount(exchanged.total)),
            created_at: rfc3339(order.created_at_ms),
            pay_until: rfc3339(order.pay_until_ms),
            server_time: rfc3339(now_ms),
            payment,
            tickets: ticket_links(tickets, run),
            refunds: refund_views(refunds, currency),
            history,
            show: order.show,
            room: order.room,
            state: order.state,
            reason: order.reason,
            order: order.id,
        })
    }

    /// Returns the terms that apply to an order, unless its show is unknown.
    async fn terms_of(
        &self,
        show: Option<&Show>,
        order: &Order,
    ) -> Result<Option<OrderTerms>, Problem> {
        match show {
            Some(show) => {
                let catalogue = &self.desk.holds.catalogue;
                Ok(Some(catalogue.order_terms(show, order.terms).await?))
            }
            None => Ok(None),
        }
    }

    /// Returns an order with the exchanges that it is part of.
    fn exchanged(&self, order: &Order, parts: Vec<ExchangeRole>) -> ExchangedOrder {
        let mut exchanged = ExchangedOrder {
            into: None,
            of: None,
            items: order.items.clone(),
            total: order.total,
        };
        for part in parts {
            match part {
                ExchangeRole::Exchanged { into, state } => {
                    exchanged.into = Some(SuccessorView {
                        order_key: self.door.order_keys.for_order(&into),
                        order: into,
                        state,
                    });
                }
                ExchangeRole::Successor {
                    of, items, done, ..
                } => {
                    exchanged.of = Some(of);
                    exchanged.total = total_price(&items);
                    if !done {
                        exchanged.items = items;
                    }
                }
            }
        }
        exchanged
    }
}

/// What exchanges change in the view of an order: the orders before and after it, its seats and its
/// total.
struct ExchangedOrder {
    /// The order that replaces it.
    into: Option<SuccessorView>,
    /// The order that it replaces.
    of: Option<OrderId>,
    items: Vec<OrderItem>,
    total: i64,
}

impl ExchangedOrder {
    /// Returns whether there is a successor that is not fully paid yet.
    fn is_open(&self) -> bool {
        let state = self.into.as_ref().map(|into| into.state);
        matches!(state, Some(OrderState::Pending | OrderState::Confirmed))
    }
}

fn starts_at(show: &Show) -> String {
    show.document.starts_at.to_string()
}

fn replacement_view(offer: &ReplacementOffer, currency: Currency) -> ReplacementOfferView {
    let seats = offer.items.iter();
    ReplacementOfferView {
        seats: seats
            .map(|item| order_seat(item, currency, false))
            .collect(),
        consent_until: rfc3339(offer.until_ms),
    }
}

/// Returns the order's seats, followed by the seats that were given back.
fn order_seats(items: &[OrderItem], refunds: &[Refund], currency: Currency) -> Vec<OrderSeat> {
    let kept = items.iter().map(|item| order_seat(item, currency, false));
    let given_back = refunds.iter().flat_map(|refund| &refund.items);
    kept.chain(given_back.map(|item| order_seat(item, currency, true)))
        .collect()
}

fn order_seat(item: &OrderItem, currency: Currency, refunded: bool) -> OrderSeat {
    OrderSeat {
        label: item.label.clone(),
        category: item.category.clone(),
        price: MoneyView(currency.with_amount(item.amount)),
        traveller: item.traveller.clone(),
        refunded,
    }
}

/// Returns links to the tickets that are still valid.
fn ticket_links(tickets: Vec<Ticket>, run: Option<&TrainRun>) -> Vec<TicketLink> {
    let valid = tickets
        .into_iter()
        .filter(|ticket| ticket.voided_at_ms.is_none());
    valid.map(|ticket| ticket_link(ticket, run)).collect()
}

/// Returns the views of the order's own refunds. A part of a later order's refund is shown with
/// that order.
fn refund_views(refunds: Vec<Refund>, currency: Currency) -> Vec<RefundView> {
    let whole = refunds
        .into_iter()
        .filter(|refund| refund.part_of.is_none());
    whole.map(|refund| refund_view(refund, currency)).collect()
}

fn ticket_link(ticket: Ticket, run: Option<&TrainRun>) -> TicketLink {
    let journey = run.and_then(|run| JourneySummary::from_legs(run, &ticket.legs));
    let (from, to) = journey
        .map(|journey| (journey.from.station, journey.to.station))
        .unzip();
    TicketLink {
        url: format!("/t/{}", ticket.id),
        ticket: ticket.id,
        seat: ticket.label,
        legs: ticket.legs,
        from,
        to,
    }
}
