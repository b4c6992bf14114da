//! The tables of an on-sale file as JSON documents, with the line and column of each field.

use std::collections::{BTreeMap, HashMap};

use fairgate_model::onsale::{OnsaleFault, OnsaleKind};
use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The tables that an on-sale file may have besides venues, shows and rooms. The planner reads
/// them.
const OF_THE_PLANNER: [&str; 2] = ["crowd", "behaviour"];

/// The kinds of tables in the order in which they are applied.
pub(super) const KINDS: [OnsaleKind; 3] = [OnsaleKind::Venue, OnsaleKind::Show, OnsaleKind::Room];

/// A line and a column, both from 1.
pub type FilePosition = (usize, usize);

/// One `[[venue]]`, `[[show]]` or `[[room]]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OnsaleTable {
    /// Its fields.
    pub fields: Map<String, Value>,
    /// Where each field stands, by the field's path. The table itself has an empty path. Empty if
    /// the file was not sent as text.
    positions: HashMap<String, FilePosition>,
}

impl OnsaleTable {
    /// Returns where a field stands. If the file does not have the field, returns where the next
    /// larger part stands that has it.
    #[must_use]
    pub fn position(&self, path: &str) -> Option<FilePosition> {
        let mut path = path;
        loop {
            if let Some(position) = self.positions.get(path) {
                return Some(*position);
            }
            if path.is_empty() {
                return None;
            }
            path = &path[..path.rfind(['.', '[']).unwrap_or(0)];
        }
    }
}

/// All tables of a file, by kind, and what is wrong with the file as a whole.
#[derive(Debug, Default)]
pub struct OnsaleTables {
    /// The tables of each kind, in the order of the file.
    pub by_kind: BTreeMap<OnsaleKind, Vec<OnsaleTable>>,
    /// Faults of the file's form.
    pub faults: Vec<OnsaleFault>,
}

impl OnsaleTables {
    /// Reads a file.
    #[must_use]
    pub fn from_toml(text: &str) -> Self {
        let mut tables = Self::default();
        let (document, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let at = error.span().map(|span| position_of(text, span.start));
            tables.add_fault(at, "", "invalid_toml", error.message().to_owned());
        }
        for (key, value) in document.get_ref().iter() {
            let at = Some(position_of(text, key.span().start));
            tables.read_key(text, at, key.get_ref(), value);
        }
        tables
    }

    /// Reads tables that were sent as JSON.
    #[must_use]
    pub fn from_json(document: Map<String, Value>) -> Self {
        let mut tables = Self::default();
        for (key, value) in document {
            let Some(kind) = kind_of(&key) else {
                if !OF_THE_PLANNER.contains(&key.as_str()) {
                    tables.add_unknown_key(None, &key);
                }
                continue;
            };
            let Value::Array(entries) = value else {
                tables.add_not_a_list(None, kind);
                continue;
            };
            for entry in entries {
                if let Value::Object(fields) = entry {
                    let table = OnsaleTable {
                        fields,
                        positions: HashMap::new(),
                    };
                    tables.by_kind.entry(kind).or_default().push(table);
                } else {
                    tables.add_not_a_list(None, kind);
                }
            }
        }
        tables
    }

    fn read_key(
        &mut self,
        text: &str,
        at: Option<FilePosition>,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) {
        let Some(kind) = kind_of(key) else {
            if !OF_THE_PLANNER.contains(&key) {
                self.add_unknown_key(at, key);
            }
            return;
        };
        let DeValue::Array(entries) = value.get_ref() else {
            self.add_not_a_list(at, kind);
            return;
        };
        for entry in entries.iter() {
            let DeValue::Table(_) = entry.get_ref() else {
                let at = Some(position_of(text, entry.span().start));
                self.add_not_a_list(at, kind);
                continue;
            };
            let mut walk = TableWalk::new(text);
            let fields = walk.json_of(entry, "");
            let TableWalk {
                positions, faults, ..
            } = walk;
            for (at, field, detail) in faults {
                self.add_fault(Some(at), &field, "invalid_field", detail);
            }
            let table = OnsaleTable {
                fields: fields.as_object().cloned().unwrap_or_default(),
                positions,
            };
            self.by_kind.entry(kind).or_default().push(table);
        }
    }

    fn add_unknown_key(&mut self, at: Option<FilePosition>, key: &str) {
        let detail = format!("[[{key}]] is not one of [[venue]], [[show]], [[room]]");
        self.add_fault(at, key, "unknown_field", detail);
    }

    fn add_not_a_list(&mut self, at: Option<FilePosition>, kind: OnsaleKind) {
        let kind = kind.as_str();
        let detail = format!("{kind} must be written as [[{kind}]]");
        self.add_fault(at, kind, "invalid_field", detail);
    }

    fn add_fault(&mut self, at: Option<FilePosition>, field: &str, code: &str, detail: String) {
        self.faults.push(OnsaleFault {
            line: at.map(|(line, _)| line),
            column: at.map(|(_, column)| column),
            item: None,
            field: field.to_owned(),
            code: code.to_owned(),
            detail,
        });
    }
}

fn kind_of(key: &str) -> Option<OnsaleKind> {
    KINDS.into_iter().find(|kind| kind.as_str() == key)
}

/// Returns the line and the column of a byte.
fn position_of(text: &str, offset: usize) -> FilePosition {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    (line, column)
}

/// Converts one table, and notes where its fields stand.
struct TableWalk<'t> {
    text: &'t str,
    positions: HashMap<String, FilePosition>,
    faults: Vec<(FilePosition, String, String)>,
}

impl<'t> TableWalk<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            positions: HashMap::new(),
            faults: Vec::new(),
        }
    }

    /// Returns a value as JSON. Times become texts.
    fn json_of(&mut self, value: &Spanned<DeValue<'_>>, path: &str) -> Value {
        let at = position_of(self.text, value.span().start);
        self.positions.entry(path.to_owned()).or_insert(at);
        match value.get_ref() {
            DeValue::String(text) => Value::String(text.clone().into_owned()),
            DeValue::Integer(number) => {
                let read = i64::from_str_radix(number.as_str(), number.radix()).ok();
                self.number_of(read.map(Value::from), at, path)
            }
            DeValue::Float(number) => {
                let read = number.as_str().parse::<f64>().ok();
                let finite = read.and_then(serde_json::Number::from_f64);
                self.number_of(finite.map(Value::Number), at, path)
            }
            DeValue::Boolean(yes) => Value::Bool(*yes),
            DeValue::Datetime(time) => Value::String(time.to_string()),
            DeValue::Array(parts) => {
                let parts = parts.iter().enumerate();
                parts
                    .map(|(at, part)| self.json_of(part, &format!("{path}[{at}]")))
                    .collect()
            }
            DeValue::Table(fields) => {
                let mut object = Map::new();
                for (key, field) in fields.iter() {
                    let name = key.get_ref().as_ref();
                    let path = if path.is_empty() {
                        name.to_owned()
                    } else {
                        format!("{path}.{name}")
                    };
                    let at = position_of(self.text, key.span().start);
                    self.positions.insert(path.clone(), at);
                    object.insert(name.to_owned(), self.json_of(field, &path));
                }
                Value::Object(object)
            }
        }
    }

    fn number_of(&mut self, read: Option<Value>, at: FilePosition, path: &str) -> Value {
        read.unwrap_or_else(|| {
            let detail = "is not a finite number of at most 63 bits".to_owned();
            self.faults.push((at, path.to_owned(), detail));
            Value::Null
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_has_its_line_and_column_and_a_missing_one_has_its_tables() {
        let text = "[[show]]\nid = \"n-1\"\n  prices = { cat1 = 9900, cat2 = 1 }\n\n[[show]]\nshows = [\"a\",\n  \"b\"]\nat = 2027-01-10T09:00:00+01:00\n";
        let tables = OnsaleTables::from_toml(text);
        assert_eq!(tables.faults, []);
        let shows = &tables.by_kind[&OnsaleKind::Show];
        for (table, path, expected) in [
            (0, "id", (2, 1)),
            (0, "prices", (3, 3)),
            (0, "prices.cat2", (3, 27)),
            (0, "prices.cat3", (3, 3)),
            (1, "shows[1]", (7, 3)),
        ] {
            assert_eq!(shows[table].position(path), Some(expected), "{path}");
        }
        let (line, _) = shows[0].position("title").expect("the table's place");
        assert_eq!(line, 1);
        assert_eq!(shows[1].fields["at"], "2027-01-10T09:00:00+01:00");
    }

    #[test]
    fn every_fault_of_the_form_has_its_place() {
        let text = "[crowd]\nvisitors = 5\n[stage]\nid = 1\n[[room]]\nper_s = nan\nmax_inside = inf\n[show]\nid = \"x\"\n";
        let tables = OnsaleTables::from_toml(text);
        let mut found: Vec<_> = tables
            .faults
            .iter()
            .map(|fault| (fault.line, fault.field.as_str()))
            .collect();
        found.sort_unstable();
        let expected = [
            (Some(3), "stage"),
            (Some(6), "per_s"),
            (Some(7), "max_inside"),
            (Some(8), "show"),
        ];
        assert_eq!(found, expected);
        let broken = OnsaleTables::from_toml("[[room]]\nid = \n");
        assert_eq!(broken.faults[0].line, Some(2));
    }
}
