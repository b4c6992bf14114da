//! Tests what a shop that is not Fairgate's needs from a gateway: a check of passes for any proxy.

mod passes;
#[path = "../support/mod.rs"]
mod support;
mod verify;
