//! The versions of terms under which a show was sold, with all that a judge needs to compute
//! prices, refunds and exchanges again.

use std::collections::BTreeMap;

use fairgate_databases::LedgerError;
use fairgate_model::plans::seatmap::SeatMap;
use fairgate_model::runs::TrainRun;
use fairgate_model::runs::stored::run_of;
use fairgate_model::shows::rules::{CheaperSeatsRule, ExchangeRule, RefundRule};
use fairgate_model::shows::terms::SaleTerms;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::corrupt;
use super::sold::RidesRecord;

/// A version of the terms under which a show was sold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TermsRecord {
    /// The show.
    pub show: String,
    /// The number of the version, from 1.
    pub version: u32,
    /// When this version began to apply.
    pub at_ms: i64,
    /// ISO 4217.
    pub currency: String,
    /// When the show begins, as buyers were told.
    pub starts_ms: i64,
    /// Prices in minor units, by category key or label. Empty for a train.
    pub prices: BTreeMap<String, i64>,
    /// The rules by which tickets may be given back.
    pub refunds: Vec<RefundRule>,
    /// The rule by which seats may be exchanged. Null if they may not be exchanged.
    pub exchange: Option<ExchangeRule>,
    /// The fares and times of a train, by the legs of its present run. Empty for all other shows,
    /// and for terms that were stored before they had them.
    #[serde(flatten)]
    pub rides: RidesRecord,
    /// A hash of all of the above, so that a judge notices if a value was changed after the dump.
    /// `terms_digest` computes it.
    pub digest: String,
}

impl TermsRecord {
    /// Makes the record from a stored version of the terms. `train` is the plan and the present run
    /// of the show, if it is a train.
    ///
    /// # Errors
    /// Returns an error if one of the texts cannot be read.
    pub fn read(
        (show, version, at_ms): (String, u32, i64),
        text: &str,
        train: Option<(&str, &str)>,
    ) -> Result<Self, LedgerError> {
        let terms: SaleTerms = serde_json::from_str(text)
            .map_err(|error| corrupt(format!("terms {version} of show {show}: {error}")))?;
        let mut record = Self {
            show,
            version,
            at_ms,
            currency: terms.currency.as_str().to_owned(),
            starts_ms: terms.starts_at.as_millisecond(),
            prices: terms.prices,
            refunds: terms.refunds,
            exchange: terms.exchange,
            rides: match (train, terms.run) {
                (Some((plan, present)), Some(sold)) => rides(plan, present, &sold)?,
                _ => RidesRecord::default(),
            },
            digest: String::new(),
        };
        record.digest = record.terms_digest();
        Ok(record)
    }

    /// Returns the hex SHA-256 of these lines: show, version, start of validity, currency, start of
    /// the show, the prices as `name=amount;` by name, the refund rules as `until_h:fee_pct;` in
    /// their order, the exchange rule as `until_h:fee:cheaper`, the fares as
    /// `category:from:to=amount;` in their order, and the departures and the arrivals as `ms;` for
    /// each leg. A line is empty if there is nothing to write.
    fn terms_digest(&self) -> String {
        let prices = self.prices.iter();
        let prices: String = prices
            .map(|(name, amount)| format!("{name}={amount};"))
            .collect();
        let rules = self.refunds.iter();
        let rules: String = rules
            .map(|rule| format!("{}:{};", rule.until_h, rule.fee_pct))
            .collect();
        let exchange = self.exchange.map_or_else(String::new, |rule| {
            format!("{}:{}:{}", rule.until_h, rule.fee, word_of(rule.cheaper))
        });
        let (show, version, at_ms) = (&self.show, self.version, self.at_ms);
        let (currency, starts_ms) = (&self.currency, self.starts_ms);
        let text = format!(
            "{show}\n{version}\n{at_ms}\n{currency}\n{starts_ms}\n{prices}\n{rules}\n{exchange}\n{}",
            self.rides.lines()
        );
        hex::encode(Sha256::digest(text))
    }
}

fn word_of(cheaper: CheaperSeatsRule) -> &'static str {
    match cheaper {
        CheaperSeatsRule::RefundRule => "refund_rule",
        CheaperSeatsRule::Keep => "keep",
        CheaperSeatsRule::Refund => "refund",
    }
}

/// Reads a plan and a present run, and returns the fares and times of the run that was sold.
fn rides(plan: &str, present: &str, sold: &TrainRun) -> Result<RidesRecord, LedgerError> {
    let unreadable = |error: serde_json::Error| corrupt(error.to_string());
    let map: SeatMap = serde_json::from_str(plan).map_err(unreadable)?;
    let present = run_of(present).map_err(unreadable)?;
    Ok(RidesRecord::of_sold_run(&map, sold, &present))
}
