//! Makes the HTML report of `loadtest faults`: the answer, the charts, a table of the seeds with
//! their faults and results, and a table of the kinds of faults.

use super::{FaultTrial, hits};
use crate::html::{HtmlReport, ReportChart, ReportTable};
use crate::machine::this_machine;

/// Makes the report.
pub fn page(trials: &[FaultTrial]) -> HtmlReport {
    let held = trials
        .iter()
        .filter(|trial| trial.faults.is_empty())
        .count();
    let machine = this_machine(None);
    let figure = |trial: &FaultTrial, name: &str| {
        let report = trial.report.as_ref()?;
        report.figures.get(name).copied()
    };
    let over_seeds = |texts: [&str; 2], lines: &[&str], names: &[&str]| ReportChart {
        title: texts[0].to_owned(),
        caption: texts[1].to_owned(),
        across: "seed".to_owned(),
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        points: trials
            .iter()
            .map(|trial| {
                let values = names.iter().map(|name| figure(trial, name));
                (trial.seed as f64, values.collect())
            })
            .collect(),
        dots: true,
    };
    HtmlReport {
        title: "Faults under a crowd".to_owned(),
        answer: format!(
            "{held} of {} seeds held: every seat, every cent and every place was right after the faults.",
            trials.len()
        ),
        figures: Vec::new(),
        charts: vec![
            over_seeds(
                [
                    "Final",
                    "How long after the last fault was healed no seat was held and all money was decided.",
                ],
                &["seconds"],
                &["settled_s"],
            ),
            over_seeds(
                [
                    "The crowd",
                    "How many visitors joined, and how many got tickets in spite of the faults.",
                ],
                &["joined", "with tickets"],
                &["joined", "purchases"],
            ),
        ],
        tables: vec![seeds(trials), kinds(trials)],
        settings: vec![
            ("processor".to_owned(), machine.processor),
            ("processors".to_owned(), machine.cpus.to_string()),
            ("memory".to_owned(), format!("{:.0} MB", machine.memory_mb)),
            ("operating system".to_owned(), machine.system),
        ],
        origin: vec![format!(
            "Inflicted by loadtest {} on real processes. The same seed inflicts the same faults again.",
            env!("CARGO_PKG_VERSION")
        )],
    }
}

fn seeds(trials: &[FaultTrial]) -> ReportTable {
    let rows = trials.iter().map(|trial| {
        let strikes: Vec<String> = trial.strikes.iter().map(ToString::to_string).collect();
        let result = if trial.faults.is_empty() {
            "held".to_owned()
        } else {
            format!("FAILED: {}", trial.faults.join("; "))
        };
        vec![
            trial.seed.to_string(),
            trial.spec.to_string(),
            strikes.join(", "),
            result,
        ]
    });
    ReportTable {
        title: "Seeds".to_owned(),
        head: ["seed", "processes", "faults", "judged"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.collect(),
    }
}

fn kinds(trials: &[FaultTrial]) -> ReportTable {
    let hits = hits(trials).into_iter();
    ReportTable {
        title: "Kinds of faults".to_owned(),
        head: ["kind", "how often"].map(str::to_owned).to_vec(),
        rows: hits
            .map(|(kind, count)| vec![kind, count.to_string()])
            .collect(),
    }
}
