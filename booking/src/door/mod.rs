//! Who may do what: the keys of promoters and doors, and those that passes and tickets are signed
//! with.

pub mod signing;

pub use fairgate_base::http::keys::{self, Role, RoleKeys};
