//! Reads a scenario's file. It reports several faults at once and refuses unknown fields. It does
//! not check the fields of shows and of the room. The promoter API does that.

use std::path::Path;

use fairgate_simulation::crowd::SECONDS_MAX;
use serde::Deserialize;

use super::line::sell_line;
use super::live::LiveSection;
use super::{
    CrowdSettings, PlannedCancel, PlannedSlowdown, Scenario, ScenarioOnsale, Threshold,
    VisitorBehaviour,
};

/// The contents of the file without the on-sale, the baseline and the thresholds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioFile {
    title: String,
    planned_s: f64,
    deadline_s: f64,
    crowd: CrowdSettings,
    #[serde(default)]
    behaviour: VisitorBehaviour,
    #[serde(default)]
    slow: Option<SlowdownSection>,
    #[serde(default)]
    cancel: Option<CancelSection>,
    #[serde(default)]
    live: Vec<LiveSection>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CancelSection {
    show: String,
    at: ScenarioTime,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SlowdownSection {
    at: ScenarioTime,
    factor: f64,
    for_s: f64,
}

/// A time in the file. It is a share of the planned duration, such as `"40%"`, or a number of
/// seconds.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum ScenarioTime {
    Seconds(f64),
    Share(String),
}

impl ScenarioTime {
    /// Returns the time in seconds after the start, or `None` if the text is not a share or the
    /// time is below 0.
    pub(super) fn resolve(&self, planned_s: f64) -> Option<f64> {
        let at_s = match self {
            Self::Seconds(seconds) => Some(*seconds),
            Self::Share(text) => text
                .strip_suffix('%')
                .and_then(|share| share.parse::<f64>().ok())
                .map(|share| share / 100.0 * planned_s),
        };
        at_s.filter(|at_s| *at_s >= 0.0)
    }
}

/// Reads the scenario at `path`.
///
/// # Errors
/// The faults, one in each string. Each is an error of usage.
pub fn read(path: &Path) -> Result<Scenario, Vec<String>> {
    let text = std::fs::read_to_string(path).map_err(|error| vec![error.to_string()])?;
    let name = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut scenario = parse(&name.unwrap_or_default(), table(&text)?, folder)?;
    let baseline = scenario.baseline.as_deref_mut();
    baseline
        .map_or(Ok(()), sell_line)
        .map_err(|fault| vec![fault])?;
    sell_line(&mut scenario).map_err(|fault| vec![fault])?;
    Ok(scenario)
}

/// Reads a scenario from its text. The paths of its charts start at the working folder.
///
/// # Errors
/// As [`read`].
pub fn read_text(name: &str, text: &str) -> Result<Scenario, Vec<String>> {
    parse(name, table(text)?, Path::new("."))
}

/// Reads a scenario, or an on-sale file with `[crowd]` and `[behaviour]`. An on-sale file has
/// neither a title nor the times of a run. The plan of such a file ends when its room closes, or
/// after [`SECONDS_MAX`] if that is earlier.
///
/// # Errors
/// As [`read`].
pub fn read_to_plan(path: &Path) -> Result<Scenario, Vec<String>> {
    let text = std::fs::read_to_string(path).map_err(|error| vec![error.to_string()])?;
    let name = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    let mut table = table(&text)?;
    if !table.contains_key("crowd") {
        let fault = "there is no [crowd]: a plan needs at least its visitors, and over_s, the seconds over which they come";
        return Err(vec![fault.to_owned()]);
    }
    if !table.contains_key("planned_s") && !table.contains_key("deadline_s") {
        let until_s = toml::Value::Float(SECONDS_MAX);
        table.insert("planned_s".to_owned(), until_s.clone());
        table.insert("deadline_s".to_owned(), until_s);
        let title = toml::Value::String(name.clone());
        table.entry("title").or_insert(title);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    parse(&name, table, folder)
}

fn table(text: &str) -> Result<toml::Table, Vec<String>> {
    text.parse()
        .map_err(|error: toml::de::Error| vec![error.to_string()])
}

fn parse(name: &str, mut table: toml::Table, folder: &Path) -> Result<Scenario, Vec<String>> {
    let overrides = match table.remove("baseline") {
        None => None,
        Some(toml::Value::Table(overrides)) => Some(overrides),
        Some(_) => return Err(vec!["baseline is not a table".to_owned()]),
    };
    let thresholds = match table.remove("thresholds") {
        None => toml::Table::new(),
        Some(toml::Value::Table(thresholds)) => thresholds,
        Some(_) => return Err(vec!["thresholds is not a table".to_owned()]),
    };
    let mut faults = Vec::new();
    let thresholds =
        Threshold::read_all(&thresholds, overrides.is_some()).unwrap_or_else(|found| {
            faults.extend(found);
            Vec::new()
        });
    let parsed = parse_sections(name, &table, folder).unwrap_or_else(|found| {
        faults.extend(found);
        None
    });
    let baseline = overrides.and_then(|overrides| {
        merge(&mut table, overrides);
        parse_sections(&format!("{name}, its baseline"), &table, folder).unwrap_or_else(|found| {
            faults.extend(found.iter().map(|fault| format!("baseline: {fault}")));
            None
        })
    });
    match parsed {
        Some(mut scenario) if faults.is_empty() => {
            scenario.thresholds = thresholds;
            scenario.baseline = baseline.map(Box::new);
            Ok(scenario)
        }
        _ => Err(faults),
    }
}

/// Reads a scenario without its thresholds and baseline. Never returns `Ok(None)`. The result has
/// an `Option` because the callers turn an error into `None` after they have collected its faults.
fn parse_sections(
    name: &str,
    table: &toml::Table,
    folder: &Path,
) -> Result<Option<Scenario>, Vec<String>> {
    let mut rest = table.clone();
    let mut faults = Vec::new();
    let onsale = ScenarioOnsale::read(&rest, folder).unwrap_or_else(|found| {
        faults.extend(found);
        ScenarioOnsale::default()
    });
    for kind in ["venue", "show", "train", "room"] {
        rest.remove(kind);
    }
    let file: ScenarioFile = match rest.try_into() {
        Ok(file) => file,
        Err(error) => {
            faults.push(error.to_string().trim().to_owned());
            return Err(faults);
        }
    };
    faults.extend(file.behaviour.faults());
    faults.extend(file.crowd.faults());
    if !(file.planned_s > 0.0 && file.deadline_s >= file.planned_s) {
        faults.push("planned_s must be above 0, and deadline_s not below it".to_owned());
    }
    let slow = file.slow.map(|slow| slow.resolve(file.planned_s));
    let slow = slow.transpose().unwrap_or_else(|fault| {
        faults.push(fault);
        None
    });
    let cancel = file.cancel;
    let cancel = cancel.map(|cancel| cancel.resolve(&onsale, file.planned_s));
    let cancel = cancel.transpose().unwrap_or_else(|fault| {
        faults.push(fault);
        None
    });
    let live = LiveSection::resolve_all(file.live, file.planned_s);
    let live_changes = live.unwrap_or_else(|fault| {
        faults.push(fault);
        Vec::new()
    });
    if !faults.is_empty() {
        return Err(faults);
    }
    Ok(Some(Scenario {
        name: name.to_owned(),
        title: file.title,
        planned_s: file.planned_s,
        deadline_s: file.deadline_s,
        crowd: file.crowd,
        behaviour: file.behaviour,
        onsale,
        slow,
        cancel,
        live_changes,
        thresholds: Vec::new(),
        baseline: None,
    }))
}

impl SlowdownSection {
    fn resolve(&self, planned_s: f64) -> Result<PlannedSlowdown, String> {
        match self.at.resolve(planned_s) {
            Some(at_s) if self.factor > 1.0 && self.for_s > 0.0 => Ok(PlannedSlowdown {
                at_s,
                factor: self.factor,
                for_s: self.for_s,
            }),
            _ => Err(
                "slow: at must be seconds or a share such as \"40%\", factor above 1, and for_s above 0"
                    .to_owned(),
            ),
        }
    }
}

impl CancelSection {
    fn resolve(self, onsale: &ScenarioOnsale, planned_s: f64) -> Result<PlannedCancel, String> {
        match self.at.resolve(planned_s) {
            Some(at_s) if onsale.shows().contains(&self.show) => Ok(PlannedCancel {
                show: self.show,
                at_s,
            }),
            _ => Err(
                "cancel: show is one of the scenario's, and at is seconds or a share such as \"70%\""
                    .to_owned(),
            ),
        }
    }
}

/// Replaces the values of `base` that `over` contains. All other values stay the same.
fn merge(base: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(toml::Value::Table(inner)), toml::Value::Table(value)) => merge(inner, value),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        title = "A test"
        planned_s = 10.0
        deadline_s = 20.0
        [crowd]
        visitors = 10
        over_s = 1.0
        [behaviour]
        no_show = 0.9
        [slow]
        at = "40%"
        factor = 4.0
        for_s = 2.0
        [baseline.behaviour]
        no_show = 0.0
        [thresholds]
        hold.p99_ms = { max = 300 }
        [[venue]]
        id = "hall"
        plan = "grid:2x3"
        [[show]]
        id = "night"
        venue = "hall"
        [[room]]
        id = "sale"
        opens_at = "+0s"
        draw_at = "+2s"
    "#;

    fn check(text: &str) -> Result<Scenario, Vec<String>> {
        parse("test", text.parse().expect("TOML"), Path::new("."))
    }

    #[test]
    fn a_baseline_changes_only_the_values_that_it_names() {
        let scenario = check(TEXT).expect("a valid scenario");
        let baseline = scenario.baseline.expect("a baseline");
        assert!((scenario.behaviour.no_show - 0.9).abs() < 1e-9);
        assert!(baseline.behaviour.no_show.abs() < 1e-9);
        assert_eq!(baseline.crowd.visitors, 10);
        assert!((scenario.slow.expect("a slowdown").at_s - 4.0).abs() < 1e-9);
    }

    #[test]
    fn an_unknown_field_or_figure_is_a_fault() {
        for (known, unknown) in [
            ("visitors = 10", "visitors = 10\nvisitor = 3"),
            ("no_show = 0.9", "no_shows = 0.9"),
            ("planned_s = 10.0", "planned_s = 10.0\nplaned = 1"),
            ("hold.p99_ms", "hold.p97_ms"),
        ] {
            assert!(check(&TEXT.replace(known, unknown)).is_err(), "{unknown}");
        }
    }

    #[test]
    fn a_cancellation_needs_a_show_of_the_scenario_and_a_valid_time() {
        let cancel = |show: &str, at: &str| {
            let table = format!("[cancel]\nshow = \"{show}\"\nat = {at}\n[[venue]]");
            check(&TEXT.replacen("[[venue]]", &table, 1))
        };
        let cancelled = cancel("night", "\"70%\"").expect("a valid scenario").cancel;
        let cancelled = cancelled.expect("a cancellation");
        assert_eq!(cancelled.show, "night");
        assert!((cancelled.at_s - 7.0).abs() < 1e-9);
        for (show, at) in [("day", "7.0"), ("night", "\"soon\""), ("night", "-1.0")] {
            let faults = cancel(show, at).expect_err("a fault").join("\n");
            assert!(faults.contains("cancel: show is one"), "{faults}");
        }
    }

    #[test]
    fn live_changes_come_by_time_and_need_a_time_and_a_field() {
        let live =
            |tables: &str| check(&TEXT.replacen("[[venue]]", &format!("{tables}[[venue]]"), 1));
        let tables = "[[live]]\nat = 7.0\npaused = true\n[[live]]\nat = \"40%\"\nmax_inside = 4\n";
        let changes = live(tables).expect("a valid scenario").live_changes;
        let times: Vec<f64> = changes.iter().map(|change| change.at_s).collect();
        assert_eq!(times, [4.0, 7.0]);
        assert_eq!(changes[0].fields, serde_json::json!({"max_inside": 4}));
        for table in [
            "[[live]]\nat = 7.0\n",
            "[[live]]\nat = \"soon\"\npaused = true\n",
        ] {
            let faults = live(table).expect_err("a fault").join("\n");
            assert!(faults.contains("live: at must be"), "{faults}");
        }
    }

    #[test]
    fn faults_of_different_sections_are_reported_at_once() {
        let text = TEXT
            .replace("no_show = 0.9", "no_show = 9.0")
            .replace("hold.p99_ms", "hold.p97_ms");
        let faults = check(&text).expect_err("two faults").join("\n");
        assert!(
            faults.contains("no_show") && faults.contains("p97_ms"),
            "{faults}"
        );
    }
}
