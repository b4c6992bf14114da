//! Ends a bench: prints its figures as a table or as JSON, and returns whether they held.

use serde::Serialize;

use super::BenchVerdict;

/// The figures that a bench measured.
pub trait BenchFigures: Serialize {
    /// Returns whether every threshold was met.
    fn held(&self) -> bool;
    /// Returns the figures as lines of text.
    fn lines(&self) -> Vec<String>;
}

/// Prints the figures, and returns how the run ended.
///
/// # Errors
/// Where they cannot be written as JSON.
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

/// Measures on all cores, then prints the figures.
///
/// # Errors
/// What made the run invalid.
pub fn measured<F: BenchFigures>(
    json: bool,
    measure: impl Future<Output = anyhow::Result<F>>,
) -> anyhow::Result<BenchVerdict> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    print(&runtime.block_on(measure)?, json)
}
