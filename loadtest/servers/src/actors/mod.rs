//! The actors of the tests. A client calls a router in this process or a server at an address, and
//! gets answers. [`TestShop`] has the steps of a buyer.

mod answer;
mod call;
mod client;
mod pass;
mod shop;
mod wait;

pub use answer::TestAnswer;
pub use call::{TestCall, call, delete, get, patch, post, put};
pub use client::TestClient;
pub use pass::sign_test_pass;
pub use shop::{TestShop, buyer, text};
pub use wait::{PATIENCE, coming_back, until, until_within, within};
