#![doc = include_str!("../README.md")]

pub mod circles;
pub mod figures;
pub mod imports;
pub mod lengths;
pub mod manifests;
pub mod positions;
pub mod source;
pub mod workspace;
