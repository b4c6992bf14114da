//! What the cells of a hold cost: a hold names its terms, and they have the prices.

use std::sync::Arc;

use super::take::HoldDesk;
use super::{Held, Hold};
use crate::catalogue::show::Show;
use crate::catalogue::terms::SaleTerms;
use crate::holds::ask::not_for_sale;
use crate::orders::OrderItem;
use crate::orders::item::named;
use fairgate_base::http::Problem;

/// Seats as an order has them, at the prices of some terms.
///
/// # Errors
/// 422 `not_for_sale` where the terms have no price for a seat.
pub fn priced(show: &Show, terms: &SaleTerms, held: &[Held]) -> Result<Vec<OrderItem>, Problem> {
    let item = |held: &Held| {
        let amount = show.price_under(terms, held.seat, &held.legs);
        let amount = amount.ok_or_else(|| not_for_sale(&[show.label(held.seat)]))?;
        Ok(named(show, held.clone(), amount))
    };
    held.iter().map(item).collect()
}

impl HoldDesk {
    /// The terms that a hold names, and its seats at their prices.
    ///
    /// # Errors
    /// 503 where the ledger does not answer.
    pub async fn price(
        &self,
        show: &Show,
        hold: &Hold,
    ) -> Result<(Arc<SaleTerms>, Vec<OrderItem>), Problem> {
        let terms = self.catalogue.terms(show, hold.terms).await?;
        let items = priced(show, &terms, &hold.items)?;
        Ok((terms, items))
    }
}
