//! Measures what waiting feels like here: a timer that should come every hundredth of a second, and
//! a write that writes nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Judge, Load, Measured, Window};
use crate::ledger::Ledger;

const TIMER: Duration = Duration::from_millis(10);
/// Timers between two judgements.
const JUDGE_EVERY: u32 = 10;
const SECOND: Duration = Duration::from_secs(1);
const LEDGER_EVERY: Duration = Duration::from_millis(250);

/// How late timers run, for ever.
pub async fn lag(load: Load) {
    let (mut window, mut judge) = (Window::default(), Judge::default());
    let mut second = Instant::now();
    loop {
        for _ in 0..JUDGE_EVERY {
            let asleep = Instant::now();
            tokio::time::sleep(TIMER).await;
            let late = asleep.elapsed().saturating_sub(TIMER);
            window.add(Instant::now(), ms(late));
        }
        let measured = Measured {
            lag_p99_ms: window.p99(),
            ledger_ms: load.ledger_ms(),
        };
        load.set(measured, judge.level(measured, Instant::now()));
        if second.elapsed() >= SECOND {
            second = Instant::now();
            load.second();
        }
    }
}

/// How long the ledger's writer keeps a write waiting, for ever. A write that has not come back yet
/// counts by how long it has been waiting.
pub async fn ledger(load: Load, ledger: Arc<dyn Ledger>) {
    loop {
        tokio::time::sleep(LEDGER_EVERY).await;
        let asked = Instant::now();
        let mut answer = std::pin::pin!(ledger.barrier());
        while tokio::time::timeout(LEDGER_EVERY, answer.as_mut())
            .await
            .is_err()
        {
            load.set_ledger_ms(ms(asked.elapsed()));
        }
        // Also where it failed: the calls that need the ledger say so by themselves, and waited
        // just as long.
        load.set_ledger_ms(ms(asked.elapsed()));
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
