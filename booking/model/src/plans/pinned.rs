//! A plan version as shows pin it: its seats, and the seat map as it is served.

use super::seatmap::SeatMap;

/// A plan version, read once and shared by every show that pins it.
#[derive(Debug)]
pub struct SeatingPlan {
    /// Its version.
    pub version: u32,
    /// The seats.
    pub map: SeatMap,
    /// The seat map as it is served.
    pub geometry: EncodedGeometry,
}

/// The seat map as it is served, made once a plan version.
#[derive(Debug, Clone)]
pub struct EncodedGeometry {
    /// The JSON document.
    pub json: bytes::Bytes,
    /// The compact form.
    pub packed: bytes::Bytes,
    /// A digest of the content, for tags.
    pub digest: String,
}
