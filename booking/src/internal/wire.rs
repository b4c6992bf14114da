//! The formats of the internal calls, for both ends. All are JSON, except the snapshot of a show,
//! which is packed.

use bytes::{BufMut, Bytes, BytesMut};
use fairgate_model::holds::HoldSignalState;
use fairgate_model::ids::ShowId;
use fairgate_model::onsale::OnsaleReport;
use fairgate_pass::Holder;
use serde::{Deserialize, Serialize};

use crate::ledger::EndedVisit;
use crate::store::HoldSignal;

/// `GET /internal/v1/state`: whether this booking process can sell, and which rooms cover which
/// shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookingStateReply {
    /// Whether gateways should send calls to this process.
    pub ready: bool,
    /// Why gateways should not send calls.
    pub reasons: Vec<String>,
    /// Problems that do not stop the sale, but should be fixed.
    pub warnings: Vec<String>,
    /// The ledger's id, in hex. A gateway with another ledger must not use this process.
    pub ledger: String,
    /// The rooms and the patterns of their shows.
    pub coverage: Vec<(String, Vec<String>)>,
    /// Changes whenever this process knows other shows than before. 0 if an older booking process
    /// does not send it.
    #[serde(default)]
    pub shows_edition: u64,
}

/// `POST /internal/v1/shows`: takes patterns, and returns
/// [`ShowSummary`](super::gateway_desk::ShowSummary) values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShowsRequest {
    /// Ids of shows, and globs such as `g1-*`.
    pub patterns: Vec<String>,
}

/// `PUT /internal/v1/coverage`: the whole list, which replaces the stored list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverageRequest {
    /// The rooms and the patterns of their shows.
    pub coverage: Vec<(String, Vec<String>)>,
}

/// `POST /internal/v1/onsale`: takes an
/// [`OnsaleRequest`](fairgate_model::onsale::OnsaleRequest), and returns what the on-sale file
/// changes at booking.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OnsaleReply {
    /// What is created and changed, and what stands against it.
    pub report: OnsaleReport,
    /// Whether everything was written.
    pub written: bool,
    /// The shows that are kept off sale until the file is written. Only the step that withholds
    /// shows names them.
    pub withheld: Vec<ShowId>,
}

/// A pass that no longer opens anything new.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoppedPassNotice {
    /// The join number of the pass.
    pub number: u64,
    /// When the pass expires, in seconds since the epoch.
    pub expires_s: i64,
    /// The visitor who holds the pass.
    pub holder: Holder,
    /// The visit that ended, if its visitor may get another pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visit: Option<EndedVisit>,
}

/// `POST /internal/v1/stopped-passes`: passes of a room that no longer open anything new.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopPassesRequest {
    /// The slug of the room.
    pub room: String,
    /// The passes.
    pub passes: Vec<StoppedPassNotice>,
}

/// From when on a room is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomEndNotice {
    /// The slug of the room.
    pub room: String,
    /// The version of the room's row at the gateway. Booking keeps the end of the newest version.
    pub version: u64,
    /// From when on the room's passes open nothing new, in milliseconds since the epoch. 0 if the
    /// room was closed by hand. `None` if the room has no end.
    pub over_from_ms: Option<i64>,
}

/// `POST /internal/v1/room-ends`: from when on rooms are over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndRoomsRequest {
    /// The rooms and their ends.
    pub ends: Vec<RoomEndNotice>,
}

/// `POST /internal/v1/pulse`: the room and the shows to count, and the cursor of the last finished
/// visitor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PulseRequest {
    /// The slug of the room whose trains are counted. If it is empty, no trains are counted.
    #[serde(default)]
    pub room: String,
    /// The slugs of shows. Unknown slugs are ignored.
    pub shows: Vec<String>,
    /// The cursor of the last finished visitor that the caller knows.
    pub finished_after: u64,
    /// Seats whose baskets run out within this many seconds count as lapsing soon.
    #[serde(default = "first_soon_s")]
    pub soon_s: u64,
}

/// How far a gateway of an earlier version looks ahead, in seconds.
fn first_soon_s() -> u64 {
    10
}

/// `GET /internal/v1/shows/{show}/changes`: the version to start from, and how long the answer may
/// wait for a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShowChangesRequest {
    /// The version that the caller has.
    pub since: u64,
    /// The longest wait, in milliseconds.
    pub wait_ms: u64,
}

/// `GET /internal/v1/signals`: each line is one signal, for as long as the caller listens. An empty
/// line shows that this process is alive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InternalHoldSignal {
    /// The visitor who has the hold.
    pub holder: Holder,
    /// The hold's id.
    pub hold: String,
    /// The new state of the hold.
    pub state: HoldSignalState,
    /// The hold's deadline, in milliseconds since the epoch.
    pub expires_at_ms: i64,
    /// The labels of the seats, if the signal is about an offer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seats: Vec<String>,
}

impl InternalHoldSignal {
    /// Makes the line from a signal of the store. `seats` are the labels of the seats if the signal
    /// is about an offer, and empty otherwise.
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

/// `POST /internal/v1/waiting`: takes the waiting visitors who are connected, and returns the
/// visitors who wait now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingRequest {
    /// The visitors who have a socket at the caller.
    pub here: Vec<Holder>,
}

/// `POST /internal/v1/left-baskets`: ends baskets whose visitors are gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftBasketsRequest {
    /// The baskets.
    pub left: Vec<VisitorsHold>,
}

/// `POST /internal/v1/living-holds`: which of these holds live, as [`LivingHold`] values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LivingHoldsRequest {
    /// The holds and the visitors who made them.
    pub holds: Vec<VisitorsHold>,
}

/// A hold, and the visitor who made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VisitorsHold {
    /// The id of the hold.
    pub hold: String,
    /// The visitor who made it.
    pub holder: Holder,
}

/// A hold that lives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LivingHold {
    /// The visitor who made it.
    pub holder: Holder,
    /// When it ends if nothing is done, in milliseconds since the epoch.
    pub ends_at_ms: i64,
}

/// The number of bytes before the packed cells: the version and the cell count.
const SNAPSHOT_HEAD: usize = 12;

/// Writes the answer to `GET /internal/v1/shows/{show}/snapshot`: `u64le version, u32le cells`,
/// then the packed cells.
#[must_use]
pub fn write_snapshot(version: u64, cells: u32, packed: &[u8]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(SNAPSHOT_HEAD + packed.len());
    bytes.put_u64_le(version);
    bytes.put_u32_le(cells);
    bytes.put_slice(packed);
    bytes.freeze()
}

/// Reads a snapshot into version, cell count and packed cells. Returns `None` if its length is
/// wrong.
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
    fn a_snapshot_is_read_as_it_was_written_and_a_truncated_snapshot_is_refused() {
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
