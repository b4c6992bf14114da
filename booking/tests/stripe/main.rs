//! Tests booking against a server that behaves like Stripe. Booking's calls and the server's events
//! go over real HTTP, in one process, by the system's clock.

mod exchanges;
mod limits;
mod refunds;
mod shop;
mod whole_way;
