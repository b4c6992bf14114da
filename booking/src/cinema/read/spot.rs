//! An object of the document that knows its path, and a list that faults go to.

use std::ops::RangeInclusive;
use std::str::FromStr;

use serde_json::{Map, Value};

use super::{Fault, lines};

/// More faults than this are counted, not told one by one.
const FAULTS_TOLD_MAX: usize = 10_000;

/// Faults by their paths; their lines are looked up once, at the end.
#[derive(Debug, Default)]
pub struct Faults {
    told: Vec<Fault>,
    untold: usize,
}

impl Faults {
    /// Notes one.
    pub fn add(&mut self, at: impl Into<String>, code: &'static str, message: impl Into<String>) {
        if self.told.len() == FAULTS_TOLD_MAX {
            self.untold += 1;
            return;
        }
        self.told.push(Fault {
            at: at.into(),
            line: 1,
            code,
            message: message.into(),
        });
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// All of them in the order of their lines in the document they were found in.
    #[must_use]
    pub fn placed(mut self, text: &str) -> Vec<Fault> {
        let lines = lines::of(text, self.told.iter().map(|fault| fault.at.as_str()));
        for (fault, line) in self.told.iter_mut().zip(lines) {
            fault.line = line;
        }
        self.told.sort_by_key(|fault| fault.line);
        if self.untold > 0 {
            self.told.push(Fault {
                at: String::new(),
                line: 1,
                code: "more_faults",
                message: format!(
                    "{} more faults are not listed. Mend these first.",
                    self.untold
                ),
            });
        }
        self.told
    }
}

/// An object and its path.
pub struct Spot<'a> {
    /// The path; empty for the document itself.
    pub at: String,
    members: &'a Map<String, Value>,
}

impl<'a> Spot<'a> {
    /// An object at a path.
    pub fn new(at: String, members: &'a Map<String, Value>) -> Self {
        Self { at, members }
    }

    /// The path of a member.
    pub fn path(&self, name: &str) -> String {
        if self.at.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.at)
        }
    }

    /// A member that is there and not null.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    /// Notes every member that none of these names.
    pub fn only(&self, names: &[&str], faults: &mut Faults) {
        for name in self.members.keys() {
            if !names.contains(&name.as_str()) {
                let short: String = name.chars().take(80).collect();
                let message = format!(
                    "There is no such field here; there are {}.",
                    names.join(", ")
                );
                faults.add(self.path(&short), "unknown_field", message);
            }
        }
    }

    /// A text of 1 to `chars_max` printable characters.
    pub fn text(&self, name: &str, chars_max: usize, faults: &mut Faults) -> Option<String> {
        let Some(value) = self.get(name) else {
            self.missing(name, faults);
            return None;
        };
        let good = value.as_str().filter(|text| {
            !text.trim().is_empty()
                && text.chars().count() <= chars_max
                && !text.chars().any(|char| char.is_control() && char != '\n')
        });
        if good.is_none() {
            let expected = format!("1 to {chars_max} printable characters");
            self.wrong(name, "bad_text", value, &expected, faults);
        }
        good.map(ToOwned::to_owned)
    }

    /// As `text`, where it may be left out.
    pub fn words(&self, name: &str, chars_max: usize, faults: &mut Faults) -> Option<String> {
        self.get(name)?;
        self.text(name, chars_max, faults)
    }

    /// A text of a form of its own.
    pub fn parsed<T: FromStr>(
        &self,
        name: &str,
        code: &'static str,
        expected: &str,
        faults: &mut Faults,
    ) -> Option<T> {
        let Some(value) = self.get(name) else {
            self.missing(name, faults);
            return None;
        };
        let good = value.as_str().and_then(|text| text.parse().ok());
        if good.is_none() {
            self.wrong(name, code, value, expected, faults);
        }
        good
    }

    /// A number within bounds.
    pub fn number(
        &self,
        name: &str,
        bounds: RangeInclusive<f64>,
        faults: &mut Faults,
    ) -> Option<f64> {
        let Some(value) = self.get(name) else {
            self.missing(name, faults);
            return None;
        };
        let good = value.as_f64().filter(|number| bounds.contains(number));
        if good.is_none() {
            let expected = format!("a number from {} to {}", bounds.start(), bounds.end());
            self.wrong(name, "bad_number", value, &expected, faults);
        }
        good
    }

    /// A whole number within bounds.
    pub fn whole(
        &self,
        name: &str,
        bounds: RangeInclusive<i64>,
        faults: &mut Faults,
    ) -> Option<i64> {
        let Some(value) = self.get(name) else {
            self.missing(name, faults);
            return None;
        };
        let good = value.as_i64().filter(|number| bounds.contains(number));
        if good.is_none() {
            let expected = format!("a whole number from {} to {}", bounds.start(), bounds.end());
            self.wrong(name, "bad_number", value, &expected, faults);
        }
        good
    }

    /// The objects of a list.
    pub fn list(&self, name: &str, faults: &mut Faults) -> Vec<Spot<'a>> {
        let Some(value) = self.get(name) else {
            self.missing(name, faults);
            return Vec::new();
        };
        let Value::Array(values) = value else {
            self.wrong(name, "bad_list", value, "a list", faults);
            return Vec::new();
        };
        let mut spots = Vec::with_capacity(values.len());
        for (index, value) in values.iter().enumerate() {
            let at = format!("{}[{index}]", self.path(name));
            match value {
                Value::Object(members) => spots.push(Spot::new(at, members)),
                other => {
                    let message = format!("This is {} where an object is expected.", shown(other));
                    faults.add(at, "bad_object", message);
                }
            }
        }
        spots
    }

    /// Notes that a member is not there.
    pub fn missing(&self, name: &str, faults: &mut Faults) {
        faults.add(self.path(name), "missing", "This field is missing.");
    }

    /// Notes that a member is not what it should be.
    pub fn wrong(
        &self,
        name: &str,
        code: &'static str,
        found: &Value,
        expected: &str,
        faults: &mut Faults,
    ) {
        let message = format!("This is {} where {expected} is expected.", shown(found));
        faults.add(self.path(name), code, message);
    }
}

/// A value as a fault quotes it: short, whatever its size.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) => format!("the text {:?}", text.chars().take(40).collect::<String>()),
        other => other.to_string(),
    }
}
