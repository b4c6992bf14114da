#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod assets;
mod filters;
mod pages;
mod texts;

pub use assets::{Asset, asset, version};
pub use pages::{PageError, page};
pub use texts::text;
