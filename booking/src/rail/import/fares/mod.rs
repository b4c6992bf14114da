//! Fares that do not depend on the distance: the fares of a GTFS feed, in both forms that GTFS has
//! for them, and the fares in the table of a `--rail` file.
//!
//! Fares V1 are in `fare_attributes.txt` and `fare_rules.txt`, Fares V2 in `fare_products.txt` and
//! `fare_leg_rules.txt`. Both forms are described in the
//! [GTFS reference](https://gtfs.org/documentation/schedule/reference/). Each form gives the fares
//! that apply to a ride; [`chosen`] says which one of them is sold.

mod agencies;
mod amount;
mod areas;
mod attributes;
mod chosen;
mod distance;
mod leg_rules;
mod networks;
mod products;
mod rail_table;
mod selection;
mod tables;
mod unsold;
mod zone_rules;

use std::path::Path;

use fairgate_model::money::Currency;
use fairgate_model::timetables::settings::RailFile;

pub use distance::distance_tariff;
pub use rail_table::price_by_rail_table;
pub use selection::refuse_selection;

use amount::FareCurrency;
use leg_rules::LegRules;
use selection::FareSelection;
use zone_rules::{ZoneRules, ZonesPassed};

use super::draft::FeedNameIndex;
use super::gtfs::GtfsRoutes;
use super::optional::has_table;
use super::table::RailFeedFaults;

const ATTRIBUTES: &str = "fare_attributes.txt";
const RULES: &str = "fare_rules.txt";
const PRODUCTS: &str = "fare_products.txt";
const LEG_RULES: &str = "fare_leg_rules.txt";

/// The files that only feeds with fares have. A feed that has one of them is never priced by
/// distance, because its trains have fares, whether they can be read or not.
const FARE_FILES: [&str; 6] = [
    ATTRIBUTES,
    RULES,
    PRODUCTS,
    LEG_RULES,
    "fare_leg_join_rules.txt",
    "fare_transfer_rules.txt",
];

/// A fare of the feed: the price of a ride on one train.
#[derive(Debug)]
struct FeedFare {
    /// The name that notes and the `--rail` file use: the fare's id, or the product's id, with
    /// `/` and its medium if the price is only for one.
    id: String,
    /// The price in minor units.
    amount: i64,
    /// How many changes of trains the fare allows, at most. `u32::MAX` if it allows any number.
    transfers: u32,
    /// Whether the `--rail` file lets it be sold.
    sold: bool,
}

/// The parts of a feed that its fares refer to.
pub struct FareContext<'a> {
    /// The folder of the feed's files.
    pub folder: &'a Path,
    /// The routes.
    pub routes: &'a GtfsRoutes,
    /// The stations, by their own ids and by those of their platforms.
    pub stops: &'a FeedNameIndex,
    /// The fare zone of each station. It is empty for stations outside all zones.
    pub zones: &'a [String],
    /// The faults and notes of the feed.
    pub faults: &'a RailFeedFaults,
}

impl FareContext<'_> {
    fn is_there(&self, file: &str) -> bool {
        has_table(self.folder, file)
    }
}

/// The fares of a feed.
pub struct FeedFares {
    /// The currency of all fares. `None` if neither the feed nor the `--rail` file gives one.
    pub currency: Option<Currency>,
    /// Whether the feed has any file of fares.
    has_files: bool,
    fares: Vec<FeedFare>,
    rules: FareRules,
}

/// Where the fares of a feed apply.
enum FareRules {
    /// Nowhere, because the feed has no fares that can be read.
    Nowhere,
    /// Fares V1.
    Zones(ZoneRules),
    /// Fares V2.
    Legs(LegRules),
}

/// A ride without a change, as far as fares depend on it.
struct FareRide<'a> {
    /// The index of the route.
    route: u32,
    /// The station where the ride begins.
    from: u32,
    /// The station where it ends.
    to: u32,
    /// The zones of all stations on the way, those of both ends included.
    zones: &'a ZonesPassed,
}

impl FeedFares {
    /// Reads the fares, if the feed has any. Fares V2 are read only if there is no
    /// `fare_attributes.txt`. All fares must be in the currency that the `--rail` file gives, or
    /// else in one currency.
    pub fn read(context: &FareContext<'_>, rail: &RailFile) -> Self {
        let there = FARE_FILES.into_iter();
        let there: Vec<&str> = there.filter(|file| context.is_there(file)).collect();
        let has = |file: &str| there.contains(&file);
        let mut currency = FareCurrency::new(rail.terms.currency);
        let mut selection = FareSelection::new(rail.sold_fares.as_deref());
        let has_products = has(PRODUCTS) || has(LEG_RULES);
        let (fares, rules) = if has(ATTRIBUTES) || (has(RULES) && !has_products) {
            attributes::read_fares(context, &mut currency, &mut selection)
        } else if has_products {
            products::read_fares(context, &mut currency, &mut selection)
        } else {
            (Vec::new(), FareRules::Nowhere)
        };
        note_unread_files(&there, &rules, context.faults);
        selection.report_unknown(&fares, context.faults);
        Self {
            currency: currency.known(),
            has_files: !there.is_empty(),
            fares,
            rules,
        }
    }
}

/// Adds a note about the files in `there` that were not read.
fn note_unread_files(there: &[&str], rules: &FareRules, faults: &RailFeedFaults) {
    let (read, why): (&[&str], &str) = match rules {
        FareRules::Nowhere => (&[], "no ride gets a price from it"),
        FareRules::Zones(_) => (
            &[ATTRIBUTES, RULES],
            "the fares of fare_attributes.txt are used",
        ),
        FareRules::Legs(_) => (
            &[PRODUCTS, LEG_RULES],
            "only the fares of single rides are used",
        ),
    };
    for file in there.iter().filter(|file| !read.contains(*file)) {
        faults.note(format!("{file} is not read: {why}"));
    }
}

impl FareRules {
    /// Returns whether the price of a stretch on this route may depend on the stations between its
    /// ends.
    fn depend_on_way(&self, route: u32) -> bool {
        matches!(self, Self::Zones(rules) if rules.depend_on_way(route))
    }

    /// Returns the fare zone of a station.
    fn zone(&self, station: u32) -> Option<u32> {
        match self {
            Self::Zones(rules) => rules.zone(station),
            Self::Nowhere | Self::Legs(_) => None,
        }
    }

    /// Adds the fares that apply to a ride to `found`, some of them perhaps twice.
    fn find(&self, ride: &FareRide<'_>, found: &mut Vec<u32>) {
        match self {
            Self::Nowhere => {}
            Self::Zones(rules) => rules.find(ride, found),
            Self::Legs(rules) => rules.find(ride, found),
        }
    }
}

/// Joins at most `most` names for a sentence, and says how many others there are.
fn names_in_short(names: &[String], most: usize) -> String {
    let (shown, others) = names.split_at(names.len().min(most));
    let last = match others.len() {
        0 => String::new(),
        1 => " and 1 other".to_owned(),
        count => format!(" and {count} others"),
    };
    match shown {
        [first @ .., end] if last.is_empty() && !first.is_empty() => {
            format!("{} and {end}", first.join(", "))
        }
        _ => format!("{}{last}", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_names_says_how_many_are_left_out() {
        let names = |count: usize| -> Vec<String> {
            ["a", "b", "c", "d", "e"][..count]
                .iter()
                .map(|name| (*name).to_owned())
                .collect()
        };
        for (count, expected) in [
            (1, "a"),
            (2, "a and b"),
            (3, "a, b and c"),
            (4, "a, b, c and 1 other"),
            (5, "a, b, c and 2 others"),
        ] {
            assert_eq!(names_in_short(&names(count), 3), expected);
        }
    }
}
