//! Fares that do not depend on the distance: the fares of a GTFS feed by zone and route, and the
//! fares in the table of a `--rail` file.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use fairgate_model::counted::counted;
use fairgate_model::money::{AMOUNT_MAX, Currency};
use fairgate_model::timetables::settings::RailFile;
use fairgate_model::timetables::{Tariff, TimetableParts};

use super::RailFeedFault;
use super::draft::FeedNameIndex;
use super::table::{FeedTableLine, RailFeedFaults, each_line};

const ATTRIBUTES: &str = "fare_attributes.txt";
const RULES: &str = "fare_rules.txt";

/// The fares of a feed.
#[derive(Debug, Default)]
pub struct FeedFares {
    /// The currency of all fares.
    pub currency: Option<Currency>,
    /// The lowest price for each route, zone of origin and zone of destination. An empty name
    /// matches every route or zone.
    prices: HashMap<[String; 3], i64>,
    /// How many rules were left out because they name zones that the train passes through.
    left_out: u32,
}

impl FeedFares {
    /// Reads the fares, if the feed has any. All fares must be in `currency`. If `currency` is
    /// `None`, they must be in the currency of the first fare.
    pub fn read(
        folder: &Path,
        routes: &FeedNameIndex,
        currency: Option<Currency>,
        faults: &RailFeedFaults,
    ) -> Self {
        let mut all = Self {
            currency,
            ..Self::default()
        };
        if !folder.join(ATTRIBUTES).exists() {
            return all;
        }
        let mut fares = FeedNameIndex::default();
        let mut prices: Vec<i64> = Vec::new();
        let columns = ["fare_id", "price", "currency_type"];
        let read = each_line(folder, ATTRIBUTES, &columns, faults, |line| {
            let price = all.read_price(line);
            let at = u32::try_from(prices.len()).unwrap_or(u32::MAX);
            if let Some(id) = line.needed("fare_id")
                && fares.register_name(line, "fare", id, at)
            {
                prices.push(price.unwrap_or_default());
            }
        });
        fares.incomplete = !read;
        let mut ruled: BTreeSet<u32> = BTreeSet::new();
        if folder.join(RULES).exists() {
            each_line(folder, RULES, &["fare_id"], faults, |line| {
                let fare = line.needed("fare_id");
                let fare = fare.and_then(|id| fares.resolve_name(line, "fare", id));
                let route = line.get("route_id");
                if !route.is_empty() {
                    routes.resolve_name(line, "route", route);
                }
                let Some(fare) = fare else { return };
                ruled.insert(fare);
                if !line.get("contains_id").is_empty() {
                    all.left_out += 1;
                    return;
                }
                let key = ["route_id", "origin_id", "destination_id"];
                let key = key.map(|column| line.get(column).to_owned());
                all.record_price(key, prices[fare as usize]);
            });
        }
        for (at, price) in (0..).zip(&prices) {
            if !ruled.contains(&at) {
                all.record_price(Default::default(), *price);
            }
        }
        all
    }

    fn read_price(&mut self, line: &FeedTableLine<'_>) -> Option<i64> {
        let (price, code) = (line.needed("price")?, line.needed("currency_type")?);
        let Some(currency) = Currency::listed(code) else {
            let message =
                format!("currency_type is {code:?}; it is a currency of ISO 4217, such as EUR");
            line.fault("bad_currency", message);
            return None;
        };
        let first = *self.currency.get_or_insert(currency);
        if first != currency {
            let message = format!(
                "currency_type is {code}, but all fares must be in {}",
                first.as_str()
            );
            line.fault("bad_currency", message);
        }
        let amount = minor_units(price, currency);
        if amount.is_none() {
            let message = format!("price is {price:?}; it is an amount of {code} such as 3.75");
            line.fault("bad_number", message);
        }
        amount
    }

    fn record_price(&mut self, key: [String; 3], price: i64) {
        let known = self.prices.entry(key).or_insert(price);
        *known = price.min(*known);
    }

    /// Gives the trips their prices. Each route that has fares gets a table, and stretches without
    /// an entry in the table are not sold. The trips of other routes stay priced by distance.
    /// Returns notes for the person who imports the feed. They say what is left out, not sold, or
    /// priced by distance. `trip_routes` has the route of each trip, and `zones` has the zone of
    /// each station.
    pub fn price_trips(
        &self,
        parts: &mut TimetableParts,
        trip_routes: &[u32],
        routes: &[&str],
        zones: &[String],
    ) -> Vec<String> {
        let mut notes = Vec::new();
        if self.left_out > 0 {
            let one = format!("rule of {RULES} with a contains_id is left out");
            let many = format!("rules of {RULES} with a contains_id are left out");
            notes.push(counted(self.left_out, &one, &many));
        }
        if self.prices.is_empty() {
            notes.push(format!(
                "the feed has no fares: all trains are priced by distance, {}",
                distance_tariff(parts)
            ));
            return notes;
        }
        let mut tariffs: BTreeMap<u32, u32> = BTreeMap::new();
        for (route, pairs) in stretches_by_route(parts, trip_routes) {
            let id = routes.get(route as usize).copied().unwrap_or_default();
            let table = self.route_price_table(parts, id, &pairs, zones);
            if is_empty_table(&table) {
                notes.push(format!(
                    "route {id:?} has no fares: it is priced by distance, {}",
                    distance_tariff(parts)
                ));
                continue;
            }
            let unpriced = unpriced_stretches(&table, &pairs);
            if unpriced > 0 {
                notes.push(format!(
                    "route {id:?} has no fare for {unpriced} of {} stretches between its stations: they are not sold",
                    pairs.len()
                ));
            }
            let known = parts.tariffs.iter().position(|of| *of == table);
            let at = known.unwrap_or_else(|| {
                parts.tariffs.push(table);
                parts.tariffs.len() - 1
            });
            tariffs.insert(route, u32::try_from(at).unwrap_or_default());
        }
        for (trip, route) in parts.trips.iter_mut().zip(trip_routes) {
            trip.tariff = tariffs.get(route).copied().unwrap_or_default();
        }
        notes
    }

    fn route_price_table(
        &self,
        parts: &TimetableParts,
        route: &str,
        pairs: &BTreeSet<(u32, u32)>,
        zones: &[String],
    ) -> Tariff {
        let mut rows = Vec::new();
        for (class, at) in parts.classes.iter().zip(0_u16..) {
            for (from, to) in pairs {
                let zone = |station: u32| zones.get(station as usize).map_or("", String::as_str);
                if let Some(price) = self.lowest_price(route, zone(*from), zone(*to)) {
                    let amount = price.saturating_mul(i64::from(class.feed_pct)) / 100;
                    rows.push((at, *from, *to, amount.min(AMOUNT_MAX)));
                }
            }
        }
        Tariff::Table(rows)
    }

    fn lowest_price(&self, route: &str, from: &str, to: &str) -> Option<i64> {
        let mut lowest: Option<i64> = None;
        for route in [route, ""] {
            for from in [from, ""] {
                for to in [to, ""] {
                    let key = [route, from, to].map(ToOwned::to_owned);
                    let price = self.prices.get(&key).copied();
                    lowest = [lowest, price].into_iter().flatten().min();
                }
            }
        }
        lowest
    }
}

/// Returns, for each route, the pairs of stations between which a traveller can ride on a trip of
/// the route.
fn stretches_by_route(
    parts: &TimetableParts,
    trip_routes: &[u32],
) -> BTreeMap<u32, BTreeSet<(u32, u32)>> {
    let mut pairs: BTreeMap<u32, BTreeSet<(u32, u32)>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for (trip, route) in parts.trips.iter().zip(trip_routes) {
        if !seen.insert((*route, trip.pattern)) {
            continue;
        }
        let stops = &parts.patterns[trip.pattern as usize];
        let route_pairs = pairs.entry(*route).or_default();
        for (at, from) in stops.iter().enumerate() {
            if from.no_boarding {
                continue;
            }
            let ends = stops[at + 1..].iter().filter(|to| !to.no_alighting);
            route_pairs.extend(ends.map(|to| (from.station, to.station)));
        }
    }
    pairs
}

/// Describes the price by distance in each class.
pub fn distance_tariff(parts: &TimetableParts) -> String {
    let money = |amount: i64| parts.currency.with_amount(amount);
    let classes = parts.classes.iter().map(|class| {
        let rate = class.rate;
        // A rate counts hundredths of a minor unit for one kilometre. So the same number is the
        // price in whole minor units for a hundred kilometres.
        let hundred_km = money(rate.per_km);
        let base = match rate.base {
            0 => String::new(),
            base => format!("{} and ", money(base)),
        };
        let least = money(rate.least);
        format!(
            "{}: {base}{hundred_km} for 100 km, at least {least}",
            class.label
        )
    });
    classes.collect::<Vec<_>>().join("; ")
}

/// Counts the stretches that have no price in any class.
fn unpriced_stretches(table: &Tariff, pairs: &BTreeSet<(u32, u32)>) -> usize {
    let Tariff::Table(rows) = table else { return 0 };
    let priced: BTreeSet<(u32, u32)> = rows.iter().map(|(_, from, to, _)| (*from, *to)).collect();
    pairs.difference(&priced).count()
}

fn is_empty_table(tariff: &Tariff) -> bool {
    matches!(tariff, Tariff::Table(rows) if rows.is_empty())
}

/// Parses a price such as `3.75` into minor units of a currency, without rounding.
fn minor_units(text: &str, currency: Currency) -> Option<i64> {
    let decimals = currency.decimals();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let (minor, rest) = fraction
        .split_at_checked(decimals)
        .unwrap_or((fraction, ""));
    if whole.is_empty()
        || !is_digits(whole)
        || !is_digits(fraction)
        || rest.bytes().any(|b| b != b'0')
    {
        return None;
    }
    let amount: i64 = format!("{whole}{minor:0<decimals$}").parse().ok()?;
    (amount <= AMOUNT_MAX).then_some(amount)
}

/// Gives every trip the prices of the `--rail` file's table, if the file has one.
///
/// # Errors
/// Returns an error if a station in the table does not exist, or if the table has two prices for
/// the same stretch and class.
pub fn price_by_rail_table(
    parts: &mut TimetableParts,
    rail: &RailFile,
) -> Result<(), Vec<RailFeedFault>> {
    if rail.fare.is_empty() {
        return Ok(());
    }
    let mut codes = HashMap::new();
    for (station, at) in parts.stations.iter().zip(0_u32..) {
        codes.insert(station.code.as_str(), at);
    }
    let mut faults = Vec::new();
    let mut rows = BTreeMap::new();
    for (nth, fare) in rail.fare.iter().enumerate() {
        let mut fault = |code, message: String| {
            faults.push(RailFeedFault {
                file: String::new(),
                line: 0,
                code,
                message: format!("fare[{nth}]: {message}"),
            });
        };
        let class = rail.class.iter().position(|class| class.key == fare.class);
        let class = class.and_then(|at| u16::try_from(at).ok());
        let mut station = |code: &str| {
            let found = codes.get(code).copied();
            if found.is_none() {
                fault("dangling_stop", format!("there is no station {code:?}"));
            }
            found
        };
        let ends = (station(&fare.from), station(&fare.to));
        let (Some(class), (Some(from), Some(to))) = (class, ends) else {
            continue;
        };
        if rows.insert((class, from, to), fare.amount).is_some() {
            let message = format!("{} to {} occurs twice", fare.from, fare.to);
            fault("duplicate_id", message);
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let rows = rows
        .into_iter()
        .map(|((class, from, to), amount)| (class, from, to, amount));
    parts.tariffs = vec![Tariff::Table(rows.collect())];
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_read_without_rounding_or_refused() {
        for (text, code, expected) in [
            ("3.75", "USD", Some(375)),
            ("6", "USD", Some(600)),
            ("0.5", "EUR", Some(50)),
            ("10.500", "EUR", Some(1_050)),
            ("10.505", "EUR", None),
            ("250", "JPY", Some(250)),
            ("250.0", "JPY", Some(250)),
            ("1.234", "KWD", Some(1_234)),
            ("-1", "EUR", None),
            (".5", "EUR", None),
            ("1,5", "EUR", None),
            ("99999999999999", "EUR", None),
        ] {
            let currency = Currency::parse(code).expect("a currency");
            assert_eq!(minor_units(text, currency), expected, "{text} {code}");
        }
    }
}
