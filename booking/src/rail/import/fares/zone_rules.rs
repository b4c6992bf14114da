//! Says where the fares of Fares V1 apply: the rules of `fare_rules.txt`.
//!
//! Each rule may name a route, the zone where the ride begins, and the zone where it ends. The rows
//! of a fare that agree in these three are one rule, and their `contains_id` list the zones of that
//! rule: the ride must pass all of them, and no others. A row with nothing but a `contains_id`
//! lists a zone for every rule of its fare. A fare without rules applies everywhere.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::super::draft::FeedNameIndex;
use super::super::table::each_line;
use super::{FareContext, FareRide, FeedFare, RULES};

/// Stands for every route or zone in the key of a rule.
const ANY: u32 = u32::MAX;

/// The route, the zone of origin and the zone of destination of a rule.
type RuleKey = [u32; 3];

/// The rules of each fare while they are being read, with the zones that they list.
type DraftRules = BTreeMap<u32, BTreeMap<RuleKey, BTreeSet<u32>>>;

/// The zones of the stations that a ride passes.
#[derive(Debug, Default)]
pub struct ZonesPassed {
    /// The zones, ascending, each once.
    zones: Vec<u32>,
    /// Whether the ride also passes a station outside all zones.
    outside: bool,
}

impl ZonesPassed {
    /// Adds the zone of the next station.
    pub fn enter(&mut self, zone: Option<u32>) {
        let Some(zone) = zone else {
            self.outside = true;
            return;
        };
        if let Err(at) = self.zones.binary_search(&zone) {
            self.zones.insert(at, zone);
        }
    }
}

/// The fares of the rules that agree in their route and zones of origin and destination.
#[derive(Default)]
struct KeyFares {
    /// The fares of rides that may pass any zones.
    by_any_way: Vec<u32>,
    /// The fares of rides that must pass all of these zones, ascending, and no others.
    by_zones: HashMap<Vec<u32>, Vec<u32>>,
}

/// The rules of all fares that are sold.
pub struct ZoneRules {
    rules: HashMap<RuleKey, KeyFares>,
    /// The routes, perhaps [`ANY`], that have rules with zones to pass.
    routes_with_zones: BTreeSet<u32>,
    /// The zone of each station.
    zones: Vec<Option<u32>>,
    /// The agency of each fare. It is empty if no fare has one.
    fare_agencies: Vec<Option<u32>>,
    /// The agency of each route.
    route_agencies: Vec<Option<u32>>,
}

impl ZoneRules {
    /// Reads the rules. `names` has the fares by their ids.
    pub fn read(context: &FareContext<'_>, names: &FeedNameIndex, fares: &[FeedFare]) -> Self {
        let mut zone_ids: HashMap<String, u32> = HashMap::new();
        let mut zone_of = |name: &str| {
            let next = u32::try_from(zone_ids.len()).unwrap_or(ANY - 1);
            (!name.is_empty()).then(|| *zone_ids.entry(name.to_owned()).or_insert(next))
        };
        let zones = context.zones.iter().map(|name| zone_of(name)).collect();
        let mut drafts = DraftRules::new();
        if context.is_there(RULES) {
            each_line(
                context.folder,
                RULES,
                &["fare_id"],
                context.faults,
                |line| {
                    let fare = line.needed("fare_id");
                    let fare = fare.and_then(|id| names.resolve_name(line, "fare", id));
                    let route = Some(line.get("route_id")).filter(|id| !id.is_empty());
                    let routes = &context.routes.names;
                    let route = route.and_then(|id| routes.resolve_name(line, "route", id));
                    let Some(fare) = fare else { return };
                    let mut zone = |column| zone_of(line.get(column));
                    let ends = [zone("origin_id"), zone("destination_id")];
                    let key = [route, ends[0], ends[1]].map(|id| id.unwrap_or(ANY));
                    let rule = drafts.entry(fare).or_default().entry(key).or_default();
                    rule.extend(zone("contains_id"));
                },
            );
        }
        let sold = (0_u32..).zip(fares).filter(|(_, fare)| fare.sold);
        let mut rules = Self {
            rules: HashMap::new(),
            routes_with_zones: BTreeSet::new(),
            zones,
            fare_agencies: Vec::new(),
            route_agencies: Vec::new(),
        };
        for (fare, _) in sold {
            rules.add_fare(fare, drafts.remove(&fare).unwrap_or_default());
        }
        rules
    }

    fn add_fare(&mut self, fare: u32, mut draft: BTreeMap<RuleKey, BTreeSet<u32>>) {
        let everywhere = [ANY; 3];
        let has_zones = |zones: &BTreeSet<u32>| !zones.is_empty();
        if draft.len() > 1 && draft.get(&everywhere).is_some_and(has_zones) {
            let of_all = draft.remove(&everywhere).unwrap_or_default();
            draft.values_mut().for_each(|zones| zones.extend(&of_all));
        }
        if draft.is_empty() {
            draft.insert(everywhere, BTreeSet::new());
        }
        for (key, zones) in draft {
            let fares = self.rules.entry(key).or_default();
            if has_zones(&zones) {
                self.routes_with_zones.insert(key[0]);
                let zones = zones.into_iter().collect();
                fares.by_zones.entry(zones).or_default().push(fare);
            } else {
                fares.by_any_way.push(fare);
            }
        }
    }

    /// Lets each fare of an agency apply only to the routes of that agency.
    pub fn restrict_to_agencies(
        &mut self,
        fare_agencies: Vec<Option<u32>>,
        route_agencies: Vec<Option<u32>>,
    ) {
        self.fare_agencies = fare_agencies;
        self.route_agencies = route_agencies;
    }

    /// Returns whether the price of a stretch on this route may depend on the stations between its
    /// ends.
    pub fn depend_on_way(&self, route: u32) -> bool {
        [route, ANY]
            .iter()
            .any(|route| self.routes_with_zones.contains(route))
    }

    /// Returns the zone of a station.
    pub fn zone(&self, station: u32) -> Option<u32> {
        self.zones.get(station as usize).copied().flatten()
    }

    /// Adds the fares that apply to a ride to `found`, some of them perhaps twice.
    pub fn find(&self, ride: &FareRide<'_>, found: &mut Vec<u32>) {
        let ends = [ride.from, ride.to].map(|station| self.zone(station).unwrap_or(ANY));
        let passed = Some(&ride.zones.zones).filter(|_| !ride.zones.outside);
        for route in [ride.route, ANY] {
            for from in [ends[0], ANY] {
                for to in [ends[1], ANY] {
                    let Some(fares) = self.rules.get(&[route, from, to]) else {
                        continue;
                    };
                    let by_zones = passed.and_then(|zones| fares.by_zones.get(zones));
                    let fares = fares
                        .by_any_way
                        .iter()
                        .chain(by_zones.into_iter().flatten());
                    found.extend(fares.filter(|fare| self.is_of_agency(**fare, ride.route)));
                }
            }
        }
    }

    fn is_of_agency(&self, fare: u32, route: u32) -> bool {
        let agency = self.fare_agencies.get(fare as usize).copied().flatten();
        let of_route = self.route_agencies.get(route as usize).copied().flatten();
        agency.is_none() || agency == of_route
    }
}
