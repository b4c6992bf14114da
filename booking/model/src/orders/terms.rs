//! The terms that count for an order: those that it was made under, and the show's own of the
//! moment, of which whatever is better for the buyer counts.

use std::sync::Arc;

use super::OrderItem;
use crate::runs::TrainRun;
use crate::shows::fate::ShowFate;
use crate::shows::terms::SaleTerms;

/// What bears on an order's refunds and exchanges.
#[derive(Debug, Clone)]
pub struct OrderTerms {
    /// The terms that it was made under.
    pub kept: SaleTerms,
    /// The show's terms of the moment.
    pub present: SaleTerms,
    /// The stops and fares of a train.
    pub run: Option<Arc<TrainRun>>,
    /// What became of the show.
    pub fate: Option<ShowFate>,
}

impl OrderTerms {
    /// When what some seats are for begins, in milliseconds since the epoch: the later of what the
    /// buyer was told and what is planned now.
    #[must_use]
    pub fn begins_ms(&self, items: &[OrderItem]) -> i64 {
        let first_leg = items.iter().map(|item| item.held.legs.start).min();
        let begins = |terms: &SaleTerms| terms.begins_ms(first_leg, self.run.as_deref());
        begins(&self.kept).max(begins(&self.present))
    }
}
