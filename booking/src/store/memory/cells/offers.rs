//! Offers of the waitlist: makes an offer, and turns an accepted offer into a basket.

use fairgate_model::holds::{Hold, HoldPurpose, HoldStage};
use fairgate_model::ids::HoldId;
use fairgate_pass::Holder;

use super::ShowCells;
use crate::store::{BasketDeadlines, InventoryRefusal};

impl ShowCells {
    /// Takes all cells of an offer, or none. Cells that are kept for the waitlist count as free.
    pub(in crate::store::memory) fn offer(
        &mut self,
        hold: Hold,
        limit: u32,
    ) -> Result<Hold, InventoryRefusal> {
        let offered = self.take_from(hold, limit, Self::is_free_or_kept)?;
        // An offer lasts only a short time, so its owner is not warned before the end.
        if !self.table.was_accepted(&offered.id) {
            self.table.cancel_warning(&offered);
        }
        Ok(offered)
    }

    /// Turns an offer into a basket with these deadlines. A basket that was an offer is returned as
    /// it is.
    pub(in crate::store::memory) fn accept_offer(
        &mut self,
        id: &HoldId,
        visitor: Holder,
        limit: u32,
        until: BasketDeadlines,
        now_ms: i64,
    ) -> Result<Hold, InventoryRefusal> {
        let known = &[HoldPurpose::Offer, HoldPurpose::Basket];
        let offer = self.table.find_own_for(id, visitor, known)?;
        if offer.purpose == HoldPurpose::Basket && !self.table.was_accepted(id) {
            return Err(InventoryRefusal::OtherPurpose(HoldPurpose::Basket));
        }
        if offer.stage == HoldStage::Ordered {
            return Err(InventoryRefusal::Ordered);
        }
        if offer.purpose == HoldPurpose::Basket {
            return Ok(offer.clone());
        }
        // The offer's time is over, but no sweep has freed it yet.
        if offer.lock_until_ms <= now_ms {
            return Err(InventoryRefusal::Gone);
        }
        if offer.plan_version != self.plan_version {
            return Err(InventoryRefusal::PlanChanged);
        }
        self.table.check_limit_of_offer(offer, limit)?;
        self.check_has_cells(offer)?;
        let basket = Hold {
            purpose: HoldPurpose::Basket,
            expires_at_ms: until.expires_at_ms,
            lock_until_ms: until.lock_until_ms,
            ..offer.clone()
        };
        self.table.accept(basket.clone());
        Ok(basket)
    }
}
