//! `loadtest plan`: simulates a sale in a small part of the time that it would take. Calls
//! visitors by the same rules as the gateways. The answer says when the sale is sold out, who waits
//! how long, and who gets a seat.

mod grouped;
mod left_out;
mod lost_gateway;
mod needs;
mod page;
mod past_arrivals;
mod report;
mod sale;
mod settings;
mod sweep;

use std::path::{Path, PathBuf};

use fairgate_simulation::crowd::PlacedBots;
use fairgate_simulation::outcome::SaleOutcome;
use fairgate_simulation::sale::PlannedSale;
use fairgate_simulation::simulate;
use jiff::Timestamp;

use crate::calibration::Calibration;
use crate::exit_code::LoadtestExitCode;
use crate::output::print_line;
use crate::rig::PlannedKill;
use crate::seeds::{SimulatedSeeds, simulate_seeds};
use crate::swarm::{Scenario, read_to_plan};
use left_out::left_out;
use lost_gateway::{LostGatewayReport, lose_gateway};
use needs::{FirstLimit, NeededMachines, Prices, SaleDemand, first_limit};
use page::PlanPage;
use report::PlanReport;
use settings::{RecommendedSettings, recommend};
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
    /// The arrivals of a past sale: a CSV file with the columns second and visitors. They replace
    /// the arrivals of the file's crowd
    #[arg(long)]
    csv: Option<PathBuf>,
    /// How many calls booking answers in a second. Without this option, it always answers at once
    #[arg(long)]
    calls_per_s: Option<f64>,
    /// Plans the loss of a gateway. The time is a part of the planned duration, such as
    /// gateway@30%, or a time after the draw, such as gateway@draw+60s
    #[arg(long)]
    kill: Option<PlannedKill>,
    /// The number of gateways that share the sockets until one is lost
    #[arg(long, default_value_t = 2, requires = "kill", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    gateways: u32,
    /// The figures of a machine: a file that `loadtest calibrate` wrote. With it, the plan also
    /// says what the sale needs, and which limit breaks first as the crowd grows
    #[arg(long)]
    calibration: Option<PathBuf>,
    /// What machines and traffic cost: a TOML file
    #[arg(long, requires = "calibration")]
    prices: Option<PathBuf>,
    /// Writes the answer with charts into this file, an HTML page that needs nothing else
    #[arg(long, conflicts_with = "sweep", value_parser = crate::html::page_file)]
    html: Option<PathBuf>,
    /// Writes the on-sale with the recommended pace into this file, in TOML for `gateway apply`.
    /// With a calibration, it is a pace that the measured machines can handle
    #[arg(long, conflicts_with = "sweep")]
    settings: Option<PathBuf>,
    /// Prints the answer as one JSON document
    #[arg(long)]
    json: bool,
}

/// Plans as the command line asks.
///
/// # Errors
/// Why no answer could be written.
pub fn run(options: &PlanOptions) -> anyhow::Result<LoadtestExitCode> {
    let input = read_to_plan(&options.file).and_then(|scenario| {
        let sales = planned_sales(options, &scenario)?;
        Ok((sales, left_out(&scenario), Measured::read(options)?))
    });
    let (sales, left_out, measured) = match input {
        Ok(input) => input,
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
        let mut report = PlanReport::new(name, sale, &simulated);
        let (typical, outcome) = typical_outcome(options, sale, &simulated);
        report.leaves_out(left_out.clone());
        report.loses(LostGatewayReport::of(sale, &outcome));
        if let Some(measured) = &measured {
            let (machines, breaks_first) = measured.needs(sale, typical, &outcome);
            report.takes(machines, breaks_first);
        }
        if let Some(file) = &options.settings {
            let calibration = measured.as_ref().map(|measured| &measured.calibration);
            match write_settings(options, file, sale, calibration, typical) {
                Ok(settings) => report.recommends(settings),
                Err(fault) => {
                    eprintln!("No settings were written: {fault}");
                    return Ok(LoadtestExitCode::Usage);
                }
            }
        }
        if let Some(file) = &options.html {
            let page = PlanPage {
                report: &report,
                sale,
                seeds: &simulated.figures,
                first_seed: options.seed,
                typical: (typical, outcome),
            };
            if let Err(error) = page.html().write(file, &serde_json::to_value(&report)?) {
                eprintln!("{error:#}");
                return Ok(LoadtestExitCode::Usage);
            }
        }
        if !options.json {
            print_line(report.lines().join("\n"))?;
        }
        reports.push(report);
    }
    if options.json {
        let text = match (&options.sweep, &reports[..]) {
            (None, [only]) => serde_json::to_string_pretty(only)?,
            _ => serde_json::to_string_pretty(&reports)?,
        };
        print_line(text)?;
    }
    Ok(LoadtestExitCode::Held)
}

/// Recommends settings, and writes an on-sale file that has them.
fn write_settings(
    options: &PlanOptions,
    file: &Path,
    sale: &PlannedSale,
    calibration: Option<&Calibration>,
    seed: u64,
) -> Result<RecommendedSettings, String> {
    let settings = recommend(sale, calibration, seed)?;
    settings.write(&options.file, file, Timestamp::now())?;
    Ok(settings)
}

/// Simulates the typical seed again, because only the figures of each seed were kept, and not its
/// whole outcome. Returns the seed and its outcome.
fn typical_outcome(
    options: &PlanOptions,
    sale: &PlannedSale,
    simulated: &SimulatedSeeds,
) -> (u64, SaleOutcome) {
    let typical = page::typical_seed(&simulated.figures) as u64;
    let typical = options.seed.wrapping_add(typical);
    (typical, simulate(sale, typical))
}

/// What was measured on a machine, and the user's prices.
struct Measured {
    calibration: Calibration,
    prices: Option<Prices>,
}

impl Measured {
    /// Reads the calibration, and the prices if the command line names them. Returns `None` if it
    /// names no calibration.
    fn read(options: &PlanOptions) -> Result<Option<Self>, Vec<String>> {
        let Some(file) = &options.calibration else {
            return Ok(None);
        };
        let calibration = Calibration::read(file).map_err(|fault| vec![fault])?;
        let prices = options.prices.as_ref().map(|file| Prices::read(file));
        let prices = prices.transpose().map_err(|fault| vec![fault])?;
        Ok(Some(Self {
            calibration,
            prices,
        }))
    }

    /// Works out what the sale needs, and which limit breaks first.
    fn needs(
        &self,
        sale: &PlannedSale,
        typical: u64,
        outcome: &SaleOutcome,
    ) -> (NeededMachines, Option<FirstLimit>) {
        let demand = SaleDemand::of(sale, outcome);
        let machines = NeededMachines::of(&demand, &self.calibration, self.prices.as_ref());
        (machines, first_limit(sale, &self.calibration, typical))
    }
}

/// The value of the swept setting, if a setting is swept, and the sale with this value.
type SweptSale = (Option<f64>, PlannedSale);

/// Reads the sale. If a setting is swept, returns the sale with each value of the setting.
fn planned_sales(
    options: &PlanOptions,
    scenario: &Scenario,
) -> Result<Vec<SweptSale>, Vec<String>> {
    let calls_per_s = options.calls_per_s.unwrap_or(1.0);
    if !(0.001..=1e9).contains(&calls_per_s) {
        return Err(vec![format!(
            "--calls-per-s {calls_per_s} is not between 0.001 and 1000000000"
        )]);
    }
    let mut sale = sale::planned_sale(scenario, options.calls_per_s)?;
    if let Some(kill) = options.kill {
        lose_gateway(&mut sale, scenario, kill, options.gateways)
            .map_err(|fault| vec![format!("--kill {}@{}: {fault}", kill.what, kill.when)])?;
    }
    if let Some(file) = &options.csv {
        if let Some(sweep) = options.sweep.as_ref().filter(|sweep| sweep.is_of_crowd()) {
            return Err(vec![format!(
                "--sweep {} changes nothing with --csv, because all arrivals are those of {}: leave one of the two out, or vary another setting",
                sweep.field(),
                file.display()
            )]);
        }
        sale.arrivals = Some(past_arrivals::read(file)?);
        // The past arrivals replace the whole crowd, with its bots and its mute visitors.
        (sale.crowd.bots, sale.bots, sale.crowd.mute) = (0, PlacedBots::default(), 0);
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
