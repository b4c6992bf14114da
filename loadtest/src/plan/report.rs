//! Writes the answer of a plan: first one sentence, then the figures.

use fairgate_simulation::outcome::PARTS;
use fairgate_simulation::sale::PlannedSale;
use fairgate_simulation::summary::{SaleSummary, SeedPercentiles};
use serde::Serialize;

use super::grouped::grouped;
use super::lost_gateway::LostGatewayReport;
use super::needs::{FirstLimit, NeededMachines};
use super::settings::RecommendedSettings;
use crate::seeds::SimulatedSeeds;

/// The answer of a plan.
#[derive(Debug, Serialize)]
pub struct PlanReport {
    /// The file, or the setting that was varied and its value.
    name: String,
    visitors: u64,
    /// The number of cells for sale. Each seat has one cell for each leg.
    cells: u64,
    shows: usize,
    /// When everything is sold, in seconds after the beginning of the sale; `null` if everything is
    /// sold in fewer than half of the seeds.
    sold_out_s: Option<SeedPercentiles>,
    wait_s: PlannedWait,
    /// The chance that a seat is left when a visitor is called, by tenth of the line, as the median
    /// of the seeds.
    odds: Vec<Option<f64>>,
    /// Visitors who were told that everything is sold or that the room is closed, or who found no
    /// seats, as the median of the seeds.
    told_no: f64,
    /// When one in ten, half and nine in ten of these visitors had learned this, in seconds after
    /// the beginning of the sale; `null` if there are none.
    told_no_by_s: Option<[f64; 3]>,
    /// The number of bots that get a place. They are among the visitors.
    bots: usize,
    /// How many of these places are refused when a bot claims its pass.
    bots_refused: usize,
    /// The most visitors inside at once, as the median of the seeds.
    inside_max: f64,
    /// The most visitors inside that the promoter allows.
    inside_allowed: u64,
    seats_left: f64,
    /// Visitors who joined a waitlist, as the median of the seeds.
    waitlisted: f64,
    /// What the loss of a gateway means; `null` if none is lost.
    gateway_lost: Option<LostGatewayReport>,
    /// What the sale needs; `null` without a calibration.
    machines: Option<NeededMachines>,
    /// The limit that breaks first as the crowd grows; `null` without a calibration, or if none
    /// breaks with 64 times the crowd.
    breaks_first: Option<FirstLimit>,
    /// Settings that suit the sale; `null` if they were not asked for.
    recommended: Option<RecommendedSettings>,
    /// The settings of the file that the swarm uses and the simulation ignores.
    left_out: Vec<&'static str>,
    /// The calls that booking answers in a second, if that is limited.
    calls_per_s: Option<f64>,
    seeds: usize,
    /// How long one seed took on one core, in seconds.
    seed_s: f64,
    /// All figures as percentiles of the seeds.
    summary: SaleSummary,
}

/// How long called visitors waited, as the median of the seeds, in seconds.
#[derive(Debug, Serialize)]
struct PlannedWait {
    p50: Option<f64>,
    p90: Option<f64>,
    /// The same waits for each tenth of the line, the front first.
    p50_by_tenth: Vec<Option<f64>>,
    p90_by_tenth: Vec<Option<f64>>,
}

impl PlanReport {
    /// Makes the answer from the figures of all seeds.
    pub fn new(name: String, sale: &PlannedSale, simulated: &SimulatedSeeds) -> Self {
        let summary = SaleSummary::of(&simulated.figures);
        let middle = |figure: Option<SeedPercentiles>| figure.map(|figure| figure.p50);
        let by_tenth = |figures: &[Option<SeedPercentiles>]| {
            figures.iter().map(|figure| middle(*figure)).collect()
        };
        Self {
            name,
            visitors: sale.visitors(),
            cells: sale.cells(),
            shows: sale.shows.len(),
            sold_out_s: summary.sold_out_s.filter(|_| summary.sold_out_share >= 0.5),
            wait_s: PlannedWait {
                p50: middle(summary.wait_p50_s),
                p90: middle(summary.wait_p90_s),
                p50_by_tenth: by_tenth(&summary.wait_p50_by_part),
                p90_by_tenth: by_tenth(&summary.wait_p90_by_part),
            },
            odds: by_tenth(&summary.odds),
            told_no: middle(summary.told_no).unwrap_or(0.0),
            told_no_by_s: summary.told_no_by_s,
            bots: sale.bots.placed,
            bots_refused: sale.bots.refused,
            inside_max: middle(summary.inside_most).unwrap_or(0.0),
            inside_allowed: sale.room.pace.max_inside,
            seats_left: middle(summary.cells_left).unwrap_or(0.0),
            waitlisted: middle(summary.waitlisted).unwrap_or(0.0),
            gateway_lost: None,
            machines: None,
            breaks_first: None,
            recommended: None,
            left_out: Vec::new(),
            calls_per_s: sale.server.calls_per_s,
            seeds: simulated.figures.len(),
            seed_s: simulated.seed_s,
            summary,
        }
    }

    /// Adds what the loss of a gateway means.
    pub fn loses(&mut self, lost: Option<LostGatewayReport>) {
        self.gateway_lost = lost;
    }

    /// Adds what the sale needs, and which limit breaks first.
    pub fn takes(&mut self, machines: NeededMachines, breaks_first: Option<FirstLimit>) {
        if let Some(lost) = &mut self.gateway_lost {
            lost.on(&machines);
        }
        (self.machines, self.breaks_first) = (Some(machines), breaks_first);
    }

    /// Adds the settings of the file that the simulation ignores.
    pub fn leaves_out(&mut self, words: Vec<&'static str>) {
        self.left_out = words;
    }

    /// Adds settings that suit the sale.
    pub fn recommends(&mut self, settings: RecommendedSettings) {
        self.recommended = Some(settings);
    }

    /// Returns the chance that a seat is left, by tenth of the line.
    pub fn odds_bands(&self) -> &[Option<SeedPercentiles>] {
        &self.summary.odds
    }

    /// Returns the answer as lines of text: what was planned, the answer in a sentence, and the
    /// figures, each after its name.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!(
                "{}: {} visitors, {} seats in {}, {}",
                self.name,
                grouped(self.visitors as f64),
                grouped(self.cells as f64),
                counted(self.shows, "show"),
                counted(self.seeds, "seed"),
            ),
            self.answer(),
        ];
        if let Some(sold) = self.summary.sold_99_s {
            lines.push(format!(
                "  99 of 100 seats  sold {} after the beginning (between {} and {})",
                duration(sold.p50),
                duration(sold.p10),
                duration(sold.p90)
            ));
        }
        lines.extend(self.wait_lines());
        lines.push(format!("  a seat is left   {}", self.odds_line()));
        lines.push(format!("  told \"no\"        {}", self.told_no()));
        lines.push(format!(
            "  inside           at most {} at once; {} are allowed, so {:.0} % are to spare",
            band(self.summary.inside_most),
            grouped(self.inside_allowed as f64),
            (1.0 - self.inside_max / self.inside_allowed.max(1) as f64).max(0.0) * 100.0
        ));
        if self.bots > 0 {
            let mut line = format!(
                "  bots             {} have a place, {:.1} % of all",
                grouped(self.bots as f64),
                100.0 * self.bots as f64 / self.visitors as f64
            );
            if self.bots_refused > 0 {
                line.push_str(&format!(
                    "; {} of them get no pass, because their networks have too many places",
                    grouped(self.bots_refused as f64)
                ));
            }
            lines.push(line);
        }
        lines.push(format!("  booking          {}", self.booking()));
        lines.push(format!(
            "  seats            {} run out in baskets or unpaid orders; {} are given back; {} are left",
            band(self.summary.seats_lapsed),
            band(self.summary.cells_given_back),
            band(self.summary.cells_left)
        ));
        if self.waitlisted > 0.0 {
            lines.push(format!(
                "  waitlist         {} visitors join it; {} seats that came free are sold to them",
                band(self.summary.waitlisted),
                band(self.summary.seats_from_waitlist)
            ));
        }
        lines.extend(self.gateway_lost.iter().map(LostGatewayReport::line));
        if let Some(machines) = &self.machines {
            lines.extend(machines.lines());
            lines.push(format!("  breaks first     {}", self.breaks_first()));
        }
        lines.extend(self.recommended.iter().map(RecommendedSettings::line));
        if !self.left_out.is_empty() {
            let words = self.left_out.join(", ");
            lines.push(format!("  not simulated    {words}"));
        }
        lines.push(format!(
            "  seeds simulated  {}, {:.2} s each on one core",
            self.seeds, self.seed_s
        ));
        lines
    }

    fn answer(&self) -> String {
        let Some(sold_out) = self.sold_out_s else {
            let share = self.summary.sold_out_share;
            let left = grouped(self.seats_left);
            return if share > 0.0 {
                format!(
                    "Everything is sold in {:.0} % of the seeds; otherwise {left} seats are left.",
                    share * 100.0
                )
            } else {
                format!("Not everything is sold: {left} seats are left.")
            };
        };
        format!(
            "Sold out {} after the beginning of the sale; in eight of ten seeds between {} and {}.",
            duration(sold_out.p50),
            duration(sold_out.p10),
            duration(sold_out.p90)
        )
    }

    fn breaks_first(&self) -> String {
        match &self.breaks_first {
            None => "nothing, up to 64 times the crowd".to_owned(),
            Some(first) => format!(
                "{} of the measured processes, from {} visitors on ({:.2} times the crowd)",
                first.limit.words(),
                grouped(first.at_visitors as f64),
                first.times
            ),
        }
    }

    /// Returns the waits of all who are called, and the waits of each tenth of the line.
    fn wait_lines(&self) -> Vec<String> {
        let (Some(half), Some(most)) = (self.summary.wait_p50_s, self.summary.wait_p90_s) else {
            return Vec::new();
        };
        let span = |wait: SeedPercentiles| {
            format!(
                "{} ({} to {})",
                duration(wait.p50),
                duration(wait.p10),
                duration(wait.p90)
            )
        };
        let tenths = self.wait_s.p50_by_tenth.iter();
        let called = tenths.map_while(|wait| wait.map(duration));
        let mut tenths: Vec<String> = called.collect();
        if tenths.len() < PARTS {
            tenths.push("and nobody behind them is called".to_owned());
        }
        vec![
            format!(
                "  waits            half of those called wait at most {}, nine in ten at most {}",
                span(half),
                span(most)
            ),
            format!(
                "  waits by tenths  {} (half of each tenth of the line, the front first)",
                tenths.join(", ")
            ),
        ]
    }

    /// Returns the chance of a seat by tenth of the line, with its spread over the seeds.
    fn odds_line(&self) -> String {
        let percent = |odds: f64| odds * 100.0;
        let tenths = self.summary.odds.iter().map(|odds| match odds {
            Some(odds) if percent(odds.p90 - odds.p10) >= 1.0 => format!(
                "{:.0} % ({:.0} to {:.0})",
                percent(odds.p50),
                percent(odds.p10),
                percent(odds.p90)
            ),
            Some(odds) => format!("{:.0} %", percent(odds.p50)),
            None => "nobody".to_owned(),
        });
        let tenths: Vec<String> = tenths.collect();
        format!(
            "{} (by tenths of the line, the front first)",
            tenths.join(", ")
        )
    }

    fn told_no(&self) -> String {
        let people = format!("{} visitors", band(self.summary.told_no));
        let Some([first, half, most]) = self.told_no_by_s else {
            return people;
        };
        if most - first < 1.0 {
            let at_once = duration(half);
            return format!("{people}, {at_once} after the beginning of the sale");
        }
        format!(
            "{people}: one in ten by {}, half by {}, nine in ten by {} after the beginning of the sale",
            duration(first),
            duration(half),
            duration(most)
        )
    }

    fn booking(&self) -> String {
        let calls = band(self.summary.calls_per_s_most);
        match self.calls_per_s {
            None => format!(
                "at most {calls} calls a second; it is taken to answer at once, because --calls-per-s is not given"
            ),
            Some(limit) => format!(
                "at most {calls} calls a second of {} that it answers; 99 of 100 within {} ms at the worst",
                grouped(limit),
                band(self.summary.p99_ms_most)
            ),
        }
    }
}

/// Returns a figure and its spread over the seeds.
fn band(figure: Option<SeedPercentiles>) -> String {
    let Some(figure) = figure else {
        return "0".to_owned();
    };
    if (figure.p90 - figure.p10).abs() < 0.5 {
        return grouped(figure.p50);
    }
    format!(
        "{} ({} to {})",
        grouped(figure.p50),
        grouped(figure.p10),
        grouped(figure.p90)
    )
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Writes a duration in the units that fit its length.
fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..120 => format!("{seconds:.1} s"),
        120..7_200 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3_600, whole / 60 % 60),
    }
}

/// The JSON document lists figures by tenth of the line.
const _: () = assert!(PARTS == 10, "the contract names tenths of the line");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_durations_are_written_for_people() {
        for (number, text) in [(0.0, "0"), (999.0, "999"), (10_000_000.0, "10,000,000")] {
            assert_eq!(grouped(number), text);
        }
        for (seconds, text) in [
            (59.94, "59.9 s"),
            (125.0, "2 min 05 s"),
            (7_260.0, "2 h 01 min"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }
}
