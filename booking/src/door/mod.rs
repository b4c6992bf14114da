//! Access: the keys of promoters and doors, and the keys that sign passes and tickets.

pub mod signing;
