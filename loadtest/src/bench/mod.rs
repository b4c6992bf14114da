//! What the benches share: which there are, how a run ends, and how times are taken.

use std::{
    hint::black_box,
    process::ExitCode,
    time::{Duration, Instant},
};

mod draw;
mod holds;
mod one_seat;
mod people;
mod rail;
mod report;
mod seats;
mod waitlist;

/// The benches.
#[derive(clap::Subcommand)]
pub enum Bench {
    /// Permutation and inverse of n numbers against a plain shuffle of as many.
    Draw(draw::Options),
    /// Holds a second through booking's Redis store against its bare scripts.
    Holds(holds::Options),
    /// A country's timetable: import, cold start, availability under a rush, one hot train beside
    /// the others.
    Rail(rail::Options),
    /// Everybody at once for one seat, over several gateways: exactly one hold.
    OneSeat(one_seat::Options),
    /// A million seats in one Redis: memory, a sell-out, a restart, a rebuild.
    Seats(seats::Options),
    /// A thousand parties on a waitlist, baskets that lapse, a kill: served in turn, no seat twice,
    /// nobody forgotten.
    Waitlist(waitlist::Options),
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Every threshold held.
    Held,
    /// One did not, or an invariant broke.
    Failed,
}

impl Bench {
    /// Runs it and prints its figures.
    ///
    /// # Errors
    /// What made the run invalid.
    pub fn run(self) -> anyhow::Result<Verdict> {
        match self {
            Self::Draw(options) => draw::run(&options),
            Self::Holds(options) => holds::run(&options),
            Self::Rail(options) => rail::run(&options),
            Self::OneSeat(options) => one_seat::run(&options),
            Self::Seats(options) => seats::run(&options),
            Self::Waitlist(options) => waitlist::run(&options),
        }
    }
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Held => Self::SUCCESS,
            Verdict::Failed => Self::from(99),
        }
    }
}

/// How long `work` takes, its result kept until the clock has stopped.
fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let result = black_box(work());
    let elapsed = start.elapsed();
    drop(result);
    elapsed
}

/// The middle one, in milliseconds.
fn median_ms(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}
