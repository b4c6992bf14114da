//! What an on-sale file changes: the report that a preview shows, and the requests with which the
//! gateway asks booking for its part. `merge` decides which fields change.

pub mod merge;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::shows::document::ShowDocument;
use crate::venues::VenueLocation;

/// What an entry of an on-sale file describes.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum OnsaleKind {
    /// `[[venue]]`
    Venue,
    /// `[[show]]`
    Show,
    /// `[[room]]`
    Room,
}

impl OnsaleKind {
    /// Returns the name of the kind's tables in the file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Venue => "venue",
            Self::Show => "show",
            Self::Room => "room",
        }
    }
}

/// One venue, show or room.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema,
)]
pub struct OnsaleItem {
    /// What it is.
    pub kind: OnsaleKind,
    /// Its slug.
    pub id: String,
}

/// A field in which the file and the installation differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct OnsaleChange {
    /// What has the field.
    #[serde(flatten)]
    pub item: OnsaleItem,
    /// The field's name.
    pub field: String,
    /// The value before. Null if there is none.
    #[schema(value_type = Object)]
    pub from: Value,
    /// The file's value. Null if there is none.
    #[schema(value_type = Object)]
    pub to: Value,
    /// Whether `from` was set live since the file was last applied, while the file's value stayed
    /// the same. If so, `from` stays.
    pub live: bool,
}

/// A field that both the file and somebody else changed since the file was last applied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct OnsaleConflict {
    /// What has the field.
    #[serde(flatten)]
    pub item: OnsaleItem,
    /// The field's name.
    pub field: String,
    /// The value when the file was last applied.
    #[schema(value_type = Object)]
    pub applied: Value,
    /// The file's value now.
    #[schema(value_type = Object)]
    pub file: Value,
    /// The value in force now.
    #[schema(value_type = Object)]
    pub live: Value,
}

/// Something wrong with the file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct OnsaleFault {
    /// The line of the file, from 1. Null if the file was not sent as text.
    pub line: Option<usize>,
    /// The column of the line, from 1.
    pub column: Option<usize>,
    /// What has the fault. Null if the fault is in none of the tables.
    #[schema(value_type = Option<Object>)]
    pub item: Option<OnsaleItem>,
    /// The field's path, such as `prices.cat1`. Empty if the fault is not in a field.
    pub field: String,
    /// The code that the call for this entry alone would be refused with.
    pub code: String,
    /// What is wrong and what would be right.
    pub detail: String,
}

/// What applying a file does, or would do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct OnsaleReport {
    /// What does not exist yet.
    pub create: Vec<OnsaleItem>,
    /// The fields that change, and those that were set live and stay.
    pub change: Vec<OnsaleChange>,
    /// The fields that both sides changed. If there are any, nothing is applied.
    pub conflicts: Vec<OnsaleConflict>,
    /// Everything that is wrong with the file. If there is anything, nothing is applied.
    pub faults: Vec<OnsaleFault>,
    /// What the promoter should know, although it can be applied.
    pub warnings: Vec<String>,
}

impl OnsaleReport {
    /// Returns whether the file can be applied.
    #[must_use]
    pub fn is_applicable(&self) -> bool {
        self.conflicts.is_empty() && self.faults.is_empty()
    }

    /// Adds everything in another report.
    pub fn append(&mut self, other: Self) {
        self.create.extend(other.create);
        self.change.extend(other.change);
        self.conflicts.extend(other.conflicts);
        self.faults.extend(other.faults);
        self.warnings.extend(other.warnings);
    }

    /// Adds a fault of an item.
    pub fn add_fault(&mut self, item: &OnsaleItem, field: &str, code: &str, detail: String) {
        self.faults.push(OnsaleFault {
            item: Some(item.clone()),
            field: field.to_owned(),
            code: code.to_owned(),
            detail,
            ..OnsaleFault::default()
        });
    }
}

/// A venue of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OnsaleVenue {
    /// Its slug.
    pub id: String,
    /// The plan's format: `grid`, `fairgate` or `seatsio`.
    pub format: String,
    /// The plan: `ROWSxSEATS` for a grid, otherwise the contents of the plan's file.
    pub plan: String,
    /// Where the venue is.
    pub location: VenueLocation,
}

/// A show of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OnsaleShow {
    /// Its slug.
    pub id: String,
    /// Its document, as `PUT /v1/promoter/shows/{show}` takes it.
    pub document: ShowDocument,
}

/// What booking does with its part of an on-sale file. An apply takes the steps in this order, and
/// stores the rooms before the last one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnsaleStep {
    /// Only reports what the file changes.
    #[default]
    Compare,
    /// Takes off sale the shows that the rooms of the file would sell as they are now, until the
    /// file is written. So an apply that ends in the middle sells nothing that it should not.
    Withhold,
    /// Writes the file.
    Write,
}

/// Booking's part of an on-sale file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OnsaleRequest {
    /// What to do with it.
    pub step: OnsaleStep,
    /// The rooms, each with the patterns of its shows, as they are after the file was applied.
    pub coverage: Vec<(String, Vec<String>)>,
    /// The rooms of the file.
    pub rooms: Vec<String>,
    /// The venues of the file.
    pub venues: Vec<OnsaleVenue>,
    /// The shows of the file.
    pub shows: Vec<OnsaleShow>,
}
