//! The terms that apply to an order: the terms that it was made under, and the show's present
//! terms. Where they differ, the terms that are better for the buyer apply.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::OrderItem;
use crate::runs::TrainRun;
use crate::shows::fate::ShowFate;
use crate::shows::terms::SaleTerms;

/// How far a train may move, at a traveller's own stations, before the traveller may give the
/// tickets back without a fee.
const MOVED_MIN: SignedDuration = SignedDuration::from_mins(15);

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
        let first = items.iter().min_by_key(|item| item.held.legs.start);
        let legs = first.map(|item| &item.held.legs);
        let begins = |terms: &SaleTerms| terms.begins_ms(legs, self.run.as_deref());
        begins(&self.original).max(begins(&self.present))
    }

    /// Returns whether the train of some seats was moved so far that they may be given back without
    /// a fee, as [`is_moved`] says.
    #[must_use]
    pub fn is_moved(&self, items: &[OrderItem]) -> bool {
        self.run
            .as_deref()
            .is_some_and(|run| is_moved(&self.original, run, items))
    }
}

/// Returns whether a train was moved so far that some of its seats may be given back without a fee:
/// it leaves the station where a seat's journey begins, or arrives where it ends, more than
/// [`MOVED_MIN`] earlier or later than it was sold. All changes since the sale are added. `run` is
/// the train's present run.
#[must_use]
pub fn is_moved(original: &SaleTerms, run: &TrainRun, items: &[OrderItem]) -> bool {
    let is_far = |one: Timestamp, other: Timestamp| one.duration_since(other).abs() > MOVED_MIN;
    let is_moved_for = |item: &OrderItem| {
        let legs = &item.held.legs;
        let (sold, sold_legs) = original.own_stretch(run, legs)?;
        let leaves = is_far(sold.departs_at(&sold_legs)?, run.departs_at(legs)?);
        let arrives = is_far(sold.arrives_at(&sold_legs)?, run.arrives_at(legs)?);
        Some(leaves || arrives)
    };
    items.iter().any(|item| is_moved_for(item).unwrap_or(false))
}
