//! Tests what a shop that is not Fairgate's needs from a gateway: a check of passes for any proxy, and
//! calls from pages on other origins.

mod cross_origin;
mod passes;
#[path = "../support/mod.rs"]
mod support;
mod verify;
