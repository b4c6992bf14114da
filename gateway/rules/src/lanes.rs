//! Lanes are several lines in one room. So far a room has only one line. This file has the messages
//! that refuse lanes in a room's document, and a lane in a join.

/// The message to a promoter whose document has lanes.
pub(crate) const REFUSED_IN_DOCUMENT: &str =
    "lanes are not available yet; leave them out, or make one room for each lane";
/// The message to a visitor who asks for a lane when joining.
pub const REFUSED_IN_JOIN: &str = "this room has one line";
