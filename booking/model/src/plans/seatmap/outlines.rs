//! The shapes of a plan: the stage, and the outline of each section. They are only for drawing, and
//! a plan may have none.

use serde::{Deserialize, Serialize};

/// How many corners one shape has, at most.
pub const OUTLINE_POINTS_MAX: usize = 1_000;

/// A corner of a shape: the distances to the right and downwards, in the plan's units.
pub type OutlinePoint = [f32; 2];

/// The shape of the stage: what the audience looks at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanStage {
    /// The text on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its corners in order. The last is joined to the first.
    pub points: Vec<OutlinePoint>,
}

/// The shape of a section.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SectionOutline {
    /// Index into [`SeatMapParts::sections`](super::SeatMapParts::sections).
    pub section: u32,
    /// Its corners in order. The last is joined to the first.
    pub points: Vec<OutlinePoint>,
}
