//! Writes what a run produces in addition to its printed result: the differences from an earlier
//! run, and the HTML report.

use anyhow::Context;

use super::SwarmOptions;
use super::outcome::SwarmOutcome;
use super::page::RunPage;
use crate::compare::{FigureFile, compare_figures};
use crate::machine::this_machine;

/// The largest difference that still counts as agreement. It is a part of the baseline's figure, or
/// a part of 1 for the figures `seat_left_…`.
const BASELINE_WITHIN: f64 = 0.1;

/// Compares the run with an earlier one, prints what differs, and writes the HTML report, as the
/// command line asks.
///
/// # Errors
/// If the runs have no figure in common, or a file cannot be written.
pub fn write(
    options: &SwarmOptions,
    outcome: &SwarmOutcome,
    earlier: Option<&FigureFile>,
) -> anyhow::Result<()> {
    let document = outcome.document(options.seed);
    let own = FigureFile::from_document(&document).unwrap_or_default();
    let compared = match earlier {
        Some(earlier) => compare_figures(earlier, &own, &[], BASELINE_WITHIN)
            .map_err(anyhow::Error::msg)
            .context("the run could not be compared with the baseline")?,
        None => Vec::new(),
    };
    // The differences go to standard error, because with `--json` standard output must contain only
    // the document.
    for figure in compared.iter().filter(|figure| !figure.agrees) {
        eprintln!("differs from the baseline: {figure}");
    }
    let Some(file) = &options.html else {
        return Ok(());
    };
    let page = RunPage {
        outcome,
        seed: options.seed,
        compared: &compared,
        settings: settings(options),
    };
    page.html().write(file, &document)
}

/// Returns the options of the run and the properties of the machine, each as a name and a value.
fn settings(options: &SwarmOptions) -> Vec<(String, String)> {
    let machine = this_machine(None);
    let system = match &options.rig {
        Some(rig) => rig.to_string(),
        None => options.target.join(", "),
    };
    let kills = options.kill.iter();
    let kills = kills.map(|kill| format!("{}@{}", kill.what, kill.when));
    [
        ("scenario", options.scenario.display().to_string()),
        ("seed", options.seed.to_string()),
        ("system", system),
        ("kills", kills.collect::<Vec<_>>().join(", ")),
        ("generator processes", options.workers.to_string()),
        ("processor", machine.processor),
        ("processors", machine.cpus.to_string()),
        ("memory", format!("{:.0} MB", machine.memory_mb)),
        ("operating system", machine.system),
    ]
    .into_iter()
    .filter(|(_, value)| !value.is_empty())
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}
