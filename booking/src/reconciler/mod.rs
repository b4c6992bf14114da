//! Compares what provider, ledger and store say of the same money and the same seats, and mends what does not agree.
//! Nothing waits for it: whatever it finds is a lost message or a fault, and costs delay only.

pub mod finding;
pub mod once;
pub mod repair;
pub mod watch;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::catalogue::Catalogue;
use crate::clock::{Clock, rfc3339};
use crate::holds::cells_of;
use crate::ids::ShowId;
use crate::inventory::CellState;
use crate::inventory::seats::Seats;
use crate::ledger::{Claimed, Ledger, LedgerError};
use crate::payments::webhook::Inbox;
use crate::payments::{Payment, ReadBack};
use crate::store::SeatRow;
use crate::wake::Wake;
use finding::{Finding, Kind, ShowFacts, Snapshot, findings};
use repair::Repaired;
use watch::Watch;

/// How often everything is compared.
const EVERY: Duration = Duration::from_secs(10);

/// The lease under which one node at a time does it.
const LEASE: &str = "reconciler";
const LEASE_MS: i64 = 30_000;

/// Payments that have not moved for so long are read back.
const QUIET_MS: i64 = 15_000;

/// Orders and payments looked at in one pass.
const BATCH_MAX: u32 = 200;

/// Seat rows on their way that are looked at.
const ROWS_MAX: u32 = 10_000;

/// Calls to the provider at once.
const READS_AT_ONCE: usize = 8;

/// A picture that lags behind the store is no drift: what differs is read again after this.
const PICTURE_LAG: Duration = Duration::from_millis(500);

/// A pass looks back over payments that moved within this.
const LOOK_BACK_MS: i64 = 60 * 60 * 1_000;

/// The bells of the workers that carry a repair out.
#[derive(Clone, Default)]
pub struct Bells {
    /// The seat outbox.
    pub seats: Wake,
    /// What is owed to the provider.
    pub effects: Wake,
}

impl Bells {
    fn ring(&self) {
        self.seats.call();
        self.effects.call();
    }
}

/// Compares and mends.
#[derive(Clone)]
pub struct Reconciler {
    /// The final arbiter.
    pub ledger: Arc<dyn Ledger>,
    /// Shows.
    pub catalogue: Catalogue,
    /// Their seats; none where only ledger and provider are compared.
    pub seats: Option<Seats>,
    /// The inbox with its provider; none where payments are not configured.
    pub inbox: Option<Inbox>,
    /// The time.
    pub clock: Clock,
    /// Who carries repairs out.
    pub bells: Bells,
    /// What was seen of holds that are locked for orders.
    pub watch: Watch,
}

/// A finding and what became of it, as it is printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The kind of drift.
    pub kind: Kind,
    /// The order, payment or show.
    pub about: String,
    /// Since when, RFC 3339.
    pub since: String,
    /// In words.
    pub told: String,
    /// `repaired`, `not_needed`, `later`, `failed`.
    pub repair: &'static str,
}

impl Reconciler {
    /// One pass: everything that does not agree, each with what became of its repair.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub async fn pass(&self, since_ms: i64) -> Result<Vec<Line>, LedgerError> {
        let snapshot = self.snapshot(since_ms).await?;
        let mut lines = Vec::new();
        for finding in findings(&snapshot, self.clock.now_ms()) {
            lines.push(self.mended(&finding).await);
        }
        Ok(lines)
    }

    async fn mended(&self, finding: &Finding) -> Line {
        let kind = finding.kind.word();
        let repair = match self.repair(finding).await {
            Ok(repaired) => repaired.word(),
            Err(error) => {
                tracing::warn!(kind, about = %finding.about, %error, "a repair failed; the next pass tries again");
                "failed"
            }
        };
        if repair == Repaired::Done.word() {
            tracing::warn!(kind, about = %finding.about, told = finding.told, "drift was mended");
            let delay_ms = (self.clock.now_ms() - finding.since_ms).max(0);
            metrics::histogram!("fairgate_reconciler_repair_delay_seconds", "kind" => kind)
                .record(delay_ms as f64 / 1_000.0);
        }
        metrics::counter!("fairgate_reconciler_findings_total", "kind" => kind).increment(1);
        metrics::counter!("fairgate_reconciler_repairs_total", "kind" => kind, "outcome" => repair)
            .increment(1);
        Line {
            kind: finding.kind,
            about: finding.about.to_string(),
            since: rfc3339(finding.since_ms),
            told: finding.told.clone(),
            repair,
        }
    }

    async fn snapshot(&self, since_ms: i64) -> Result<Snapshot, LedgerError> {
        let now_ms = self.clock.now_ms();
        Ok(Snapshot {
            orders: self.ledger.order_facts(since_ms, BATCH_MAX).await?,
            payments: self.read_back(now_ms).await?,
            shows: self.shows().await?,
            holds: self.holds().await?,
        })
    }

    async fn read_back(&self, now_ms: i64) -> Result<Vec<(Payment, i64, ReadBack)>, LedgerError> {
        let Some(inbox) = &self.inbox else {
            return Ok(Vec::new());
        };
        let quiet = self
            .ledger
            .quiet_payments(now_ms, QUIET_MS, BATCH_MAX)
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

    /// Shows whose picture differs from the ledger, twice in a row.
    async fn shows(&self) -> Result<Vec<ShowFacts>, LedgerError> {
        let Some(seats) = &self.seats else {
            return Ok(Vec::new());
        };
        let mut differing = Vec::new();
        for show in self.catalogue.shows() {
            let Some(first) = self.show(seats, &show.id).await? else {
                continue;
            };
            if differs(&first) {
                differing.push(show.id.clone());
            }
        }
        if differing.is_empty() {
            return Ok(Vec::new());
        }
        tokio::time::sleep(PICTURE_LAG).await;
        let mut facts = Vec::new();
        for show in differing {
            facts.extend(self.show(seats, &show).await?.filter(differs));
        }
        Ok(facts)
    }

    /// A show in the ledger and in the store. `None` where the store has not opened it.
    async fn show(&self, seats: &Seats, id: &ShowId) -> Result<Option<ShowFacts>, LedgerError> {
        let Some(show) = self.catalogue.show(id) else {
            return Ok(None);
        };
        if !matches!(seats.store.edition(id).await, Ok(Some(_))) {
            return Ok(None);
        }
        // In this order: a cell that is claimed alike before and after, and has no row on its way in between, must show
        // that claim in the picture of in between. All other cells are somebody's work at this very moment.
        let before = self.ledger.claimed(id).await?;
        let coming = self.rows_on_their_way(id).await?;
        let read_ms = self.clock.now_ms();
        let view = seats.store.view(id).await;
        let after = self.ledger.claimed(id).await?;
        let Some(mut view) = view else {
            return Ok(None);
        };
        let grid = show.grid();
        let before: HashSet<_> = before.into_iter().collect();
        let (same, changed): (Vec<_>, Vec<_>) =
            after.into_iter().partition(|claim| before.contains(claim));
        let known: HashSet<_> = same.iter().copied().collect();
        let gone = before.iter().filter(|claim| !known.contains(claim));
        let cell = |(seat, leg, _): &Claimed| u32::from(*leg) * grid.seats + seat;
        let mut busy: HashSet<u32> = changed.iter().chain(gone).map(cell).collect();
        for row in coming {
            busy.extend(cells_of(&row.items, grid));
        }
        for cell in &busy {
            if let Some(state) = view.states.get_mut(*cell as usize) {
                *state = CellState::Held;
            }
        }
        let claims = same.iter().map(|claim| (cell(claim), claim.2));
        Ok(Some(ShowFacts {
            show: id.clone(),
            claims: claims.filter(|(cell, _)| !busy.contains(cell)).collect(),
            states: view.states,
            read_ms,
        }))
    }

    async fn rows_on_their_way(&self, id: &ShowId) -> Result<Vec<SeatRow>, LedgerError> {
        let shows = self.ledger.number_seat_rows().await?;
        match shows.iter().find(|(show, _)| show == id) {
            Some((_, delivered)) => self.ledger.seat_rows(id, *delivered, ROWS_MAX).await,
            None => Ok(Vec::new()),
        }
    }

    /// Compares and mends for as long as the process runs, while this node has the lease.
    pub async fn reconcile_forever(self, owner: String) {
        for kind in Kind::ALL {
            metrics::counter!("fairgate_reconciler_findings_total", "kind" => kind.word())
                .absolute(0);
        }
        let mut every = tokio::time::interval(EVERY);
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            match self.ledger.lease(LEASE, &owner, LEASE_MS).await {
                Ok(true) => {}
                Ok(false) => continue,
                Err(error) => {
                    tracing::warn!(%error, "nothing could be compared; trying again");
                    continue;
                }
            }
            if let Err(error) = self.pass(self.clock.now_ms() - LOOK_BACK_MS).await {
                tracing::warn!(%error, "nothing could be compared; trying again");
            }
        }
    }
}

fn differs(facts: &ShowFacts) -> bool {
    let snapshot = Snapshot {
        shows: vec![facts.clone()],
        ..Snapshot::default()
    };
    !findings(&snapshot, facts.read_ms).is_empty()
}
