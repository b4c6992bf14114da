//! The command line of the core alone: reads it, runs one command, says what it did.

use std::path::PathBuf;
use std::process::ExitCode;

use booking::clock::Clock;
use booking::dump;
use clap::{Parser, Subcommand};

/// Fairgate's booking core.
#[derive(Parser)]
#[command(name = "booking", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Writes ledger and payments as the verdict reads them, one JSON record a line. A gateway may be running.
    Dump {
        /// The folder that everything durable lives in.
        #[arg(long, env = "FAIRGATE_DATA", default_value = "fairgate-data")]
        data: PathBuf,
        /// The file to write: whole, or not at all.
        #[arg(long)]
        out: PathBuf,
    },
}

fn main() -> ExitCode {
    let Command::Dump { data, out } = Cli::parse().command;
    match dump::file::write(&data, &out, Clock::system().now_ms()) {
        Ok(records) => {
            eprintln!("{records} records in {}", out.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("booking dump: {error}");
            ExitCode::FAILURE
        }
    }
}
