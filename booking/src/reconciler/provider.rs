//! Reads the states of payments from the provider, to find changes whose events were lost, and the
//! money that somebody has to settle.

use std::sync::Arc;

use fairgate_model::findings::UnsettledMoney;
use fairgate_model::payments::{Payment, ProviderPayment};

use super::{Reconciler, millis};
use crate::ledger::LedgerError;

/// The maximum number of payments without captured money that one pass reads. The pass also reads
/// up to a quarter as many captured or refunded payments.
const BATCH_MAX: u32 = 200;

/// How many calls to the provider run at the same time.
const READS_AT_ONCE: usize = 8;

impl Reconciler {
    /// Returns money that somebody has to settle.
    pub(super) async fn unsettled_money(&self) -> Result<Vec<UnsettledMoney>, LedgerError> {
        let open = self.ledger.open_money_findings(BATCH_MAX).await?;
        let unsettled = open.into_iter().map(|finding| UnsettledMoney {
            refunded_of: finding.order,
            id: finding.id,
            sum: finding.sum,
            since_ms: finding.first_seen_ms,
        });
        Ok(unsettled.collect())
    }

    /// Reads the states of the payments that have not changed in the ledger for a while. If the
    /// provider's list of events is read first, reads none.
    pub(super) async fn read_back(
        &self,
        now_ms: i64,
    ) -> Result<Vec<(Payment, i64, ProviderPayment)>, LedgerError> {
        // A payment's state tells nothing about the order in which things happened.
        let Some(inbox) = self.inbox.as_ref().filter(|inbox| !inbox.waits_for_list()) else {
            return Ok(Vec::new());
        };
        let quiet_ms = millis(inbox.provider.read_back_after());
        let quiet = self
            .ledger
            .quiet_payments(now_ms, quiet_ms, BATCH_MAX)
            .await?;
        let mut read = Vec::with_capacity(quiet.len());
        let mut quiet = quiet
            .into_iter()
            .filter(|(payment, _)| payment.provider == inbox.provider.name());
        let mut running = tokio::task::JoinSet::new();
        loop {
            while running.len() < READS_AT_ONCE {
                let Some((payment, changed_ms)) = quiet.next() else {
                    break;
                };
                let provider = Arc::clone(&inbox.provider);
                running.spawn(async move {
                    let found = provider.read_back(&payment).await;
                    (payment, changed_ms, found)
                });
            }
            match running.join_next().await {
                Some(Ok((payment, changed_ms, Ok(found)))) => {
                    read.push((payment, changed_ms, found))
                }
                Some(Ok((payment, _, Err(error)))) => {
                    tracing::debug!(payment = %payment.id, %error, "a payment could not be read back");
                }
                Some(Err(error)) => return Err(LedgerError::Unavailable(error.to_string())),
                None => return Ok(read),
            }
        }
    }
}
