//! Counts what is not sold because it has no fare.

use std::collections::BTreeMap;

use fairgate_model::counted::counted;

use super::names_in_short;
use super::tables::StretchPrices;

/// How many routes have a note of their own, at most.
const NOTES_MAX: usize = 10;
/// How many routes a note names, at most.
const ROUTES_MAX: usize = 5;

/// The trips and stretches without a fare so far, by the index of their route.
#[derive(Default)]
pub struct UnsoldRides {
    /// How many trips of the route have no fare on any stretch.
    trips: BTreeMap<u32, usize>,
    /// The stretches of the route, as pairs of stations, each with whether all trains have a fare
    /// for it.
    stretches: BTreeMap<u32, BTreeMap<(u32, u32), bool>>,
}

impl UnsoldRides {
    /// Adds trips that have no fare on any stretch.
    pub fn add_trips(&mut self, route: u32, count: usize) {
        *self.trips.entry(route).or_default() += count;
    }

    /// Adds the stretches of a route, with and without prices.
    pub fn add_stretches(&mut self, route: u32, prices: &StretchPrices) {
        let stretches = self.stretches.entry(route).or_default();
        for (stretch, price) in prices {
            let sold = stretches.entry(*stretch).or_insert(true);
            *sold &= price.is_some();
        }
    }

    /// Returns the notes. `trip_count` is the number of all trips, and `routes` has the id of each
    /// route.
    pub fn notes(&self, trip_count: usize, routes: &[String]) -> Vec<String> {
        let mut notes = Vec::new();
        let unsold: usize = self.trips.values().sum();
        let id = |route: u32| routes.get(route as usize).map_or("", String::as_str);
        if unsold > 0 && unsold == trip_count {
            notes.push(
                "no trip has a fare: no departure is sold that was not sold before".to_owned(),
            );
            return notes;
        }
        if unsold > 0 {
            let ids = self.trips.keys().map(|route| format!("{:?}", id(*route)));
            let ids: Vec<String> = ids.collect();
            let are = if unsold == 1 { "is" } else { "are" };
            notes.push(format!(
                "{} no fare and {are} not sold, on {} {}",
                counted(unsold, "trip has", "trips have"),
                if ids.len() == 1 { "route" } else { "routes" },
                names_in_short(&ids, ROUTES_MAX)
            ));
        }
        let partly = self.stretches.iter().filter_map(|(route, stretches)| {
            let unsold = stretches.values().filter(|sold| !**sold).count();
            let partly = (1..stretches.len()).contains(&unsold);
            partly.then_some((*route, unsold, stretches.len()))
        });
        let partly: Vec<_> = partly.collect();
        for (route, unsold, count) in partly.iter().take(NOTES_MAX) {
            notes.push(format!(
                "route {:?} has no fare for {unsold} of {count} stretches between its stations: they are not sold",
                id(*route)
            ));
        }
        let others = partly.get(NOTES_MAX..).unwrap_or_default();
        if !others.is_empty() {
            let unsold: usize = others.iter().map(|(_, unsold, _)| unsold).sum();
            notes.push(format!(
                "{} no fare for {unsold} more stretches between their stations: they are not sold",
                counted(others.len(), "other route has", "other routes have")
            ));
        }
        notes
    }
}
