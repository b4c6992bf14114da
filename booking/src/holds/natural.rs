//! Natural idempotency on trains: a visitor has one basket a departure and stretch, whatever key or
//! none its calls carry, so that a second click, a second tab or a call made anew on another day
//! finds what the first one took. Nor does it order one journey twice, unless it says that it wants
//! more seats of it.

use fairgate_model::holds::{Hold, HoldStage};
use fairgate_model::ids::{HoldId, OrderId};
use fairgate_model::shows::Show;
use fairgate_pass::Holder;

use super::ask::{ResolvedSeatRequest, SeatSelection};
use super::refusal::HoldRefusal;
use super::take::HoldDesk;
use crate::store::InventoryRefusal;

/// Orders of one stretch by one visitor that are looked through; whoever has made more of them is
/// told apart by its key alone.
const ROUNDS_MAX: u32 = 32;

/// What a visitor has over the legs it asks for.
pub(super) enum ExistingHold {
    /// Its basket.
    Living(Hold),
    /// None; a new one has this id.
    None(HoldId),
}

impl HoldDesk {
    /// The visitor's own basket over the same legs, if it is what it asks for now. `id` is the
    /// call's own, for shows without stops. `again`: what it has ordered of this journey does not
    /// count.
    ///
    /// # Errors
    /// [`HoldRefusal::JourneyHeld`] where its basket has other seats,
    /// [`HoldRefusal::JourneyOrdered`] where an order has seats of this journey; also where store
    /// or ledger do not answer.
    pub(super) async fn existing_hold(
        &self,
        show: &Show,
        visitor: Holder,
        asked: &ResolvedSeatRequest,
        again: bool,
        id: HoldId,
    ) -> Result<ExistingHold, HoldRefusal> {
        if show.run.is_none() {
            return Ok(ExistingHold::None(id));
        }
        let mut unused = id;
        for round in 0..ROUNDS_MAX {
            let own = self
                .ids
                .hold_of_journey(&show.id, visitor, &asked.legs, round);
            let order = OrderId::of_hold(&own);
            // One of an earlier version.
            let before = HoldId::of_journey(&show.id, visitor, &asked.legs, round);
            if let Ok(hold) = self.seats.store.hold(&before, visitor).await
                && hold.stage == HoldStage::Basket
            {
                return as_asked(show, hold, asked).map(ExistingHold::Living);
            }
            match self.seats.store.hold(&own, visitor).await {
                Ok(hold) if hold.stage == HoldStage::Basket => {
                    return as_asked(show, hold, asked).map(ExistingHold::Living);
                }
                // Until its order is written only the store knows that it is being ordered.
                Ok(_) if again || self.ledger.order(&order).await?.is_some() => {}
                Ok(_) => return Err(HoldRefusal::JourneyOrdered(order)),
                // One that became an order stays that order's: its id is never a basket again.
                Err(InventoryRefusal::Gone) => {
                    if self.ledger.order(&order).await?.is_none() {
                        unused = own;
                        break;
                    }
                }
                Err(refused) => return Err(self.explain(show, refused, &[]).await),
            }
        }
        if !again {
            let legs = asked.legs.clone();
            if let Some(order) = self.ledger.order_over(&show.id, visitor, legs).await? {
                return Err(HoldRefusal::JourneyOrdered(order));
            }
        }
        Ok(ExistingHold::None(unused))
    }
}

/// A hold that was found under the id of a call, if it is what the call asks for. On a train
/// another call for the same journey may have been quicker, at this node or another one, and its
/// seats are not what this one asked for.
///
/// # Errors
/// [`HoldRefusal::JourneyHeld`] where it has other seats, [`HoldRefusal::JourneyOrdered`] where it
/// is an order's.
pub(super) fn as_asked(
    show: &Show,
    hold: Hold,
    asked: &ResolvedSeatRequest,
) -> Result<Hold, HoldRefusal> {
    if show.run.is_none() {
        return Ok(hold);
    }
    if hold.stage != HoldStage::Basket {
        return Err(HoldRefusal::JourneyOrdered(OrderId::of_hold(&hold.id)));
    }
    let same = match &asked.wanted {
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
    if same {
        return Ok(hold);
    }
    let labels = hold.items.iter().map(|item| show.seat_label(item.seat));
    Err(HoldRefusal::JourneyHeld {
        labels: labels.map(ToOwned::to_owned).collect(),
        hold: hold.id,
    })
}
