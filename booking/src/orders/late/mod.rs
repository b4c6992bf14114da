//! Decides about late money: money that came after its order had expired. If the order's own seats
//! are free, the money buys these seats. Otherwise similar seats are locked until the buyer accepts
//! or declines them. If no similar seats are free, or the order is outside the limits for late
//! money, the money goes back. Seats are taken in the store before the ledger writes the decision.
//! Seats in somebody's basket are never taken.
//!
//! Every step may be repeated. The ids of the holds are derived from the order, so an interrupted
//! run finds its own locks. The ledger's transaction is a compare-and-set of the order.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use fairgate_base::clock::Clock;
use fairgate_base::log_failed_try;
use fairgate_model::holds::{HeldSeat, Hold, HoldPurpose, HoldStage, lock_until_ms};
use fairgate_model::ids::{HoldId, OrderId, ShowId};
use fairgate_model::orders::transition::LateRefundReason;
use fairgate_model::orders::{Order, OrderRecord, OrderState, ReplacementOffer, late};
use fairgate_model::shows::Show;
use late::{items_of, late_refund_reason, seats_like, sells_until_ms};

use crate::catalogue::Catalogue;
use crate::inventory::seats::SeatInventory;
use crate::ledger::{
    ClaimBasis, LateMoneyOutcome, Ledger, LedgerError, OrderChangeOutcome, SeatClaimRefused,
};
use crate::store::{ClaimableHold, InventoryRefusal};
use crate::wake::WorkerNotifier;

/// How long a buyer has to accept or decline other seats.
pub const CONSENT_MS: i64 = 15 * 60 * 1_000;

/// How long seats stay locked while the ledger writes the decision.
const LOCK_MS: i64 = 60_000;

/// How long an order belongs to the run that took it. Until then, no other run takes the order.
const ORDER_LENT_MS: i64 = 4_000;

/// How many orders a run takes at once. If one show is slow, other nodes can settle the remaining
/// orders.
const BATCH_MAX: u32 = 32;

/// How many times a run chooses other seats for an order. Another visitor may be quicker each time.
const CHOICES_MAX: usize = 12;

/// How long a run waits until the store has freed the seats of the expired order. After that the
/// order is left to a later run.
const OWN_HOLD_GONE_WITHIN: Duration = Duration::from_millis(500);
/// How often a waiting run asks the store.
const STORE_LOOK_EVERY: Duration = Duration::from_millis(20);

/// How long the worker sleeps when nothing wakes it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The worker that decides about late money.
#[derive(Clone)]
pub struct LateMoneyWorker {
    /// The ledger, which finally decides who gets a seat.
    pub ledger: Ledger,
    /// The catalogue of shows.
    pub catalogue: Catalogue,
    /// The seats of the shows.
    pub seats: SeatInventory,
    /// The installation's clock.
    pub clock: Clock,
    /// Wakes this worker.
    pub notifier: WorkerNotifier,
    /// Wakes the seat outbox.
    pub outbox: WorkerNotifier,
    /// Wakes the effects worker.
    pub effects: WorkerNotifier,
}

/// The result of one try to lock seats for an order.
enum KeepSeatsOutcome {
    /// This try or another one decided about the order.
    Decided,
    /// The seats are not free.
    Taken,
    /// The money goes back, for this reason.
    Back(LateRefundReason),
    /// The store cannot lock the seats yet, or does not answer. A later run tries again.
    NotNow,
}

impl LateMoneyWorker {
    /// Settles the late money of all due orders, and returns how many orders it looked at. An order
    /// that cannot be settled now is tried again later. Shows do not wait for each other.
    ///
    /// # Errors
    /// Returns an error if the ledger does not answer. The next run then continues.
    pub async fn settle_due(&self) -> Result<usize, LedgerError> {
        let mut settled = 0;
        loop {
            let now_ms = self.clock.now_ms();
            let due = self
                .ledger
                .late_due(now_ms, now_ms + ORDER_LENT_MS, BATCH_MAX)
                .await?;
            if due.is_empty() {
                return Ok(settled);
            }
            settled += due.len();
            let mut shows: HashMap<ShowId, Vec<OrderId>> = HashMap::new();
            for order in due {
                shows.entry(order.show()).or_default().push(order);
            }
            let mut running = tokio::task::JoinSet::new();
            for (show, orders) in shows {
                let late = self.clone();
                running.spawn(async move { late.settle_show(&show, orders).await });
            }
            running.join_all().await;
            self.outbox.notify_worker();
            self.effects.notify_worker();
        }
    }

    /// Settles a show's orders one after the other, because an order can only choose seats that the
    /// earlier orders did not take.
    async fn settle_show(&self, show: &ShowId, orders: Vec<OrderId>) {
        let waits = orders.len();
        // A show that could not be looked up may exist, so its money is not decided yet.
        let show = match self.catalogue.begun_show(show).await {
            Ok(show) => show,
            Err(error) => {
                tracing::warn!(%error, waits, "late money waits until its show is known");
                return;
            }
        };
        let opened = match &show {
            // While the show is closed, its seats may be those of orders that the ledger lacks.
            Some(show) => match self.catalogue.require_not_closed(&show.id) {
                Ok(()) => self.seats.ensure_open(show).await,
                closed => closed,
            },
            None => Ok(()),
        };
        if let Err(error) = &opened {
            tracing::warn!(%error, waits, "late money waits for the seats of its show");
        }
        // An order outside the limits is refunded even if the show's seats cannot be read.
        let show = (show.as_deref(), opened.is_ok());
        for order in orders {
            if let Err(error) = self.settle_late_order(&order, show).await {
                log_failed_try!(error, %order, "late money could not be settled; trying again");
            }
        }
    }

    async fn settle_late_order(
        &self,
        id: &OrderId,
        (show, is_open): (Option<&Show>, bool),
    ) -> Result<(), LedgerError> {
        let Some(record) = self.ledger.order(id).await? else {
            return Ok(());
        };
        if record.order.state != OrderState::Expired {
            return Ok(());
        }
        let order = &record.order;
        if show.is_some_and(|show| is_ahead(order, show)) {
            return Ok(());
        }
        let now_ms = self.clock.now_ms();
        let refund_reason = late_refund_reason(order, record.payment, show, now_ms);
        let tried = match (refund_reason, show) {
            (Some(why), _) => KeepSeatsOutcome::Back(why),
            (None, None) => KeepSeatsOutcome::Back(LateRefundReason::PlanChanged),
            (None, Some(_)) if !is_open => KeepSeatsOutcome::NotNow,
            (None, Some(show)) => match self.same_seats(show, order, now_ms).await? {
                KeepSeatsOutcome::Taken => self.other_seats(show, &record, now_ms).await?,
                tried => tried,
            },
        };
        let why = match tried {
            KeepSeatsOutcome::NotNow => return Ok(()),
            KeepSeatsOutcome::Decided => None,
            KeepSeatsOutcome::Taken => Some(LateRefundReason::SeatsGone),
            KeepSeatsOutcome::Back(why) => Some(why),
        };
        if let Some(why) = why {
            self.decide(order, LateMoneyOutcome::Back(why), None)
                .await?;
        }
        self.release_unused_holds(id, order, now_ms).await
    }

    async fn same_seats(
        &self,
        show: &Show,
        order: &Order,
        now_ms: i64,
    ) -> Result<KeepSeatsOutcome, LedgerError> {
        if !self.own_hold_is_gone(order).await {
            return Ok(KeepSeatsOutcome::NotNow);
        }
        let [id, _] = HoldId::both_of_late_money(&order.id);
        let hold = late_money_hold(order, id.clone(), order.held_seats(), now_ms);
        let locked_hold = match self.take_and_secure(show, hold, now_ms + LOCK_MS).await {
            Ok(locked_hold) => locked_hold,
            Err(refused) => return Ok(outcome_of_refusal(show, &refused)),
        };
        let outcome = LateMoneyOutcome::SameSeats(id);
        self.decide(order, outcome, Some((show, &locked_hold)))
            .await
    }

    async fn other_seats(
        &self,
        show: &Show,
        record: &OrderRecord,
        now_ms: i64,
    ) -> Result<KeepSeatsOutcome, LedgerError> {
        let order = &record.order;
        // The offer ends with the sale of these seats, at the latest when the show begins.
        let sale_until_ms = sells_until_ms(order, show);
        let until_ms = sale_until_ms.min(now_ms + CONSENT_MS);
        for _ in 0..CHOICES_MAX {
            let Some(view) = self.seats.store.view(&show.id).await else {
                return Ok(KeepSeatsOutcome::NotNow);
            };
            let Some(items) = seats_like(show, order, &view, &mut rand::rng()) else {
                return Ok(KeepSeatsOutcome::Taken);
            };
            let [_, id] = HoldId::both_of_late_money(&order.id);
            let held = items.iter().map(|item| item.held.clone()).collect();
            let hold = late_money_hold(order, id.clone(), held, now_ms);
            let locked_hold = match self
                .take_and_secure(show, hold, lock_until_ms(until_ms))
                .await
            {
                Ok(locked_hold) => locked_hold,
                Err(InventoryRefusal::Taken(_)) => continue,
                Err(refused) => return Ok(outcome_of_refusal(show, &refused)),
            };
            // The hold may come from an interrupted run that chose other seats.
            let Some(items) = items_of(show, order, &locked_hold.hold.items) else {
                self.release_seats(&locked_hold.hold, now_ms).await;
                return Ok(KeepSeatsOutcome::Taken);
            };
            let offer = ReplacementOffer {
                hold: id,
                items,
                until_ms,
            };
            let outcome = LateMoneyOutcome::OtherSeats(offer);
            match self
                .decide(order, outcome, Some((show, &locked_hold)))
                .await?
            {
                KeepSeatsOutcome::Taken => {}
                tried => return Ok(tried),
            }
        }
        Ok(KeepSeatsOutcome::Taken)
    }

    /// Waits a short time until the store no longer has the hold from which the order was made, and
    /// returns whether that hold is gone. While it exists, its own lock would look like another
    /// visitor's lock. If the store does not answer, the hold counts as not gone.
    async fn own_hold_is_gone(&self, order: &Order) -> bool {
        let deadline = Instant::now() + OWN_HOLD_GONE_WITHIN;
        loop {
            match self.seats.store.hold(&order.hold, order.visitor).await {
                Err(InventoryRefusal::Gone) => return true,
                Ok(_) if Instant::now() < deadline => {
                    self.outbox.notify_worker();
                    tokio::time::sleep(STORE_LOOK_EVERY).await;
                }
                _ => return false,
            }
        }
    }

    /// Takes a hold for a short time, and then locks the hold until `until_ms`. The lock stays even
    /// if this process dies.
    async fn take_and_secure(
        &self,
        show: &Show,
        hold: Hold,
        until_ms: i64,
    ) -> Result<ClaimableHold, InventoryRefusal> {
        let store = &self.seats.store;
        let (visitor, now_ms) = (hold.visitor, hold.expires_at_ms);
        let taken = store.take(hold, show.document.seats_per_visitor).await?;
        let secured = store
            .secure(&taken.id, visitor, &[HoldPurpose::LateMoney], until_ms)
            .await;
        if secured.is_err() {
            self.release_seats(&taken, now_ms).await;
        }
        secured
    }

    /// Writes the outcome. If the ledger refuses the outcome, the seats that were locked for it are
    /// released. If the ledger does not answer, the lock stays.
    async fn decide(
        &self,
        order: &Order,
        outcome: LateMoneyOutcome,
        locked_hold: Option<(&Show, &ClaimableHold)>,
    ) -> Result<KeepSeatsOutcome, LedgerError> {
        // The time is read after the seats were locked, because the seats may have become free only
        // while this run waited for the store.
        let now_ms = self.clock.now_ms();
        let basis =
            locked_hold.map(|(show, locked_hold)| ClaimBasis::for_locked_hold(show, locked_hold));
        let written = self
            .ledger
            .late_settle(&order.id, outcome, basis, now_ms)
            .await;
        let tried = match written {
            Ok(applied) => {
                let changed = applied.filter(|applied| applied.changed);
                if let Some(OrderChangeOutcome { order, .. }) = &changed {
                    let outcome = order.reason.clone();
                    metrics::counter!("fairgate_late_money_total", "outcome" => outcome)
                        .increment(1);
                }
                // If the locked seats are not used, `release_unused_holds` releases them later.
                return Ok(KeepSeatsOutcome::Decided);
            }
            Err(SeatClaimRefused::Taken(_)) => KeepSeatsOutcome::Taken,
            Err(SeatClaimRefused::Limit { .. }) => KeepSeatsOutcome::Back(LateRefundReason::Limit),
            Err(SeatClaimRefused::CardLimit) => KeepSeatsOutcome::Back(LateRefundReason::CardLimit),
            Err(SeatClaimRefused::PlanChanged) => match locked_hold {
                Some((show, _)) => outcome_of_changed_plan(show),
                None => KeepSeatsOutcome::Back(LateRefundReason::PlanChanged),
            },
            // A show that begins at another time, a cancelled show and a hold of another purpose
            // are treated like a changed plan, because the order cannot have its seats.
            Err(
                SeatClaimRefused::TimeChanged
                | SeatClaimRefused::Cancelled
                | SeatClaimRefused::OtherPurpose(_),
            ) => KeepSeatsOutcome::Back(LateRefundReason::PlanChanged),
            Err(SeatClaimRefused::Superseded) => KeepSeatsOutcome::NotNow,
            // The outcome may have been written. The lock stays, and the next run reads the order
            // again.
            Err(SeatClaimRefused::Ledger(error)) => return Err(error),
        };
        if let Some((_, locked_hold)) = locked_hold {
            self.release_seats(&locked_hold.hold, now_ms).await;
        }
        Ok(tried)
    }

    /// Releases the holds that were taken for an order's late money and that the decision does not
    /// use. Such a hold remains if this run or an interrupted run did not release it, or if another
    /// run made the decision.
    async fn release_unused_holds(
        &self,
        id: &OrderId,
        order: &Order,
        now_ms: i64,
    ) -> Result<(), LedgerError> {
        let Some(record) = self.ledger.order(id).await? else {
            return Ok(());
        };
        for hold_id in HoldId::both_of_late_money(id) {
            // If the store cannot be asked now, the reconciler later finds the hold without an
            // order.
            if let Ok(hold) = self.seats.store.hold(&hold_id, order.visitor).await
                && !in_use(&record, &hold)
            {
                self.release_seats(&hold, now_ms).await;
            }
        }
        Ok(())
    }

    async fn release_seats(&self, hold: &Hold, now_ms: i64) {
        let store = &self.seats.store;
        store
            .unsecure(&hold.id, hold.lock_until_ms, now_ms + LOCK_MS)
            .await;
        if let Err(error) = store.release(&hold.id, hold.visitor, &[hold.purpose]).await {
            tracing::warn!(%error, hold = %hold.id, "seats locked for late money could not be released; their lock ends by itself");
        }
    }

    /// Settles late money for as long as the process runs.
    pub async fn settle_forever(self) {
        loop {
            if let Err(error) = self.settle_due().await {
                log_failed_try!(error, "late money could not be settled; trying again");
            }
            self.notifier.wait(LOOK_EVERY).await;
        }
    }
}

/// Returns whether the order's decision uses this hold.
fn in_use(record: &OrderRecord, hold: &Hold) -> bool {
    match record.order.state {
        OrderState::AwaitingConsent => record
            .offer
            .as_ref()
            .is_some_and(|offer| offer.hold == hold.id),
        OrderState::Confirmed | OrderState::Ticketed => record.order.held_seats() == hold.items,
        // Nothing is decided yet, and another run may be about to use the hold.
        OrderState::Expired => record.order.reason == "late_money",
        _ => false,
    }
}

/// Returns whether a train got other stops, so that the order counts them, and this process has not
/// read its new stops yet.
fn is_ahead(order: &Order, show: &Show) -> bool {
    show.run.is_some() && order.plan_version > show.plan.version
}

/// Returns what a changed plan means for an order's late money. Orders of a train that gets other
/// stops are changed with it, so such an order is read again before anything is decided.
fn outcome_of_changed_plan(show: &Show) -> KeepSeatsOutcome {
    match show.run {
        Some(_) => KeepSeatsOutcome::NotNow,
        None => KeepSeatsOutcome::Back(LateRefundReason::PlanChanged),
    }
}

fn outcome_of_refusal(show: &Show, refused: &InventoryRefusal) -> KeepSeatsOutcome {
    match refused {
        InventoryRefusal::Taken(_) => KeepSeatsOutcome::Taken,
        InventoryRefusal::Limit { .. } => KeepSeatsOutcome::Back(LateRefundReason::Limit),
        InventoryRefusal::PlanChanged => outcome_of_changed_plan(show),
        _ => KeepSeatsOutcome::NotNow,
    }
}

/// Builds the hold that locks seats for an order's late money. Because of its purpose, no checkout
/// or change of seats can use it. Without a longer lock, its seats are free again after
/// [`LOCK_MS`].
fn late_money_hold(order: &Order, id: HoldId, items: Vec<HeldSeat>, now_ms: i64) -> Hold {
    Hold {
        id,
        visitor: order.visitor,
        room: order.room.clone(),
        purpose: HoldPurpose::LateMoney,
        items,
        terms: order.terms,
        plan_version: order.plan_version,
        next_to_each_other: false,
        expires_at_ms: now_ms,
        lock_until_ms: now_ms + LOCK_MS,
        extensions_left: 0,
        stage: HoldStage::Basket,
    }
}
