//! Booking over HTTP: reads calls, and builds answers and the problems for refused calls. Each noun
//! (hold, order, ticket …) has files of its own.

pub mod answers;
pub mod catalogue;
pub mod cinema;
pub mod dump;
pub mod exchanges;
pub mod fates;
pub mod free_seats;
pub mod handles;
pub mod holds;
pub mod internal;
pub mod internal_key;
pub mod lists;
pub mod money_findings;
pub mod offers;
pub mod ops;
pub mod order_routes;
pub mod order_views;
pub mod orders;
pub mod own;
pub mod payments;
pub mod programmes;
pub mod promoter;
pub mod rail;
mod rail_views;
pub mod refunds;
pub mod refusals;
pub mod reopening;
pub mod route_kinds;
pub mod seat_states;
pub mod tickets;
pub mod venue_views;
pub mod visitor;
pub mod waitlist;
