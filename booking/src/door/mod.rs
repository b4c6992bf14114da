//! Access: the keys of promoters and doors, and the keys that sign passes and tickets.

pub mod signing;

pub use fairgate_base::http::keys::{self, Role, RoleKeys};
