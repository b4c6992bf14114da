//! The picture of one show's seats, which all watchers of the show share. Also makes the frames
//! that bring a watcher up to date. Pure.

use super::frame::SharedFrame;
use super::history::SeatDeltaHistory;
use super::seat_frames;
use crate::upstream::BookingSeatSnapshot;

/// A delta up to this length (bytes) is sent even if it is longer than a snapshot, so that tiny
/// shows have deltas, too.
const DELTA_LEN_MIN: usize = 256;

/// The picture of one show that its watchers share.
pub struct SharedSeatView {
    picture: WatchedSeatPicture,
    history: SeatDeltaHistory,
    /// The encoded picture, once a watcher has asked for it.
    snapshot: Option<SharedFrame>,
}

struct WatchedSeatPicture {
    version: u64,
    cells: u32,
    packed: Vec<u8>,
}

impl SharedSeatView {
    /// Makes the view of a show from booking's snapshot.
    #[must_use]
    pub fn from_snapshot(snapshot: BookingSeatSnapshot) -> Self {
        Self {
            picture: WatchedSeatPicture {
                version: snapshot.version,
                cells: snapshot.cells,
                packed: snapshot.packed.into(),
            },
            history: SeatDeltaHistory::default(),
            snapshot: None,
        }
    }

    /// Returns the newest version.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.picture.version
    }

    /// Takes over the changes that lead from one version to a newer one.
    pub fn apply_delta(&mut self, from: u64, to: u64, cells: Vec<(u32, u8)>) {
        for (index, state) in &cells {
            seat_frames::set_cell(&mut self.picture.packed, *index, *state);
        }
        self.picture.version = to;
        self.snapshot = None;
        self.history.add(from, to, cells);
    }

    /// Returns the frame that brings a client with this version up to date, or `None` if it is up
    /// to date.
    #[must_use]
    pub fn since(&mut self, from_version: Option<u64>) -> Option<SharedFrame> {
        let WatchedSeatPicture {
            version,
            cells,
            packed,
        } = &self.picture;
        if from_version == Some(*version) {
            return None;
        }
        let snapshot_len = (packed.len() + 13).max(DELTA_LEN_MIN);
        let delta =
            from_version.and_then(|from_version| self.history.since(from_version, snapshot_len));
        Some(delta.unwrap_or_else(|| {
            self.snapshot
                .get_or_insert_with(|| {
                    SharedFrame::binary(seat_frames::snapshot(*version, *cells, packed))
                })
                .clone()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The length of the WebSocket header of a frame of 126 bytes and more.
    const HEADER: usize = 4;

    fn kind(frame: &SharedFrame) -> u8 {
        frame.bytes()[HEADER]
    }

    fn shown() -> SharedSeatView {
        SharedSeatView {
            picture: WatchedSeatPicture {
                version: 7,
                cells: 2000,
                packed: vec![0; 500],
            },
            history: SeatDeltaHistory::default(),
            snapshot: None,
        }
    }

    #[test]
    fn a_slow_watcher_gets_one_delta_or_a_snapshot_whichever_is_shorter() {
        let mut shown = shown();
        assert_eq!(shown.since(Some(7)), None);
        for version in 7..10 {
            shown.apply_delta(version, version + 1, vec![(version as u32, 2)]);
        }
        assert_eq!(
            shown.since(Some(7)),
            Some(SharedFrame::binary(seat_frames::delta(
                7,
                10,
                &[(7, 2), (8, 2), (9, 2)]
            )))
        );
        let snapshot = shown.since(None).expect("a snapshot");
        assert_eq!(kind(&snapshot), 1);
        let many: Vec<_> = (0..2000).map(|cell| (cell, 1)).collect();
        shown.apply_delta(10, 11, many);
        assert_eq!(kind(&shown.since(Some(7)).expect("a frame")), 1);
        assert_eq!(kind(&shown.since(Some(10)).expect("a frame")), 1);
    }

    #[test]
    fn a_snapshot_is_encoded_once_for_all_and_shows_the_newest_state() {
        let mut shown = shown();
        shown.apply_delta(7, 8, vec![(0, 3)]);
        let (one, other) = (shown.since(None), shown.since(Some(1)));
        assert_eq!(one, other);
        assert_eq!(
            one.as_ref().map(|frame| frame.bytes().as_ptr()),
            other.as_ref().map(|frame| frame.bytes().as_ptr())
        );
        assert_eq!(one.expect("a frame").bytes()[HEADER + 13], 3);
    }
}
