//! Makes the HTML report of a plan: first the answer, then the charts.

use fairgate_simulation::behaviour::SecondsRange;
use fairgate_simulation::outcome::{SaleOutcome, SecondFigures, ToldOddsBin};
use fairgate_simulation::sale::PlannedSale;
use fairgate_simulation::summary::SeedFigures;

use super::report::PlanReport;
use crate::html::{HtmlReport, ReportChart, thinned};

/// What the page is made from.
pub struct PlanPage<'a> {
    /// The answer.
    pub report: &'a PlanReport,
    /// The sale that was planned.
    pub sale: &'a PlannedSale,
    /// The figures of all seeds.
    pub seeds: &'a [SeedFigures],
    /// The first seed.
    pub first_seed: u64,
    /// The typical seed (see [`typical_seed`]), and what happened in it.
    pub typical: (u64, SaleOutcome),
}

/// Returns the index of the typical seed. This is the seed in the middle, if the seeds are ordered
/// by the time of the sell-out and, where not everything is sold, by the seats that are left.
pub fn typical_seed(seeds: &[SeedFigures]) -> usize {
    let mut order: Vec<usize> = (0..seeds.len()).collect();
    order.sort_by(|a, b| {
        let key = |at: usize| {
            let seed = &seeds[at];
            (seed.sold_out_s.unwrap_or(f64::INFINITY), seed.seats.left)
        };
        let ((a_s, a_left), (b_s, b_left)) = (key(*a), key(*b));
        a_s.total_cmp(&b_s).then(a_left.cmp(&b_left))
    });
    order[order.len() / 2]
}

impl PlanPage<'_> {
    /// Returns the report.
    pub fn html(&self) -> HtmlReport {
        let mut lines = self.report.lines();
        let title = lines.remove(0);
        let answer = lines.remove(0);
        let figures = lines.iter().filter_map(|line| {
            let (name, value) = line.trim_start().split_once("  ")?;
            Some((name.to_owned(), value.trim().to_owned()))
        });
        HtmlReport {
            title: format!("Plan of {title}"),
            answer,
            figures: figures.collect(),
            charts: self.charts(),
            tables: Vec::new(),
            settings: self.settings(),
            origin: self.origin(),
        }
    }

    fn charts(&self) -> Vec<ReportChart> {
        let over_time = |title: &str, caption: &str, lines: &[&str], values: Values| {
            self.over_time(&self.since_begin(), [title, caption], lines, values)
        };
        let mut charts = vec![
            over_time(
                "Seats",
                "From free to a basket or an unpaid order, and from there to sold.",
                &["free", "in baskets and orders", "sold"],
                |second| vec![second.free as f64, second.held as f64, second.sold as f64],
            ),
            self.over_time(
                &self.typical.1.seconds,
                [
                    "The line",
                    "How many people wait, from the opening of the lobby on. The number is estimated from a sample of the line.",
                ],
                &["waiting"],
                |second| vec![second.waiting as f64],
            ),
            over_time(
                "Inside",
                "How many people are inside, and how many the pace would allow.",
                &["inside", "allowed"],
                |second| vec![second.inside as f64, second.inside_max as f64],
            ),
            self.pace(),
            over_time(
                "Booking",
                "The time within which booking answers 99 of 100 calls.",
                &["milliseconds"],
                |second| vec![second.p99_ms as f64],
            ),
        ];
        charts.extend([self.waits(), self.waits_by_tenth(), self.odds()]);
        charts.push(self.told_odds());
        charts.push(self.sold_out());
        charts.retain(|chart| chart.points.len() > 1);
        charts
    }

    /// Returns a chart over time. `words` are its title and its caption.
    fn over_time(
        &self,
        seconds: &[SecondFigures],
        words: [&str; 2],
        lines: &[&str],
        values: Values,
    ) -> ReportChart {
        let draw_s = self.sale.room.draw_s;
        let point = |second: &SecondFigures| {
            let minutes = (f64::from(second.at_s) - draw_s) / 60.0;
            (minutes, values(second).into_iter().map(Some).collect())
        };
        ReportChart {
            title: words[0].to_owned(),
            caption: words[1].to_owned(),
            across: "minutes after the beginning of the sale".to_owned(),
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            points: thinned(seconds).iter().map(point).collect(),
            dots: false,
        }
    }

    /// Returns the seconds of the typical seed, starting with the beginning of the sale.
    fn since_begin(&self) -> Vec<SecondFigures> {
        let draw_s = self.sale.room.draw_s;
        let seconds = self.typical.1.seconds.iter();
        seconds
            .filter(|second| f64::from(second.at_s) >= draw_s)
            .copied()
            .collect()
    }

    /// Returns the chart of calls and entries. Each point is the mean since the previous point.
    fn pace(&self) -> ReportChart {
        let draw_s = self.sale.room.draw_s;
        let seconds = thinned(&self.since_begin());
        let point = |pair: &[SecondFigures]| {
            let (from, to) = (pair[0], pair[1]);
            let passed = f64::from(to.at_s - from.at_s).max(1.0);
            let per_s = |from: u64, to: u64| Some((to - from) as f64 / passed);
            let values = vec![per_s(from.entered, to.entered), per_s(from.calls, to.calls)];
            ((f64::from(to.at_s) - draw_s) / 60.0, values)
        };
        ReportChart {
            title: "The pace".to_owned(),
            caption: "How many people enter a second, and how many calls they make of booking."
                .to_owned(),
            across: "minutes after the beginning of the sale".to_owned(),
            lines: vec!["entries a second".to_owned(), "calls a second".to_owned()],
            points: seconds.windows(2).map(point).collect(),
            dots: false,
        }
    }

    fn waits(&self) -> ReportChart {
        let outcome = &self.typical.1;
        let point = |percent: u32| {
            let share = f64::from(percent) / 100.0;
            let wait = outcome.wait_s(share).map(|wait_s| wait_s / 60.0);
            (f64::from(percent), vec![wait])
        };
        ReportChart {
            title: "Waits".to_owned(),
            caption:
                "How long those who were called waited: so many percent waited at most so long."
                    .to_owned(),
            across: "percent of those who were called".to_owned(),
            lines: vec!["minutes".to_owned()],
            points: (0..=100).map(point).collect(),
            dots: false,
        }
    }

    fn waits_by_tenth(&self) -> ReportChart {
        let waits = (1_u32..).zip(self.typical.1.waits_by_part);
        let called = waits.filter_map(|(part, waits)| Some((part, waits?)));
        let minutes = |wait_s: f64| Some(wait_s / 60.0);
        ReportChart {
            title: "Waits and rank".to_owned(),
            caption: "How long half and nine in ten of those who were called waited at most, by tenth of the line."
                .to_owned(),
            across: "tenth of the line".to_owned(),
            lines: ["half, minutes", "nine in ten, minutes"].map(str::to_owned).to_vec(),
            points: called
                .map(|(part, [half, most])| (f64::from(part), vec![minutes(half), minutes(most)]))
                .collect(),
            dots: false,
        }
    }

    /// Returns the chart that compares the odds that visitors were told with what came true.
    fn told_odds(&self) -> ReportChart {
        let outcome = &self.typical.1;
        let score = outcome.odds_brier.map_or_else(String::new, |score| {
            format!(" Their Brier score is {score:.3}; 0 is right, 1 is wrong.")
        });
        let point = |bin: &ToldOddsBin| {
            let told = bin.told * 100.0;
            (told, vec![Some(bin.came_true * 100.0), Some(told)])
        };
        ReportChart {
            title: "Odds".to_owned(),
            caption: format!(
                "Of the visitors who were told such odds of a seat after the draw: for how many one was left when they were called. Good odds lie on the second line.{score}"
            ),
            across: "odds that were told, %".to_owned(),
            lines: ["came true, %", "as told, %"].map(str::to_owned).to_vec(),
            points: outcome.odds_told.iter().map(point).collect(),
            dots: false,
        }
    }

    fn odds(&self) -> ReportChart {
        let bands = self.report.odds_bands();
        let point = |(part, band): (u32, &Option<_>)| {
            let band: &Option<fairgate_simulation::summary::SeedPercentiles> = band;
            let percent = |value: f64| Some(value * 100.0);
            let values = match band {
                Some(band) => vec![percent(band.p10), percent(band.p50), percent(band.p90)],
                None => vec![None; 3],
            };
            (f64::from(part), values)
        };
        ReportChart {
            title: "Chance of a seat".to_owned(),
            caption: "For which share of each tenth of the line a seat is left when they are called; one in ten seeds lies below the first line, and one in ten above the last."
                .to_owned(),
            across: "tenth of the line".to_owned(),
            lines: ["low, %", "middle, %", "high, %"].map(str::to_owned).to_vec(),
            points: (1..).zip(bands).map(point).collect(), dots: false, }
    }

    fn sold_out(&self) -> ReportChart {
        let mut sold: Vec<f64> = self
            .seeds
            .iter()
            .filter_map(|seed| seed.sold_out_s)
            .collect();
        sold.sort_unstable_by(f64::total_cmp);
        let seeds = self.seeds.len() as f64;
        let point = |(nth, sold_s): (f64, f64)| (100.0 * nth / seeds, vec![Some(sold_s / 60.0)]);
        let shares = (1..=sold.len()).map(|nth| nth as f64);
        let points: Vec<_> = shares.zip(sold.iter().copied()).map(point).collect();
        ReportChart {
            title: "Sold out".to_owned(),
            caption: "In so many percent of the seeds everything is sold by then.".to_owned(),
            across: "percent of the seeds".to_owned(),
            lines: vec!["minutes after the beginning of the sale".to_owned()],
            points: thinned(&points),
            dots: false,
        }
    }

    fn settings(&self) -> Vec<(String, String)> {
        let mut settings = self.crowd();
        settings.extend(self.room());
        settings.extend(self.behaviour());
        let named = settings.into_iter();
        named
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    fn crowd(&self) -> Vec<(&'static str, String)> {
        let crowd = &self.sale.crowd;
        let mut settings = match &self.sale.arrivals {
            Some(past) => vec![
                ("visitors", past.total().to_string()),
                ("they come", "as in a past sale".to_owned()),
            ],
            None => vec![
                ("visitors", crowd.visitors.to_string()),
                ("they come over", format!("{} s", crowd.over_s)),
                ("in the last rush", percent(crowd.rush)),
                ("after the draw", percent(crowd.after_draw)),
            ],
        };
        if crowd.bots > 0 {
            settings.push(("bots", crowd.bots.to_string()));
            settings.push(("networks of bots", crowd.bot_networks.to_string()));
        }
        settings.push(("on sockets", percent(crowd.socket)));
        settings
    }

    fn room(&self) -> Vec<(&'static str, String)> {
        let room = &self.sale.room;
        let mut settings = vec![
            ("method", format!("{:?}", room.method).to_lowercase()),
            ("mode", format!("{:?}", room.pace.mode).to_lowercase()),
            ("per_s", (room.pace.per_s_u as f64 / 1e6).to_string()),
            ("max_inside", room.pace.max_inside.to_string()),
            ("claim_s", room.claim_s.to_string()),
            ("pass_s", room.pace.pass_s.to_string()),
            ("away_s", room.away_s.to_string()),
        ];
        if let Some(show) = self.sale.shows.first() {
            settings.push(("hold_s", show.hold_s.to_string()));
            settings.push(("pay_s", show.pay_s.to_string()));
        }
        if let Some(lost) = self.sale.lost_gateway {
            let at_s = lost.at_s - room.draw_s;
            let when = if at_s < 0.0 { "before" } else { "after" };
            let when = format!("{:.0} s {when} the draw", at_s.abs());
            settings.push(("a gateway is lost", when));
            settings.push(("its part of the sockets", percent(lost.share)));
        }
        settings
    }

    fn behaviour(&self) -> Vec<(&'static str, String)> {
        let behaviour = &self.sale.behaviour;
        let party: Vec<String> = behaviour.party.iter().map(ToString::to_string).collect();
        let range = |range: SecondsRange| format!("{} to {} s", range.0, range.1);
        let mut settings = vec![
            ("party (weights)", party.join(", ")),
            ("no-shows", percent(behaviour.no_show)),
            ("come late", percent(behaviour.late)),
            ("leave the line", percent(behaviour.leave)),
            ("pick seats", percent(behaviour.by_seat)),
            ("look around first", percent(behaviour.browse)),
            ("change a basket", percent(behaviour.change)),
            ("abandon a basket", percent(behaviour.give_up)),
            ("cancel an order", percent(behaviour.cancel)),
            ("payment declined", percent(behaviour.decline)),
            ("give tickets back", percent(behaviour.give_back)),
            ("join the waitlist", percent(behaviour.waitlist)),
            ("rounds of choosing", (behaviour.tries + 1).to_string()),
            ("claim after", range(behaviour.claim_s)),
            ("choose for", range(behaviour.choose_s)),
            ("order after", range(behaviour.order_s)),
            ("pay after", range(behaviour.pay_s)),
        ];
        if let Some(patience) = behaviour.patience_s {
            settings.push(("patience", range(patience)));
        }
        settings
    }

    fn origin(&self) -> Vec<String> {
        let (first, count) = (self.first_seed, self.seeds.len() as u64);
        let last = first.wrapping_add(count - 1);
        let server = match self.sale.server.calls_per_s {
            Some(calls) => format!("Booking was taken to answer {calls} calls a second."),
            None => "Booking was taken to answer at once, so what it can bear was not looked at."
                .to_owned(),
        };
        vec![
            format!(
                "Simulated by loadtest {} with the seeds {first} to {last}. The charts over time show seed {}, the one in the middle.",
                env!("CARGO_PKG_VERSION"),
                self.typical.0
            ),
            server,
            "The same file and seed give the same figures on any machine.".to_owned(),
        ]
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The values of a chart's lines in one second.
type Values = fn(&SecondFigures) -> Vec<f64>;
