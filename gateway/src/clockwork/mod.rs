//! The loop of one room. It checks the phase and the draw five times a second, releases ranks once
//! a second, and writes a sample every five or ten seconds. A nudge causes an extra beat with a
//! release. Every beat starts from stored data. If a beat fails, the next beat does its work.

mod drawing;
mod forgetting;
mod idle_passes;
mod left_baskets;
mod returning;
mod stopping;

use std::sync::Arc;
use std::time::Duration;

use fairgate_base::log_failed_try;
use fairgate_rules::phase::{RoomPhase, draw_due};
use fairgate_rules::room_document::LineMethod;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::ledger::{LedgerError, RoomLedger, RoomSample};
use crate::line::release;
use crate::personal::PersonalEventHub;
use crate::push::hub::{RoomSocketHub, RoomSocketHubs};
use crate::room::{Room, RoomRegistry};
use crate::store::StoreFailure;
use crate::upstream::PulseRequest;
use forgetting::NetworkForgetter;
use idle_passes::IdlePasses;
use left_baskets::LeftBaskets;
use returning::ReturningPlaces;
use stopping::RoomStopper;

const BEAT: Duration = Duration::from_millis(200);
const RELEASE_EVERY: Duration = Duration::from_secs(1);
const SAMPLE_EVERY_MS: i64 = 10_000;
/// In the first minutes of a sale, samples come more often. A fast sale calls a thousand visitors
/// in ten seconds, and the forecast must know how long they take.
const SAMPLE_EVERY_AT_FIRST_MS: i64 = 5_000;
const AT_FIRST_MS: i64 = 300_000;
/// How often the room's shows are looked up. Promoters change them by hand, so more look-ups would
/// only add to booking's load.
const RESOLVE_EVERY: Duration = Duration::from_secs(5);
/// How often booking is asked for the figures of a room that sells nothing now. Such a room calls
/// nobody, so the figures only show how many seats there are. A house may have a thousand rooms
/// whose sales begin in a month.
const PULSE_AT_REST_EVERY: Duration = Duration::from_secs(5);

/// How often this node reports to the store which visitors are here. A visitor whom no node has
/// reported for a minute is treated as away, so this must be much shorter than a minute.
const REPORT_EVERY: Duration = Duration::from_secs(5);

struct RoomLoopState {
    returning: ReturningPlaces,
    forgetter: NetworkForgetter,
    stopper: RoomStopper,
    left_baskets: LeftBaskets,
    idle_passes: IdlePasses,
    reported_at: Option<Instant>,
    /// When the next release is due.
    next_release: Instant,
    /// The time of the newest sample that needs no writing, in milliseconds since the epoch.
    sampled_ms: i64,
    shows: Vec<String>,
    /// When the room's shows were last looked up.
    resolved_at: Option<Instant>,
    /// When booking last gave figures.
    pulsed_at: Option<Instant>,
}

/// Returns whether booking is asked for its figures in this second. `since_last` is the time since
/// it last gave some.
fn is_pulse_due(phase: RoomPhase, since_last: Option<Duration>) -> bool {
    let is_at_rest = matches!(phase, RoomPhase::Scheduled | RoomPhase::Prequeue);
    !is_at_rest || since_last.is_none_or(|since| since >= PULSE_AT_REST_EVERY)
}

/// Starts the loop of each room when the room is opened on this node. Ends when the process drains.
pub async fn run_opened(
    rooms: RoomRegistry,
    hubs: RoomSocketHubs,
    personal: PersonalEventHub,
    mut opened: UnboundedReceiver<Room>,
) {
    let mut stopping = rooms.stopping();
    loop {
        let room = tokio::select! {
            room = opened.recv() => room,
            () = fairgate_base::process::stopped(&mut stopping) => return,
        };
        let Some(room) = room else {
            return;
        };
        let hub = hubs.of_room(room.id());
        let idle_passes = IdlePasses::new(personal.clone());
        tokio::spawn(run(rooms.clone(), hub, room, idle_passes, rooms.stopping()));
    }
}

/// Runs the loop of one room until the process drains.
async fn run(
    rooms: RoomRegistry,
    hub: Arc<RoomSocketHub>,
    room: Room,
    idle_passes: IdlePasses,
    mut stopping: watch::Receiver<bool>,
) {
    let mut beat = interval(BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut state = RoomLoopState {
        returning: ReturningPlaces::default(),
        forgetter: NetworkForgetter::default(),
        stopper: RoomStopper::default(),
        left_baskets: LeftBaskets::default(),
        idle_passes,
        reported_at: None,
        next_release: Instant::now(),
        sampled_ms: sample_time(&room, rooms.now_ms()),
        shows: Vec::new(),
        resolved_at: None,
        pulsed_at: None,
    };
    loop {
        let nudged = tokio::select! {
            _ = beat.tick() => false,
            () = room.nudged() => true,
            () = fairgate_base::process::stopped(&mut stopping) => return,
        };
        if let Err(error) = one_beat(&rooms, &hub, &room, &mut state, nudged).await {
            metrics::counter!("fairgate_room_beats_failed_total", "room" => room.id().to_owned())
                .increment(1);
            log_failed_try!(
                error,
                room = room.id(),
                "a beat of the room failed; the next one tries again"
            );
        }
        if nudged {
            // This limits nudged beats to ten a second, even if many visitors join at once.
            tokio::time::sleep(BEAT / 2).await;
        }
    }
}

async fn one_beat(
    rooms: &RoomRegistry,
    hub: &Arc<RoomSocketHub>,
    room: &Room,
    state: &mut RoomLoopState,
    nudged: bool,
) -> Result<(), StoreFailure> {
    let now = rooms.now_ms();
    let row = room.row();
    // A draw that has begun goes on in every phase of the room.
    let begun = room.draw_state().row.freeze.is_some() || room.is_begun_elsewhere();
    // The report is made even if the draw fails below.
    let reported = report(rooms, room, state, now).await;
    let may_draw = begun || !matches!(room.phase(now), RoomPhase::Closed | RoomPhase::Scheduled);
    if row.document.method == LineMethod::Draw && may_draw {
        let due = room.is_begun_elsewhere() || draw_due(&row.document, &row.facts, now);
        while drawing::advance(rooms, hub, room, due).await? {
            hub.announce_draw(room, now);
        }
    }
    reported?;
    idle_passes::report_active(rooms, room).await?;
    // A beat that comes a moment early still releases. Otherwise the release would wait for the
    // next beat, more than a second after the last release. A tick counts at most one second, so
    // the time beyond that would be lost.
    let due = Instant::now() + BEAT / 2 >= state.next_release;
    if due || nudged {
        let since_pulse = state.pulsed_at.map(|at| at.elapsed());
        let pulse = if due && is_pulse_due(room.phase(now), since_pulse) {
            fetch_pulse(rooms, room, state).await?
        } else {
            None
        };
        release::run_tick(rooms, room, pulse, due, now).await?;
        if due {
            // The next release is due one second after the time at which this one was due, so that
            // a late tick loses no time. But it is not due sooner than half a second from now.
            state.next_release =
                (state.next_release + RELEASE_EVERY).max(Instant::now() + RELEASE_EVERY / 2);
        }
    }
    hub.announce_changes(room, now);
    if due || nudged {
        hub.announce_line(room, now);
    }
    if due {
        let sampled = write_sample(rooms.ledger(), room, &mut state.sampled_ms, now).await;
        // Places are ended and networks are forgotten even if the sample was not written.
        state.stopper.stop_some(rooms, room, now).await?;
        state.forgetter.forget_some(rooms, room, now).await?;
        state.left_baskets.end_some(rooms, room, now).await?;
        state.idle_passes.end_some(rooms, room, now).await?;
        sampled?;
    }
    Ok(())
}

/// Tells the store who is here, if a report is due. If the store has begun a new life, shows it the
/// places of the visitors with open sockets.
async fn report(
    rooms: &RoomRegistry,
    room: &Room,
    state: &mut RoomLoopState,
    now: i64,
) -> Result<(), StoreFailure> {
    let due = state
        .reported_at
        .is_none_or(|at| at.elapsed() >= REPORT_EVERY);
    let mut noted = Ok(());
    if due {
        state.reported_at = Some(Instant::now());
        let present = room.presence().report();
        let seen = rooms
            .store()
            .note_seen(room.id(), &present, now.div_euclid(1000));
        noted = seen.await.map(|life| state.returning.note_life(life));
    }
    state
        .returning
        .start_if_due(rooms, room, due && noted.is_ok())
        .await;
    noted
}

/// Asks booking for its figures, and records the visitors whose orders were ticketed since the last
/// call. If booking does not answer, the room continues with the last figures.
async fn fetch_pulse(
    rooms: &RoomRegistry,
    room: &Room,
    state: &mut RoomLoopState,
) -> Result<Option<crate::upstream::BookingPulse>, StoreFailure> {
    if state
        .resolved_at
        .is_none_or(|at| at.elapsed() >= RESOLVE_EVERY)
    {
        match rooms.shows_of(room).await {
            Ok(shows) => {
                state.shows = shows.into_iter().map(|show| show.id.to_string()).collect();
                state.resolved_at = Some(Instant::now());
            }
            Err(error) => log_failed_try!(
                error,
                room = room.id(),
                "booking did not answer which shows the room has"
            ),
        }
    }
    let ask = PulseRequest {
        room: room.id().to_owned(),
        shows: state.shows.clone(),
        finished_after: room.last_tick().counts.finished,
        soon_s: room.choosing_time().mean_s(),
    };
    let pulse = match rooms.core().pulse(ask).await {
        Ok(pulse) => pulse,
        Err(error) => {
            log_failed_try!(error, room = room.id(), "booking gave no figures");
            return Ok(None);
        }
    };
    state.pulsed_at = state.resolved_at.map(|_| Instant::now());
    if let Some((cursor, _)) = pulse.finished.last() {
        let holders: Vec<_> = pulse.finished.iter().map(|(_, holder)| *holder).collect();
        rooms
            .ledger()
            .finish(room.id(), *cursor, &holders, rooms.now_ms())
            .await?;
        rooms
            .store()
            .mark_ticketed(room.id(), *cursor, &holders)
            .await?;
    }
    Ok(Some(pulse))
}

/// Writes the newest sample that is due at `now`, if its time is after `sampled_ms`. If the ledger
/// does not take the sample, `sampled_ms` stays, so that the next release writes it.
async fn write_sample(
    ledger: &RoomLedger,
    room: &Room,
    sampled_ms: &mut i64,
    now: i64,
) -> Result<(), LedgerError> {
    let sample = sample(room, now);
    if sample.at_ms > *sampled_ms {
        ledger.sample(room.id(), sample).await?;
        *sampled_ms = sample.at_ms;
    }
    Ok(())
}

/// Returns the time of the newest sample that is due at `now`. Samples of all nodes have the same
/// times. Each is taken within a second after its time, or a few seconds later if a release or the
/// ledger failed.
fn sample_time(room: &Room, now: i64) -> i64 {
    let row = room.row();
    let draw_at = row.facts.draw_called_at.unwrap_or(row.document.draw_at);
    now - now.rem_euclid(sample_every_ms(now - draw_at))
}

/// Returns the time between two samples, `after_draw_ms` after the draw.
fn sample_every_ms(after_draw_ms: i64) -> i64 {
    if (0..AT_FIRST_MS).contains(&after_draw_ms) {
        SAMPLE_EVERY_AT_FIRST_MS
    } else {
        SAMPLE_EVERY_MS
    }
}

/// Builds the newest sample that is due. The ledger stores the sample of the first node and ignores
/// the samples of all other nodes.
fn sample(room: &Room, now: i64) -> RoomSample {
    let tick = room.last_tick();
    RoomSample {
        at_ms: sample_time(room, now),
        joined: tick.counts.joined,
        waiting: tick.waiting,
        left: tick.counts.left,
        released: tick.released,
        inside: tick.counts.inside,
        claimed: tick.counts.claimed,
        done: tick.counts.done,
        free: tick.pulse.free,
        held: tick.pulse.held,
        sold: tick.pulse.sold,
    }
}

#[cfg(test)]
mod tests {
    use fairgate_databases::{Installation, SqliteDatabase};
    use fairgate_rules::phase::RoomFacts;
    use fairgate_rules::room_document::RoomDocument;

    use super::*;
    use crate::ledger::{DrawSecret, ReleaseRow, RoomRow};
    use crate::room::DrawState;

    #[tokio::test]
    async fn a_sample_that_the_ledger_did_not_take_is_written_by_the_next_release() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let open = async || {
            let file = SqliteDatabase::open(&folder.path().join("ledger.db"));
            let file = Installation::File(file.expect("the file opens"));
            let ledger = RoomLedger::open(
                file.clone(),
                fairgate_base::secret::InstallationSecret::derive("a test's secret"),
            )
            .await
            .expect("it migrates");
            (file, ledger)
        };
        let (file, closed) = open().await;
        let row = RoomRow {
            room: "r".into(),
            document: RoomDocument::everyday(),
            facts: RoomFacts::default(),
            version: 1,
            secret: DrawSecret([1; 32]),
            created_at: 0,
        };
        let draw = DrawState::restore(&closed, &row).await.expect("no draw");
        let room = Room::new(row, draw, ReleaseRow::default());
        file.close().await.expect("it closes");
        let mut sampled_ms = 1_800_000_000_000;
        let due_ms = sampled_ms + SAMPLE_EVERY_MS;
        let refused = write_sample(&closed, &room, &mut sampled_ms, due_ms).await;
        assert!(refused.is_err());
        let (_file, ledger) = open().await;
        for now in [due_ms + 1_000, due_ms + 2_000] {
            let written = write_sample(&ledger, &room, &mut sampled_ms, now).await;
            written.expect("it is written");
        }
        let samples = ledger.samples("r").await.expect("samples");
        let times: Vec<i64> = samples.iter().map(|sample| sample.at_ms).collect();
        assert_eq!(times, [due_ms]);
    }

    #[test]
    fn a_room_that_sells_nothing_yet_asks_for_figures_every_five_seconds() {
        let (just_now, long_ago) = (Duration::from_secs(1), Duration::from_secs(5));
        for (phase, at_rest) in [
            (RoomPhase::Scheduled, true),
            (RoomPhase::Prequeue, true),
            (RoomPhase::Drawing, false),
            (RoomPhase::Selling, false),
            (RoomPhase::SoldOut, false),
            (RoomPhase::Closed, false),
        ] {
            assert_eq!(is_pulse_due(phase, Some(just_now)), !at_rest, "{phase:?}");
            assert!(is_pulse_due(phase, Some(long_ago)), "{phase:?}");
            assert!(is_pulse_due(phase, None), "{phase:?}");
        }
    }

    #[test]
    fn samples_come_more_often_in_the_first_minutes_of_a_sale() {
        for (after_draw_ms, expected) in [
            (-1, 10_000),
            (0, 5_000),
            (299_999, 5_000),
            (300_000, 10_000),
        ] {
            assert_eq!(sample_every_ms(after_draw_ms), expected);
        }
    }
}
