//! The terms that apply to an order: the terms that it was made under, and the show's present
//! terms. Where they differ, the terms that are better for the buyer apply.

use std::sync::Arc;

use super::OrderItem;
use crate::runs::TrainRun;
use crate::shows::fate::ShowFate;
use crate::shows::terms::SaleTerms;

/// The terms, times and events that decide an order's refunds and exchanges.
#[derive(Debug, Clone)]
pub struct OrderTerms {
    /// The terms that the order was made under.
    pub original: SaleTerms,
    /// The show's present terms.
    pub present: SaleTerms,
    /// The stops and fares, if the show is a train.
    pub run: Option<Arc<TrainRun>>,
    /// How the show was cancelled or postponed; none if it was not.
    pub fate: Option<ShowFate>,
}

impl OrderTerms {
    /// Returns when the show or the journey of some seats begins, in milliseconds since the epoch.
    /// If that time has changed since the order was made, returns the later of the two times.
    #[must_use]
    pub fn begins_ms(&self, items: &[OrderItem]) -> i64 {
        let first_leg = items.iter().map(|item| item.held.legs.start).min();
        let begins = |terms: &SaleTerms| terms.begins_ms(first_leg, self.run.as_deref());
        begins(&self.original).max(begins(&self.present))
    }
}
