//! Holds the release counter as one node knows it: the latest row from the ledger or from another
//! node. The code is pure.

/// The release counter, and the values that the pace needs again in the next second.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReleaseRow {
    /// Visitors with a rank below this number may claim.
    pub released: u64,
    /// The fraction of a visitor that the last tick left over, in millionths.
    pub remainder_u: u64,
    /// When the counter last ticked, in milliseconds since the epoch.
    pub ticked_at: i64,
    /// The pace's memory as JSON; empty at first. The node that makes the next tick continues from
    /// it.
    pub memory: String,
}

/// The release counter as one node knows it. The next move starts from its row.
#[derive(Debug, Clone, Default)]
pub struct ReleaseCounter {
    row: ReleaseRow,
    /// The row that this node had when the ledger returned an older row. The ledger has lost the
    /// moves up to this row, so another node's report of it is ignored.
    lost: Option<ReleaseRow>,
}

impl From<ReleaseRow> for ReleaseCounter {
    fn from(row: ReleaseRow) -> Self {
        Self { row, lost: None }
    }
}

impl ReleaseCounter {
    /// Returns the row.
    #[must_use]
    pub fn release_row(&self) -> &ReleaseRow {
        &self.row
    }

    /// Adopts the row that another node reports, unless this node knows a later row or the ledger
    /// has lost the reported one. Returns whether the row was adopted.
    pub fn adopt_reported_row(&mut self, reported: ReleaseRow) -> bool {
        let later =
            (reported.released, reported.ticked_at) >= (self.row.released, self.row.ticked_at);
        let adopt = later && self.lost.as_ref() != Some(&reported);
        if adopt {
            self.row = reported;
        }
        adopt
    }

    /// Records that the ledger accepted the move to this row.
    pub fn note_move(&mut self, to: ReleaseRow) {
        (self.row, self.lost) = (to, None);
    }

    /// Adopts the ledger's row after the ledger refused a move. Returns whether the ledger's row is
    /// older than this node's row. If it is older, the ledger was replaced by an older copy.
    pub fn adopt_ledger_row(&mut self, ledger_row: ReleaseRow) -> bool {
        let is_older =
            (ledger_row.released, ledger_row.ticked_at) < (self.row.released, self.row.ticked_at);
        let earlier_row = std::mem::replace(&mut self.row, ledger_row);
        self.lost = is_older.then_some(earlier_row);
        is_older
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(released: u64, ticked_at: i64) -> ReleaseRow {
        ReleaseRow {
            released,
            ticked_at,
            ..ReleaseRow::default()
        }
    }

    #[test]
    fn a_row_of_another_node_is_adopted_unless_it_is_older() {
        let mut counter = ReleaseCounter::from(row(5, 100));
        assert!(!counter.adopt_reported_row(row(4, 200)));
        assert!(counter.adopt_reported_row(row(5, 200)));
        assert!(counter.adopt_reported_row(row(6, 150)));
        assert_eq!(*counter.release_row(), row(6, 150));
    }

    #[test]
    fn after_the_ledger_was_set_back_its_row_is_adopted_and_reports_of_lost_moves_are_ignored() {
        let mut counter = ReleaseCounter::from(row(50, 1000));
        assert!(
            !counter.adopt_ledger_row(row(51, 1100)),
            "the ledger's row is newer, because another node moved first"
        );
        assert!(counter.adopt_ledger_row(row(30, 500)));
        assert_eq!(*counter.release_row(), row(30, 500));
        assert!(
            !counter.adopt_reported_row(row(51, 1100)),
            "the ledger has lost this row"
        );
        counter.note_move(row(52, 1200));
        assert!(counter.adopt_reported_row(row(53, 1300)));
    }
}
