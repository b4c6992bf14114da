//! Lets bots hold up a line. In the first part they claim passes and do nothing. In the second part
//! they take baskets and let them lapse. Beside them, people claim, choose a seat and buy it.
//! Checks that nobody enters again before everybody in line was called, that the people come in
//! soon, that all of them buy, and that the bots hold few seats afterwards.

mod figures;
mod part;
mod record;
mod visitor;

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::{BenchOutcome, report};
use crate::rig::{RigSpecification, booking_binary, gateway_binary, programs_in};
use figures::{ClaimerBenchFigures, ClaimersPartFigures};
use part::ClaimersPart;

/// The time at the end in which the bots' share of the seats is measured, unless `--settle-s` is
/// shorter.
const WINDOW: Duration = Duration::from_secs(30);

#[derive(clap::Args)]
pub struct ClaimerBenchOptions {
    /// Run only this part.
    #[arg(long, value_enum)]
    only: Option<ClaimerBots>,
    /// How many bots there are. By default 400 that do nothing, and 60 that let baskets lapse.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=5_000))]
    bots: Option<u32>,
    /// How many people there are. By default 40 and 60.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=5_000))]
    people: Option<u32>,
    /// The most visitors who may be inside.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=5_000))]
    max_inside: u32,
    /// After how many seconds a pass ends whose holder does nothing.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(10..=600))]
    pass_idle_s: u64,
    /// How many seconds a basket lives.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=600))]
    hold_s: u64,
    /// The seats of the hall, rounded up to whole rows of twenty.
    #[arg(long, default_value_t = 440, value_parser = clap::value_parser!(u32).range(20..=20_000))]
    seats: u32,
    /// How many seats a bot's basket has.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=20))]
    basket: u32,
    /// How long after the last person is in the bots' share of the seats is known, in seconds.
    #[arg(long, default_value_t = 180, value_parser = clap::value_parser!(u64).range(2..=3_600))]
    settle_s: u64,
    /// How many times the shortest possible time may pass until the last person is in. In a room
    /// with a short `--pass-idle-s`, the seconds until every node knows that a pass has ended count
    /// more.
    #[arg(long, default_value_t = 1.2)]
    times: f64,
    /// After how many seconds a part stops in which people are not in.
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(10..=3_600))]
    at_most_s: u64,
    /// Where the line and the seats are: in one process with its ledger file, or in one Redis for
    /// two gateways with PostgreSQL.
    #[arg(long, value_enum, default_value = "memory")]
    store: ClaimersStore,
    /// The folder with the programs of a build that does not know `pass_idle_s`. Each part runs
    /// with them, too, and only their figures are printed.
    #[arg(long)]
    before: Option<PathBuf>,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

/// What the bots do with their passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
enum ClaimerBots {
    /// Nothing.
    Idle,
    /// They take a basket after the other, and let each lapse.
    Lapsing,
}

/// Where the line and the seats are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ClaimersStore {
    Memory,
    Redis,
}

/// Runs the bench.
///
/// # Errors
/// Where the run is invalid. The error gives the reason.
pub fn run(options: &ClaimerBenchOptions) -> anyhow::Result<BenchOutcome> {
    report::measured(options.json, measure(options))
}

async fn measure(options: &ClaimerBenchOptions) -> anyhow::Result<ClaimerBenchFigures> {
    let own = (gateway_binary()?, booking_binary()?);
    let before = options.before.as_deref().map(programs_in).transpose()?;
    let mut parts = Vec::new();
    for bots in [ClaimerBots::Idle, ClaimerBots::Lapsing] {
        if options.only.is_some_and(|only| only != bots) {
            continue;
        }
        for (is_before, programs) in [(false, Some(&own)), (true, before.as_ref())] {
            let Some(programs) = programs else {
                continue;
            };
            let part = ClaimersPart {
                pass_idle_s: (!is_before).then_some(options.pass_idle_s),
                ..options.part(bots, programs.clone())?
            };
            eprintln!("{}:", bots.title(part.bots, part.people, is_before));
            let run = part::run(&part).await?;
            let figures = ClaimersPartFigures::judge(bots, is_before, &part, &run, options.times);
            parts.push(figures);
        }
    }
    Ok(ClaimerBenchFigures {
        bench: "claimers",
        rig: options.store.rig()?.to_string(),
        max_inside: options.max_inside,
        pass_idle_s: options.pass_idle_s,
        hold_s: options.hold_s,
        seats: options.seats,
        settle_s: options.settle_s,
        held: parts.iter().all(|part| part.held),
        parts,
    })
}

impl ClaimersStore {
    fn rig(self) -> anyhow::Result<RigSpecification> {
        let spec = match self {
            Self::Memory => "gateways=1,bookings=0,redis=none,ledger=sqlite",
            Self::Redis => "gateways=2,bookings=0,redis=single,ledger=postgres",
        };
        spec.parse().map_err(anyhow::Error::msg)
    }
}

impl ClaimerBots {
    fn title(self, bots: usize, people: usize, is_before: bool) -> String {
        let habit = match self {
            Self::Idle => "that claim and do nothing",
            Self::Lapsing => "that let baskets lapse",
        };
        let build = if is_before { ", the build before" } else { "" };
        format!("{bots} bots {habit}, {people} people{build}")
    }
}

impl ClaimerBenchOptions {
    fn part(
        &self,
        bots: ClaimerBots,
        programs: (PathBuf, PathBuf),
    ) -> anyhow::Result<ClaimersPart> {
        let (default_bots, default_people) = match bots {
            ClaimerBots::Idle => (400, 40),
            ClaimerBots::Lapsing => (60, 60),
        };
        let settle = Duration::from_secs(match bots {
            // These bots hold no seats, so one look at the end is enough.
            ClaimerBots::Idle => 0,
            ClaimerBots::Lapsing => self.settle_s,
        });
        Ok(ClaimersPart {
            rig: self.store.rig()?,
            programs,
            bots: self.bots.unwrap_or(default_bots) as usize,
            people: self.people.unwrap_or(default_people) as usize,
            max_inside: self.max_inside,
            pass_idle_s: Some(self.pass_idle_s),
            hold_s: self.hold_s,
            seats: self.seats,
            basket: (bots == ClaimerBots::Lapsing).then_some(self.basket),
            at_most: Duration::from_secs(self.at_most_s),
            settle,
            window: WINDOW.min(settle / 2),
        })
    }
}
