//! Moves the release counter. A tick reads the figures, lets the pace decide, writes the counter by
//! compare-and-set, and publishes the figures to sockets and polls. Every node ticks once a second.
//! The first node makes the tick of that second, and the others take over its result.

use std::sync::Arc;

use fairgate_rules::counter::ReleaseCounter;
use fairgate_rules::estimate::UnknownWait;
use fairgate_rules::limits::{PaceLimits, PaceMeasurements, PaceMemory};
use fairgate_rules::pace::{self, PaceInput, ReleaseDecision};
use fairgate_rules::pace_settings::PaceSettings;
use fairgate_rules::phase::RoomPhase;
use fairgate_rules::release_cohorts::elapsed_ms;
use fairgate_rules::waits::{LineFigures, LineWaits, forecast};

use super::tick_findings::{TickFindings, gather_findings};
use crate::ledger::ReleaseRow;
use crate::room::{RefusingRoom, Room, RoomRegistry, RoomTick};
use crate::store::{StoreFailure, TickCarryover, TickEnd};
use crate::upstream::BookingPulse;

/// For this long (ms) after another node's tick, this node makes no tick in a room with a line. The
/// time is less than a second, because either node may be a little early or late.
const OTHERS_SECOND_MS: u64 = 800;

/// The state that a tick continues from.
#[derive(Clone, Copy)]
struct TickStart {
    /// Visitors with ranks below this were told that they are called.
    called_below: u64,
    elapsed_ms: u64,
    until: i64,
    /// Whether another node has made the tick of this second.
    other_has_ticked: bool,
}

impl TickStart {
    /// Works out the start from the ledger's row and the store's figures.
    fn find(room: &Room, row: &ReleaseRow, findings: &TickFindings) -> Self {
        let counted_until = row.ticked_at.max(findings.figures.counted_until);
        let (elapsed_ms, until) = elapsed_ms(counted_until, findings.now);
        Self {
            // If the ledger has lost moves of the counter, its counter is lower than the one that
            // visitors were told. Visitors who were called stay called.
            called_below: row.released.max(room.last_tick().released),
            elapsed_ms,
            until,
            other_has_ticked: findings.figures.by_other && elapsed_ms < OTHERS_SECOND_MS,
        }
    }

    /// Builds the input of the pace's decision.
    fn pace_input(
        &self,
        row: &ReleaseRow,
        findings: &TickFindings,
        limits: &PaceLimits,
        selling: bool,
    ) -> PaceInput {
        PaceInput {
            elapsed_ms: self.elapsed_ms,
            remainder_u: row.remainder_u,
            rate_u: limits.rate_u,
            trickle_u: limits.trickle_u,
            callable: limits.callable,
            wanted: limits.wanted,
            owed_u: findings.figures.owed_u,
            asking: findings.figures.asking,
            selling,
            released: self.called_below,
            end: findings.figures.counts.next,
        }
    }
}

/// Runs one tick of `room` at `now` (ms). With `is_regular` this is the regular tick of a second.
/// Otherwise it is a tick in between, for a nudge or a visitor's claim. If there is a `pulse`, the
/// tick also replaces booking's figures. Until booking's figures are known, nobody in a line is
/// called.
///
/// Returns `false` if the ledger refused the tick, because the ledger's counter is no longer the
/// one that this node knew. The tick has then called nobody.
///
/// # Errors
/// Fails if the store or the ledger did not answer.
pub async fn run_tick(
    rooms: &RoomRegistry,
    room: &Room,
    pulse: Option<BookingPulse>,
    is_regular: bool,
    now: i64,
) -> Result<bool, StoreFailure> {
    // The lock is held to the end, so that a node makes one tick of a room at a time.
    let mut counter = room.lock_release_counter().await;
    let settings = PaceSettings::from(&room.row().document);
    let mut findings = gather_findings(rooms, room, pulse, is_regular, now).await?;
    if let Some(carryover) = findings.figures.left_by_other.take() {
        adopt_carryover(room, &mut counter, carryover);
    }
    let start = TickStart::find(room, counter.release_row(), &findings);
    let measured = findings.measure_for_limits();
    let mut memory = *room.memory();
    let limits = if is_regular && !start.other_has_ticked {
        memory.limits(&settings, &measured)
    } else {
        memory.peek_limits(&settings, &measured)
    };
    let selling = room.phase(now) == RoomPhase::Selling
        && !room.row().facts.paused
        && !findings.pulse.closed
        && (findings.known || !settings.line);
    let input = start.pace_input(counter.release_row(), &findings, &limits, selling);
    // If a room has nobody to call, its row is not written every second. This loses nothing,
    // because the time that the next tick counts is capped anyway.
    let nobody_to_call = !selling || start.called_below >= input.end;
    let idle = nobody_to_call && start.called_below == counter.release_row().released;
    // In a room without a line, a visitor is called even if another node has made the tick of this
    // second.
    let (mut is_accepted, mut called) = (true, 0);
    if !start.other_has_ticked || !(settings.line || idle) {
        let decision = pace::decide_release(&input, |rank| findings.line.who_at_rank(rank));
        memory.record_tick(&decision, start.elapsed_ms, &limits, &settings, &measured);
        called = decision.people;
        let made = DecidedTick {
            decision,
            start,
            memory,
            rate_u: limits.rate_u,
            idle,
        };
        is_accepted = commit_tick(rooms, room, &mut counter, &mut findings, made).await?;
    }
    room.refused_calls().note_tick(
        RefusingRoom {
            inside: findings.figures.counts.inside,
            max_inside: settings.max_inside,
            inside_max: limits.inside_max,
            pace_u: limits.pace_in_force_u(),
            lets_in: !room.row().facts.paused
                && !findings.pulse.closed
                && !measured.is_unhealthy(&settings),
        },
        measured.entered(),
    );
    let outcome = TickOutcome {
        settings: &settings,
        limits: &limits,
        measured: &measured,
        called,
        is_regular,
    };
    publish_tick(
        room,
        start.called_below.max(counter.release_row().released),
        findings,
        &outcome,
    );
    Ok(is_accepted)
}

/// Continues from the row and memory that another node's tick left. Ignores a row that is older
/// than this node's own, or that the ledger has lost.
fn adopt_carryover(room: &Room, counter: &mut ReleaseCounter, carryover: TickCarryover) {
    if counter.adopt_reported_row(carryover.row) {
        *room.memory() = PaceMemory::parse(&carryover.memory);
    }
}

/// Reads the counter from the ledger again, after the ledger refused a move. Either another node
/// moved the counter first, or the ledger is an older copy.
async fn reload_release_row(
    rooms: &RoomRegistry,
    room: &Room,
    counter: &mut ReleaseCounter,
) -> Result<(), StoreFailure> {
    let stored = rooms.ledger().read_release_counter(room.id()).await?;
    *room.memory() = PaceMemory::parse(&stored.memory);
    let (known, has) = (counter.release_row().released, stored.released);
    if counter.adopt_ledger_row(stored) {
        rooms
            .troubles()
            .note_ledger_set_back(room.id(), rooms.now_ms());
        tracing::error!(
            room = room.id(),
            known,
            has,
            "the ledger was set back: it has lost moves of the room's release counter. Everybody who was called stays called, and the counter goes on from the last call"
        );
    }
    Ok(())
}

/// What a tick decided, before it is written.
struct DecidedTick {
    decision: ReleaseDecision,
    start: TickStart,
    memory: PaceMemory,
    rate_u: Option<u64>,
    idle: bool,
}

/// Writes the tick to the ledger by compare-and-set. If the ledger accepts the tick, reports the
/// tick to the store. Returns whether the ledger accepted it.
async fn commit_tick(
    rooms: &RoomRegistry,
    room: &Room,
    counter: &mut ReleaseCounter,
    findings: &mut TickFindings,
    made: DecidedTick,
) -> Result<bool, StoreFailure> {
    let DecidedTick {
        decision, start, ..
    } = made;
    let mut called = None;
    let memory = made.memory.to_text();
    // An idle tick leaves the ledger's row as it is. It only updates the memory and the store.
    if !made.idle {
        let new_row = ReleaseRow {
            released: decision.released.max(start.called_below),
            remainder_u: decision.remainder_u,
            ticked_at: start.until,
            memory: memory.clone(),
        };
        let ledger = rooms.ledger();
        if !ledger
            .advance_release_counter(room.id(), counter.release_row(), &new_row)
            .await?
        {
            reload_release_row(rooms, room, counter).await?;
            return Ok(false);
        }
        if new_row.released > start.called_below {
            called =
                Some(findings.call_ranks(start.called_below, new_row.released, decision.people));
        }
        counter.note_move(new_row);
    }
    let end = TickEnd {
        since: findings.figures.counted_until,
        until: start.until,
        owed_u: decision.owed_u,
        credit_u: decision.late_u,
        rate_u: made.rate_u,
        called,
        left: TickCarryover {
            row: counter.release_row().clone(),
            memory,
        },
        now: findings.now,
    };
    if rooms.store().end_tick(room.id(), end).await? {
        *room.memory() = made.memory;
    }
    Ok(true)
}

/// What a tick worked out, for the figures that it publishes.
struct TickOutcome<'a> {
    settings: &'a PaceSettings,
    limits: &'a PaceLimits,
    measured: &'a PaceMeasurements,
    /// How many present visitors it called.
    called: u64,
    is_regular: bool,
}

/// Publishes the figures to sockets and polls.
fn publish_tick(room: &Room, released: u64, findings: TickFindings, outcome: &TickOutcome<'_>) {
    let last = room.last_tick();
    let crowd = findings.crowd(released, &last);
    let waiting = crowd.between(released, findings.figures.counts.next);
    let waits = line_waits(room, &findings, outcome, waiting);
    let TickFindings {
        figures, line, now, ..
    } = findings;
    room.set_tick(RoomTick {
        released,
        waiting,
        crowd,
        is_ordered: findings.is_ordered,
        looked_at: if findings.looked { now } else { last.looked_at },
        away: line.away,
        counts: figures.counts,
        calls: Arc::new(figures.calls),
        pulse: findings.pulse,
        known: findings.known,
        per_s: room.memory().rates(outcome.settings.per_s_u).0,
        waits,
        inside_max: outcome.limits.inside_max,
        demand: outcome.limits.demand,
        at: now,
    });
}

/// Forecasts the waits of the line. An extra tick between two regular ones keeps the last forecast.
fn line_waits(
    room: &Room,
    findings: &TickFindings,
    outcome: &TickOutcome<'_>,
    waiting: u64,
) -> Arc<LineWaits> {
    let phase = room.phase(findings.now);
    if phase != RoomPhase::Selling {
        return Arc::default();
    }
    if room.row().facts.paused || findings.pulse.closed {
        return Arc::new(LineWaits::unknown(UnknownWait::Paused));
    }
    let last = room.last_tick();
    if !outcome.is_regular && last.waits.unknown.is_none() {
        return Arc::clone(&last.waits);
    }
    let hold_s = findings.pulse.shows.iter().map(|show| show.hold_s).max();
    let figures = LineFigures {
        settings: outcome.settings,
        limits: outcome.limits,
        measured: outcome.measured,
        younger: findings.younger(),
        called: outcome.called,
        waiting,
        hold_s: u64::from(hold_s.unwrap_or_default()),
    };
    Arc::new(forecast(&room.memory(), &figures))
}
