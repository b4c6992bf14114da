//! Keeps visitors from taking the same journey twice by mistake. On a train, a visitor has one
//! basket for each departure and stretch, even without an `Idempotency-Key`. A second click or a
//! second tab therefore finds the basket of the first call. A visitor can order the same journey
//! again only with `again: true`.

use std::sync::Arc;

use fairgate_model::holds::{Hold, HoldStage};
use fairgate_model::ids::{HoldId, OrderId};
use fairgate_model::shows::Show;
use fairgate_pass::Holder;

use super::ask::{ResolvedSeatRequest, SeatSelection};
use super::refusal::HoldRefusal;
use super::take::HoldDesk;
use crate::store::InventoryRefusal;

/// How many orders of one visitor for the same stretch are checked, at most. If there are this
/// many, a new basket gets the id that was made for the call.
const ROUNDS_MAX: u32 = 32;

/// The basket that a visitor may already have on the legs of the request.
pub(super) enum ExistingHold {
    /// The visitor's basket.
    Basket(Hold),
    /// No basket. A new one will have this id.
    None(HoldId),
}

impl HoldDesk {
    /// Returns the visitor's own basket on the same legs, if it has what the visitor asks for now.
    /// If there is no such basket, returns the id for a new one. For shows without stops this is
    /// `id`, which was made for the call. If `again` is true, the visitor's orders of this journey
    /// are ignored.
    ///
    /// # Errors
    /// [`HoldRefusal::JourneyHeld`] if the basket has other seats, [`HoldRefusal::JourneyOrdered`]
    /// if an order has seats of this journey. Also an error if the store or the ledger does not
    /// answer.
    pub(super) async fn existing_hold(
        &self,
        show: &Arc<Show>,
        visitor: Holder,
        request: &ResolvedSeatRequest,
        again: bool,
        id: HoldId,
    ) -> Result<ExistingHold, HoldRefusal> {
        if show.run.is_none() {
            return Ok(ExistingHold::None(id));
        }
        let mut unused = id;
        for round in 0..ROUNDS_MAX {
            let journey_hold_id = self
                .ids
                .hold_of_journey(&show.id, visitor, &request.legs, round);
            let order = OrderId::of_hold(&journey_hold_id);
            // Earlier versions derived the basket's id in this way, and such a basket may still be
            // stored.
            let earlier_version_id = HoldId::of_journey(&show.id, visitor, &request.legs, round);
            if let Ok(hold) = self.seats.store.hold(&earlier_version_id, visitor).await
                && hold.stage == HoldStage::Basket
            {
                return require_same_seats(show, hold, request).map(ExistingHold::Basket);
            }
            match self.seats.store.hold(&journey_hold_id, visitor).await {
                Ok(hold) if hold.stage == HoldStage::Basket => {
                    return require_same_seats(show, hold, request).map(ExistingHold::Basket);
                }
                // Continues with the next id. After the loop, the ledger's orders are checked,
                // unless `again` is true.
                Ok(_) if again || self.ledger.order(&order).await?.is_some() => {}
                // The order is being written: the ledger does not have it yet, but the store has
                // locked the hold for it.
                Ok(_) => return Err(HoldRefusal::JourneyOrdered(order)),
                // The hold has ended. If it became an order, no later basket may have its id.
                Err(InventoryRefusal::Gone) => {
                    if self.ledger.order(&order).await?.is_none() {
                        unused = journey_hold_id;
                        break;
                    }
                }
                Err(refused) => return Err(self.explain(show, refused, &[]).await),
            }
        }
        if !again {
            let legs = request.legs.clone();
            if let Some(order) = self.ledger.order_over(&show.id, visitor, legs).await? {
                return Err(HoldRefusal::JourneyOrdered(order));
            }
        }
        Ok(ExistingHold::None(unused))
    }
}

/// Checks that a hold has what the call asks for, and returns the hold. The hold was found under
/// the call's id. On a train, calls for the same journey have the same id, so a quicker call at any
/// node may have taken other seats under it. For a show without stops, the hold is not checked.
///
/// # Errors
/// [`HoldRefusal::JourneyHeld`] if the hold has other seats, [`HoldRefusal::JourneyOrdered`] if it
/// belongs to an order.
pub(super) fn require_same_seats(
    show: &Show,
    hold: Hold,
    request: &ResolvedSeatRequest,
) -> Result<Hold, HoldRefusal> {
    if show.run.is_none() {
        return Ok(hold);
    }
    if hold.stage != HoldStage::Basket {
        return Err(HoldRefusal::JourneyOrdered(OrderId::of_hold(&hold.id)));
    }
    let has_same_seats = match &request.wanted {
        SeatSelection::Class(party) => {
            let of_class = |seat: u32| {
                let seat = show.plan.map.seats.get(seat as usize);
                seat.is_some_and(|seat| seat.category == party.class)
            };
            hold.items.len() == party.quantity as usize
                && hold.items.iter().all(|item| of_class(item.seat))
        }
        SeatSelection::Named { seats, .. } => {
            hold.items.len() == seats.len()
                && hold.items.iter().all(|item| seats.contains(&item.seat))
        }
        SeatSelection::Best(_) => false,
    };
    if has_same_seats {
        return Ok(hold);
    }
    let labels = hold.items.iter().map(|item| show.seat_label(item.seat));
    Err(HoldRefusal::JourneyHeld {
        labels: labels.map(ToOwned::to_owned).collect(),
        hold: hold.id,
    })
}
