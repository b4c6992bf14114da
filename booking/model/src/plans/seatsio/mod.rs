//! Reads charts of seats.io: the chart's JSON with its rows, sections, zones, tables, booths and
//! general admission.
//!
//! - A seat's label is `Row-Seat`, or `Section-Row-Seat` in a section, or `Table-Seat` at a table.
//! - An object without a category of its own has the category of its section. A chair without one
//!   has the category of its table. The coordinates of a section's objects are relative to its
//!   `topLeft`.
//! - Objects with `published: false` are left out, because the promoter has not put them on sale.
//!   Seats with `disabledBySocialDistancingRules` are left out too, because they must stay empty.
//!   Such a seat leaves a gap, so the seats on its two sides do not count as neighbours.
//! - Tables and areas that are sold as a whole or by varying occupancy (`bookAsAWhole`,
//!   `variableOccupancy`) are refused. It would be wrong to sell them seat by seat, and it would be
//!   wrong to leave them out silently.
//! - The stage is the shape that the chart marks as its stage, and a section's outline is its
//!   polygon. A shape that cannot be drawn is left out. This is not a fault, because no sale
//!   depends on a shape.
//! - Texts, other shapes, images, icons and colours of the drawing are not read.

mod inherit;
mod objects;
mod shapes;

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{PlanFault, PlanImportResult};
use crate::plans::categories::{CategoryKeys, InheritedCategory};
use crate::plans::draft::SeatMapDraft;
use crate::plans::foreign_json::{PlanFaults, PlanObject, document, key_text, placed, quote_value};
use crate::plans::seatmap::{SectionOutline, VenueZone};
use inherit::SeatsioScope;
use shapes::{polygon_corners, read_stage};

type SeatsioObject = Map<String, Value>;

/// Reads a chart's JSON.
///
/// # Errors
/// Every fault of the chart. A text that is not JSON, or not a chart, is a single fault.
pub fn parse_seatsio(text: &str) -> PlanImportResult {
    let chart = document(text)?.unwrap_or_default();
    let Some(drawing) = chart.get("subChart").and_then(Value::as_object) else {
        let message = "This JSON is not a seats.io chart: it has no object `subChart`. Export the chart itself, not a report or an event.";
        return Err(vec![PlanFault {
            at: String::new(),
            code: "not_a_chart",
            message: message.to_owned(),
        }]);
    };

    let mut reader = SeatsioReader {
        draft: SeatMapDraft::default(),
        faults: PlanFaults::default(),
        category_keys: CategoryKeys::new("categoryKey"),
        zone_keys: HashMap::new(),
    };
    if let Some(name) = chart.get("name").and_then(Value::as_str) {
        name.clone_into(&mut reader.draft.parts.name);
    }
    reader.read_categories(&chart);
    reader.read_zones(&chart);
    let whole = PlanObject::new(None, "subChart", 0, drawing);
    let focal = whole.point("focalPoint", &mut reader.faults);
    reader.draft.parts.focal =
        focal.and_then(|at| placed(|| "focalPoint".to_owned(), at, &mut reader.faults));
    reader.draft.parts.stage = read_stage(drawing);
    reader.read_objects(drawing, None, &SeatsioScope::default());
    for (index, section) in whole.list_objects("sections", &mut reader.faults) {
        reader.read_section(&PlanObject::new(None, "sections", index, section));
    }
    reader.draft.finish(reader.faults)
}

struct SeatsioReader {
    draft: SeatMapDraft,
    faults: PlanFaults,
    category_keys: CategoryKeys,
    zone_keys: HashMap<String, u16>,
}

impl SeatsioReader {
    fn read_categories(&mut self, chart: &SeatsioObject) {
        let Some(list) = chart.get("categories").and_then(Value::as_object) else {
            return;
        };
        let object = PlanObject::new(None, "categories", 0, list);
        let list = object.list_objects("list", &mut self.faults);
        let categories = &mut self.draft.parts.categories;
        self.category_keys
            .read_list(list, categories, &mut self.faults);
    }

    fn read_zones(&mut self, chart: &SeatsioObject) {
        let Some(list) = chart.get("zones").and_then(Value::as_object) else {
            return;
        };
        let object = PlanObject::new(None, "zones", 0, list);
        for (index, zone) in object.list_objects("list", &mut self.faults) {
            let object = PlanObject::new(None, "zones", index, zone);
            let Some(key) = object.get("key").and_then(key_text) else {
                self.faults.add_fault(
                    object.path(),
                    "bad_zone",
                    "The zone has no key. Give it one.",
                );
                continue;
            };
            let label = object.label(&mut self.faults).unwrap_or(&key).to_owned();
            let focal = object.point("focalPoint", &mut self.faults);
            let focal = focal.and_then(|at| placed(|| object.path(), at, &mut self.faults));
            let Ok(number) = u16::try_from(self.draft.parts.zones.len()) else {
                self.faults.add_fault(
                    object.path(),
                    "too_many_zones",
                    "A plan has at most 65,536 zones.",
                );
                return;
            };
            if self.zone_keys.insert(key.clone(), number).is_some() {
                let message =
                    format!("The zone key {key:?} occurs twice. Every zone needs its own.");
                self.faults
                    .add_fault(object.path(), "duplicate_zone", message);
            }
            self.draft.parts.zones.push(VenueZone { key, label, focal });
        }
    }

    fn read_section(&mut self, object: &PlanObject<'_>) {
        if !object.flag("published", true, &mut self.faults) {
            return;
        }
        let label = object.label(&mut self.faults);
        let scope = SeatsioScope {
            prefix: label.map(|label| format!("{label}-")).unwrap_or_default(),
            section: label.map(|label| self.draft.section(label)),
            zone: self.resolve_zone(object, None),
            category: self.category_keys.own_or_inherited(
                object,
                InheritedCategory::None,
                &mut self.faults,
            ),
            offset: object
                .point("topLeft", &mut self.faults)
                .unwrap_or_default(),
        };
        let outline = object.get("points").and_then(polygon_corners);
        if let (Some(section), Some(points)) = (scope.section, outline) {
            let outline = SectionOutline { section, points };
            self.draft.parts.outlines.push(outline);
        }
        match object.get("subChart") {
            Some(Value::Object(drawing)) => self.read_objects(drawing, Some(object), &scope),
            Some(other) => {
                let message = format!(
                    "`subChart` is {} where an object is expected.",
                    quote_value(other)
                );
                self.faults.add_fault(object.path(), "bad_object", message);
            }
            None => {}
        }
    }
}
