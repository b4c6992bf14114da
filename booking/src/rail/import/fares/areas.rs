//! The areas of a feed's stations: `areas.txt` and `stop_areas.txt`.

use fairgate_model::counted::counted;

use super::super::draft::FeedNameIndex;
use super::super::table::each_line;
use super::FareContext;

const AREAS: &str = "areas.txt";
const STOP_AREAS: &str = "stop_areas.txt";

/// The areas, and which of them each station belongs to.
pub struct StationAreas {
    /// The index of each area by its id.
    pub names: FeedNameIndex,
    /// The areas of each station: its own and those of its platforms.
    pub of_station: Vec<Vec<u32>>,
}

impl StationAreas {
    /// Reads the areas of a feed. A station may belong to several areas, or to none.
    pub fn read(context: &FareContext<'_>) -> Self {
        let mut names = FeedNameIndex::default();
        let mut count = 0;
        if context.is_there(AREAS) {
            let columns = ["area_id"];
            let read = each_line(context.folder, AREAS, &columns, context.faults, |line| {
                if let Some(id) = line.needed("area_id")
                    && names.register_name(line, "area", id, count)
                {
                    count += 1;
                }
            });
            names.incomplete = !read;
        }
        let mut areas = Self {
            names,
            of_station: vec![Vec::new(); context.zones.len()],
        };
        if context.is_there(STOP_AREAS) {
            areas.read_stop_areas(context);
        }
        areas
    }

    fn read_stop_areas(&mut self, context: &FareContext<'_>) {
        let columns = ["area_id", "stop_id"];
        let faults = context.faults;
        let mut others = 0_u32;
        each_line(context.folder, STOP_AREAS, &columns, faults, |line| {
            let area = line.needed("area_id");
            let area = area.and_then(|id| self.names.resolve_name(line, "area", id));
            let (Some(area), Some(stop)) = (area, line.needed("stop_id")) else {
                return;
            };
            // The importer knows no entrances and boarding areas, so this is not a fault.
            let Some(station) = context.stops.get(stop) else {
                others += 1;
                return;
            };
            let areas = &mut self.of_station[station as usize];
            if !areas.contains(&area) {
                areas.push(area);
            }
        });
        if others > 0 && !context.stops.incomplete {
            faults.note(format!(
                "{STOP_AREAS}: {} left out, with a stop_id that no station or platform has",
                counted(others, "line is", "lines are")
            ));
        }
    }
}
