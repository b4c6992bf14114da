//! Reads the figures of plans and of runs, gives them the same names, and compares them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::Serialize;
use serde_json::Value;

/// The figures of one file, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FigureFile {
    figures: BTreeMap<String, f64>,
    /// The ranges that a plan expects for figures without a single expected value.
    bands: BTreeMap<String, [f64; 2]>,
}

/// A figure to compare, such as `sold_out_s`, or `sold_out_s=20` if it may differ by 20 %.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestedFigure {
    name: String,
    /// The largest difference that is allowed, as a part of the first figure, or of 1 for shares.
    /// If it is missing, the largest difference for all figures applies.
    within: Option<f64>,
}

impl FromStr for RequestedFigure {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((name, percent)) = text.split_once('=') else {
            let name = text.to_owned();
            return Ok(Self { name, within: None });
        };
        let percent = percent.parse::<f64>().ok();
        let percent = percent.filter(|percent| (0.0..=1_000.0).contains(percent));
        let percent =
            percent.ok_or_else(|| format!("\"{text}\" is not a figure such as sold_out_s=20"))?;
        Ok(Self {
            name: name.to_owned(),
            within: Some(percent / 100.0),
        })
    }
}

/// One figure of both files.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedFigure {
    name: String,
    /// The figure of the first file; `null` if the first file does not have it.
    first: Option<f64>,
    /// The figure of the second file; `null` if the second file does not have it.
    second: Option<f64>,
    /// Whether both files have the figure, and the difference is allowed.
    pub agrees: bool,
}

impl FigureFile {
    /// Reads what `loadtest plan --json` or `loadtest swarm --json` printed.
    ///
    /// # Errors
    /// Where the file cannot be read or has no figures, or its run is invalid. The error says why.
    pub fn read(file: &Path) -> Result<Self, String> {
        let message = |fault: String| format!("{}: {fault}", file.display());
        let text = std::fs::read_to_string(file).map_err(|error| message(error.to_string()))?;
        let document: Value =
            serde_json::from_str(&text).map_err(|error| message(error.to_string()))?;
        if document["valid"] == false {
            return Err(message(
                "the run is invalid: the swarm missed its own schedule".into(),
            ));
        }
        Self::from_document(&document).ok_or_else(|| {
            message(
                "it is not what `loadtest plan --json` or `loadtest swarm --json` prints".into(),
            )
        })
    }

    /// Reads the figures of a document that `loadtest swarm --json` or `loadtest plan --json`
    /// prints. Returns `None` if the document has no figures.
    pub fn from_document(document: &Value) -> Option<Self> {
        if let Some(figures) = document["figures"].as_object() {
            let numbers = figures.iter();
            let numbers = numbers.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?)));
            return Some(Self {
                figures: numbers.collect(),
                bands: BTreeMap::new(),
            });
        }
        let summary = document["summary"].as_object()?;
        let mut figures = BTreeMap::new();
        let names = [
            ("sold_out_s", "sold_out_s"),
            ("wait_p50_s", "wait_p50_s"),
            ("wait_p90_s", "wait_p90_s"),
            ("ticketed", "purchases"),
            ("told_no", "told_no_seats"),
        ];
        for (plan_name, name) in names {
            if let Some(value) = summary.get(plan_name).and_then(|band| band["p50"].as_f64()) {
                figures.insert(name.to_owned(), value);
            }
        }
        let odds = document["odds"].as_array().into_iter().flatten();
        for (part, odds) in (1..).zip(odds) {
            if let Some(odds) = odds.as_f64() {
                figures.insert(format!("seat_left_{part}"), odds);
            }
        }
        let mut bands = BTreeMap::new();
        let bound = |at: usize| summary.get("odds_brier_95")?.get(at)?.as_f64();
        if let (Some(low), Some(high)) = (bound(0), bound(1)) {
            figures.insert("odds_brier".to_owned(), f64::midpoint(low, high));
            bands.insert("odds_brier".to_owned(), [low, high]);
        }
        Some(Self { figures, bands })
    }

    /// Returns the median of each figure that all files have.
    pub fn median(files: &[Self]) -> Self {
        let Some(first) = files.first() else {
            return Self::default();
        };
        let median = |name: &String| {
            let values = files.iter().map(|file| file.figures.get(name).copied());
            let mut values: Vec<f64> = values.collect::<Option<_>>()?;
            values.sort_unstable_by(f64::total_cmp);
            Some((name.clone(), values[values.len() / 2]))
        };
        Self {
            figures: first.figures.keys().filter_map(median).collect(),
            bands: first.bands.clone(),
        }
    }
}

/// Compares the figures in `requested`, or all figures that both files have if `requested` is
/// empty. `within` is the largest difference of a figure that has none of its own. It is a part of
/// the first figure, or of 1 for shares.
///
/// # Errors
/// If `requested` is empty, and the two files have no figure in common.
pub fn compare(
    first: &FigureFile,
    second: &FigureFile,
    requested: &[RequestedFigure],
    within: f64,
) -> Result<Vec<ComparedFigure>, String> {
    let shared = first.figures.keys();
    let shared = shared.filter(|name| second.figures.contains_key(*name));
    let requested: Vec<(&String, f64)> = if requested.is_empty() {
        shared.map(|name| (name, within)).collect()
    } else {
        let requested = requested.iter();
        requested
            .map(|figure| (&figure.name, figure.within.unwrap_or(within)))
            .collect()
    };
    if requested.is_empty() {
        return Err("the two files have no figure in common".to_owned());
    }
    let compared = |(name, within): (&String, f64)| {
        let band = first.bands.get(name).copied();
        let value = |file: &FigureFile| file.figures.get(name).copied();
        let (first, second) = (value(first), value(second));
        let agrees = first.zip(second).is_some_and(|(first, second)| {
            if let Some([low, high]) = band {
                return (low..=high).contains(&second);
            }
            let scale = if name.starts_with("seat_left_") {
                1.0
            } else {
                first.abs()
            };
            (first - second).abs() <= within * scale + 1e-9
        });
        ComparedFigure {
            name: name.clone(),
            first,
            second,
            agrees,
        }
    };
    Ok(requested.into_iter().map(compared).collect())
}

impl ComparedFigure {
    /// Returns the name, both figures and their difference, as the cells of a table.
    pub fn cells(&self) -> Vec<String> {
        let text = |value: Option<f64>| value.map_or("none".to_owned(), |v| format!("{v:.2}"));
        let difference = match (self.first, self.second) {
            (Some(first), Some(second)) if first != 0.0 => {
                format!("{:+.1} %", (second / first - 1.0) * 100.0)
            }
            _ => String::new(),
        };
        vec![
            self.name.clone(),
            text(self.first),
            text(self.second),
            difference,
        ]
    }
}

impl fmt::Display for ComparedFigure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells = self.cells();
        write!(out, "{:<16} {:>12} {:>12}", cells[0], cells[1], cells[2])?;
        if !cells[3].is_empty() {
            write!(out, "  {}", cells[3])?;
        }
        if !self.agrees {
            out.write_str("  differs")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn file(document: &Value) -> FigureFile {
        FigureFile::from_document(document).expect("figures")
    }

    #[test]
    fn a_plan_and_a_run_have_their_figures_under_the_same_names() {
        let plan = file(&json!({
            "summary": {"sold_out_s": {"p10": 90.0, "p50": 100.0, "p90": 110.0}, "wait_p50_s": null},
            "odds": [1.0, 0.5, null],
        }));
        let run = file(&json!({"figures": {"sold_out_s": 109.0, "seat_left_1": 0.96, "rss": 3}}));
        let compared = compare(&plan, &run, &[], 0.1).expect("figures in common");
        let names: Vec<&str> = compared.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["seat_left_1", "sold_out_s"]);
        assert!(compared.iter().all(|one| one.agrees), "{compared:?}");
        let strict = compare(&plan, &run, &[], 0.05).expect("figures in common");
        let agree: Vec<bool> = strict.iter().map(|one| one.agrees).collect();
        assert_eq!(agree, [true, false], "0.04 of a share, and 9 % of a time");
    }

    #[test]
    fn a_figure_that_is_asked_for_and_missing_does_not_agree() {
        let both = file(&json!({"figures": {"sold_out_s": 1.0}}));
        let asked = ["wait_p50_s".parse().expect("a figure")];
        let compared = compare(&both, &both, &asked, 0.1).expect("a comparison");
        assert!(!compared[0].agrees);
        let other = file(&json!({"figures": {"wait_p50_s": 1.0}}));
        assert!(compare(&both, &other, &[], 0.1).is_err());
        assert_eq!(FigureFile::from_document(&json!({"held": true})), None);
    }

    #[test]
    fn a_figure_may_have_a_threshold_of_its_own() {
        let first = file(&json!({"figures": {"sold_out_s": 100.0, "wait_p50_s": 100.0}}));
        let second = file(&json!({"figures": {"sold_out_s": 115.0, "wait_p50_s": 115.0}}));
        let asked = ["sold_out_s=20", "wait_p50_s"];
        let asked = asked.map(|figure| figure.parse().expect("a figure"));
        let compared = compare(&first, &second, &asked, 0.1).expect("a comparison");
        let agree: Vec<bool> = compared.iter().map(|one| one.agrees).collect();
        assert_eq!(agree, [true, false]);
        assert!("sold_out_s=much".parse::<RequestedFigure>().is_err());
    }

    #[test]
    fn a_figure_with_a_band_agrees_inside_of_it() {
        let plan = file(&json!({"summary": {"odds_brier_95": [0.02, 0.05]}, "odds": []}));
        let agrees = |score: f64| {
            let run = file(&json!({"figures": {"odds_brier": score}}));
            compare(&plan, &run, &[], 0.0).expect("a comparison")[0].agrees
        };
        assert_eq!(
            [0.01, 0.02, 0.05, 0.06].map(agrees),
            [false, true, true, false]
        );
    }

    #[test]
    fn of_several_runs_the_median_counts() {
        let runs = [3.0, 1.0, 2.0].map(|at| file(&json!({"figures": {"sold_out_s": at}})));
        let two = file(&json!({"figures": {"sold_out_s": 2.0}}));
        assert_eq!(FigureFile::median(&runs), two);
    }
}
