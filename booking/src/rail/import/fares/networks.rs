//! The networks of a feed's routes: the column `network_id` of `routes.txt`, or `networks.txt` with
//! `route_networks.txt`.

use super::super::draft::FeedNameIndex;
use super::super::table::each_line;
use super::FareContext;

const NETWORKS: &str = "networks.txt";
const ROUTE_NETWORKS: &str = "route_networks.txt";

/// The networks, and which of them each route belongs to.
pub struct RouteNetworks {
    /// The index of each network by its id.
    pub names: FeedNameIndex,
    /// The network of each route.
    pub of_route: Vec<Option<u32>>,
}

impl RouteNetworks {
    /// Reads the networks of a feed. A route belongs to one network at most.
    pub fn read(context: &FareContext<'_>) -> Self {
        let mut names = FeedNameIndex::default();
        let mut count = 0;
        if context.is_there(NETWORKS) {
            let columns = ["network_id"];
            let read = each_line(context.folder, NETWORKS, &columns, context.faults, |line| {
                if let Some(id) = line.needed("network_id")
                    && names.register_name(line, "network", id, count)
                {
                    count += 1;
                }
            });
            names.incomplete = !read;
        }
        let of_route = context.routes.columns.iter().map(|route| {
            let id = Some(route.network.as_str()).filter(|id| !id.is_empty())?;
            let known = names.get(id);
            Some(known.unwrap_or_else(|| {
                names.alias(id, count, route.line);
                count += 1;
                count - 1
            }))
        });
        let mut networks = Self {
            of_route: of_route.collect(),
            names,
        };
        if context.is_there(ROUTE_NETWORKS) {
            networks.read_route_networks(context);
        }
        networks
    }

    fn read_route_networks(&mut self, context: &FareContext<'_>) {
        let columns = ["network_id", "route_id"];
        let faults = context.faults;
        each_line(context.folder, ROUTE_NETWORKS, &columns, faults, |line| {
            let network = line.needed("network_id");
            let network = network.and_then(|id| self.names.resolve_name(line, "network", id));
            let route = line.needed("route_id");
            let routes = &context.routes.names;
            let at = route.and_then(|id| routes.resolve_name(line, "route", id));
            let (Some(network), Some(at)) = (network, at) else {
                return;
            };
            let of_route = &mut self.of_route[at as usize];
            if of_route.is_some_and(|known| known != network) {
                let id = line.get("route_id");
                let message = format!("the route {id:?} already belongs to another network");
                line.fault("duplicate_id", message);
                return;
            }
            *of_route = Some(network);
        });
    }
}
