//! Tests the judge. It must find nothing in a clean run, and nothing in a run with a planted change
//! that is odd but allowed. In a run with a planted violation, it must report exactly the broken
//! invariant. A judge that reports too little or too much proves nothing.

mod ahead;
mod back;
mod clean;
mod entering;
mod left_behind;
mod plants;
mod priced;
mod returned;
mod swap;
mod train;

use serde_json::json;

use clean::SelfTestRun;
use plants::PlantedChange;

use super::books::ProviderBooks;
use super::report::Invariant;
use crate::output::print_line;

/// Returns all planted changes.
fn plants() -> impl Iterator<Item = &'static PlantedChange> {
    let lists = [
        plants::PLANTS,
        priced::PLANTS,
        ahead::PLANTS,
        entering::PLANTS,
        left_behind::PLANTS,
        returned::PLANTS,
    ];
    lists.into_iter().flatten()
}

/// The verdict on the clean run or on one changed run.
struct SelfTestTrial {
    what: &'static str,
    planted: Option<Invariant>,
    found: Vec<Invariant>,
    evidence: String,
}

impl SelfTestTrial {
    fn right(&self) -> bool {
        self.found.iter().copied().eq(self.planted)
    }
}

/// Judges the clean run and every changed run, prints a table, and returns whether all results were
/// right.
pub fn run(as_json: bool) -> anyhow::Result<bool> {
    let trials = trials();
    let right = trials.iter().filter(|trial| trial.right()).count();
    if as_json {
        let rows: Vec<_> = trials
            .iter()
            .map(|trial| {
                json!({
                    "planted": trial.what, "breaks": trial.planted.map(Invariant::name), "right": trial.right(),
                    "found": names(&trial.found), "evidence": trial.evidence,
                })
            })
            .collect();
        let table = json!({ "held": right == trials.len(), "trials": rows });
        print_line(format_args!("{table:#}"))?;
    } else {
        for trial in &trials {
            let word = if trial.right() { "right" } else { "WRONG" };
            let planted = trial.planted.map_or("nothing", Invariant::name);
            print_line(format_args!("{word}  {planted:<18} {}", trial.what))?;
            if !trial.right() {
                let (found, evidence) = (names(&trial.found), &trial.evidence);
                print_line(format_args!("       found: {found:?} {evidence}"))?;
            }
        }
        print_line(format_args!(
            "{right} of {} trials came out right",
            trials.len()
        ))?;
    }
    Ok(right == trials.len())
}

fn names(invariants: &[Invariant]) -> Vec<&'static str> {
    invariants
        .iter()
        .map(|invariant| invariant.name())
        .collect()
}

fn trials() -> Vec<SelfTestTrial> {
    let clean = SelfTestRun::new();
    let mut trials = vec![judged("a clean run", None, &clean)];
    for PlantedChange {
        invariant,
        what,
        plant,
    } in plants()
    {
        let mut run = clean.clone();
        plant(&mut run);
        trials.push(judged(what, *invariant, &run));
    }
    trials
}

fn judged(what: &'static str, planted: Option<Invariant>, run: &SelfTestRun) -> SelfTestTrial {
    let (history, dump) = run.texts();
    let books = run.books();
    let read = ProviderBooks::read("books", books.as_bytes());
    let judged = read.and_then(|books| {
        super::texts(
            ("history", history.as_bytes()),
            ("dump", dump.as_bytes()),
            (books.count() > 0).then_some(&books),
            None,
        )
    });
    let (found, evidence) = match judged {
        Ok(report) => {
            let found = report.findings.broken();
            let evidence = found.iter().filter_map(|invariant| {
                report
                    .findings
                    .for_invariant(*invariant)
                    .first
                    .first()
                    .cloned()
            });
            let evidence: Vec<_> = evidence.collect();
            (found, evidence.join("; "))
        }
        Err(error) => (Invariant::ALL.to_vec(), format!("{error:#}")),
    };
    SelfTestTrial {
        what,
        planted,
        found,
        evidence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_run_is_judged_clean_and_each_planted_violation_breaks_only_its_invariant() {
        let wrong: Vec<_> = trials()
            .into_iter()
            .filter(|trial| !trial.right())
            .map(|trial| {
                format!(
                    "{} ({:?}): {:?} {}",
                    trial.what,
                    trial.planted,
                    names(&trial.found),
                    trial.evidence
                )
            })
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn no_figure_of_the_clean_run_is_zero() {
        let (history, dump) = SelfTestRun::new().texts();
        let files = (("history", history.as_bytes()), ("dump", dump.as_bytes()));
        let report = super::super::texts(files.0, files.1, None, None).expect("readable");
        let without: Vec<_> = report
            .figures
            .iter()
            .filter(|(_, count)| *count == 0)
            .collect();
        assert!(without.is_empty(), "{without:?}");
    }

    #[test]
    fn every_invariant_has_a_violation_planted_against_it() {
        for invariant in Invariant::ALL {
            let planted = plants().any(|plant| plant.invariant == Some(*invariant));
            assert!(planted, "{}", invariant.name());
        }
    }
}
