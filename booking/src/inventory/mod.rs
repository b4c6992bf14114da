//! What can be held: the handle that opens shows in the store and carries the ledger's decisions
//! there.

pub mod seats;
