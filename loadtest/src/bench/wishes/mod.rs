//! Checks the odds that visitors are told for their wishes. Simulates many sales with the rules of
//! the gateway, and compares what visitors read with what came true for them.

mod sales;

use fairgate_simulation::outcome::ToldOddsBin;
use fairgate_simulation::sale::PlannedSale;
use serde::Serialize;

use super::{BenchOutcome, report};
use crate::seeds;
use sales::SaleKind;

/// The most by which odds may differ from what came true.
const OFF_MAX: f64 = 0.05;
/// Odds are judged only if at least this many visitors were told them.
const JUDGED_FROM: u64 = 200;
/// Odds are told in tenths: 0, 10, 20 … 100 %.
const BINS: usize = 11;

#[derive(clap::Args)]
pub struct WishBenchOptions {
    /// How many sales of each kind are simulated.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    seeds: u32,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Read the odds this many seconds after the draw, in every kind of sale. This also replaces
    /// the reading before the draw.
    #[arg(long, value_name = "SECONDS")]
    read_after: Option<f64>,
    /// Simulate the same sale with every seed: the sale that this seed makes. A gateway does not
    /// know the habits of its visitors, so the odds may be wrong.
    #[arg(long, value_name = "SEED")]
    sale: Option<u64>,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

/// The figures of the bench.
#[derive(Serialize)]
struct WishBenchFigures {
    bench: &'static str,
    seeds: u32,
    off_max: f64,
    judged_from: u64,
    kinds: Vec<KindFigures>,
    held: bool,
}

/// The figures of one kind of sale.
#[derive(Serialize)]
struct KindFigures {
    kind: &'static str,
    /// The wishes, grouped by the odds that were told for them.
    told: Vec<ToldOddsBin>,
}

/// Runs the bench.
///
/// # Errors
/// Where the figures cannot be printed.
pub fn run(options: &WishBenchOptions) -> anyhow::Result<BenchOutcome> {
    let kinds = SaleKind::ALL.map(|kind| KindFigures {
        kind: kind.name(),
        told: told_odds(options.seed, options.seeds, |seed| {
            let mut sale = kind.sale(options.sale.unwrap_or(seed), 1.0);
            if let (Some(after), Some(wishes)) = (options.read_after, &mut sale.wishes) {
                wishes.read_after_s = after;
            }
            sale
        }),
    });
    let held = kinds.iter().all(KindFigures::held);
    let figures = WishBenchFigures {
        bench: "wishes",
        seeds: options.seeds,
        off_max: OFF_MAX,
        judged_from: JUDGED_FROM,
        kinds: kinds.into(),
        held,
    };
    report::print(&figures, options.json)
}

/// Simulates sales of a kind, and adds up the odds that were told and what came true.
fn told_odds(
    first_seed: u64,
    count: u32,
    sale_of: impl Fn(u64) -> PlannedSale + Sync,
) -> Vec<ToldOddsBin> {
    let outcomes = seeds::each_seed(first_seed, count, |seed| {
        fairgate_simulation::simulate(&sale_of(seed), seed).wishes_told
    });
    let mut bins = [ToldOddsBin::default(); BINS];
    for told in outcomes.iter().flatten() {
        let bin = &mut bins[(told.told * (BINS - 1) as f64).round() as usize];
        bin.visitors += told.visitors;
        bin.told += told.told * told.visitors as f64;
        bin.came_true += told.came_true * told.visitors as f64;
    }
    let filled_bins = bins.into_iter().filter(|bin| bin.visitors > 0);
    filled_bins
        .map(|bin| ToldOddsBin {
            told: bin.told / bin.visitors as f64,
            came_true: bin.came_true / bin.visitors as f64,
            ..bin
        })
        .collect()
}

fn is_judged(bin: &&ToldOddsBin) -> bool {
    bin.visitors >= JUDGED_FROM
}

impl KindFigures {
    fn held(&self) -> bool {
        let mut judged = self.told.iter().filter(is_judged).peekable();
        judged.peek().is_some() && judged.all(|bin| (bin.came_true - bin.told).abs() <= OFF_MAX)
    }

    fn lines(&self) -> Vec<String> {
        let row = |bin: &ToldOddsBin| {
            let (told, came_true) = (bin.told * 100.0, bin.came_true * 100.0);
            let judged = if is_judged(&bin) { "" } else { "   too few" };
            format!(
                "  told {told:3.0} %   {:>9} wishes   came true {came_true:5.1} %   {:+5.1}{judged}",
                bin.visitors,
                came_true - told
            )
        };
        let title = format!("  {}", self.kind);
        std::iter::once(title)
            .chain(self.told.iter().map(row))
            .collect()
    }
}

impl report::BenchFigures for WishBenchFigures {
    fn held(&self) -> bool {
        self.held
    }

    fn lines(&self) -> Vec<String> {
        let headline = format!(
            "odds of wishes in {} sales of each kind; wrong by at most {:.0} points if at least {} visitors were told them",
            self.seeds,
            self.off_max * 100.0,
            self.judged_from
        );
        let kinds = self.kinds.iter().flat_map(KindFigures::lines);
        std::iter::once(headline).chain(kinds).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_odds_of_wishes_come_true_in_a_few_small_sales() {
        let seeds = 40;
        for kind in [SaleKind::Hall, SaleKind::Evenings] {
            let told = told_odds(0, seeds, |seed| kind.sale(seed, 0.1));
            assert!(told.len() >= 9, "{told:?}");
            let wishes: u64 = told.iter().map(|bin| bin.visitors).sum();
            for bin in told {
                // The wishes of one sale come true together, so the number of sales counts and not
                // the number of wishes. Odds that are seldom told come from few sales.
                let share = bin.visitors as f64 / wishes as f64;
                let sales = f64::from(seeds) * (share * BINS as f64).min(1.0);
                let deviation = (bin.told * (1.0 - bin.told)).max(0.02).sqrt() / sales.sqrt();
                let off = (bin.came_true - bin.told).abs();
                assert!(off <= OFF_MAX + 3.0 * deviation, "{kind:?}: {bin:?}");
            }
        }
    }

    #[test]
    fn odds_that_are_wrong_fail_the_bench_if_enough_people_were_told() {
        let right = ToldOddsBin {
            visitors: JUDGED_FROM,
            told: 0.8,
            came_true: 0.8,
        };
        let figures = |others: &[ToldOddsBin], visitors| {
            let wrong = ToldOddsBin {
                visitors,
                told: 0.5,
                came_true: 0.6,
            };
            KindFigures {
                kind: "a test",
                told: [others, &[wrong]].concat(),
            }
        };
        assert!(!figures(&[right], JUDGED_FROM).held());
        assert!(figures(&[right], JUDGED_FROM - 1).held());
        assert!(
            !figures(&[], JUDGED_FROM - 1).held(),
            "nothing could be judged"
        );
        assert!(figures(&[], 3).lines()[1].contains("too few"));
    }
}
