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

#[cfg(test)]
mod tests {
    use super::*;

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
