//! Makes calls at a fixed rate, however slow the answers are. The latency of a call begins when the
//! call is due, so that it includes the wait for a busy system.

use std::time::{Duration, Instant};

use anyhow::ensure;
use hdrhistogram::Histogram;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// The longest time that is recorded, in microseconds.
const MAX_US: u64 = 60_000_000;
/// The most by which 99 of 100 calls may start after they are due. If they start later, the bench
/// measures its own delay, and the run is invalid.
const LATE_MAX: Duration = Duration::from_millis(20);

/// The latencies of the calls.
pub struct CallLatencies(Histogram<u64>);

impl CallLatencies {
    /// Returns a percentile in milliseconds.
    #[expect(
        clippy::cast_precision_loss,
        reason = "at most a minute in microseconds"
    )]
    pub fn ms(&self, percentile: f64) -> f64 {
        self.0.value_at_percentile(percentile) as f64 / 1e3
    }

    /// Makes an empty set of latencies.
    pub fn empty() -> Self {
        Self(Histogram::new_with_bounds(1, MAX_US, 3).expect("bounds that are in order"))
    }

    fn add(&mut self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(MAX_US);
        self.0.saturating_record(us.max(1));
    }
}

/// Makes `per_s` calls a second for the time `lasting`, and returns their latencies. `call` gets
/// the number of the call, and its future returns the time at which the answer came.
///
/// # Errors
/// Where a call fails, or calls start too late.
pub async fn call_at_pace<F: Future<Output = anyhow::Result<Instant>> + Send + 'static>(
    per_s: u32,
    lasting: Duration,
    mut call: impl FnMut(usize) -> F,
) -> anyhow::Result<CallLatencies> {
    let mut dues = due_times(per_s, lasting);
    let mut running = JoinSet::new();
    let (mut times, mut late) = (CallLatencies::empty(), CallLatencies::empty());
    let mut number = 0;
    while let Some(due) = dues.recv().await {
        let calling = call(number);
        running.spawn(async move {
            let started = Instant::now();
            let answered_at = calling.await?;
            anyhow::Ok((
                started.saturating_duration_since(due),
                answered_at.saturating_duration_since(due),
            ))
        });
        number += 1;
        while let Some(result) = running.try_join_next() {
            let (was_late, took) = result??;
            late.add(was_late);
            times.add(took);
        }
    }
    while let Some(result) = running.join_next().await {
        let (was_late, took) = result??;
        late.add(was_late);
        times.add(took);
    }
    ensure!(
        late.ms(99.0) < LATE_MAX.as_secs_f64() * 1e3,
        "calls were started up to {:.0} ms late: the machine cannot make {per_s} a second",
        late.ms(99.0)
    );
    Ok(times)
}

/// Sends a message with the due time whenever a call is due. A thread sends the messages, because
/// the timers of the runtime have a resolution of a millisecond. Their error would be part of the
/// measured latencies.
fn due_times(per_s: u32, lasting: Duration) -> mpsc::UnboundedReceiver<Instant> {
    let (due_sender, dues) = mpsc::unbounded_channel();
    let apart = Duration::from_secs(1) / per_s;
    std::thread::spawn(move || {
        let begun = Instant::now();
        let offsets = (0_u32..).map(|number| apart * number);
        for offset in offsets.take_while(|offset| *offset < lasting) {
            let due = begun + offset;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if due_sender.send(due).is_err() {
                return;
            }
        }
    });
    dues
}

impl std::ops::AddAssign<&CallLatencies> for CallLatencies {
    fn add_assign(&mut self, other: &CallLatencies) {
        self.0.add(&other.0).expect("the same bounds");
    }
}
