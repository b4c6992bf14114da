//! The plan as a document in the format `fairgate`.

use serde::{Serialize, Serializer};

use super::oval::ArenaPoint;

/// A price category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ArenaCategory {
    Cat1,
    Cat2,
    Cat3,
    Cat4,
    Cat5,
}

/// The whole plan.
#[derive(Serialize)]
pub struct ArenaDocument {
    pub name: &'static str,
    pub focal: DocumentPoint,
    pub stage: StageShape,
    pub categories: Vec<CategoryEntry>,
    pub sections: Vec<ArenaSection>,
}

/// A category with its name and its colour.
#[derive(Serialize)]
pub struct CategoryEntry {
    pub key: ArenaCategory,
    pub label: &'static str,
    pub color: &'static str,
}

/// The stage.
#[derive(Serialize)]
pub struct StageShape {
    pub label: &'static str,
    pub points: Vec<DocumentPoint>,
}

/// A section: a block of the floor, a box, or a part of a tier between two aisles.
#[derive(Serialize)]
pub struct ArenaSection {
    pub label: String,
    pub category: ArenaCategory,
    pub outline: Vec<DocumentPoint>,
    pub rows: Vec<ArenaRow>,
}

/// A row, or the part of a row on one side of an entrance.
#[derive(Serialize)]
pub struct ArenaRow {
    pub label: String,
    /// The row's category, if it differs from the section's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<ArenaCategory>,
    pub count: u32,
    /// The number of the row's first seat.
    pub first: u32,
    pub from: DocumentPoint,
    pub to: DocumentPoint,
    #[serde(serialize_with = "tenths")]
    pub bend: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accessible: Vec<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub companion: Vec<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub restricted_view: bool,
}

/// A point, written as `[x, y]` and rounded to tenths of a unit.
#[derive(Debug, Clone, Copy)]
pub struct DocumentPoint(pub ArenaPoint);

/// Wraps points for the document.
pub fn points(list: &[ArenaPoint]) -> Vec<DocumentPoint> {
    list.iter().copied().map(DocumentPoint).collect()
}

impl Serialize for DocumentPoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        [round_to_tenths(self.0.0), round_to_tenths(self.0.1)].serialize(serializer)
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
fn tenths<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    round_to_tenths(*value).serialize(serializer)
}

/// Rounds to a tenth of a unit, 2.5 millimetres. Adding 0.0 turns -0.0 into 0.0.
fn round_to_tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0 + 0.0
}
