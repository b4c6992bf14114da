//! Sells a hall while one visitor in seven leaves the page with a full basket. Measures how long
//! the last hundredth of the seats takes. With the programs of an earlier build, the same crowd
//! comes to both builds, and the ratio counts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, ensure};
use serde::Serialize;

use super::{BenchOutcome, report};
use crate::rig::{Rig, RigFeatures, RigSpecification, booking_binary, gateway_binary, programs_in};
use crate::swarm::{Scenario, SwarmEnvironment, SwarmFaults, play_scenario, scenario_of};

/// The crowd and the hall.
const SCENARIO: &str = include_str!("../../scenarios/left-baskets.toml");
/// The largest allowed ratio of the time of the last seats to that of the earlier build.
const RATIO_MAX: f64 = 0.5;
/// The number of seats in a row.
const ACROSS: u32 = 50;
/// How many times baskets that are left behind may run out one after the other. The run ends then,
/// even if seats are left.
const ROUNDS_MAX: u32 = 8;

#[derive(clap::Args)]
pub struct LastSeatsBenchOptions {
    /// How many visitors come.
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(10..=15_000))]
    visitors: u32,
    /// The seats of the hall, rounded up to whole rows of fifty.
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(50..=20_000))]
    seats: u32,
    /// How many seconds a basket lives.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(10..=600))]
    hold_s: u32,
    /// After how many seconds the basket of a visitor lapses who is gone.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(10..=600))]
    away_s: u32,
    /// The folder with the programs of a build that does not know `away_s`. The same crowd comes to
    /// it afterwards.
    #[arg(long)]
    before: Option<PathBuf>,
    /// Decides when visitors come and what they do.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The processes.
    #[arg(long, default_value = "gateways=1,bookings=0,redis=none,ledger=sqlite")]
    rig: RigSpecification,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

/// When the seats of one sale were sold, in seconds from the draw.
#[derive(Debug, Clone, Serialize)]
struct LastSeatsSale {
    /// Whether the programs are those of the earlier build.
    is_before: bool,
    /// When 99 of 100 seats were sold.
    sold_99_s: f64,
    /// When the last seat was sold; `None` if the run ended before.
    sold_out_s: Option<f64>,
    /// The time between the two or, if seats were left, until the run ended.
    last_seats_s: f64,
    entries: f64,
    /// The share of those who entered that never had a basket.
    entered_no_seats: f64,
    /// The p99 of the crowd's own lateness.
    lag_p99_ms: f64,
    /// Whether the crowd itself was late, so that the figures say nothing about the system.
    is_late: bool,
}

/// The figures of the bench.
#[derive(Debug, Serialize)]
struct LastSeatsFigures {
    bench: &'static str,
    rig: String,
    visitors: u32,
    seats: u32,
    hold_s: u32,
    away_s: u32,
    sales: Vec<LastSeatsSale>,
    /// The time of the last seats in this build, as a share of that in the earlier build.
    ratio: Option<f64>,
    held: bool,
}

/// Runs the bench.
///
/// # Errors
/// Where the run is invalid. The error gives the reason.
pub fn run(options: &LastSeatsBenchOptions) -> anyhow::Result<BenchOutcome> {
    report::measured(options.json, measure(options))
}

async fn measure(options: &LastSeatsBenchOptions) -> anyhow::Result<LastSeatsFigures> {
    let own = (gateway_binary()?, booking_binary()?);
    let before = options.before.as_deref().map(programs_in).transpose()?;
    let mut sales = Vec::new();
    for (is_before, programs) in [(false, Some(own)), (true, before)] {
        let Some(programs) = programs else {
            continue;
        };
        let sale = sell(options, is_before, programs).await?;
        eprintln!("{}", sale.line());
        sales.push(sale);
    }
    for sale in &sales {
        ensure!(
            !sale.is_late,
            "the crowd of {} was late itself (p99 {:.0} ms)",
            sale.build(),
            sale.lag_p99_ms
        );
    }
    Ok(LastSeatsFigures::judge(options, sales))
}

/// Lets the crowd buy the seats, and returns when they were sold.
async fn sell(
    options: &LastSeatsBenchOptions,
    is_before: bool,
    programs: (PathBuf, PathBuf),
) -> anyhow::Result<LastSeatsSale> {
    let scenario = options.scenario(is_before)?;
    let rig = Rig::start_programs(options.rig, RigFeatures::default(), programs).await?;
    let rig = Arc::new(rig);
    let history = rig.folder().join("history.jsonl");
    let environment = SwarmEnvironment {
        urls: &rig.urls(),
        key: rig.promoter_key(),
        door_key: rig.door_key(),
        rig: Some(Arc::clone(&rig)),
        trouble: SwarmFaults::Kills(Vec::new()),
        seed: options.seed,
        history: &history,
        from: None,
        workers: None,
    };
    let report = play_scenario(&scenario, &environment).await;
    let report = report.inspect_err(|_| rig.tell_log())?;
    rig.stop().await?;
    let draw_s = scenario.onsale.at_s("draw_at").unwrap_or_default();
    let sale = LastSeatsSale::read(is_before, &report.figures, scenario.deadline_s - draw_s)?;
    Ok(LastSeatsSale {
        is_late: report.is_late(),
        ..sale
    })
}

impl LastSeatsBenchOptions {
    fn rows(&self) -> u32 {
        self.seats.div_ceil(ACROSS)
    }

    /// Returns the scenario with the numbers of the command line. The earlier build would refuse
    /// `away_s`.
    fn scenario(&self, is_before: bool) -> anyhow::Result<Scenario> {
        let mut table: toml::Table = SCENARIO.parse()?;
        let planned_s = table["planned_s"].as_float().unwrap_or_default();
        let rounds_s = f64::from(ROUNDS_MAX * self.hold_s);
        table.insert("deadline_s".to_owned(), (planned_s + rounds_s).into());
        table["crowd"]["visitors"] = i64::from(self.visitors).into();
        table["venue"][0]["plan"] = format!("grid:{}x{ACROSS}", self.rows()).into();
        table["show"][0]["hold_s"] = i64::from(self.hold_s).into();
        let room = table["room"][0].as_table_mut();
        let room = room.context("the scenario has no room")?;
        room.insert("away_s".to_owned(), i64::from(self.away_s).into());
        if is_before {
            room.remove("away_s");
        }
        scenario_of("left-baskets", &table.to_string()).map_err(|faults| {
            anyhow::anyhow!("the scenario cannot be played: {}", faults.join("; "))
        })
    }
}

impl LastSeatsSale {
    /// Reads the figures of a run that ended `end_s` seconds after the draw or earlier.
    fn read(is_before: bool, figures: &BTreeMap<String, f64>, end_s: f64) -> anyhow::Result<Self> {
        let figure = |name: &str| figures.get(name).copied();
        let sold_99_s = figure("sold_99_s");
        let sold_99_s = sold_99_s.context("the run ended before 99 of 100 seats were sold")?;
        let sold_out_s = figure("sold_out_s");
        Ok(Self {
            is_before,
            sold_99_s,
            sold_out_s,
            last_seats_s: sold_out_s.unwrap_or(end_s) - sold_99_s,
            entries: figure("entries").unwrap_or_default(),
            entered_no_seats: figure("entered_no_seats").unwrap_or_default(),
            lag_p99_ms: figure("lag_p99_ms").unwrap_or_default(),
            is_late: false,
        })
    }

    fn build(&self) -> &'static str {
        if self.is_before {
            "the earlier build"
        } else {
            "this build"
        }
    }

    fn line(&self) -> String {
        let build = self.build();
        let end = match self.sold_out_s {
            Some(sold_out_s) => format!("all after {sold_out_s:.1} s"),
            None => "not all before the run ended".to_owned(),
        };
        format!(
            "  {build:<22} 99 % sold after {:.1} s, {end}: the last seats took {:.1} s; {:.0} entered, {:.1} % of them in vain",
            self.sold_99_s,
            self.last_seats_s,
            self.entries,
            self.entered_no_seats * 1e2
        )
    }
}

impl LastSeatsFigures {
    fn judge(options: &LastSeatsBenchOptions, sales: Vec<LastSeatsSale>) -> Self {
        let last_s = |is_before: bool| {
            let mut sales = sales.iter();
            let sale = sales.find(|sale| sale.is_before == is_before);
            sale.map(|sale| sale.last_seats_s)
        };
        let ratio = last_s(false).zip(last_s(true));
        let ratio = ratio.map(|(now_s, before_s)| now_s / before_s);
        let is_sold_out = sales
            .iter()
            .all(|sale| sale.is_before || sale.sold_out_s.is_some());
        Self {
            bench: "last seats",
            rig: options.rig.to_string(),
            visitors: options.visitors,
            seats: options.rows() * ACROSS,
            hold_s: options.hold_s,
            away_s: options.away_s,
            ratio,
            held: is_sold_out && ratio.is_none_or(|ratio| ratio <= RATIO_MAX),
            sales,
        }
    }
}

impl report::BenchFigures for LastSeatsFigures {
    fn held(&self) -> bool {
        self.held
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "{} visitors for {} seats, baskets of {} s, {} s if the visitor is gone, on {}",
            self.visitors, self.seats, self.hold_s, self.away_s, self.rig
        )];
        lines.extend(self.sales.iter().map(LastSeatsSale::line));
        if let Some(ratio) = self.ratio {
            lines.push(format!(
                "  this / earlier         {ratio:.2} of the time for the last seats (at most {RATIO_MAX})"
            ));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct OptionsParser {
        #[command(flatten)]
        options: LastSeatsBenchOptions,
    }

    fn options(words: &[&str]) -> LastSeatsBenchOptions {
        let words = ["last-seats"].iter().chain(words);
        <OptionsParser as clap::Parser>::parse_from(words).options
    }

    fn sale(is_before: bool, sold_out_s: Option<f64>) -> LastSeatsSale {
        let mut figures = BTreeMap::from([("sold_99_s".to_owned(), 100.0)]);
        figures.extend(sold_out_s.map(|sold_out_s| ("sold_out_s".to_owned(), sold_out_s)));
        LastSeatsSale::read(is_before, &figures, 300.0).expect("sold")
    }

    #[test]
    fn both_builds_get_the_same_crowd_and_only_the_new_one_is_told_of_away_s() {
        let options = options(&["--seats", "120", "--hold-s", "50", "--away-s", "10"]);
        let [now, before] = [false, true].map(|is_before| {
            let scenario = options.scenario(is_before).expect("a scenario");
            assert_eq!(scenario.crowd.visitors, 5_000);
            assert!((scenario.onsale.longest_s("hold_s", 0.0) - 50.0).abs() < 1e-9);
            assert!(scenario.onsale.venues()[0].2.contains("grid:3x50"));
            scenario.onsale.number("away_s")
        });
        assert_eq!((now, before), (Some(10.0), None));
    }

    #[test]
    fn the_time_of_the_last_seats_is_judged_beside_that_of_the_earlier_build() {
        let options = options(&[]);
        for (now_s, before_s, held) in [
            (Some(150.0), Some(200.0), true),
            (Some(151.0), Some(200.0), false),
            // The earlier build may not be sold out at all. It then took at least so long.
            (Some(200.0), None, true),
            (None, None, false),
        ] {
            let sales = vec![sale(false, now_s), sale(true, before_s)];
            let figures = LastSeatsFigures::judge(&options, sales);
            assert_eq!(figures.held, held, "{now_s:?} {before_s:?}");
        }
        assert!(LastSeatsFigures::judge(&options, vec![sale(false, Some(150.0))]).held);
    }
}
