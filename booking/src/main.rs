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
        /// The folder that everything durable lives in, where the ledger is a file.
        #[arg(long, env = "FAIRGATE_DATA", default_value = "fairgate-data")]
        data: PathBuf,
        /// The address of the PostgreSQL database that the ledger is in; then there is no folder to look into.
        #[arg(
            long,
            value_name = "URL",
            env = "FAIRGATE_DATABASE_URL",
            hide_env_values = true
        )]
        database: Option<String>,
        /// The file to write: whole, or not at all.
        #[arg(long)]
        out: PathBuf,
    },
}

fn main() -> ExitCode {
    let Command::Dump {
        data,
        database,
        out,
    } = Cli::parse().command;
    let now_ms = Clock::system().now_ms();
    let written = match database.filter(|url| !url.is_empty()) {
        Some(url) => tokio::runtime::Runtime::new()
            .map_err(|error| dump::file::DumpError::File(out.clone(), error))
            .and_then(|runtime| runtime.block_on(dump::file::write_database(&url, &out, now_ms))),
        None => dump::file::write(&data, &out, now_ms),
    };
    match written {
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
