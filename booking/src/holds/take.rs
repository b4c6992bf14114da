//! Takes holds. A call chooses seats that are free, and then takes them in the store. If another
//! visitor was quicker, the call chooses again.

use std::ops::Range;
use std::sync::Arc;

use fairgate_model::holds::{HeldSeat, Hold, HoldPurpose, HoldStage};
use fairgate_model::ids::{HoldId, HoldIdDeriver};
use fairgate_model::shows::Show;
use fairgate_pass::{Holder, LivePass};

use super::ask::HoldRequest;
use super::chosen::{ChosenSeats, SPREADS, may_choose_again};
use super::natural::{ExistingHold, require_same_seats};
use super::refusal::HoldRefusal;
use super::searches::SeatSearches;
use crate::catalogue::Catalogue;
use crate::inventory::seats::SeatInventory;
use crate::ledger::Ledger;
use crate::stopped_passes::StoppedPasses;
use crate::store::{BasketDeadlines, InventoryRefusal};

/// Takes, prices, changes and extends holds.
#[derive(Clone)]
pub struct HoldDesk {
    /// The catalogue of shows.
    pub catalogue: Catalogue,
    /// The seats of the shows.
    pub seats: SeatInventory,
    /// The ledger, which makes the final decision on who gets a seat.
    pub ledger: Ledger,
    /// Derives the ids of holds from the calls that make them.
    pub ids: HoldIdDeriver,
    /// Knows which rooms are over.
    pub stopped: StoppedPasses,
    /// Searches for seats.
    pub searches: SeatSearches,
}

/// The ids under which the store may have the hold of a call.
#[derive(Debug, Clone)]
pub struct CallHoldIds {
    /// The hold's id.
    pub id: HoldId,
    /// The id that earlier versions of this program gave to the same call, if the call has a key.
    pub before: Option<HoldId>,
}

impl HoldDesk {
    /// Takes all seats that were asked for, or none.
    ///
    /// # Errors
    /// [`HoldRefusal`], which says why nothing was held.
    pub async fn take(
        &self,
        show: &Arc<Show>,
        pass: &LivePass,
        ask: &HoldRequest,
        CallHoldIds { id, before }: CallHoldIds,
        now_ms: i64,
    ) -> Result<Hold, HoldRefusal> {
        let request = match ask.resolve(show, now_ms) {
            Ok(request) => request,
            Err(refusal) => {
                return self
                    .hold_taken_before_sale_end(show, pass.sub, &id, refusal)
                    .await;
            }
        };
        if show.is_cancelled() {
            return Err(HoldRefusal::ShowCancelled);
        }
        let show = &self.catalogue.touched(show, now_ms).await?;
        self.seats.ensure_open(show).await?;
        let id = match self
            .existing_hold(show, pass.sub, &request, ask.again, id)
            .await?
        {
            ExistingHold::Basket(hold) => return Ok(hold),
            ExistingHold::None(id) => id,
        };
        for known in std::iter::once(&id).chain(&before) {
            match self.seats.store.hold(known, pass.sub).await {
                Ok(present) => return require_same_seats(show, present, &request),
                Err(InventoryRefusal::Gone) => {}
                Err(refused) => return Err(self.explain(show, refused, &[]).await),
            }
        }
        let mut last_refusal = (InventoryRefusal::NotReady, Vec::new());
        for spread in SPREADS {
            let chosen = self.choose_seats(show, &request, &[], spread).await?;
            let hold = new_basket(show, pass, id.clone(), &chosen, now_ms)?;
            match self.take_while_open(show, pass, hold).await? {
                Ok(hold) => return require_same_seats(show, hold, &request),
                // Seats that this function chose can be replaced by others. Seats that the visitor
                // named cannot.
                Err(InventoryRefusal::Taken(cells))
                    if may_choose_again(&request.wanted, show, &cells) =>
                {
                    last_refusal = (InventoryRefusal::Taken(cells), chosen.seats);
                }
                Err(refused) => {
                    let seats = &chosen.seats;
                    return Err(self.explain_over(show, refused, seats, &request.legs).await);
                }
            }
        }
        Err(self
            .explain_over(show, last_refusal.0, &last_refusal.1, &request.legs)
            .await)
    }

    /// Takes a hold in the store, unless the pass's room is over. The outer error says that it is.
    async fn take_while_open(
        &self,
        show: &Show,
        pass: &LivePass,
        hold: Hold,
    ) -> Result<Result<Hold, InventoryRefusal>, HoldRefusal> {
        self.check_room(pass)?;
        let limit = show.document.seats_per_visitor;
        let taken = self.seats.store.take(hold, limit).await;
        if let Ok(hold) = &taken {
            self.give_back_if_over(pass, hold).await?;
        }
        Ok(taken)
    }

    /// Refuses a hold if the pass's room is over by now. A hold can wait for its show to be opened.
    fn check_room(&self, pass: &LivePass) -> Result<(), HoldRefusal> {
        if self.stopped.is_over(&pass.room) {
            return Err(HoldRefusal::RoomOver(pass.room.clone()));
        }
        Ok(())
    }

    /// Gives a new hold back if its room ended while its seats were being taken.
    async fn give_back_if_over(&self, pass: &LivePass, hold: &Hold) -> Result<(), HoldRefusal> {
        let over = self.check_room(pass);
        if over.is_err() {
            let store = &self.seats.store;
            let released = store.release(&hold.id, pass.sub, &[HoldPurpose::Basket]);
            if let Err(refused) = released.await {
                tracing::debug!(hold = %hold.id, %refused, "a hold of a closed room runs out by itself");
            }
        }
        over
    }

    /// Returns the hold that an earlier try of the same call took before the sale ended. If there
    /// is none, returns the refusal. Baskets on trains have other ids, so this function does not
    /// find them.
    async fn hold_taken_before_sale_end(
        &self,
        show: &Show,
        visitor: Holder,
        id: &HoldId,
        refusal: HoldRefusal,
    ) -> Result<Hold, HoldRefusal> {
        let HoldRefusal::Stretch(why, _) = &refusal else {
            return Err(refusal);
        };
        if !why.is_too_late() || show.untouched {
            return Err(refusal);
        }
        let present = self.seats.store.hold(id, visitor).await;
        present.map_err(|_| refusal)
    }

    /// Turns a refusal of the store into a refusal for the visitor. `requested_seats` has the
    /// seats that the visitor wanted, over all legs of the show.
    pub async fn explain(
        &self,
        show: &Arc<Show>,
        refused: InventoryRefusal,
        requested_seats: &[u32],
    ) -> HoldRefusal {
        self.explain_over(show, refused, requested_seats, &show.legs())
            .await
    }

    /// Explains a refusal as [`HoldDesk::explain`] does, for seats on `legs`.
    pub async fn explain_over(
        &self,
        show: &Arc<Show>,
        refused: InventoryRefusal,
        requested_seats: &[u32],
        legs: &Range<u16>,
    ) -> HoldRefusal {
        match refused {
            InventoryRefusal::Taken(cells) => {
                self.seats_taken(show, &cells, requested_seats, legs).await
            }
            InventoryRefusal::Limit { have, limit } => HoldRefusal::TooManySeats {
                have,
                asked: requested_seats.len() as u64,
                limit,
            },
            InventoryRefusal::Gone => HoldRefusal::Expired,
            InventoryRefusal::Foreign => HoldRefusal::NotYours,
            InventoryRefusal::OtherPurpose(purpose) => HoldRefusal::OtherPurpose(purpose),
            InventoryRefusal::Ordered => HoldRefusal::Ordered,
            InventoryRefusal::NotHeld(seats) => {
                let labels = seats.iter().map(|seat| show.seat_label(*seat).to_owned());
                HoldRefusal::NotInHold(labels.collect())
            }
            InventoryRefusal::NoExtensions => HoldRefusal::NoExtensionsLeft,
            InventoryRefusal::PlanChanged => HoldRefusal::PlanChanged,
            InventoryRefusal::NotReady => HoldRefusal::NotReady,
            InventoryRefusal::Unreachable => HoldRefusal::Unreachable,
        }
    }

    async fn seats_taken(
        &self,
        show: &Arc<Show>,
        cells: &[u32],
        requested_seats: &[u32],
        legs: &Range<u16>,
    ) -> HoldRefusal {
        let grid = show.grid();
        let mut labels: Vec<String> = cells
            .iter()
            .map(|cell| show.seat_label(grid.seat_of(*cell)).to_owned())
            .collect();
        // The store may refuse several cells of one seat, one for each leg. The seat is named once.
        let mut seen = std::collections::HashSet::new();
        labels.retain(|label| seen.insert(label.clone()));
        HoldRefusal::SeatsTaken {
            labels,
            suggestion: self.suggest(show, requested_seats, legs).await,
        }
    }
}

fn new_basket(
    show: &Show,
    pass: &LivePass,
    id: HoldId,
    chosen: &ChosenSeats,
    now_ms: i64,
) -> Result<Hold, HoldRefusal> {
    let BasketDeadlines {
        expires_at_ms,
        lock_until_ms,
    } = basket_deadlines(show, now_ms);
    Ok(Hold {
        id,
        visitor: pass.sub,
        room: pass.room.clone(),
        purpose: HoldPurpose::Basket,
        items: for_sale(show, &chosen.seats, &chosen.legs)?,
        terms: show.terms,
        plan_version: show.plan.version,
        next_to_each_other: chosen.side_by_side,
        expires_at_ms,
        lock_until_ms,
        extensions_left: show.document.extensions,
        stage: HoldStage::Basket,
    })
}

/// Returns the deadlines of a basket that begins now.
pub(super) fn basket_deadlines(show: &Show, now_ms: i64) -> BasketDeadlines {
    let document = &show.document;
    let expires_at_ms = now_ms + i64::from(document.hold_s) * 1_000;
    BasketDeadlines {
        expires_at_ms,
        lock_until_ms: expires_at_ms + i64::from(document.grace_s) * 1_000,
    }
}

/// Returns the seats on `legs` as items of a hold, if every seat has a price there.
///
/// # Errors
/// [`HoldRefusal::NotForSale`] if a seat has no price.
pub fn for_sale(
    show: &Show,
    seats: &[u32],
    legs: &Range<u16>,
) -> Result<Vec<HeldSeat>, HoldRefusal> {
    let held = |seat: &u32| match show.fare(*seat, legs) {
        Some(_) => Ok(HeldSeat {
            seat: *seat,
            legs: legs.clone(),
        }),
        None => Err(HoldRefusal::NotForSale(vec![
            show.seat_label(*seat).to_owned(),
        ])),
    };
    seats.iter().map(held).collect()
}
