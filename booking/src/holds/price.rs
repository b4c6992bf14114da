//! Finds the prices of held seats. A hold names its terms, and the terms have the prices.

use std::sync::Arc;

use fairgate_databases::LedgerError;
use fairgate_model::holds::{HeldSeat, Hold};
use fairgate_model::orders::OrderItem;
use fairgate_model::orders::item::order_item_for_seat;
use fairgate_model::shows::Show;
use fairgate_model::shows::terms::SaleTerms;

use super::refusal::HoldRefusal;
use super::take::HoldDesk;

/// Returns seats as items of an order, with the prices that `terms` has for these seats.
///
/// # Errors
/// [`HoldRefusal::NotForSale`] if the terms have no price for a seat.
pub fn priced(
    show: &Show,
    terms: &SaleTerms,
    held: &[HeldSeat],
) -> Result<Vec<OrderItem>, HoldRefusal> {
    let item = |held: &HeldSeat| {
        let amount = show.price_under(terms, held.seat, &held.legs);
        let amount = amount
            .ok_or_else(|| HoldRefusal::NotForSale(vec![show.seat_label(held.seat).to_owned()]))?;
        Ok(order_item_for_seat(show, held.clone(), amount))
    };
    held.iter().map(item).collect()
}

impl HoldDesk {
    /// Returns the terms that a hold names, and the hold's seats with their prices.
    ///
    /// # Errors
    /// Returns an error if the ledger does not answer, or if the terms have no price for a seat. On
    /// a train, also if the hold counts other stops than the show.
    pub async fn price(
        &self,
        show: &Show,
        hold: &Hold,
    ) -> Result<(Arc<SaleTerms>, Vec<OrderItem>), HoldRefusal> {
        if show.run.is_some() && hold.plan_version > show.plan.version {
            let change = "The train has just got other stops".to_owned();
            return Err(LedgerError::Overtaken(change).into());
        }
        if show.run.is_some() && hold.plan_version < show.plan.version {
            return Err(HoldRefusal::PlanChanged);
        }
        let terms = self.catalogue.terms(show, hold.terms).await?;
        let items = priced(show, &terms, &hold.items)?;
        Ok((terms, items))
    }
}
