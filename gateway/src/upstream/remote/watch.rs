//! The two background tasks for each booking process. One asks for its state, and the other reads
//! its signals about holds.

use std::sync::Arc;
use std::time::Duration;

use booking::internal::wire;
use reqwest::{Method, Response, StatusCode};
use tokio::time::{sleep, timeout};

use super::RemoteBookingState;
use super::pool::{BookingNode, BookingNodePool, BookingNodeStatus, failure_reason};
use crate::upstream::HoldSignal;

/// How often each booking process is asked for its state.
const ASK_EVERY: Duration = Duration::from_millis(500);
/// How long booking may take to answer with its state before it is treated as silent. Booking
/// itself may wait 0.8 s for its ledger.
const STATE_MAX: Duration = Duration::from_millis(1_800);
/// How long a stream may be silent before it is given up. A live booking process sends something
/// every second.
const QUIET_MAX: Duration = Duration::from_secs(5);
/// The longest incomplete line (bytes) that is accepted. The longest signal is an offer with the
/// labels of 1,000 seats. A label has at most 100 characters.
const LINE_BYTES_MAX: usize = 1 << 20;

/// Asks one booking process for its state, for ever.
pub(super) async fn watch_status(shared: RemoteBookingState, node: Arc<BookingNode>) {
    loop {
        let sent_count = shared.sent_coverage_count();
        match fetch_state(&shared.pool, &node).await {
            Ok(state) if state.ledger != *shared.ledger => {
                node.set_status(BookingNodeStatus::Foreign)
            }
            Ok(state) => {
                // While a newer coverage must still be sent, booking's own list is old and is not
                // used.
                let mut is_new = node.shows_edition().is_new(state.shows_edition);
                if shared.owed_coverage().is_none() {
                    let mut known = shared.coverage.write();
                    is_new |= known.take_read(state.coverage, sent_count);
                }
                if is_new {
                    shared.shows_edition.advance();
                }
                node.set_status(if state.ready {
                    BookingNodeStatus::Well
                } else {
                    BookingNodeStatus::Unready(state.reasons)
                });
                if let Err(error) = shared.send_owed_coverage().await {
                    tracing::debug!(%error, "booking was not told of the rooms yet");
                }
            }
            Err(status) => node.set_status(status),
        }
        report_well_count(&shared.pool);
        sleep(ASK_EVERY).await;
    }
}

/// Sets the metric that shows operators how many booking processes take calls.
fn report_well_count(pool: &BookingNodePool) {
    let well = |node: &&Arc<BookingNode>| node.status_and_age().0 == BookingNodeStatus::Well;
    let count = pool.nodes().iter().filter(well).count();
    metrics::gauge!("fairgate_bookings_well").set(count as f64);
}

/// Asks a process for its state. If there is no answer that can be used, returns the status that
/// the process then has.
async fn fetch_state(
    pool: &BookingNodePool,
    node: &BookingNode,
) -> Result<wire::BookingStateReply, BookingNodeStatus> {
    let failed = |error: reqwest::Error| BookingNodeStatus::Silent(failure_reason(&error));
    let asked = pool
        .internal(node, Method::GET, "/state")
        .timeout(STATE_MAX);
    let answer = asked.send().await.map_err(failed)?;
    match answer.status() {
        status if status.is_success() => {}
        StatusCode::UNAUTHORIZED => return Err(BookingNodeStatus::KeyRefused),
        status => {
            let why = format!("it answers {status} to a gateway");
            return Err(BookingNodeStatus::Silent(why));
        }
    }
    answer.json().await.map_err(failed)
}

/// Reads the signals of one booking process about holds, for ever. Each process sends only its own
/// signals, so each has a task of its own.
pub(super) async fn watch_signals(shared: RemoteBookingState, node: Arc<BookingNode>) {
    loop {
        let asked = shared.pool.internal(&node, Method::GET, "/signals");
        if let Ok(Ok(answer)) = timeout(QUIET_MAX, asked.send()).await
            && answer.status().is_success()
        {
            read_signals(&shared, answer).await;
        }
        sleep(ASK_EVERY).await;
    }
}

async fn read_signals(shared: &RemoteBookingState, mut answer: Response) {
    let mut heard = Vec::new();
    while let Ok(Ok(Some(chunk))) = timeout(QUIET_MAX, answer.chunk()).await {
        heard.extend_from_slice(&chunk);
        for signal in take_lines(&mut heard) {
            // Sending fails only if there is no receiver, which is no error.
            let _ = shared.signals.send(signal);
        }
        if heard.len() > LINE_BYTES_MAX {
            return;
        }
    }
}

/// Removes and reads all complete lines. What remains is the beginning of the next line. Signals
/// that this version does not know are skipped, because a newer booking may send more kinds.
fn take_lines(heard: &mut Vec<u8>) -> Vec<HoldSignal> {
    let Some(end) = heard.iter().rposition(|byte| *byte == b'\n') else {
        return Vec::new();
    };
    let lines: Vec<u8> = heard.drain(..=end).collect();
    lines
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<HoldSignal>(line).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use fairgate_model::holds::HoldSignalState;
    use fairgate_pass::Holder;

    use super::*;

    #[test]
    fn signals_are_read_whole_wherever_the_stream_is_cut() {
        let told = |hold: &str| wire::InternalHoldSignal {
            holder: Holder([7; 32]),
            hold: hold.to_owned(),
            state: HoldSignalState::Lapsed,
            expires_at_ms: 5,
            seats: Vec::new(),
        };
        let mut sent = Vec::new();
        for hold in ["hold_a_1", "hold_a_2"] {
            sent.extend(serde_json::to_vec(&told(hold)).expect("JSON"));
            sent.extend(b"\n\n");
        }
        for cut in 0..sent.len() {
            let mut heard = sent[..cut].to_vec();
            let mut holds = take_lines(&mut heard);
            heard.extend(&sent[cut..]);
            holds.extend(take_lines(&mut heard));
            let names: Vec<_> = holds.iter().map(|signal| signal.hold.as_str()).collect();
            assert_eq!(names, ["hold_a_1", "hold_a_2"], "cut at {cut}");
            assert!(heard.is_empty());
        }
    }
}
