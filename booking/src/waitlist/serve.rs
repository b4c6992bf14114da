//! Serving the line: for each show that somebody waits for one node at a time, by a lease, ends
//! what is over, keeps what comes free, and offers it. Every step may be cut off and made again: an
//! offer's hold is named by its party, and the ledger notes each step once.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use fairgate_base::clock::Clock;
use fairgate_model::grid::picture::life_of_version;
use fairgate_model::holds::{Hold, HoldPurpose, HoldStage};
use fairgate_model::ids::{HoldId, OrderId, ShowId};
use fairgate_model::shows::Show;
use fairgate_model::waiters::share::{in_vain, share};
use fairgate_model::waiters::wish::{PartySeats, ShowLayout};
use fairgate_model::waiters::{
    MISSED_MAX, OFFER_MS, PartySaleEnd, WaitEndReason, Waiter, WaitlistOffer, WaitlistOfferEnd,
};
use rand::RngExt;

use super::here::SeenVisitors;
use crate::catalogue::Catalogue;
use crate::holds::take::for_sale;
use crate::inventory::seats::SeatInventory;
use crate::ledger::{Ledger, LedgerError};
use crate::store::{InventoryRefusal, VersionedCells};
use crate::wake::WorkerNotifier;

/// How often the line is looked at when nobody calls.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often the ledger is told who is here.
const TELL_EVERY: Duration = Duration::from_secs(2);
/// How long a show's line is one node's without being renewed.
const LEASE_MS: i64 = 3_000;
/// How long freed cells are kept without a word that somebody waits: where all nodes die, they are
/// free then.
const KEEP_MS: i64 = 15_000;

/// The waitlist of all shows: a cheap handle.
#[derive(Clone)]
pub struct Waitlist {
    /// Where the line stands.
    pub ledger: Arc<dyn Ledger>,
    /// Shows.
    pub catalogue: Catalogue,
    /// Their seats.
    pub seats: SeatInventory,
    /// The time.
    pub clock: Clock,
    /// Who was seen at this node.
    pub here: SeenVisitors,
    /// Calls the one who serves.
    pub bell: WorkerNotifier,
}

impl Waitlist {
    /// Serves for as long as the process runs.
    pub async fn serve_forever(self) {
        let owner = hex::encode(rand::rng().random::<[u8; 8]>());
        let mut served = HashSet::new();
        loop {
            if let Err(error) = self.serve_shows(&owner, &mut served).await {
                tracing::warn!(%error, "the waitlist could not be served; trying again");
            }
            self.bell.wait(LOOK_EVERY).await;
        }
    }

    /// Tells the ledger who is here for as long as the process runs.
    pub async fn tell_forever(self) {
        let mut every = tokio::time::interval(TELL_EVERY);
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            if let Err(error) = self.tell_who_is_here().await {
                tracing::warn!(%error, "the ledger was not told who waits here; who is still here is told next time");
            }
        }
    }

    /// Tells the ledger whom this node has seen since the last time.
    ///
    /// # Errors
    /// Where the ledger did not take it; whoever stays is seen again.
    pub async fn tell_who_is_here(&self) -> Result<(), LedgerError> {
        let seen = self.here.take_seen();
        if seen.is_empty() {
            return Ok(());
        }
        self.ledger.waiters_seen(seen, self.clock.now_ms()).await
    }

    /// Serves each show's line once. `served` are the shows of the last round: one that nobody
    /// waits for any more gives back what was kept.
    ///
    /// # Errors
    /// Where the ledger cannot be asked; the next round goes on.
    pub async fn serve_shows(
        &self,
        owner: &str,
        served: &mut HashSet<ShowId>,
    ) -> Result<(), LedgerError> {
        let waited = self.ledger.waited_shows().await?;
        let waiting: u64 = waited.iter().map(|(_, count)| count).sum();
        metrics::gauge!("fairgate_waitlist_parties").set(waiting as f64);
        let mut shows: HashSet<ShowId> = waited.into_iter().map(|(show, _)| show).collect();
        let again = shows.clone();
        shows.extend(std::mem::replace(served, again));
        for id in shows {
            let Some(show) = self.catalogue.show(&id) else {
                continue;
            };
            // A departure of which this node has not heard yet that it is sold from: soon it will.
            if show.untouched {
                continue;
            }
            let lease = format!("waitlist:{id}");
            if self.seats.store.is_shared() && !self.ledger.lease(&lease, owner, LEASE_MS).await? {
                continue;
            }
            if let Err(error) = self.serve_show(&show).await {
                tracing::warn!(%id, %error, "a show's waitlist could not be served; trying again");
            }
        }
        Ok(())
    }

    async fn serve_show(&self, show: &Arc<Show>) -> Result<(), LedgerError> {
        self.seats.ensure_open(show).await?;
        let now_ms = self.clock.now_ms();
        let Some(view) = self.seats.store.view(&show.id).await else {
            return Ok(());
        };
        let life = life_of_version(view.version);
        for waiter in self.ledger.waiters(&show.id).await? {
            self.settle_waiter(show, &waiter, life, now_ms).await?;
        }
        let mut line = self.ledger.waiters(&show.id).await?;
        // Whose offer ended just now, after the sale did, is offered nothing more; the next round
        // ends its waiting.
        line.retain(|waiter| {
            waiter.offer.is_some() || waiter.party.sale_end(show).at_ms() > now_ms
        });
        if show.is_cancelled() {
            for waiter in std::mem::take(&mut line) {
                self.end_waiting(&waiter, WaitEndReason::Cancelled, now_ms)
                    .await?;
            }
        }
        let vain: HashSet<usize> = in_vain(
            ShowLayout::for_show(show),
            &view.states,
            &line,
            &mut rand::rng(),
        )
        .into_iter()
        .collect();
        for at in &vain {
            self.end_waiting(&line[*at], WaitEndReason::TooFew, now_ms)
                .await?;
        }
        let mut at = 0..;
        line.retain(|_| at.next().is_some_and(|at| !vain.contains(&at)));
        let until_ms = if line.is_empty() { 0 } else { now_ms + KEEP_MS };
        let kept = self.seats.store.keep_freed(&show.id, until_ms).await;
        match kept {
            Ok(kept) if !line.is_empty() => self.offer_all(show, &kept, &line).await,
            Ok(_) => Ok(()),
            Err(refused) => Err(LedgerError::Unavailable(refused.to_string())),
        }
    }

    /// Ends what is over: offers that were ordered, let pass or lost, and the waiting of who waited
    /// long enough.
    async fn settle_waiter(
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
        // The store before the ledger: a hold that went into an order has left that one behind.
        let in_store = self.seats.store.hold(&offer.hold, waiter.visitor).await;
        let is_basket = match in_store {
            Ok(ref hold) => hold.stage == HoldStage::Basket,
            Err(InventoryRefusal::Gone) => false,
            Err(_) => return Ok(()),
        };
        if is_basket {
            return Ok(());
        }
        let order = self.ledger.order(&OrderId::of_hold(&offer.hold)).await?;
        let end = match (order, in_store) {
            (Some(_), _) => WaitlistOfferEnd::Taken,
            // The order is being made.
            (None, Ok(_)) => return Ok(()),
            (None, Err(_)) if offer.life != life => WaitlistOfferEnd::Lost,
            (None, Err(_)) => WaitlistOfferEnd::Missed,
        };
        let over = self.ledger.offer_over(&waiter.id, &offer.hold, end, now_ms);
        if over.await? {
            let word = match end {
                WaitlistOfferEnd::Taken => "taken",
                WaitlistOfferEnd::Missed => "missed",
                WaitlistOfferEnd::Lost => "lost",
            };
            metrics::counter!("fairgate_waitlist_offers_over_total", "end" => word).increment(1);
            if end == WaitlistOfferEnd::Missed && waiter.missed + 1 >= MISSED_MAX {
                self.end_waiting(waiter, WaitEndReason::Missed, now_ms)
                    .await?;
            }
        }
        Ok(())
    }

    /// Ends a party's waiting; false where it had ended before.
    ///
    /// # Errors
    /// Where the ledger does not answer.
    pub async fn end_waiting(
        &self,
        waiter: &Waiter,
        end: WaitEndReason,
        now_ms: i64,
    ) -> Result<bool, LedgerError> {
        let ended = self.ledger.end_waiter(&waiter.id, end, now_ms).await?;
        if ended {
            let word = end.as_str();
            metrics::counter!("fairgate_waitlist_ended_total", "reason" => word).increment(1);
        }
        Ok(ended)
    }

    async fn offer_all(
        &self,
        show: &Show,
        kept: &[u32],
        line: &[Waiter],
    ) -> Result<(), LedgerError> {
        // Read behind what is kept: a cell that is in neither is somebody's.
        let Some(view) = self.seats.store.view(&show.id).await else {
            return Ok(());
        };
        // Read behind the picture: what came free after the sale is offered to nobody.
        let now_ms = self.clock.now_ms();
        let house = ShowLayout::for_show(show);
        let shares = share(house, &view.states, kept, line, now_ms, &mut rand::rng());
        for (at, seated) in shares.offers {
            if !self
                .offer_seats(show, &view, &line[at], &seated, now_ms)
                .await?
            {
                // It is chosen for anew before those behind it: nobody is overtaken.
                return Ok(());
            }
        }
        if !shares.left.is_empty()
            && let Err(refused) = self.seats.store.let_go(&show.id, &shares.left).await
        {
            tracing::debug!(show = %show.id, %refused, "what fits nobody is let go by the next round");
        }
        Ok(())
    }

    /// Offers a party its seats. False where the store could not, though another choice or another
    /// moment may do.
    async fn offer_seats(
        &self,
        show: &Show,
        view: &VersionedCells,
        waiter: &Waiter,
        seated: &PartySeats,
        now_ms: i64,
    ) -> Result<bool, LedgerError> {
        let Ok(items) = for_sale(show, &seated.seats, &seated.legs) else {
            return Ok(true);
        };
        let end = waiter.party.sale_end(show);
        // The sale ended since the round began; the next one ends the waiting.
        if end.at_ms() <= now_ms {
            return Ok(true);
        }
        let expires_at_ms = match end {
            // Nobody takes seats of a train that has left.
            PartySaleEnd::Leaves(at_ms) => at_ms.min(now_ms + OFFER_MS),
            // What was offered in time may be taken, like any basket.
            PartySaleEnd::Ends(_) => now_ms + OFFER_MS,
        };
        let hold = Hold {
            id: HoldId::of_offer(&waiter.id, waiter.offers),
            visitor: waiter.visitor,
            room: waiter.room.clone(),
            purpose: HoldPurpose::Offer,
            items,
            terms: show.terms,
            plan_version: show.plan.version,
            next_to_each_other: seated.next_to_each_other,
            expires_at_ms,
            lock_until_ms: expires_at_ms + i64::from(show.document.grace_s) * 1_000,
            extensions_left: 0,
            stage: HoldStage::Basket,
        };
        let limit = show.document.seats_per_visitor;
        let hold = match self.seats.store.offer(hold, limit).await {
            Ok(hold) => hold,
            Err(InventoryRefusal::Limit { .. }) => {
                self.end_waiting(waiter, WaitEndReason::Limit, now_ms)
                    .await?;
                return Ok(true);
            }
            // Somebody was quicker, or the store cannot: the next round chooses anew.
            Err(
                refused @ (InventoryRefusal::Taken(_)
                | InventoryRefusal::NotReady
                | InventoryRefusal::Unreachable),
            ) => {
                tracing::debug!(waiter = %waiter.id, %refused, "an offer could not be made yet");
                return Ok(false);
            }
            Err(refused) => {
                tracing::warn!(waiter = %waiter.id, %refused, "an offer was refused");
                return Ok(true);
            }
        };
        let offer = WaitlistOffer {
            hold: hold.id.clone(),
            until_ms: hold.expires_at_ms,
            life: life_of_version(view.version),
        };
        if self.ledger.offered(&waiter.id, offer).await? {
            metrics::counter!("fairgate_waitlist_offers_total").increment(1);
        } else {
            // It left meanwhile, or another node noted this very offer before.
            self.give_back_unless_noted(waiter, &hold.id).await?;
        }
        Ok(true)
    }

    async fn give_back_unless_noted(
        &self,
        waiter: &Waiter,
        hold: &HoldId,
    ) -> Result<(), LedgerError> {
        let now = self
            .ledger
            .waiter(&waiter.id.show(), waiter.visitor)
            .await?;
        let its = now.is_some_and(|(now, _)| {
            now.ended.is_none() && now.offer.is_some_and(|offer| offer.hold == *hold)
        });
        let offers = &[HoldPurpose::Offer];
        if !its && let Err(refused) = self.seats.store.release(hold, waiter.visitor, offers).await {
            tracing::debug!(%hold, %refused, "an offer that nobody waits for runs out by itself");
        }
        Ok(())
    }
}
