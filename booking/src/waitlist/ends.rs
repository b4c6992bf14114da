//! Ends offers that were accepted, ordered, missed or lost, and ends the waiting of parties whose
//! time is over. The ledger records each end once.

use fairgate_base::log_failed_try;
use fairgate_model::holds::{Hold, HoldPurpose, HoldStage};
use fairgate_model::ids::{HoldId, OrderId};
use fairgate_model::shows::Show;
use fairgate_model::waiters::{MISSED_MAX, WaitEndReason, Waiter, WaitlistOfferEnd};

use super::serve::Waitlist;
use crate::ledger::LedgerError;
use crate::store::InventoryRefusal;

impl Waitlist {
    /// Ends a party's offer if the offer was accepted, ordered, missed or lost. Ends the party's
    /// waiting if its time is over or if it missed too many offers. `life` is the current life of
    /// the show's data in the store.
    pub(super) async fn settle_waiter(
        &self,
        show: &Show,
        waiter: &Waiter,
        life: u64,
        now_ms: i64,
    ) -> Result<(), LedgerError> {
        let Some(offer) = &waiter.offer else {
            if let Some(end) = waiter.time_over(waiter.party.sale_end(show), now_ms) {
                self.end_waiting(waiter, end, now_ms).await?;
            } else if waiter.missed >= MISSED_MAX {
                self.end_waiting(waiter, WaitEndReason::Missed, now_ms)
                    .await?;
            }
            return Ok(());
        };
        // The store is asked before the ledger: if the hold is gone because it became an order, the
        // ledger has that order.
        let in_store = self.seats.store.hold(&offer.hold, waiter.visitor).await;
        let end = match in_store {
            // The party accepted the offer, but the accepting call has not recorded it yet.
            Ok(hold) if hold.purpose == HoldPurpose::Basket => Some(WaitlistOfferEnd::Taken),
            Ok(hold) if hold.stage == HoldStage::Basket => None,
            Ok(_) => {
                let is_ordered = self.is_ordered(&offer.hold).await?;
                // If the ledger has no order, the order is still being made.
                is_ordered.then_some(WaitlistOfferEnd::Taken)
            }
            Err(InventoryRefusal::Gone) if self.is_ordered(&offer.hold).await? => {
                Some(WaitlistOfferEnd::Taken)
            }
            Err(InventoryRefusal::Gone) if offer.life != life => Some(WaitlistOfferEnd::Lost),
            Err(InventoryRefusal::Gone) => Some(WaitlistOfferEnd::Missed),
            Err(_) => None,
        };
        match end {
            Some(end) => self.end_offer(waiter, &offer.hold, end, now_ms).await,
            None => Ok(()),
        }
    }

    async fn is_ordered(&self, hold: &HoldId) -> Result<bool, LedgerError> {
        let order = self.ledger.order(&OrderId::of_hold(hold)).await?;
        Ok(order.is_some())
    }

    /// Records how a party's offer ended. A repeated call records nothing. Ends the party's waiting
    /// if it missed too many offers.
    async fn end_offer(
        &self,
        waiter: &Waiter,
        hold: &HoldId,
        end: WaitlistOfferEnd,
        now_ms: i64,
    ) -> Result<(), LedgerError> {
        let has_ended = self.ledger.end_offer(&waiter.id, hold, end, now_ms);
        if has_ended.await? {
            let end_label = match end {
                WaitlistOfferEnd::Taken => "taken",
                WaitlistOfferEnd::Missed => "missed",
                WaitlistOfferEnd::Lost => "lost",
            };
            metrics::counter!("fairgate_waitlist_offers_over_total", "end" => end_label)
                .increment(1);
            if end == WaitlistOfferEnd::Missed && waiter.missed + 1 >= MISSED_MAX {
                self.end_waiting(waiter, WaitEndReason::Missed, now_ms)
                    .await?;
            }
        }
        Ok(())
    }

    /// Records that a party accepted its offer, which is now a basket. The party then waits no
    /// longer. If the ledger does not answer, the worker finds the basket in the store later, and
    /// records the acceptance then.
    pub async fn record_accepted(&self, basket: &Hold, now_ms: i64) {
        let recorded = async {
            let found = self
                .ledger
                .waiter(&basket.id.show(), basket.visitor)
                .await?;
            let Some((waiter, _)) = found.filter(|(waiter, _)| waiter.ended.is_none()) else {
                return Ok(());
            };
            self.end_offer(&waiter, &basket.id, WaitlistOfferEnd::Taken, now_ms)
                .await
        };
        let recorded: Result<(), LedgerError> = recorded.await;
        if let Err(error) = recorded {
            log_failed_try!(error, hold = %basket.id, "an accepted offer is not in the ledger yet; the waitlist's worker records it");
            self.notifier.notify_worker();
        }
    }

    /// Ends a party's waiting. Returns false if the waiting had already ended.
    ///
    /// # Errors
    /// Returns an error if the ledger does not answer.
    pub async fn end_waiting(
        &self,
        waiter: &Waiter,
        end: WaitEndReason,
        now_ms: i64,
    ) -> Result<bool, LedgerError> {
        let ended = self.ledger.end_waiter(&waiter.id, end, now_ms).await?;
        if ended {
            let reason = end.as_str();
            metrics::counter!("fairgate_waitlist_ended_total", "reason" => reason).increment(1);
        }
        Ok(ended)
    }
}
