//! Compares a shared ledger with the counters outside it once a second, and raises them.

use std::time::Duration;

use fairgate_base::log_failed_try;
use fairgate_databases::CountedOutside;
use tokio::time::MissedTickBehavior;

use super::start::log_set_back;
use crate::catalogue::Catalogue;
use crate::ledger::{Ledger, LedgerError};
use crate::store::redis::RedisLedgerCounter;

/// How often the ledger is compared. A commit that is younger than this may be lost unnoticed.
const KEEP_EVERY: Duration = Duration::from_secs(1);

/// Compares and raises the counters of a ledger that several processes share. A ledger in a file
/// needs this only when it is opened: if another file takes its place, the process ends.
#[derive(Clone)]
pub struct CounterKeeper {
    /// The ledger.
    pub ledger: Ledger,
    /// The counter in Redis, if there is one.
    pub redis: Option<RedisLedgerCounter>,
}

impl CounterKeeper {
    /// Compares the ledger with the counters outside it, and then raises all of them. Returns
    /// whether the ledger was found to be behind. If Redis does not answer, the file alone counts.
    ///
    /// # Errors
    /// Returns an error if the ledger does not answer.
    pub async fn compare_and_raise(&self) -> Result<bool, LedgerError> {
        // The other counters are read before the ledger. Another node that raises all of them
        // between the two readings therefore does not look like a ledger that went back.
        let in_file = self.ledger.counter_file().map(|file| file.newest());
        let in_redis = self.counter_in_redis().await;
        let outside = [in_file, in_redis].into_iter().flatten();
        let mut went_back = false;
        if let Some(outside) = outside.reduce(CountedOutside::furthest)
            && let Some(set_back) = self.ledger.note_outside_counter(outside).await?
        {
            log_set_back(&set_back);
            self.ledger.announce_closure().await?;
            went_back = true;
        }
        let counter = self.ledger.raise_counter().await?;
        if let Some(redis) = &self.redis
            && let Err(error) = redis.raise(counter).await
        {
            tracing::debug!(%error, "the counter in Redis was not raised; trying again");
        }
        Ok(went_back)
    }

    async fn counter_in_redis(&self) -> Option<CountedOutside> {
        match self.redis.as_ref()?.read().await {
            Ok(counter) => counter,
            Err(error) => {
                tracing::debug!(%error, "the counter in Redis was not read; trying again");
                None
            }
        }
    }

    /// Compares and raises for as long as the process runs.
    pub async fn keep_forever(self, catalogue: Catalogue) {
        let mut ticks = tokio::time::interval(KEEP_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let kept = match self.compare_and_raise().await {
                // This node closes its shows at once. The others read the change within a second.
                Ok(true) => catalogue.refresh_catalogue().await.map(drop),
                Ok(false) => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = kept {
                log_failed_try!(
                    error,
                    "the ledger could not be compared with the counter outside it; trying again"
                );
            }
        }
    }
}
