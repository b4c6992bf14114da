#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod assets;
mod bundle;
mod filters;
mod pages;
mod texts;

pub use assets::{PageAsset, asset, version};
pub use pages::{PageError, render_page};
pub use texts::language_texts;
