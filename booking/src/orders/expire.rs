//! Expires orders at their deadline. Expiry and payment change the order's row by compare-and-set,
//! so exactly one of them wins.

use std::time::Duration;

use fairgate_base::clock::Clock;
use fairgate_base::log_failed_try;

use crate::ledger::{Ledger, LedgerError};
use crate::wake::WorkerNotifier;

/// How often the worker looks for overdue orders.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The most orders that one transaction expires.
const BATCH_MAX: u32 = 200;

/// Expires overdue orders and returns how many there were.
///
/// # Errors
/// Returns an error if the ledger does not answer. The next run then continues.
pub async fn expire_due(
    ledger: &Ledger,
    seats: &WorkerNotifier,
    now_ms: i64,
) -> Result<usize, LedgerError> {
    let mut expired = 0;
    loop {
        let batch = ledger.expire_due(now_ms, BATCH_MAX).await?.len();
        expired += batch;
        if batch > 0 {
            seats.notify_worker();
        }
        if batch < BATCH_MAX as usize {
            return Ok(expired);
        }
    }
}

/// Expires overdue orders for as long as the process runs. If an event about an order's payment was
/// stored in time, the order does not expire before the inbox has settled the event. So money is
/// not late only because its event still waits in the inbox, for example after a restart.
pub async fn expire_forever(ledger: Ledger, seats: WorkerNotifier, clock: Clock) {
    let mut every = tokio::time::interval(LOOK_EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        match expire_due(&ledger, &seats, clock.now_ms()).await {
            Ok(expired) => {
                metrics::counter!("fairgate_orders_expired_total").increment(expired as u64)
            }
            Err(error) => {
                log_failed_try!(error, "overdue orders could not be expired; trying again")
            }
        }
    }
}
