//! Shows the progress of a run on standard error, once a second on a terminal and every five
//! seconds elsewhere. Without it, a run of several minutes would seem to hang.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use super::figures::CrowdProgress;
use super::stage::SwarmContext;

/// Shows the progress until the task is aborted.
pub async fn show(stage: Arc<SwarmContext>) {
    let terminal = std::io::stderr().is_terminal();
    let every_s = if terminal { 1 } else { 5 };
    let mut tick = tokio::time::interval(Duration::from_secs(every_s));
    loop {
        tick.tick().await;
        let line = line(&stage);
        let text = if terminal {
            format!("\r\x1b[2K{line}")
        } else {
            format!("{line}\n")
        };
        // Progress that cannot be written is no reason to end a run.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

/// Ends the progress line on a terminal.
pub fn end_line() {
    if std::io::stderr().is_terminal() {
        eprintln!();
    }
}

fn line(stage: &SwarmContext) -> String {
    let workers = stage.workers_progress();
    let crowd = workers.iter().fold(stage.progress(), CrowdProgress::and);
    format!(
        "{:5.0} s  {}  joined {}  waiting {}  inside {}  tickets {}  ended {}  booking p99 {:.0} ms  errors {}  {}",
        stage.clock.elapsed_s(),
        phase(stage),
        crowd.joined,
        crowd.waiting,
        crowd.inside,
        crowd.ticketed,
        crowd.ended,
        crowd.booking_p99_ms,
        crowd.errors,
        time_left(stage),
    )
}

/// Returns a text that says how long the run will still take. At first this is the time that the
/// scenario expects. If the run takes longer, it is the time until the deadline. When the crowd has
/// ended, it is the time until the last abandoned basket lapses.
fn time_left(stage: &SwarmContext) -> String {
    let (elapsed_s, scenario) = (stage.clock.elapsed_s(), &stage.scenario);
    if stage.is_over() {
        let lapse_s = (stage.lapses_ms() - stage.clock.now_ms()).max(0.0) / 1e3;
        format!("about {lapse_s:.0} s until abandoned baskets lapse, then the verdict")
    } else if elapsed_s < scenario.planned_s {
        format!("about {:.0} s left", scenario.planned_s - elapsed_s)
    } else {
        let left_s = (scenario.deadline_s - elapsed_s).max(0.0);
        format!("later than planned, at most {left_s:.0} s left")
    }
}

fn phase(stage: &SwarmContext) -> &'static str {
    let draw_s = stage.scenario.onsale.at_s("draw_at").unwrap_or_default();
    if stage.is_over() {
        "settling"
    } else if stage.clock.elapsed_s() < draw_s {
        "lobby   "
    } else {
        "selling "
    }
}
