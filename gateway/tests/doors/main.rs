//! Tests what one network gets: free places, places for work, places for a wait, and no more.

mod actors;
mod attempts;
mod lists;
mod places;
mod providers;
#[path = "../support/mod.rs"]
mod support;
mod waits;
