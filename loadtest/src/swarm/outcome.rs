//! Decides how a run ended, and prints it. The decision depends on the thresholds, the verdict on
//! the history, and whether the swarm kept its own schedule.

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::{Value, json};

use super::figures::{OF_CALLS, OPS, SwarmReport};
use super::scenario::{MissedThreshold, Scenario};
use crate::exit_code::LoadtestExitCode;
use crate::verdict::RunVerdict;

/// The result of a run that finished.
pub struct SwarmOutcome {
    pub(super) scenario: Scenario,
    pub(super) report: SwarmReport,
    baseline: Option<SwarmReport>,
    pub(super) judged: Option<RunVerdict>,
    pub(super) thresholds: Vec<(String, Result<f64, MissedThreshold>)>,
}

impl SwarmOutcome {
    /// Judges the thresholds. `killed` says whether processes were killed in the run. If they were,
    /// thresholds that are marked `undisturbed` are skipped.
    pub fn from_report(
        scenario: &Scenario,
        report: SwarmReport,
        baseline: Option<SwarmReport>,
        judged: Option<RunVerdict>,
        killed: bool,
    ) -> Self {
        let base = baseline.as_ref().map(|report| &report.figures);
        let thresholds = scenario.thresholds.iter();
        let thresholds = thresholds.filter(|threshold| !(killed && threshold.undisturbed));
        let judge = |threshold: &super::scenario::Threshold| {
            (
                threshold.to_string(),
                threshold.judge(&report.figures, base),
            )
        };
        Self {
            thresholds: thresholds.map(judge).collect(),
            scenario: scenario.clone(),
            report,
            baseline,
            judged,
        }
    }

    /// Returns the reports of this run and of its baseline, but only those in which the swarm was
    /// late.
    fn late_runs(&self) -> impl Iterator<Item = &SwarmReport> {
        let runs = [Some(&self.report), self.baseline.as_ref()];
        runs.into_iter().flatten().filter(|report| report.is_late())
    }

    /// Returns the exit code. If the swarm was late, the thresholds do not count.
    pub fn exit_code(&self) -> LoadtestExitCode {
        let late = self.late_runs().next().is_some();
        let missed = self.thresholds.iter().any(|(_, judged)| judged.is_err());
        let broken = self.judged.as_ref().is_some_and(|judged| !judged.held);
        // A late swarm does not excuse a broken invariant.
        if broken {
            LoadtestExitCode::Failed
        } else if late {
            LoadtestExitCode::Invalid
        } else if missed {
            LoadtestExitCode::Failed
        } else {
            LoadtestExitCode::Held
        }
    }

    /// Returns the sentences that say how the run ended and what happened.
    pub fn answer(&self) -> String {
        let figures = &self.report.figures;
        let figure = |name: &str| figures.get(name).copied().unwrap_or_default();
        let missed = self.thresholds.iter().filter(|(_, judged)| judged.is_err());
        let (missed, count) = (missed.count(), self.thresholds.len());
        let verdict = match (&self.judged, self.exit_code()) {
            (_, LoadtestExitCode::Invalid) => {
                return "The run is invalid: the swarm was late itself, so it says nothing about the system.".to_owned();
            }
            (None, _) => "no verdict on the invariants was asked for".to_owned(),
            (Some(judged), _) if judged.held => "every invariant held".to_owned(),
            (Some(_), _) => "the verdict FAILED".to_owned(),
        };
        let sold_out = figures.get("sold_out_s").map_or_else(
            || "not everything was sold".to_owned(),
            |sold_out_s| format!("everything was sold {sold_out_s:.0} s after the draw"),
        );
        format!(
            "{} of {count} thresholds held, and {verdict}. Of {:.0} visitors {:.0} entered and {:.0} got tickets; {sold_out}.",
            count - missed,
            figure("visitors"),
            figure("entries"),
            figure("purchases"),
        )
    }

    /// Prints the result as text or as one JSON document.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn print(&self, seed: u64, as_json: bool) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        if as_json {
            return writeln!(out, "{:#}", self.document(seed));
        }
        writeln!(out, "{}: {}", self.scenario.name, self.scenario.title)?;
        for (name, figure) in self
            .report
            .figures
            .iter()
            .filter(|(name, _)| !name.contains('.'))
        {
            writeln!(out, "  {name:26} {figure:12.3}")?;
        }
        self.print_calls(&mut out)?;
        writeln!(out, "  outcomes {}", json!(self.report.outcomes))?;
        writeln!(out, "  errors   {}", self.report.errors)?;
        for (threshold, judged) in &self.thresholds {
            match judged {
                Ok(value) => writeln!(out, "held    {threshold}: {value:.3}")?,
                Err(MissedThreshold(why)) => writeln!(out, "FAILED  {why}")?,
            }
        }
        if let Some(judged) = &self.judged {
            writeln!(out, "{}", judged.told.trim_end())?;
        }
        for late in self.late_runs() {
            writeln!(
                out,
                "INVALID the swarm sent late (p99 {:.0} ms, {:.2} % by more than 1 s): the result says nothing about the system",
                late.figures["lag_p99_ms"],
                late.figures["late_sends"] * 100.0
            )?;
        }
        Ok(())
    }

    /// Prints one line for each operation that was called.
    fn print_calls(&self, out: &mut impl Write) -> std::io::Result<()> {
        write!(out, "  {:12}", "calls")?;
        for column in OF_CALLS {
            write!(out, "{column:>10}")?;
        }
        writeln!(out)?;
        for (name, values) in operations(&self.report.figures) {
            write!(out, "  {name:12}")?;
            for value in values {
                write!(out, "{value:>10}")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// Returns the result as one JSON document.
    pub fn document(&self, seed: u64) -> Value {
        let thresholds = self.thresholds.iter().map(|(threshold, judged)| {
            json!({
                "threshold": threshold, "held": judged.is_ok(), "value": judged.as_ref().ok(),
                "why": judged.as_ref().err().map(|missed| &missed.0),
            })
        });
        let mut document = self.report.document();
        document["scenario"] = json!(self.scenario.name);
        document["seed"] = json!(seed);
        document["baseline"] = json!(self.baseline.as_ref().map(SwarmReport::document));
        document["thresholds"] = thresholds.collect();
        document["verdict"] = json!(self.judged.as_ref().map(|judged| judged.document.clone()));
        document["valid"] = json!(self.late_runs().next().is_none());
        document
    }
}

/// Returns each operation that was called, and booking as a whole. Each has its values of
/// [`OF_CALLS`] as text.
pub fn operations(
    figures: &BTreeMap<String, f64>,
) -> impl Iterator<Item = (&'static str, Vec<String>)> {
    let names = OPS.iter().copied().chain(["booking"]);
    names.filter_map(|name| {
        let value_of = |what: &str| figures.get(&format!("{name}.{what}")).copied();
        value_of("count").filter(|count| *count >= 1.0)?;
        let value = |what: &&str| {
            let digits = usize::from(what.ends_with("_ms"));
            format!("{:.digits$}", value_of(what).unwrap_or_default())
        };
        Some((name, OF_CALLS.iter().map(value).collect()))
    })
}
