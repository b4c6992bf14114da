//! Checks who is let in. Nobody enters while the room is full, and while called people ask and the
//! room is neither paused nor unhealthy nor full, somebody enters soon.
//!
//! The history shows when a claim was sent and answered, but not when the server decided. Each
//! check therefore counts only what is certain. Nobody enters while too many are *certainly*
//! inside. Called people wait for nothing only while the room *may* neither be full, nor paused,
//! nor unhealthy.

mod called;
mod inside;
mod settings;
mod spans;
mod stalls;

use inside::PassSpan;
use settings::RoomSettings;

use super::report::{Findings, Invariant};
use super::timeline::RunTimeline;

/// How much was judged.
pub struct JudgedEntries {
    /// The passes that were compared with `max_inside`.
    pub passes: u64,
    /// The calls of called visitors that were refused.
    pub refused: u64,
}

/// Checks all entries.
pub fn judge(timeline: &RunTimeline<'_>, findings: &mut Findings) -> JudgedEntries {
    let Some(run) = &timeline.history.run else {
        return JudgedEntries {
            passes: 0,
            refused: 0,
        };
    };
    let settings = RoomSettings::of_run(run, &timeline.history.changes);
    let passes = inside::passes(timeline, run.pass_ms());
    nobody_enters_a_full_room(&passes, &settings, findings);
    let refused = stalls::judge(timeline, &passes, &settings, findings);
    let known = passes.iter().filter(|pass| pass.certain.is_some());
    JudgedEntries {
        passes: known.count() as u64,
        refused,
    }
}

/// Checks that nobody got a pass while as many passes as allowed were certainly live.
///
/// At each answer that gave a pass, the visitors who are certainly inside are counted. One of them
/// was let in last, when all others were already inside. So if there are more of them than were
/// allowed at any time when the last one may have been let in, somebody entered a full room.
fn nobody_enters_a_full_room(
    passes: &[PassSpan],
    settings: &RoomSettings,
    findings: &mut Findings,
) {
    // A pass that was given later than it ended counts for nobody.
    let live: Vec<(&PassSpan, (f64, f64))> = passes
        .iter()
        .filter_map(|pass| Some((pass, pass.certain.filter(|(from, until)| from < until)?)))
        .collect();
    let mut moves: Vec<(f64, i64, usize)> = Vec::new();
    for (at, (_, (from_ms, until_ms))) in live.iter().enumerate() {
        moves.extend([(*from_ms, 1, at), (*until_ms, -1, at)]);
    }
    // A visitor who leaves at the moment of an entry has left before it.
    moves.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let least = settings.max_inside.least();
    let mut count = 0;
    for (at_ms, step, at) in moves {
        count += step;
        if step < 0 || count.unsigned_abs() <= least {
            continue;
        }
        let inside = live
            .iter()
            .filter(|(_, (from, until))| *from <= at_ms && at_ms < *until);
        let sent = inside.map(|(pass, _)| pass.sent_ms);
        let last_sent_ms = sent.max_by(f64::total_cmp).unwrap_or(at_ms);
        let allowed = settings.max_inside.possible(last_sent_ms, at_ms);
        let allowed = allowed.max().unwrap_or(u64::MAX);
        if count.unsigned_abs() > allowed {
            let pass = live[at].0;
            findings.add(Invariant::MaxInside, || {
                format!(
                    "line {}: visitor {} got a pass at {at_ms:.0}, and then {count} visitors with live passes were inside who had not bought; {allowed} may be",
                    pass.line, pass.visitor
                )
            });
        }
    }
}
