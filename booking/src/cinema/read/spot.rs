//! Reads members of the document's objects, and collects the faults with their paths.

use std::ops::RangeInclusive;
use std::str::FromStr;

use fairgate_model::counted::counted;
use fairgate_model::plans::quote_value;
use serde_json::{Map, Value};

use super::mend::{quote_around, without_controls};
use super::{ProgrammeFault, ProgrammeNote, lines};

/// How many faults are listed, at most. The same limit applies to notes. Further ones are counted.
const FAULTS_LISTED_MAX: usize = 10_000;

/// The faults and notes so far, each with its path. Their lines are found together at the end.
#[derive(Debug, Default)]
pub struct ProgrammeFaults {
    listed: Vec<ProgrammeFault>,
    unlisted_count: usize,
    notes: Vec<ProgrammeNote>,
    unlisted_notes: usize,
}

impl ProgrammeFaults {
    /// Adds one fault.
    pub fn add(&mut self, at: impl Into<String>, code: &'static str, message: impl Into<String>) {
        if self.listed.len() == FAULTS_LISTED_MAX {
            self.unlisted_count += 1;
            return;
        }
        self.listed.push(ProgrammeFault {
            at: at.into(),
            line: 1,
            code,
            message: message.into(),
        });
    }

    /// Adds a note about a correction.
    pub fn note(&mut self, at: impl Into<String>, message: impl Into<String>) {
        if self.notes.len() == FAULTS_LISTED_MAX {
            self.unlisted_notes += 1;
            return;
        }
        self.notes.push(ProgrammeNote {
            at: at.into(),
            line: 1,
            message: message.into(),
        });
    }

    /// Returns the notes with their lines, in the order of the lines. If some notes are not listed,
    /// the last one says how many.
    #[must_use]
    pub fn notes_with_lines(self, text: &str) -> Vec<ProgrammeNote> {
        let mut notes = self.notes;
        let lines = lines::line_numbers(text, notes.iter().map(|note| note.at.as_str()));
        for (note, line) in notes.iter_mut().zip(lines) {
            note.line = line;
        }
        notes.sort_by_key(|note| note.line);
        if self.unlisted_notes > 0 {
            notes.push(ProgrammeNote {
                at: String::new(),
                line: 1,
                message: counted(
                    self.unlisted_notes,
                    "more note is not listed.",
                    "more notes are not listed.",
                ),
            });
        }
        notes
    }

    /// Returns whether there are no faults.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// Returns the listed faults with their lines, in the order of the lines. If some faults are
    /// not listed, the last fault says how many.
    #[must_use]
    pub fn with_lines(mut self, text: &str) -> Vec<ProgrammeFault> {
        let lines = lines::line_numbers(text, self.listed.iter().map(|fault| fault.at.as_str()));
        for (fault, line) in self.listed.iter_mut().zip(lines) {
            fault.line = line;
        }
        self.listed.sort_by_key(|fault| fault.line);
        if self.unlisted_count > 0 {
            self.listed.push(ProgrammeFault {
                at: String::new(),
                line: 1,
                code: "more_faults",
                message: counted(
                    self.unlisted_count,
                    "more fault is not listed. Correct these first.",
                    "more faults are not listed. Correct these first.",
                ),
            });
        }
        self.listed
    }
}

/// An object of the document, and its path.
pub struct ProgrammeObject<'a> {
    /// The object's path, which is empty for the document itself.
    pub at: String,
    members: &'a Map<String, Value>,
}

impl<'a> ProgrammeObject<'a> {
    /// Makes an object at a path.
    pub fn new(at: String, members: &'a Map<String, Value>) -> Self {
        Self { at, members }
    }

    /// Returns the path of a member.
    pub fn member_path(&self, name: &str) -> String {
        if self.at.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.at)
        }
    }

    /// Returns a member that exists and is not null.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    /// Adds a fault for every member whose name is not in the list.
    pub fn add_unknown_faults(&self, names: &[&str], faults: &mut ProgrammeFaults) {
        for name in self.members.keys() {
            if !names.contains(&name.as_str()) {
                let short: String = name.chars().take(80).collect();
                let message = format!(
                    "There is no such field here; there are {}.",
                    names.join(", ")
                );
                faults.add(self.member_path(&short), "unknown_field", message);
            }
        }
    }

    /// Returns a member that exists and is not null. A text without visible characters counts as
    /// missing, and gets a note.
    pub fn get_unless_blank(&self, name: &str, faults: &mut ProgrammeFaults) -> Option<&'a Value> {
        let value = self.get(name)?;
        let shown = |char: char| !char.is_whitespace() && !char.is_control();
        if value.as_str().is_some_and(|text| !text.contains(shown)) {
            let message = "This text is empty, so the field counts as left out.";
            faults.note(self.member_path(name), message);
            return None;
        }
        Some(value)
    }

    /// Reads a text of 1 to `chars_max` characters, which may have line breaks. Removes control
    /// characters, and adds a note about this.
    pub fn text_member(
        &self,
        name: &str,
        chars_max: usize,
        faults: &mut ProgrammeFaults,
    ) -> Option<String> {
        let Some(value) = self.get(name) else {
            self.add_missing_fault(name, faults);
            return None;
        };
        let expected = format!("1 to {chars_max} printable characters");
        let Some(text) = value.as_str() else {
            self.add_value_fault(name, "bad_text", value, &expected, faults);
            return None;
        };
        let (text, note) = without_controls(text);
        if let Some(note) = note {
            faults.note(self.member_path(name), note);
        }
        if text.trim().is_empty() {
            self.add_value_fault(name, "bad_text", value, &expected, faults);
            return None;
        }
        let count = text.chars().count();
        if count > chars_max {
            let message = format!(
                "This text has {count} characters where {expected} are expected. It is too long \
                 from here on: {}.",
                quote_around(&text, chars_max)
            );
            faults.add(self.member_path(name), "bad_text", message);
            return None;
        }
        Some(text.into_owned())
    }

    /// Reads a text as [`Self::text_member`] does, but the member may be missing or empty.
    pub fn optional_text_member(
        &self,
        name: &str,
        chars_max: usize,
        faults: &mut ProgrammeFaults,
    ) -> Option<String> {
        self.get_unless_blank(name, faults)?;
        self.text_member(name, chars_max, faults)
    }

    /// Reads a text that parses as a `T`.
    pub fn parsed_member<T: FromStr>(
        &self,
        name: &str,
        code: &'static str,
        expected: &str,
        faults: &mut ProgrammeFaults,
    ) -> Option<T> {
        let parsed = |value: &Value| value.as_str().and_then(|text| text.parse().ok());
        self.read_member(name, code, expected, faults, parsed)
    }

    /// Reads a number within bounds.
    pub fn number_member(
        &self,
        name: &str,
        bounds: RangeInclusive<f64>,
        faults: &mut ProgrammeFaults,
    ) -> Option<f64> {
        let expected = format!("a number from {} to {}", bounds.start(), bounds.end());
        let within = |value: &Value| value.as_f64().filter(|number| bounds.contains(number));
        self.read_member(name, "bad_number", &expected, faults, within)
    }

    /// Reads a whole number within bounds.
    pub fn integer_member(
        &self,
        name: &str,
        bounds: RangeInclusive<i64>,
        faults: &mut ProgrammeFaults,
    ) -> Option<i64> {
        let expected = format!("a whole number from {} to {}", bounds.start(), bounds.end());
        let within = |value: &Value| value.as_i64().filter(|number| bounds.contains(number));
        self.read_member(name, "bad_number", &expected, faults, within)
    }

    /// Reads a member with `read`. Adds a fault if the member is missing or `read` returns `None`.
    fn read_member<T>(
        &self,
        name: &str,
        code: &'static str,
        expected: &str,
        faults: &mut ProgrammeFaults,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        let Some(value) = self.get(name) else {
            self.add_missing_fault(name, faults);
            return None;
        };
        let parsed = read(value);
        if parsed.is_none() {
            self.add_value_fault(name, code, value, expected, faults);
        }
        parsed
    }

    /// Reads a list of objects.
    pub fn list_member(
        &self,
        name: &str,
        faults: &mut ProgrammeFaults,
    ) -> Vec<ProgrammeObject<'a>> {
        let Some(value) = self.get(name) else {
            self.add_missing_fault(name, faults);
            return Vec::new();
        };
        let Value::Array(values) = value else {
            self.add_value_fault(name, "bad_list", value, "a list", faults);
            return Vec::new();
        };
        let mut spots = Vec::with_capacity(values.len());
        for (index, value) in values.iter().enumerate() {
            let at = format!("{}[{index}]", self.member_path(name));
            match value {
                Value::Object(members) => spots.push(ProgrammeObject::new(at, members)),
                other => {
                    let message = format!(
                        "This is {} where an object is expected.",
                        quote_value(other)
                    );
                    faults.add(at, "bad_object", message);
                }
            }
        }
        spots
    }

    /// Adds the fault of a missing member.
    pub fn add_missing_fault(&self, name: &str, faults: &mut ProgrammeFaults) {
        faults.add(self.member_path(name), "missing", "This field is missing.");
    }

    /// Adds the fault of a member with a wrong value.
    pub fn add_value_fault(
        &self,
        name: &str,
        code: &'static str,
        found: &Value,
        expected: &str,
        faults: &mut ProgrammeFaults,
    ) {
        let message = format!(
            "This is {} where {expected} is expected.",
            quote_value(found)
        );
        faults.add(self.member_path(name), code, message);
    }
}
