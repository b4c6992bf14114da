//! The baskets that visitors made, as the store remembers them.

/// A store remembers a basket for this long after it was made, in milliseconds. No basket lives
/// longer, unless it was extended often. A longer one is only never ended early.
pub const BASKET_KNOWN_MS: i64 = 3_600_000;

/// A basket that a visitor made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotedBasket {
    /// The id of its hold.
    pub hold: String,
    /// When it was made, in milliseconds since the epoch.
    pub at: i64,
    /// Whether its visitor has begun to fill in the checkout.
    pub in_checkout: bool,
}
