//! A show of the dump: its seats, its rules, and what its terms say a seat costs.

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
    /// How many seats one card may have; as many as there are where it is absent.
    #[serde(default)]
    pub seats_per_card: Option<u64>,
    pub labels: Vec<String>,
    /// How many times each seat is sold: a train's once for each stretch between neighbouring
    /// stops.
    pub legs: u16,
    /// The plan's categories; on a train these are its classes.
    #[serde(default)]
    pub categories: Vec<DumpedCategory>,
    /// The category of each seat, as a position in `categories`.
    #[serde(default)]
    seat_categories: Vec<usize>,
    /// What a train's stretches cost; it sells no others.
    #[serde(default)]
    fares: Vec<DumpedFare>,
    /// When a train leaves the stop at which each leg begins.
    #[serde(default)]
    departs_ms: Vec<Option<f64>>,
    /// What became of it; nothing where it simply takes place.
    #[serde(default)]
    pub fate: Option<DumpedShowFate>,
    /// Its terms by version.
    #[serde(skip)]
    pub terms: BTreeMap<u64, DumpedTerms>,
    #[serde(skip)]
    pub(super) seats: HashMap<String, u32>,
}

/// A kind of seat.
#[derive(Debug, Clone, Deserialize)]
pub struct DumpedCategory {
    pub key: String,
    pub label: String,
}

/// What a class of a train costs over a stretch.
#[derive(Debug, Deserialize)]
struct DumpedFare {
    /// The class, as a position in the show's categories.
    category: usize,
    /// The first leg.
    from: u16,
    /// The leg behind the last one.
    to: u16,
    amount: i64,
}

/// What became of a show.
#[derive(Debug, Deserialize)]
pub struct DumpedShowFate {
    /// `cancelled` or `postponed`.
    pub fate: String,
    /// Until when tickets of a postponed show go back without a fee.
    #[serde(default)]
    pub refunds_until_ms: Option<f64>,
}

/// One version of a show's terms.
#[derive(Debug, Deserialize)]
pub struct DumpedTerms {
    pub(super) show: String,
    pub version: u64,
    /// From when on it was in force.
    pub at_ms: f64,
    pub currency: String,
    /// When the show began, as people were told.
    pub starts_ms: f64,
    /// Minor units by category key or label.
    #[serde(default)]
    pub prices: BTreeMap<String, i64>,
    #[serde(default)]
    pub refunds: Vec<DumpedRefundRule>,
    /// None where it offered no exchange.
    #[serde(default)]
    pub exchange: Option<DumpedExchangeRule>,
    /// The hash of all of the above, as it was dumped.
    #[serde(default)]
    digest: Option<String>,
}

/// Until how many hours before the start which share is kept of a ticket that goes back.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct DumpedRefundRule {
    pub until_h: f64,
    pub fee_pct: i64,
}

/// How tickets are given for others.
#[derive(Debug, Clone, Deserialize)]
pub struct DumpedExchangeRule {
    /// Until how many hours before the start.
    pub until_h: f64,
    /// What each exchange costs.
    pub fee: i64,
    /// What becomes of the difference where the new seats cost less.
    pub cheaper: DumpedCheaperRule,
}

/// What becomes of the difference where the new seats cost less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DumpedCheaperRule {
    /// As much goes back as the refund rule would give back of it.
    RefundRule,
    /// Nothing goes back.
    Keep,
    /// All of it goes back.
    Refund,
}

impl DumpedTerms {
    /// What people call them.
    pub fn name(&self) -> String {
        format!("version {} of the terms of {}", self.version, self.show)
    }

    /// Whether the hash in the record is that of what stands there.
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
            "{show}\n{version}\n{at_ms}\n{currency}\n{starts_ms}\n{prices}\n{rules}\n{exchange}"
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
    /// The cells of a seat over these legs, or over all of them; none where the show has no such
    /// seat.
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

    /// The label of a cell: cells are leg-major.
    pub fn label(&self, cell: u32) -> &str {
        let seats = self.labels.len().max(1);
        self.labels
            .get(cell as usize % seats)
            .map_or("?", String::as_str)
    }

    /// What a seat costs over these legs by some terms; nothing where they do not sell it. A train
    /// goes by its fares.
    pub fn price(&self, terms: &DumpedTerms, seat: u32, legs: &Range<u16>) -> Option<i64> {
        let position = *self.seat_categories.get(seat as usize)?;
        if !self.fares.is_empty() {
            let mut fares = self.fares.iter();
            let fare =
                fares.find(|fare| fare.category == position && (fare.from..fare.to) == *legs);
            return fare.map(|fare| fare.amount);
        }
        let category = self.categories.get(position)?;
        let price = terms.prices.get(&category.key);
        price.or(terms.prices.get(&category.label)).copied()
    }

    /// The terms in force at a moment.
    pub fn terms_at(&self, at_ms: f64) -> Option<&DumpedTerms> {
        let known = self.terms.values().rev();
        let mut known = known.filter(|terms| terms.at_ms <= at_ms);
        known.next().or(self.terms.values().next())
    }

    /// When a train leaves the stop at which a leg begins; nothing for what is no train.
    pub fn departs_ms(&self, leg: u16) -> Option<f64> {
        self.departs_ms.get(usize::from(leg)).copied().flatten()
    }
}
