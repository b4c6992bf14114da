//! Prints the figures of a bench as text or as JSON, and returns whether every threshold was met.

use serde::Serialize;

use super::BenchVerdict;

/// The figures that a bench measured.
pub trait BenchFigures: Serialize {
    /// Returns whether every threshold was met.
    fn held(&self) -> bool;
    /// Returns the figures as lines of text.
    fn lines(&self) -> Vec<String>;
}

/// Prints the figures, and returns whether every threshold was met.
///
/// # Errors
/// Where the figures cannot be written as JSON.
#[expect(
    clippy::print_stdout,
    reason = "the figures are what the command is asked for"
)]
pub fn print(figures: &impl BenchFigures, json: bool) -> anyhow::Result<BenchVerdict> {
    let held = figures.held();
    if json {
        println!("{}", serde_json::to_string_pretty(figures)?);
    } else {
        println!("{}", figures.lines().join("\n"));
        println!("{}", if held { "held" } else { "FAILED" });
    }
    Ok(if held {
        BenchVerdict::Held
    } else {
        BenchVerdict::Failed
    })
}

/// Runs `measure` with a thread for every core, then prints the figures.
///
/// # Errors
/// Where the run is invalid. The error gives the reason.
pub fn measured<F: BenchFigures>(
    json: bool,
    measure: impl Future<Output = anyhow::Result<F>>,
) -> anyhow::Result<BenchVerdict> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    print(&runtime.block_on(measure)?, json)
}
