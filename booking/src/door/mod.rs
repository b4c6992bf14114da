//! Who may do what: role keys for promoters and doors, passes and order keys for visitors.

pub mod keys;
pub mod signing;
pub mod visitor;

pub use keys::{Role, RoleKeys};
pub use visitor::{Door, OrderCaller};
