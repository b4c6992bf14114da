//! Notices that the ledger is an older copy of itself, and keeps its shows closed until somebody
//! reopens them. A copy may lack orders, and would sell their seats again.
//!
//! The ledger is compared with a counter outside it, which is written after commits: a file, and
//! Redis where there is one. `keeper` compares and raises them, `start` does so when a process
//! starts, and `reopen` opens a show again.

pub mod keeper;
pub mod reopen;
pub mod start;
