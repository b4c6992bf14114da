//! Tests the booking server: one process with a ledger file, and two processes that share one
//! PostgreSQL and one Redis. Also tests what booking says about settings that cannot work, and what
//! it logs while its database does not answer.

mod alone;
mod histories;
mod many;
mod misconfigured;
mod outage;
