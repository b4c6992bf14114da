//! Lanes are several lines in one room. A room has one line so far, so lanes are refused, in a
//! room's document and in a join, and both refusals stand here.

/// What promoters are told whose document has lanes.
pub(crate) const REFUSED_IN_DOCUMENT: &str =
    "lanes are not built yet; leave them out, or make a room for each";
/// What visitors are told who ask for a lane when they join.
pub const REFUSED_IN_JOIN: &str = "this room has one line";
