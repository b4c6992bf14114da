//! Shows the progress of a run on the standard error, once a second on a terminal and every five
//! seconds elsewhere. Without it, a run of several minutes would look as if it hung.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use super::figures::quantile_of;
use super::stage::SwarmContext;

/// The span over which the shown p99 is taken, in milliseconds.
const RECENT_MS: f64 = 5_000.0;

/// Shows the progress until the task is aborted.
pub async fn show(stage: Arc<SwarmContext>) {
    let terminal = std::io::stderr().is_terminal();
    let every = if terminal { 1 } else { 5 };
    let mut tick = tokio::time::interval(Duration::from_secs(every));
    loop {
        tick.tick().await;
        let line = line(&stage);
        let shown = if terminal {
            format!("\r\x1b[2K{line}")
        } else {
            format!("{line}\n")
        };
        // Progress that cannot be written is no reason to end a run.
        let _ = std::io::stderr().write_all(shown.as_bytes());
    }
}

/// Ends the progress line on a terminal.
pub fn end_line() {
    if std::io::stderr().is_terminal() {
        eprintln!();
    }
}

fn line(stage: &SwarmContext) -> String {
    let now_ms = stage.clock.now_ms();
    let seen = stage.tally.seen();
    let (mut joined, mut waiting, mut inside, mut ended, mut ticketed) = (0, 0, 0, 0, 0);
    for person in &seen.people {
        joined += u32::from(person.joined_ms.is_some());
        ticketed += u32::from(person.ticketed_ms.is_some());
        if person.outcome.is_some() {
            ended += 1;
        } else if person.entered_ms.is_some() {
            inside += 1;
        } else if person.joined_ms.is_some() {
            waiting += 1;
        }
    }
    let recent = seen.calls.booking.iter().rev();
    let mut recent: Vec<f64> = recent
        .take_while(|(at_ms, _)| *at_ms > now_ms - RECENT_MS)
        .map(|(_, took_ms)| *took_ms)
        .collect();
    let p99 = quantile_of(&mut recent, 0.99).unwrap_or_default();
    format!(
        "{:5.0} s  {}  joined {joined}  waiting {waiting}  inside {inside}  tickets {ticketed}  ended {ended}  booking p99 {p99:.0} ms  errors {}",
        stage.clock.elapsed_s(),
        phase(stage),
        seen.calls.error_count(),
    )
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
