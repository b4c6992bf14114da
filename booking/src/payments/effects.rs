//! What the ledger owes the provider: captures and voids, each tried until it is done. Tickets follow a capture.

use std::sync::Arc;
use std::time::Duration;

use super::{Provider, ProviderError};
use crate::clock::Clock;
use crate::ledger::{Effect, Ledger, LedgerError};
use crate::orders::transition::EffectKind;
use crate::wake::Wake;

/// Effects carried out in one run.
const BATCH_MAX: u32 = 200;

/// How long the worker sleeps when nobody calls it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The longest pause between two tries.
const PAUSE_MAX_MS: i64 = 60_000;

/// Carries effects out.
#[derive(Clone)]
pub struct Effects {
    /// Where they are written.
    pub ledger: Arc<dyn Ledger>,
    /// Who carries them out.
    pub provider: Arc<dyn Provider>,
    /// The time.
    pub clock: Clock,
    /// Calls this worker.
    pub bell: Wake,
    /// Calls the seat outbox.
    pub seats: Wake,
}

/// How long to wait before the next try: twice as long each time.
#[must_use]
pub fn pause_ms(attempts: u32) -> i64 {
    (500_i64 << attempts.min(10)).min(PAUSE_MAX_MS)
}

impl Effects {
    /// Carries out what is due; returns how many effects were looked at.
    ///
    /// # Errors
    /// Where the ledger does not answer; the next run goes on.
    pub async fn carry_out_due(&self) -> Result<usize, LedgerError> {
        let mut seen = 0;
        loop {
            let due = self
                .ledger
                .due_effects(self.clock.now_ms(), BATCH_MAX)
                .await?;
            if due.is_empty() {
                return Ok(seen);
            }
            seen += due.len();
            let mut running = tokio::task::JoinSet::new();
            for effect in due {
                let effects = self.clone();
                running.spawn(async move { effects.carry_out(&effect).await });
            }
            while let Some(done) = running.join_next().await {
                done.map_err(|error| LedgerError::Unavailable(error.to_string()))??;
            }
            self.seats.call();
        }
    }

    async fn carry_out(&self, effect: &Effect) -> Result<(), LedgerError> {
        let result = match effect.kind {
            EffectKind::Capture => self.provider.capture(&effect.payment).await,
            EffectKind::Void => self.provider.void(&effect.payment).await,
        };
        let now_ms = self.clock.now_ms();
        let word = effect.kind.word();
        match (effect.kind, result) {
            (EffectKind::Capture, Ok(())) => self.ledger.captured(effect.id, now_ms).await?,
            (EffectKind::Void, Ok(())) => self.ledger.voided(effect.id, now_ms).await?,
            (EffectKind::Capture, Err(ProviderError::Refused(why))) => {
                tracing::error!(payment = %effect.payment.id, why, "the provider refused a capture; the seats are freed");
                self.ledger.capture_refused(effect.id, why, now_ms).await?;
            }
            (_, Err(error)) => {
                tracing::warn!(payment = %effect.payment.id, %error, word, "an effect is tried again later");
                let due_at_ms = now_ms + pause_ms(effect.attempts);
                self.ledger
                    .put_off(effect.id, due_at_ms, error.to_string())
                    .await?;
            }
        }
        metrics::counter!("fairgate_effects_total", "kind" => word).increment(1);
        Ok(())
    }

    /// Carries effects out for as long as the process runs.
    pub async fn carry_out_forever(self) {
        loop {
            if let Err(error) = self.carry_out_due().await {
                tracing::warn!(%error, "effects could not be carried out; trying again");
            }
            self.bell.wait(LOOK_EVERY).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_stay_bounded() {
        assert_eq!(pause_ms(0), 500);
        assert_eq!(pause_ms(1), 1_000);
        assert_eq!(pause_ms(60), PAUSE_MAX_MS);
    }
}
