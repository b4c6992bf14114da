//! The terms that seats are sold under. Each change of a show's terms makes a numbered version in
//! the ledger, and a version never changes. A hold names the version that it was made under, and
//! its order names the same version. For refunds and exchanges, the show's present version applies
//! where it is better for the buyer.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::money::Currency;
use crate::runs::{self, TrainRun};
use crate::shows::document::ShowDocument;
use crate::shows::rules::{ExchangeRule, RefundRule};

/// The version in holds and orders that were made before terms had numbers. The show's present
/// terms apply to them.
pub const UNNUMBERED: u32 = 0;

/// The prices of a show's seats, their currency, and the rules for refunds and exchanges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SaleTerms {
    /// ISO 4217.
    pub currency: Currency,
    /// Prices in minor units, by category key or label. A train does not use them, because its run
    /// has the fares.
    pub prices: BTreeMap<String, i64>,
    /// The rules for giving tickets back.
    #[serde(default)]
    pub refunds: Vec<RefundRule>,
    /// The rule for exchanging seats. If there is none, seats cannot be exchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<ExchangeRule>,
    /// When the show begins, according to this version.
    pub starts_at: Timestamp,
    /// The stops, times and fares of a train, according to this version. `None` if the show is no
    /// train, or if the version was stored before versions had them.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "runs::stored::optional"
    )]
    pub run: Option<Arc<TrainRun>>,
}

/// A category of seats by both of its names.
#[derive(Debug, Clone, Copy)]
pub struct CategoryNames<'a> {
    /// The key.
    pub key: &'a str,
    /// The name that people read.
    pub label: &'a str,
}

impl SaleTerms {
    /// Returns the terms in a document and, if the show is a train, in its run.
    #[must_use]
    pub fn from_document(document: &ShowDocument, run: Option<Arc<TrainRun>>) -> Self {
        Self {
            currency: document.currency,
            prices: document.prices.clone(),
            refunds: document.refunds.clone(),
            exchange: document.exchange,
            starts_at: document.starts_at,
            run,
        }
    }

    /// Returns what a seat of a category costs over some legs of the show's present run, in minor
    /// units. Returns `None` if it is not for sale.
    #[must_use]
    pub fn price(
        &self,
        category: CategoryNames<'_>,
        legs: &Range<u16>,
        run: Option<&TrainRun>,
    ) -> Option<i64> {
        match run {
            Some(run) => {
                let (own, legs) = self.own_stretch(run, legs)?;
                own.fare(category.key, &legs)
            }
            None => {
                let price_of = |name: &str| self.prices.get(name).copied();
                price_of(category.key).or_else(|| price_of(category.label))
            }
        }
    }

    /// Returns when the show begins, or when the train leaves the station where these legs of the
    /// show's present run begin, in milliseconds since the epoch.
    #[must_use]
    pub fn begins_ms(&self, legs: Option<&Range<u16>>, run: Option<&TrainRun>) -> i64 {
        let starts_ms = self.starts_at.as_millisecond();
        let boarded_ms = || {
            let (own, legs) = self.own_stretch(run?, legs?)?;
            let leaves_ms = |legs| Some(own.departs_at(legs)?.as_millisecond());
            // If the train was postponed, it leaves every station with the same delay.
            Some(leaves_ms(&legs)? + starts_ms - leaves_ms(&(0..1))?)
        };
        boarded_ms().unwrap_or(starts_ms)
    }

    /// Returns the run of this version and the legs in it that are some legs of the present run.
    pub fn own_stretch<'a>(
        &'a self,
        present: &'a TrainRun,
        legs: &Range<u16>,
    ) -> Option<(&'a TrainRun, Range<u16>)> {
        match self.run.as_deref() {
            Some(own) => Some((own, own.ride_sold(present, legs)?)),
            None => Some((present, legs.clone())),
        }
    }
}
