//! Tests the booking server: one process with a database file, and two servers over one PostgreSQL
//! and one Redis.

mod alone;
mod many;
