//! The waitlist: parties wait for seats of a show, first come, first served. Freed seats are kept
//! for them (`store`), and offered to the first present party that they fit.

pub mod ask;
pub mod here;
pub mod serve;
