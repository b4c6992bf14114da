//! `loadtest calibrate`: measures on this machine what each kind of work costs the system, and
//! writes the figures into a file. From these figures, `loadtest plan` works out what a sale takes.

mod figures;
mod ledger;
mod measure;
mod meter;
mod tls;

use std::path::PathBuf;

use crate::exit_code::LoadtestExitCode;
use crate::output::print_line;
use crate::rig::RigSpecification;

pub use figures::{Calibration, WorkCost};

/// The command line of `loadtest calibrate`.
#[derive(clap::Args)]
pub struct CalibrateOptions {
    /// The file for the figures, in TOML
    #[arg(long)]
    out: PathBuf,
    /// The processes to measure, such as
    /// gateways=3,bookings=2,redis=cluster,ledger=postgres,cpus=1. redis is none, single, replica,
    /// sentinel or cluster, and ledger is sqlite or postgres
    #[arg(long, default_value = "")]
    rig: RigSpecification,
    /// How many visitors join and wait on sockets
    #[arg(long, default_value_t = 4_000, value_parser = clap::value_parser!(u32).range(100..=18_000))]
    visitors: u32,
    /// How long to measure each kind of work that does not end by itself, in seconds
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=20))]
    seconds: u64,
}

/// Measures, and writes the figures.
///
/// # Errors
/// Why the figures could not be measured or written.
pub fn run(options: &CalibrateOptions) -> anyhow::Result<LoadtestExitCode> {
    // The file is opened first, because a measurement that cannot be written would be lost.
    if let Err(error) = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&options.out)
    {
        let file = options.out.display();
        eprintln!("{file} cannot be written: {error}. Nothing was measured.");
        return Ok(LoadtestExitCode::Usage);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let calibration = runtime.block_on(measure::measure(options))?;
    calibration.write(&options.out)?;
    print_line(calibration.lines().join("\n"))?;
    print_line(format_args!("written to {}", options.out.display()))?;
    Ok(LoadtestExitCode::Held)
}
