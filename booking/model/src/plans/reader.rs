//! Reading foreign JSON without giving up at the first fault: a place in the document that knows
//! how to name itself, and a list that faults go to.

use serde_json::{Map, Value};

use super::{COORDINATE_MAX, LABEL_CHARS_MAX, PlanFault};
use crate::plans::seatmap::PlanPoint;

/// More faults than this are counted, not told one by one: a plan of half a million broken seats
/// must not become an answer many times its size.
const FAULTS_TOLD_MAX: usize = 10_000;

/// Collects faults while the reading goes on.
#[derive(Debug, Default)]
pub struct PlanFaults {
    told: Vec<PlanFault>,
    untold: usize,
}

impl PlanFaults {
    /// Notes one fault.
    pub fn add_fault(
        &mut self,
        at: impl Into<String>,
        code: &'static str,
        message: impl Into<String>,
    ) {
        if self.told.len() == FAULTS_TOLD_MAX {
            self.untold += 1;
            return;
        }
        self.told.push(PlanFault {
            at: at.into(),
            code,
            message: message.into(),
        });
    }

    /// Whether nothing was found so far.
    pub fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// The list, in the order of the document.
    pub fn into_vec(mut self) -> Vec<PlanFault> {
        if self.untold > 0 {
            let message = format!(
                "{} more faults are not listed. Mend these first.",
                self.untold
            );
            self.told.push(PlanFault {
                at: String::new(),
                code: "more_faults",
                message,
            });
        }
        self.told
    }
}

/// What seats.io draws for an object that was never labelled.
const UNLABELLED: &str = "?";

/// One JSON object and where it stands.
#[derive(Clone, Copy)]
pub struct PlanObject<'a> {
    /// The object that holds this one.
    within: Option<&'a PlanObject<'a>>,
    /// What it is, "row".
    noun: &'a str,
    /// Its position in its list.
    index: usize,
    /// The object.
    object: &'a Map<String, Value>,
}

impl<'a> PlanObject<'a> {
    /// The place of `object`, the `index`-th `noun` within `within`.
    pub fn new(
        within: Option<&'a PlanObject<'a>>,
        noun: &'a str,
        index: usize,
        object: &'a Map<String, Value>,
    ) -> Self {
        Self {
            within,
            noun,
            index,
            object,
        }
    }

    /// The place in words: labels where there are any, positions (from 0) always for the outermost
    /// object and where a label does not tell objects apart.
    pub fn path(&self) -> String {
        let label = match self.object.get("label") {
            Some(Value::String(label)) if !label.trim().is_empty() && label != UNLABELLED => {
                // A label may be as long as the document; a fault's address may not.
                format!(
                    " {:?}",
                    label.chars().take(LABEL_CHARS_MAX).collect::<String>()
                )
            }
            _ => String::new(),
        };
        let own = format!("{}[{}]{label}", self.noun, self.index);
        match self.within {
            Some(outer) => format!("{} › {own}", outer.path()),
            None => own,
        }
    }

    /// A member that is there and not null.
    pub fn get(&self, key: &str) -> Option<&'a Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    /// Whether a flag is set; absent is `absent`, and anything but true and false is a fault.
    pub fn flag(&self, key: &str, absent: bool, faults: &mut PlanFaults) -> bool {
        match self.get(key) {
            None => absent,
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
                absent
            }
        }
    }

    /// The object's label, fit to be shown and typed; a fault and `None` where it has none.
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

    /// A point in the member `key`; absent is no fault, half a point is one.
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

    /// The object's own `x` and `y`.
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

    /// The objects of the list `key`; absent is an empty list, and each thing in it that is no
    /// object is a fault.
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
                            format!("{} › {key}[{index}]", self.path()),
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

/// A point in the map's units, or a fault where offsets carried it beyond what a map may hold.
pub fn placed(
    at: impl FnOnce() -> String,
    (x, y): (f64, f64),
    faults: &mut PlanFaults,
) -> Option<PlanPoint> {
    if x.abs() > COORDINATE_MAX || y.abs() > COORDINATE_MAX {
        faults.add_fault(
            at(),
            "bad_coordinate",
            format!("The position is beyond ±{COORDINATE_MAX}."),
        );
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "bounded above; a seat's place needs no more than f32 holds"
    )]
    Some(PlanPoint {
        x: x as f32,
        y: y as f32,
    })
}

/// A value as a fault quotes it: short, whatever its size.
pub fn quote_value(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) => format!("the text {:?}", text.chars().take(40).collect::<String>()),
        other => other.to_string(),
    }
}
