//! The agencies of a feed. A fare of an agency applies only to the routes of that agency.

use super::super::draft::FeedNameIndex;
use super::super::gtfs::GtfsRoutes;
use super::super::table::{FeedTableLine, RailFeedFaults, each_line};
use super::FareContext;

const AGENCIES: &str = "agency.txt";

/// The agencies of a feed, by their ids.
pub struct FeedAgencies {
    names: FeedNameIndex,
    /// How many agencies there are.
    count: u32,
    /// Whether any agency has an id. In a feed with one agency it may lack.
    named: bool,
}

impl FeedAgencies {
    pub fn read(context: &FareContext<'_>) -> Self {
        let mut agencies = Self {
            names: FeedNameIndex::default(),
            count: 0,
            named: false,
        };
        // The faults of this file's lines have been added when its time zone was read.
        let known_faults = RailFeedFaults::default();
        let read = each_line(context.folder, AGENCIES, &[], &known_faults, |line| {
            let id = line.get("agency_id");
            if !id.is_empty() && agencies.names.get(id).is_some() {
                let message = format!("there is already an agency {id:?}");
                let faults = context.faults;
                faults.add(AGENCIES, line.number, "duplicate_id", message);
                return;
            }
            agencies.names.alias(id, agencies.count, line.number);
            agencies.count += 1;
            agencies.named |= !id.is_empty();
        });
        agencies.names.incomplete = !read || !known_faults.is_empty();
        agencies
    }

    /// Returns the agency of a fare. `None` stands for any agency. Adds a fault if there is no such
    /// agency.
    pub fn of_fare(&self, line: &FeedTableLine<'_>) -> Option<u32> {
        match line.get("agency_id") {
            "" => None,
            _ if self.is_single_without_id() => Some(0),
            id => self.names.resolve_name(line, "agency", id),
        }
    }

    /// Returns the agency of each route. A route without one belongs to the feed's only agency, or
    /// to none if there are several. Adds a fault for each agency that does not exist.
    pub fn of_routes(&self, routes: &GtfsRoutes, faults: &RailFeedFaults) -> Vec<Option<u32>> {
        let agencies = routes.columns.iter().map(|route| {
            let id = route.agency.as_str();
            if self.is_single_without_id() || (id.is_empty() && self.count == 1) {
                return Some(0);
            }
            let found = Some(id).filter(|id| !id.is_empty());
            let found = found.and_then(|id| self.names.get(id));
            if found.is_none() && !id.is_empty() && !self.names.incomplete {
                let message = format!("there is no agency {id:?}");
                faults.add("routes.txt", route.line, "dangling_agency", message);
            }
            found
        });
        agencies.collect()
    }

    fn is_single_without_id(&self) -> bool {
        self.count == 1 && !self.named
    }
}
