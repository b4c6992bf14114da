//! Reads the price categories of a plan, and finds the category of each object. An object without a
//! category of its own inherits the category of the object around it.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::plans::foreign_json::{PlanFaults, PlanObject, is_color, key_text, quote_value};
use crate::plans::seatmap::PriceCategory;

/// The colour of a category without a colour.
const DEFAULT_COLOR: &str = "#888888";

/// A category that an object inherits.
#[derive(Clone, Copy, Default)]
pub enum InheritedCategory {
    /// There is no category to inherit.
    #[default]
    None,
    /// The object around it names an unknown category. The list of faults already has this fault.
    Faulty,
    /// The index of the inherited category.
    Is(u16),
}

/// The categories of a plan by their keys.
pub struct CategoryKeys {
    /// The member with which an object names its category.
    field: &'static str,
    indices: HashMap<String, u16>,
}

impl CategoryKeys {
    /// Makes an empty list of categories. Objects name their category in the member `field`.
    pub fn new(field: &'static str) -> Self {
        Self {
            field,
            indices: HashMap::new(),
        }
    }

    /// Reads the plan's list of categories.
    pub fn read_list(
        &mut self,
        list: Vec<(usize, &Map<String, Value>)>,
        categories: &mut Vec<PriceCategory>,
        faults: &mut PlanFaults,
    ) {
        for (index, category) in list {
            let object = PlanObject::new(None, "categories", index, category);
            let Ok(number) = u16::try_from(self.indices.len()) else {
                faults.add_fault(
                    object.path(),
                    "too_many_categories",
                    "A plan has at most 65,536 categories.",
                );
                return;
            };
            let Some(key) = object.get("key").and_then(key_text) else {
                faults.add_fault(
                    object.path(),
                    "bad_category",
                    "The category has no key. Give it a number or a text.",
                );
                continue;
            };
            let label = object.label(faults);
            if self.indices.insert(key.clone(), number).is_some() {
                let message =
                    format!("The category key {key:?} occurs twice. Every category needs its own.");
                faults.add_fault(object.path(), "duplicate_category", message);
            }
            let color = match object.get("color") {
                None => DEFAULT_COLOR,
                Some(Value::String(color)) if is_color(color) => color,
                Some(other) => {
                    let message = format!(
                        "The colour is {}; expected one like \"#87A9CD\".",
                        quote_value(other)
                    );
                    faults.add_fault(object.path(), "bad_color", message);
                    continue;
                }
            };
            categories.push(PriceCategory {
                label: label.unwrap_or(&key).to_owned(),
                color: color.to_owned(),
                key,
            });
        }
    }

    /// Returns the object's own category or, if the object names none, the inherited one. Adds a
    /// fault if the category is unknown.
    pub fn own_or_inherited(
        &self,
        object: &PlanObject<'_>,
        outer: InheritedCategory,
        faults: &mut PlanFaults,
    ) -> InheritedCategory {
        let Some(key) = object.get(self.field) else {
            return outer;
        };
        if let Some(known) = key_text(key).and_then(|key| self.indices.get(&key)) {
            return InheritedCategory::Is(*known);
        }
        let message = format!(
            "`{}` is {}, which the plan's list of categories does not have.",
            self.field,
            quote_value(key)
        );
        faults.add_fault(object.path(), "unknown_category", message);
        InheritedCategory::Faulty
    }

    /// Returns the category of an object that is sold. Adds a fault if it has none.
    pub fn required(
        &self,
        object: &PlanObject<'_>,
        outer: InheritedCategory,
        faults: &mut PlanFaults,
    ) -> Option<u16> {
        match self.own_or_inherited(object, outer, faults) {
            InheritedCategory::Is(category) => Some(category),
            InheritedCategory::Faulty => None,
            InheritedCategory::None => {
                let message = "It has no category, so it can have no price. Give it one, or give one to its section.";
                faults.add_fault(object.path(), "no_category", message);
                None
            }
        }
    }
}
