//! Gives the trips of a feed their prices: a table of stretches for each route.

use std::collections::{BTreeMap, HashMap};

use fairgate_model::money::{AMOUNT_MAX, Currency};
use fairgate_model::timetables::{Tariff, TimetableParts};

use super::chosen::FareChoice;
use super::distance::distance_tariff;
use super::unsold::UnsoldRides;
use super::zone_rules::ZonesPassed;
use super::{FareRide, FeedFares};

/// The note of an import where no price can be known.
const NO_CURRENCY: &str = "the feed has no fares, and nobody gave a currency: nothing of this \
    timetable is sold; to price all trains by distance, write currency = \"EUR\", or another code \
    of ISO 4217, under [terms] in a file, and name the file with --rail";

/// The price of each stretch between two stations, in minor units. `None` if the stretch has no
/// fare.
pub type StretchPrices = BTreeMap<(u32, u32), Option<i64>>;

/// The calls of a trip, as far as fares depend on them. Trips that differ only in their times have
/// the same shape, and are priced once.
type TripShape = Vec<ShapeCall>;

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct ShapeCall {
    station: u32,
    no_boarding: bool,
    no_alighting: bool,
}

/// Prices that do not contradict each other, with the indices of the trips that have them.
type PriceGroup = (StretchPrices, Vec<usize>);

impl FeedFares {
    /// Gives the trips their prices, if the feed has files of fares. Stretches without a fare are
    /// not sold. The trips of a feed without such files stay priced by distance, or are not sold if
    /// nobody gave a currency. Returns notes for the person who imports the feed. They say what is
    /// not sold or priced by distance, and where there was more than one fare. `trip_routes` has
    /// the route of each trip, and `routes` has the id of each route.
    pub fn price_trips(
        &self,
        parts: &mut TimetableParts,
        trip_routes: &[u32],
        routes: &[String],
    ) -> Vec<String> {
        if !self.has_files && parts.currency == Currency::NONE {
            parts.tariffs = vec![Tariff::Table(Vec::new())];
            return vec![NO_CURRENCY.to_owned()];
        }
        if !self.has_files {
            return vec![format!(
                "the feed has no fares: all trains are priced by distance, {}",
                distance_tariff(parts)
            )];
        }
        let mut choice = FareChoice::new(&self.fares);
        let mut unsold = UnsoldRides::default();
        let mut tables = PriceTables::default();
        for (route, shapes) in shapes_by_route(parts, trip_routes) {
            let mut groups: Vec<PriceGroup> = Vec::new();
            for (shape, trips) in shapes {
                // Where the way does not matter, all shapes are in one group, whose prices count.
                let known = groups.first().map(|(prices, _)| prices);
                let known = known.filter(|_| !self.rules.depend_on_way(route));
                let prices = self.price_shape(route, &shape, known, &mut choice);
                if !prices.is_empty() && prices.values().all(Option::is_none) {
                    unsold.add_trips(route, trips.len());
                }
                unsold.add_stretches(route, &prices);
                add_to_group(&mut groups, prices, trips);
            }
            for (prices, trips) in groups {
                let tariff = tables.tariff(parts, &prices);
                trips.iter().for_each(|at| parts.trips[*at].tariff = tariff);
            }
        }
        let mut notes = choice.notes(parts);
        notes.extend(unsold.notes(parts.trips.len(), routes));
        notes
    }

    /// Returns the prices of all stretches of a shape. `known` has the prices of stretches that
    /// need not be found again.
    fn price_shape(
        &self,
        route: u32,
        shape: &[ShapeCall],
        known: Option<&StretchPrices>,
        choice: &mut FareChoice<'_>,
    ) -> StretchPrices {
        let mut prices = StretchPrices::new();
        let mut found = Vec::new();
        for (at, start) in shape.iter().enumerate() {
            if start.no_boarding {
                continue;
            }
            let mut zones = ZonesPassed::default();
            zones.enter(self.rules.zone(start.station));
            for end in &shape[at + 1..] {
                zones.enter(self.rules.zone(end.station));
                if end.no_alighting {
                    continue;
                }
                let stretch = (start.station, end.station);
                let price = known.and_then(|known| known.get(&stretch)).copied();
                let price = price.unwrap_or_else(|| {
                    let ride = FareRide {
                        route,
                        from: stretch.0,
                        to: stretch.1,
                        zones: &zones,
                    };
                    found.clear();
                    self.rules.find(&ride, &mut found);
                    choice.choose(&mut found, stretch)
                });
                // A train may go from one station to another in two ways. The table has one price
                // for both, so it is the higher one, and none if one way has none.
                let entry = prices.entry(stretch);
                entry
                    .and_modify(|other| *other = other.zip(price).map(|(a, b)| a.max(b)))
                    .or_insert(price);
            }
        }
        prices
    }
}

/// Adds the prices of some trips to the first group that they do not contradict.
fn add_to_group(groups: &mut Vec<PriceGroup>, prices: StretchPrices, trips: Vec<usize>) {
    let agrees = |(known, _): &&mut PriceGroup| {
        let agrees = |(stretch, price)| known.get(stretch).is_none_or(|known| known == price);
        prices.iter().all(agrees)
    };
    match groups.iter_mut().find(agrees) {
        Some((known, of_group)) => {
            known.extend(prices);
            of_group.extend(trips);
        }
        None => groups.push((prices, trips)),
    }
}

/// Returns the shapes of each route, with the indices of their trips.
fn shapes_by_route(
    parts: &TimetableParts,
    trip_routes: &[u32],
) -> BTreeMap<u32, BTreeMap<TripShape, Vec<usize>>> {
    let mut shapes: BTreeMap<u32, BTreeMap<TripShape, Vec<usize>>> = BTreeMap::new();
    for (at, (trip, route)) in parts.trips.iter().zip(trip_routes).enumerate() {
        let calls = parts.patterns[trip.pattern as usize].iter();
        let shape = calls.map(|stop| ShapeCall {
            station: stop.station,
            no_boarding: stop.no_boarding,
            no_alighting: stop.no_alighting,
        });
        let of_route = shapes.entry(*route).or_default();
        of_route.entry(shape.collect()).or_default().push(at);
    }
    shapes
}

/// The tables so far, so that routes with the same prices share one.
#[derive(Default)]
struct PriceTables {
    tariffs: HashMap<Vec<(u32, u32, i64)>, u32>,
}

impl PriceTables {
    /// Returns the index of the table with these prices. Each class costs its share of them.
    fn tariff(&mut self, parts: &mut TimetableParts, prices: &StretchPrices) -> u32 {
        let priced = prices.iter();
        let priced = priced.filter_map(|((from, to), price)| Some((*from, *to, (*price)?)));
        let priced: Vec<(u32, u32, i64)> = priced.collect();
        if let Some(known) = self.tariffs.get(&priced) {
            return *known;
        }
        let mut rows = Vec::with_capacity(priced.len() * parts.classes.len());
        for (class, at) in parts.classes.iter().zip(0_u16..) {
            rows.extend(priced.iter().map(|(from, to, price)| {
                let amount = price.saturating_mul(i64::from(class.feed_pct)) / 100;
                (at, *from, *to, amount.min(AMOUNT_MAX))
            }));
        }
        let tariff = u32::try_from(parts.tariffs.len()).unwrap_or(u32::MAX);
        parts.tariffs.push(Tariff::Table(rows));
        self.tariffs.insert(priced, tariff);
        tariff
    }
}
