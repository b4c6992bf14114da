//! When the crowd is done, waits until no seat is held, all money is decided (captured, released or
//! refunded) and all refunds are done. Some buyers end before they see the final state of their
//! order. This module then reads the order in their place. If a payment came too late and other
//! seats are offered for it, this module accepts or refuses them.

use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};

use super::promoter;
use super::socket::SwarmSeatSnapshot;
use super::stage::{SwarmContext, SwarmPaidOrder};
use crate::http::LoadHttpCall;
use crate::rig::Rig;

/// The longest wait for abandoned baskets and orders to lapse, in seconds.
const SETTLE_MAX_S: f64 = 120.0;
/// The longest wait after that for held seats, undecided money and refunds, in seconds.
const HELD_MAX_S: f64 = 30.0;
/// The time between two checks.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// Waits until no seat is held, all money is decided and all refunds are done. Returns the time at
/// which that was true, or `None` if it took too long.
pub async fn settle(stage: &SwarmContext, rig: Option<&Rig>, promoter_key: &str) -> Option<f64> {
    let now_ms = stage.clock.now_ms();
    let wait_s = ((stage.lapses_ms() - now_ms) / 1e3).clamp(0.0, SETTLE_MAX_S);
    tokio::time::sleep(Duration::from_secs_f64(wait_s)).await;
    let give_up_ms = stage.clock.now_ms() + HELD_MAX_S * 1e3;
    while stage.clock.now_ms() < give_up_ms {
        let stripe = rig.and_then(Rig::stripe);
        let undecided = stripe.is_some_and(|stripe| stripe.undecided() > 0);
        // The order of the checks matters. If a buyer refuses other seats, they become free and the
        // buyer's money is refunded.
        if all_orders_final(stage).await
            && held_cells(stage).await == 0
            && !undecided
            && refunds_done(stage, promoter_key).await
        {
            return Some(stage.clock.now_ms());
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    None
}

/// Returns whether all refunds are done. This is always true if the scenario has none.
async fn refunds_done(stage: &SwarmContext, key: &str) -> bool {
    !stage.scenario.gives_back() || promoter::all_refunds_are_done(stage, key).await
}

/// Returns how many cells are held. A show whose seats cannot be read counts as one held cell.
async fn held_cells(stage: &SwarmContext) -> usize {
    let mut held = 0;
    for show in &stage.shows {
        match read_seats(stage, &show.id).await {
            Ok(snapshot) => held += snapshot.counts()[1],
            // The next check may be able to read the seats.
            Err(_) => held += 1,
        }
    }
    held
}

/// Reads every order that may have been paid and whose final state no one has seen. Returns whether
/// all of these orders have reached their final state.
async fn all_orders_final(stage: &SwarmContext) -> bool {
    let mut all_final = true;
    for paid in stage.unsettled_orders() {
        if see_through(stage, &paid).await.unwrap_or(false) {
            stage.note_final_state(&paid.order);
        } else {
            all_final = false;
        }
    }
    all_final
}

/// Reads an order as its buyer would, and accepts or refuses an offer of other seats. Returns
/// whether the order has reached its final state.
async fn see_through(stage: &SwarmContext, paid: &SwarmPaidOrder) -> Result<bool, String> {
    let path = format!("/v1/orders/{}", paid.order);
    let read = LoadHttpCall::get(path.clone()).bearer(&paid.key);
    let order = stage.http.send(&read, paid.who).await?.json();
    if order["state"] == "awaiting_consent" {
        let body = json!({ "accept": accepts(paid.who) });
        let call = LoadHttpCall::post(format!("{path}/consent"), body).bearer(&paid.key);
        stage.http.send(&call, paid.who).await?;
        return Ok(false);
    }
    Ok(is_over(&order))
}

/// Returns whether this buyer accepts other seats for late money. Buyers with an even number do.
pub fn accepts(buyer: usize) -> bool {
    buyer.is_multiple_of(2)
}

/// Returns whether a paid order, as it was read, has reached its final state. The provider may
/// still have an open payment that the ledger does not know. [`settle`] asks the provider about
/// such payments.
pub fn is_over(order: &Value) -> bool {
    let money = order["payment"]["state"].as_str().unwrap_or_default();
    match order["state"].as_str().unwrap_or_default() {
        "ticketed" | "refunded" | "partly_refunded" | "exchanged" => true,
        "expired" | "cancelled" | "capture_failed" => !matches!(money, "authorised" | "captured"),
        _ => false,
    }
}

/// Reads the current states of a show's seats.
///
/// # Errors
/// If they cannot be read.
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
    fn an_order_is_over_when_its_state_is_final_and_no_money_has_to_go_back() {
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
