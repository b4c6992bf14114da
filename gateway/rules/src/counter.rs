//! Keeps the release counter as one node knows it: the row that the ledger had when it was last
//! asked. The code is pure.

/// The release counter, and what the pace carries from one second to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReleaseRow {
    /// Visitors with a rank below this may claim.
    pub released: u64,
    /// The rest of the pace, in millionths of a visitor.
    pub remainder_u: u64,
    /// When the counter last ticked, in milliseconds since the epoch.
    pub ticked_at: i64,
    /// What else the pace has learned, as JSON; empty at first. The node that ticks next goes on
    /// from here.
    pub memory: String,
}

/// The counter of one node, with the row that its next move starts from.
#[derive(Debug, Clone, Default)]
pub struct ReleaseCounter {
    row: ReleaseRow,
    /// A row that this node had although the ledger has an older one. A node that tells of this row
    /// tells of moves that the ledger has lost.
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

    /// Takes in the row that another node says it left. Returns whether the counter goes on from
    /// that row: it does not if it knows a later row, or if the ledger has lost that one.
    pub fn heard(&mut self, left: ReleaseRow) -> bool {
        let later = (left.released, left.ticked_at) >= (self.row.released, self.row.ticked_at);
        let goes_on = later && self.lost.as_ref() != Some(&left);
        if goes_on {
            self.row = left;
        }
        goes_on
    }

    /// Notes that the ledger took the move to this row.
    pub fn moved(&mut self, to: ReleaseRow) {
        (self.row, self.lost) = (to, None);
    }

    /// Goes on from the ledger's row after the ledger refused a move. Returns whether that row is
    /// older than the node's own, because then the ledger is an older copy.
    pub fn stands(&mut self, stands: ReleaseRow) -> bool {
        let behind = (stands.released, stands.ticked_at) < (self.row.released, self.row.ticked_at);
        let before = std::mem::replace(&mut self.row, stands);
        self.lost = behind.then_some(before);
        behind
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
    fn what_another_node_left_is_gone_on_from_where_it_is_later() {
        let mut counter = ReleaseCounter::from(row(5, 100));
        assert!(!counter.heard(row(4, 200)));
        assert!(counter.heard(row(5, 200)));
        assert!(counter.heard(row(6, 150)));
        assert_eq!(*counter.release_row(), row(6, 150));
    }

    #[test]
    fn a_ledger_that_was_set_back_is_followed_though_the_others_tell_of_what_it_lost() {
        let mut counter = ReleaseCounter::from(row(50, 1000));
        assert!(!counter.stands(row(51, 1100)), "another node was first");
        assert!(counter.stands(row(30, 500)));
        assert_eq!(*counter.release_row(), row(30, 500));
        assert!(!counter.heard(row(51, 1100)), "the ledger has lost it");
        counter.moved(row(52, 1200));
        assert!(counter.heard(row(53, 1300)));
    }
}
