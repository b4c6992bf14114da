//! Tests the booking server: one process with a database file, and two servers over one PostgreSQL
//! and one Redis. Also tests what it says about settings that cannot work.

mod alone;
mod many;
mod misconfigured;
