//! Accepts an offer of the waitlist. The offer becomes a basket that lasts for the show's `hold_s`.

use std::sync::Arc;

use fairgate_model::holds::{Hold, HoldPurpose, HoldStage};
use fairgate_model::ids::HoldId;
use fairgate_model::shows::Show;
use fairgate_pass::Holder;

use super::refusal::{HoldRefusal, HoldRefusalOutcome};
use super::stretch::on_sale;
use super::take::{HoldDesk, basket_deadlines};
use crate::store::InventoryRefusal;

impl HoldDesk {
    /// Turns a visitor's offer into a basket, which keeps the offer's seats, terms and extensions.
    /// A repeated call returns the same basket, and its deadline does not move.
    ///
    /// # Errors
    /// [`HoldRefusal`], which says why the offer was not accepted. The offer is then unchanged.
    pub async fn accept_offer(
        &self,
        show: &Arc<Show>,
        visitor: Holder,
        id: &HoldId,
        now_ms: i64,
    ) -> Result<Hold, HoldRefusal> {
        self.catalogue.require_not_closed(&show.id)?;
        let store = &self.seats.store;
        let hold = match store.hold(id, visitor).await {
            Ok(hold) => hold,
            Err(refused) => return Err(self.explain_offer(show, refused, None).await),
        };
        if hold.purpose == HoldPurpose::Offer && hold.stage == HoldStage::Basket {
            check_still_sold(show, &hold, now_ms)?;
        }
        let limit = show.document.seats_per_visitor;
        let until = basket_deadlines(show, now_ms);
        match store.accept_offer(id, visitor, limit, until, now_ms).await {
            Ok(basket) => Ok(basket),
            Err(refused) => Err(self.explain_offer(show, refused, Some(&hold)).await),
        }
    }

    async fn explain_offer(
        &self,
        show: &Arc<Show>,
        refused: InventoryRefusal,
        offer: Option<&Hold>,
    ) -> HoldRefusal {
        let seats: Vec<u32> = offer.map_or_else(Vec::new, |offer| {
            offer.items.iter().map(|item| item.seat).collect()
        });
        match refused {
            InventoryRefusal::Gone => HoldRefusal::OfferOver,
            InventoryRefusal::Limit { have, limit } => HoldRefusal::OfferBeyondLimit {
                have,
                offered: seats.len() as u64,
                limit,
            },
            refused => self.explain(show, refused, &seats).await,
        }
    }
}

/// Checks that the show is not cancelled and that its sale has not ended. After the end of the
/// sale, no offer becomes a basket. The seats of an offer may still be ordered until the offer runs
/// out.
fn check_still_sold(show: &Show, offer: &Hold, now_ms: i64) -> Result<(), HoldRefusal> {
    if show.is_cancelled() {
        return Err(HoldRefusal::ShowCancelled);
    }
    // All seats of a hold have the same legs.
    let legs = offer.items.first().map(|item| item.legs.clone());
    let legs = legs.unwrap_or_else(|| show.legs());
    on_sale(show, &legs, now_ms)
        .map_err(|why| HoldRefusal::Stretch(why, HoldRefusalOutcome::HoldUnchanged))
}
