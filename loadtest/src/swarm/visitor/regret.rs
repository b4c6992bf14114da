//! Decides what visitors do with their tickets: keep them, have them scanned, exchange them, or
//! give them back for a refund. Also gives tickets back, all at once or one by one.

use rand::RngExt;
use rand::seq::SliceRandom;
use serde_json::json;

use super::pay::VisitorOrder;
use super::{Visitor, VisitorOutcome, VisitorResult, fields};
use crate::http::{LoadHttpAnswer, LoadHttpCall};

/// The share of visitors who give tickets back one by one. The others give all tickets of the order
/// back at once.
const ONE_BY_ONE: f64 = 0.5;
/// The share of refunds, exchanges and scans that are repeated with the same key.
pub(super) const TWICE: f64 = 0.25;

/// What a visitor decides to do with its tickets.
enum TicketDecision {
    Keep,
    GoIn,
    GiveBack,
    Exchange,
}

impl Visitor {
    /// Keeps the tickets, has them scanned, gives them back, or exchanges them. Only a failure
    /// changes the visitor's outcome, which is otherwise `Ticketed`.
    pub(super) async fn think_better(
        &mut self,
        order: &VisitorOrder,
        tickets: &[String],
    ) -> VisitorResult<()> {
        let outcome = match self.decide_on_tickets() {
            TicketDecision::Keep => Ok(()),
            TicketDecision::GoIn => self.go_in(order, tickets).await,
            TicketDecision::GiveBack => self.give_back(order, tickets).await,
            TicketDecision::Exchange => self.exchange_tickets(order, tickets.len()).await,
        };
        match outcome {
            Err(VisitorOutcome::Failed(why)) => Err(VisitorOutcome::Failed(why)),
            _ => Ok(()),
        }
    }

    fn decide_on_tickets(&mut self) -> TicketDecision {
        let behaviour = self.stage.scenario.behaviour.clone();
        if self.rolls(behaviour.give_back) {
            TicketDecision::GiveBack
        } else if self.rolls(behaviour.exchange) {
            TicketDecision::Exchange
        } else if self.rolls(behaviour.scan) {
            TicketDecision::GoIn
        } else {
            TicketDecision::Keep
        }
    }

    pub(super) async fn give_back(
        &mut self,
        order: &VisitorOrder,
        tickets: &[String],
    ) -> VisitorResult<()> {
        if tickets.len() < 2 || !self.rolls(ONE_BY_ONE) {
            return self.refund(order, None).await;
        }
        let mut to_return = tickets.to_vec();
        to_return.shuffle(&mut self.plan.rng);
        // A visitor may give back all of its tickets one by one.
        let count = self.plan.rng.random_range(1..=to_return.len());
        for ticket in to_return.into_iter().take(count) {
            self.refund(order, Some(ticket)).await?;
        }
        Ok(())
    }

    /// Gives one ticket or all tickets back for a refund, and then reads the order.
    async fn refund(&mut self, order: &VisitorOrder, ticket: Option<String>) -> VisitorResult<()> {
        let think_s = self.stage.scenario.behaviour.give_back_s;
        let think_s = think_s.draw(&mut self.plan.rng);
        let named_tickets = ticket.map(|ticket| [ticket]);
        let body = match &named_tickets {
            Some(named_tickets) => json!({ "tickets": named_tickets }),
            None => json!({}),
        };
        let call = LoadHttpCall::post(format!("/v1/orders/{}/refund", order.id), body)
            .bearer(&order.key)
            .key(&self.key("refund"));
        self.refund_once(order, &call, &named_tickets, think_s)
            .await?;
        if self.rolls(TWICE) {
            self.refund_once(order, &call, &named_tickets, 0.0).await?;
        }
        self.read(order, 0.1).await.map(drop)
    }

    async fn refund_once(
        &mut self,
        order: &VisitorOrder,
        call: &LoadHttpCall,
        named_tickets: &Option<[String; 1]>,
        think_s: f64,
    ) -> VisitorResult<()> {
        let id = order.id.clone();
        let answer = self
            .call("refund", call, think_s, |answer| {
                let document = answer
                    .filter(|answer| answer.is_ok())
                    .map(LoadHttpAnswer::json);
                let state = document.unwrap_or_default()["state"].clone();
                fields(json!({"order": id, "named": named_tickets, "state": state}))
            })
            .await?;
        if answer.is_ok() {
            Ok(())
        } else {
            Err(Self::unforeseen("refund", &answer))
        }
    }
}
