//! The terms that seats are sold under. Each change of a show's terms is a numbered version in the
//! ledger that never changes: a hold names the version that it was taken under, an order keeps it,
//! and later ones count only where they are better for the buyer.

use std::collections::BTreeMap;
use std::ops::Range;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::money::Currency;
use crate::runs::TrainRun;
use crate::shows::document::ShowDocument;
use crate::shows::rules::{ExchangeRule, RefundRule};

/// The version that a hold or an order names which was made before terms had numbers: the show's
/// terms of the moment count.
pub const UNNUMBERED: u32 = 0;

/// What seats of a show cost, in which currency, and how they may be given back or exchanged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SaleTerms {
    /// ISO 4217.
    pub currency: Currency,
    /// Minor units by category key or label. A train's fares are those of its run.
    pub prices: BTreeMap<String, i64>,
    /// By which rules tickets may be given back.
    #[serde(default)]
    pub refunds: Vec<RefundRule>,
    /// By which rule seats may be exchanged; none: they may not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<ExchangeRule>,
    /// When the show begins, as buyers were told.
    pub starts_at: Timestamp,
}

/// A category of seats by both of its names.
#[derive(Debug, Clone, Copy)]
pub struct CategoryNames<'a> {
    /// The key.
    pub key: &'a str,
    /// What people call it.
    pub label: &'a str,
}

impl SaleTerms {
    /// The terms that a document states.
    #[must_use]
    pub fn from_document(document: &ShowDocument) -> Self {
        Self {
            currency: document.currency,
            prices: document.prices.clone(),
            refunds: document.refunds.clone(),
            exchange: document.exchange,
            starts_at: document.starts_at,
        }
    }

    /// What a seat of a category costs over some legs, in minor units; `None` where it is not for
    /// sale.
    #[must_use]
    pub fn price(
        &self,
        category: CategoryNames<'_>,
        legs: &Range<u16>,
        run: Option<&TrainRun>,
    ) -> Option<i64> {
        match run {
            Some(run) => run.fare(category.key, legs),
            None => {
                let by = |name: &str| self.prices.get(name).copied();
                by(category.key).or_else(|| by(category.label))
            }
        }
    }

    /// When what some legs are for begins, in milliseconds since the epoch: a train where it is
    /// boarded.
    #[must_use]
    pub fn begins_ms(&self, first_leg: Option<u16>, run: Option<&TrainRun>) -> i64 {
        let starts_ms = self.starts_at.as_millisecond();
        let boarded_ms = || {
            let run = run?;
            let at = |leg: usize| {
                let call = run.calls.get(leg)?;
                Some(call.departs.or(call.arrives)?.as_millisecond())
            };
            // A train that was put off leaves every station later by as much.
            Some(at(usize::from(first_leg?))? + starts_ms - at(0)?)
        };
        boarded_ms().unwrap_or(starts_ms)
    }
}
