//! The HTTP layer that belongs to no noun: the layers around all routes, and the problems made from
//! failures that several nouns share.

mod failures;
pub mod wrapping;
