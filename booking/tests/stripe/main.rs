//! Tests booking against a server that behaves like Stripe. Both run in one process, send real HTTP
//! to each other, and use the system's clock.

mod dashboard;
mod exchanges;
mod limits;
mod refunds;
mod shop;
mod whole_way;
