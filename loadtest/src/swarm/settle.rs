//! After the crowd: waits until nothing is left to wait for. Buyers who went before they saw how
//! their payment ended come back for it, and say yes or no where other seats are offered for late
//! money.

use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};

use super::promoter;
use super::socket::SwarmSeatSnapshot;
use super::stage::{SwarmContext, SwarmPaidOrder};
use crate::http::LoadHttpCall;
use crate::rig::Rig;

/// Baskets and orders that were left behind are waited for at most this long.
const SETTLE_MAX_S: f64 = 120.0;
/// What is still held or undecided after that, for at most this long.
const HELD_MAX_S: f64 = 30.0;
/// How often somebody looks.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// Waits until baskets and orders that were left behind have ended and all money is decided;
/// returns when, or nothing where some of it never was.
pub async fn settle(stage: &SwarmContext, rig: Option<&Rig>, promoter_key: &str) -> Option<f64> {
    let now_ms = stage.clock.now_ms();
    let wait_s = ((stage.lapses_ms() - now_ms) / 1e3).clamp(0.0, SETTLE_MAX_S);
    tokio::time::sleep(Duration::from_secs_f64(wait_s)).await;
    let give_up_ms = stage.clock.now_ms() + HELD_MAX_S * 1e3;
    while stage.clock.now_ms() < give_up_ms {
        let stripe = rig.and_then(Rig::stripe);
        let undecided = stripe.is_some_and(|stripe| stripe.undecided() > 0);
        // In this order: whoever says no frees seats, and money that comes last goes back last.
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

/// Whether all that is to go back has gone, where anything may.
async fn went_back(stage: &SwarmContext, key: &str) -> bool {
    !stage.scenario.gives_back() || promoter::all_went_back(stage, key).await
}

/// How many cells are held, as far as it can be read.
async fn held_cells(stage: &SwarmContext) -> usize {
    let mut held = 0;
    for show in &stage.shows {
        match read_seats(stage, &show.id).await {
            Ok(snapshot) => held += snapshot.counts()[1],
            // Not now, perhaps a moment later.
            Err(_) => held += 1,
        }
    }
    held
}

/// Whether every order that was paid is at its end.
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

/// Reads an order as its buyer would, and answers what it asks; whether it is at its end.
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

/// Every other buyer takes the seats that late money is offered in place of its own.
pub fn accepts(who: usize) -> bool {
    who.is_multiple_of(2)
}

/// Whether nothing more becomes of an order that was paid, as it is read. Money that the ledger has
/// not heard of may come still; how long that is waited for is the provider's books' to say.
pub fn is_over(order: &Value) -> bool {
    let money = order["payment"]["state"].as_str().unwrap_or_default();
    match order["state"].as_str().unwrap_or_default() {
        "ticketed" | "refunded" | "partly_refunded" | "exchanged" => true,
        "expired" | "cancelled" | "capture_failed" => !matches!(money, "authorised" | "captured"),
        _ => false,
    }
}

/// The seats of a show as they are now.
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
