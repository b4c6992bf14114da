//! Reads every second how much processor time the rig's processes have used.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::stage::SwarmContext;
use crate::rig::Rig;

/// The time between two readings.
const EVERY: Duration = Duration::from_secs(1);

/// Reads until the task is aborted, and adds each reading to the tally.
pub async fn watch(stage: Arc<SwarmContext>, rig: Arc<Rig>) {
    let mut tick = tokio::time::interval(EVERY);
    let mut before = HashMap::new();
    let mut spent_ms = 0.0;
    loop {
        tick.tick().await;
        for part in rig.parts() {
            let now_ms = rig.cpu_ms(part).unwrap_or(0.0);
            let then_ms = before.insert(part.to_string(), now_ms);
            // A process that was killed and started again counts from 0.
            spent_ms += (now_ms - then_ms.unwrap_or(now_ms)).max(0.0);
        }
        let at_ms = stage.clock.now_ms();
        stage.tally.seen().processors.push((at_ms, spent_ms));
    }
}
