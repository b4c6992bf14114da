//! Says when a place is called, and how the claim of a pass counts against the pace.

/// How the claim of a released rank counts against the pace. A claim within the window comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClaimTiming {
    /// The claim is within the window and was expected, so its release has already used up the pace
    /// for it.
    InWindow,
    /// The claim comes after the window, or from a visitor who was away when called. It needs a
    /// share of the pace.
    Late,
    /// The claim is for a second pass. It needs a share of the pace, too, and comes after those of
    /// visitors who never had a pass.
    Again,
}

/// Returns the turn of a place: it is called once this rank is released. Before its first pass,
/// that is its own `rank`. Afterwards all ranks below `called_behind` are called first.
#[must_use]
pub fn turn_of(rank: u64, called_behind: Option<u64>) -> u64 {
    called_behind.map_or(rank, |behind| rank.max(behind.saturating_sub(1)))
}

/// No room has so many ranks. The orders of visitors who came out are above this.
const RANKS_MAX: u64 = 1 << 40;

/// Returns the order in which visitors enter whose claims have the same [`ClaimTiming`]. Before the
/// first pass, that is the `turn`. Of those whose last visits counted, whoever came out first
/// enters first, and not whoever asks first. `came_out_s` is when the last pass ended, unix
/// seconds. A visit that did not count has a `called_behind` of zero.
#[must_use]
pub fn entry_order(turn: u64, called_behind: Option<u64>, came_out_s: Option<i64>) -> u64 {
    let came_out_s = came_out_s.filter(|_| called_behind != Some(0));
    came_out_s.map_or(turn, |at_s| RANKS_MAX.saturating_add_signed(at_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_those_who_wait_again_whoever_came_out_first_enters_first() {
        let out_at = |at_s| entry_order(39, Some(40), Some(at_s));
        assert!(out_at(100) < out_at(160));
        let excused = entry_order(7_000, Some(0), Some(200));
        assert!(excused < out_at(100), "its visit did not count");
        assert_eq!(entry_order(7, None, None), 7);
    }

    #[test]
    fn whoever_had_a_pass_is_called_behind_those_who_stood_in_line() {
        assert_eq!(turn_of(7, None), 7);
        assert_eq!(
            turn_of(7, Some(40)),
            39,
            "called once 40 ranks are released"
        );
        assert_eq!(turn_of(7, Some(0)), 7, "the last visit does not count");
    }
}
