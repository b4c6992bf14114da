//! Waits on a show's waitlist for seats that become free, and buys the seats that the visitor is
//! offered.

use hyper::Method;
use serde_json::{Map, Value, json};

use super::basket::{OUT_OF_SEATS, VisitorBasket};
use super::pay::BasketOutcome;
use super::{Visitor, VisitorOutcome, VisitorResult, fields};
use crate::http::{LoadHttpAnswer, LoadHttpCall};
use crate::swarm::clock::rfc3339_ms;

/// The time until a visitor reads its place on the waitlist again, in seconds. It applies only if
/// the answer names no time.
const ASK_AGAIN_S: f64 = 5.0;

impl Visitor {
    /// Waits for seats and buys them. The visitor takes the first offer. Without an offer, it
    /// leaves the waitlist after a random time.
    pub(super) async fn wait_for_seats(
        &mut self,
        show: usize,
        party: usize,
    ) -> VisitorResult<VisitorOutcome> {
        let waits_s = self.stage.scenario.behaviour.waitlist_s;
        let leave_ms = self.at_ms + waits_s.draw(&mut self.plan.rng) * 1e3;
        let mut document = self.join_waitlist(show, party).await?;
        loop {
            match document["state"].as_str() {
                Some("offered") => return self.take_offer(show, &document["offer"]).await,
                Some("ended") => return Err(waited_in_vain(&document)),
                _ => {}
            }
            let again_s = document["refresh_s"].as_f64().unwrap_or(ASK_AGAIN_S);
            if self.at_ms + again_s * 1e3 > leave_ms {
                return self.leave_waitlist(show).await;
            }
            let call = LoadHttpCall::get(self.waitlist_path(show)).bearer(&self.pass);
            let answer = self.call_about_waitlist(show, &call, again_s).await?;
            if answer.status != 200 {
                return Err(Self::unforeseen("wait", &answer));
            }
            document = answer.json();
        }
    }

    fn waitlist_path(&self, show: usize) -> String {
        format!("/v1/shows/{}/waitlist", self.stage.shows[show].id)
    }

    async fn call_about_waitlist(
        &mut self,
        show: usize,
        call: &LoadHttpCall,
        think_s: f64,
    ) -> VisitorResult<LoadHttpAnswer> {
        let id = self.stage.shows[show].id.clone();
        self.call("wait", call, think_s, |answer| waited_fields(&id, answer))
            .await
    }

    async fn join_waitlist(&mut self, show: usize, party: usize) -> VisitorResult<Value> {
        let wish = self.stage.shows[show].waitlist_wish(party, &mut self.plan.rng);
        loop {
            let join = LoadHttpCall::post(self.waitlist_path(show), wish.clone())
                .bearer(&self.pass)
                .key(&self.key("wait"));
            let answer = self.call_about_waitlist(show, &join, 0.0).await?;
            let document = answer.json();
            match (answer.status, document["code"].as_str()) {
                (200 | 201, _) => {
                    self.note(|person| person.waitlisted = true);
                    return Ok(document);
                }
                (409, Some("nothing_to_wait_for")) => return Err(waited_in_vain(&document)),
                // The party wants more seats than one visitor may have.
                (422, Some("limit_exceeded")) => return Err(OUT_OF_SEATS),
                (401, Some("pass_expired")) | (429, Some("waiting_room")) => self.claim().await?,
                _ => return Err(Self::unforeseen("wait", &answer)),
            }
        }
    }

    async fn leave_waitlist(&mut self, show: usize) -> VisitorResult<VisitorOutcome> {
        let id = self.stage.shows[show].id.clone();
        let leave = LoadHttpCall::new(Method::DELETE, self.waitlist_path(show)).bearer(&self.pass);
        let answer = self
            .call("stop_waiting", &leave, 0.0, |_| fields(json!({"show": id})))
            .await?;
        match answer.status {
            204 => Err(OUT_OF_SEATS),
            _ => Err(Self::unforeseen("stop_waiting", &answer)),
        }
    }

    async fn take_offer(&mut self, show: usize, offer: &Value) -> VisitorResult<VisitorOutcome> {
        let basket = VisitorBasket {
            hold: offer["hold"].as_str().unwrap_or_default().to_owned(),
            show,
            seats: offer["seats"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|label| label.as_str().map(str::to_owned))
                .collect(),
            expires_ms: offer["expires_at"]
                .as_str()
                .and_then(rfc3339_ms)
                .unwrap_or_default(),
        };
        self.note(|person| person.held = true);
        match self.order_and_pay(&basket).await? {
            BasketOutcome::Done(end) => Ok(end),
            BasketOutcome::BasketGone => Err(OUT_OF_SEATS),
        }
    }
}

/// Returns the outcome of a visitor who waited in vain.
fn waited_in_vain(document: &Value) -> VisitorOutcome {
    if document["reason"] == "cancelled" {
        VisitorOutcome::ShowCancelled
    } else {
        OUT_OF_SEATS
    }
}

/// Returns the fields with which the history records a call about a waitlist.
fn waited_fields(show: &str, answer: Option<&LoadHttpAnswer>) -> Map<String, Value> {
    let answer = answer.filter(|answer| answer.is_ok());
    let document = answer.map(LoadHttpAnswer::json).unwrap_or_default();
    fields(json!({"show": show, "waiter": document["waiter"]}))
}
