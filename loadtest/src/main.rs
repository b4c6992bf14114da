//! Reads the command line, runs one command, and turns its result into the exit code.

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
struct LoadtestArgs {
    #[command(subcommand)]
    what: LoadtestCommand,
}

#[derive(Subcommand)]
enum LoadtestCommand {
    /// One figure, with its baseline in the same run.
    #[command(subcommand)]
    Bench(bench::BenchCommand),
    /// Seeded schedules of faults against real processes, each ending in a verdict.
    Faults(faults::FaultTrialOptions),
    /// A crowd of visitors, from join to ticket.
    Swarm(swarm::SwarmOptions),
    /// Whether a run kept its promises, by its history and the ledger's dump alone.
    Verdict(verdict::VerdictOptions),
}

fn main() -> ExitCode {
    let ended = match LoadtestArgs::parse().what {
        LoadtestCommand::Bench(bench) => bench.run().map(ExitCode::from),
        LoadtestCommand::Faults(options) => options.run().map(ExitCode::from),
        LoadtestCommand::Swarm(options) => swarm::run(&options).map(ExitCode::from),
        LoadtestCommand::Verdict(options) => return options.run(),
    };
    ended.unwrap_or_else(|error| {
        eprintln!("The run is invalid, and says nothing about what was measured: {error:#}");
        ExitCode::from(3)
    })
}
