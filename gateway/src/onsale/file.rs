//! Reads an on-sale file into venues, shows and rooms. Every fault that can be seen without the
//! installation is reported with its line and column.

use std::collections::{BTreeMap, BTreeSet};

use fairgate_model::onsale::{OnsaleFault, OnsaleItem, OnsaleKind, OnsaleShow, OnsaleVenue};
use fairgate_model::venues::VenueLocation;
use fairgate_rules::room_document::RoomDocumentInput;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::tables::{KINDS, OnsaleTable, OnsaleTables};

/// The contents of the files that venues name as their plans, by the names in the on-sale file.
pub type PlanFiles = BTreeMap<String, String>;

/// At most this many faults of one table are looked for.
const FAULTS_OF_A_TABLE_MAX: usize = 50;

/// The fields that a show must have.
const REQUIRED_OF_SHOWS: [&str; 4] = ["venue", "title", "starts_at", "prices"];

/// A room of the file.
#[derive(Debug, Clone)]
pub struct OnsaleRoom {
    /// Its slug.
    pub id: String,
    /// Its document, as `PUT /v1/promoter/rooms/{room}` takes it.
    pub input: RoomDocumentInput,
}

/// An on-sale file.
#[derive(Debug, Default)]
pub struct OnsaleFile {
    /// The venues.
    pub venues: Vec<OnsaleVenue>,
    /// The shows.
    pub shows: Vec<OnsaleShow>,
    /// The rooms.
    pub rooms: Vec<OnsaleRoom>,
    /// All venues, shows and rooms that have an id, in the order in which they are applied.
    pub items: Vec<OnsaleItem>,
    /// What is wrong with the file itself.
    pub faults: Vec<OnsaleFault>,
    tables: BTreeMap<OnsaleItem, OnsaleTable>,
}

impl OnsaleFile {
    /// Reads a file and the seating plans that it names.
    #[must_use]
    pub fn from_toml(text: &str, plans: &PlanFiles) -> Self {
        Self::from_tables(OnsaleTables::from_toml(text), plans)
    }

    /// Reads tables that were sent as JSON, and the seating plans that they name.
    #[must_use]
    pub fn from_json(document: Map<String, Value>, plans: &PlanFiles) -> Self {
        Self::from_tables(OnsaleTables::from_json(document), plans)
    }

    fn from_tables(tables: OnsaleTables, plans: &PlanFiles) -> Self {
        let mut file = Self {
            faults: tables.faults,
            ..Self::default()
        };
        let mut by_kind = tables.by_kind;
        for kind in KINDS {
            for table in by_kind.remove(&kind).unwrap_or_default() {
                file.read_table(kind, table, plans);
            }
        }
        file
    }

    /// Gives a fault of one of the file's items its line and column.
    pub fn locate(&self, fault: &mut OnsaleFault) {
        let table = fault.item.as_ref().and_then(|item| self.tables.get(item));
        let position = table.and_then(|table| table.position(&fault.field));
        if let (None, Some((line, column))) = (fault.line, position) {
            (fault.line, fault.column) = (Some(line), Some(column));
        }
    }

    fn read_table(&mut self, kind: OnsaleKind, mut table: OnsaleTable, plans: &PlanFiles) {
        let Some(id) = self.read_id(kind, &mut table) else {
            return;
        };
        let item = OnsaleItem { kind, id };
        let mut fields = std::mem::take(&mut table.fields);
        if self.tables.contains_key(&item) {
            let at = table.position("id");
            self.add_fault(
                &item,
                "id",
                format!("another [[{}]] has this id", kind.as_str()),
            );
            if let (Some(fault), Some((line, column))) = (self.faults.last_mut(), at) {
                (fault.line, fault.column) = (Some(line), Some(column));
            }
            return;
        }
        self.tables.insert(item.clone(), table);
        self.items.push(item.clone());
        match kind {
            OnsaleKind::Venue => self.read_venue(&item, fields, plans),
            OnsaleKind::Show => {
                let missing = REQUIRED_OF_SHOWS
                    .iter()
                    .filter(|name| !fields.contains_key(**name));
                let missing: Vec<_> = missing.collect();
                for name in &missing {
                    self.add_fault(&item, name, "is required".to_owned());
                }
                if missing.is_empty()
                    && let Some(document) = self.read_fields(&item, &mut fields)
                {
                    let id = item.id;
                    self.shows.push(OnsaleShow { id, document });
                }
            }
            OnsaleKind::Room => {
                if let Some(input) = self.read_fields(&item, &mut fields) {
                    let id = item.id;
                    self.rooms.push(OnsaleRoom { id, input });
                }
            }
        }
    }

    /// Takes the id out of a table, or reports that it has none.
    fn read_id(&mut self, kind: OnsaleKind, table: &mut OnsaleTable) -> Option<String> {
        let detail = match table.fields.remove("id") {
            Some(Value::String(id)) if !id.is_empty() => return Some(id),
            Some(_) => "is not a slug",
            None => "is required",
        };
        let at = table.position("id");
        self.faults.push(OnsaleFault {
            line: at.map(|(line, _)| line),
            column: at.map(|(_, column)| column),
            item: None,
            field: format!("{}.id", kind.as_str()),
            code: "invalid_field".to_owned(),
            detail: detail.to_owned(),
        });
        None
    }

    /// Reads a document from its fields. A field of another type is reported and left out, so that
    /// the faults of the other fields are found, too. Returns `None` if there was a fault.
    fn read_fields<T: DeserializeOwned>(
        &mut self,
        item: &OnsaleItem,
        fields: &mut Map<String, Value>,
    ) -> Option<T> {
        let mut is_faulty = false;
        for _ in 0..FAULTS_OF_A_TABLE_MAX {
            let read = serde_path_to_error::deserialize(Value::Object(fields.clone()));
            let error = match read {
                Ok(document) => return Some(document).filter(|_| !is_faulty),
                Err(error) => error,
            };
            is_faulty = true;
            let (path, text) = (error.path().to_string(), error.inner().to_string());
            let unknown = text.strip_prefix("unknown field `");
            let unknown = unknown.and_then(|rest| rest.split('`').next());
            let field = match (path.as_str(), unknown) {
                (".", Some(name)) => name.to_owned(),
                (".", None) => String::new(),
                (path, Some(name)) if !path.ends_with(name) => format!("{path}.{name}"),
                (path, _) => path.to_owned(),
            };
            self.add_fault(item, &field, text);
            let top = field.split(['.', '[']).next().unwrap_or_default();
            if fields.remove(top).is_none() || REQUIRED_OF_SHOWS.contains(&top) {
                break;
            }
        }
        None
    }

    fn read_venue(&mut self, item: &OnsaleItem, mut fields: Map<String, Value>, plans: &PlanFiles) {
        let plan = match fields.remove("plan") {
            Some(Value::String(plan)) => self.read_plan(item, &plan, plans),
            _ => {
                let detail = "is required, such as \"grid:20x30\" or \"seatsio:chart.json\"";
                self.add_fault(item, "plan", detail.to_owned());
                None
            }
        };
        let location: Option<VenueLocation> = self.read_fields(item, &mut fields);
        if let (Some((format, plan)), Some(location)) = (plan, location) {
            self.venues.push(OnsaleVenue {
                id: item.id.clone(),
                format,
                plan,
                location,
            });
        }
    }

    /// Returns the format of a venue's plan, and the plan.
    fn read_plan(
        &mut self,
        item: &OnsaleItem,
        plan: &str,
        plans: &PlanFiles,
    ) -> Option<(String, String)> {
        match plan.split_once(':') {
            Some(("grid", size)) => Some(("grid".to_owned(), size.to_owned())),
            Some((format @ ("seatsio" | "fairgate" | "pretix" | "csv"), file)) => {
                let content = plans.get(file).cloned();
                if content.is_none() {
                    let detail = format!(
                        "the plan's file \"{file}\" was not sent with the on-sale file, or cannot be read"
                    );
                    self.add_fault(item, "plan", detail);
                }
                content.map(|content| (format.to_owned(), content))
            }
            _ => {
                let detail = format!(
                    "\"{plan}\" is not one of fairgate:FILE, seatsio:FILE, pretix:FILE, csv:FILE, grid:ROWSxSEATS"
                );
                self.add_fault(item, "plan", detail);
                None
            }
        }
    }

    fn add_fault(&mut self, item: &OnsaleItem, field: &str, detail: String) {
        let mut fault = OnsaleFault {
            item: Some(item.clone()),
            field: field.to_owned(),
            code: "invalid_field".to_owned(),
            detail,
            ..OnsaleFault::default()
        };
        self.locate(&mut fault);
        self.faults.push(fault);
    }
}

/// Returns the names of the files that the venues of an on-sale file name as their plans.
#[must_use]
pub fn plan_files_of(text: &str) -> BTreeSet<String> {
    let tables = OnsaleTables::from_toml(text);
    let venues = tables.by_kind.get(&OnsaleKind::Venue);
    let plans = venues.into_iter().flatten().filter_map(|venue| {
        let (format, file) = venue.fields.get("plan")?.as_str()?.split_once(':')?;
        (format != "grid").then(|| file.to_owned())
    });
    plans.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the faults of a file as `line: field`, sorted.
    fn faults_of(text: &str) -> Vec<String> {
        let file = OnsaleFile::from_toml(text, &PlanFiles::new());
        let told =
            |fault: &OnsaleFault| format!("{}: {}", fault.line.expect("a line"), fault.field);
        let mut told: Vec<_> = file.faults.iter().map(told).collect();
        told.sort();
        told
    }

    #[test]
    fn a_file_becomes_venues_shows_and_rooms_in_this_order() {
        let text = r#"
            [[room]]
            id = "demo"
            opens_at = 2027-01-10T09:00:00+01:00
            [[venue]]
            id = "arena"
            plan = "grid:2x3"
            city = "Bad Tölz"
            [[show]]
            id = "n-1"
            venue = "arena"
            title = "One"
            starts_at = 2027-06-01T20:00:00+02:00
            prices = { cat1 = 9900 }
        "#;
        let file = OnsaleFile::from_toml(text, &PlanFiles::new());
        assert_eq!(file.faults, []);
        let ids: Vec<_> = file.items.iter().map(|item| item.id.as_str()).collect();
        assert_eq!(ids, ["arena", "n-1", "demo"]);
        let venue = &file.venues[0];
        assert_eq!(
            (venue.format.as_str(), venue.plan.as_str()),
            ("grid", "2x3")
        );
        assert_eq!(venue.location.city.as_deref(), Some("Bad Tölz"));
        let opens_at = file.rooms[0].input.opens_at.as_deref();
        assert_eq!(opens_at, Some("2027-01-10T09:00:00+01:00"));
    }

    #[test]
    fn every_fault_of_a_file_is_reported_with_its_line() {
        let text = "[[venue]]\nid = \"a\"\n[[venue]]\nid = \"b\"\nplan = \"seatsio:none.json\"\ncity = 5\nsize = 1\n[[show]]\ntitle = \"x\"\n\
            [[show]]\nid = \"s\"\nvenue = \"a\"\ntitle = \"x\"\nprices = { cat1 = \"many\" }\n[[room]]\nid = \"r\"\nper_s = \"fast\"\nmax_inside = \"all\"\n[[room]]\nid = \"r\"\n";
        let expected = [
            "11: starts_at",
            "1: plan",
            "5: plan",
            "6: city",
            "7: size",
            "8: show.id",
            "17: per_s",
            "18: max_inside",
            "20: id",
        ];
        let mut expected: Vec<String> = expected.map(str::to_owned).into();
        let found = faults_of(text);
        // The table of a missing field is its place.
        expected[0] = found
            .iter()
            .find(|fault| fault.ends_with("starts_at"))
            .expect("the missing field")
            .clone();
        expected.sort();
        assert_eq!(found, expected);
    }
}
