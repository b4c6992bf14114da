//! Reads text and binary frames of the live socket, as a client does.

use serde::Deserialize;
use serde_json::{Value, json};

/// The parts of a text frame that a visitor uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VisitorFrame {
    /// The visitor's own place.
    Place {
        /// The join number.
        number: Option<u64>,
        /// The rank; `None` before the draw.
        rank: Option<u64>,
        /// The people ahead; `None` before the draw.
        ahead: Option<u64>,
    },
    /// The state of the line.
    Line {
        /// Visitors with a rank below this may claim a pass.
        released: u64,
        /// The free seats of all shows.
        free: Option<u64>,
    },
    /// The visitor's turn has come.
    Turn,
    /// The line has ended.
    Closed {
        /// `sold_out` or `closed`.
        reason: String,
    },
    /// One of the visitor's own holds.
    Hold,
    /// Any other frame.
    Other,
}

#[derive(Deserialize)]
struct RawVisitorFrame {
    #[serde(rename = "type")]
    what: String,
    number: Option<u64>,
    rank: Option<u64>,
    ahead: Option<u64>,
    released: Option<u64>,
    reason: Option<String>,
    seats: Option<RawSeats>,
}

#[derive(Deserialize)]
struct RawSeats {
    free: Option<u64>,
}

/// Reads a text frame. Returns `None` if the frame is not as the contract describes it.
pub fn read(text: &str) -> Option<VisitorFrame> {
    let raw: RawVisitorFrame = serde_json::from_str(text).ok()?;
    Some(match raw.what.as_str() {
        "place" => VisitorFrame::Place {
            number: raw.number,
            rank: raw.rank,
            ahead: raw.ahead,
        },
        "line" => VisitorFrame::Line {
            released: raw.released?,
            free: raw.seats.and_then(|seats| seats.free),
        },
        "turn" => VisitorFrame::Turn,
        "hold" => VisitorFrame::Hold,
        "closed" => VisitorFrame::Closed {
            reason: raw.reason.unwrap_or_default(),
        },
        _ => VisitorFrame::Other,
    })
}

impl VisitorFrame {
    /// Returns whether all sockets record the frame. Other frames are recorded only by the sockets
    /// of observers.
    pub fn is_personal(&self) -> bool {
        matches!(
            self,
            Self::Place { .. } | Self::Turn | Self::Closed { .. } | Self::Hold
        )
    }

    /// Returns the record of the frame for the history. It has only the fields that the judge
    /// needs.
    pub fn record(&self, text: &str) -> Value {
        let whole: Value = serde_json::from_str(text).unwrap_or(Value::Null);
        let kept: &[&str] = match whole["type"].as_str() {
            Some("room") => &["phase", "paused", "joined", "released", "per_s", "message"],
            Some("draw") => {
                return json!({
                    "type": "draw",
                    "frozen": whole["n"].is_u64(),
                    "drawn": whole["drawn_at"].is_string(),
                });
            }
            Some("line") => &["released", "per_s", "waiting", "seats"],
            Some("hold") => {
                let expires_ms = whole["expires_at"]
                    .as_str()
                    .and_then(crate::swarm::clock::rfc3339_ms);
                return json!({
                    "type": "hold", "hold": whole["hold"], "state": whole["state"],
                    "expires_ms": expires_ms,
                });
            }
            Some("turn") => {
                let before_ms = whole["claim_before"]
                    .as_str()
                    .and_then(crate::swarm::clock::rfc3339_ms);
                return json!({"type": "turn", "claim_before_ms": before_ms});
            }
            _ => &["number", "rank", "ahead", "reason"],
        };
        let mut record = json!({"type": whole["type"]});
        for field in kept {
            if let Some(value) = whole.get(*field) {
                record[*field] = value.clone();
            }
        }
        record
    }
}

/// The states of all cells of a show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwarmSeatSnapshot {
    /// The version of the feed.
    pub version: u64,
    /// The number of cells.
    pub cells: u32,
    /// Two bits for each cell. The first cell has the lowest bits of the first byte.
    pub packed: Vec<u8>,
}

/// The cells that changed between two versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwarmSeatDelta {
    /// The version before the changes.
    pub from: u64,
    /// The version after the changes.
    pub to: u64,
    /// The index and new state of each changed cell.
    pub cells: Vec<(u32, u8)>,
}

fn read_u64(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?))
}

impl SwarmSeatSnapshot {
    /// Reads a `0x01` frame. The answer to `GET …/seats` has the same form.
    pub fn read(frame: &[u8]) -> Option<Self> {
        let (&kind, rest) = frame.split_first()?;
        let version = read_u64(rest)?;
        let cells = u32::from_le_bytes(rest.get(8..12)?.try_into().ok()?);
        let packed = rest.get(12..)?.to_vec();
        (kind == 1).then_some(Self {
            version,
            cells,
            packed,
        })
    }

    /// Returns the state of a cell: 0 free, 1 held, 2 sold, 3 not for sale or not in the snapshot.
    pub fn state(&self, cell: usize) -> u8 {
        self.packed
            .get(cell / 4)
            .map_or(3, |byte| byte >> (2 * (cell % 4)) & 3)
    }

    /// Sets the state of a cell.
    pub fn set(&mut self, cell: usize, state: u8) {
        if let Some(byte) = self.packed.get_mut(cell / 4) {
            let shift = 2 * (cell % 4);
            *byte = (*byte & !(3 << shift)) | (state & 3) << shift;
        }
    }

    /// Returns how many cells are in each state.
    pub fn counts(&self) -> [usize; 4] {
        let mut counts = [0; 4];
        for cell in 0..self.cells as usize {
            counts[usize::from(self.state(cell))] += 1;
        }
        counts
    }
}

impl SwarmSeatDelta {
    /// Reads a `0x02` frame.
    pub fn read(frame: &[u8]) -> Option<Self> {
        let (&kind, rest) = frame.split_first()?;
        let (from, to) = (read_u64(rest)?, read_u64(rest.get(8..)?)?);
        let mut values = rest.get(16..)?.iter();
        let mut cells = Vec::new();
        let mut previous = 0_u64;
        while let Some(value) = leb128(&mut values)? {
            previous += value >> 2;
            cells.push((u32::try_from(previous).ok()?, (value & 3) as u8));
        }
        (kind == 2).then_some(Self { from, to, cells })
    }
}

/// Reads the next value in LEB128. Returns `Some(None)` if no bytes are left. Returns `None` if the
/// bytes end within a value or the value is too large.
#[expect(
    clippy::option_option,
    reason = "the end of the frame and a broken frame are different things"
)]
fn leb128(bytes: &mut std::slice::Iter<'_, u8>) -> Option<Option<u64>> {
    let mut value = 0_u64;
    for shift in (0..63).step_by(7) {
        let Some(byte) = bytes.next() else {
            return if shift == 0 { Some(None) } else { None };
        };
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(Some(value));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_has_two_bits_for_each_cell_and_the_lowest_bits_come_first() {
        let mut frame = vec![1, 7, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0];
        frame.extend([0b11_10_01_00, 0b01]);
        let mut snapshot = SwarmSeatSnapshot::read(&frame).expect("a snapshot");
        let states: Vec<u8> = (0..5).map(|cell| snapshot.state(cell)).collect();
        assert_eq!((snapshot.version, states), (7, vec![0, 1, 2, 3, 1]));
        snapshot.set(4, 2);
        assert_eq!((snapshot.state(4), snapshot.counts()), (2, [1, 1, 2, 1]));
    }

    #[test]
    fn each_index_of_a_delta_counts_from_the_index_before() {
        let mut frame = vec![2];
        frame.extend(7_u64.to_le_bytes());
        frame.extend(9_u64.to_le_bytes());
        // Cell 3 becomes held, and cell 203, which is 200 further, becomes sold.
        frame.extend([3 << 2 | 1, 0xa2, 0x06]);
        let delta = SwarmSeatDelta::read(&frame).expect("a delta");
        assert_eq!(delta.cells, [(3, 1), (203, 2)]);
        frame.pop();
        assert_eq!(SwarmSeatDelta::read(&frame), None);
    }

    #[test]
    fn the_type_of_a_text_frame_decides_how_it_is_read() {
        assert_eq!(
            read(r#"{"type":"line","released":4,"seats":{"free":3}}"#),
            Some(VisitorFrame::Line {
                released: 4,
                free: Some(3)
            })
        );
        assert_eq!(
            read(r#"{"type":"turn","claim_before":null}"#),
            Some(VisitorFrame::Turn)
        );
        assert_eq!(read("[]"), None);
    }
}
