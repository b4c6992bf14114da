//! Opens shows again that are closed because the ledger went back, once the reconciler finds
//! nothing about them.

use fairgate_model::findings::{DriftFinding, DriftKind, DriftSubject};
use fairgate_model::ids::ShowId;
use fairgate_model::payments::kind::ProviderKind;
use fairgate_model::shows::coverage::matches;

use crate::inventory::seats::SeatInventory;
use crate::ledger::LedgerError;
use crate::reconciler::missed::MissedEventsError;
use crate::reconciler::{Reconciler, ReconcilerLine};

/// How often the reconciler compares before the shows count as not reconciled. A repair may make
/// the next one possible.
const PASSES_MAX: u32 = 5;

/// What came of reopening shows.
#[derive(Debug, PartialEq, Eq)]
pub enum ReopenOutcome {
    /// The shows sell again.
    Reopened {
        /// How many of their orders came back from the payment provider.
        restored: u64,
        /// How many orders of the whole ledger are lost at least of which no provider knows. `None`
        /// if that is not known.
        lost: Option<u64>,
    },
    /// No show was closed.
    NothingClosed,
    /// No show matches the pattern.
    NoShow,
    /// These differences are left. The shows stay closed.
    Unreconciled(Vec<ReconcilerLine>),
    /// The ledger has payments at this provider, and this process does not use it, so nobody could
    /// ask what was paid meanwhile. The shows stay closed.
    ProviderUnused(&'static str),
    /// The payment provider was not asked, because it did not answer. The shows stay closed.
    ProviderSilent(String),
    /// The store knows decisions about these shows that the ledger lacks. They stay closed.
    StoreAhead(Vec<ShowId>),
    /// Refunds at the provider say that these shows were cancelled, and the ledger does not know
    /// it any more. They stay closed.
    CancelledBefore(Vec<ShowId>),
}

/// Opens shows again.
#[derive(Clone)]
pub struct ShowReopener {
    /// Compares provider, ledger and store, and repairs what differs.
    pub reconciler: Reconciler,
    /// The seats, which know whether the store is ahead of the ledger.
    pub seats: SeatInventory,
}

impl ShowReopener {
    /// Opens the shows that match `pattern`, which is an id or a glob such as `g1-*`.
    ///
    /// # Errors
    /// Returns an error if the ledger or the store does not answer. The shows then stay closed.
    pub async fn reopen(&self, pattern: &str, now_ms: i64) -> Result<ReopenOutcome, LedgerError> {
        let catalogue = &self.reconciler.catalogue;
        catalogue.refresh_catalogue().await?;
        let Some(closure) = catalogue.closure() else {
            return Ok(ReopenOutcome::NothingClosed);
        };
        let mut shows: Vec<ShowId> = catalogue
            .shows()
            .iter()
            .map(|show| show.id.clone())
            .collect();
        shows.extend(catalogue.departures().iter().map(|show| show.id.clone()));
        shows.retain(|show| matches(pattern, show.as_str()));
        // A departure that nobody has held yet has no row, and nothing about it can differ.
        if shows.is_empty() && pattern != "*" && !is_departure(catalogue, pattern) {
            return Ok(ReopenOutcome::NoShow);
        }
        let mut ahead = Vec::new();
        for show in &shows {
            if self.seats.is_store_ahead(show).await? {
                ahead.push(show.clone());
            }
        }
        if !ahead.is_empty() {
            return Ok(ReopenOutcome::StoreAhead(ahead));
        }
        if let Some(provider) = self.unused_provider().await? {
            return Ok(ReopenOutcome::ProviderUnused(provider));
        }
        match self.reconciler.settle_missed_events().await {
            Ok(()) => {}
            Err(MissedEventsError::Ledger(error)) => return Err(error),
            Err(error) => {
                return Ok(ReopenOutcome::ProviderSilent(error.to_string()));
            }
        }
        let left = self.reconcile(&shows, closure.last_commit_at_ms).await?;
        if !left.is_empty() {
            return Ok(ReopenOutcome::Unreconciled(left));
        }
        let ledger = &self.reconciler.ledger;
        let cancelled = ledger.shows_cancelled_before(shows).await?;
        if !cancelled.is_empty() {
            return Ok(ReopenOutcome::CancelledBefore(cancelled));
        }
        let restored = ledger.restored_orders(pattern.to_owned(), closure.noticed_at_ms);
        let restored = restored.await?;
        ledger.reopen_shows(pattern.to_owned(), now_ms).await?;
        catalogue.refresh_catalogue().await?;
        tracing::warn!(
            pattern,
            restored,
            lost = closure.orders_lost,
            "shows were reopened after the ledger had gone back"
        );
        Ok(ReopenOutcome::Reopened {
            restored,
            lost: closure.orders_lost,
        })
    }

    /// Returns a provider that keeps orders of this ledger, and that this process cannot ask.
    async fn unused_provider(&self) -> Result<Option<&'static str>, LedgerError> {
        let inbox = self.reconciler.inbox.as_ref();
        let used = inbox.map_or("", |inbox| inbox.provider.name());
        let others = ProviderKind::ORDER_KEEPERS.into_iter();
        for other in others.filter(|other| *other != used) {
            if self.reconciler.ledger.has_payments_at(other).await? {
                return Ok(Some(other));
            }
        }
        Ok(None)
    }

    /// Compares and repairs until nothing about the shows differs. Returns what is left.
    async fn reconcile(
        &self,
        shows: &[ShowId],
        since_ms: i64,
    ) -> Result<Vec<ReconcilerLine>, LedgerError> {
        let mut left = Vec::new();
        for _ in 0..PASSES_MAX {
            let is_about = |finding: &DriftFinding| concerns(finding, shows);
            left = self
                .reconciler
                .reconcile_shows(since_ms, shows.to_vec(), is_about)
                .await?;
            if left.is_empty() {
                break;
            }
        }
        Ok(left)
    }
}

/// Returns whether a pattern names a departure that has no row in the ledger yet.
fn is_departure(catalogue: &crate::catalogue::Catalogue, pattern: &str) -> bool {
    catalogue.find_show(pattern).is_some()
}

/// Returns whether a difference keeps these shows closed. Money of which the ledger knows nothing
/// may be for any show.
fn concerns(finding: &DriftFinding, shows: &[ShowId]) -> bool {
    let show = match &finding.about {
        DriftSubject::Order(order) => order.show(),
        DriftSubject::Payment(payment, _) => payment.order.show(),
        DriftSubject::Show(show) => show.clone(),
        DriftSubject::Hold(secured) => secured.hold.show(),
        DriftSubject::Money(_) => return finding.kind == DriftKind::UnknownMoney,
    };
    shows.contains(&show)
}
