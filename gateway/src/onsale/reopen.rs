//! `gateway reopen`: asks a gateway to sell a show again that is closed because the ledger went
//! back to an older state.

use anyhow::{Context, bail};
use fairgate_model::counted::counted;
use fairgate_model::shows::closure::lost_orders;
use serde::Deserialize;

/// The answer to a call that reopens shows.
#[derive(Deserialize)]
struct Reopened {
    was_closed: bool,
    orders_restored: u64,
    orders_lost: Option<u64>,
}

/// The member of a refusal that the command shows.
#[derive(Deserialize)]
struct Refusal {
    detail: String,
}

/// Asks the gateway at `target` to reopen the shows that match `show`. Returns a line that says
/// what was done, which orders came back, and how many did not.
///
/// # Errors
/// Fails if the gateway refuses or gives no answer. The error says what it found.
pub async fn reopen(show: &str, target: &str, key: &str) -> anyhow::Result<String> {
    let mut address = reqwest::Url::parse(target).context("the address cannot be read")?;
    match address.path_segments_mut() {
        Ok(mut path) => {
            path.pop_if_empty();
            path.extend(["v1", "promoter", "shows", show, "reopen"]);
        }
        Err(()) => bail!("{target} is not the address of a gateway; nothing was reopened"),
    }
    let call = reqwest::Client::new().post(address).bearer_auth(key);
    let answer = call
        .send()
        .await
        .context("the gateway gave no answer; ask again")?;
    let status = answer.status();
    let body = answer.text().await?;
    if !status.is_success() {
        let told = serde_json::from_str::<Refusal>(&body).map_or(body, |refusal| refusal.detail);
        bail!("{show} was not reopened ({}): {told}", status.as_u16());
    }
    let reopened: Reopened =
        serde_json::from_str(&body).context("the gateway's answer cannot be read")?;
    if !reopened.was_closed {
        return Ok(format!("{show} was not closed; nothing was changed"));
    }
    let restored = counted(reopened.orders_restored, "order", "orders");
    let lost = lost_orders(reopened.orders_lost);
    Ok(format!(
        "{show} sells again. {restored} came back from the payment provider. {lost}"
    ))
}
