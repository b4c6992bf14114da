//! The demo's arena, as a plan in the format `fairgate`: an oval bowl of two tiers with boxes
//! between them, and blocks on the floor in front of a stage at one end.

mod bowl;
mod document;
mod floor;
mod oval;
mod stand;
#[cfg(test)]
mod tests;

use document::{ArenaCategory, ArenaDocument, CategoryEntry, DocumentPoint};

/// The categories with their colours. The colours are those of Okabe and Ito, which nearly
/// everybody can tell apart.
const CATEGORIES: [(ArenaCategory, &str, &str); 5] = [
    (ArenaCategory::Cat1, "Premium", "#d55e00"),
    (ArenaCategory::Cat2, "Gold", "#e69f00"),
    (ArenaCategory::Cat3, "Silver", "#009e73"),
    (ArenaCategory::Cat4, "Bronze", "#0072b2"),
    (ArenaCategory::Cat5, "Value", "#56b4e9"),
];

/// Writes the plan.
#[must_use]
pub fn document() -> String {
    let mut sections = floor::blocks();
    sections.extend(bowl::lower_tier());
    sections.extend(bowl::boxes());
    sections.extend(bowl::upper_tier());
    let category = |(key, label, color)| CategoryEntry { key, label, color };
    let plan = ArenaDocument {
        name: "Demo Arena",
        focal: DocumentPoint(floor::FOCAL),
        stage: floor::stage(),
        categories: CATEGORIES.map(category).into(),
        sections,
    };
    serde_json::to_string(&plan).expect("plain data always becomes JSON")
}
