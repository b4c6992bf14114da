//! Measures how much more time a draw that anybody can check takes than a plain shuffle. Compares
//! the time of the whole draw, which makes the permutation and its inverse, with the time of a
//! plain shuffle of as many numbers. Also measures the memory that a draw takes.

use std::{hint::black_box, process};

use anyhow::{Context, bail};
use fairgate_rules::draw::{self, shuffle};
use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};
use serde::Serialize;

use super::{BenchOutcome, median_ms, report, timed};

/// The most time that a draw may take, as a multiple of the time of a plain shuffle.
const RATIO_MAX: f64 = 1.5;
/// The most memory that a process may use for a draw.
const PEAK_BYTES_MAX: u64 = 100_000_000;
/// The number of measured rounds, after one that warms the machine up.
const ROUNDS: usize = 5;

#[derive(clap::Args)]
pub struct DrawBenchOptions {
    /// How many numbers are drawn.
    #[arg(long, default_value_t = 10_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    n: u32,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
    /// Draw once, and print the peak memory of this process in bytes. The bench starts itself with
    /// this option to measure memory.
    #[arg(long, hide = true)]
    once: bool,
}

/// The figures of the bench. Times are medians in milliseconds.
#[derive(Serialize)]
struct DrawBenchFigures {
    bench: &'static str,
    n: u32,
    rounds: usize,
    plain_ms: f64,
    draw_ms: f64,
    draw_threads: usize,
    ratio: f64,
    ratio_max: f64,
    one_thread_ms: f64,
    one_thread_ratio: f64,
    peak_bytes: u64,
    peak_bytes_max: u64,
    held: bool,
}

/// Runs the bench. With `--once`, only draws once and prints the peak memory of this process.
#[expect(
    clippy::print_stdout,
    reason = "the figures are what the command is asked for"
)]
pub fn run(options: &DrawBenchOptions) -> anyhow::Result<BenchOutcome> {
    let n = options.n;
    if options.once {
        black_box(shuffle::line_and_ranks(&seed(n), n));
        println!("{}", own_peak_bytes()?);
        return Ok(BenchOutcome::without_figures(true));
    }
    if !is_a_draw(&shuffle::line_and_ranks(&seed(n), n)) {
        println!(
            "FAILED: the line is no permutation of 0…{}, or the ranks are not its inverse",
            n - 1
        );
        return Ok(BenchOutcome::without_figures(false));
    }
    report::print(&measure(n)?, options.json)
}

fn measure(n: u32) -> anyhow::Result<DrawBenchFigures> {
    let seed = seed(n);
    let (mut plain, mut drawn, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    // The first round warms the machine up, and its times are dropped.
    for round in 0..=ROUNDS {
        let times = [
            timed(|| plain_shuffle(n)),
            timed(|| shuffle::line_and_ranks(&seed, n)),
            timed(|| shuffle::line_and_ranks_alone(&seed, n)),
        ];
        if round > 0 {
            plain.push(times[0]);
            drawn.push(times[1]);
            alone.push(times[2]);
        }
    }
    let (plain_ms, draw_ms, one_thread_ms) = (median_ms(plain), median_ms(drawn), median_ms(alone));
    let (ratio, peak_bytes) = (draw_ms / plain_ms, peak_bytes_of_one_draw(n)?);
    Ok(DrawBenchFigures {
        bench: "draw",
        n,
        rounds: ROUNDS,
        plain_ms,
        draw_ms,
        draw_threads: shuffle::threads_for(n),
        ratio,
        ratio_max: RATIO_MAX,
        one_thread_ms,
        one_thread_ratio: one_thread_ms / plain_ms,
        peak_bytes,
        peak_bytes_max: PEAK_BYTES_MAX,
        held: ratio <= RATIO_MAX && peak_bytes <= PEAK_BYTES_MAX,
    })
}

impl report::BenchFigures for DrawBenchFigures {
    fn held(&self) -> bool {
        self.held
    }

    fn lines(&self) -> Vec<String> {
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        vec![
            format!(
                "draw of {} numbers, medians of {} alternating rounds",
                self.n, self.rounds
            ),
            format!("  plain shuffle, 1 thread        {:8.1} ms", self.plain_ms),
            format!(
                "  line and inverse, {} thread(s)  {:8.1} ms",
                self.draw_threads, self.draw_ms
            ),
            format!(
                "  ratio                          {:8.2}      at most {}",
                self.ratio, self.ratio_max
            ),
            format!(
                "  the same on 1 thread           {:8.1} ms   {:.2} × plain",
                self.one_thread_ms, self.one_thread_ratio
            ),
            format!(
                "  peak memory of one draw        {:8.1} MB   at most {}",
                megabytes(self.peak_bytes),
                megabytes(self.peak_bytes_max)
            ),
        ]
    }
}

fn plain_shuffle(n: u32) -> Vec<u32> {
    let mut line: Vec<u32> = (0..n).collect();
    line.shuffle(&mut StdRng::seed_from_u64(u64::from(n)));
    line
}

/// Returns a seed. Every run with the same `n` uses the same seed.
fn seed(n: u32) -> draw::Digest {
    draw::seed(
        &[7; 32],
        u64::from(n),
        &draw::merkle::root::<[u8; 32]>(&[]),
        &[],
    )
}

fn is_a_draw(drawn: &shuffle::ShuffledLine) -> bool {
    let inverse =
        |(rank, number): (usize, &u32)| drawn.ranks.get(*number as usize) == Some(&(rank as u32));
    drawn.line.len() == drawn.ranks.len() && drawn.line.iter().enumerate().all(inverse)
}

/// Starts a process that draws once, and returns the peak memory of that process. The peak of the
/// calling process would include the plain shuffles and earlier rounds.
fn peak_bytes_of_one_draw(n: u32) -> anyhow::Result<u64> {
    let program =
        std::env::current_exe().context("cannot find this program to measure its memory")?;
    let output = process::Command::new(program)
        .args(["bench", "draw", "--once", "--n", &n.to_string()])
        .output()
        .context("cannot start a process to measure its memory")?;
    if !output.status.success() {
        bail!(
            "the process that measures memory failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    let text = String::from_utf8(output.stdout).context("the peak is not text")?;
    text.trim().parse().context("the peak is not a number")
}

fn own_peak_bytes() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")
        .context("peak memory is read from /proc/self/status, which this system does not have")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak
        .and_then(|rest| rest.trim().strip_suffix(" kB"))
        .context("no VmHWM in /proc/self/status")?;
    Ok(peak.trim().parse::<u64>()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_two_ranks_swapped_is_not_a_draw() {
        let mut drawn = shuffle::line_and_ranks(&seed(100), 100);
        assert!(is_a_draw(&drawn));
        drawn.ranks.swap(3, 4);
        assert!(!is_a_draw(&drawn));
    }

    #[test]
    fn a_process_reads_its_own_peak_memory() {
        if !std::path::Path::new("/proc/self/status").exists() {
            eprintln!("SKIPPED: this system has no /proc/self/status");
            return;
        }
        assert!(own_peak_bytes().unwrap() > 100_000);
    }
}
