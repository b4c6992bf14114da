//! Measures how long work waits in this process: a timer that should fire every hundredth of a
//! second, and a ledger write that writes nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{LoadLevelTracker, LoadMeasurement, LoadSampleWindow, ProcessLoad};
use crate::ledger::RoomLedger;

const TIMER: Duration = Duration::from_millis(10);
/// How many timers fire between two decisions about the level.
const JUDGE_EVERY: u32 = 10;
const SECOND: Duration = Duration::from_secs(1);
const LEDGER_EVERY: Duration = Duration::from_millis(250);

/// Measures how late timers fire. Never returns.
pub async fn measure_timer_lag(load: ProcessLoad) {
    let (mut window, mut judge) = (LoadSampleWindow::default(), LoadLevelTracker::default());
    let mut second = Instant::now();
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
        if second.elapsed() >= SECOND {
            second = Instant::now();
            load.end_second();
        }
    }
}

/// Measures how long a write waits for the ledger's writer. Never returns. A write that has not
/// returned yet counts with its waiting time so far.
pub async fn measure_ledger_wait(load: ProcessLoad, ledger: Arc<dyn RoomLedger>) {
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

fn whole_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
