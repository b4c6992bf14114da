//! Says how the claim of a pass counts against the pace.

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
