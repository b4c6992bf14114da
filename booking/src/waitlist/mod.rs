//! The waitlist: parties that wait for seats of a show, first come, first served. What comes free
//! meanwhile is kept for them (`store`), and offered to the first of those who are here and whom it
//! fits.

pub mod ask;
pub mod here;
pub mod serve;
