//! Changes a hold. The store adds and removes the seats in one step.

use std::ops::Range;
use std::sync::Arc;

use fairgate_model::holds::Hold;
use fairgate_model::ids::HoldId;
use fairgate_model::shows::Show;
use fairgate_model::shows::terms::UNNUMBERED;
use fairgate_pass::Holder;

use super::ask::HoldChange;
use super::chosen::side_by_side;
use super::refusal::{HoldRefusal, HoldRefusalOutcome, HoldRequestFault};
use super::stretch::on_sale;
use super::take::{HoldDesk, for_sale};

impl HoldDesk {
    /// Adds and removes all seats of the change, or changes nothing.
    ///
    /// # Errors
    /// [`HoldRefusal`], which says why the change was refused. The hold is then unchanged.
    pub async fn change(
        &self,
        show: &Arc<Show>,
        visitor: Holder,
        id: &HoldId,
        change: &HoldChange,
        now_ms: i64,
    ) -> Result<Hold, HoldRefusal> {
        let (add, remove) = change.resolve(show)?;
        if !add.is_empty() {
            self.catalogue.require_not_closed(&show.id)?;
        }
        if !add.is_empty() && show.is_cancelled() {
            return Err(HoldRefusal::ShowCancelled);
        }
        let hold = match self.seats.store.hold(id, visitor).await {
            Ok(hold) => hold,
            Err(refused) => return Err(self.explain(show, refused, &add).await),
        };
        let mut seats_after: Vec<u32> = hold
            .items
            .iter()
            .map(|item| item.seat)
            .filter(|seat| !remove.contains(seat))
            .collect();
        seats_after.extend(&add);
        if seats_after.is_empty() {
            return Err(HoldRequestFault::NothingLeft.into());
        }
        // All seats of a hold have the same legs.
        let legs = hold.items.first().map(|item| item.legs.clone());
        let legs = legs.unwrap_or_else(|| show.legs());
        if !add.is_empty() {
            self.check_added(show, &hold, (&add, &legs), now_ms).await?;
        }
        let side_by_side = side_by_side(&show.plan.map, &seats_after);
        let items = for_sale(show, &add, &legs)?;
        let limit = show.document.seats_per_visitor;
        let store = &self.seats.store;
        match store
            .change(id, visitor, items, remove, side_by_side, limit)
            .await
        {
            Ok(hold) => Ok(hold),
            Err(refused) => Err(self.explain_over(show, refused, &add, &legs).await),
        }
    }

    /// Makes the checks that come before the store adds seats. The hold must have the show's
    /// current terms, the sale must not have ended, and no seat may be left single.
    async fn check_added(
        &self,
        show: &Arc<Show>,
        hold: &Hold,
        (add, legs): (&[u32], &Range<u16>),
        now_ms: i64,
    ) -> Result<(), HoldRefusal> {
        if ![show.terms, UNNUMBERED].contains(&hold.terms) {
            return Err(HoldRefusal::TermsChanged);
        }
        on_sale(show, legs, now_ms)
            .map_err(|why| HoldRefusal::Stretch(why, HoldRefusalOutcome::HoldUnchanged))?;
        let view = self.view(show).await?;
        self.refuse_orphans(show, &view, add).await
    }
}
