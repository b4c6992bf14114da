//! Opens many live sockets for fans, who only wait or watch the seats. Runs buyers beside them.

pub mod buyers;
mod frames;
pub mod sockets;

use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::people;
use crate::http::{LoadHttpCall, LoadHttpClient};
use crate::rig::{Rig, RigComponent, RigFeatures};

/// The room of the fans and the buyers.
pub const ROOM: &str = "sale";
/// The show that the room sells.
pub const SHOW: &str = "night";

/// Starts one gateway with booking inside and a ledger file.
///
/// # Errors
/// Where a process does not become ready.
pub async fn start_rig() -> anyhow::Result<Rig> {
    let features = RigFeatures {
        proxied: true,
        ..RigFeatures::default()
    };
    let spec = "gateways=1,bookings=0,redis=none,ledger=sqlite";
    let spec = spec.parse().map_err(anyhow::Error::msg)?;
    Rig::start_with(spec, features).await
}

/// Stores a show of 20,000 seats and its room. `changes` are further fields of the room's document.
///
/// # Errors
/// Where a document is refused.
pub async fn prepare(http: &LoadHttpClient, key: &str, changes: Value) -> anyhow::Result<()> {
    let hall = json!({"plan": "grid:100x200"});
    people::put(http, key, "venues/hall", hall).await?;
    let show = json!({
        "venue": "hall", "title": "A night", "starts_at": "2099-06-01T20:00:00Z",
        "currency": "EUR", "prices": {"cat1": 1000, "cat2": 1000}, "orphans": "allow",
    });
    people::put(http, key, &format!("shows/{SHOW}"), show).await?;
    people::open_doors(http, key, ROOM, changes).await
}

/// Joins the room as `people` people, each from a network of their own. Returns their signed
/// places.
///
/// # Errors
/// Where a join is refused.
pub async fn join_all(http: &LoadHttpClient, people: usize) -> anyhow::Result<Vec<String>> {
    people::for_everybody(http, people, |http, person| async move {
        let join = LoadHttpCall::post(format!("/v1/rooms/{ROOM}/places"), json!({}));
        let join = join.forwarded(&address_of(person));
        people::text(&people::granted(&http, person, &join).await?, "place")
    })
    .await
}

/// Returns an address in a /24 that only this person has.
pub fn address_of(person: usize) -> String {
    format!("10.{}.{}.5", person >> 8 & 0xff, person & 0xff)
}

/// Returns the processor time that the gateway has used so far, in seconds.
///
/// # Errors
/// Where it cannot be read.
pub fn gateway_cpu_s(rig: &Rig) -> anyhow::Result<f64> {
    let spent = rig.cpu_ms(RigComponent::Gateway(0));
    Ok(spent.context("the gateway's processor time cannot be read")? / 1e3)
}

/// Returns the gateway's resident memory, in bytes.
///
/// # Errors
/// Where it cannot be read.
pub fn gateway_bytes(rig: &Rig) -> anyhow::Result<f64> {
    let resident = rig.resident_mb(RigComponent::Gateway(0));
    Ok(resident.context("the gateway's memory cannot be read")? * 1e6)
}

/// Returns the percentage of a core that the gateway uses in this time.
///
/// # Errors
/// Where its processor time cannot be read.
pub async fn core_percent(rig: &Rig, time: Duration) -> anyhow::Result<f64> {
    let (begun, before_s) = (Instant::now(), gateway_cpu_s(rig)?);
    sleep(time).await;
    let spent = gateway_cpu_s(rig)? - before_s;
    Ok(spent / begun.elapsed().as_secs_f64() * 100.0)
}
