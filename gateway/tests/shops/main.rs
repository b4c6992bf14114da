//! Tests what a shop that is not Fairgate's needs from a gateway: a check of passes for any proxy,
//! calls from pages on other origins, and a guard in front of it.

mod cross_origin;
mod foreign_shop;
mod passes;
mod proxies;
mod proxy_visitor;
mod retries;
mod reverse_proxy;
mod rolls;
#[path = "../support/mod.rs"]
mod support;
mod verify;
mod web_sockets;
