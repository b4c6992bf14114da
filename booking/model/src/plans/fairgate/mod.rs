//! Reads plans in our own format, which people and programs can write easily. Booking's README
//! describes the format, with an example.
//!
//! - A seat's label is `Row-Seat`, or `Section-Row-Seat` in a section. The units of an area are
//!   `Area-1`, `Area-2` …, or `Section-Area-1` … in a section.
//! - A row lists its seats with their positions, or says how many seats stand on a straight line or
//!   an arc. See [`arc`].
//! - A row or an area without a category of its own has the category of its section.
//! - A field that the format does not have is a fault.

mod arc;
mod fields;
mod rows;

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{PlanFault, PlanImportResult};
use crate::plans::categories::{CategoryKeys, InheritedCategory};
use crate::plans::draft::SeatMapDraft;
use crate::plans::foreign_json::{PlanFaults, PlanObject, document, placed};
use crate::plans::seatmap::{AdmissionArea, PlanStage, Seat, SeatKind, SectionOutline};

const DOCUMENT_FIELDS: [&str; 7] = [
    "name",
    "focal",
    "stage",
    "categories",
    "sections",
    "rows",
    "areas",
];

/// Reads a plan of our own format.
///
/// # Errors
/// Every fault of the plan. A text that is not JSON, or not a JSON object, is a single fault.
pub fn parse_fairgate(text: &str) -> PlanImportResult {
    let Some(plan) = document(text)? else {
        return Err(vec![PlanFault {
            at: String::new(),
            code: "not_a_plan",
            message: "This JSON is not a plan: it is not an object.".to_owned(),
        }]);
    };
    let mut reader = FairgateReader {
        draft: SeatMapDraft::default(),
        faults: PlanFaults::default(),
        categories: CategoryKeys::new("category"),
        sections: HashMap::new(),
    };
    reader.read_head(&plan);
    let whole = PlanObject::document(&plan);
    reader.read_content(&whole, None, &FairgateScope::default());
    for (index, section) in whole.list_objects("sections", &mut reader.faults) {
        reader.read_section(&PlanObject::new(None, "sections", index, section));
    }
    reader.draft.finish(reader.faults)
}

struct FairgateReader {
    draft: SeatMapDraft,
    faults: PlanFaults,
    categories: CategoryKeys,
    /// For each section's label, the path of the first section with this label.
    sections: HashMap<String, String>,
}

/// What rows and areas inherit from the section that they are in.
#[derive(Default)]
struct FairgateScope {
    /// The text with which labels begin, such as "Stalls-".
    prefix: String,
    section: Option<u32>,
    category: InheritedCategory,
}

impl FairgateReader {
    /// Reads everything but the seats: the name, the categories, the focal point, and the stage.
    fn read_head(&mut self, plan: &Map<String, Value>) {
        let whole = PlanObject::document(plan);
        whole.refuse_unknown(&DOCUMENT_FIELDS, &mut self.faults);
        let name = whole.text("name", &mut self.faults);
        name.unwrap_or_default()
            .clone_into(&mut self.draft.parts.name);
        let list = whole.list_objects("categories", &mut self.faults);
        for (index, category) in &list {
            PlanObject::new(None, "categories", *index, category)
                .refuse_unknown(&["key", "label", "color"], &mut self.faults);
        }
        let categories = &mut self.draft.parts.categories;
        self.categories
            .read_list(list, categories, &mut self.faults);
        self.draft.parts.focal = whole
            .pair("focal", &mut self.faults)
            .and_then(|at| placed(|| "focal".to_owned(), at, &mut self.faults));
        self.draft.parts.stage = self.read_stage(&whole);
    }

    fn read_stage(&mut self, whole: &PlanObject<'_>) -> Option<PlanStage> {
        let value = whole.get("stage")?;
        let Some(stage) = value.as_object() else {
            let message = "The stage is no object with `points`, and perhaps a `label`.";
            self.faults.add_fault("stage", "bad_object", message);
            return None;
        };
        let stage = PlanObject::member("stage", stage);
        stage.refuse_unknown(&["label", "points"], &mut self.faults);
        let label = stage.text("label", &mut self.faults).map(str::to_owned);
        if stage.get("points").is_none() {
            let message = "The stage has no `points`, so it cannot be drawn.";
            self.faults.add_fault(stage.path(), "bad_outline", message);
        }
        let points = stage.corners("points", &mut self.faults)?;
        Some(PlanStage { label, points })
    }

    fn read_section(&mut self, object: &PlanObject<'_>) {
        let known = ["label", "category", "outline", "rows", "areas"];
        object.refuse_unknown(&known, &mut self.faults);
        let label = object.label(&mut self.faults);
        if let Some(first) = label.and_then(|label| self.sections.get(label)) {
            let message = format!(
                "The section's label is already that of {first}. Every section needs its own."
            );
            self.faults
                .add_fault(object.path(), "duplicate_section", message);
        }
        let scope = FairgateScope {
            prefix: label.map(|label| format!("{label}-")).unwrap_or_default(),
            section: label.map(|label| self.draft.section(label)),
            category: self.categories.own_or_inherited(
                object,
                InheritedCategory::None,
                &mut self.faults,
            ),
        };
        if let Some(label) = label {
            self.sections
                .entry(label.to_owned())
                .or_insert_with(|| object.path());
        }
        let outline = object.corners("outline", &mut self.faults);
        if let (Some(section), Some(points)) = (scope.section, outline) {
            let outline = SectionOutline { section, points };
            self.draft.parts.outlines.push(outline);
        }
        self.read_content(object, Some(object), &scope);
    }

    /// Reads the rows and areas of the document or of a section.
    fn read_content(
        &mut self,
        object: &PlanObject<'_>,
        within: Option<&PlanObject<'_>>,
        scope: &FairgateScope,
    ) {
        for (index, row) in object.list_objects("rows", &mut self.faults) {
            self.read_row(&PlanObject::new(within, "rows", index, row), scope);
        }
        for (index, area) in object.list_objects("areas", &mut self.faults) {
            self.read_area(&PlanObject::new(within, "areas", index, area), scope);
        }
    }

    fn read_area(&mut self, object: &PlanObject<'_>, scope: &FairgateScope) {
        let known = ["label", "category", "capacity", "center"];
        object.refuse_unknown(&known, &mut self.faults);
        let label = object.label(&mut self.faults);
        let category = self
            .categories
            .required(object, scope.category, &mut self.faults);
        let capacity = object.capacity(&mut self.faults);
        let center = object
            .required_pair("center", &mut self.faults)
            .and_then(|at| placed(|| object.path_to("center"), at, &mut self.faults));
        let (Some(label), Some(category), Some(capacity), Some(center)) =
            (label, category, capacity, center)
        else {
            return;
        };
        if !self
            .draft
            .count_units(capacity as usize, || object.path(), &mut self.faults)
        {
            return;
        }
        let unit = Seat {
            label: format!("{}{label}", scope.prefix),
            x: center.x,
            y: center.y,
            category,
            section: scope.section,
            zone: None,
            row: None,
            number: label.to_owned(),
            accessible: false,
            companion: false,
            restricted_view: false,
            kind: SeatKind::Standing,
        };
        let area = AdmissionArea {
            label: unit.label.clone(),
            category,
            first: 0,
            capacity,
            section: scope.section,
            zone: None,
            center,
        };
        self.draft
            .add_area(area, &unit, &object.path(), &mut self.faults);
    }
}
