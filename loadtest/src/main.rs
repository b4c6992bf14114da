//! Reads the command line, runs one command, and turns its result into the exit code.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod calibration;
mod compare;
mod exit_code;
mod faults;
mod html;
mod http;
mod machine;
mod output;
mod plan;
mod rig;
mod seeds;
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
    /// One measurement, with a baseline from the same run if it needs one.
    Bench(bench::BenchOptions),
    /// What each kind of work costs on this machine, for plans.
    Calibrate(calibration::CalibrateOptions),
    /// Figures side by side: a plan and a run, or two runs.
    Compare(compare::CompareOptions),
    /// Seeded schedules of faults against real processes, with a verdict on each.
    Faults(faults::FaultTrialOptions),
    /// A simulated sale: when it is sold out, who waits how long, and who gets a seat.
    Plan(plan::PlanOptions),
    /// An installation of several nodes to try things on, until Ctrl-C.
    Rig(rig::RigOptions),
    /// A crowd of visitors, from join to ticket.
    Swarm(swarm::SwarmOptions),
    /// One process of a swarm that several processes share; `loadtest swarm` starts it.
    #[command(name = swarm::WORKER_COMMAND, hide = true)]
    SwarmWorker,
    /// Whether a run kept its promises, judged from its history and the ledger's dump.
    Verdict(verdict::VerdictOptions),
}

fn main() -> ExitCode {
    let exit_code = match LoadtestArgs::parse().what {
        LoadtestCommand::Bench(bench) => bench.run().map(ExitCode::from),
        LoadtestCommand::Calibrate(options) => calibration::run(&options).map(ExitCode::from),
        LoadtestCommand::Compare(options) => compare::run(&options).map(ExitCode::from),
        LoadtestCommand::Faults(options) => options.run().map(ExitCode::from),
        LoadtestCommand::Plan(options) => plan::run(&options).map(ExitCode::from),
        LoadtestCommand::Rig(options) => rig::run(&options).map(|()| ExitCode::SUCCESS),
        LoadtestCommand::Swarm(options) => swarm::run(&options).map(ExitCode::from),
        LoadtestCommand::SwarmWorker => swarm::run_worker().map(ExitCode::from),
        LoadtestCommand::Verdict(options) => return options.run(),
    };
    exit_code.unwrap_or_else(|error| {
        eprintln!("The run is invalid, and says nothing about what was measured: {error:#}");
        ExitCode::from(3)
    })
}
