//! Tests the limits of one network. Some places are free, and the next ones cost work or a wait. At
//! the hard limit there are no more.

mod actors;
mod attempts;
mod lists;
mod places;
mod providers;
#[path = "../support/mod.rs"]
mod support;
mod waits;
