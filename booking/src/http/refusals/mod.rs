//! How refusals are worded: what happened, what was not changed, what to do. One file a noun.

pub mod holds;
pub mod orders;
pub mod stretch;
pub mod tickets;
pub mod waitlist;
