//! Encodes the binary frames that carry seats. The encoding is pure and is checked against golden
//! frames.

use bytes::{BufMut, Bytes, BytesMut};

/// The first byte of a snapshot, which has every cell.
const SNAPSHOT: u8 = 0x01;
/// The first byte of a delta, which has the cells that changed.
const DELTA: u8 = 0x02;

/// Encodes a snapshot: `0x01, u64le version, u32le cells`, then the packed cells. Each cell has two
/// bits. A byte has four cells, lowest bits first.
#[must_use]
pub fn snapshot(version: u64, cells: u32, packed: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(13 + packed.len());
    frame.put_u8(SNAPSHOT);
    frame.put_u64_le(version);
    frame.put_u32_le(cells);
    frame.put_slice(packed);
    frame.freeze()
}

/// Encodes a delta: `0x02, u64le from, u64le to`, then one LEB128 value for each cell: `(index −
/// previous) << 2 | state`. The cells must be sorted by index.
#[must_use]
pub fn delta(from: u64, to: u64, cells: &[(u32, u8)]) -> Bytes {
    let mut frame = BytesMut::with_capacity(17 + cells.len() * 3);
    frame.put_u8(DELTA);
    frame.put_u64_le(from);
    frame.put_u64_le(to);
    let mut previous = 0;
    for (index, state) in cells {
        let mut value = u64::from(index - previous) << 2 | u64::from(state & 3);
        while value >= 0x80 {
            frame.put_u8((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        frame.put_u8(value as u8);
        previous = *index;
    }
    frame.freeze()
}

/// Sets one cell in packed bits. Ignores an index beyond the end.
pub fn set_cell(packed: &mut [u8], index: u32, state: u8) {
    let shift = (index % 4) * 2;
    if let Some(byte) = usize::try_from(index / 4)
        .ok()
        .and_then(|at| packed.get_mut(at))
    {
        *byte = *byte & !(3 << shift) | (state & 3) << shift;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads a delta. This decoder was written from the contract, and not from the encoder above.
    fn read_delta(frame: &[u8]) -> (u64, u64, Vec<(u32, u8)>) {
        assert_eq!(frame[0], 2);
        let u64_at =
            |at: usize| u64::from_le_bytes(frame[at..at + 8].try_into().expect("eight bytes"));
        let (mut cells, mut previous, mut value, mut shift) = (Vec::new(), 0_u32, 0_u64, 0);
        for byte in &frame[17..] {
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                previous += (value >> 2) as u32;
                cells.push((previous, (value & 3) as u8));
                (value, shift) = (0, 0);
            }
        }
        (u64_at(1), u64_at(9), cells)
    }

    #[test]
    fn encoded_frames_equal_bytes_worked_out_by_hand() {
        let mut packed = [0; 2];
        for (index, state) in [(0, 1), (1, 2), (4, 3)] {
            set_cell(&mut packed, index, state);
        }
        assert_eq!(
            hex::encode(snapshot(7, 5, &packed)),
            "010700000000000000050000000903"
        );
        assert_eq!(
            hex::encode(delta(7, 9, &[(0, 1), (3, 2), (200, 0)])),
            "020700000000000000090000000000000001".to_owned() + "0e" + "9406"
        );
    }

    /// One frame of the file that the pages and the gateway share.
    #[derive(serde::Deserialize)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    enum Golden {
        Snapshot {
            hex: String,
            version: String,
            states: Vec<u8>,
        },
        Delta {
            hex: String,
            from: String,
            to: String,
            changes: Vec<(u32, u8)>,
        },
    }

    #[test]
    fn encoded_frames_equal_the_golden_frames_of_the_pages() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../waitroom-ui/wire/frames.json"
        );
        let file: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(path).expect("the golden frames"))
                .expect("JSON");
        let frames: Vec<Golden> = serde_json::from_value(file["frames"].clone()).expect("frames");
        assert!(frames.len() >= 5);
        for frame in frames {
            let (written, expected) = match frame {
                Golden::Snapshot {
                    hex,
                    version,
                    states,
                } => {
                    let mut packed = vec![0; states.len().div_ceil(4)];
                    for (index, state) in (0..).zip(&states) {
                        set_cell(&mut packed, index, *state);
                    }
                    let cells = u32::try_from(states.len()).expect("few");
                    (
                        snapshot(version.parse().expect("a version"), cells, &packed),
                        hex,
                    )
                }
                Golden::Delta {
                    hex,
                    from,
                    to,
                    changes,
                } => (
                    delta(
                        from.parse().expect("a version"),
                        to.parse().expect("a version"),
                        &changes,
                    ),
                    hex,
                ),
            };
            assert_eq!(hex::encode(written), expected);
        }
    }

    proptest! {
        #[test]
        fn a_delta_decodes_to_what_was_encoded(cells in proptest::collection::btree_map(0_u32..500_000, 0_u8..4, 0..200), from: u64, to: u64) {
            let cells: Vec<_> = cells.into_iter().collect();
            prop_assert_eq!(read_delta(&delta(from, to, &cells)), (from, to, cells));
        }
    }
}
