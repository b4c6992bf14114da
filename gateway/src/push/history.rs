//! Stores the latest deltas of one show. A watcher that missed some gets one delta with the newest
//! state of every changed cell. If no such delta can be made, the watcher needs a snapshot. Pure.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::frame::SharedFrame;
use super::seat_frames;

/// How many deltas are stored. At four a second, they cover 16 seconds.
const DELTAS_MAX: usize = 64;
/// How many cells the stored deltas may have together. This limits the memory in a burst of sales.
const CELLS_MAX: usize = 20_000;

struct StoredSeatDelta {
    from: u64,
    to: u64,
    cells: Vec<(u32, u8)>,
    frame: SharedFrame,
}

/// The latest deltas. Each begins at the version at which the delta before it ends.
#[derive(Default)]
pub struct SeatDeltaHistory {
    deltas: VecDeque<StoredSeatDelta>,
    cell_count: usize,
    /// Merged deltas up to the newest version, by the version at which they start. Watchers that
    /// missed the same deltas share one.
    merged: HashMap<u64, SharedFrame>,
}

impl SeatDeltaHistory {
    /// Adds the delta that leads to the newest version. A delta that does not follow the last one
    /// starts the history anew.
    pub fn add(&mut self, from: u64, to: u64, cells: Vec<(u32, u8)>) {
        if self.deltas.back().is_some_and(|last| last.to != from) {
            self.clear();
        }
        self.merged.clear();
        self.cell_count += cells.len();
        self.deltas.push_back(StoredSeatDelta {
            from,
            to,
            frame: SharedFrame::binary(seat_frames::delta(from, to, &cells)),
            cells,
        });
        while self.deltas.len() > DELTAS_MAX || self.cell_count > CELLS_MAX {
            let Some(forgotten) = self.deltas.pop_front() else {
                return;
            };
            self.cell_count -= forgotten.cells.len();
        }
    }

    /// Forgets all deltas.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns one frame that leads from version `from_version` to the newest. Returns `None` if no
    /// stored delta starts at `from_version`, or the frame would be longer than `len_max`.
    pub fn since(&mut self, from_version: u64, len_max: usize) -> Option<SharedFrame> {
        let first = self
            .deltas
            .iter()
            .position(|delta| delta.from == from_version)?;
        let last = self.deltas.back()?;
        let frame = if first + 1 == self.deltas.len() {
            last.frame.clone()
        } else if let Some(merged) = self.merged.get(&from_version) {
            merged.clone()
        } else {
            let missed = self.deltas.range(first..).flat_map(|delta| &delta.cells);
            let newest: BTreeMap<u32, u8> = missed.copied().collect();
            let cells: Vec<_> = newest.into_iter().collect();
            let merged = SharedFrame::binary(seat_frames::delta(from_version, last.to, &cells));
            self.merged.insert(from_version, merged.clone());
            merged
        };
        (frame.bytes().len() <= len_max).then_some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY_LEN: usize = usize::MAX;

    fn delta(from: u64, to: u64, cells: &[(u32, u8)]) -> SharedFrame {
        SharedFrame::binary(seat_frames::delta(from, to, cells))
    }

    fn history() -> SeatDeltaHistory {
        let mut history = SeatDeltaHistory::default();
        history.add(0, 3, vec![(1, 1), (5, 1)]);
        history.add(3, 4, vec![(5, 2)]);
        history.add(4, 9, vec![(2, 1)]);
        history
    }

    #[test]
    fn missed_deltas_are_merged_with_the_newest_state_of_every_changed_cell() {
        let mut history = history();
        assert_eq!(history.since(4, ANY_LEN), Some(delta(4, 9, &[(2, 1)])));
        assert_eq!(
            history.since(0, ANY_LEN),
            Some(delta(0, 9, &[(1, 1), (2, 1), (5, 2)]))
        );
        assert_eq!(
            history.since(3, ANY_LEN),
            Some(delta(3, 9, &[(2, 1), (5, 2)]))
        );
        history.add(9, 10, vec![(2, 0)]);
        assert_eq!(
            history.since(3, ANY_LEN),
            Some(delta(3, 10, &[(2, 0), (5, 2)])),
            "a merged delta without the newest change is not sent again"
        );
    }

    #[test]
    fn no_delta_is_returned_from_an_unknown_version_or_if_it_is_too_long() {
        let mut history = history();
        assert_eq!(history.since(9, ANY_LEN), None, "nothing is newer");
        assert_eq!(history.since(2, ANY_LEN), None);
        assert_eq!(history.since(0, 21), None);
        history.add(20, 21, vec![(0, 1)]);
        assert_eq!(history.since(0, ANY_LEN), None, "there is a gap");
        assert!(history.since(20, ANY_LEN).is_some());
    }

    #[test]
    fn the_history_is_bounded_in_deltas_and_in_cells() {
        let mut history = SeatDeltaHistory::default();
        for version in 0..1000 {
            history.add(version, version + 1, vec![(0, 1)]);
        }
        assert_eq!(history.deltas.len(), DELTAS_MAX);
        for version in 1000..1010 {
            let cells = (0..9_000).map(|cell| (cell, 1)).collect();
            history.add(version, version + 1, cells);
        }
        assert_eq!((history.deltas.len(), history.cell_count), (2, 18_000));
    }
}
