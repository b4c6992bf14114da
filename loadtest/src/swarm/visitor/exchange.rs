//! Exchanges tickets for others of the same or another show. The new tickets may cost the same,
//! more or less.

use rand::RngExt;
use serde_json::{Map, Value, json};

use super::foul::{CallRecordFields, derived_hold_id};
use super::pay::VisitorOrder;
use super::regret::TWICE;
use super::{Visitor, VisitorOutcome, VisitorResult, fields};
use crate::http::{LoadHttpAnswer, LoadHttpCall};
use crate::swarm::clock::rfc3339_ms;

/// The share of visitors who give their new tickets back after an exchange.
const BACK_AFTER_ALL: f64 = 0.3;
/// The number of calls that are made at once for one exchange.
const AT_ONCE: usize = 3;

impl Visitor {
    /// Asks for `count` other seats, pays the difference if there is one, and waits for the new
    /// tickets. Some visitors then give the new tickets back.
    pub(super) async fn exchange_tickets(
        &mut self,
        order: &VisitorOrder,
        count: usize,
    ) -> VisitorResult<()> {
        let behaviour = self.stage.scenario.behaviour.clone();
        let think_s = behaviour.give_back_s.draw(&mut self.plan.rng);
        let is_train = self.stage.shows[order.show].train.is_some();
        let alike: Vec<usize> = (0..self.stage.shows.len())
            .filter(|show| self.stage.shows[*show].train.is_some() == is_train)
            .collect();
        let show = alike[self.plan.rng.random_range(0..alike.len())];
        let wanted = if self.rolls(behaviour.by_seat) && !is_train {
            let picture = self.seats(show, think_s).await?;
            Some(self.pick(show, &picture, count))
        } else {
            None
        };
        if wanted.as_ref().is_some_and(|seats| seats.len() != count) {
            return Ok(());
        }
        let Some(document) = self.ask_for_others(order, show, (wanted, count)).await? else {
            return Ok(());
        };
        let Some(new) = self.successor(order, &document, show).await? else {
            return Ok(());
        };
        let tickets = if document["state"] == "pending" {
            self.see_paid(&new).await?
        } else {
            Some(self.tickets(&new).await?)
        };
        match tickets {
            Some(tickets) if self.rolls(BACK_AFTER_ALL) => self.give_back(&new, &tickets).await,
            _ => Ok(()),
        }
    }

    /// Asks for the exchange. Returns the new order as the answer shows it. Returns `None` if the
    /// other seats are not available or the old order cannot be exchanged.
    async fn ask_for_others(
        &mut self,
        order: &VisitorOrder,
        show: usize,
        (wanted, count): (Option<Vec<String>>, usize),
    ) -> VisitorResult<Option<Value>> {
        let id = self.stage.shows[show].id.clone();
        let body = match &wanted {
            Some(seats) => json!({"show": id, "seats": seats}),
            None => {
                let mut best = self.stage.shows[show].best(count, &mut self.plan.rng);
                best["show"] = json!(id);
                best
            }
        };
        let legs = self.stage.shows[show].legs(&body);
        let call = LoadHttpCall::post(format!("/v1/orders/{}/exchange", order.id), body)
            .bearer(&order.key)
            .key(&self.key("exchange"));
        let record_fields = |answer: Option<&LoadHttpAnswer>| {
            let document = answer
                .filter(|answer| answer.is_ok())
                .map(LoadHttpAnswer::json);
            let document = document.unwrap_or_default();
            fields(json!({
                "order": order.id, "show": id, "wanted": wanted, "quantity": count, "successor": document["order"],
                "amount": document["payment"]["amount"]["amount"], "state": document["state"], "legs": legs,
            }))
        };
        let at_once = self.rolls(self.stage.scenario.behaviour.exchange_at_once);
        let answer = if at_once {
            self.all_at_once(order, &id, (&call, &record_fields))
                .await?
        } else {
            let answer = self.call("exchange", &call, 0.2, record_fields).await?;
            match answer.is_ok() && self.rolls(TWICE) {
                true => self.call("exchange", &call, 0.0, record_fields).await?,
                false => answer,
            }
        };
        let code = answer.code();
        match (answer.status, code.as_deref()) {
            (200, _) => Ok(Some(answer.json())),
            // Another call of this visitor began to exchange the order first.
            (409, Some("exchange_open" | "not_exchangeable")) if at_once => Ok(None),
            // With these seats the shared card would exceed its limit for that show.
            (409 | 422, Some("card_limit" | "limit_exceeded")) if self.shared_card.is_some() => {
                Ok(None)
            }
            (409, Some("seats_taken" | "best_available_not_found" | "show_cancelled"))
            // The best seats may be the ones that the visitor already has.
            | (422, Some("would_orphan" | "nothing_to_exchange" | "payment_refused")) => Ok(None),
            // The promoter cancelled the show before the exchange.
            (409, Some("not_exchangeable")) if self.stage.is_cancelled(order.show) => Ok(None),
            _ => Err(Self::unforeseen("exchange", &answer)),
        }
    }

    /// Asks for one exchange several times at once, each time with another key. Then tries to order
    /// the hold of each call, with an id that it derives from the call. Returns the answer of a
    /// call that succeeded, or of any call if none did.
    async fn all_at_once(
        &mut self,
        order: &VisitorOrder,
        show: &str,
        (call, record_fields): (
            &LoadHttpCall,
            &(impl Fn(Option<&LoadHttpAnswer>) -> Map<String, Value> + Send + Sync),
        ),
    ) -> VisitorResult<LoadHttpAnswer> {
        let mut calls: Vec<(LoadHttpCall, CallRecordFields<'_>)> = Vec::new();
        for _ in 0..AT_ONCE {
            let call = call.clone().key(&self.key("exchange"));
            calls.push((call, Box::new(record_fields)));
        }
        let keys: Vec<String> = calls
            .iter()
            .filter_map(|(call, _)| call.key.clone())
            .collect();
        let mut answers = self.at_once("exchange", calls, 0.2).await?;
        for key in keys {
            let hold = derived_hold_id(show, &order.id, &key);
            self.order_foreign_hold(hold).await?;
        }
        answers.sort_by_key(|answer| !answer.is_ok());
        Ok(answers.swap_remove(0))
    }

    /// Returns the new order, or `None` if it has already run out. Reads the key of the new order
    /// from the old order.
    async fn successor(
        &mut self,
        old: &VisitorOrder,
        document: &Value,
        show: usize,
    ) -> VisitorResult<Option<VisitorOrder>> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let exchange = self.read(old, 0.0).await?["exchange"].clone();
        if exchange["order"] != document["order"] {
            return Err(VisitorOutcome::Failed(
                "an order does not name the one it was exchanged for".to_owned(),
            ));
        }
        let payment = &document["payment"];
        let new = VisitorOrder {
            id: text(&document["order"]),
            key: text(&exchange["order_key"]),
            show,
            payment: text(&payment["payment"]),
            client_secret: text(&payment["client"]["client_secret"]),
            pay_until_ms: document["pay_until"]
                .as_str()
                .and_then(rfc3339_ms)
                .unwrap_or(self.at_ms),
        };
        // The answer may have arrived only after the new order ran out.
        Ok((document["state"] != "expired").then_some(new))
    }
}
