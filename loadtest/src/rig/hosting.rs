//! `loadtest rig`: runs an installation for experiments until it is interrupted.

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};

use super::{Rig, RigSpecification};

/// The command line of `loadtest rig`.
#[derive(clap::Args)]
pub struct RigOptions {
    /// gateways=3,bookings=2,redis=none|single|replica|sentinel|cluster,ledger=sqlite|postgres
    #[arg(default_value = "")]
    spec: RigSpecification,
}

/// Starts the processes, and prints how to reach them. At Ctrl-C, ends them and deletes their data.
///
/// # Errors
/// Why a process could not be started, or did not end properly.
pub fn run(options: &RigOptions) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(host(options.spec))
}

#[expect(
    clippy::print_stdout,
    reason = "the addresses are what the command is for"
)]
async fn host(spec: RigSpecification) -> anyhow::Result<()> {
    let mut end = signal(SignalKind::terminate()).context("no signal can be awaited")?;
    let rig = tokio::select! {
        rig = Rig::start(spec) => rig?,
        // If a rig is dropped while it starts, its processes end.
        _ = tokio::signal::ctrl_c() => return Ok(()),
        _ = end.recv() => return Ok(()),
    };
    println!("FAIRGATE_TARGET={}", rig.urls().join(","));
    println!("FAIRGATE_PROMOTER_KEY={}", rig.promoter_key());
    println!("FAIRGATE_DOOR_KEY={}", rig.door_key());
    eprintln!("{spec} runs until Ctrl-C. Its data is then deleted.");
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = end.recv() => {}
    }
    rig.stop().await
}
