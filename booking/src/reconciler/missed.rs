//! Reads the provider's own list of events, to find events whose delivery was lost. Such an event
//! may be about money of which the ledger knows nothing, so reading back the ledger's payments
//! would not find it.

use std::sync::Arc;
use std::time::Duration;

use fairgate_model::payments::ProviderError;
use fairgate_model::shows::closure::SaleClosure;

use super::Reconciler;
use crate::ledger::{LedgerError, MoneyFindingKind};
use crate::payments::webhook::PaymentEventInbox;

/// How many pages one pass reads, at most. The next pass goes on.
const PAGES_MAX: u32 = 20;

/// How far back the first reading looks, before the last commit of a ledger that went back, or
/// before now, in milliseconds. Stripe delivers an event again for up to three days
/// (docs.stripe.com/webhooks).
const FIRST_LOOK_BACK_MS: i64 = 3 * 24 * 3_600_000;

/// How many sums of unknown money are tried again at most.
const UNKNOWN_MAX: u32 = 200;

/// How long [`Reconciler::settle_missed_events`] waits for events that a worker settles, and how
/// often it looks.
const SETTLED_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Why the events could not be read.
#[derive(Debug, thiserror::Error)]
pub enum MissedEventsError {
    /// The provider did not answer.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The ledger did not answer.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Some events could not be settled in time.
    #[error("some of its events are not settled yet")]
    Unsettled,
}

impl Reconciler {
    /// Stores events that the inbox does not have yet. If the provider does not answer, the next
    /// pass tries again.
    pub(super) async fn read_missed_events(&self) {
        let Some(inbox) = &self.inbox else {
            return;
        };
        let closure = self.catalogue.closure();
        let read = self.read_pages(inbox).await;
        if let Ok((_, true)) = &read {
            self.note_asked(closure).await;
        }
        match read {
            Ok((0, _)) => {}
            Ok((found, _)) => {
                tracing::warn!(
                    found,
                    "events that the provider did not deliver were found in its list"
                );
                metrics::counter!("fairgate_missed_events_total").increment(found);
            }
            Err(error) => {
                tracing::warn!(%error, "the provider's list of events could not be read; trying again");
            }
        }
    }

    /// Asks the provider for everything that happened since the ledger's last event, and settles
    /// it. Money of payments that the ledger does not have is a finding then. What was a finding
    /// before is tried again.
    ///
    /// # Errors
    /// Returns an error if the provider or the ledger does not answer, or if an event is still
    /// being settled after [`SETTLED_WITHIN`].
    pub async fn settle_missed_events(&self) -> Result<(), MissedEventsError> {
        let Some(inbox) = &self.inbox else {
            return Ok(());
        };
        let closure = self.catalogue.closure();
        while !self.read_pages(inbox).await?.1 {}
        // A worker may have taken events before this call, and may still be settling them.
        let settling = async {
            loop {
                inbox.settle_all().await?;
                let (unsettled, _) = self.ledger.backlog().await?;
                if unsettled == 0 {
                    return Ok::<(), LedgerError>(());
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        let settled = tokio::time::timeout(SETTLED_WITHIN, settling).await;
        settled.map_err(|_| MissedEventsError::Unsettled)??;
        self.note_asked(closure).await;
        self.restore_unknown(inbox).await
    }

    /// Tries once more to restore the orders of money that is listed as unknown.
    async fn restore_unknown(&self, inbox: &PaymentEventInbox) -> Result<(), MissedEventsError> {
        let listed = self.ledger.open_money_findings(UNKNOWN_MAX).await?;
        let unknown = listed.iter().filter(|finding| {
            finding.kind == MoneyFindingKind::UnknownMoney
                && finding.provider == inbox.provider.name()
        });
        for finding in unknown {
            inbox.restore_again(finding).await?;
        }
        Ok(())
    }

    /// Notes that the provider's list was read to its end after the ledger went back, if all events
    /// are settled. `closure` was known before the list was read. If the ledger does not answer,
    /// the next pass notes it.
    async fn note_asked(&self, closure: Option<Arc<SaleClosure>>) {
        let Some(closure) = closure.filter(|closure| !closure.is_provider_asked) else {
            return;
        };
        let noted = async {
            let (unsettled, _) = self.ledger.backlog().await?;
            if unsettled == 0 {
                self.ledger.note_provider_asked(&closure).await?;
                self.catalogue.refresh_catalogue().await?;
            }
            Ok::<(), LedgerError>(())
        };
        if let Err(error) = noted.await {
            tracing::debug!(%error, "that the provider was asked could not be noted; trying again");
        }
    }

    /// Reads some pages of the provider's events. Returns how many events are new, and whether
    /// there are no further pages.
    async fn read_pages(
        &self,
        inbox: &PaymentEventInbox,
    ) -> Result<(u64, bool), MissedEventsError> {
        let name = inbox.provider.name();
        let closure = self.catalogue.closure();
        let known_until_ms = closure.map_or(self.clock.now_ms(), |one| one.last_commit_at_ms);
        let since_ms = known_until_ms - FIRST_LOOK_BACK_MS;
        let mut found = 0;
        for _ in 0..PAGES_MAX {
            let after = self.ledger.event_cursor(name).await?;
            let page = inbox.provider.events_after(after.as_deref(), since_ms);
            let page = page.await?;
            let Some((newest, _)) = page.events.last().cloned() else {
                return Ok((found, true));
            };
            for (event, body) in page.events {
                found += u64::from(inbox.take_listed(event, body).await?);
            }
            self.ledger.move_event_cursor(name, newest).await?;
            if !page.has_more {
                return Ok((found, true));
            }
        }
        Ok((found, false))
    }
}
