#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod app;
pub mod challenge;
pub mod clockwork;
pub mod config;
pub mod cookies;
pub mod demo;
pub mod follow;
pub mod guard;
pub mod http;
pub mod ledger;
pub mod line;
pub mod load;
pub mod onsale;
pub mod ops;
pub mod pages;
pub mod personal;
pub mod promoter;
pub mod push;
pub mod reverse_proxy;
pub mod room;
pub mod router;
pub mod store;
pub mod upstream;
pub mod verify_draw;
pub mod web;
