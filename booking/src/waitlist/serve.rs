//! Offers freed seats to the waitlist. One node per show holds a lease and runs this loop. The loop
//! ends offers and waits that are over (`ends`), locks freed seats for the waitlist, and offers the
//! seats to parties. Every step may be interrupted and repeated, because the id of an offer's hold
//! is derived from its party, and the ledger records each step once.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use fairgate_base::clock::Clock;
use fairgate_base::log_failed_try;
use fairgate_model::grid::picture::life_of_version;
use fairgate_model::holds::{Hold, HoldPurpose, HoldStage};
use fairgate_model::ids::{HoldId, ShowId};
use fairgate_model::shows::Show;
use fairgate_model::waiters::share::{never_served, share};
use fairgate_model::waiters::wish::{PartySeats, ShowLayout};
use fairgate_model::waiters::{OFFER_MS, PartySaleEnd, WaitEndReason, Waiter, WaitlistOffer};
use rand::RngExt;

use super::here::SeenVisitors;
use crate::catalogue::Catalogue;
use crate::catalogue::selling::NotSold;
use crate::holds::take::for_sale;
use crate::inventory::seats::SeatInventory;
use crate::ledger::{Ledger, LedgerError};
use crate::stopped_passes::StoppedPasses;
use crate::store::{InventoryRefusal, VersionedCells};
use crate::wake::WorkerNotifier;

/// How often the worker serves the waitlists if nothing wakes it.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often a node reports to the ledger which visitors it has seen.
const REPORT_EVERY: Duration = Duration::from_secs(2);
/// How long a node's lease on a show's waitlist lasts if it is not renewed.
const LEASE_MS: i64 = 3_000;
/// How long freed cells stay locked for the waitlist if the lock is not renewed. If all nodes die,
/// the cells become free after this time.
const KEEP_MS: i64 = 15_000;

/// The waitlists of all shows. Cheap to clone.
#[derive(Clone)]
pub struct Waitlist {
    /// The ledger that stores the waitlists.
    pub ledger: Ledger,
    /// The catalogue of shows.
    pub catalogue: Catalogue,
    /// The seats of the shows.
    pub seats: SeatInventory,
    /// Knows which rooms are over.
    pub stopped: StoppedPasses,
    /// The installation's clock.
    pub clock: Clock,
    /// The visitors whom this node has seen.
    pub seen_visitors: SeenVisitors,
    /// Wakes the worker that serves the waitlist.
    pub notifier: WorkerNotifier,
}

impl Waitlist {
    /// Serves the waitlists for as long as the process runs.
    pub async fn serve_forever(self) {
        let owner = hex::encode(rand::rng().random::<[u8; 8]>());
        let mut served = HashSet::new();
        loop {
            if let Err(error) = self.serve_shows(&owner, &mut served).await {
                log_failed_try!(error, "the waitlist could not be served; trying again");
            }
            self.notifier.wait(LOOK_EVERY).await;
        }
    }

    /// Reports to the ledger which visitors this node has seen, for as long as the process runs.
    pub async fn report_seen_forever(self) {
        let mut ticks = tokio::time::interval(REPORT_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.report_seen_visitors().await {
                log_failed_try!(
                    error,
                    "the waiting visitors that this node has seen could not be reported; those who stay are seen and reported again"
                );
            }
        }
    }

    /// Reports to the ledger which visitors this node has seen since the last report.
    ///
    /// # Errors
    /// Returns an error if the ledger did not accept the report. That report is lost, but a visitor
    /// who stays is seen again.
    pub async fn report_seen_visitors(&self) -> Result<(), LedgerError> {
        let seen = self.seen_visitors.take_seen();
        if seen.is_empty() {
            return Ok(());
        }
        self.ledger.waiters_seen(seen, self.clock.now_ms()).await
    }

    /// Serves each show's waitlist once. `served` has the shows of the last round. If nobody waits
    /// for one of these shows any more, this round frees the seats that were kept for its waitlist.
    ///
    /// # Errors
    /// Returns an error if the ledger does not answer. The next round then continues.
    pub async fn serve_shows(
        &self,
        owner: &str,
        served: &mut HashSet<ShowId>,
    ) -> Result<(), LedgerError> {
        let waited = self.ledger.waited_shows().await?;
        let waiting: u64 = waited.iter().map(|(_, count)| count).sum();
        metrics::gauge!("fairgate_waitlist_parties").set(waiting as f64);
        let mut shows: HashSet<ShowId> = waited.into_iter().map(|(show, _)| show).collect();
        let this_round = shows.clone();
        shows.extend(std::mem::replace(served, this_round));
        for id in shows {
            let Some(show) = self.catalogue.show(&id) else {
                continue;
            };
            // The departure has a row in the ledger, but this node has not read that row yet. A
            // later round serves the show.
            if show.untouched {
                continue;
            }
            let lease = format!("waitlist:{id}");
            if self.seats.store.is_shared() && !self.ledger.lease(&lease, owner, LEASE_MS).await? {
                continue;
            }
            if let Err(error) = self.serve_show(&show).await {
                log_failed_try!(error, %id, "a show's waitlist could not be served; trying again");
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
        // A party whose offer ended after the end of the sale gets no further offer. The next round
        // ends its waiting.
        line.retain(|waiter| {
            waiter.offer.is_some() || waiter.party.sale_end(show).at_ms() > now_ms
        });
        self.end_waits_of_rooms_over(&mut line, now_ms).await?;
        if !line.is_empty() && !self.is_sold(show).await? {
            // Those who wait go on waiting, until somebody sells the show again.
            line.retain(|waiter| waiter.offer.is_some());
        }
        if show.is_cancelled() {
            for waiter in std::mem::take(&mut line) {
                self.end_waiting(&waiter, WaitEndReason::Cancelled, now_ms)
                    .await?;
            }
        }
        let unservable: HashSet<usize> = never_served(
            ShowLayout::for_show(show),
            &view.states,
            &line,
            &mut rand::rng(),
        )
        .into_iter()
        .collect();
        for at in &unservable {
            self.end_waiting(&line[*at], WaitEndReason::TooFew, now_ms)
                .await?;
        }
        let mut at = 0..;
        line.retain(|_| at.next().is_some_and(|at| !unservable.contains(&at)));
        let until_ms = if line.is_empty() { 0 } else { now_ms + KEEP_MS };
        let kept_cells = self.seats.store.keep_freed(&show.id, until_ms).await;
        match kept_cells {
            Ok(kept_cells) if !line.is_empty() => self.offer_all(show, &kept_cells, &line).await,
            Ok(_) => Ok(()),
            Err(refused) => Err(LedgerError::Unavailable(refused.to_string())),
        }
    }

    async fn is_sold(&self, show: &Show) -> Result<bool, LedgerError> {
        match self.catalogue.current_seller_of(show).await {
            Ok(_) => Ok(true),
            Err(NotSold::Announced(_) | NotSold::Ledger(LedgerError::SetBack(_))) => Ok(false),
            Err(NotSold::Ledger(error)) => Err(error),
        }
    }

    /// Ends the waits of parties whose room is over, and removes them from the line. A party that
    /// was made an offer before may still order its seats.
    async fn end_waits_of_rooms_over(
        &self,
        line: &mut Vec<Waiter>,
        now_ms: i64,
    ) -> Result<(), LedgerError> {
        let is_over =
            |waiter: &Waiter| waiter.offer.is_none() && self.stopped.is_over(&waiter.room);
        for waiter in line.extract_if(.., |waiter| is_over(waiter)) {
            self.end_waiting(&waiter, WaitEndReason::SalesEnded, now_ms)
                .await?;
        }
        Ok(())
    }

    async fn offer_all(
        &self,
        show: &Show,
        kept_cells: &[u32],
        line: &[Waiter],
    ) -> Result<(), LedgerError> {
        // The picture is read after the kept cells. A cell that is neither free nor in
        // `kept_cells` is therefore held or sold.
        let Some(view) = self.seats.store.view(&show.id).await else {
            return Ok(());
        };
        // The time is read after the picture. A seat that became free after the end of the sale is
        // therefore not offered.
        let now_ms = self.clock.now_ms();
        let layout = ShowLayout::for_show(show);
        let shares = share(
            layout,
            &view.states,
            kept_cells,
            line,
            now_ms,
            &mut rand::rng(),
        );
        for (at, seated) in shares.offers {
            if !self
                .offer_seats(show, &view, &line[at], &seated, now_ms)
                .await?
            {
                // The next round first chooses again for this party and then for later ones, so
                // that nobody overtakes it.
                return Ok(());
            }
        }
        if !shares.left.is_empty()
            && let Err(refused) = self
                .seats
                .store
                .free_kept_cells(&show.id, &shares.left)
                .await
        {
            tracing::debug!(show = %show.id, %refused, "the next round frees the cells that fit no party");
        }
        Ok(())
    }

    /// Offers seats to a party. Returns false if the store refused these seats now, but may accept
    /// other seats or a later try.
    async fn offer_seats(
        &self,
        show: &Show,
        view: &VersionedCells,
        waiter: &Waiter,
        seated: &PartySeats,
        now_ms: i64,
    ) -> Result<bool, LedgerError> {
        let Some(hold) = hold_for_offer(show, waiter, seated, now_ms) else {
            return Ok(true);
        };
        let limit = show.document.seats_per_visitor;
        let hold = match self.seats.store.offer(hold, limit).await {
            Ok(hold) => hold,
            Err(InventoryRefusal::Limit { .. }) => {
                self.end_waiting(waiter, WaitEndReason::Limit, now_ms)
                    .await?;
                return Ok(true);
            }
            // Another visitor was quicker, or the store is not ready. The next round chooses again.
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
        if self.ledger.record_offer(&waiter.id, offer).await? {
            metrics::counter!("fairgate_waitlist_offers_total").increment(1);
        } else {
            // The party left in the meantime, or another node already recorded this offer.
            self.release_unless_recorded(waiter, &hold.id).await?;
        }
        Ok(true)
    }

    async fn release_unless_recorded(
        &self,
        waiter: &Waiter,
        hold: &HoldId,
    ) -> Result<(), LedgerError> {
        let now = self
            .ledger
            .waiter(&waiter.id.show(), waiter.visitor)
            .await?;
        let is_recorded = now.is_some_and(|(now, _)| {
            now.ended.is_none() && now.offer.is_some_and(|offer| offer.hold == *hold)
        });
        let offers = &[HoldPurpose::Offer];
        if !is_recorded
            && let Err(refused) = self.seats.store.release(hold, waiter.visitor, offers).await
        {
            tracing::debug!(%hold, %refused, "an offer that nobody waits for runs out by itself");
        }
        Ok(())
    }
}

/// Builds the hold that offers seats to a party. Returns `None` if a seat no longer has a price, or
/// if the sale ended after the round began. In the second case the next round ends the waiting.
fn hold_for_offer(show: &Show, waiter: &Waiter, seated: &PartySeats, now_ms: i64) -> Option<Hold> {
    let items = for_sale(show, &seated.seats, &seated.legs).ok()?;
    let end = waiter.party.sale_end(show);
    if end.at_ms() <= now_ms {
        return None;
    }
    let expires_at_ms = match end {
        // Seats of a train that has left are useless, so the offer ends when the train leaves.
        PartySaleEnd::Leaves(at_ms) => at_ms.min(now_ms + OFFER_MS),
        // An offer that was made before the end of the sale stays valid after the end, like a
        // basket.
        PartySaleEnd::Ends(_) => now_ms + OFFER_MS,
    };
    Some(Hold {
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
        // An offer cannot be extended. The basket that it becomes gets these extensions.
        extensions_left: show.document.extensions,
        stage: HoldStage::Basket,
    })
}
