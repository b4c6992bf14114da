//! `loadtest compare`: puts two sets of figures side by side, such as a plan and a run, and judges
//! whether they agree.

mod figures;

use std::path::PathBuf;

use crate::exit_code::LoadtestExitCode;
use crate::output::print_line;

pub use figures::{ComparedFigure, FigureFile, compare as compare_figures};

use figures::RequestedFigure;

/// The command line of `loadtest compare`.
#[derive(clap::Args)]
pub struct CompareOptions {
    /// The figures to compare with: what `loadtest plan --json` or `loadtest swarm --json` printed
    first: PathBuf,
    /// The figures that are compared. With several files, the median counts
    #[arg(required = true)]
    second: Vec<PathBuf>,
    /// Compares only these figures, such as sold_out_s=20,wait_p50_s. A figure with a percentage
    /// may differ by that much, and the others by --within. Without this option, compares all
    /// figures that both have
    #[arg(long, value_delimiter = ',')]
    figures: Vec<RequestedFigure>,
    /// The largest difference, in percent of the first figure. For shares between 0 and 1, it is a
    /// percentage of 1
    #[arg(long, default_value_t = 10.0)]
    within: f64,
    /// Prints the comparison as one JSON document
    #[arg(long)]
    json: bool,
}

/// Compares as the command line asks.
///
/// # Errors
/// Why no comparison could be printed.
pub fn run(options: &CompareOptions) -> anyhow::Result<LoadtestExitCode> {
    let compared = match compare(options) {
        Ok(compared) => compared,
        Err(fault) => {
            eprintln!("Nothing was compared: {fault}");
            return Ok(LoadtestExitCode::Usage);
        }
    };
    if options.json {
        print_line(serde_json::to_string_pretty(&compared)?)?;
    } else {
        print_line(format_args!(
            "{:<16} {:>12} {:>12}",
            "figure", "first", "second"
        ))?;
        for figure in &compared {
            print_line(figure)?;
        }
    }
    let agree = compared.iter().all(|figure| figure.agrees);
    if !options.json {
        print_line(if agree { "held" } else { "FAILED" })?;
    }
    Ok(if agree {
        LoadtestExitCode::Held
    } else {
        LoadtestExitCode::Failed
    })
}

fn compare(options: &CompareOptions) -> Result<Vec<ComparedFigure>, String> {
    if !(0.0..=1_000.0).contains(&options.within) {
        return Err(format!("--within {} is no percentage", options.within));
    }
    let first = FigureFile::read(&options.first)?;
    let seconds: Result<Vec<FigureFile>, String> = options
        .second
        .iter()
        .map(|file| FigureFile::read(file))
        .collect();
    let second = FigureFile::median(&seconds?);
    figures::compare(&first, &second, &options.figures, options.within / 100.0)
}
