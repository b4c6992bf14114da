//! Builds the problems for refused calls. Each says what happened, what was not changed, and what
//! to do. There is one file for each noun.

pub mod holds;
pub mod orders;
pub mod stretch;
pub mod tickets;
pub mod waitlist;
