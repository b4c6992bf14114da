//! Acts as the promoter during the run: cancels a show while the crowd buys its seats, changes the
//! room, ends places, and reads the reports on all shows' refunds.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use hyper::Method;
use serde_json::{Value, json};

use super::scenario::{LiveChange, PlannedCancel};
use super::stage::{SwarmContext, round};
use crate::http::{LoadHttpAnswer, LoadHttpCall};

/// The wait before a failed call is repeated.
const AGAIN: Duration = Duration::from_millis(200);
/// The largest number of tries of a call. All tries together take longer than any fault
/// lasts.
const TRIES_MAX: usize = 300;

/// Cancels a show at its time. Repeats the call until it succeeds, and records in the history when
/// it was first made and when it succeeded.
///
/// # Errors
/// If no try succeeded.
pub async fn cancel(
    stage: Arc<SwarmContext>,
    key: String,
    cancel: PlannedCancel,
) -> anyhow::Result<()> {
    let at_ms = stage.clock.start_ms() + cancel.at_s * 1e3;
    tokio::time::sleep_until(stage.clock.instant(at_ms).into()).await;
    let path = format!("/v1/promoter/shows/{}/cancel", cancel.show);
    let call = LoadHttpCall::post(path, json!({})).bearer(&key);
    let asked_ms = stage.clock.now_ms();
    stage.cancel(&cancel.show);
    if repeat(&stage, &call).await.is_err() {
        bail!("{} could not be cancelled", cancel.show);
    }
    let at_ms = stage.clock.now_ms();
    stage.history.write(
        "cancelled",
        json!({"show": cancel.show, "asked_ms": round(asked_ms), "at_ms": round(at_ms)}),
    );
    Ok(())
}

/// Makes the live changes of the room, each at its time. Records in the history when each was first
/// called and when it was answered.
///
/// # Errors
/// If a change was refused.
pub async fn change_room(
    stage: Arc<SwarmContext>,
    key: String,
    changes: Vec<LiveChange>,
) -> anyhow::Result<()> {
    let path = format!("/v1/promoter/rooms/{}", stage.scenario.onsale.room());
    for change in changes {
        let at_ms = stage.clock.start_ms() + change.at_s * 1e3;
        tokio::time::sleep_until(stage.clock.instant(at_ms).into()).await;
        let call = LoadHttpCall {
            body: Some(change.fields.clone()),
            ..LoadHttpCall::new(Method::PATCH, path.clone())
        };
        let asked_ms = stage.clock.now_ms();
        repeat(&stage, &call.bearer(&key))
            .await
            .with_context(|| format!("the room could not be changed: {}", change.fields))?;
        let at_ms = stage.clock.now_ms();
        stage.history.write(
            "changed",
            json!({"asked_ms": round(asked_ms), "at_ms": round(at_ms), "changes": change.fields}),
        );
    }
    Ok(())
}

/// Ends the place of one visitor. Records in the history when the place may first have ended.
///
/// # Errors
/// Why the place did not end.
pub async fn revoke(stage: &SwarmContext, visitor: usize, holder: &str) -> Result<(), String> {
    let room = stage.scenario.onsale.room();
    let body = json!({"visitor": holder, "reason": "a rehearsal of what a promoter may do"});
    let call = LoadHttpCall::post(format!("/v1/promoter/rooms/{room}/revoke"), body);
    let asked_ms = stage.clock.now_ms();
    let revoked = repeat(stage, &call.bearer(&stage.keys.promoter)).await;
    // It is recorded even if it failed, because the last try may have been carried out.
    stage.history.write(
        "revoked",
        json!({"visitor": visitor, "asked_ms": round(asked_ms), "at_ms": round(stage.clock.now_ms())}),
    );
    revoked
        .map(drop)
        .map_err(|error| format!("the place could not be revoked: {error:#}"))
}

/// Makes a call of the promoter until it succeeds. Each try goes to the next gateway, because the
/// last one may be unable to answer. A refusal ends the tries.
async fn repeat(stage: &SwarmContext, call: &LoadHttpCall) -> anyhow::Result<LoadHttpAnswer> {
    let mut last = String::new();
    for attempt in 0..TRIES_MAX {
        match stage.http.send(call, attempt).await {
            Ok(answer) if answer.is_ok() => return Ok(answer),
            Ok(answer) if is_refused(&answer) => {
                bail!(
                    "{} {}",
                    answer.status,
                    String::from_utf8_lossy(&answer.body)
                );
            }
            Ok(answer) => last = format!("{} {:?}", answer.status, answer.code()),
            Err(error) => last = error,
        }
        tokio::time::sleep(AGAIN).await;
    }
    bail!("{TRIES_MAX} tries failed: {last}")
}

/// Returns whether another try would be refused, too.
fn is_refused(answer: &LoadHttpAnswer) -> bool {
    (400..500).contains(&answer.status) && !matches!(answer.status, 409 | 429)
}

/// Reads the report on every show's refunds and records it in the history. Returns whether all
/// refunds are done.
pub async fn all_refunds_are_done(stage: &SwarmContext, key: &str) -> bool {
    let mut all_done = true;
    for show in &stage.shows {
        let call = LoadHttpCall::get(format!("/v1/promoter/shows/{}/refunds", show.id)).bearer(key);
        let asked_ms = stage.clock.now_ms();
        match stage.http.send(&call, 0).await {
            Ok(answer) if answer.is_ok() => {
                let report = answer.json();
                all_done &= is_done(&report);
                stage.history.write(
                    "refunds",
                    json!({
                        "show": show.id, "asked_ms": round(asked_ms), "at_ms": round(stage.clock.now_ms()),
                        "told": report,
                    }),
                );
            }
            // A train that sold no seat has no report, and nothing to refund.
            Ok(answer) if answer.status == 404 && show.train.is_some() => {}
            // The next read may succeed.
            _ => all_done = false,
        }
    }
    all_done
}

/// Reads the report of the room. Each call makes only some of the missing forecasts, so the call is
/// repeated until the report has no more forecasts than before. If a call fails, returns the report
/// of the previous call, or `null` if there is none. A failure is not an error, because only the
/// forecasts' figure and chart need the report.
pub async fn room_report(stage: &SwarmContext, key: &str) -> Value {
    let room = stage.scenario.onsale.room();
    let call = LoadHttpCall::get(format!("/v1/promoter/rooms/{room}/report")).bearer(key);
    let mut last_report = Value::Null;
    loop {
        let newer = match stage.http.send(&call, 0).await {
            Ok(answer) if answer.is_ok() => answer.json(),
            _ => return last_report,
        };
        let count = |report: &Value| report["earlier_forecasts"].as_array().map_or(0, Vec::len);
        if count(&newer) <= count(&last_report) {
            return newer;
        }
        last_report = newer;
    }
}

/// Returns whether a show's refunds are done. If the show is not cancelled, its remaining orders
/// need no refund.
fn is_done(report: &Value) -> bool {
    let none = |sum: &Value| sum["refunds"] == 0;
    let has_open_orders = report["fate"] == "cancelled" && report["orders_left"] != 0;
    !has_open_orders && none(&report["on_its_way"]) && none(&report["failed"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refunds_are_done_when_none_is_on_its_way_and_a_cancelled_show_has_no_order_left() {
        for (fate, left, on_its_way, failed, done) in [
            (json!("cancelled"), 0, 0, 0, true),
            (json!("cancelled"), 1, 0, 0, false),
            (json!("cancelled"), 0, 1, 0, false),
            (json!("cancelled"), 0, 0, 1, false),
            (json!(null), 7, 0, 0, true),
            (json!(null), 7, 2, 0, false),
        ] {
            let told = json!({
                "fate": fate, "orders_left": left,
                "on_its_way": {"refunds": on_its_way}, "failed": {"refunds": failed},
            });
            assert_eq!(is_done(&told), done, "{told}");
        }
    }
}
