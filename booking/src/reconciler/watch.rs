//! Finds holds that are locked for an order that was never made. This happens if the ledger does
//! not answer, or if the process dies between the lock and the claim. Without a repair, their seats
//! would stay locked until one minute after the deadline that the order's claim would have had.
//! Once a second, every process therefore looks for such holds among the holds that it knows.

use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use fairgate_model::findings::{HoldFacts, ReconcilerSnapshot, findings};
use fairgate_model::ids::HoldId;

use super::Reconciler;
use crate::ledger::LedgerError;
use crate::store::SecuredHold;

/// How often holds are compared with orders.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What is known of the holds that are locked for orders. This is remembered from one comparison to
/// the next.
#[derive(Clone, Default)]
pub struct LockedHoldWatch {
    seen: Arc<Mutex<HashMap<HoldId, LockedHoldState>>>,
}

#[derive(Clone, Copy)]
enum LockedHoldState {
    /// The ledger has the hold's order, or an undecided search for seats (for late money) that may
    /// use the hold. The hold is not looked up again.
    Ordered,
    /// The ledger had neither an order nor such a search at `since_ms`, and has had none since.
    WithoutOrder { since_ms: i64 },
}

impl LockedHoldWatch {
    /// Forgets holds that have ended, and returns the holds whose orders were not found yet.
    fn without_known_order(&self, locked: Vec<SecuredHold>) -> Vec<SecuredHold> {
        let mut seen = self.seen.lock();
        let still_locked: HashSet<&HoldId> = locked.iter().map(|secured| &secured.hold).collect();
        seen.retain(|hold, _| still_locked.contains(hold));
        let is_unresolved = |secured: &SecuredHold| {
            !matches!(seen.get(&secured.hold), Some(LockedHoldState::Ordered))
        };
        locked.into_iter().filter(is_unresolved).collect()
    }

    /// Records the ledger's answer, and returns the holds that have no order.
    fn record_order_lookup(
        &self,
        unresolved: Vec<SecuredHold>,
        without_order: &HashSet<HoldId>,
        now_ms: i64,
    ) -> Vec<HoldFacts> {
        let mut seen = self.seen.lock();
        let mut facts = Vec::new();
        for secured in unresolved {
            let before = seen.get(&secured.hold).copied();
            let state = match (without_order.contains(&secured.hold), before) {
                (false, _) => LockedHoldState::Ordered,
                (true, Some(before)) => before,
                (true, None) => LockedHoldState::WithoutOrder { since_ms: now_ms },
            };
            seen.insert(secured.hold.clone(), state);
            if let LockedHoldState::WithoutOrder { since_ms } = state {
                facts.push(HoldFacts { secured, since_ms });
            }
        }
        facts
    }
}

impl Reconciler {
    /// Returns the holds that are locked for orders which the ledger does not have.
    pub(super) async fn holds_without_order(&self) -> Result<Vec<HoldFacts>, LedgerError> {
        let Some(seats) = &self.seats else {
            return Ok(Vec::new());
        };
        let unresolved = self
            .watch
            .without_known_order(seats.store.holds_locked_for_orders().await);
        if unresolved.is_empty() {
            return Ok(Vec::new());
        }
        let holds = unresolved
            .iter()
            .map(|secured| secured.hold.clone())
            .collect();
        let without_order = self
            .ledger
            .without_order(holds)
            .await?
            .into_iter()
            .collect();
        Ok(self
            .watch
            .record_order_lookup(unresolved, &without_order, self.clock.now_ms()))
    }

    /// Makes a locked hold a basket again, until the visitor's deadline plus the show's grace time.
    /// Does nothing and returns false if the order exists.
    pub(super) async fn restore_deadline(
        &self,
        secured: &SecuredHold,
    ) -> Result<bool, LedgerError> {
        let Some(seats) = &self.seats else {
            return Ok(false);
        };
        // `give_up` makes the ledger refuse every try to make this order that began before now,
        // unless its claim is already written. A later try first moves the lock's deadline, and
        // then `unsecure` below changes nothing.
        let given_up = self
            .ledger
            .give_up(&secured.hold, self.clock.now_ms())
            .await?;
        if given_up {
            let show = self.catalogue.show(&secured.hold.show());
            let grace_s = show.map_or(0, |show| show.document.grace_s);
            let until_ms = secured.expires_at_ms + i64::from(grace_s) * 1_000;
            seats
                .store
                .unsecure(&secured.hold, secured.lock_until_ms, until_ms)
                .await;
        }
        Ok(given_up)
    }

    /// Finds and repairs holds without orders for as long as the process runs. Each process checks
    /// the holds that it knows.
    pub async fn watch_forever(self) {
        let mut ticks = tokio::time::interval(LOOK_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            match self.holds_without_order().await {
                Ok(holds) => {
                    let snapshot = ReconcilerSnapshot {
                        holds,
                        ..ReconcilerSnapshot::default()
                    };
                    for finding in findings(&snapshot, self.clock.now_ms()) {
                        self.repair_and_report(&finding).await;
                    }
                }
                Err(error) => {
                    tracing::debug!(%error, "holds could not be compared with orders; trying again");
                }
            }
        }
    }
}
