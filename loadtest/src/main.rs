//! The command line: reads it, runs one bench, turns the verdict into the exit code.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;

/// Measures Fairgate from outside.
#[derive(Parser)]
#[command(name = "loadtest")]
struct Command {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// One figure, with its baseline in the same run.
    #[command(subcommand)]
    Bench(bench::Bench),
}

fn main() -> ExitCode {
    let What::Bench(bench) = Command::parse().what;
    match bench.run() {
        Ok(verdict) => verdict.into(),
        Err(error) => {
            eprintln!("The run is invalid, and says nothing about what was measured: {error:#}");
            ExitCode::from(3)
        }
    }
}
