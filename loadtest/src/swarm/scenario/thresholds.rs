//! Checks bounds on figures, such as `hold.p99_ms = { max = 300 }`. A threshold fails if the run
//! does not have its figure. A threshold that is marked `undisturbed` is not checked in a run with
//! `--kill`.

use std::collections::BTreeMap;
use std::fmt;

use crate::swarm::figures;

/// The bounds on one figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// The figure's name.
    pub figure: String,
    /// The smallest allowed value.
    pub min: Option<f64>,
    /// The largest allowed value.
    pub max: Option<f64>,
    /// Whether the threshold counts only in a run in which nothing is killed.
    pub undisturbed: bool,
}

/// The message of a threshold that did not hold.
#[derive(Debug, Clone, PartialEq)]
pub struct MissedThreshold(pub String);

impl Threshold {
    /// Reads `[thresholds]`. TOML reads dotted names as nested tables.
    ///
    /// # Errors
    /// Every unknown figure and every invalid bound.
    pub fn read_all(table: &toml::Table, has_baseline: bool) -> Result<Vec<Self>, Vec<String>> {
        let (mut thresholds, mut faults) = (Vec::new(), Vec::new());
        walk(
            "",
            table,
            &mut |name, bounds| match Self::read(name, bounds, has_baseline) {
                Ok(threshold) => thresholds.push(threshold),
                Err(fault) => faults.push(fault),
            },
        );
        if faults.is_empty() {
            Ok(thresholds)
        } else {
            Err(faults)
        }
    }

    fn read(figure: &str, bounds: &toml::Value, has_baseline: bool) -> Result<Self, String> {
        let table = bounds.as_table().ok_or_else(|| {
            format!("thresholds.{figure}: bounds are written as {{ min = …, max = … }}")
        })?;
        let known = match figure.strip_prefix("baseline.") {
            Some(_) if !has_baseline => {
                return Err(format!("thresholds.{figure}: there is no [baseline]"));
            }
            Some(name) => figures::is_known(name),
            None => figures::is_known(figure),
        };
        if !known {
            return Err(format!(
                "thresholds.{figure}: there is no such figure; the README lists them"
            ));
        }
        let bound = |name: &str| match table.get(name) {
            None => Ok(None),
            Some(toml::Value::Integer(bound)) => {
                let exact = i32::try_from(*bound)
                    .map_err(|_| format!("thresholds.{figure}.{name} is too large"))?;
                Ok(Some(f64::from(exact)))
            }
            Some(toml::Value::Float(bound)) if bound.is_finite() => Ok(Some(*bound)),
            Some(_) => Err(format!("thresholds.{figure}.{name} is not a number")),
        };
        let undisturbed = match table.get("undisturbed") {
            None => false,
            Some(toml::Value::Boolean(undisturbed)) => *undisturbed,
            Some(_) => {
                return Err(format!(
                    "thresholds.{figure}.undisturbed is neither true nor false"
                ));
            }
        };
        let (min, max) = (bound("min")?, bound("max")?);
        if min.is_none() && max.is_none() {
            return Err(format!(
                "thresholds.{figure} has neither min nor max, so it could not fail"
            ));
        }
        Ok(Self {
            figure: figure.to_owned(),
            min,
            max,
            undisturbed,
        })
    }

    /// Judges the threshold against a run and its baseline, and returns the figure's value. The
    /// value of `baseline.NAME` is the run's figure divided by the baseline's figure.
    pub fn judge(
        &self,
        run: &BTreeMap<String, f64>,
        baseline: Option<&BTreeMap<String, f64>>,
    ) -> Result<f64, MissedThreshold> {
        let value = match self.figure.strip_prefix("baseline.") {
            Some(name) => {
                let base = baseline.and_then(|figures| figures.get(name));
                let ratio = |(now, base): (&f64, &f64)| (*base > 0.0).then(|| now / base);
                run.get(name).zip(base).and_then(ratio)
            }
            None => run.get(&self.figure).copied(),
        };
        let Some(value) = value else {
            return Err(MissedThreshold(format!(
                "{}: this run has no such figure",
                self.figure
            )));
        };
        let low = self.min.filter(|min| value < *min);
        let high = self.max.filter(|max| value > *max);
        let (bound, word) = match (low, high) {
            (Some(min), _) => (min, "at least"),
            (_, Some(max)) => (max, "at most"),
            (None, None) => return Ok(value),
        };
        Err(MissedThreshold(format!(
            "{} is {value:.3}, but must be {word} {bound}",
            self.figure
        )))
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.figure)?;
        if let Some(min) = self.min {
            write!(f, " at least {min}")?;
        }
        if let Some(max) = self.max {
            write!(f, " at most {max}")?;
        }
        Ok(())
    }
}

/// Calls `leaf` for every table of bounds, every empty table, and every value that is not a table.
/// `leaf` gets the dotted name and the value.
fn walk(prefix: &str, table: &toml::Table, leaf: &mut impl FnMut(&str, &toml::Value)) {
    for (key, value) in table {
        let name = if prefix.is_empty() {
            key.clone()
        } else {
            format!("{prefix}.{key}")
        };
        let is_bounds = |inner: &toml::Table| {
            let known = |key: &String| ["min", "max", "undisturbed"].contains(&key.as_str());
            !inner.is_empty() && inner.keys().all(known)
        };
        match value {
            toml::Value::Table(inner) if !is_bounds(inner) && !inner.is_empty() => {
                walk(&name, inner, leaf);
            }
            _ => leaf(&name, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Threshold>, Vec<String>> {
        Threshold::read_all(&text.parse().expect("TOML"), false)
    }

    #[test]
    fn an_unknown_figure_or_bound_is_a_fault() {
        let faults = read("hold.p98_ms = { max = 3 }").expect_err("an unknown figure");
        assert!(faults[0].contains("hold.p98_ms"), "{faults:?}");
        assert!(read("baseline.entries_per_s = { min = 0.95 }").is_err());
        assert!(read("hold.p99_ms = { least = 3 }").is_err());
        assert!(read("hold.p99_ms = { max = 3, undisturbed = 1 }").is_err());
        assert!(read("hold.p99_ms = { max = nan }").is_err());
        assert!(read("hold.p99_ms = { undisturbed = true }").is_err());
        assert!(read("hold.p99_ms = {}").is_err());
    }

    #[test]
    fn a_threshold_fails_if_its_figure_is_above_the_bound_or_missing() {
        let threshold = &read("hold.p99_ms = { max = 300 }").expect("valid thresholds")[0];
        let run = |value: f64| BTreeMap::from([("hold.p99_ms".to_owned(), value)]);
        assert_eq!(threshold.judge(&run(300.0), None), Ok(300.0));
        assert!(threshold.judge(&run(300.1), None).is_err());
        assert!(threshold.judge(&BTreeMap::new(), None).is_err());
    }

    #[test]
    fn a_baseline_figure_is_the_ratio_of_the_run_to_its_baseline() {
        let table = "baseline.entries_per_s = { min = 0.95 }"
            .parse()
            .expect("TOML");
        let threshold = &Threshold::read_all(&table, true).expect("valid thresholds")[0];
        let figures = |value: f64| BTreeMap::from([("entries_per_s".to_owned(), value)]);
        assert!(
            threshold
                .judge(&figures(39.0), Some(&figures(40.0)))
                .is_ok()
        );
        assert!(
            threshold
                .judge(&figures(37.0), Some(&figures(40.0)))
                .is_err()
        );
    }
}
