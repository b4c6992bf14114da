//! Reads JSON from outside without stopping at the first fault. Each [`PlanObject`] can describe
//! where it is in the document. All faults go to one list.

mod faults;
mod values;

use serde_json::{Map, Value};

use super::{CAPACITY_MAX, COORDINATE_MAX, LABEL_CHARS_MAX};

pub use faults::PlanFaults;
pub use values::{JsonFault, document, drawn_corner, is_color, key_text, placed, quote_value};

/// The label that seats.io shows for an object that was never labelled.
const UNLABELLED: &str = "?";

/// One JSON object and its position in the document.
#[derive(Clone, Copy)]
pub struct PlanObject<'a> {
    /// The object that contains this one.
    within: Option<&'a PlanObject<'a>>,
    /// The kind of object, such as "row".
    noun: &'a str,
    /// Its position in its list, from 0, if it is in a list.
    index: Option<usize>,
    /// The object's members.
    object: &'a Map<String, Value>,
}

impl<'a> PlanObject<'a> {
    /// Wraps `object`, which is the `noun` at position `index` in `within`.
    pub fn new(
        within: Option<&'a PlanObject<'a>>,
        noun: &'a str,
        index: usize,
        object: &'a Map<String, Value>,
    ) -> Self {
        Self {
            within,
            noun,
            index: Some(index),
            object,
        }
    }

    /// Wraps the object that is the document's member `noun`.
    pub fn member(noun: &'a str, object: &'a Map<String, Value>) -> Self {
        Self {
            within: None,
            noun,
            index: None,
            object,
        }
    }

    /// Wraps the document itself. Its path is empty.
    pub fn document(object: &'a Map<String, Value>) -> Self {
        Self::member("", object)
    }

    /// Describes in words where the object is. The text names each object from the outermost one to
    /// this one, with its kind, its position (from 0), and its label if it has one.
    pub fn path(&self) -> String {
        let Some(index) = self.index else {
            return self.noun.to_owned();
        };
        let label = match self.object.get("label") {
            Some(Value::String(label)) if !label.trim().is_empty() && label != UNLABELLED => {
                // A label may be as long as the document, but a fault must be short.
                format!(
                    " {:?}",
                    label.chars().take(LABEL_CHARS_MAX).collect::<String>()
                )
            }
            _ => String::new(),
        };
        let own_path = format!("{}[{index}]{label}", self.noun);
        match self.within {
            Some(outer) => outer.path_to(&own_path),
            None => own_path,
        }
    }

    /// Describes in words where a part of the object is.
    pub fn path_to(&self, part: &str) -> String {
        match self.path() {
            own if own.is_empty() => part.to_owned(),
            own => format!("{own} › {part}"),
        }
    }

    /// Returns a member, unless it is missing or null.
    pub fn get(&self, key: &str) -> Option<&'a Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    /// Returns the names of all members.
    pub fn keys(&self) -> impl Iterator<Item = &'a String> {
        self.object.keys()
    }

    /// Returns a flag, or `default` if it is missing. Any value other than true or false is a
    /// fault.
    pub fn flag(&self, key: &str, default: bool, faults: &mut PlanFaults) -> bool {
        match self.get(key) {
            None => default,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                faults.add_fault(
                    self.path(),
                    "bad_flag",
                    format!(
                        "`{key}` is {} where true or false is expected.",
                        quote_value(other)
                    ),
                );
                default
            }
        }
    }

    /// Returns the object's label, if it can be shown and typed. Otherwise adds a fault and returns
    /// `None`.
    pub fn label(&self, faults: &mut PlanFaults) -> Option<&'a str> {
        let (code, message) = match self.get("label") {
            Some(Value::String(label)) if label == UNLABELLED => (
                "no_label",
                "This object was never labelled (its label is \"?\"). Give it one.".to_owned(),
            ),
            Some(Value::String(label)) if label.trim().is_empty() => {
                ("empty_label", "The label is empty. Give it one.".to_owned())
            }
            Some(Value::String(label)) if label.chars().count() > LABEL_CHARS_MAX => (
                "bad_label",
                format!("The label is longer than {LABEL_CHARS_MAX} characters. Shorten it."),
            ),
            Some(Value::String(label)) if label.chars().any(char::is_control) => (
                "bad_label",
                "The label has a control character in it. Type it again.".to_owned(),
            ),
            Some(Value::String(label)) => return Some(label),
            None => ("empty_label", "There is no label. Give it one.".to_owned()),
            Some(other) => (
                "bad_label",
                format!(
                    "The label is {} where text is expected.",
                    quote_value(other)
                ),
            ),
        };
        faults.add_fault(self.path(), code, message);
        None
    }

    /// Returns how many people an area takes. Adds a fault if `capacity` is missing or not in its
    /// range.
    pub fn capacity(&self, faults: &mut PlanFaults) -> Option<u32> {
        let capacity = self.get("capacity").and_then(Value::as_u64);
        let capacity = capacity.filter(|capacity| (1..=CAPACITY_MAX).contains(capacity));
        if let Some(capacity) = capacity.and_then(|capacity| u32::try_from(capacity).ok()) {
            return Some(capacity);
        }
        let found = self
            .get("capacity")
            .map_or_else(|| "missing".to_owned(), quote_value);
        let message =
            format!("`capacity` is {found}; expected a whole number from 1 to {CAPACITY_MAX}.");
        faults.add_fault(self.path(), "bad_capacity", message);
        None
    }

    /// Returns the point in the member `key`. A missing point is no fault. A point with a missing
    /// or bad coordinate is a fault.
    pub fn point(&self, key: &str, faults: &mut PlanFaults) -> Option<(f64, f64)> {
        match self.get(key)? {
            Value::Object(object) => {
                PlanObject { object, ..*self }.xy_at(&format!("{}.{key}", self.path()), faults)
            }
            other => {
                faults.add_fault(
                    self.path(),
                    "bad_coordinate",
                    format!(
                        "`{key}` is {} where a point is expected.",
                        quote_value(other)
                    ),
                );
                None
            }
        }
    }

    /// Returns the point from the object's own `x` and `y`.
    pub fn coordinates(&self, faults: &mut PlanFaults) -> Option<(f64, f64)> {
        self.xy_at(&self.path(), faults)
    }

    fn xy_at(&self, at: &str, faults: &mut PlanFaults) -> Option<(f64, f64)> {
        let mut number = |key: &str| match self.object.get(key).and_then(Value::as_f64) {
            Some(number) if number.is_finite() && number.abs() <= COORDINATE_MAX => Some(number),
            _ => {
                let found = self
                    .object
                    .get(key)
                    .map_or_else(|| "missing".to_owned(), quote_value);
                faults.add_fault(
                    at,
                    "bad_coordinate",
                    format!("`{key}` is {found}; expected a number between ±{COORDINATE_MAX}."),
                );
                None
            }
        };
        let (x, y) = (number("x"), number("y"));
        Some((x?, y?))
    }

    /// Returns the objects of the list `key` with their positions. A missing list is treated as
    /// empty. Each element that is not an object is a fault.
    pub fn list_objects(
        &self,
        key: &str,
        faults: &mut PlanFaults,
    ) -> Vec<(usize, &'a Map<String, Value>)> {
        match self.get(key) {
            None => Vec::new(),
            Some(Value::Array(values)) => {
                let mut objects = Vec::with_capacity(values.len());
                for (index, value) in values.iter().enumerate() {
                    match value {
                        Value::Object(object) => objects.push((index, object)),
                        other => faults.add_fault(
                            self.path_to(&format!("{key}[{index}]")),
                            "bad_object",
                            format!(
                                "This is {} where an object is expected.",
                                quote_value(other)
                            ),
                        ),
                    }
                }
                objects
            }
            Some(other) => {
                faults.add_fault(
                    self.path(),
                    "bad_list",
                    format!(
                        "`{key}` is {} where a list is expected.",
                        quote_value(other)
                    ),
                );
                Vec::new()
            }
        }
    }
}
