//! Waits after the crowd until nothing is left to wait for. Buyers who left before they saw how
//! their payment ended read the order again, and accept or refuse other seats if these are offered
//! for late money.

use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};

use super::promoter;
use super::socket::SwarmSeatSnapshot;
use super::stage::{SwarmContext, SwarmPaidOrder};
use crate::http::LoadHttpCall;
use crate::rig::Rig;

/// The longest wait for baskets and orders that were left behind, in seconds.
const SETTLE_MAX_S: f64 = 120.0;
/// The longest wait after that for anything still held or undecided, in seconds.
const HELD_MAX_S: f64 = 30.0;
/// The time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// Waits until all baskets and orders that were left behind have ended and all money is decided.
/// Returns when that was, or `None` if some of it never was.
pub async fn settle(stage: &SwarmContext, rig: Option<&Rig>, promoter_key: &str) -> Option<f64> {
    let now_ms = stage.clock.now_ms();
    let wait_s = ((stage.lapses_ms() - now_ms) / 1e3).clamp(0.0, SETTLE_MAX_S);
    tokio::time::sleep(Duration::from_secs_f64(wait_s)).await;
    let give_up_ms = stage.clock.now_ms() + HELD_MAX_S * 1e3;
    while stage.clock.now_ms() < give_up_ms {
        let stripe = rig.and_then(Rig::stripe);
        let undecided = stripe.is_some_and(|stripe| stripe.undecided() > 0);
        // The order matters: a buyer who refuses frees seats, and the money that comes last goes
        // back last.
        if all_seen_through(stage).await
            && held_cells(stage).await == 0
            && !undecided
            && went_back(stage, promoter_key).await
        {
            return Some(stage.clock.now_ms());
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    None
}

/// Returns whether all refunds are done, if the scenario has any.
async fn went_back(stage: &SwarmContext, key: &str) -> bool {
    !stage.scenario.gives_back() || promoter::all_went_back(stage, key).await
}

/// Returns how many cells are held, as far as they can be read.
async fn held_cells(stage: &SwarmContext) -> usize {
    let mut held = 0;
    for show in &stage.shows {
        match read_seats(stage, &show.id).await {
            Ok(snapshot) => held += snapshot.counts()[1],
            // The seats may be readable at the next try.
            Err(_) => held += 1,
        }
    }
    held
}

/// Returns whether every order that was paid has reached its end.
async fn all_seen_through(stage: &SwarmContext) -> bool {
    let mut all = true;
    for paid in stage.not_seen_through() {
        if see_through(stage, &paid).await.unwrap_or(false) {
            stage.seen_through(&paid.order);
        } else {
            all = false;
        }
    }
    all
}

/// Reads an order as its buyer would, and accepts or refuses an offer of other seats. Returns
/// whether the order has reached its end.
async fn see_through(stage: &SwarmContext, paid: &SwarmPaidOrder) -> Result<bool, String> {
    let path = format!("/v1/orders/{}", paid.order);
    let read = LoadHttpCall::get(path.clone()).bearer(&paid.key);
    let said = stage.http.send(&read, paid.who).await?.json();
    if said["state"] == "awaiting_consent" {
        let body = json!({ "accept": accepts(paid.who) });
        let call = LoadHttpCall::post(format!("{path}/consent"), body).bearer(&paid.key);
        stage.http.send(&call, paid.who).await?;
        return Ok(false);
    }
    Ok(is_over(&said))
}

/// Returns whether this buyer accepts the seats that late money is offered in place of its own.
/// Every other buyer does.
pub fn accepts(who: usize) -> bool {
    who.is_multiple_of(2)
}

/// Returns whether a paid order, as it was read, has reached its final state. Money that the ledger
/// has not heard of may still come; the provider's books tell how long to wait for that.
pub fn is_over(order: &Value) -> bool {
    let money = order["payment"]["state"].as_str().unwrap_or_default();
    match order["state"].as_str().unwrap_or_default() {
        "ticketed" | "refunded" | "partly_refunded" | "exchanged" => true,
        "expired" | "cancelled" | "capture_failed" => !matches!(money, "authorised" | "captured"),
        _ => false,
    }
}

/// Reads the seats of a show as they are now.
///
/// # Errors
/// Where they cannot be read.
pub async fn read_seats(stage: &SwarmContext, show: &str) -> anyhow::Result<SwarmSeatSnapshot> {
    let call = LoadHttpCall::get(format!("/v1/shows/{show}/seats"));
    let answer = stage
        .http
        .send(&call, 0)
        .await
        .map_err(anyhow::Error::msg)?;
    let snapshot = SwarmSeatSnapshot::read(&answer.body).filter(|_| answer.is_ok());
    snapshot.with_context(|| format!("the seats of {show} could not be read in the end"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_over_when_its_money_is_where_it_belongs() {
        for (state, money, over) in [
            ("pending", "created", false),
            ("confirmed", "authorised", false),
            ("ticketed", "captured", true),
            ("expired", "created", true),
            ("expired", "authorised", false),
            ("expired", "captured", false),
            ("expired", "voided", true),
            ("awaiting_consent", "authorised", false),
            ("cancelled", "refunded", true),
            ("cancelled", "captured", false),
        ] {
            let order = json!({"state": state, "payment": {"state": money}});
            assert_eq!(is_over(&order), over, "{state} {money}");
        }
    }
}
