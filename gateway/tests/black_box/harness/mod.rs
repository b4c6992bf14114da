//! Holds what the tests share: a server that can be killed and started again, and the actors who
//! use it.

mod browser;
mod documents;
mod other_browsers;
mod overload;
mod promoter;
mod readable;
mod real_data;
mod scriptless;
mod server;
mod socket;
mod tabs;
mod traffic;
mod visitor;

pub mod merkle;

pub use browser::Browser;
pub use documents::{in_seconds, room, show};
pub use fairgate_servers::actors::{
    PATIENCE, TestAnswer, TestCall, TestClient, TestShop, buyer, coming_back, get, post, text,
    until, until_within, within,
};
pub use fairgate_servers::free_port;
pub use other_browsers::OtherBrowser;
pub use overload::{LedgerBlockage, until_level};
pub use promoter::Promoter;
pub use real_data::{draw_folder, real_data};
pub use server::{DOOR_KEY, PROMOTER_KEY, Server, VIEWER_KEY, gateway};
pub use socket::{Live, Picture};
pub use traffic::{Loaded, Traffic};
pub use visitor::Visitor;
