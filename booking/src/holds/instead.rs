//! Takes the new seats of an exchange. If the buyer may choose the order's own seats again, these
//! seats count as free while the new seats are chosen. Only cells that the order does not have are
//! taken.

use std::sync::Arc;

use fairgate_model::holds::{HeldSeat, Hold, HoldPurpose, HoldStage, cells_of};
use fairgate_model::ids::HoldId;
use fairgate_model::orders::{Order, OrderItem};
use fairgate_model::shows::Show;
use fairgate_pass::Holder;

use super::ask::{ResolvedSeatRequest, SeatSelection};
use super::chosen::{SPREADS, may_choose_again};
use super::price::priced;
use super::refusal::HoldRefusal;
use super::take::{HoldDesk, for_sale};
use crate::store::InventoryRefusal;

/// The new seats of an exchange.
pub struct ExchangeSeats {
    /// The hold on the cells that the order does not have.
    pub hold: Hold,
    /// All new seats, including seats that the order already has.
    pub items: Vec<OrderItem>,
}

/// Returns the cells to take for the chosen seats, and the seat limit that the store checks.
pub type GainedCellsFn<'a, E> =
    &'a (dyn Fn(&[OrderItem]) -> Result<(Vec<HeldSeat>, u32), E> + Sync);

impl HoldDesk {
    /// Chooses seats as [`HoldDesk::take`] does, and takes the cells that the order does not have.
    ///
    /// # Errors
    /// The errors of [`HoldDesk::take`], and any error of `gained_cells`.
    pub async fn take_instead<E: From<HoldRefusal>>(
        &self,
        show: &Arc<Show>,
        (order, owner): (&Order, &NewSeatOwner),
        request: &ResolvedSeatRequest,
        id: &HoldId,
        gained_cells: GainedCellsFn<'_, E>,
        now_ms: i64,
    ) -> Result<ExchangeSeats, E> {
        let mut last_refusal = (InventoryRefusal::NotReady, Vec::new());
        let may_keep = order.show == show.id && may_choose_own_seats_again(order, request);
        let own_cells = match may_keep {
            true => cells_of(&order.held_seats(), show.grid()),
            false => Vec::new(),
        };
        for spread in SPREADS {
            let chosen = self.choose_seats(show, request, &own_cells, spread).await?;
            let held = for_sale(show, &chosen.seats, &chosen.legs)?;
            let terms = self.catalogue.terms(show, show.terms).await;
            let terms = terms.map_err(HoldRefusal::Ledger)?;
            let (gained, limit) = gained_cells(&priced(show, &terms, &held)?)?;
            let basket_ms = i64::from(show.document.hold_s) * 1_000;
            let expires_at_ms = now_ms + basket_ms.min(NEW_CELLS_HELD_MAX_MS);
            let hold = Hold {
                id: id.clone(),
                visitor: owner.visitor,
                room: owner.room.clone(),
                purpose: HoldPurpose::Exchange,
                items: gained,
                terms: show.terms,
                plan_version: show.plan.version,
                next_to_each_other: chosen.side_by_side,
                expires_at_ms,
                lock_until_ms: expires_at_ms + i64::from(show.document.grace_s) * 1_000,
                extensions_left: 0,
                stage: HoldStage::Basket,
            };
            match self.seats.store.take(hold, limit).await {
                Ok(hold) => return Ok(self.seats_of_hold(show, hold, request).await?),
                Err(InventoryRefusal::Taken(cells))
                    if may_choose_again(&request.wanted, show, &cells) =>
                {
                    last_refusal = (InventoryRefusal::Taken(cells), chosen.seats);
                }
                Err(refused) => {
                    let seats = &chosen.seats;
                    let why = self.explain_over(show, refused, seats, &request.legs).await;
                    return Err(why.into());
                }
            }
        }
        let why = self
            .explain_over(show, last_refusal.0, &last_refusal.1, &request.legs)
            .await;
        Err(why.into())
    }

    /// Returns all new seats of an exchange from its hold. An earlier try of the same call may have
    /// made the hold and chosen other seats, so the seats are read from the hold. The hold names
    /// every new seat, even a seat whose cells the order already has.
    async fn seats_of_hold(
        &self,
        show: &Arc<Show>,
        hold: Hold,
        request: &ResolvedSeatRequest,
    ) -> Result<ExchangeSeats, HoldRefusal> {
        if hold.purpose != HoldPurpose::Exchange {
            return Err(self
                .explain(show, InventoryRefusal::OtherPurpose(hold.purpose), &[])
                .await);
        }
        let mut seats: Vec<u32> = hold.items.iter().map(|item| item.seat).collect();
        seats.dedup();
        let with_legs = |seat| HeldSeat {
            seat,
            legs: request.legs.clone(),
        };
        let held: Vec<HeldSeat> = seats.into_iter().map(with_legs).collect();
        let terms = self.catalogue.terms(show, hold.terms).await?;
        let items = priced(show, &terms, &held)?;
        Ok(ExchangeSeats { hold, items })
    }
}

/// The longest time for which the new cells are held while the exchange is being written. If the
/// show's `hold_s` is shorter, it is used. The time is short, so that the cells are soon free again
/// if the process dies.
const NEW_CELLS_HELD_MAX_MS: i64 = 30_000;

/// The owner of the new seats of an exchange.
#[derive(Debug, Clone)]
pub struct NewSeatOwner {
    /// The visitor who exchanges.
    pub visitor: Holder,
    /// The room of the visitor's pass, or of the order that is exchanged.
    pub room: String,
}

/// Returns whether the order's own seats may be chosen again. They may not if the visitor asks for
/// the best seats or a class on the same stretch, because such a visitor wants other seats.
fn may_choose_own_seats_again(order: &Order, request: &ResolvedSeatRequest) -> bool {
    let named = matches!(request.wanted, SeatSelection::Named { .. });
    named
        || order
            .items
            .iter()
            .any(|item| item.held.legs != request.legs)
}
