//! Measures how long work waits in this process: a timer that should fire forty times a second, and
//! a ledger write that writes nothing. Measures how many cores the process leaves idle.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::{LoadLevelTracker, LoadMeasurement, LoadSampleWindow, ProcessLoad};
use crate::ledger::RoomLedger;

const TIMER: Duration = Duration::from_millis(25);
/// How many timers fire between two decisions about the level.
const JUDGE_EVERY: u32 = 4;
const SECOND: Duration = Duration::from_secs(1);
const LEDGER_EVERY: Duration = Duration::from_millis(250);

/// Measures how late timers fire. Never returns.
pub async fn measure_timer_lag(load: ProcessLoad) {
    let (mut window, mut judge) = (LoadSampleWindow::default(), LoadLevelTracker::default());
    let mut second = Instant::now();
    let cores = std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
    let mut spent = process_time();
    loop {
        for _ in 0..JUDGE_EVERY {
            let asleep = Instant::now();
            tokio::time::sleep(TIMER).await;
            let late = asleep.elapsed().saturating_sub(TIMER);
            window.add_sample(Instant::now(), whole_millis(late));
        }
        let measured = LoadMeasurement {
            lag_p99_ms: window.p99(),
            ledger_ms: load.ledger_ms(),
        };
        load.apply_measurement(measured, judge.level(measured, Instant::now()));
        let elapsed = second.elapsed();
        if elapsed >= SECOND {
            let before = std::mem::replace(&mut spent, process_time());
            let used = spent.saturating_sub(before).div_duration_f64(elapsed);
            load.set_idle_cores((cores - used).max(0.0));
            second = Instant::now();
            load.end_second();
        }
    }
}

/// Measures how long a write waits for the ledger's writer. Never returns. A write that has not
/// returned yet counts with its waiting time so far.
pub async fn measure_ledger_wait(load: ProcessLoad, ledger: RoomLedger) {
    loop {
        tokio::time::sleep(LEDGER_EVERY).await;
        let asked = Instant::now();
        let mut answer = std::pin::pin!(ledger.barrier());
        while tokio::time::timeout(LEDGER_EVERY, answer.as_mut())
            .await
            .is_err()
        {
            load.set_ledger_ms(whole_millis(asked.elapsed()));
        }
        // A failed write counts too, because it waited just as long. The calls that need the ledger
        // report the failure themselves.
        load.set_ledger_ms(whole_millis(asked.elapsed()));
    }
}

/// Returns the time that all threads of this process have spent on processors.
fn process_time() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(spent).unwrap_or_default()
}

fn whole_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
