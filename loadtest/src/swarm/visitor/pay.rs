//! Turns a basket into an order, pays the order, and waits for its tickets.

use hyper::Method;
use serde_json::{Map, Value, json};

use super::basket::{VisitorBasket, labels};
use super::{Visitor, VisitorOutcome, VisitorResult, fields};
use crate::http::{LoadHttpAnswer, LoadHttpCall};
use crate::swarm::clock::rfc3339_ms;
use crate::swarm::settle::{accepts, is_over};
use crate::swarm::stage::SwarmPaidOrder;

/// The first wait before an order is read again, in seconds. Later waits are longer, up to
/// [`LOOK_MAX_S`].
const FIRST_LOOK_S: f64 = 0.2;
const LOOK_MAX_S: f64 = 1.0;
/// How long tickets may take after the payment, in milliseconds.
const TICKETS_WITHIN_MS: f64 = 60_000.0;

/// A fault excuses a late payment if it began before the order's deadline or at most this many
/// milliseconds after it.
const LATE_WITHIN_MS: f64 = 10_000.0;

/// What became of a basket.
pub(super) enum BasketOutcome {
    /// The visitor is done.
    Done(VisitorOutcome),
    /// The basket was lost before it became an order that can be paid.
    BasketGone,
}

/// An order as its buyer knows it.
pub(super) struct VisitorOrder {
    pub(super) id: String,
    pub(super) key: String,
    /// The index of the show among the room's shows.
    pub(super) show: usize,
    pub(super) payment: String,
    /// The secret that a card form sends to the provider. It is empty with the sandbox, whose page
    /// has only a button.
    pub(super) client_secret: String,
    pub(super) pay_until_ms: f64,
}

impl Visitor {
    pub(super) async fn order_and_pay(
        &mut self,
        basket: &VisitorBasket,
    ) -> VisitorResult<BasketOutcome> {
        let behaviour = self.stage.scenario.behaviour.clone();
        let think_s = behaviour.order_s.draw(&mut self.plan.rng);
        if self.rolls(behaviour.foreign) {
            self.try_foreign_hold().await?;
        }
        let Some(order) = self.order(basket, think_s).await? else {
            return Ok(BasketOutcome::BasketGone);
        };
        if self.rolls(behaviour.cancel) {
            self.cancel(&order).await?;
            return Ok(BasketOutcome::Done(VisitorOutcome::GaveUp));
        }
        match self.see_paid(&order).await? {
            None => Ok(BasketOutcome::Done(VisitorOutcome::Declined)),
            Some(tickets) => {
                self.think_better(&order, &tickets).await?;
                Ok(BasketOutcome::Done(VisitorOutcome::Ticketed))
            }
        }
    }

    /// Pays an order and waits for its tickets. Returns `None` if the payment was declined or had
    /// already ended in another way.
    pub(super) async fn see_paid(
        &mut self,
        order: &VisitorOrder,
    ) -> VisitorResult<Option<Vec<String>>> {
        let behaviour = self.stage.scenario.behaviour.clone();
        // An unpaid order lapses by itself, even if the visitor has ended.
        let grace_s = self.stage.scenario.onsale.longest_s("claim_grace_s", 30.0);
        let lapses_ms = order.pay_until_ms + (grace_s + 2.0) * 1e3;
        let declines = self.rolls(behaviour.decline);
        let think_s = behaviour.pay_s.draw(&mut self.plan.rng);
        let outcome = if declines { "decline" } else { "approve" };
        let paid = self.pay(order, outcome, think_s).await;
        if declines || paid.is_err() {
            self.stage.note_abandoned(lapses_ms);
        }
        if !paid? || declines {
            return Ok(None);
        }
        let tickets = self.tickets(order).await;
        if tickets.is_err() {
            self.stage.note_abandoned(lapses_ms);
        }
        tickets.map(Some)
    }

    /// Makes the order. Returns `None` if the basket is gone or the order can no longer be paid.
    async fn order(
        &mut self,
        basket: &VisitorBasket,
        think_s: f64,
    ) -> VisitorResult<Option<VisitorOrder>> {
        let hold = basket.hold.clone();
        let email = format!("visitor-{}@example.org", self.plan.visitor);
        let mut buyer = json!({"buyer": {"name": "A visitor", "email": email}});
        // A train's tickets carry the travellers' names.
        if self.stage.shows[basket.show].train.is_some() {
            let name = |nth: usize| json!({ "name": format!("Traveller {nth}") });
            buyer["travellers"] = (1..=basket.seats.len()).map(name).collect();
        }
        let call = LoadHttpCall::post(format!("/v1/holds/{hold}/order"), buyer)
            .bearer(&self.pass)
            .key(&self.key("order"));
        let result = self
            .call("order", &call, think_s, |answer| {
                let document = success(answer);
                let amount = &document["payment"]["amount"];
                fields(json!({
                    "hold": hold, "order": document["order"], "payment": document["payment"]["payment"],
                    "amount": amount["amount"], "currency": amount["currency"], "state": document["state"],
                }))
            })
            .await;
        if result.is_err() {
            self.leave_basket(basket);
        }
        let answer = result?;
        let document = answer.json();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match (answer.status, document["code"].as_str()) {
            // The first answer was lost or late, and the order ran out before an answer arrived.
            (201, _) if document["state"] == "expired" => Ok(None),
            (201, _) => Ok(Some(VisitorOrder {
                id: text(&document["order"]),
                key: text(&document["order_key"]),
                show: basket.show,
                payment: text(&document["payment"]["payment"]),
                client_secret: text(&document["payment"]["client"]["client_secret"]),
                pay_until_ms: document["pay_until"]
                    .as_str()
                    .and_then(rfc3339_ms)
                    .unwrap_or(self.at_ms),
            })),
            (410, _) | (409, Some("seats_taken")) => Ok(None),
            // The provider refuses the amount, so there is no order to pay.
            (422, Some("payment_refused" | "amount_too_small" | "amount_too_large")) => {
                self.leave_basket(basket);
                Err(VisitorOutcome::Declined)
            }
            (409, Some("show_cancelled")) => {
                self.leave_basket(basket);
                Err(VisitorOutcome::ShowCancelled)
            }
            _ => Err(Self::unforeseen("order", &answer)),
        }
    }

    /// Makes the call of the sandbox's button, or sends a card to the provider. Returns false if
    /// the payment had already ended in another way.
    async fn pay(
        &mut self,
        order: &VisitorOrder,
        outcome: &str,
        think_s: f64,
    ) -> VisitorResult<bool> {
        let call = self.paying(order, outcome)?;
        if outcome == "approve" {
            self.stage.note_paid_order(SwarmPaidOrder {
                who: self.plan.visitor,
                order: order.id.clone(),
                key: order.key.clone(),
            });
        }
        let (id, payment) = (order.id.clone(), order.payment.clone());
        // The sandbox has no cards.
        let card = (!order.client_secret.is_empty()).then(|| self.card(outcome));
        let answer = self
            .call("pay", &call, think_s, |_| {
                fields(json!({"order": id, "payment": payment, "outcome": outcome, "card": card}))
            })
            .await?;
        let in_time = self.at_ms < order.pay_until_ms;
        match answer.status {
            200 => {
                if outcome == "approve" && in_time {
                    self.note(|person| person.approved = true);
                }
                Ok(true)
            }
            // The provider's answer says at once that the card was declined.
            402 if outcome == "decline" => Ok(true),
            409 => Ok(false),
            // The order ended with its show before the provider knew of the payment.
            404 if self.stage.is_cancelled(order.show) => {
                self.stage.note_final_state(&order.id);
                Err(VisitorOutcome::ShowCancelled)
            }
            400 if !order.client_secret.is_empty() => Ok(false),
            _ => Err(Self::unforeseen("pay", &answer)),
        }
    }

    /// Returns the call that the sandbox's button makes, or the call that the page's script makes
    /// for a provider like Stripe.
    fn paying(&self, order: &VisitorOrder, outcome: &str) -> VisitorResult<LoadHttpCall> {
        let secret = &order.client_secret;
        if secret.is_empty() {
            let path = format!("/v1/sandbox/payments/{}", order.payment);
            return Ok(LoadHttpCall::post(path, json!({ "outcome": outcome })));
        }
        let Some((intent, _)) = secret
            .split_once("_secret_")
            .filter(|_| self.stage.provider.is_some())
        else {
            let why = "the payment is a real provider's, and this crowd has no cards";
            return Err(VisitorOutcome::Failed(why.to_owned()));
        };
        let card = self.card(outcome);
        let path = format!("/v1/payment_intents/{intent}/confirm");
        let form = format!("client_secret={secret}&payment_method={card}");
        Ok(LoadHttpCall::to_provider(path, form))
    }

    /// Returns the visitor's card: its own, a shared one, or a card that is always declined.
    fn card(&self, outcome: &str) -> String {
        match (outcome, self.shared_card) {
            ("approve", Some(shared)) => format!("pm_card_shared_{shared}"),
            ("approve", None) => format!("pm_card_of_{}", self.plan.visitor),
            _ => "pm_card_chargeDeclined".to_owned(),
        }
    }

    /// Reads a paid order until it has tickets, and then reads one of them. Returns the ids of all
    /// tickets.
    pub(super) async fn tickets(&mut self, order: &VisitorOrder) -> VisitorResult<Vec<String>> {
        let give_up_ms = self.at_ms + TICKETS_WITHIN_MS;
        let mut look_s = FIRST_LOOK_S;
        loop {
            let document = self.read(order, look_s).await?;
            match document["state"].as_str() {
                Some("ticketed") => {
                    let at_ms = self.at_ms;
                    self.stage.note_final_state(&order.id);
                    self.note(|person| {
                        person.ticketed_ms.get_or_insert(at_ms);
                    });
                    return self.fetch(order, &document).await;
                }
                Some("pending" | "confirmed") => {}
                // The promoter cancelled the show before the order had tickets.
                Some("refunded" | "cancelled") if self.stage.is_cancelled(order.show) => {
                    self.stage.note_final_state(&order.id);
                    return Err(VisitorOutcome::ShowCancelled);
                }
                // Earlier orders have used up the limit of the shared card.
                Some("cancelled") if is_card_full(&document) && self.shared_card.is_some() => {
                    self.stage.note_final_state(&order.id);
                    return Err(VisitorOutcome::Declined);
                }
                Some("expired" | "cancelled") if self.was_halted(order) => {
                    // Other seats may still be offered for the late payment, so the visitor waits
                    // until the payment is released or refunded.
                    if is_over(&document) && document["payment"]["state"] != "created" {
                        self.stage.note_final_state(&order.id);
                        return Err(VisitorOutcome::TooLate);
                    }
                }
                Some("awaiting_consent") if self.was_halted(order) => self.consent(order).await?,
                state => {
                    let state = state.unwrap_or("without a state");
                    return Err(VisitorOutcome::Failed(format!("a paid order is {state}")));
                }
            }
            if self.at_ms > give_up_ms {
                return Err(VisitorOutcome::Failed(
                    "a paid order has no tickets".to_owned(),
                ));
            }
            look_s = (look_s * 2.0).min(LOOK_MAX_S);
        }
    }

    /// Returns whether a fault that may delay payments began before the order's deadline or at most
    /// [`LATE_WITHIN_MS`] after it.
    fn was_halted(&self, order: &VisitorOrder) -> bool {
        let measurements = self.stage.tally.seen();
        let mut disturbances = measurements.disturbances.iter();
        disturbances.any(|one| one.halts && one.from_ms <= order.pay_until_ms + LATE_WITHIN_MS)
    }

    pub(super) async fn read(
        &mut self,
        order: &VisitorOrder,
        think_s: f64,
    ) -> VisitorResult<Value> {
        let call = LoadHttpCall::get(format!("/v1/orders/{}", order.id)).bearer(&order.key);
        let id = order.id.clone();
        let answer = self
            .call("order_read", &call, think_s, |answer| read(&id, answer))
            .await?;
        if answer.is_ok() {
            Ok(answer.json())
        } else {
            Err(Self::unforeseen("order_read", &answer))
        }
    }

    async fn fetch(
        &mut self,
        order: &VisitorOrder,
        document: &Value,
    ) -> VisitorResult<Vec<String>> {
        let tickets = document["tickets"].as_array().into_iter().flatten();
        let ids = tickets.filter_map(|ticket| ticket["ticket"].as_str().map(str::to_owned));
        let tickets: Vec<String> = ids.collect();
        let Some(ticket) = tickets.first() else {
            return Err(VisitorOutcome::Failed(
                "a ticketed order has no ticket".to_owned(),
            ));
        };
        let call = LoadHttpCall::get(format!("/v1/tickets/{ticket}")).bearer(&order.key);
        let id = order.id.clone();
        let answer = self
            .call("ticket", &call, 0.0, |_| {
                fields(json!({"order": id, "ticket": ticket}))
            })
            .await?;
        // If the promoter has cancelled the show in the meantime, the ticket is void.
        if answer.is_ok() || answer.status == 409 && self.stage.is_cancelled(order.show) {
            Ok(tickets)
        } else {
            Err(Self::unforeseen("ticket", &answer))
        }
    }

    /// Accepts or refuses the other seats that are offered for a late payment.
    async fn consent(&mut self, order: &VisitorOrder) -> VisitorResult<()> {
        let path = format!("/v1/orders/{}/consent", order.id);
        let call = LoadHttpCall::post(path, json!({ "accept": accepts(self.plan.visitor) }))
            .bearer(&order.key)
            .key(&self.key("consent"));
        let id = order.id.clone();
        let answer = self
            .call("consent", &call, 0.2, |_| fields(json!({"order": id})))
            .await?;
        // The offer may have run out, or an earlier try whose answer was lost may have succeeded.
        match answer.status {
            200 | 409 => Ok(()),
            _ => Err(Self::unforeseen("consent", &answer)),
        }
    }

    async fn cancel(&mut self, order: &VisitorOrder) -> VisitorResult<()> {
        let path = format!("/v1/orders/{}/cancel", order.id);
        let call = LoadHttpCall::new(Method::POST, path)
            .bearer(&order.key)
            .key(&self.key("cancel"));
        let id = order.id.clone();
        let answer = self
            .call("cancel", &call, 0.3, |_| fields(json!({"order": id})))
            .await?;
        if answer.is_ok() {
            self.read(order, 0.0).await.map(drop)
        } else {
            Err(Self::unforeseen("cancel", &answer))
        }
    }
}

/// Returns whether an order was cancelled because of its card's limit.
fn is_card_full(document: &Value) -> bool {
    document["reason"] == "card_limit"
}

fn success(answer: Option<&LoadHttpAnswer>) -> Value {
    answer
        .filter(|answer| answer.is_ok())
        .map(LoadHttpAnswer::json)
        .unwrap_or_default()
}

/// Returns the fields with which the history records a read of an order.
fn read(order: &str, answer: Option<&LoadHttpAnswer>) -> Map<String, Value> {
    let document = success(answer);
    let tickets = document["tickets"].as_array().into_iter().flatten();
    let tickets: Vec<&Value> = tickets.map(|ticket| &ticket["ticket"]).collect();
    fields(json!({
        "order": order, "state": document["state"], "tickets": tickets, "seats": labels(&document),
        "total": document["total"]["amount"],
    }))
}
