//! What an object of a chart inherits from the objects around it: its category, zone and section,
//! the beginning of its label, and the origin of its coordinates.

use super::SeatsioReader;
use crate::plans::categories::InheritedCategory;
use crate::plans::foreign_json::{PlanObject, key_text, quote_value};

/// What an object inherits from the objects around it.
#[derive(Clone, Default)]
pub struct SeatsioScope {
    /// The text with which labels begin, such as "Section A-".
    pub prefix: String,
    /// The section that the object is in.
    pub section: Option<u32>,
    /// The zone that the object is in.
    pub zone: Option<u16>,
    /// The category of an object that names none.
    pub category: InheritedCategory,
    /// The point that the object's coordinates are relative to.
    pub offset: (f64, f64),
}

impl SeatsioReader {
    /// Returns the object's own zone or, if the object names none, the inherited one. Adds a fault
    /// if the zone is unknown.
    pub fn resolve_zone(&mut self, object: &PlanObject<'_>, outer: Option<u16>) -> Option<u16> {
        let Some(key) = object.get("zone") else {
            return outer;
        };
        let found = key_text(key).and_then(|key| self.zone_keys.get(&key).copied());
        if found.is_none() {
            let message = format!(
                "The zone is {}, which the chart's list of zones does not have.",
                quote_value(key)
            );
            self.faults
                .add_fault(object.path(), "unknown_zone", message);
        }
        found
    }
}
