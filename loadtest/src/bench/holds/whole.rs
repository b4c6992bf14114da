//! Measures holds of two seats over HTTP. Visitors with passes call one gateway with booking
//! inside, with Redis and PostgreSQL. The figure has no threshold. It shows how much of the cost of
//! a hold is outside the store.

use std::sync::Arc;
use std::time::Instant;

use serde_json::json;

use crate::bench::people;
use crate::http::{LoadHttpCall, LoadHttpClient};
use crate::rig::Rig;

/// The number of visitors. Each takes one hold.
const VISITORS: usize = 1_500;

/// Returns the number of holds a second.
///
/// # Errors
/// Where the rig does not start, or a call is refused.
pub async fn holds_per_s() -> anyhow::Result<f64> {
    let spec = "gateways=1,bookings=0,redis=single,ledger=postgres".parse();
    let rig = Rig::start(spec.map_err(anyhow::Error::msg)?).await?;
    let http = LoadHttpClient::new(&rig.urls());
    let key = rig.promoter_key();
    people::put(&http, key, "venues/hall", json!({"plan": "grid:50x80"})).await?;
    let show = json!({
        "venue": "hall", "title": "A night", "starts_at": "2099-06-01T20:00:00Z",
        "prices": {"cat1": 9900, "cat2": 4900},
    });
    people::put(&http, key, "shows/night", show).await?;
    people::open_room(&http, key, &["night"], VISITORS).await?;
    let passes: Arc<[String]> = people::passes(&http, VISITORS).await?.into();
    let begun = Instant::now();
    people::for_everybody(&http, VISITORS, move |http, person| {
        let passes = Arc::clone(&passes);
        async move { hold(&http, person, &passes[person]).await }
    })
    .await?;
    let took = begun.elapsed();
    rig.stop().await?;
    #[expect(clippy::cast_precision_loss, reason = "thousands of visitors")]
    Ok(VISITORS as f64 / took.as_secs_f64())
}

async fn hold(http: &LoadHttpClient, person: usize, pass: &str) -> anyhow::Result<()> {
    let call = LoadHttpCall::post("/v1/shows/night/holds", json!({"best": {"quantity": 2}}));
    let call = call.bearer(pass).key(&format!("hold-{person}"));
    people::granted(http, person, &call).await.map(drop)
}
