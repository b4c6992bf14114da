//! Orders over HTTP: extract, call, answer.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};

use crate::catalogue::places::Place;
use crate::clock::{Clock, rfc3339};
use crate::http::answers::{Answer, Answers, key_of};
use crate::http::exchanges::{ExchangeOffer, SuccessorView, offered as exchange_offered};
use crate::http::holds::MoneyView;
use crate::http::refunds::{RefundOffer, RefundView, offered, view as refund_view};
use crate::http::visitor::Door;
use crate::ids::{HoldId, OrderId, PaymentId, TicketId};
use crate::orders::checkout::OrderDesk;
use crate::orders::exchange::{Part, price};
use crate::orders::transition::Happening;
use crate::orders::{Buyer, Order, OrderRecord, OrderState, Step, Traveller};
use crate::payments::PaymentState;
use crate::rail::journey::Journey;
use crate::wake::Bells;
use fairgate_base::http::{BodyBytes, Path, Problem, parse_json};

/// What the handlers of orders need.
#[derive(Clone)]
pub struct OrderRoutes {
    /// Where orders are made.
    pub desk: OrderDesk,
    /// Who may.
    pub door: Door,
    /// Answers kept for retries.
    pub answers: Answers,
    /// The time.
    pub clock: Clock,
    /// The workers that free seats and bring money back.
    pub bells: Bells,
}

/// `POST /v1/holds/{hold}/order`.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OrderAsk {
    /// Who buys.
    buyer: Buyer,
    /// Rail: who travels, one a seat, in the order of the hold's seats.
    #[serde(default)]
    travellers: Option<Vec<Traveller>>,
}

/// A new order.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct OrderMade {
    #[schema(value_type = String)]
    order: OrderId,
    /// Opens the order on any device.
    order_key: String,
    state: OrderState,
    total: MoneyView,
    /// Until when to pay, RFC 3339.
    pay_until: String,
    server_time: String,
    payment: PaymentView,
}

/// What the buyer's page needs to pay.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct PaymentView {
    #[schema(value_type = String)]
    payment: PaymentId,
    provider: String,
    amount: MoneyView,
    state: PaymentState,
    /// Whatever the provider's page needs.
    client: serde_json::Value,
}

/// An order as its owner sees it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct OrderView {
    #[schema(value_type = String)]
    order: OrderId,
    #[schema(value_type = String)]
    show: crate::ids::ShowId,
    /// The show's title and beginning, as the catalogue has them now.
    title: Option<String>,
    starts_at: Option<String>,
    /// What people call the venue; null where nobody told.
    venue_name: Option<String>,
    /// The IANA name of the zone whose clocks the show goes by; null where nobody told.
    time_zone: Option<String>,
    state: OrderState,
    /// Why it stands there: a stable code.
    reason: String,
    /// Rail: the stretch of the train; null else.
    journey: Option<Journey>,
    seats: Vec<OrderSeat>,
    total: MoneyView,
    created_at: String,
    pay_until: String,
    server_time: String,
    payment: PaymentView,
    /// Other seats for money that came late; null unless the order waits for consent.
    offer: Option<OfferView>,
    tickets: Vec<TicketLink>,
    /// What of it may be given back now, and what that costs; null where nothing may.
    refund_offer: Option<RefundOffer>,
    /// What was given back, and where its money is.
    refunds: Vec<RefundView>,
    /// The order that this one's seats were, or are to be, exchanged for; null where there is none.
    exchange: Option<SuccessorView>,
    /// What giving its seats for others costs beside the difference; null where that may not be
    /// done now.
    exchange_offer: Option<ExchangeOffer>,
    /// The order whose seats were, or are to be, given for these; null where there is none.
    #[schema(value_type = Option<String>)]
    exchange_of: Option<OrderId>,
    history: Vec<Step>,
}

/// Other seats, at what was paid for the order's own.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct OfferView {
    seats: Vec<OrderSeat>,
    /// Until when to say yes; after that the money goes back.
    consent_until: String,
}

/// `POST /v1/orders/{order}/consent`.
#[derive(Debug, Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConsentAsk {
    /// Whether the other seats are taken; if not, the money goes back.
    accept: bool,
}

/// One seat of an order.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct OrderSeat {
    label: String,
    category: String,
    price: MoneyView,
    /// Rail: who travels on it.
    traveller: Option<String>,
    /// Whether it was given back.
    refunded: bool,
}

/// Where a ticket is.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct TicketLink {
    #[schema(value_type = String)]
    ticket: TicketId,
    seat: String,
    legs: Vec<u16>,
    /// Rail: the codes of the stations between which it is good; null else.
    from: Option<String>,
    to: Option<String>,
    url: String,
}

/// Makes an order of a hold.
#[utoipa::path(post, path = "/v1/holds/{hold}/order", tag = "booking", params(("hold" = String, Path)),
    request_body = OrderAsk, responses((status = 201, body = OrderMade), (status = 410), (status = 422), (status = 503)))]
pub async fn make(
    State(routes): State<OrderRoutes>,
    Path(hold): Path<String>,
    headers: HeaderMap,
    BodyBytes(body): BodyBytes,
) -> Result<Response, Problem> {
    let id: HoldId = hold
        .parse()
        .map_err(|_| Problem::not_found("hold", &hold))?;
    let show = routes.desk.holds.catalogue.show(&id.show());
    let show = show.filter(|show| !show.untouched);
    let show = show.ok_or(crate::holds::refusal::HoldRefusal::Expired)?;
    let pass = routes
        .door
        .pass(&headers, &show.id, routes.clock.now_ms() / 1_000)?;
    let visitor = pass.holder();
    let key = key_of(&headers)?;
    let call = format!("POST /v1/holds/{id}/order");
    let act = async {
        let ask: OrderAsk = parse_json(&body)?;
        let now_ms = routes.clock.now_ms();
        let made = routes
            .desk
            .checkout(&show, &id, visitor, (ask.buyer, ask.travellers), now_ms)
            .await;
        // What was sold for nothing, or freed because it cannot be paid, is told to the seats at
        // once.
        if !matches!(&made, Ok(order) if order.state == OrderState::Pending) {
            routes.bells.ring();
        }
        let order = made?;
        metrics::counter!("fairgate_orders_made_total").increment(1);
        let payment = routes.payment_view(&order, None).await?;
        Answer::json(
            201,
            &OrderMade {
                order_key: routes.door.order_keys.of(&order.id),
                state: order.state,
                total: MoneyView(order.currency.of(order.total)),
                pay_until: rfc3339(order.pay_until_ms),
                server_time: rfc3339(now_ms),
                payment,
                order: order.id,
            },
        )
    };
    Ok(routes
        .answers
        .once(&visitor.0, &call, key, &body, act)
        .await)
}

/// Reads an order.
#[utoipa::path(get, path = "/v1/orders/{order}", tag = "booking", params(("order" = String, Path)),
    responses((status = 200, body = OrderView), (status = 403), (status = 404)))]
pub async fn read(
    State(routes): State<OrderRoutes>,
    Path(order): Path<String>,
    headers: HeaderMap,
) -> Result<Answer, Problem> {
    let record = routes.open(&order, &headers).await?;
    Answer::json(200, &routes.view(record).await?)
}

/// Gives up an order that is not paid yet.
#[utoipa::path(post, path = "/v1/orders/{order}/cancel", tag = "booking", params(("order" = String, Path)),
    responses((status = 200, body = OrderView), (status = 409)))]
pub async fn cancel(
    State(routes): State<OrderRoutes>,
    Path(order): Path<String>,
    headers: HeaderMap,
    BodyBytes(body): BodyBytes,
) -> Result<Response, Problem> {
    let record = routes.open(&order, &headers).await?;
    let key = key_of(&headers)?;
    let caller = record.order.id.to_string();
    let call = format!("POST /v1/orders/{}/cancel", record.order.id);
    let act = async {
        let id = record.order.id.clone();
        let applied = routes
            .desk
            .ledger
            .happen(&id, Happening::GivenUp, routes.clock.now_ms())
            .await?;
        routes.bells.ring();
        let record = routes.desk.record(&id).await?;
        let cancelled = record.order.state == OrderState::Cancelled;
        if applied.is_some_and(|applied| applied.changed) || cancelled {
            Answer::json(200, &routes.view(record).await?)
        } else {
            let detail = format!(
                "The order is {}; only an order that waits for its payment or for consent can be given up. Nothing was changed.",
                record.order.state.word()
            );
            Err(Problem::new(
                409,
                "not_cancellable",
                "The order cannot be given up",
                detail,
            )
            .with("state", record.order.state))
        }
    };
    Ok(routes
        .answers
        .once(caller.as_bytes(), &call, key, &body, act)
        .await)
}

/// Takes the other seats that late money was offered, or does not.
#[utoipa::path(post, path = "/v1/orders/{order}/consent", tag = "booking", params(("order" = String, Path)),
    request_body = ConsentAsk, responses((status = 200, body = OrderView), (status = 409)))]
pub async fn consent(
    State(routes): State<OrderRoutes>,
    Path(order): Path<String>,
    headers: HeaderMap,
    BodyBytes(body): BodyBytes,
) -> Result<Response, Problem> {
    let record = routes.open(&order, &headers).await?;
    let key = key_of(&headers)?;
    let id = record.order.id;
    let call = format!("POST /v1/orders/{id}/consent");
    let act = async {
        let ConsentAsk { accept } = parse_json(&body)?;
        let happening = if accept {
            Happening::Consented
        } else {
            Happening::ConsentDeclined
        };
        let now_ms = routes.clock.now_ms();
        let applied = routes.desk.ledger.happen(&id, happening, now_ms).await?;
        routes.bells.ring();
        let record = routes.desk.record(&id).await?;
        let said = if accept {
            "consent_given"
        } else {
            "consent_declined"
        };
        let repeated = record.history.iter().any(|step| step.reason == said);
        if applied.is_some_and(|applied| applied.changed) || repeated {
            return Answer::json(200, &routes.view(record).await?);
        }
        let detail = format!(
            "The order is {} and waits for no consent. Nothing was changed. Read the order to see where it stands.",
            record.order.state.word()
        );
        Err(Problem::new(
            409,
            "no_consent_awaited",
            "The order waits for no consent",
            detail,
        )
        .with("state", record.order.state))
    };
    let caller = id.to_string();
    Ok(routes
        .answers
        .once(caller.as_bytes(), &call, key, &body, act)
        .await)
}

/// A one-time link by e-mail needs a mail service.
#[utoipa::path(post, path = "/v1/orders/lookup", tag = "booking", responses((status = 422)))]
pub async fn lookup() -> Problem {
    Problem::not_available(
        "email",
        "Orders cannot be looked up by e-mail here: no mail service is configured. Nothing was sent. Use the order's key or the browser it was made in.",
    )
}

impl OrderRoutes {
    pub(super) async fn open(
        &self,
        order: &str,
        headers: &HeaderMap,
    ) -> Result<OrderRecord, Problem> {
        let id: OrderId = order
            .parse()
            .map_err(|_| Problem::not_found("order", order))?;
        let caller = self.door.order(headers, &id, self.clock.now_ms() / 1_000)?;
        let record = self.desk.record(&id).await?;
        caller.may_open(record.order.visitor)?;
        Ok(record)
    }

    async fn payment_view(
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

    pub(super) async fn view(&self, record: OrderRecord) -> Result<OrderView, Problem> {
        let OrderRecord {
            order,
            history,
            tickets,
            payment,
            offer,
            refunds,
            exchanges,
        } = record;
        let (mut exchange, mut exchange_of) = (None, None);
        let (mut items, mut total) = (order.items.clone(), order.total);
        for part in exchanges {
            match part {
                Part::Exchanged { into, state } => {
                    exchange = Some(SuccessorView {
                        order_key: self.door.order_keys.of(&into),
                        order: into,
                        state,
                    });
                }
                Part::Successor {
                    of,
                    items: new,
                    done,
                } => {
                    exchange_of = Some(of);
                    total = price(&new);
                    if !done {
                        items = new;
                    }
                }
            }
        }
        let catalogue = &self.desk.holds.catalogue;
        let show = catalogue.show(&order.show);
        let place = show.as_ref().map(|show| catalogue.place_of(show));
        let Place { name, time_zone } = place.unwrap_or_default();
        // The state that was read with the history: a later one would not agree with it.
        let payment = self.payment_view(&order, Some(payment)).await?;
        let currency = order.currency;
        let as_seat = |item: &crate::orders::OrderItem, refunded| OrderSeat {
            label: item.label.clone(),
            category: item.category.clone(),
            price: MoneyView(currency.of(item.amount)),
            traveller: item.traveller.clone(),
            refunded,
        };
        let run = show.as_ref().and_then(|show| show.run.clone());
        let legs = items.first().map(|item| &item.held.legs);
        let journey = run.as_ref().zip(legs);
        let link = |ticket: crate::orders::Ticket| {
            let run = run.as_ref();
            let ends = run.and_then(|run| Journey::over(run, &ticket.legs));
            let (from, to) = ends
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
        };
        let seat = |item: &crate::orders::OrderItem| as_seat(item, false);
        let given_back = refunds.iter().flat_map(|refund| &refund.items);
        let given_back = given_back.map(|item| as_seat(item, true));
        let now_ms = self.clock.now_ms();
        let terms = match &show {
            Some(show) => Some(catalogue.order_terms(show, order.terms).await?),
            None => None,
        };
        let refund_offer = terms
            .as_ref()
            .and_then(|terms| offered(&order, &tickets, terms, now_ms));
        let open = matches!(&exchange, Some(into) if matches!(into.state, OrderState::Pending | OrderState::Confirmed));
        let exchange_offer = terms
            .as_ref()
            .filter(|_| !open)
            .and_then(|terms| exchange_offered(&order, &tickets, terms, now_ms));
        Ok(OrderView {
            journey: journey.and_then(|(run, legs)| Journey::of(run, legs)),
            title: show.as_ref().map(|show| show.document.title.clone()),
            starts_at: show
                .as_ref()
                .map(|show| show.document.starts_at.to_string()),
            venue_name: name,
            time_zone,
            show: order.show,
            state: order.state,
            reason: order.reason,
            offer: offer.map(|offer| OfferView {
                seats: offer.items.iter().map(seat).collect(),
                consent_until: rfc3339(offer.until_ms),
            }),
            seats: items.iter().map(seat).chain(given_back).collect(),
            exchange,
            exchange_of,
            exchange_offer,
            refund_offer,
            total: MoneyView(currency.of(total)),
            created_at: rfc3339(order.created_at_ms),
            pay_until: rfc3339(order.pay_until_ms),
            server_time: rfc3339(now_ms),
            payment,
            tickets: tickets
                .into_iter()
                .filter(|ticket| ticket.voided_at_ms.is_none())
                .map(link)
                .collect(),
            refunds: refunds
                .into_iter()
                .filter(|refund| refund.part_of.is_none())
                .map(|refund| refund_view(refund, currency))
                .collect(),
            history,
            order: order.id,
        })
    }
}
