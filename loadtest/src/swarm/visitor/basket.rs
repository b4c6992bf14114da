//! Puts seats into a basket. Reads the show and its seats, picks seats and holds them. Also changes
//! a basket, or gives it back.

use hyper::Method;
use rand::seq::IteratorRandom;
use serde_json::{Value, json};

use super::foul::CallRecordFields;
use super::{Visitor, VisitorOutcome, VisitorResult, fields};
use crate::http::{LoadHttpAnswer, LoadHttpCall};
use crate::swarm::clock::rfc3339_ms;
use crate::swarm::socket::{SwarmSeatSnapshot, SwarmSocketCommand};

/// A hold that a visitor has.
#[derive(Debug, Clone, PartialEq)]
pub struct VisitorBasket {
    /// The id of the hold, such as `hold_…`.
    pub hold: String,
    /// The index of the show among the room's shows.
    pub show: usize,
    /// The labels of the seats.
    pub seats: Vec<String>,
    /// The basket's deadline, in milliseconds since the epoch.
    pub expires_ms: f64,
}

/// The result of asking for seats.
pub(super) enum VisitorHoldResult {
    /// The seats are held.
    Held(VisitorBasket),
    /// The seats cannot be held, for example because another visitor has them. The answer may
    /// suggest other seats.
    Refused { suggestion: Option<Value> },
    /// The pass has run out.
    PassOver,
}

impl Visitor {
    /// Reads the show, and watches its seats on the socket if the visitor has one.
    pub(super) async fn browse(&mut self, show: usize) -> VisitorResult<()> {
        let id = self.stage.shows[show].id.clone();
        if let Some(socket) = &self.socket {
            socket.send_command(SwarmSocketCommand::Watch(id.clone()));
        }
        let look = LoadHttpCall::get(format!("/v1/shows/{id}"));
        self.call("show", &look, 0.0, |_| fields(json!({"show": id})))
            .await?;
        Ok(())
    }

    /// Reads the current states of the show's seats.
    pub(super) async fn seats(
        &mut self,
        show: usize,
        think_s: f64,
    ) -> VisitorResult<SwarmSeatSnapshot> {
        let id = self.stage.shows[show].id.clone();
        let look = LoadHttpCall {
            accept: Some("application/octet-stream"),
            ..LoadHttpCall::get(format!("/v1/shows/{id}/seats"))
        };
        let answer = self
            .call("seats", &look, think_s, |_| fields(json!({"show": id})))
            .await?;
        let snapshot = SwarmSeatSnapshot::read(&answer.body).filter(|_| answer.is_ok());
        snapshot.ok_or_else(|| Self::unforeseen("seats", &answer))
    }

    /// Picks a free seat at random, and the next free seats in the seat map. Returns their labels.
    /// Returns fewer labels than `party` if not enough free seats follow. If the scenario names
    /// wanted seats, returns those instead.
    pub(super) fn pick(
        &mut self,
        show: usize,
        picture: &SwarmSeatSnapshot,
        party: usize,
    ) -> Vec<String> {
        let wanted = &self.stage.scenario.behaviour.wanted;
        if !wanted.is_empty() {
            return wanted.clone();
        }
        let show = &self.stage.shows[show];
        let is_free = |seat: &usize| picture.state(*seat) == 0 && show.by_label[*seat];
        let first = (0..show.labels.len())
            .filter(is_free)
            .choose(&mut self.plan.rng);
        let Some(first) = first else {
            return Vec::new();
        };
        (first..show.labels.len())
            .filter(is_free)
            .take(party)
            .map(|seat| show.labels[seat].clone())
            .collect()
    }

    /// Asks for seats once. `body` has the form of the contract's `POST …/holds`. Some visitors
    /// send another body with the same key at the same time.
    pub(super) async fn hold(
        &mut self,
        show: usize,
        body: Value,
        think_s: f64,
    ) -> VisitorResult<VisitorHoldResult> {
        let id = self.stage.shows[show].id.clone();
        let wanted = body.get("seats").cloned();
        let legs = self.stage.shows[show].legs(&body);
        let asked = if wanted.is_some() {
            "seats"
        } else if body.get("areas").is_some() {
            "areas"
        } else {
            "best"
        };
        let quantity = body["best"]["quantity"].clone();
        let named_count = wanted.as_ref().and_then(Value::as_array).map(Vec::len);
        let quantity = named_count.map_or(quantity, |count| json!(count));
        let call = LoadHttpCall::post(format!("/v1/shows/{id}/holds"), body)
            .bearer(&self.pass)
            .key(&self.key("hold"));
        let record_fields =
            |asked: &'static str, wanted: Option<Value>, quantity: Value| -> CallRecordFields<'_> {
                let (id, legs) = (&id, &legs);
                Box::new(move |answer| {
                    let mut record = fields(held_fields(answer));
                    record.extend(fields(json!({
                        "show": id, "asked": asked, "wanted": wanted, "quantity": quantity,
                    })));
                    if let Some(legs) = legs {
                        record.insert("legs".to_owned(), json!(legs));
                    }
                    record
                })
            };
        let first = record_fields(asked, wanted, quantity);
        let twofold = self.rolls(self.stage.scenario.behaviour.two_bodies) && legs.is_none();
        let answer = if twofold {
            let other = LoadHttpCall {
                body: Some(json!({"best": {"quantity": 1}})),
                ..call.clone()
            };
            let second = record_fields("best", None, json!(1));
            let calls = vec![(call, first), (other, second)];
            let answers = self.at_once("hold", calls, think_s).await?;
            one_of(answers)
        } else {
            self.call("hold", &call, think_s, first).await?
        };
        self.hold_result(show, &answer)
    }

    /// Returns what the answer to a hold means for the visitor.
    fn hold_result(
        &self,
        show: usize,
        answer: &LoadHttpAnswer,
    ) -> VisitorResult<VisitorHoldResult> {
        let document = answer.json();
        match (answer.status, document["code"].as_str()) {
            (201, _) => {
                self.note(|person| person.held = true);
                self.stage.note_given_hold(
                    self.plan.visitor,
                    document["hold"].as_str().unwrap_or_default(),
                );
                Ok(VisitorHoldResult::Held(basket(&document, show)))
            }
            (409, Some("seats_taken" | "best_available_not_found"))
            | (422, Some("would_orphan")) => Ok(VisitorHoldResult::Refused {
                suggestion: document.get("suggestion").cloned(),
            }),
            (409, Some("show_cancelled")) => Err(VisitorOutcome::ShowCancelled),
            // The call with the other body and the same key came first, and was refused.
            (422, Some("idempotency_mismatch")) => {
                Ok(VisitorHoldResult::Refused { suggestion: None })
            }
            (401, Some("pass_expired")) | (429, Some("waiting_room")) => {
                Ok(VisitorHoldResult::PassOver)
            }
            _ => Err(Self::unforeseen("hold", answer)),
        }
    }

    /// Swaps the first seat for another one. If the swap fails, returns the same basket. Returns
    /// `None` if the basket has run out.
    pub(super) async fn change(
        &mut self,
        basket: VisitorBasket,
    ) -> VisitorResult<Option<VisitorBasket>> {
        let picture = self.seats(basket.show, 0.0).await?;
        let add = self.pick(basket.show, &picture, 1);
        let remove = basket.seats.first().cloned();
        let body = json!({"add": add, "remove": [remove]});
        let (hold, swap) = (basket.hold.clone(), body.clone());
        let call = LoadHttpCall {
            body: Some(body),
            ..LoadHttpCall::new(Method::PATCH, format!("/v1/holds/{hold}"))
        }
        .bearer(&self.pass);
        let answer = self
            .call("change", &call, 0.3, |answer| {
                let mut record = fields(held_fields(answer));
                record.extend(fields(json!({
                    "hold": hold, "add": swap["add"], "remove": swap["remove"],
                })));
                record
            })
            .await?;
        let document = answer.json();
        match (answer.status, document["code"].as_str()) {
            (200, _) => Ok(Some(self::basket(&document, basket.show))),
            (410, _) => Ok(None),
            (409, Some("show_cancelled")) => {
                self.leave_basket(&basket);
                Err(VisitorOutcome::ShowCancelled)
            }
            // This also happens if the first answer to a swap was lost. At the retry, the seat to
            // remove is no longer in the basket.
            (409 | 422, _) => Ok(Some(basket)),
            _ => Err(Self::unforeseen("change", &answer)),
        }
    }

    /// Gives a basket back.
    pub(super) async fn put_back(&mut self, basket: &VisitorBasket) -> VisitorResult<()> {
        let hold = basket.hold.clone();
        let call =
            LoadHttpCall::new(Method::DELETE, format!("/v1/holds/{hold}")).bearer(&self.pass);
        let answer = self
            .call("drop", &call, 0.3, |_| fields(json!({"hold": hold})))
            .await?;
        match answer.status {
            204 | 410 => Ok(()),
            _ => Err(Self::unforeseen("drop", &answer)),
        }
    }

    /// Notes that a basket is abandoned and will lapse.
    pub(super) fn leave_basket(&self, basket: &VisitorBasket) {
        // The seats stay held for a few more seconds after the deadline that the visitor sees.
        let grace_s = self.stage.scenario.onsale.longest_s("grace_s", 5.0);
        self.stage
            .note_abandoned(basket.expires_ms + (grace_s + 1.0) * 1e3);
    }
}

/// Chooses between the answers to two calls with one key and different bodies. Returns the answer
/// with seats. If there is none, returns the answer that names the reason for the refusal.
fn one_of(answers: Vec<LoadHttpAnswer>) -> LoadHttpAnswer {
    let mut answers = answers;
    answers.sort_by_key(|answer| match answer.code().as_deref() {
        None => 0,
        Some("idempotency_mismatch") => 2,
        Some(_) => 1,
    });
    answers.swap_remove(0)
}

fn basket(document: &Value, show: usize) -> VisitorBasket {
    VisitorBasket {
        hold: document["hold"].as_str().unwrap_or_default().to_owned(),
        show,
        seats: labels(document),
        expires_ms: document["expires_at"]
            .as_str()
            .and_then(rfc3339_ms)
            .unwrap_or_default(),
    }
}

/// Returns the labels of a hold's seats, or of the seats that an order still has.
pub(super) fn labels(document: &Value) -> Vec<String> {
    let seats = document["seats"].as_array().into_iter().flatten();
    seats
        .filter(|seat| seat["refunded"] != true)
        .filter_map(|seat| seat["label"].as_str().map(str::to_owned))
        .collect()
}

fn held_fields(answer: Option<&LoadHttpAnswer>) -> Value {
    let Some(answer) = answer.filter(|answer| answer.is_ok()) else {
        return json!({});
    };
    let document = answer.json();
    json!({
        "hold": document["hold"], "seats": labels(&document),
        "expires_ms": document["expires_at"].as_str().and_then(rfc3339_ms),
    })
}

/// The outcome of a visitor who finds no seats and has no tries left.
pub(super) const OUT_OF_SEATS: VisitorOutcome = VisitorOutcome::NoSeats;
