//! Makes the HTML report of a run: the answer first, then the charts and tables.

use super::figures::{EnteredVisitor, LATENCY_SHARES, OF_CALLS, RunCharts, RunSecond, SwarmReport};
use super::outcome::{SwarmOutcome, operations};
use crate::compare::ComparedFigure;
use crate::html::{HtmlReport, ReportChart, ReportTable, thinned};

/// The contents of the page.
pub struct RunPage<'a> {
    /// How the run ended.
    pub outcome: &'a SwarmOutcome,
    /// The seed of the crowd.
    pub seed: u64,
    /// The figures of this run and of an earlier run; empty without an earlier run.
    pub compared: &'a [ComparedFigure],
    /// The settings of the run, each with its name.
    pub settings: Vec<(String, String)>,
}

/// The operations whose latencies the charts show.
const DRAWN_OPERATIONS: [&str; 5] = ["join", "claim", "hold", "order", "pay"];
/// The figures at the top of the page. Each has its name in the report, its name on the page, and
/// its unit.
const TOP: [(&str, &str, &str); 17] = [
    ("visitors", "visitors", ""),
    ("entries", "entered", ""),
    ("purchases", "with tickets", ""),
    ("sold_out_s", "sold out after the draw", " s"),
    ("wait_p50_s", "half of those called waited at most", " s"),
    ("wait_p90_s", "nine in ten waited at most", " s"),
    ("entries_per_s", "entries a second", ""),
    ("purchases_per_s", "purchases a second, busiest 10 s", ""),
    ("booking.p99_ms", "booking, 99 of 100 calls within", " ms"),
    ("join.p99_ms", "joins, 99 of 100 within", " ms"),
    ("odds_brier", "Brier score of the odds", ""),
    (
        "forecast_off_at_half",
        "forecast at half of the sale, off by this share",
        "",
    ),
    ("tau_join_rank", "Kendall's τ, join and rank", ""),
    ("tau_rank_entry", "Kendall's τ, rank and entry", ""),
    (
        "cpu_busy_5s",
        "processors, share used in the busiest 5 s",
        "",
    ),
    ("rss_max_mb", "most memory of a gateway", " MB"),
    (
        "lag_p99_ms",
        "the swarm's own delay, 99 of 100 calls",
        " ms",
    ),
];

impl RunPage<'_> {
    /// Returns the report.
    pub fn html(&self) -> HtmlReport {
        let report = &self.outcome.report;
        let scenario = &self.outcome.scenario;
        HtmlReport {
            title: format!("Run of {}: {}", scenario.name, scenario.title),
            answer: self.outcome.answer(),
            figures: top(report),
            charts: charts(report),
            tables: self.tables(),
            settings: self.settings.clone(),
            origin: vec![
                format!(
                    "Measured by loadtest {} with seed {}: real visitors over HTTP and WebSocket, who know only the public contract.",
                    env!("CARGO_PKG_VERSION"),
                    self.seed
                ),
                "Latencies count from the time at which a call was meant to be sent. Figures from another machine or another day are not comparable.".to_owned(),
            ],
        }
    }

    fn tables(&self) -> Vec<ReportTable> {
        let report = &self.outcome.report;
        let mut tables = vec![thresholds(self.outcome)];
        tables.extend(invariants(self.outcome));
        tables.push(ReportTable {
            title: "Calls".to_owned(),
            head: std::iter::once("operation".to_owned())
                .chain(OF_CALLS.iter().map(|column| column.replace('_', " ")))
                .collect(),
            rows: operations(&report.figures)
                .map(|(name, values)| std::iter::once(name.to_owned()).chain(values).collect())
                .collect(),
        });
        let errors = report.errors.as_object().into_iter().flatten();
        let errors = errors.flat_map(|(operation, counts)| {
            let counts = counts.as_object().into_iter().flatten();
            counts.map(|(code, count)| vec![operation.clone(), code.clone(), count.to_string()])
        });
        tables.push(ReportTable {
            title: "Errors".to_owned(),
            head: words(&["operation", "status and code", "calls"]),
            rows: errors.collect(),
        });
        let outcomes = report.outcomes.iter();
        tables.push(ReportTable {
            title: "How visitors ended".to_owned(),
            head: words(&["outcome", "visitors"]),
            rows: outcomes
                .map(|(outcome, count)| vec![outcome.clone(), count.to_string()])
                .collect(),
        });
        if !self.compared.is_empty() {
            tables.push(ReportTable {
                title: "Difference from the baseline".to_owned(),
                head: words(&["figure", "baseline", "this run", "difference"]),
                rows: self.compared.iter().map(ComparedFigure::cells).collect(),
            });
        }
        tables
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn top(report: &SwarmReport) -> Vec<(String, String)> {
    let rows = TOP.iter().filter_map(|(figure, name, unit)| {
        let value = report.figures.get(*figure)?;
        let text = if value.fract().abs() < 1e-9 {
            format!("{value:.0}{unit}")
        } else if value.abs() < 10.0 {
            format!("{value:.3}{unit}")
        } else {
            format!("{value:.1}{unit}")
        };
        Some(((*name).to_owned(), text))
    });
    rows.collect()
}

fn thresholds(outcome: &SwarmOutcome) -> ReportTable {
    let rows = outcome
        .thresholds
        .iter()
        .map(|(threshold, judged)| match judged {
            Ok(value) => vec![threshold.clone(), format!("{value:.3}"), "held".to_owned()],
            Err(missed) => vec![threshold.clone(), missed.0.clone(), "FAILED".to_owned()],
        });
    ReportTable {
        title: "Thresholds".to_owned(),
        head: words(&["threshold", "figure", "judged"]),
        rows: rows.collect(),
    }
}

/// Returns the table of invariants; `None` if the run was not judged.
fn invariants(outcome: &SwarmOutcome) -> Option<ReportTable> {
    let judged = outcome.judged.as_ref()?;
    let invariants = judged.document["invariants"].as_array()?.iter();
    let rows = invariants.map(|invariant| {
        let text = |field: &str| invariant[field].as_str().unwrap_or_default().to_owned();
        let result = match invariant["findings"].as_u64() {
            Some(0) => "held".to_owned(),
            findings => format!("FAILED: {} findings", findings.unwrap_or_default()),
        };
        vec![text("invariant"), text("sentence"), result]
    });
    Some(ReportTable {
        title: "Invariants".to_owned(),
        head: words(&["invariant", "what it claims", "judged"]),
        rows: rows.collect(),
    })
}

fn charts(report: &SwarmReport) -> Vec<ReportChart> {
    let points = &report.charts;
    let mut charts = vec![
        over_time(
            points,
            [
                "Seats",
                "How many seats are free, and how many visitors have tickets.",
            ],
            &["free seats", "visitors with tickets"],
            |second| {
                vec![
                    second.free.map(|free| free as f64),
                    Some(second.ticketed as f64),
                ]
            },
        ),
        over_time(
            points,
            [
                "The line",
                "How many visitors wait, how many ranks are released, and how many visitors have entered.",
            ],
            &["waiting", "released", "entered"],
            |second| {
                vec![
                    Some(second.waiting as f64),
                    Some(second.released as f64),
                    Some(second.entered as f64),
                ]
            },
        ),
        over_time(
            points,
            ["Inside", "How many visitors have a pass and are not done."],
            &["inside"],
            |second| vec![Some(second.inside as f64)],
        ),
    ];
    charts.push(pace(points));
    charts.extend(booking_over_time(report));
    charts.push(ReportChart {
        title: "Latencies".to_owned(),
        caption: "Within how many milliseconds calls were answered: nine in ten calls at 1, ninety-nine in a hundred at 2, 999 in a thousand at 3."
            .to_owned(),
        across: "share of the calls, as its number of nines".to_owned(),
        lines: drawn(points).map(|(name, _)| format!("{name}, ms")).collect(),
        points: LATENCY_SHARES
            .iter()
            .enumerate()
            .map(|(index, share)| {
                let nines = -(1.0 - share).log10();
                (nines, drawn(points).map(|(_, times)| times.get(index).copied()).collect())
            })
            .collect(), dots: false, });
    charts.extend([told_odds(points), forecasts(report)]);
    charts.extend(fairness(points));
    charts.retain(|chart| chart.points.len() > 1);
    charts
}

/// Returns the chart that compares the odds that visitors were told with the share of these
/// visitors for whom a seat was left.
fn told_odds(points: &RunCharts) -> ReportChart {
    ReportChart {
            title: "Odds".to_owned(),
            caption: "Visitors are grouped by the odds that they were told. The first line shows for what share of each group a seat was left. With good odds both lines agree."
                .to_owned(),
            across: "odds that were told, %".to_owned(),
            lines: words(&["came true, %", "as told, %"]),
            points: points
                .odds
                .iter()
                .map(|bin| {
                    let told_percent = bin.told * 100.0;
                    (told_percent, vec![Some(bin.came_true * 100.0), Some(told_percent)])
                })
                .collect(), dots: false, }
}

/// Returns the chart of the forecasts in the promoter's report.
fn forecasts(report: &SwarmReport) -> ReportChart {
    let points = &report.charts;
    ReportChart {
            title: "Forecast".to_owned(),
            caption: "When the promoter's report expected everything to be sold, at each time of the sale. Eight in ten sales end between the first and the third line."
                .to_owned(),
            across: "seconds after the draw at which it was made".to_owned(),
            lines: words(&["early, s", "middle, s", "late, s", "actual, s"]),
            points: points
                .forecasts
                .iter()
                .map(|forecast| {
                    let sold_out_s = report.figures.get("sold_out_s").copied();
                    let [early, middle, late] = forecast.sold_out_s;
                    (forecast.made_s, vec![Some(early), Some(middle), Some(late), sold_out_s])
                })
                .collect(), dots: false, }
}

/// Returns the chart of released ranks, entries and tickets a second. Each point is the mean since
/// the point before.
fn pace(points: &RunCharts) -> ReportChart {
    let seconds = thinned(&points.seconds);
    let point = |pair: &[RunSecond]| {
        let passed_s = (pair[1].at_s - pair[0].at_s).max(1.0);
        let per_s = |figure: fn(&RunSecond) -> u64| {
            Some((figure(&pair[1]) - figure(&pair[0])) as f64 / passed_s)
        };
        let values = vec![
            per_s(|second| second.released),
            per_s(|second| second.entered),
            per_s(|second| second.ticketed),
        ];
        (pair[1].at_s, values)
    };
    ReportChart {
        title: "The pace".to_owned(),
        caption: "How many ranks are released, how many visitors enter, and how many get their tickets, each second."
            .to_owned(),
        across: "seconds after the start of the run".to_owned(),
        lines: words(&["released a second", "entered a second", "with tickets a second"]),
        points: seconds.windows(2).map(point).collect(),
        dots: false,
    }
}

/// Returns two charts over the ranks of the visitors who entered. One shows their join numbers, and
/// the other the times of their entries.
fn fairness(points: &RunCharts) -> [ReportChart; 2] {
    let mut by_rank = points.fairness.clone();
    by_rank.sort_unstable_by_key(|visitor| visitor.rank);
    let by_rank = thinned(&by_rank);
    let chart = |texts: [&str; 2], line: &str, value: fn(&EnteredVisitor) -> f64| ReportChart {
        title: texts[0].to_owned(),
        caption: texts[1].to_owned(),
        across: "rank".to_owned(),
        lines: words(&[line]),
        points: by_rank
            .iter()
            .map(|visitor| (visitor.rank as f64, vec![Some(value(visitor))]))
            .collect(),
        dots: true,
    };
    [
        chart(
            [
                "Join and rank",
                "Each dot is a visitor. After a draw the dots lie anywhere; if who comes first is served first, they lie on a line.",
            ],
            "join number",
            |visitor| visitor.number as f64,
        ),
        chart(
            [
                "Rank and entry",
                "Each dot is a visitor. If the dots rise, the order of the line was kept. Dots above the others are visitors who claimed late.",
            ],
            "entered after the start, s",
            |visitor| visitor.entered_s,
        ),
    ]
}

/// Returns the operations whose latencies the charts show, each with its latencies.
fn drawn(points: &RunCharts) -> impl Iterator<Item = (&'static str, &Vec<f64>)> {
    let names = DRAWN_OPERATIONS.into_iter();
    names.filter_map(|name| Some((name, points.latencies.get(name)?)))
}

/// Returns the chart of booking's percentiles; `None` if nobody called booking.
fn booking_over_time(report: &SwarmReport) -> Option<ReportChart> {
    let percentiles = ["booking_p50_ms", "booking_p90_ms", "booking_p99_ms"];
    let percentiles = percentiles.map(|name| report.series[name].as_array());
    let [p50, p90, p99] = percentiles;
    let seconds = p50?.iter().zip(p90?).zip(p99?);
    let points: Vec<(f64, Vec<Option<f64>>)> = (0_u32..)
        .zip(seconds)
        .map(|(second, ((p50, p90), p99))| {
            let values = [p50, p90, p99].map(serde_json::Value::as_f64);
            (f64::from(second), values.to_vec())
        })
        .collect();
    Some(ReportChart {
        title: "Booking".to_owned(),
        caption: "The time within which half, nine in ten and 99 of 100 calls to booking were answered, each second."
            .to_owned(),
        across: "seconds after the start of the run".to_owned(),
        lines: words(&["half, ms", "nine in ten, ms", "99 of 100, ms"]),
        points: thinned(&points),
        dots: false,
    })
}

/// Returns a chart over time. `texts` contains its title and its caption.
fn over_time(
    points: &RunCharts,
    texts: [&str; 2],
    lines: &[&str],
    values: fn(&RunSecond) -> Vec<Option<f64>>,
) -> ReportChart {
    ReportChart {
        title: texts[0].to_owned(),
        caption: texts[1].to_owned(),
        across: "seconds after the start of the run".to_owned(),
        lines: words(lines),
        points: thinned(&points.seconds)
            .iter()
            .map(|second| (second.at_s, values(second)))
            .collect(),
        dots: false,
    }
}
