//! `loadtest plan`: simulates a sale with the rules by which gateways call visitors, many times
//! faster than it happens, and says when it is sold out, who waits how long, and who gets a seat.

mod page;
mod past_arrivals;
mod report;
mod sale;
mod seeds;
mod sweep;

use std::path::PathBuf;

use fairgate_simulation::sale::PlannedSale;
use fairgate_simulation::simulate;

use crate::swarm::{LoadtestExitCode, read_to_plan};
use page::PlanPage;
use report::PlanReport;
use seeds::{SimulatedSeeds, simulate_seeds};
use sweep::PlanSweep;

/// The command line of `loadtest plan`.
#[derive(clap::Args)]
pub struct PlanOptions {
    /// A scenario of the swarm, or an on-sale file with [crowd] and [behaviour]
    file: PathBuf,
    /// How many times the sale is simulated, each time with another seed
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    seeds: u32,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Plans the sale for several values of one setting, such as per_s=50..500
    #[arg(long)]
    sweep: Option<PlanSweep>,
    /// The arrivals of a past sale: a CSV file with the columns second and visitors. It replaces
    /// the times and the number of the crowd
    #[arg(long)]
    csv: Option<PathBuf>,
    /// How many calls booking answers in a second; without it booking always answers at once
    #[arg(long)]
    calls_per_s: Option<f64>,
    /// Writes the answer with charts into this file, an HTML page that needs nothing else
    #[arg(long, conflicts_with = "sweep")]
    html: Option<PathBuf>,
    /// Prints the answer as one JSON document
    #[arg(long)]
    json: bool,
}

/// Plans as the command line asks.
///
/// # Errors
/// Why no answer could be written.
#[expect(
    clippy::print_stdout,
    reason = "the answer is what the command is asked for"
)]
pub fn run(options: &PlanOptions) -> anyhow::Result<LoadtestExitCode> {
    let sales = match planned_sales(options) {
        Ok(sales) => sales,
        Err(faults) => {
            let file = options.file.display();
            eprintln!("{file} cannot be planned; nothing was simulated:");
            faults.iter().for_each(|fault| eprintln!("  - {fault}"));
            return Ok(LoadtestExitCode::Usage);
        }
    };
    let mut reports = Vec::new();
    for (value, sale) in &sales {
        let simulated = simulate_seeds(sale, options.seed, options.seeds);
        let name = match (&options.sweep, value) {
            (Some(sweep), Some(value)) => format!("{} = {value}", sweep.field()),
            _ => options.file.display().to_string(),
        };
        let report = PlanReport::new(name, sale, &simulated);
        if let Some(file) = &options.html {
            let page = page(options, sale, &simulated, &report);
            if let Err(error) = std::fs::write(file, page) {
                eprintln!("{} could not be written: {error}", file.display());
                return Ok(LoadtestExitCode::Usage);
            }
        }
        if !options.json {
            println!("{}", report.lines().join("\n"));
        }
        reports.push(report);
    }
    if options.json {
        let text = match (&options.sweep, &reports[..]) {
            (None, [only]) => serde_json::to_string_pretty(only)?,
            _ => serde_json::to_string_pretty(&reports)?,
        };
        println!("{text}");
    }
    Ok(LoadtestExitCode::Held)
}

/// Returns the HTML report. The seed in the middle is simulated again for the charts over time.
fn page(
    options: &PlanOptions,
    sale: &PlannedSale,
    simulated: &SimulatedSeeds,
    report: &PlanReport,
) -> String {
    let typical = options
        .seed
        .wrapping_add(page::typical_seed(&simulated.figures) as u64);
    let page = PlanPage {
        report,
        sale,
        seeds: &simulated.figures,
        first_seed: options.seed,
        typical: (typical, simulate(sale, typical)),
    };
    page.html().document()
}

/// A sale, and the value of the swept setting with which it is planned, if one is swept.
type SweptSale = (Option<f64>, PlannedSale);

/// Reads the sale, and varies it where a setting is swept.
fn planned_sales(options: &PlanOptions) -> Result<Vec<SweptSale>, Vec<String>> {
    let calls_per_s = options.calls_per_s.unwrap_or(1.0);
    if !(0.001..=1e9).contains(&calls_per_s) {
        return Err(vec![format!(
            "--calls-per-s {calls_per_s} is not between 0.001 and 1000000000"
        )]);
    }
    let scenario = read_to_plan(&options.file)?;
    let mut sale = sale::planned_sale(&scenario, options.calls_per_s)?;
    if let Some(file) = &options.csv {
        sale.arrivals = Some(past_arrivals::read(file)?);
    }
    Ok(match &options.sweep {
        None => vec![(None, sale)],
        Some(sweep) => sweep
            .vary(&sale)
            .into_iter()
            .map(|(value, sale)| (Some(value), sale))
            .collect(),
    })
}
