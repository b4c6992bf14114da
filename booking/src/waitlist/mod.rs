//! The waitlist: parties wait for seats of a show, first come, first served. The store keeps freed
//! seats locked for the waitlist, and the seats are offered to the first present party that they
//! fit.

pub mod ask;
mod ends;
pub mod here;
pub mod serve;
