//! The HTTP layer that belongs to no noun: what wraps all routes, and the problems that several
//! nouns' failures become.

mod failures;
pub mod wrapping;
