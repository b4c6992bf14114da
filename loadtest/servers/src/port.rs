//! Free ports.

use std::net::TcpListener;

use anyhow::Context;
use rand::RngExt;

/// A cluster's nodes talk to one another on a port so far above their own.
pub const BUS_ABOVE: u16 = 10_000;

/// A port between 20,000 and 30,000: below those that the system hands out to clients, so that
/// nobody takes it while the server that has it is down.
///
/// # Errors
/// Where a hundred tries found none.
pub fn free_port() -> anyhow::Result<u16> {
    find(20_000..30_000, is_free)
}

/// As [`free_port`], with the port [`BUS_ABOVE`] it free too.
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
