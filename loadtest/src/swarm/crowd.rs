//! Plays the visitors of one process.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::stage::SwarmContext;
use super::{plan, visitor};

/// Plans a crowd from the seed, and plays the visitors for whom `is_own` returns true. The run ends
/// at the deadline, or earlier when all of these visitors except the mute ones are done. Returns
/// when all of them have ended.
pub async fn play(stage: &Arc<SwarmContext>, seed: u64, is_own: impl Fn(usize) -> bool) {
    let mut busy = JoinSet::new();
    let mut mute = JoinSet::new();
    let crowd = plan::crowd(&stage.scenario, seed).into_iter();
    for plan in crowd.filter(|plan| is_own(plan.visitor)) {
        let set = if plan.mute { &mut mute } else { &mut busy };
        set.spawn(visitor::run_visitor(Arc::clone(stage), plan));
    }
    let deadline_ms = stage.clock.start_ms() + stage.scenario.deadline_s * 1e3;
    let deadline = stage.clock.instant(deadline_ms).into();
    let all_done = async { while busy.join_next().await.is_some() {} };
    // After the deadline visitors end by themselves, each after its current call.
    let _ = tokio::time::timeout_at(deadline, all_done).await;
    stage.end();
    while busy.join_next().await.is_some() {}
    while mute.join_next().await.is_some() {}
}
