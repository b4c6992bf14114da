//! A version of a plan, as shows pin it: its seats, and the encoded seat map that clients get.

use super::seatmap::SeatMap;

/// A plan version. It is read once and shared by every show that pins it.
#[derive(Debug)]
pub struct SeatingPlan {
    /// Its version.
    pub version: u32,
    /// The seats.
    pub map: SeatMap,
    /// The encoded seat map that clients get.
    pub geometry: EncodedGeometry,
}

/// The encoded seat map that clients get. It is made once for each plan version.
#[derive(Debug, Clone)]
pub struct EncodedGeometry {
    /// The seat map as a JSON document.
    pub json: bytes::Bytes,
    /// The seat map in its packed form.
    pub packed: bytes::Bytes,
    /// A digest of the content, for `ETag`s.
    pub digest: String,
}
