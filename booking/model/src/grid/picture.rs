//! The picture of a show: the state of every cell, a version, and the changes that lead from one
//! version to the next. `version = incarnation × 2^40 + counter`. The incarnation is higher after
//! each loss of the data, so the version never decreases.

use std::collections::{BTreeMap, VecDeque};

use bytes::{BufMut, Bytes, BytesMut};
use serde::{Deserialize, Serialize};

use super::CellState;

/// How many changes of cells the log has, at most. A follower (somebody who keeps a copy of the
/// picture) that has missed more takes the whole picture.
const LOG_MAX: usize = 65_536;

/// The changes that lead a follower from its version to the present version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CellChanges {
    /// The follower is up to date.
    None,
    /// The cells that differ, ascending, with their present state.
    Delta {
        /// The version the follower had.
        from: u64,
        /// The version the follower has after these changes.
        to: u64,
        /// The index and the present state of each cell.
        cells: Vec<(u32, u8)>,
    },
    /// The changes are not known. The follower must take the whole picture.
    Gap,
}

/// How many cells are in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CellCounts {
    /// How many cells are free.
    pub free: u64,
    /// How many cells are held.
    pub held: u64,
    /// How many cells are sold.
    pub sold: u64,
}

/// The whole picture of a show at one version.
#[derive(Debug, Clone)]
pub struct VersionedCells {
    /// The version of the picture.
    pub version: u64,
    /// The state of each cell, by cell index.
    pub states: Vec<CellState>,
}

impl VersionedCells {
    /// Reads the states that [`CellPicture::packed`] has packed.
    #[must_use]
    pub fn from_packed(version: u64, cells: u32, packed: &[u8]) -> Self {
        let four = |byte: &u8| [0, 2, 4, 6].map(|shift| CellState::from_bits(byte >> shift));
        let states = packed.iter().flat_map(four).take(cells as usize).collect();
        Self { version, states }
    }
}

/// The states of all cells of a show and the recent changes.
#[derive(Debug)]
pub struct CellPicture {
    states: Vec<CellState>,
    base: u64,
    /// The counter at which this copy began. The log has no earlier changes.
    begun: u64,
    counter: u64,
    /// For each changed cell, the counter of the change and the cell.
    log: VecDeque<(u64, u32)>,
    counts: [u64; 4],
}

/// The width of a version's lower part, in bits. The lower part is the number of changes within one
/// life of the data (its incarnation), and the upper part is the number of the life.
const COUNTER_BITS: u32 = 40;

/// Returns the first version of a life of the data.
#[must_use]
pub const fn first_version(life: u64) -> u64 {
    life << COUNTER_BITS
}

/// Returns the life of the data that a version belongs to.
#[must_use]
pub const fn life_of_version(version: u64) -> u64 {
    version >> COUNTER_BITS
}

impl CellPicture {
    /// Makes the picture of a new incarnation.
    #[must_use]
    pub fn new(incarnation: u64, states: Vec<CellState>) -> Self {
        Self::at_counter(incarnation, 0, states)
    }

    /// Makes a copy of a picture whose changes another process makes and counts. `states` are the
    /// picture's cells after `counter` changes in this incarnation.
    #[must_use]
    pub fn at_counter(incarnation: u64, counter: u64, states: Vec<CellState>) -> Self {
        let mut counts = [0; 4];
        for state in &states {
            counts[*state as usize] += 1;
        }
        Self {
            states,
            base: first_version(incarnation),
            begun: counter,
            counter,
            log: VecDeque::new(),
            counts,
        }
    }

    /// Returns the life of the data that the picture shows.
    #[must_use]
    pub fn incarnation(&self) -> u64 {
        life_of_version(self.base)
    }

    /// Returns how many changes the incarnation has had.
    #[must_use]
    pub fn counter(&self) -> u64 {
        self.counter
    }

    /// Returns the present version.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.base + self.counter
    }

    /// Returns the state of a cell. Cells beyond the grid are not for sale.
    #[must_use]
    pub fn state(&self, cell: u32) -> CellState {
        self.states
            .get(cell as usize)
            .copied()
            .unwrap_or(CellState::Blocked)
    }

    /// Returns all states, in cell order.
    #[must_use]
    pub fn states(&self) -> &[CellState] {
        &self.states
    }

    /// Returns how many cells are in each state. Cells that are not for sale are not counted.
    #[must_use]
    pub fn counts(&self) -> CellCounts {
        let [free, held, sold, _] = self.counts;
        CellCounts { free, held, sold }
    }

    /// Sets cells to a state in one change. The change makes one new version if at least one cell
    /// differs.
    pub fn set_cells(&mut self, cells: impl IntoIterator<Item = u32>, state: CellState) {
        let next = self.counter + 1;
        for cell in cells {
            if self.put_cell_state(next, cell, state) {
                self.counter = next;
            }
        }
        self.trim_log();
    }

    /// Applies a change that another process made. `counter` is the number of that change.
    pub fn apply_change(
        &mut self,
        counter: u64,
        cells: impl IntoIterator<Item = (u32, CellState)>,
    ) {
        for (cell, state) in cells {
            self.put_cell_state(counter, cell, state);
        }
        self.counter = counter;
        self.trim_log();
    }

    /// Sets a cell and logs it as a part of the change with the number `counter`. Returns whether
    /// the cell had another state before.
    fn put_cell_state(&mut self, counter: u64, cell: u32, state: CellState) -> bool {
        let Some(slot) = self.states.get_mut(cell as usize) else {
            return false;
        };
        if *slot == state {
            return false;
        }
        self.counts[*slot as usize] -= 1;
        self.counts[state as usize] += 1;
        *slot = state;
        self.log.push_back((counter, cell));
        true
    }

    fn trim_log(&mut self) {
        while self.log.len() > LOG_MAX {
            self.log.pop_front();
        }
    }

    /// Returns what changed after the version `since`.
    #[must_use]
    pub fn changes_since(&self, since: u64) -> CellChanges {
        let to = self.version();
        if since == to {
            return CellChanges::None;
        }
        let Some(since_counter) = since
            .checked_sub(self.base)
            .filter(|since_counter| (self.begun..self.counter).contains(since_counter))
        else {
            return CellChanges::Gap;
        };
        // A full log may have dropped some cells of its oldest change. Only later changes are
        // complete.
        let whole_after = if self.log.len() == LOG_MAX {
            self.log.front().map_or(0, |first| first.0)
        } else {
            0
        };
        if since_counter < whole_after {
            return CellChanges::Gap;
        }
        let start = self
            .log
            .partition_point(|(counter, _)| *counter <= since_counter);
        let cells: BTreeMap<u32, u8> = self
            .log
            .range(start..)
            .map(|(_, cell)| (*cell, self.state(*cell) as u8))
            .collect();
        CellChanges::Delta {
            from: since,
            to,
            cells: cells.into_iter().collect(),
        }
    }

    /// Packs the states: two bits a cell, four cells to a byte, lowest bits first.
    #[must_use]
    pub fn packed(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(self.states.len().div_ceil(4));
        for four in self.states.chunks(4) {
            let byte = four
                .iter()
                .enumerate()
                .fold(0_u8, |byte, (i, state)| byte | (*state as u8) << (2 * i));
            out.put_u8(byte);
        }
        out.freeze()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_follower_of_another_incarnation_gets_a_gap() {
        let picture = CellPicture::new(2, vec![CellState::Free; 4]);
        assert_eq!(
            picture.changes_since(CellPicture::new(1, vec![]).version()),
            CellChanges::Gap
        );
        assert_eq!(
            picture.changes_since(picture.version() + 5),
            CellChanges::Gap
        );
        assert_eq!(picture.changes_since(picture.version()), CellChanges::None);
    }

    #[test]
    fn a_copy_has_the_changes_since_it_began_and_none_before() {
        let mut copy = CellPicture::at_counter(1, 40, vec![CellState::Free; 4]);
        let start = copy.version();
        copy.apply_change(41, [(2, CellState::Held), (3, CellState::Free)]);
        assert_eq!(copy.version(), start + 1);
        assert_eq!(copy.changes_since(start - 1), CellChanges::Gap);
        let CellChanges::Delta { cells, .. } = copy.changes_since(start) else {
            panic!("the copy applied this change");
        };
        assert_eq!(cells, [(2, 1)]);
    }

    #[test]
    fn changes_that_the_log_has_dropped_give_a_gap() {
        let cells = u32::try_from(LOG_MAX).expect("small") + 10;
        let mut picture = CellPicture::new(1, vec![CellState::Free; cells as usize]);
        let start = picture.version();
        picture.set_cells(0..cells, CellState::Held);
        let middle = picture.version();
        picture.set_cells([3], CellState::Free);
        assert_eq!(picture.changes_since(start), CellChanges::Gap);
        assert_eq!(
            picture.changes_since(middle),
            CellChanges::Delta {
                from: middle,
                to: picture.version(),
                cells: vec![(3, 0)]
            }
        );
    }

    proptest! {
        #[test]
        fn a_delta_applied_to_the_old_picture_gives_the_new_one(
            before in proptest::collection::vec((0_u32..40, 0_u8..4), 0..60),
            after in proptest::collection::vec((0_u32..40, 0_u8..4), 0..60),
        ) {
            let state = |n: u8| [CellState::Free, CellState::Held, CellState::Sold, CellState::Blocked][n as usize];
            let mut picture = CellPicture::new(1, vec![CellState::Free; 40]);
            for (cell, to) in before { picture.set_cells([cell], state(to)); }
            let (since, mut copy) = (picture.version(), picture.states().to_vec());
            for (cell, to) in after { picture.set_cells([cell], state(to)); }
            match picture.changes_since(since) {
                CellChanges::None => {}
                CellChanges::Delta { cells, .. } => for (cell, to) in cells { copy[cell as usize] = state(to); },
                CellChanges::Gap => prop_assert!(false, "nothing was lost"),
            }
            prop_assert_eq!(&copy[..], picture.states());
            let counted = copy.iter().filter(|s| **s == CellState::Held).count();
            prop_assert_eq!(picture.counts().held, counted as u64);
        }
    }
}
