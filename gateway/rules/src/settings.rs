//! The settings of a room that bear on its pace.

use crate::document::PaceMode;

/// What the promoter set of a room's pace.
#[derive(Debug, Clone, Copy)]
pub struct PaceSettings {
    /// Who decides.
    pub mode: PaceMode,
    /// Whether there is a line; without one everybody is called while there is room.
    pub line: bool,
    /// Millionths of a visitor a second: the pace, or in auto mode the most.
    pub per_s_u: u64,
    /// The most inside.
    pub max_inside: u64,
    /// Booking's target, milliseconds.
    pub p99_ms: u64,
}
