//! Reads a show of the dump: its seats, its rules and its prices.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use serde::Deserialize;
use sha2::{Digest, Sha256};

/// A show and its rules.
#[derive(Debug, Deserialize)]
pub struct DumpedShow {
    pub(super) show: String,
    pub grace_s: f64,
    pub seats_per_visitor: u64,
    /// How many seats one card may buy; `None` if there is no limit.
    #[serde(default)]
    pub seats_per_card: Option<u64>,
    pub labels: Vec<String>,
    /// How many times each seat is sold. A train's seat is sold once for each stretch between
    /// neighbouring stops.
    pub legs: u16,
    /// The categories of the plan. On a train these are its classes.
    #[serde(default)]
    pub categories: Vec<DumpedCategory>,
    /// The category of each seat, as a position in `categories`.
    #[serde(default)]
    seat_categories: Vec<usize>,
    /// The fares and times of a train. Orders whose terms have fares of their own are judged by
    /// those.
    #[serde(flatten)]
    rides: DumpedRides,
    /// Whether the show was cancelled or postponed; `None` if it takes place as planned.
    #[serde(default)]
    pub fate: Option<DumpedShowFate>,
    /// The show's terms by version.
    #[serde(skip)]
    pub terms: BTreeMap<u64, DumpedTerms>,
    #[serde(skip)]
    pub(super) seats: HashMap<String, u32>,
}

/// A category of seats.
#[derive(Debug, Clone, Deserialize)]
pub struct DumpedCategory {
    pub key: String,
    pub label: String,
}

/// The fares and times of a train.
#[derive(Debug, Default, Deserialize)]
struct DumpedRides {
    /// The fares of its stretches. It sells no other stretches.
    #[serde(default)]
    fares: Vec<DumpedFare>,
    /// For each leg, when the train leaves the stop where the leg begins.
    #[serde(default)]
    departs_ms: Vec<Option<f64>>,
    /// For each leg, when the train arrives at the stop where the leg ends.
    #[serde(default)]
    arrives_ms: Vec<Option<f64>>,
}

/// The fare of a class of a train over a stretch.
#[derive(Debug, Deserialize)]
struct DumpedFare {
    /// The class, as a position in the show's categories.
    category: usize,
    /// The first leg.
    from: u16,
    /// The leg after the last one.
    to: u16,
    amount: i64,
}

/// The cancellation or postponement of a show.
#[derive(Debug, Deserialize)]
pub struct DumpedShowFate {
    /// `cancelled` or `postponed`.
    pub fate: String,
    /// When the show was cancelled or postponed.
    pub at_ms: f64,
    /// Until when tickets of a postponed show are refunded without a fee. They must have been
    /// bought before it was postponed.
    #[serde(default)]
    pub refunds_until_ms: Option<f64>,
}

/// One version of a show's terms.
#[derive(Debug, Deserialize)]
pub struct DumpedTerms {
    pub(super) show: String,
    pub version: u64,
    /// When this version came into force.
    pub at_ms: f64,
    pub currency: String,
    /// When the show begins, according to this version.
    pub starts_ms: f64,
    /// Prices in minor units, by category key or label.
    #[serde(default)]
    pub prices: BTreeMap<String, i64>,
    #[serde(default)]
    pub refunds: Vec<DumpedRefundRule>,
    /// The exchange rule; `None` if this version offers no exchange.
    #[serde(default)]
    pub exchange: Option<DumpedExchangeRule>,
    /// The fares and times of a train, as this version sold it. Empty if the version is older than
    /// such fields.
    #[serde(flatten)]
    rides: DumpedRides,
    /// The hash of all fields above, as the dump has it.
    #[serde(default)]
    digest: Option<String>,
}

/// A refund rule: until `until_h` hours before the start, a refund keeps `fee_pct` percent of the
/// price.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct DumpedRefundRule {
    pub until_h: f64,
    pub fee_pct: i64,
}

/// The rule for exchanging tickets.
#[derive(Debug, Clone, Deserialize)]
pub struct DumpedExchangeRule {
    /// Until how many hours before the start an exchange is possible.
    pub until_h: f64,
    /// The fee of each exchange.
    pub fee: i64,
    /// What becomes of the difference if the new seats cost less.
    pub cheaper: DumpedCheaperRule,
}

/// What becomes of the difference if the new seats cost less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DumpedCheaperRule {
    /// The part of the difference that the refund rule would refund is refunded.
    RefundRule,
    /// Nothing is refunded.
    Keep,
    /// The whole difference is refunded.
    Refund,
}

impl DumpedTerms {
    /// Returns a name for this version of the terms, for findings.
    pub fn name(&self) -> String {
        format!("version {} of the terms of {}", self.version, self.show)
    }

    /// Returns whether the dumped hash matches the fields of the terms, or is absent.
    pub fn is_as_dumped(&self) -> bool {
        let Some(digest) = &self.digest else {
            return true;
        };
        let prices = self.prices.iter();
        let prices: String = prices
            .map(|(name, amount)| format!("{name}={amount};"))
            .collect();
        let rules = self.refunds.iter();
        let rules: String = rules
            .map(|rule| format!("{}:{};", rule.until_h, rule.fee_pct))
            .collect();
        let exchange = self.exchange.as_ref().map_or_else(String::new, |rule| {
            format!("{}:{}:{}", rule.until_h, rule.fee, rule.cheaper.rule_name())
        });
        let (show, version, at_ms) = (&self.show, self.version, self.at_ms);
        let (currency, starts_ms) = (&self.currency, self.starts_ms);
        let text = format!(
            "{show}\n{version}\n{at_ms}\n{currency}\n{starts_ms}\n{prices}\n{rules}\n{exchange}\n{}",
            self.rides.lines()
        );
        *digest == hex::encode(Sha256::digest(text))
    }
}

impl DumpedCheaperRule {
    fn rule_name(self) -> &'static str {
        match self {
            Self::RefundRule => "refund_rule",
            Self::Keep => "keep",
            Self::Refund => "refund",
        }
    }
}

impl DumpedShow {
    /// Returns the cells of a seat on these legs, or on all legs if `legs` is `None`. The list is
    /// empty if the show has no such seat.
    pub fn cells(&self, label: &str, legs: Option<&[u16]>) -> Vec<u32> {
        let Some(seat) = self.seats.get(label) else {
            return Vec::new();
        };
        let every: Vec<u16>;
        let legs = match legs {
            Some(legs) => legs,
            None => {
                every = (0..self.legs).collect();
                &every
            }
        };
        let seats = u32::try_from(self.labels.len()).unwrap_or(u32::MAX);
        legs.iter()
            .map(|leg| u32::from(*leg) * seats + seat)
            .collect()
    }

    /// Returns the label of a cell's seat. Cells are ordered by leg and then by seat.
    pub fn label(&self, cell: u32) -> &str {
        let seats = self.labels.len().max(1);
        self.labels
            .get(cell as usize % seats)
            .map_or("?", String::as_str)
    }

    /// Returns the price of a seat on these legs under some terms, or `None` if the seat has no
    /// price for them. A train's prices are its fares.
    pub fn price(&self, terms: &DumpedTerms, seat: u32, legs: &Range<u16>) -> Option<i64> {
        let position = *self.seat_categories.get(seat as usize)?;
        if self.is_train() {
            return self.rides(terms).fare(position, legs);
        }
        let category = self.categories.get(position)?;
        let price = terms.prices.get(&category.key);
        price.or(terms.prices.get(&category.label)).copied()
    }

    /// Returns the terms that were in force at a moment. Before any version was in force, returns
    /// the first version.
    pub fn terms_at(&self, at_ms: f64) -> Option<&DumpedTerms> {
        let versions = self.terms.values().rev();
        let mut versions = versions.filter(|terms| terms.at_ms <= at_ms);
        versions.next().or(self.terms.values().next())
    }

    fn is_train(&self) -> bool {
        !self.rides.fares.is_empty() || !self.rides.departs_ms.is_empty()
    }

    /// Returns the fares and times of a train under some terms.
    fn rides<'a>(&'a self, terms: &'a DumpedTerms) -> &'a DumpedRides {
        if terms.rides.departs_ms.is_empty() {
            &self.rides
        } else {
            &terms.rides
        }
    }

    /// Returns when a train leaves the stop where a leg begins, under some terms. Returns `None` if
    /// the time is not known or the show is no train.
    pub fn departs_ms(&self, terms: &DumpedTerms, leg: u16) -> Option<f64> {
        let times = &self.rides(terms).departs_ms;
        times.get(usize::from(leg)).copied().flatten()
    }

    /// Returns when a train arrives at the stop where a leg ends, likewise.
    pub fn arrives_ms(&self, terms: &DumpedTerms, leg: u16) -> Option<f64> {
        let times = &self.rides(terms).arrives_ms;
        times.get(usize::from(leg)).copied().flatten()
    }
}

impl DumpedRides {
    fn fare(&self, category: usize, legs: &Range<u16>) -> Option<i64> {
        let is_it =
            |fare: &&DumpedFare| (fare.category, fare.from..fare.to) == (category, legs.clone());
        self.fares.iter().find(is_it).map(|fare| fare.amount)
    }

    /// Returns these fields as lines of the hash over a version of terms.
    fn lines(&self) -> String {
        let fares = self.fares.iter().map(|fare| {
            let (category, amount) = (fare.category, fare.amount);
            format!("{category}:{}:{}={amount};", fare.from, fare.to)
        });
        let times = |times: &[Option<f64>]| -> String {
            let text = |ms: &Option<f64>| ms.map_or_else(String::new, |ms| ms.to_string()) + ";";
            times.iter().map(text).collect()
        };
        let (departs, arrives) = (times(&self.departs_ms), times(&self.arrives_ms));
        format!("{}\n{departs}\n{arrives}", fares.collect::<String>())
    }
}
