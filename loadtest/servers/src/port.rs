//! Finds free ports.

use std::net::TcpListener;

use anyhow::Context;
use rand::RngExt;

/// How far above its own port a cluster's node has the port on which it talks to the others.
pub const BUS_ABOVE: u16 = 10_000;

/// Finds a free port between 20,000 and 30,000. That is below the ports that the system gives to
/// clients, so that no client takes the port while its server is down.
///
/// # Errors
/// Where a hundred tries found none.
pub fn free_port() -> anyhow::Result<u16> {
    find(20_000..30_000, is_free)
}

/// Does the same as [`free_port`], with the port [`BUS_ABOVE`] it free too.
pub fn free_port_with_bus() -> anyhow::Result<u16> {
    find(10_000..20_000, |port| {
        is_free(port) && is_free(port + BUS_ABOVE)
    })
}

fn find(range: std::ops::Range<u16>, good: impl Fn(u16) -> bool) -> anyhow::Result<u16> {
    let mut rng = rand::rng();
    let mut tries = std::iter::repeat_with(|| rng.random_range(range.clone())).take(100);
    tries
        .find(|port| good(*port))
        .context("no free port was found in a hundred tries")
}

fn is_free(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}
