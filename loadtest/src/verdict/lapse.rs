//! Checks holds over time: they last until their deadline and are gone soon after it. The hold of a
//! visitor who closed its page may end earlier, when the room's `away_s` are over. A fault may
//! make the system forget holds or end them late, so most checks skip holds that a fault may have
//! affected.

use std::collections::HashMap;

use super::feed::{ObserverPicture, is_free, is_held};
use super::history::HistoryFrameBody;
use super::report::{Findings, Invariant};
use super::timeline::{HoldTimeline, RunTimeline};

/// How long after its deadline and the grace a hold may still have effects, in milliseconds.
const GONE_WITHIN_MS: f64 = 2_000.0;

/// How long after a change a frame may show the state before the change, in milliseconds.
const FRAME_LATE_MS: f64 = 1_500.0;

/// How long the system may lag after a fault, in milliseconds.
const RECOVERY_MS: f64 = 5_000.0;

/// The holds and orders that were given a cell, by show and cell. Each has the times at which its
/// call was sent and answered.
type CellTakers<'a> = HashMap<(&'a str, u32), Vec<(&'a str, f64, f64)>>;

fn takers<'a>(timeline: &RunTimeline<'a>) -> CellTakers<'a> {
    let mut takers: CellTakers<'a> = HashMap::new();
    for (id, hold) in &timeline.holds {
        let first_seats = hold.hold_call.seats.iter().map(|seat| (hold.call, seat));
        let changed = hold
            .changes
            .iter()
            .flat_map(|(call, change)| change.add.iter().map(|seat| (*call, seat)));
        for (call, seat) in first_seats.chain(changed) {
            for cell in timeline.cells(hold.hold_call, seat) {
                takers
                    .entry((&hold.hold_call.show, cell))
                    .or_default()
                    .push((id, call.sent_ms, call.done_ms));
            }
        }
    }
    // The order of an exchange takes its new seats without a hold.
    for order in &timeline.dump.orders {
        let gained = order.made_in.iter();
        let gained = gained.flat_map(|exchange| &exchange.gained.cells);
        for cell in gained {
            takers.entry((&order.show, *cell)).or_default().push((
                &order.order,
                order.created_ms,
                order.created_ms,
            ));
        }
    }
    takers
}

/// Checks all holds. Returns how many lapsed holds had a cell that an observer watched.
pub fn judge(
    timeline: &RunTimeline<'_>,
    pictures: &[ObserverPicture<'_>],
    findings: &mut Findings,
) -> u64 {
    taken_early(timeline, findings);
    told_early(timeline, findings);
    let takers = takers(timeline);
    let mut watched = 0;
    for (id, hold) in &timeline.holds {
        let grace_ms = timeline
            .dump
            .shows
            .get(&*hold.hold_call.show)
            .map_or(0.0, |show| show.grace_s * 1_000.0);
        let gone_ms = hold.hold_call.expires_ms + grace_ms + GONE_WITHIN_MS;
        calls_after_end(id, hold, gone_ms, findings);
        if !hold.dropped && !hold.ordered() {
            watched += u64::from(held_late(
                timeline,
                pictures,
                &takers,
                (id, hold),
                gone_ms,
                findings,
            ));
        }
        freed_early(timeline, pictures, (id, hold), findings);
    }
    watched
}

/// Checks that no call changes, drops or orders a hold after its end.
fn calls_after_end(id: &str, hold: &HoldTimeline<'_>, gone_ms: f64, findings: &mut Findings) {
    let changes = hold.changes.iter().map(|(call, _)| (*call, "changed"));
    let drops = hold.drops.iter().map(|call| (*call, "dropped"));
    // The answer to a call for an order may be repeated at any time, so only the first such call is
    // checked.
    let first_order = hold
        .orders
        .iter()
        .map(|(call, _)| *call)
        .find(|call| call.may_be_done());
    let orders = first_order.into_iter().map(|call| (call, "made an order"));
    let ordered_ms = first_order.map_or(f64::INFINITY, |call| call.sent_ms);
    for (call, what) in changes.chain(drops).chain(orders) {
        let dropped_before = hold
            .drops
            .iter()
            .any(|drop| drop.may_be_done() && drop.sent_ms < call.sent_ms);
        if call.done() && call.sent_ms > gone_ms && call.sent_ms <= ordered_ms && !dropped_before {
            findings.add(Invariant::Lapse, || {
                format!(
                    "line {}: {id} was {what} {:.1} s after its end",
                    call.line,
                    (call.sent_ms - gone_ms) / 1_000.0
                )
            });
        }
    }
}

/// Returns whether a party waited for seats of the show at some time in the span. The store then
/// keeps freed cells for the waitlist. Observers see these cells as held until the offer is taken
/// or ends.
fn somebody_waited(timeline: &RunTimeline<'_>, show: &str, from_ms: f64, until_ms: f64) -> bool {
    let mut waiters = timeline.dump.waiters.iter();
    waiters.any(|waiter| {
        waiter.show == show
            && waiter.since_ms <= until_ms
            && waiter.ended_ms.is_none_or(|ended_ms| ended_ms >= from_ms)
    })
}

/// Checks that the cells of a lapsed hold are no longer seen as held, unless another hold, an
/// exchange or the waitlist took them. Returns true if an observer watched one of the cells.
fn held_late(
    timeline: &RunTimeline<'_>,
    pictures: &[ObserverPicture<'_>],
    takers: &CellTakers<'_>,
    (id, hold): (&str, &HoldTimeline<'_>),
    gone_ms: f64,
    findings: &mut Findings,
) -> bool {
    let Some(seats) = &hold.seats else {
        return false;
    };
    let deadline = hold.hold_call.expires_ms;
    let seen_ms = gone_ms + FRAME_LATE_MS;
    // A fault may have made the system forget the hold. A fault shortly before the deadline or
    // after it may delay the end of the hold.
    if timeline.history.forgot_within(hold.call.done_ms, seen_ms)
        || timeline
            .history
            .disturbed_within(deadline - RECOVERY_MS, seen_ms)
        || somebody_waited(timeline, &hold.hold_call.show, deadline, seen_ms)
    {
        return false;
    }
    let has_lost_call = timeline
        .lost_holds
        .iter()
        .any(|lost| *lost.show == *hold.hold_call.show && lost.sent_ms <= seen_ms);
    let mut watched = false;
    let seats = seats.iter();
    let cells = seats.flat_map(|seat| {
        timeline
            .cells(hold.hold_call, seat)
            .into_iter()
            .map(move |cell| (seat, cell))
    });
    for (seat, cell) in cells {
        let cell_takers = takers
            .get(&(&*hold.hold_call.show, cell))
            .into_iter()
            .flatten();
        let taken_by_another = has_lost_call
            || cell_takers.clone().any(|(by, sent_ms, done_ms)| {
                *by != id && *done_ms > hold.lasts_until_ms && *sent_ms <= seen_ms
            });
        let mut watching = pictures
            .iter()
            .filter(|picture| {
                picture.show == &*hold.hold_call.show && picture.saw_all_between(deadline, seen_ms)
            })
            .peekable();
        if taken_by_another || watching.peek().is_none() {
            continue;
        }
        watched = true;
        let still_held = watching.all(|picture| {
            let held = picture.state_at(cell, deadline).is_some_and(is_held);
            held && picture
                .came_to(cell, |state| !is_held(state), deadline, seen_ms)
                .is_none()
        });
        if still_held {
            findings.add(Invariant::Lapse, || {
                format!(
                    "{id} ran out at {deadline:.0}, and seat {seat} was still held at {seen_ms:.0}"
                )
            });
        }
    }
    watched
}

/// Checks that no cell of a live hold is seen to become free. The check ends at the owner's first
/// call that may have freed cells.
fn freed_early(
    timeline: &RunTimeline<'_>,
    pictures: &[ObserverPicture<'_>],
    (id, hold): (&str, &HoldTimeline<'_>),
    findings: &mut Findings,
) {
    let from_ms = hold.call.done_ms + FRAME_LATE_MS;
    let until_ms = hold.lasts_until_ms.min(hold.touched_ms);
    if until_ms <= from_ms
        || timeline
            .history
            .disturbed_within(hold.call.sent_ms - RECOVERY_MS, until_ms)
    {
        return;
    }
    let seats = hold.hold_call.seats.iter();
    let cells = seats.flat_map(|seat| {
        timeline
            .cells(hold.hold_call, seat)
            .into_iter()
            .map(move |cell| (seat, cell))
    });
    for (seat, cell) in cells {
        for picture in pictures.iter().filter(|picture| {
            picture.show == &*hold.hold_call.show && picture.saw_all_between(from_ms, until_ms)
        }) {
            if let Some(freed_ms) = picture.came_to(cell, is_free, from_ms, until_ms) {
                findings.add(Invariant::Lapse, || {
                    format!(
                        "{id} has seat {seat} until {until_ms:.0}, and {} saw it freed at {freed_ms:.0}",
                        picture.observer
                    )
                });
                break;
            }
        }
    }
}

/// The spans in which a hold certainly had a cell, by show and cell.
type CellHoldSpans<'a> = HashMap<(&'a str, u32), Vec<(f64, f64, &'a str)>>;

/// Checks that no cell of a live hold is given to another hold.
fn taken_early(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    let mut by_cell: CellHoldSpans<'_> = HashMap::new();
    for (id, hold) in &timeline.holds {
        for span in &hold.seat_spans {
            let until_ms = span.until_ms.min(hold.ended_ms());
            let seats = span.seats.iter().filter(|_| until_ms > span.from_ms);
            for cell in seats.flat_map(|seat| timeline.cells(hold.hold_call, seat)) {
                by_cell
                    .entry((&hold.hold_call.show, cell))
                    .or_default()
                    .push((span.from_ms, until_ms, id));
            }
        }
    }
    for ((show, cell), mut spans) in by_cell {
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        for pair in spans.windows(2) {
            let ((from, until, former), (next_from, _, next)) = (pair[0], pair[1]);
            if former != next
                && next_from < until
                && !timeline.history.forgot_within(from, next_from)
            {
                findings.add(Invariant::Lapse, || {
                    let dumped_show = timeline.dump.shows.get(show);
                    let seat = dumped_show.map_or("?", |dumped_show| dumped_show.label(cell));
                    format!("cell {cell} ({seat}) of {show}: {former} has it until {until:.0}, and {next} was given it at {next_from:.0}")
                });
            }
        }
    }
}

/// Checks that no visitor is told before the deadline that a hold lapsed.
fn told_early(timeline: &RunTimeline<'_>, findings: &mut Findings) {
    for frame in &timeline.history.frames {
        let HistoryFrameBody::Hold { hold, state } = &frame.body else {
            continue;
        };
        if let Some(known_hold) = timeline.holds.get(&**hold)
            && &**state == "lapsed"
            // An earlier hold of the same train journey may have had the same id.
            && frame.at_ms >= known_hold.call.sent_ms
            && frame.at_ms < known_hold.hold_call.expires_ms
            && !timeline.history.forgot_within(known_hold.call.sent_ms, frame.at_ms)
        {
            findings.add(Invariant::Lapse, || {
                format!(
                    "line {}: a frame said that {hold} had lapsed, {:.1} s before its deadline",
                    frame.line,
                    (known_hold.hold_call.expires_ms - frame.at_ms) / 1_000.0
                )
            });
        }
    }
}
