//! Lists the benches. They share the type of their result, and functions that measure times.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::exit_code::LoadtestExitCode;

mod bot;
mod botnet;
mod carrier;
mod challenges;
mod claimers;
mod delta;
mod draw;
mod edge;
pub mod fans;
mod foreign;
mod holds;
mod idle;
mod last_seats;
mod lists;
mod one_seat;
pub mod people;
mod purchases;
mod rail;
mod report;
mod rooms;
mod seats;
mod waitlist;
mod wishes;

/// The benches.
#[derive(clap::Subcommand)]
pub enum BenchCommand {
    /// One bot on one address, with a whole core, beside people on networks of their own: the bot's
    /// share of the places.
    Bot(bot::BotBenchOptions),
    /// Bots on a hundred networks, with and without limits: their share of the front of the line,
    /// and what it costs.
    Botnet(botnet::BotnetBenchOptions),
    /// Many people on one carrier's address: whether each gets a place, and how long it takes.
    Carrier(carrier::CarrierBenchOptions),
    /// Bots that claim passes and do nothing, and bots that let baskets lapse, beside people who
    /// buy: whether everybody in line comes in, and when.
    Claimers(claimers::ClaimerBenchOptions),
    /// A hundred thousand foreign networks: whether fresh visitors can still join.
    Foreign(foreign::ForeignBenchOptions),
    /// Clients that misuse the edge: long bodies without a key, clients that never read, slow
    /// bodies, silent sockets. Also what a large seat map costs.
    Edge(edge::EdgeBenchOptions),
    /// One visitor in seven leaves the page with a full basket: how long the last seats take, also
    /// beside an earlier build.
    LastSeats(last_seats::LastSeatsBenchOptions),
    /// Thousands of sockets that only wait, before the draw and while selling: the gateway's
    /// processor time and memory for them.
    Idle(idle::IdleBenchOptions),
    /// Purchases a second with and without thousands of watchers of the seats.
    Delta(delta::DeltaBenchOptions),
    /// A draw of n numbers, permutation and inverse, compared with a plain shuffle of n numbers.
    Draw(draw::DrawBenchOptions),
    /// Holds a second through booking's Redis store, compared with its bare scripts.
    Holds(holds::HoldBenchOptions),
    /// Every list and page that needs no key, with thousands of showings: what a call costs, and
    /// how long another visitor waits while many clients ask for it.
    Lists(lists::ListBenchOptions),
    /// People who buy, each from the join to the ticket: purchases a second and the cost of one,
    /// also beside an earlier build.
    Purchases(purchases::PurchaseBenchOptions),
    /// A country's timetable: import, cold start, searches for free seats under load, and one hot
    /// train beside the others.
    Rail(rail::RailBenchOptions),
    /// Everybody asks for one seat at once, over several gateways: whether exactly one gets it.
    OneSeat(one_seat::OneSeatBenchOptions),
    /// A thousand rooms that only wait, each with a show: the gateway's memory and processor time
    /// for them.
    Rooms(rooms::RoomBenchOptions),
    /// A million seats in one Redis: memory, a sell-out, a restart, a rebuild.
    Seats(seats::SeatBenchOptions),
    /// A thousand parties on a waitlist, while baskets lapse and a process is killed: whether
    /// parties are served in turn, no seat is offered to two, and nobody is forgotten.
    Waitlist(waitlist::WaitlistBenchOptions),
    /// Simulated sales in which visitors say their wishes: whether the odds that they are told for
    /// each wish come true.
    Wishes(wishes::WishBenchOptions),
}

/// The command line of `loadtest bench`.
#[derive(clap::Args)]
pub struct BenchOptions {
    /// Writes the figures into this file, an HTML page that needs no other file. Also writes them
    /// beside it as .json
    #[arg(long, global = true, value_parser = crate::html::page_file)]
    html: Option<PathBuf>,
    #[command(subcommand)]
    bench: BenchCommand,
}

impl BenchOptions {
    /// Runs the bench, prints its figures, and writes its report if one is asked for.
    ///
    /// # Errors
    /// Where the run is invalid, or the report cannot be written.
    pub fn run(self) -> anyhow::Result<LoadtestExitCode> {
        let outcome = self.bench.run()?;
        if let Some(file) = &self.html {
            report::page(&outcome).write(file, &outcome.figures)?;
        }
        Ok(if outcome.held {
            LoadtestExitCode::Held
        } else {
            LoadtestExitCode::Failed
        })
    }
}

/// The result of a bench.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchOutcome {
    /// Whether every threshold held, and no invariant broke.
    pub held: bool,
    /// The figures as lines of text.
    pub lines: Vec<String>,
    /// The figures as JSON.
    pub figures: Value,
}

impl BenchOutcome {
    /// Makes the result of a run that has no figures.
    pub fn without_figures(held: bool) -> Self {
        Self {
            held,
            lines: Vec::new(),
            figures: Value::Null,
        }
    }
}

impl BenchCommand {
    /// Runs the bench and prints its figures.
    ///
    /// # Errors
    /// Where the run is invalid. The error gives the reason.
    fn run(self) -> anyhow::Result<BenchOutcome> {
        match self {
            Self::Bot(options) => bot::run(&options),
            Self::Botnet(options) => botnet::run(&options),
            Self::Carrier(options) => carrier::run(&options),
            Self::Claimers(options) => claimers::run(&options),
            Self::Foreign(options) => foreign::run(&options),
            Self::Edge(options) => edge::run(&options),
            Self::Idle(options) => idle::run(&options),
            Self::LastSeats(options) => last_seats::run(&options),
            Self::Delta(options) => delta::run(&options),
            Self::Draw(options) => draw::run(&options),
            Self::Holds(options) => holds::run(&options),
            Self::Lists(options) => lists::run(&options),
            Self::Purchases(options) => purchases::run(&options),
            Self::Rail(options) => rail::run(&options),
            Self::OneSeat(options) => one_seat::run(&options),
            Self::Rooms(options) => rooms::run(&options),
            Self::Seats(options) => seats::run(&options),
            Self::Waitlist(options) => waitlist::run(&options),
            Self::Wishes(options) => wishes::run(&options),
        }
    }
}

/// Returns how long `work` takes. Drops the result of `work` only after the clock has stopped.
fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let result = black_box(work());
    let elapsed = start.elapsed();
    drop(result);
    elapsed
}

/// Returns the median of the times, in milliseconds.
fn median_ms(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}
