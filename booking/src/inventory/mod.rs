//! What can be held, and the handle that opens it and carries decisions to the store.

pub mod seats;
