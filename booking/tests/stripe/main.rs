//! Tests booking against a server in the shape of Stripe: both over real HTTP, in one process, by
//! the system's clock.

mod exchanges;
mod limits;
mod refunds;
mod shop;
mod whole_way;
