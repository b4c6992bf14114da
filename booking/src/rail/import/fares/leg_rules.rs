//! Says where the products of Fares V2 apply: the rules of `fare_leg_rules.txt`.
//!
//! Each rule may name the network of the route, the area where the ride begins, and the area where
//! it ends. How rules are matched follows the
//! [GTFS reference](https://gtfs.org/documentation/schedule/reference/#fare_leg_rulestxt): in a
//! file without the column `rule_priority`, an empty value matches only what no rule of the file
//! names in this column. In a file with that column, an empty value matches everything, and of the
//! rules that match, those with the highest priority count.

use std::collections::{BTreeSet, HashMap};

use fairgate_model::counted::counted;

use super::super::draft::FeedNameIndex;
use super::super::table::{FeedTableLine, each_line};
use super::super::value::integer_column;
use super::areas::StationAreas;
use super::networks::RouteNetworks;
use super::products::FareProducts;
use super::{FareContext, FareRide, LEG_RULES};

/// Stands for an empty value in the key of a rule.
const ANY: u32 = u32::MAX;

/// The columns that together may not be the same in two rules.
const KEY_COLUMNS: [&str; 6] = [
    "network_id",
    "from_area_id",
    "to_area_id",
    "from_timeframe_group_id",
    "to_timeframe_group_id",
    "fare_product_id",
];

/// A rule, without the network and the areas that it names.
struct LegRule {
    priority: u32,
    /// The prices of its product.
    prices: Vec<u32>,
}

/// The rules of a feed.
#[derive(Default)]
pub struct LegRules {
    /// The rules by network, area of origin and area of destination, each perhaps [`ANY`].
    rules: HashMap<[u32; 3], Vec<LegRule>>,
    /// For each route, which networks the rules that match it may name.
    networks: Vec<Vec<u32>>,
    /// For each station where a ride begins, which areas of origin the rules that match it may
    /// name.
    origins: Vec<Vec<u32>>,
    /// The same for the area of destination.
    destinations: Vec<Vec<u32>>,
}

impl LegRules {
    /// Reads the rules, and the networks and areas that they name.
    pub fn read(context: &FareContext<'_>, products: &FareProducts) -> Self {
        let networks = RouteNetworks::read(context);
        let areas = StationAreas::read(context);
        let mut reader = LegRuleReader::default();
        let columns = ["fare_product_id"];
        each_line(
            context.folder,
            LEG_RULES,
            &columns,
            context.faults,
            |line| reader.read_line(line, products, &networks.names, &areas.names),
        );
        if reader.of_timeframes > 0 {
            context.faults.note(format!(
                "{LEG_RULES}: {} left out, because from_timeframe_group_id and \
                 to_timeframe_group_id are not read",
                counted(reader.of_timeframes, "rule is", "rules are")
            ));
        }
        let [of_network, of_origin, of_destination] = &reader.named;
        let matching = |names: &[u32], named: &BTreeSet<u32>| {
            let mut keys: Vec<u32> = names
                .iter()
                .copied()
                .filter(|id| named.contains(id))
                .collect();
            if keys.is_empty() || reader.has_priorities {
                keys.push(ANY);
            }
            keys
        };
        let routes = networks.of_route.iter();
        let of_stations = |named| {
            let stations = areas.of_station.iter();
            stations.map(|areas| matching(areas, named)).collect()
        };
        Self {
            networks: routes
                .map(|network| matching(network.as_slice(), of_network))
                .collect(),
            origins: of_stations(of_origin),
            destinations: of_stations(of_destination),
            rules: reader.rules,
        }
    }

    /// Adds the fares that apply to a ride to `found`, some of them perhaps twice.
    pub fn find(&self, ride: &FareRide<'_>, found: &mut Vec<u32>) {
        let begin = found.len();
        let mut highest = 0;
        for network in keys_at(&self.networks, ride.route) {
            for from in keys_at(&self.origins, ride.from) {
                for to in keys_at(&self.destinations, ride.to) {
                    let rules = self.rules.get(&[*network, *from, *to]);
                    for rule in rules.into_iter().flatten() {
                        if rule.priority > highest {
                            highest = rule.priority;
                            found.truncate(begin);
                        }
                        if rule.priority == highest {
                            found.extend(&rule.prices);
                        }
                    }
                }
            }
        }
    }
}

fn keys_at(keys: &[Vec<u32>], at: u32) -> &[u32] {
    keys.get(at as usize).map_or(&[], Vec::as_slice)
}

/// The rules that were read so far.
#[derive(Default)]
struct LegRuleReader {
    rules: HashMap<[u32; 3], Vec<LegRule>>,
    /// The networks, the areas of origin and the areas of destination that any rule names.
    named: [BTreeSet<u32>; 3],
    has_priorities: bool,
    /// The line of each rule, by [`KEY_COLUMNS`].
    seen: HashMap<[String; 6], u64>,
    /// How many rules were left out because they hold only at certain times.
    of_timeframes: u32,
}

impl LegRuleReader {
    fn read_line(
        &mut self,
        line: &FeedTableLine<'_>,
        products: &FareProducts,
        networks: &FeedNameIndex,
        areas: &FeedNameIndex,
    ) {
        let product = line.needed("fare_product_id");
        let product = product.and_then(|id| products.names.resolve_name(line, "fare product", id));
        let named = |column: &str, kind: &'static str, names: &FeedNameIndex| match line.get(column)
        {
            "" => Some(ANY),
            id => names.resolve_name(line, kind, id),
        };
        let key = [
            named("network_id", "network", networks),
            named("from_area_id", "area", areas),
            named("to_area_id", "area", areas),
        ];
        self.has_priorities |= line.has_column("rule_priority");
        let priority = match line.get("rule_priority") {
            "" => Some(0),
            _ => integer_column(line, "rule_priority"),
        };
        let columns = KEY_COLUMNS.map(|column| line.get(column).to_owned());
        let [.., from_time, to_time, _] = &columns;
        let of_timeframe = !from_time.is_empty() || !to_time.is_empty();
        if let Some(first) = self.seen.insert(columns, line.number) {
            let message = format!("the rule is already in line {first}");
            line.fault("duplicate_id", message);
            return;
        }
        for (named, id) in self.named.iter_mut().zip(key) {
            named.extend(id.filter(|id| *id != ANY));
        }
        // Such a rule gives no price, but it still says which networks and areas have rules of
        // their own.
        if of_timeframe {
            self.of_timeframes += 1;
            return;
        }
        if let (Some(product), [Some(network), Some(from), Some(to)], Some(priority)) =
            (product, key, priority)
        {
            let rule = LegRule {
                priority,
                prices: products.prices[product as usize].clone(),
            };
            self.rules
                .entry([network, from, to])
                .or_default()
                .push(rule);
        }
    }
}
