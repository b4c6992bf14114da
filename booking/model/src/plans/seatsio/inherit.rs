//! What an object of a chart has from what it stands in: category, zone, section, and where it is
//! measured from.

use serde_json::Value;

use super::SeatsioReader;
use crate::plans::reader::{PlanObject, quote_value};

/// What an object inherits from what it stands in.
#[derive(Clone, Default)]
pub struct SeatsioScope {
    /// What labels begin with, "Section A-".
    pub prefix: String,
    /// The section it stands in.
    pub section: Option<u32>,
    /// The zone it lies in.
    pub zone: Option<u16>,
    /// The category it has unless it names one.
    pub category: InheritedCategory,
    /// What its coordinates are relative to.
    pub offset: (f64, f64),
}

/// A category from outside.
#[derive(Clone, Copy, Default)]
pub enum InheritedCategory {
    /// There is none to inherit.
    #[default]
    None,
    /// There is one but it is unknown, which was told already.
    Faulty,
    /// This one.
    Is(u16),
}

impl SeatsioReader {
    /// The object's own zone, or the one it lies in.
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

    /// The object's own category, or what it passes on from outside.
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

    /// The category of what is sold; a fault where it has none.
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

/// Keys are numbers or texts; both become text.
pub fn key_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
