//! What somebody with tickets thinks better of: giving them back, all at once or one after the
//! other, or having others.

use rand::RngExt;
use rand::seq::SliceRandom;
use serde_json::json;

use super::pay::Order;
use super::{End, Visitor, Way, fields};
use crate::http::{Answer, Call};

/// Of those who give tickets back, so many name them one by one; the others give all of them back
/// at once.
const ONE_BY_ONE: f64 = 0.5;
/// So many press the button twice.
pub(super) const TWICE: f64 = 0.25;

/// What a visitor with tickets wishes.
enum Wish {
    Keep,
    GoIn,
    GiveBack,
    Exchange,
}

impl Visitor {
    /// Keeps its tickets, or does with them what it likes better. They were there, whatever
    /// becomes of that.
    pub(super) async fn think_better(&mut self, order: &Order, tickets: &[String]) -> Way<()> {
        let done = match self.wish() {
            Wish::Keep => Ok(()),
            Wish::GoIn => self.go_in(order, tickets).await,
            Wish::GiveBack => self.give_back(order, tickets).await,
            Wish::Exchange => self.have_others(order, tickets.len()).await,
        };
        match done {
            Err(End::Failed(why)) => Err(End::Failed(why)),
            _ => Ok(()),
        }
    }

    fn wish(&mut self) -> Wish {
        let behaviour = self.stage.scenario.behaviour.clone();
        if self.rolls(behaviour.give_back) {
            Wish::GiveBack
        } else if self.rolls(behaviour.exchange) {
            Wish::Exchange
        } else if self.rolls(behaviour.scan) {
            Wish::GoIn
        } else {
            Wish::Keep
        }
    }

    pub(super) async fn give_back(&mut self, order: &Order, tickets: &[String]) -> Way<()> {
        if tickets.len() < 2 || !self.rolls(ONE_BY_ONE) {
            return self.refund(order, None).await;
        }
        let mut going = tickets.to_vec();
        going.shuffle(&mut self.plan.rng);
        // The last one of an order is as good as the others.
        let count = self.plan.rng.random_range(1..=going.len());
        for ticket in going.into_iter().take(count) {
            self.refund(order, Some(ticket)).await?;
        }
        Ok(())
    }

    /// Gives a ticket back, or all of them, and looks at what is left.
    async fn refund(&mut self, order: &Order, ticket: Option<String>) -> Way<()> {
        let think_s = self.stage.scenario.behaviour.give_back_s;
        let think_s = think_s.draw(&mut self.plan.rng);
        let named = ticket.map(|ticket| [ticket]);
        let body = match &named {
            Some(named) => json!({ "tickets": named }),
            None => json!({}),
        };
        let call = Call::post(format!("/v1/orders/{}/refund", order.id), body)
            .bearer(&order.key)
            .key(&self.key("refund"));
        self.refund_once(order, &call, &named, think_s).await?;
        if self.rolls(TWICE) {
            self.refund_once(order, &call, &named, 0.0).await?;
        }
        self.read(order, 0.1).await.map(drop)
    }

    async fn refund_once(
        &mut self,
        order: &Order,
        call: &Call,
        named: &Option<[String; 1]>,
        think_s: f64,
    ) -> Way<()> {
        let id = order.id.clone();
        let answer = self
            .call("refund", call, think_s, |answer| {
                let said = answer.filter(|answer| answer.is_ok()).map(Answer::json);
                let state = said.unwrap_or_default()["state"].clone();
                fields(json!({"order": id, "named": named, "state": state}))
            })
            .await?;
        if answer.is_ok() {
            Ok(())
        } else {
            Err(Self::unforeseen("refund", &answer))
        }
    }
}
