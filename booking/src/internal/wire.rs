//! The shapes of the internal calls, for both ends. JSON, but for the picture of a show, which is
//! packed as it is kept.

use bytes::{BufMut, Bytes, BytesMut};
use fairgate_model::holds::HoldSignalState;
use fairgate_pass::Holder;
use serde::{Deserialize, Serialize};

use crate::store::HoldSignal;

/// `GET /internal/v1/state`: how this booking is, and what it knows of rooms.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookingStateReply {
    /// Whether calls should come here.
    pub ready: bool,
    /// Why not.
    pub reasons: Vec<String>,
    /// What works, and should not be left so.
    pub warnings: Vec<String>,
    /// Which ledger this is, in hex: a gateway with another one has come to the wrong place.
    pub ledger: String,
    /// Which room covers which patterns.
    pub coverage: Vec<(String, Vec<String>)>,
}

/// `POST /internal/v1/shows`: patterns in, [`ShowSummary`](crate::app::ShowSummary)s out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShowsRequest {
    /// Ids, and globs such as `g1-*`.
    pub patterns: Vec<String>,
}

/// `PUT /internal/v1/coverage`: the whole list, replacing the last one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverageRequest {
    /// Which room covers which patterns.
    pub coverage: Vec<(String, Vec<String>)>,
}

/// `POST /internal/v1/pulse`: of which room, which shows, and from where on who is done is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PulseRequest {
    /// The slug of the room whose trains count. One that is not named has none.
    #[serde(default)]
    pub room: String,
    /// Slugs; unknown ones count nothing.
    pub shows: Vec<String>,
    /// The cursor of the last one that was told.
    pub finished_after: u64,
}

/// `GET /internal/v1/shows/{show}/changes`: from where on, and how long the answer may wait for
/// something to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShowChangesRequest {
    /// The version that the caller has.
    pub since: u64,
    /// At most so long.
    pub wait_ms: u64,
}

/// `GET /internal/v1/signals`: one a line, for as long as the caller listens. An empty line says
/// that this booking lives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InternalHoldSignal {
    /// Whose.
    pub holder: Holder,
    /// Which.
    pub hold: String,
    /// What became of it.
    pub state: HoldSignalState,
    /// Its deadline, milliseconds since the epoch.
    pub expires_at_ms: i64,
    /// The seats' labels, where it is an offer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seats: Vec<String>,
}

impl InternalHoldSignal {
    /// What the store said, with the labels of the seats where it is an offer.
    #[must_use]
    pub fn new(signal: &HoldSignal, seats: Vec<String>) -> Self {
        Self {
            holder: signal.visitor,
            hold: signal.hold.to_string(),
            state: signal.state,
            expires_at_ms: signal.expires_at_ms,
            seats,
        }
    }
}

/// `POST /internal/v1/waiting`: who is here of those who wait, and the list of all who do comes
/// back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingRequest {
    /// Visitors with a socket at the caller.
    pub here: Vec<Holder>,
}

/// Bytes before the packed cells: version and cell count.
const SNAPSHOT_HEAD: usize = 12;

/// `GET /internal/v1/shows/{show}/snapshot`: `u64le version, u32le cells`, then the cells as they
/// are packed.
#[must_use]
pub fn write_snapshot(version: u64, cells: u32, packed: &[u8]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(SNAPSHOT_HEAD + packed.len());
    bytes.put_u64_le(version);
    bytes.put_u32_le(cells);
    bytes.put_slice(packed);
    bytes.freeze()
}

/// Reads a snapshot: version, cell count, packed cells. `None` where it is cut short.
#[must_use]
pub fn read_snapshot(bytes: &Bytes) -> Option<(u64, u32, Bytes)> {
    let (version, rest) = bytes.split_first_chunk::<8>()?;
    let (cells, packed) = rest.split_first_chunk::<4>()?;
    let cells = u32::from_le_bytes(*cells);
    (packed.len() == (cells as usize).div_ceil(4)).then(|| {
        let packed = bytes.slice(SNAPSHOT_HEAD..);
        (u64::from_le_bytes(*version), cells, packed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_comes_back_as_it_was_and_never_in_part() {
        let sent = write_snapshot((7 << 40) + 3, 9, &[1, 2, 3]);
        let (version, cells, packed) = read_snapshot(&sent).expect("it is whole");
        assert_eq!(
            (version, cells, &packed[..]),
            ((7 << 40) + 3, 9, &[1, 2, 3][..])
        );
        for len in 0..sent.len() {
            assert_eq!(read_snapshot(&sent.slice(..len)), None, "{len} bytes");
        }
    }
}
