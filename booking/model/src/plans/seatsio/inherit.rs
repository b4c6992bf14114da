//! Finds what an object of a chart inherits from the objects around it: category, zone, section,
//! the beginning of its label, and the origin of its coordinates.

use serde_json::Value;

use super::SeatsioReader;
use crate::plans::foreign_json::{PlanObject, quote_value};

/// What an object inherits from the objects around it.
#[derive(Clone, Default)]
pub struct SeatsioScope {
    /// The text with which labels begin, such as "Section A-".
    pub prefix: String,
    /// The section that the object is in.
    pub section: Option<u32>,
    /// The zone that the object is in.
    pub zone: Option<u16>,
    /// The category that the object has unless it names one.
    pub category: InheritedCategory,
    /// The point that the object's coordinates are relative to.
    pub offset: (f64, f64),
}

/// A category that an object inherits.
#[derive(Clone, Copy, Default)]
pub enum InheritedCategory {
    /// There is none to inherit.
    #[default]
    None,
    /// There is a category to inherit but it is unknown. The fault was added already.
    Faulty,
    /// The index of the inherited category.
    Is(u16),
}

impl SeatsioReader {
    /// Returns the object's own zone or, if it names none, the zone of the object around it. Adds a
    /// fault if the zone is unknown.
    pub fn resolve_zone(&mut self, spot: &PlanObject<'_>, outer: Option<u16>) -> Option<u16> {
        let Some(key) = spot.get("zone") else {
            return outer;
        };
        let found = key_text(key).and_then(|key| self.zone_keys.get(&key).copied());
        if found.is_none() {
            let message = format!(
                "The zone is {}, which the chart's list of zones does not have.",
                quote_value(key)
            );
            self.faults.add_fault(spot.path(), "unknown_zone", message);
        }
        found
    }

    /// Returns the object's own category or, if it names none, the category that it inherits. Adds
    /// a fault if the category is unknown.
    pub fn inherited(
        &mut self,
        spot: &PlanObject<'_>,
        outer: InheritedCategory,
    ) -> InheritedCategory {
        let Some(key) = spot.get("categoryKey") else {
            return outer;
        };
        if let Some(known) = key_text(key).and_then(|key| self.category_keys.get(&key)) {
            return InheritedCategory::Is(*known);
        }
        let message = format!(
            "`categoryKey` is {}, which the chart's list of categories does not have.",
            quote_value(key)
        );
        self.faults
            .add_fault(spot.path(), "unknown_category", message);
        InheritedCategory::Faulty
    }

    /// Returns the category of something that is sold. Adds a fault if it has none.
    pub fn category(&mut self, spot: &PlanObject<'_>, outer: InheritedCategory) -> Option<u16> {
        match self.inherited(spot, outer) {
            InheritedCategory::Is(category) => Some(category),
            InheritedCategory::Faulty => None,
            InheritedCategory::None => {
                let message = "It has no category, so it can have no price. Give it one, or give one to its section.";
                self.faults.add_fault(spot.path(), "no_category", message);
                None
            }
        }
    }
}

/// Returns a key as text. In charts, keys are numbers or texts.
pub fn key_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
