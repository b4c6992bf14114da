//! Sums up the outcomes of several seeds. The differences between seeds show what chance alone
//! changes in a sale.

use serde::Serialize;

use crate::outcome::{PARTS, SaleOutcome, SeatEnds, VisitEnds};

/// Three percentiles of a figure over the seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SeedPercentiles {
    /// One in ten seeds has at most this.
    pub p10: f64,
    /// Half of the seeds have at most this.
    pub p50: f64,
    /// Nine in ten seeds have at most this.
    pub p90: f64,
}

impl SeedPercentiles {
    /// Returns the percentiles of some values, or `None` if there are no values.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_unstable_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        let at = |share: f64| values[(share * last as f64).round() as usize];
        Some(Self {
            p10: at(0.1),
            p50: at(0.5),
            p90: at(0.9),
        })
    }
}

/// The figures of one seed. The figures of single seconds are left out.
#[derive(Debug, Clone, PartialEq)]
pub struct SeedFigures {
    /// See [`SaleOutcome::sold_out_s`].
    pub sold_out_s: Option<f64>,
    /// See [`SaleOutcome::sold_99_s`].
    pub sold_99_s: Option<f64>,
    /// Half of the called visitors waited at most this long, in seconds.
    pub wait_p50_s: Option<f64>,
    /// Nine in ten of the called visitors waited at most this long, in seconds.
    pub wait_p90_s: Option<f64>,
    /// See [`SaleOutcome::waits_by_part`].
    pub waits_by_part: [Option<[f64; 2]>; PARTS],
    /// See [`SaleOutcome::odds`].
    pub odds: [Option<f64>; PARTS],
    /// See [`SaleOutcome::odds_brier`].
    pub odds_brier: Option<f64>,
    /// See [`SaleOutcome::told_no`].
    pub told_no: u64,
    /// See [`SaleOutcome::told_no_by_s`].
    pub told_no_by_s: Option<[f64; 3]>,
    /// See [`SaleOutcome::inside_most`].
    pub inside_most: u64,
    /// See [`SaleOutcome::seats`].
    pub seats: SeatEnds,
    /// See [`SaleOutcome::waitlisted`].
    pub waitlisted: u64,
    /// See [`SaleOutcome::calls_per_s_most`].
    pub calls_per_s_most: u64,
    /// The largest `p99_ms` of any second.
    pub p99_ms_most: u64,
    /// See [`SaleOutcome::ends`].
    pub ends: VisitEnds,
}

impl From<&SaleOutcome> for SeedFigures {
    fn from(outcome: &SaleOutcome) -> Self {
        let slowest = outcome.seconds.iter().map(|second| second.p99_ms).max();
        Self {
            sold_out_s: outcome.sold_out_s,
            sold_99_s: outcome.sold_99_s,
            wait_p50_s: outcome.wait_s(0.5),
            wait_p90_s: outcome.wait_s(0.9),
            waits_by_part: outcome.waits_by_part,
            odds: outcome.odds(),
            odds_brier: outcome.odds_brier,
            told_no: outcome.told_no,
            told_no_by_s: outcome.told_no_by_s,
            inside_most: outcome.inside_most,
            seats: outcome.seats,
            waitlisted: outcome.waitlisted,
            calls_per_s_most: outcome.calls_per_s_most,
            p99_ms_most: slowest.unwrap_or(0),
            ends: outcome.ends,
        }
    }
}

/// The figures of all seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SaleSummary {
    /// When everything was sold, in seconds after the beginning of the sale. Only seeds in which
    /// everything was sold count.
    pub sold_out_s: Option<SeedPercentiles>,
    /// See [`SeedFigures::sold_99_s`].
    pub sold_99_s: Option<SeedPercentiles>,
    /// The share of the seeds in which everything was sold.
    pub sold_out_share: f64,
    /// See [`SeedFigures::wait_p50_s`].
    pub wait_p50_s: Option<SeedPercentiles>,
    /// See [`SeedFigures::wait_p90_s`].
    pub wait_p90_s: Option<SeedPercentiles>,
    /// How long half of the called visitors waited at most, in seconds, by tenth of the line.
    pub wait_p50_by_part: Vec<Option<SeedPercentiles>>,
    /// How long nine in ten of the called visitors waited at most, in seconds, by tenth of the
    /// line.
    pub wait_p90_by_part: Vec<Option<SeedPercentiles>>,
    /// See [`SeedFigures::odds`].
    pub odds: Vec<Option<SeedPercentiles>>,
    /// The lowest and the highest [`SeedFigures::odds_brier`] of the middle 95 of 100 seeds.
    pub odds_brier_95: Option<[f64; 2]>,
    /// See [`SeedFigures::told_no`].
    pub told_no: Option<SeedPercentiles>,
    /// The medians of [`SeedFigures::told_no_by_s`] over the seeds.
    pub told_no_by_s: Option<[f64; 3]>,
    /// See [`SeedFigures::inside_most`].
    pub inside_most: Option<SeedPercentiles>,
    /// See [`SeatEnds::left`].
    pub cells_left: Option<SeedPercentiles>,
    /// See [`SeatEnds::lapsed`].
    pub seats_lapsed: Option<SeedPercentiles>,
    /// See [`SeatEnds::given_back`].
    pub cells_given_back: Option<SeedPercentiles>,
    /// See [`SeatEnds::from_waitlist`].
    pub seats_from_waitlist: Option<SeedPercentiles>,
    /// See [`SeedFigures::waitlisted`].
    pub waitlisted: Option<SeedPercentiles>,
    /// See [`SeedFigures::calls_per_s_most`].
    pub calls_per_s_most: Option<SeedPercentiles>,
    /// See [`SeedFigures::p99_ms_most`].
    pub p99_ms_most: Option<SeedPercentiles>,
    /// The visitors with tickets.
    pub ticketed: Option<SeedPercentiles>,
}

impl SaleSummary {
    /// Sums up the figures of some seeds.
    #[must_use]
    pub fn of(seeds: &[SeedFigures]) -> Self {
        let percentiles = |figure: fn(&SeedFigures) -> Option<f64>| {
            SeedPercentiles::of(seeds.iter().filter_map(figure))
        };
        let percentiles_of_count = |figure: fn(&SeedFigures) -> u64| {
            SeedPercentiles::of(seeds.iter().map(|seed| figure(seed) as f64))
        };
        let sold_out = seeds.iter().filter(|seed| seed.sold_out_s.is_some());
        let wait = |part: usize, percentile: usize| {
            let part_waits = seeds.iter().filter_map(|seed| seed.waits_by_part[part]);
            SeedPercentiles::of(part_waits.map(|waits| waits[percentile]))
        };
        let told_no = |percentile: usize| {
            let times = seeds.iter().filter_map(|seed| seed.told_no_by_s);
            Some(SeedPercentiles::of(times.map(|by_s| by_s[percentile]))?.p50)
        };
        let told_no_by_s = || Some([told_no(0)?, told_no(1)?, told_no(2)?]);
        let odds =
            |part: usize| SeedPercentiles::of(seeds.iter().filter_map(|seed| seed.odds[part]));
        Self {
            sold_out_s: percentiles(|seed| seed.sold_out_s),
            sold_99_s: percentiles(|seed| seed.sold_99_s),
            sold_out_share: sold_out.count() as f64 / seeds.len().max(1) as f64,
            wait_p50_s: percentiles(|seed| seed.wait_p50_s),
            wait_p90_s: percentiles(|seed| seed.wait_p90_s),
            wait_p50_by_part: (0..PARTS).map(|part| wait(part, 0)).collect(),
            wait_p90_by_part: (0..PARTS).map(|part| wait(part, 1)).collect(),
            odds: (0..PARTS).map(odds).collect(),
            odds_brier_95: band_95(seeds.iter().filter_map(|seed| seed.odds_brier)),
            told_no: percentiles_of_count(|seed| seed.told_no),
            told_no_by_s: told_no_by_s(),
            inside_most: percentiles_of_count(|seed| seed.inside_most),
            cells_left: percentiles_of_count(|seed| seed.seats.left),
            seats_lapsed: percentiles_of_count(|seed| seed.seats.lapsed),
            cells_given_back: percentiles_of_count(|seed| seed.seats.given_back),
            seats_from_waitlist: percentiles_of_count(|seed| seed.seats.from_waitlist),
            waitlisted: percentiles_of_count(|seed| seed.waitlisted),
            calls_per_s_most: percentiles_of_count(|seed| seed.calls_per_s_most),
            p99_ms_most: percentiles_of_count(|seed| seed.p99_ms_most),
            ticketed: percentiles_of_count(|seed| seed.ends.ticketed),
        }
    }
}

/// Returns the lowest and the highest value that remain without one in forty values at each end.
fn band_95(values: impl IntoIterator<Item = f64>) -> Option<[f64; 2]> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let at = |share: f64| values[(share * last as f64).round() as usize];
    Some([at(0.025), at(0.975)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let values = (0..=100).map(f64::from).rev();
        let expected = SeedPercentiles {
            p10: 10.0,
            p50: 50.0,
            p90: 90.0,
        };
        assert_eq!(SeedPercentiles::of(values), Some(expected));
        assert_eq!(SeedPercentiles::of([]), None);
        assert_eq!(band_95((0..=40).map(f64::from)), Some([1.0, 39.0]));
    }
}
