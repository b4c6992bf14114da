//! Misuses the system. A visitor tries to order another visitor's hold, or a hold whose id it
//! derived. It sends two bodies with one key, or exchanges one order several times at once. The
//! judge checks the answers.

use futures_util::future::join_all;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{Visitor, VisitorOutcome, VisitorResult, fields};
use crate::http::{LoadHttpAnswer, LoadHttpCall};

/// A function that returns the fields of a call's record, from the call's answer.
pub(super) type CallRecordFields<'a> =
    Box<dyn Fn(Option<&LoadHttpAnswer>) -> Map<String, Value> + Send + Sync + 'a>;

impl Visitor {
    /// Makes several calls at once, and sends them to the gateways in turn. Returns the answers in
    /// the order of the calls.
    pub(super) async fn at_once(
        &mut self,
        op: &'static str,
        calls: Vec<(LoadHttpCall, CallRecordFields<'_>)>,
        think_s: f64,
    ) -> VisitorResult<Vec<LoadHttpAnswer>> {
        let intended_ms = self.at_ms + think_s * 1e3;
        let (stage, visitor) = (std::sync::Arc::clone(&self.stage), self.plan.visitor);
        let sending = calls
            .into_iter()
            .enumerate()
            .map(|(turn, (call, record_fields))| {
                let mut rng = ChaCha8Rng::seed_from_u64(self.plan.rng.random());
                let (stage, call) = (&stage, call.turned(turn));
                async move {
                    let answer =
                        stage.call(visitor, op, &call, intended_ms, &mut rng, record_fields);
                    answer.await.map_err(VisitorOutcome::from)
                }
            });
        let answers = join_all(sending.collect::<Vec<_>>()).await;
        self.at_ms = self.stage.clock.now_ms();
        answers.into_iter().collect()
    }

    /// Tries to order a hold that was not given to the visitor. Here, only a server error is a
    /// failure.
    pub(super) async fn order_foreign_hold(&mut self, hold: String) -> VisitorResult<()> {
        let buyer = json!({"buyer": {"name": "Somebody else", "email": "else@example.org"}});
        let call = LoadHttpCall::post(format!("/v1/holds/{hold}/order"), buyer)
            .bearer(&self.pass)
            .key(&self.key("foreign"));
        let record_fields = |_: Option<&LoadHttpAnswer>| fields(json!({ "hold": hold }));
        let answer = self
            .call("foreign_order", &call, 0.05, record_fields)
            .await?;
        match answer.status {
            // The judge decides whether the order was allowed.
            200..500 => Ok(()),
            _ => Err(Self::unforeseen("foreign_order", &answer)),
        }
    }

    /// Tries to order one of the newest holds of other visitors, if there is one.
    pub(super) async fn try_foreign_hold(&mut self) -> VisitorResult<()> {
        let foreign_holds = self.stage.holds_of_others(self.plan.visitor);
        if foreign_holds.is_empty() {
            return Ok(());
        }
        let index = self.plan.rng.random_range(0..foreign_holds.len());
        self.order_foreign_hold(foreign_holds[index].clone()).await
    }
}

/// Derives a hold id for an exchange from the show, the order and the key of the call, without any
/// secret. The system must not use ids that can be derived in this way.
pub(super) fn derived_hold_id(show: &str, order: &str, key: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(b"fairgate/id/v1/hold");
    for part in ["exchange", order, key] {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    format!("hold_{show}_{}", hex::encode(&hasher.finalize()[..16]))
}
