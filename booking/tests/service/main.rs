//! Tests the booking server: one process with a database file, and two servers over one PostgreSQL
//! and one Redis. Also tests what it says about settings that cannot work, and what it logs while
//! its database is away.

mod alone;
mod many;
mod misconfigured;
mod outage;
