//! Acts as the promoter during the run: cancels a show while the crowd buys its seats, and reads
//! the reports on all shows' refunds.

use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use serde_json::{Value, json};

use super::scenario::PlannedCancel;
use super::stage::{SwarmContext, round};
use crate::http::LoadHttpCall;

/// The wait before a failed cancellation is repeated.
const AGAIN: Duration = Duration::from_millis(200);
/// The largest number of tries of a cancellation. All tries together take longer than any fault
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
    for attempt in 0..TRIES_MAX {
        // Each try goes to the next gateway, because the last one may be unable to answer.
        let answer = stage.http.send(&call, attempt).await;
        if answer.is_ok_and(|answer| answer.is_ok()) {
            let at_ms = stage.clock.now_ms();
            stage.history.write(
                "cancelled",
                json!({"show": cancel.show, "asked_ms": round(asked_ms), "at_ms": round(at_ms)}),
            );
            return Ok(());
        }
        tokio::time::sleep(AGAIN).await;
    }
    bail!("{} could not be cancelled", cancel.show)
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
