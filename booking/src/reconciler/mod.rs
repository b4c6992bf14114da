//! Compares what the provider, the ledger and the store say about the same money and the same
//! seats, and repairs the differences. No call waits for the reconciler. A difference comes from a
//! lost message or a fault. Its only effect is a delay.

pub mod missed;
mod provider;
pub mod repair;
mod shows;
pub mod watch;

use std::time::Duration;

use fairgate_base::clock::{Clock, rfc3339};
use fairgate_base::log_failed_try;
use fairgate_model::findings::{DriftFinding, DriftKind, ReconcilerSnapshot, findings};
use fairgate_model::ids::ShowId;
use serde::Serialize;

use crate::catalogue::Catalogue;
use crate::inventory::seats::SeatInventory;
use crate::ledger::{Ledger, LedgerError};
use crate::payments::webhook::PaymentEventInbox;
use crate::wake::LedgerNotifiers;
use repair::RepairOutcome;
use shows::ReconcilerProgress;
use watch::LockedHoldWatch;

/// The longest time between two comparisons. The time is shorter if payments must be read back
/// sooner.
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// The lease that lets one node at a time compare.
const LEASE: &str = "reconciler";
/// How many comparisons the lease lasts. If the node with the lease dies, up to this many
/// comparisons are missed.
const LEASE_COMPARISONS: u32 = 3;

/// The maximum number of orders of each kind that one pass compares.
const BATCH_MAX: u32 = 200;

/// How far a pass looks back for payments that changed, in milliseconds.
const LOOK_BACK_MS: i64 = 60 * 60 * 1_000;

/// The worker that compares and repairs.
#[derive(Clone)]
pub struct Reconciler {
    /// The ledger, which has the last word.
    pub ledger: Ledger,
    /// The catalogue of shows.
    pub catalogue: Catalogue,
    /// The seats of the shows, or `None` if only ledger and provider are compared.
    pub seats: Option<SeatInventory>,
    /// The inbox of payment events, with the payment provider. `None` if payments are not
    /// configured.
    pub inbox: Option<PaymentEventInbox>,
    /// The installation's clock.
    pub clock: Clock,
    /// Wakes the workers that carry out repairs.
    pub notifiers: LedgerNotifiers,
    /// Remembers holds that are locked for an order that was not made.
    pub watch: LockedHoldWatch,
}

/// A finding with the result of its repair, as it is printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReconcilerLine {
    /// The kind of drift.
    pub kind: DriftKind,
    /// The id of the order, payment or show.
    pub about: String,
    /// The time since which the two sides differ, in RFC 3339 form.
    pub since: String,
    /// A description for people.
    pub told: String,
    /// The result: `repaired`, `not_needed`, `later`, `failed`.
    pub repair: &'static str,
}

impl Reconciler {
    /// Compares all shows that promoters have created, the orders and payments that may differ, and
    /// the locked holds. Returns each difference with the result of its repair.
    ///
    /// # Errors
    /// Returns an error if the ledger cannot be read.
    pub async fn reconcile_all(&self, since_ms: i64) -> Result<Vec<ReconcilerLine>, LedgerError> {
        let shows = self.catalogue.shows();
        let shows = shows.iter().map(|show| show.id.clone()).collect();
        self.run_pass(since_ms, shows).await
    }

    /// Compares some shows, and the orders and payments that may differ. Repairs only the
    /// differences that `is_about` accepts, and returns these with the results of their repairs.
    ///
    /// # Errors
    /// Returns an error if the ledger cannot be read.
    pub async fn reconcile_shows(
        &self,
        since_ms: i64,
        shows: Vec<ShowId>,
        is_about: impl Fn(&DriftFinding) -> bool,
    ) -> Result<Vec<ReconcilerLine>, LedgerError> {
        let snapshot = self.gather_snapshot(since_ms, shows).await?;
        let mut lines = Vec::new();
        for finding in findings(&snapshot, self.clock.now_ms()) {
            if is_about(&finding) {
                lines.push(self.repair_and_report(&finding).await);
            }
        }
        Ok(lines)
    }

    /// Compares some shows, the orders and payments that may differ, and the locked holds.
    async fn run_pass(
        &self,
        since_ms: i64,
        shows: Vec<ShowId>,
    ) -> Result<Vec<ReconcilerLine>, LedgerError> {
        self.reconcile_shows(since_ms, shows, |_| true).await
    }

    async fn repair_and_report(&self, finding: &DriftFinding) -> ReconcilerLine {
        let kind = finding.kind.as_str();
        let repair = match self.repair(finding).await {
            Ok(repaired) => repaired.as_str(),
            Err(error) => {
                tracing::warn!(kind, about = %finding.about, %error, "a repair failed; the next pass tries again");
                "failed"
            }
        };
        if repair == RepairOutcome::Done.as_str() {
            tracing::warn!(kind, about = %finding.about, told = finding.description, "a difference was repaired");
            let delay_ms = (self.clock.now_ms() - finding.since_ms).max(0);
            metrics::histogram!("fairgate_reconciler_repair_delay_seconds", "kind" => kind)
                .record(delay_ms as f64 / 1_000.0);
        }
        metrics::counter!("fairgate_reconciler_findings_total", "kind" => kind).increment(1);
        metrics::counter!("fairgate_reconciler_repairs_total", "kind" => kind, "outcome" => repair)
            .increment(1);
        ReconcilerLine {
            kind: finding.kind,
            about: finding.about.to_string(),
            since: rfc3339(finding.since_ms),
            told: finding.description.clone(),
            repair,
        }
    }

    async fn gather_snapshot(
        &self,
        since_ms: i64,
        shows: Vec<ShowId>,
    ) -> Result<ReconcilerSnapshot, LedgerError> {
        let now_ms = self.clock.now_ms();
        self.read_missed_events().await;
        Ok(ReconcilerSnapshot {
            orders: self.ledger.order_facts(since_ms, BATCH_MAX).await?,
            payments: self.read_back(now_ms).await?,
            shows: self.differing_shows(shows).await?,
            holds: self.holds_without_order().await?,
            money: self.unsettled_money().await?,
        })
    }

    /// Returns the pause between two comparisons. It is never longer than the time after which an
    /// unchanged payment is read back.
    fn pause_between_passes(&self) -> Duration {
        let quiet = self
            .inbox
            .as_ref()
            .map(|inbox| inbox.provider.read_back_after());
        quiet.map_or(PAUSE_MAX, |quiet| quiet.min(PAUSE_MAX))
    }

    /// Compares and repairs for as long as the process runs, whenever this node has the lease.
    pub async fn reconcile_forever(self, owner: String) {
        for kind in DriftKind::ALL {
            metrics::counter!("fairgate_reconciler_findings_total", "kind" => kind.as_str())
                .absolute(0);
        }
        let mut progress = ReconcilerProgress::default();
        let pause = self.pause_between_passes();
        let lease_ms = millis(pause * LEASE_COMPARISONS);
        let mut ticks = tokio::time::interval(pause);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            match self.ledger.lease(LEASE, &owner, lease_ms).await {
                Ok(true) => {}
                Ok(false) => continue,
                Err(error) => {
                    log_failed_try!(error, "nothing could be compared; trying again");
                    continue;
                }
            }
            let since_ms = self.clock.now_ms() - LOOK_BACK_MS;
            let passed = match self.shows_due(&mut progress).await {
                Ok(shows) => self.run_pass(since_ms, shows).await.map(drop),
                Err(error) => Err(error),
            };
            if let Err(error) = passed {
                log_failed_try!(error, "nothing could be compared; trying again");
            }
        }
    }
}

/// Returns a duration in milliseconds, as the ledger counts it.
fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
