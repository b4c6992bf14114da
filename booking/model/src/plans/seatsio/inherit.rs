//! What an object of a chart has from what it stands in: category, zone, section, and where it is
//! measured from.

use serde_json::Value;

use super::Reading;
use crate::plans::reader::{Spot, shown};

/// What an object inherits from what it stands in.
#[derive(Clone, Default)]
pub struct Scope {
    /// What labels begin with, "Section A-".
    pub prefix: String,
    /// The section it stands in.
    pub section: Option<u32>,
    /// The zone it lies in.
    pub zone: Option<u16>,
    /// The category it has unless it names one.
    pub category: Inherited,
    /// What its coordinates are relative to.
    pub offset: (f64, f64),
}

/// A category from outside.
#[derive(Clone, Copy, Default)]
pub enum Inherited {
    /// There is none to inherit.
    #[default]
    None,
    /// There is one but it is unknown, which was told already.
    Faulty,
    /// This one.
    Is(u16),
}

impl Reading {
    /// The object's own zone, or the one it lies in.
    pub fn zone(&mut self, spot: &Spot<'_>, outer: Option<u16>) -> Option<u16> {
        let Some(key) = spot.get("zone") else {
            return outer;
        };
        let found = key_text(key).and_then(|key| self.zone_keys.get(&key).copied());
        if found.is_none() {
            let message = format!(
                "The zone is {}, which the chart's list of zones does not have.",
                shown(key)
            );
            self.faults.add(spot.path(), "unknown_zone", message);
        }
        found
    }

    /// The object's own category, or what it passes on from outside.
    pub fn inherited(&mut self, spot: &Spot<'_>, outer: Inherited) -> Inherited {
        let Some(key) = spot.get("categoryKey") else {
            return outer;
        };
        if let Some(known) = key_text(key).and_then(|key| self.category_keys.get(&key)) {
            return Inherited::Is(*known);
        }
        let message = format!(
            "`categoryKey` is {}, which the chart's list of categories does not have.",
            shown(key)
        );
        self.faults.add(spot.path(), "unknown_category", message);
        Inherited::Faulty
    }

    /// The category of what is sold; a fault where it has none.
    pub fn category(&mut self, spot: &Spot<'_>, outer: Inherited) -> Option<u16> {
        match self.inherited(spot, outer) {
            Inherited::Is(category) => Some(category),
            Inherited::Faulty => None,
            Inherited::None => {
                let message = "It has no category, so it can have no price. Give it one, or give one to its section.";
                self.faults.add(spot.path(), "no_category", message);
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
