//! Reads the file that `--rail` names. It has what a timetable lacks: carriages, classes, fares,
//! and the terms of sale. Everything in it has a default, but for the currency of a GTFS feed
//! without fares.

use serde::{Deserialize, Serialize};

use crate::ids::is_slug;
use crate::money::{AMOUNT_MAX, Currency};
use crate::runs::DistanceRate;
use crate::shows::rules::{ExchangeRule, RefundRule, rule_faults};
use crate::timetables::stock::{Carriage, RollingStock, SEATS_MAX, TravelClass};

/// The terms on which every departure is sold. Times are in seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DepartureTerms {
    /// An ISO 4217 code. If it is missing, the currency is CNY for a timetable in CSV form. For
    /// GTFS it is the currency of the feed's fares; a feed without fares needs this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<Currency>,
    /// For how many days departures are on sale, today included.
    pub window_days: u32,
    /// How many seconds a hold lasts, as the buyer sees it.
    pub hold_s: u32,
    /// How many seconds the lock lasts beyond the hold.
    pub grace_s: u32,
    /// How many seconds the order's claim lasts beyond the time to pay.
    pub claim_grace_s: u32,
    /// How many seconds a buyer has to pay for an order, at least.
    pub pay_s: u32,
    /// How often a hold may be extended.
    pub extensions: u32,
    /// How many seats of one departure one visitor may hold and buy.
    pub seats_per_visitor: u32,
    /// The rules for giving tickets back; none by default. Hours are counted back from the
    /// departure at the station where the traveller gets on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refunds: Vec<RefundRule>,
    /// The rule for exchanging seats. By default there is none, and seats cannot be exchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange: Option<ExchangeRule>,
}

impl Default for DepartureTerms {
    fn default() -> Self {
        Self {
            currency: None,
            window_days: 30,
            hold_s: 300,
            grace_s: 5,
            claim_grace_s: 30,
            pay_s: 120,
            extensions: 0,
            seats_per_visitor: 5,
            refunds: Vec::new(),
            exchange: None,
        }
    }
}

/// The whole file, with defaults for what it leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RailFile {
    /// The terms on which all departures are sold.
    pub terms: DepartureTerms,
    /// The classes of travel, dearest first.
    pub class: Vec<TravelClass>,
    /// The kinds of train. A train gets the first one that names its kind, or else the first one
    /// that names no kinds.
    pub stock: Vec<RollingStock>,
    /// The table of fares. If it is not empty, only the stretches in it are sold.
    pub fare: Vec<TableFare>,
    /// The ids of the feed's fares that are sold. If it is `None`, all of them may be sold.
    pub sold_fares: Option<Vec<String>>,
    /// Whether the file has no classes, so that [`Self::class`] has the built-in ones.
    pub built_in_classes: bool,
    /// Whether the file has no stock, so that [`Self::stock`] has the built-in one.
    pub built_in_stock: bool,
}

/// One fare of the table. Both stations are given by their codes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableFare {
    /// The key of the class.
    pub class: String,
    /// The station where the traveller gets on.
    pub from: String,
    /// The station where the traveller gets off.
    pub to: String,
    /// The fare in minor units.
    pub amount: i64,
}

/// The file as it is written, before defaults are filled in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RailFileInput {
    #[serde(default)]
    terms: DepartureTerms,
    #[serde(default)]
    class: Vec<RailClassInput>,
    #[serde(default)]
    stock: Vec<RollingStock>,
    #[serde(default)]
    fare: Vec<TableFare>,
    fares: Option<SoldFaresInput>,
}

/// Which of a feed's fares are sold: ids of `fare_attributes.txt` or of `fare_products.txt`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SoldFaresInput {
    sold: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RailClassInput {
    key: String,
    label: Option<String>,
    color: Option<String>,
    #[serde(default)]
    base: i64,
    #[serde(default)]
    per_km: i64,
    #[serde(default)]
    least: i64,
    #[serde(default = "default_feed_pct")]
    feed_pct: u32,
}

const fn default_feed_pct() -> u32 {
    100
}

/// Okabe–Ito colours, which nearly everybody can tell apart.
const COLORS: [&str; 6] = [
    "#cc79a7", "#e69f00", "#0072b2", "#009e73", "#56b4e9", "#d55e00",
];

impl Default for RailFile {
    /// Returns a train of eight carriages and three classes. A second-class seat costs 0.46 a
    /// kilometre, and at least 4.60.
    fn default() -> Self {
        let class = |at: usize, key: &str, label: &str, per_km, feed_pct| TravelClass {
            key: key.to_owned(),
            label: label.to_owned(),
            color: COLORS[at].to_owned(),
            rate: DistanceRate {
                base: 0,
                per_km,
                least: per_km / 10,
            },
            feed_pct,
        };
        let carriage = |class: &str, rows, seats: &str, count| Carriage {
            class: class.to_owned(),
            rows,
            seats: seats.to_owned(),
            count,
        };
        Self {
            terms: DepartureTerms::default(),
            class: vec![
                class(0, "business", "Business class", 14_500, 300),
                class(1, "first", "First class", 7_400, 160),
                class(2, "second", "Second class", 4_600, 100),
            ],
            stock: vec![RollingStock {
                id: "standard".to_owned(),
                kinds: Vec::new(),
                carriages: vec![
                    carriage("business", 8, "A CF", 1),
                    carriage("first", 13, "AC DF", 1),
                    carriage("second", 17, "ABC DF", 6),
                ],
            }],
            fare: Vec::new(),
            sold_fares: None,
            built_in_classes: true,
            built_in_stock: true,
        }
    }
}

impl RailFile {
    /// Reads the file. Terms that are left out have their defaults. Classes and stock have defaults
    /// only if they are left out entirely.
    ///
    /// # Errors
    /// Every fault, each with its position in the file.
    pub fn parse(text: &str) -> Result<Self, Vec<String>> {
        let written: RailFileInput =
            toml::from_str(text).map_err(|error| vec![error.to_string().trim_end().to_owned()])?;
        let default = Self::default();
        let (built_in_classes, built_in_stock) =
            (written.class.is_empty(), written.stock.is_empty());
        let class = if built_in_classes {
            default.class
        } else {
            let classes = written.class.into_iter().zip(COLORS.iter().cycle());
            classes
                .map(|(class, color)| class.into_class(color))
                .collect()
        };
        let stock = if built_in_stock {
            default.stock
        } else {
            written.stock
        };
        let file = Self {
            terms: written.terms,
            class,
            stock,
            fare: written.fare,
            sold_fares: written.fares.map(|fares| fares.sold),
            built_in_classes,
            built_in_stock,
        };
        let faults = file.faults();
        if faults.is_empty() {
            Ok(file)
        } else {
            Err(faults)
        }
    }

    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let terms = &self.terms;
        for (field, value, least, most) in [
            ("window_days", terms.window_days, 1, 400),
            ("hold_s", terms.hold_s, 1, 86_400),
            ("grace_s", terms.grace_s, 0, 600),
            ("claim_grace_s", terms.claim_grace_s, 0, 3_600),
            ("pay_s", terms.pay_s, 1, 86_400),
            ("extensions", terms.extensions, 0, 100),
            ("seats_per_visitor", terms.seats_per_visitor, 1, 1_000),
        ] {
            if !(least..=most).contains(&value) {
                faults.push(format!(
                    "terms.{field}: {value} is not between {least} and {most}"
                ));
            }
        }
        if let Some(currency) = terms.currency.filter(|currency| !currency.is_listed()) {
            let code = currency.as_str();
            faults.push(format!(
                "terms.currency: {code:?} is no currency of ISO 4217"
            ));
        }
        for (field, detail) in rule_faults(&terms.refunds, terms.exchange.as_ref()) {
            faults.push(format!("terms.{field}: {detail}"));
        }
        self.class_faults(&mut faults);
        self.stock_faults(&mut faults);
        self.sold_fares_faults(&mut faults);
        for (at, fare) in self.fare.iter().enumerate() {
            if !self.class.iter().any(|class| class.key == fare.class) {
                faults.push(format!(
                    "fare[{at}].class: there is no class {:?}",
                    fare.class
                ));
            }
            if !(0..=AMOUNT_MAX).contains(&fare.amount) {
                faults.push(format!(
                    "fare[{at}].amount: {} is not between 0 and {AMOUNT_MAX} minor units",
                    fare.amount
                ));
            }
        }
        faults
    }

    fn sold_fares_faults(&self, faults: &mut Vec<String>) {
        let Some(sold) = &self.sold_fares else {
            return;
        };
        if sold.is_empty() {
            faults.push("fares.sold: it names no fare, so nothing would be sold".to_owned());
        }
        for (at, id) in sold.iter().enumerate() {
            if sold[..at].contains(id) {
                faults.push(format!("fares.sold[{at}]: {id:?} occurs twice"));
            }
        }
        if !self.fare.is_empty() {
            faults.push(
                "fares.sold: no fare of the feed is sold where there is a table of [[fare]]"
                    .to_owned(),
            );
        }
    }

    fn class_faults(&self, faults: &mut Vec<String>) {
        if self.class.len() > 20 {
            faults.push("class: a train has at most 20 classes".to_owned());
        }
        for (at, class) in self.class.iter().enumerate() {
            if !is_slug(&class.key) {
                faults.push(format!(
                    "class[{at}].key: {:?} is not 1 to 64 characters from a-z, 0-9 and \"-\"",
                    class.key
                ));
            }
            if self.class[..at].iter().any(|other| other.key == class.key) {
                faults.push(format!("class[{at}].key: {:?} occurs twice", class.key));
            }
            let rate = class.rate;
            for (field, amount) in [
                ("base", rate.base),
                ("per_km", rate.per_km),
                ("least", rate.least),
            ] {
                if !(0..=AMOUNT_MAX).contains(&amount) {
                    faults.push(format!(
                        "class[{at}].{field}: {amount} is not between 0 and {AMOUNT_MAX}"
                    ));
                }
            }
            if class.feed_pct > 10_000 {
                faults.push(format!("class[{at}].feed_pct: more than 10000 per cent"));
            }
        }
    }

    fn stock_faults(&self, faults: &mut Vec<String>) {
        if !self.stock.iter().any(|stock| stock.kinds.is_empty()) {
            faults.push(
                "stock: one must have no kinds; it is used for the trains of all other kinds"
                    .to_owned(),
            );
        }
        for (at, stock) in self.stock.iter().enumerate() {
            if !is_slug(&stock.id) || stock.id.len() > 50 {
                faults.push(format!(
                    "stock[{at}].id: {:?} is not 1 to 50 characters from a-z, 0-9 and \"-\"",
                    stock.id
                ));
            }
            if self.stock[..at].iter().any(|other| other.id == stock.id) {
                faults.push(format!("stock[{at}].id: {:?} occurs twice", stock.id));
            }
            for (nth, carriage) in stock.carriages.iter().enumerate() {
                if !self.class.iter().any(|class| class.key == carriage.class) {
                    faults.push(format!(
                        "stock[{at}].carriages[{nth}].class: there is no class {:?}",
                        carriage.class
                    ));
                }
                let letters = carriage.seats.chars().filter(|letter| *letter != ' ');
                let mut letters: Vec<char> = letters.collect();
                let all = letters.len();
                let odd = letters.iter().any(|letter| !letter.is_ascii_alphanumeric());
                letters.sort_unstable();
                letters.dedup();
                if odd || letters.len() < all {
                    faults.push(format!(
                        "stock[{at}].carriages[{nth}].seats: {:?} must have one letter for each seat, each letter once, and spaces for aisles",
                        carriage.seats
                    ));
                }
            }
            if !(1..=SEATS_MAX).contains(&stock.seat_count()) {
                faults.push(format!(
                    "stock[{at}]: {} seats; a train has 1 to {SEATS_MAX}",
                    stock.seat_count()
                ));
            }
        }
    }
}

impl RailClassInput {
    fn into_class(self, color: &str) -> TravelClass {
        TravelClass {
            label: self.label.unwrap_or_else(|| self.key.clone()),
            key: self.key,
            color: self.color.unwrap_or_else(|| color.to_owned()),
            rate: DistanceRate {
                base: self.base,
                per_km: self.per_km,
                least: self.least,
            },
            feed_pct: self.feed_pct,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_is_the_default() {
        assert_eq!(RailFile::parse(""), Ok(RailFile::default()));
    }

    #[test]
    fn values_in_the_file_replace_the_defaults() {
        let text = r#"
            fare = [{ class = "one", from = "A", to = "B", amount = 975 }]
            [terms]
            currency = "USD"
            window_days = 7
            refunds = [{ until_h = 24, fee_pct = 5 }]
            [[class]]
            key = "one"
            per_km = 100
            [[stock]]
            id = "bus"
            carriages = [{ class = "one", rows = 10, seats = "AB CD" }]
        "#;
        let file = RailFile::parse(text).expect("valid");
        assert_eq!(file.terms.window_days, 7);
        assert_eq!(
            (file.terms.refunds[0].until_h, file.terms.refunds[0].fee_pct),
            (24, 5)
        );
        assert_eq!(file.terms.currency, Currency::parse("USD"));
        assert_eq!(file.stock[0].seat_count(), 40);
        assert_eq!(file.stock[0].capacity("one"), 40);
        assert_eq!(file.fare[0].amount, 975);
    }

    #[test]
    fn every_fault_is_reported_with_its_position() {
        let text = r#"
            fare = [{ class = "gold", from = "A", to = "B", amount = -1 }]
            [terms]
            window_days = 0
            refunds = [{ until_h = 2, fee_pct = 101 }, { until_h = 2, fee_pct = 5 }]
            [[class]]
            key = "One"
            [[stock]]
            id = "bus"
            kinds = ["3"]
            carriages = [{ class = "gold", rows = 1000, seats = "AAB C", count = 10 }]
            [fares]
            sold = ["adult", "child", "adult"]
        "#;
        let told = RailFile::parse(text).expect_err("faulty").join("\n");
        for part in [
            "fare[0].class",
            "fare[0].amount",
            "terms.window_days",
            "terms.refunds.0.fee_pct",
            "terms.refunds.1.until_h",
            "class[0].key",
            "stock: one must have no kinds",
            "stock[0].carriages[0].class",
            "stock[0].carriages[0].seats",
            "stock[0]: 40000 seats",
            "fares.sold[2]: \"adult\" occurs twice",
            "fares.sold: no fare of the feed",
        ] {
            assert!(told.contains(part), "{part} is missing in:\n{told}");
        }
        let told = RailFile::parse("[fares]\nsold = []").expect_err("nothing is sold");
        assert!(told[0].contains("fares.sold: it names no fare"), "{told:?}");
        let told = RailFile::parse("colour = 1").expect_err("unknown");
        assert!(told[0].contains("colour"), "{told:?}");
    }
}
