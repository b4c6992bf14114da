//! Scans tickets at the door. Some scans are repeated with the same key. Some tickets are scanned
//! again with another key.

use serde_json::json;

use super::pay::VisitorOrder;
use super::regret::TWICE;
use super::{Visitor, VisitorResult, fields};
use crate::http::LoadHttpCall;

/// The share of tickets that are scanned again with another key. The second scan must not admit
/// anybody.
const SHOWN_AGAIN: f64 = 0.3;

impl Visitor {
    /// Scans every ticket of an order.
    pub(super) async fn go_in(
        &mut self,
        order: &VisitorOrder,
        tickets: &[String],
    ) -> VisitorResult<()> {
        let think_s = self.stage.scenario.behaviour.give_back_s;
        let mut think_s = think_s.draw(&mut self.plan.rng);
        for ticket in tickets {
            let key = self.key("scan");
            self.scan(order, ticket, &key, think_s).await?;
            think_s = 0.05;
            if self.rolls(TWICE) {
                self.scan(order, ticket, &key, 0.0).await?;
            }
            if self.rolls(SHOWN_AGAIN) {
                let other = self.key("scan");
                self.scan(order, ticket, &other, 0.0).await?;
            }
        }
        Ok(())
    }

    async fn scan(
        &mut self,
        order: &VisitorOrder,
        ticket: &str,
        key: &str,
        think_s: f64,
    ) -> VisitorResult<()> {
        let call = LoadHttpCall::post(format!("/v1/tickets/{ticket}/scan"), json!({}))
            .bearer(&self.stage.keys.door)
            .key(key);
        let of = |_: Option<&_>| fields(json!({"order": order.id, "ticket": ticket}));
        let answer = self.call("scan", &call, think_s, of).await?;
        match (answer.status, answer.code().as_deref()) {
            (200, _) | (409, Some("already_scanned")) => Ok(()),
            // The promoter cancelled the show before the scan.
            (409, Some("ticket_void")) if self.stage.is_cancelled(order.show) => Ok(()),
            _ => Err(Self::unforeseen("scan", &answer)),
        }
    }
}
