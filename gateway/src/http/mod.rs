//! The HTTP code that several modules share: the layers around all routes, and the problem
//! documents that answer failures of the ledger and the store.

pub mod cross_origin;
mod failures;
pub mod wrapping;
