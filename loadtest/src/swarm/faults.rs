//! Kills and slows parts of the system during the run, and records in the history when each fault
//! began and ended.

use std::sync::Arc;

use serde_json::json;

use super::figures::Disturbance;
use super::scenario::PlannedSlowdown;
use super::stage::{RunFinished, SwarmContext, round};
use crate::rig::{KillTarget, PlannedKill, Rig};

/// Inflicts all kills and the slowdown, each at its time. Before each kill, waits until the process
/// that was killed before is ready again.
pub async fn inflict(stage: Arc<SwarmContext>, rig: Arc<Rig>, kills: Vec<PlannedKill>) {
    let kills = kills.iter();
    let mut kills: Vec<(f64, KillTarget)> = kills
        .map(|kill| (stage.scenario.kill_s(kill), kill.what))
        .collect();
    kills.sort_by(|(one_s, _), (other_s, _)| one_s.total_cmp(other_s));
    let killing = async {
        for (at_s, what) in kills {
            if kill(&stage, &rig, what, at_s).await == Err(RunFinished) {
                return;
            }
        }
    };
    let slowing = async {
        if let Some(slow) = stage.scenario.slow {
            // An error only means that the run ended before the slowdown did.
            let _ = slow_down(&stage, &rig, slow).await;
        }
    };
    tokio::join!(killing, slowing);
}

async fn kill(
    stage: &SwarmContext,
    rig: &Rig,
    what: KillTarget,
    at_s: f64,
) -> Result<(), RunFinished> {
    stage.until(stage.clock.start_ms() + at_s * 1e3).await?;
    let at_ms = stage.clock.now_ms();
    let revived = rig.kill_and_restart(what).await;
    let ready_ms = stage.clock.now_ms();
    if revived.is_ok() {
        stage.tally.seen().disturbances.push(Disturbance {
            from_ms: at_ms,
            until_ms: ready_ms,
            slow: false,
            halts: false,
        });
    }
    let ready = revived.is_ok().then(|| round(ready_ms));
    let killed = match &revived {
        Ok(part) => part.to_string(),
        Err(_) => what.to_string(),
    };
    stage.history.write(
        "fault",
        json!({
            "at_ms": round(at_ms), "what": format!("kill {killed}"), "until_ms": ready, "ready_ms": ready,
            "forgets": rig.forgets(what),
        }),
    );
    if let Err(error) = revived {
        eprintln!("{what} did not come back: {error:#}");
    }
    Ok(())
}

async fn slow_down(
    stage: &SwarmContext,
    rig: &Rig,
    slow: PlannedSlowdown,
) -> Result<(), RunFinished> {
    stage
        .until(stage.clock.start_ms() + slow.at_s * 1e3)
        .await?;
    let at_ms = stage.clock.now_ms();
    let until_ms = at_ms + slow.for_s * 1e3;
    stage.tally.seen().disturbances.push(Disturbance {
        from_ms: at_ms,
        until_ms,
        slow: true,
        halts: false,
    });
    stage.history.write(
        "fault",
        json!({
            "at_ms": round(at_ms), "what": format!("slow booking x{}", slow.factor),
            "until_ms": round(until_ms), "ready_ms": null,
        }),
    );
    tokio::select! {
        () = rig.slow_down(slow.factor, slow.for_s) => Ok(()),
        () = stage.wait_until_over() => { rig.wake(); Err(RunFinished) }
    }
}
