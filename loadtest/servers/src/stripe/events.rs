//! Sends signed events with random faults. The signature covers the raw body. An event is sent
//! again until a receiver accepts it, or until there were too many tries.

use std::time::{Duration, SystemTime};

use hmac::{Hmac, KeyInit, Mac};
use rand::RngExt;
use serde_json::json;
use sha2::Sha256;

use super::{FakeStripeServer, STRIPE_WEBHOOK_SECRET};

/// The wait before an event is sent again. Stripe waits for hours, but a run lasts only seconds.
const AGAIN: Duration = Duration::from_millis(200);
/// The most tries to send an event.
const TRIES: usize = 100;

impl FakeStripeServer {
    /// Sends an event about an intent, with random faults.
    pub(super) fn send_event(&self, kind: &'static str, id: &str) {
        let (body, delays) = {
            let mut inner = self.inner.lock();
            inner.next += 1;
            let event = format!("evt_{}", inner.next);
            let Some(intent) = inner.intents.get(id) else {
                return;
            };
            let object = match kind {
                "charge.refunded" => intent.charge(id),
                "refund.failed" => intent.last_refund(id),
                kind if kind.starts_with("charge.dispute.") => intent.last_dispute(id),
                _ => intent.intent_json(id, false),
            };
            let chaos = inner.chaos;
            let (sent, again) = (
                !inner.fault_happens(chaos.drop_pct),
                inner.fault_happens(chaos.twice_pct),
            );
            let times = usize::from(sent) + usize::from(again);
            let delays: Vec<u64> = (0..times)
                .map(|_| inner.dice.random_range(0..=chaos.delay_ms_max))
                .collect();
            let body = json!({
                "id": event, "type": kind, "created": now_s(), "data": { "object": object },
            });
            inner.events.push(body.clone());
            (body.to_string(), delays)
        };
        for delay_ms in delays {
            let (stripe, body) = (self.clone(), body.clone());
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(delay_ms)).await;
                stripe.deliver(body).await;
            });
        }
    }

    async fn deliver(&self, body: String) {
        for turn in 0..TRIES {
            let (hooks, away) = {
                let inner = self.inner.lock();
                (inner.hooks.clone(), inner.chaos.away)
            };
            if hooks.is_empty() {
                return;
            }
            if !away && self.is_accepted(&hooks[turn % hooks.len()], &body).await {
                return;
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    async fn is_accepted(&self, hook: &str, body: &str) -> bool {
        let signature = sign(body, now_s());
        let sent = self
            .client
            .post(hook)
            .header("stripe-signature", signature)
            .body(body.to_owned())
            .timeout(Duration::from_secs(10));
        let answer = sent.send().await;
        answer.is_ok_and(|answer| answer.status().is_success())
    }
}

/// Returns the seconds since the epoch.
fn now_s() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}

/// Returns the value of the signature header, `t=UNIX_SECONDS,v1=HEX`. The signature covers the
/// seconds, a dot and the body. The code follows Stripe's description. It is not shared with
/// booking, so that a mistake in booking is not repeated here.
fn sign(body: &str, at_s: u64) -> String {
    let mut mac = <Hmac<Sha256>>::new_from_slice(STRIPE_WEBHOOK_SECRET.as_bytes())
        .expect("HMAC takes a key of any length");
    mac.update(format!("{at_s}.{body}").as_bytes());
    format!("t={at_s},v1={}", hex::encode(mac.finalize().into_bytes()))
}
