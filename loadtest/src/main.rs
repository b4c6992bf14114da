//! The command line: reads it, runs one thing, turns how it ended into the exit code.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod faults;
mod http;
mod rig;
mod swarm;
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
    /// Seeded schedules of faults against real processes, each ending in a verdict.
    Faults(faults::Options),
    /// A crowd of visitors, from join to ticket.
    Swarm(swarm::Options),
    /// Whether a run kept its promises, by its history and the ledger's dump alone.
    Verdict(verdict::Options),
}

fn main() -> ExitCode {
    let ended = match Command::parse().what {
        What::Bench(bench) => bench.run().map(ExitCode::from),
        What::Faults(options) => options.run().map(ExitCode::from),
        What::Swarm(options) => swarm::run(&options).map(ExitCode::from),
        What::Verdict(options) => return options.run(),
    };
    ended.unwrap_or_else(|error| {
        eprintln!("The run is invalid, and says nothing about what was measured: {error:#}");
        ExitCode::from(3)
    })
}
