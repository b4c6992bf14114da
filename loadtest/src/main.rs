//! The command line: reads it, runs one bench or judges one run, turns the verdict into the exit code.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod verdict;

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
    /// Whether a run kept its promises, by its history and the ledger's dump alone.
    Verdict(verdict::Options),
}

fn main() -> ExitCode {
    let bench = match Command::parse().what {
        What::Bench(bench) => bench,
        What::Verdict(options) => return options.run(),
    };
    match bench.run() {
        Ok(verdict) => verdict.into(),
        Err(error) => {
            eprintln!("The run is invalid, and says nothing about what was measured: {error:#}");
            ExitCode::from(3)
        }
    }
}
