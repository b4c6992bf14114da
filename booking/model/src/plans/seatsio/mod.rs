//! Reads plans drawn with seats.io, from the chart's JSON with rows, sections, zones, tables,
//! booths and general admission.
//!
//! - A seat's label is `Row-Seat`, in a section `Section-Row-Seat`, at a table `Table-Seat`.
//! - An object without a category of its own has its section's category, and a chair has its
//!   table's. The coordinates of a section's objects are relative to its `topLeft`.
//! - Objects with `published: false` are left out, because the promoter has not put them on sale.
//!   Seats with `disabledBySocialDistancingRules` are left out, too, because they stay empty. They
//!   leave gaps, so that the seats on both sides are not treated as neighbours, as social
//!   distancing requires.
//! - Tables and areas that are sold as a whole or by varying occupancy (`bookAsAWhole`,
//!   `variableOccupancy`) are refused. It would be wrong to sell them seat by seat, and it would be
//!   wrong to leave them out silently.
//! - Texts, shapes, images, icons and colours of the drawing are not read.

mod inherit;
mod objects;

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{PLAN_BYTES_MAX, PlanFault, PlanImportResult};
use crate::plans::draft::SeatMapDraft;
use crate::plans::foreign_json::{PlanFaults, PlanObject, placed, quote_value};
use crate::plans::seatmap::{PriceCategory, VenueZone};
use inherit::{InheritedCategory, SeatsioScope, key_text};

type SeatsioObject = Map<String, Value>;

/// Reads a chart's JSON.
///
/// # Errors
/// Every fault of the chart. A text that is no JSON, or no chart, is a single fault.
pub fn parse_seatsio(text: &str) -> PlanImportResult {
    let refuse = |at: String, code, message: String| Err(vec![PlanFault { at, code, message }]);
    if text.len() > PLAN_BYTES_MAX {
        let message = format!(
            "The plan is {} bytes long; at most {PLAN_BYTES_MAX} are read.",
            text.len()
        );
        return refuse(String::new(), "too_large", message);
    }
    let chart: Value = match serde_json::from_str(text.strip_prefix('\u{feff}').unwrap_or(text)) {
        Ok(chart) => chart,
        Err(error) => {
            let at = format!("line {} column {}", error.line(), error.column());
            return refuse(at, "malformed_json", format!("This is not JSON: {error}."));
        }
    };
    let Some((chart, drawing)) = chart
        .as_object()
        .and_then(|chart| Some((chart, chart.get("subChart")?.as_object()?)))
    else {
        let message = "This JSON is not a seats.io chart: it has no object `subChart`. Export the chart itself, not a report or an event.";
        return refuse(String::new(), "not_a_chart", message.to_owned());
    };

    let mut reading = SeatsioReader::default();
    if let Some(name) = chart.get("name").and_then(Value::as_str) {
        name.clone_into(&mut reading.draft.parts.name);
    }
    reading.categories(chart);
    reading.zones(chart);
    let whole = PlanObject::new(None, "subChart", 0, drawing);
    let focal = whole.point("focalPoint", &mut reading.faults);
    reading.draft.parts.focal =
        focal.and_then(|at| placed(|| "focalPoint".to_owned(), at, &mut reading.faults));
    reading.objects(drawing, None, &SeatsioScope::default());
    for (index, section) in whole.list_objects("sections", &mut reading.faults) {
        reading.section(&PlanObject::new(None, "sections", index, section));
    }
    reading.draft.finish(reading.faults)
}

#[derive(Default)]
struct SeatsioReader {
    draft: SeatMapDraft,
    faults: PlanFaults,
    category_keys: HashMap<String, u16>,
    zone_keys: HashMap<String, u16>,
}

impl SeatsioReader {
    fn categories(&mut self, chart: &SeatsioObject) {
        let Some(list) = chart.get("categories").and_then(Value::as_object) else {
            return;
        };
        let spot = PlanObject::new(None, "categories", 0, list);
        for (index, category) in spot.list_objects("list", &mut self.faults) {
            let spot = PlanObject::new(None, "categories", index, category);
            let Some(key) = spot.get("key").and_then(key_text) else {
                self.faults.add_fault(
                    spot.path(),
                    "bad_category",
                    "The category has no key. Give it a number or a text.",
                );
                continue;
            };
            let label = spot.label(&mut self.faults);
            let Ok(number) = u16::try_from(self.draft.parts.categories.len()) else {
                self.faults.add_fault(
                    spot.path(),
                    "too_many_categories",
                    "A plan has at most 65,536 categories.",
                );
                return;
            };
            if self.category_keys.insert(key.clone(), number).is_some() {
                let message =
                    format!("The category key {key:?} occurs twice. Every category needs its own.");
                self.faults
                    .add_fault(spot.path(), "duplicate_category", message);
            }
            let color = match spot.get("color") {
                None => "#888888",
                Some(Value::String(color)) if is_color(color) => color,
                Some(other) => {
                    let message = format!(
                        "The colour is {}; expected one like \"#87A9CD\".",
                        quote_value(other)
                    );
                    self.faults.add_fault(spot.path(), "bad_color", message);
                    continue;
                }
            };
            self.draft.parts.categories.push(PriceCategory {
                label: label.unwrap_or(&key).to_owned(),
                color: color.to_owned(),
                key,
            });
        }
    }

    fn zones(&mut self, chart: &SeatsioObject) {
        let Some(list) = chart.get("zones").and_then(Value::as_object) else {
            return;
        };
        let spot = PlanObject::new(None, "zones", 0, list);
        for (index, zone) in spot.list_objects("list", &mut self.faults) {
            let spot = PlanObject::new(None, "zones", index, zone);
            let Some(key) = spot.get("key").and_then(key_text) else {
                self.faults
                    .add_fault(spot.path(), "bad_zone", "The zone has no key. Give it one.");
                continue;
            };
            let label = spot.label(&mut self.faults).unwrap_or(&key).to_owned();
            let focal = spot.point("focalPoint", &mut self.faults);
            let focal = focal.and_then(|at| placed(|| spot.path(), at, &mut self.faults));
            let Ok(number) = u16::try_from(self.draft.parts.zones.len()) else {
                self.faults.add_fault(
                    spot.path(),
                    "too_many_zones",
                    "A plan has at most 65,536 zones.",
                );
                return;
            };
            if self.zone_keys.insert(key.clone(), number).is_some() {
                let message =
                    format!("The zone key {key:?} occurs twice. Every zone needs its own.");
                self.faults
                    .add_fault(spot.path(), "duplicate_zone", message);
            }
            self.draft.parts.zones.push(VenueZone { key, label, focal });
        }
    }

    fn section(&mut self, spot: &PlanObject<'_>) {
        if !spot.flag("published", true, &mut self.faults) {
            return;
        }
        let label = spot.label(&mut self.faults);
        let scope = SeatsioScope {
            prefix: label.map(|label| format!("{label}-")).unwrap_or_default(),
            section: label.map(|label| self.draft.section(label)),
            zone: self.resolve_zone(spot, None),
            category: self.inherited(spot, InheritedCategory::None),
            offset: spot.point("topLeft", &mut self.faults).unwrap_or_default(),
        };
        match spot.get("subChart") {
            Some(Value::Object(drawing)) => self.objects(drawing, Some(spot), &scope),
            Some(other) => {
                let message = format!(
                    "`subChart` is {} where an object is expected.",
                    quote_value(other)
                );
                self.faults.add_fault(spot.path(), "bad_object", message);
            }
            None => {}
        }
    }
}

/// Returns whether a text may be a colour in a style sheet, and contains nothing that could end the
/// declaration.
fn is_color(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "#(),.% ".contains(c);
    !text.is_empty() && text.len() <= 40 && text.chars().all(plain)
}
