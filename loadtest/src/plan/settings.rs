//! Recommends the pace of a sale and how many visitors may be inside, and writes an on-sale file
//! with these settings.

use std::path::{Path, PathBuf, absolute};

use fairgate_rules::faults::micros_per_s;
use fairgate_simulation::sale::PlannedSale;
use fairgate_simulation::simulate;
use fairgate_simulation::summary::SeedFigures;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::needs::{SaleDemand, tightest};
use crate::calibration::Calibration;

/// How many paces are tried. Each pace is the same multiple of the pace before.
const PACES: i32 = 12;
/// The slowest pace that is tried calls enough visitors for all seats in this time, in seconds.
const SLOWEST_S: f64 = 3.0 * 3_600.0;
/// The fastest pace that is tried calls enough visitors for all seats in this time, in seconds.
const FASTEST_S: f64 = 15.0;
/// A pace is good enough if its time is at most this multiple of the time of the best pace. Only
/// paces that the machines can handle are compared. The slowest pace that is good enough is
/// recommended, so that visitors wait in the line and not inside.
const LATER_MAX: f64 = 1.25;
/// A recommended pace uses at most this part of each limit of the measured machines.
const USE_MAX: f64 = 0.7;
/// The recommended `max_inside`, as a multiple of the most visitors inside in the simulation.
const INSIDE_SPARE: f64 = 1.25;
/// The sections of a file that describe the on-sale. The others describe the crowd or the run.
const ONSALE: [&str; 3] = ["venue", "show", "room"];

/// Settings that suit a sale.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecommendedSettings {
    per_s: f64,
    max_inside: u64,
    /// When 99 of 100 seats are sold with these settings, in seconds after the beginning of the
    /// sale; `null` if fewer are sold.
    sold_99_s: Option<f64>,
    /// The part of the tightest measured limit that the sale uses with these settings; `null`
    /// without a calibration.
    used: Option<f64>,
}

/// How many seeds are simulated with each pace.
const SEEDS: u64 = 3;

/// A pace that was tried, and its figures in the seed with the middle time.
struct TriedPace {
    per_s: f64,
    figures: SeedFigures,
    used: Option<f64>,
}

impl TriedPace {
    fn of(sale: &PlannedSale, per_s: f64, calibration: Option<&Calibration>, seed: u64) -> Self {
        let mut sale_at_pace = sale.clone();
        sale_at_pace.room.pace.per_s_u = micros_per_s(per_s);
        sale_at_pace.room.pace.max_inside = sale_at_pace.visitors().max(1);
        sale_at_pace.server.calls_per_s = None;
        let seeds = (0..SEEDS).map(|nth| {
            let outcome = simulate(&sale_at_pace, seed.wrapping_add(nth));
            let used = calibration.map(|calibration| {
                let demand = SaleDemand::of(&sale_at_pace, &outcome);
                tightest(&demand, calibration).1
            });
            Self {
                per_s,
                figures: SeedFigures::from(&outcome),
                used,
            }
        });
        let mut seeds: Vec<Self> = seeds.collect();
        seeds.sort_unstable_by(|one, other| one.time_s().total_cmp(&other.time_s()));
        seeds.swap_remove(seeds.len() / 2)
    }

    /// Returns the time by which paces are compared, in seconds. A shorter time is better. It is
    /// the time until 99 of 100 seats are sold. If too few people want them, it is the time that
    /// nine in ten called visitors wait at most.
    fn time_s(&self) -> f64 {
        let time_s = self.figures.sold_99_s.or(self.figures.wait_p90_s);
        time_s.unwrap_or(f64::INFINITY)
    }
}

/// Finds the slowest pace that is about as good as the best pace that the machines can handle.
///
/// # Errors
/// A sentence, if the measured machines can handle none of the paces that were tried.
pub fn recommend(
    sale: &PlannedSale,
    calibration: Option<&Calibration>,
    seed: u64,
) -> Result<RecommendedSettings, String> {
    let seats_wanted = (sale.cells().min(sale.visitors()) as f64).max(1.0);
    let slowest = (seats_wanted / SLOWEST_S).max(0.1);
    let fastest = (seats_wanted / FASTEST_S).clamp(2.0 * slowest, 10_000.0);
    let factor = (fastest / slowest).powf(1.0 / f64::from(PACES - 1));
    let paces = (0..PACES).map(|step| {
        let per_s = slowest * factor.powi(step);
        let per_s = if per_s >= 10.0 {
            per_s.round()
        } else {
            (per_s * 10.0).round() / 10.0
        };
        TriedPace::of(sale, per_s, calibration, seed)
    });
    let bearable: Vec<TriedPace> = paces
        .filter(|tried| tried.used.is_none_or(|used| used <= USE_MAX))
        .collect();
    let best_s = bearable
        .iter()
        .map(TriedPace::time_s)
        .fold(f64::INFINITY, f64::min);
    let slowest_good = bearable
        .into_iter()
        .find(|tried| tried.time_s() <= best_s * LATER_MAX)
        .ok_or(
            "no pace was found that uses at most 70 % of every limit of the measured machines: the crowd that waits is too large for them",
        )?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most as many as there are visitors"
    )]
    let max_inside = (slowest_good.figures.inside_most as f64 * INSIDE_SPARE).ceil() as u64;
    Ok(RecommendedSettings {
        per_s: slowest_good.per_s,
        max_inside: max_inside.max(1),
        sold_99_s: slowest_good.figures.sold_99_s,
        used: slowest_good.used,
    })
}

impl RecommendedSettings {
    /// Returns the settings as a line of the plan's answer.
    pub fn line(&self) -> String {
        let sold = self.sold_99_s.map_or_else(String::new, |sold_99_s| {
            format!("; 99 of 100 seats are then sold after {sold_99_s:.0} s")
        });
        let used = self.used.map_or_else(String::new, |used| {
            format!(
                "; at most {:.0} % of a measured limit is used",
                used * 100.0
            )
        });
        format!(
            "  settings         per_s = {}, max_inside = {}{sold}{used}",
            self.per_s, self.max_inside
        )
    }

    /// Writes the on-sale of `from` with these settings into `file`. Times that count from the
    /// start of a run become times of the day after `now`. If `file` lies in another folder than
    /// `from`, the paths of charts become absolute, so that they name the same charts.
    ///
    /// # Errors
    /// A sentence that names the file that cannot be read or written, and the reason.
    pub fn write(&self, from: &Path, file: &Path, now: Timestamp) -> Result<(), String> {
        let told =
            |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(from).map_err(|error| told(from, &error))?;
        let mut table: toml::Table = text.parse().map_err(|error| told(from, &error))?;
        let old_folder = folder_of(from).map_err(|error| told(from, &error))?;
        let new_folder = folder_of(file).map_err(|error| told(file, &error))?;
        if old_folder != new_folder {
            make_charts_absolute(&mut table, &old_folder);
        }
        let hour_s = now.as_second().div_euclid(3_600) * 3_600;
        let hour = Timestamp::from_second(hour_s).unwrap_or(now);
        let start = hour + SignedDuration::from_hours(24);
        let text = self
            .onsale(table, start)
            .map_err(|error| told(file, &error))?;
        std::fs::write(file, text).map_err(|error| told(file, &error))
    }

    /// Returns the on-sale of a file with these settings, as TOML.
    fn onsale(&self, table: toml::Table, start: Timestamp) -> Result<String, toml::ser::Error> {
        let mut onsale: toml::Table = table
            .into_iter()
            .filter(|(name, _)| ONSALE.contains(&name.as_str()))
            .collect();
        let mut moved = false;
        for (_, entries) in &mut onsale {
            let entries = entries.as_array_mut().into_iter().flatten();
            for (_, value) in entries.filter_map(toml::Value::as_table_mut).flatten() {
                if let Some(at_s) = after_start_s(value) {
                    let at = start + SignedDuration::from_secs_f64(at_s);
                    *value = toml::Value::String(at.to_string());
                    moved = true;
                }
            }
        }
        let rooms = onsale.get_mut("room").and_then(toml::Value::as_array_mut);
        let rooms = rooms.into_iter().flatten();
        for room in rooms.filter_map(toml::Value::as_table_mut) {
            room.insert("per_s".to_owned(), toml::Value::Float(self.per_s));
            let inside = i64::try_from(self.max_inside).unwrap_or(i64::MAX);
            room.insert("max_inside".to_owned(), toml::Value::Integer(inside));
        }
        let mut text = "# `loadtest plan` recommends per_s and max_inside.\n".to_owned();
        if moved {
            text.push_str("# Times that counted from the start of a run are now times of tomorrow: choose yours.\n");
        }
        text.push('\n');
        text.push_str(&toml::to_string_pretty(&onsale)?);
        Ok(text)
    }
}

/// Returns the folder of a file, as an absolute path.
fn folder_of(file: &Path) -> std::io::Result<PathBuf> {
    let file = absolute(file)?;
    Ok(file.parent().unwrap_or(&file).to_owned())
}

/// Changes the paths of the venues' charts, which start at `folder`, into absolute paths.
fn make_charts_absolute(table: &mut toml::Table, folder: &Path) {
    let venues = table.get_mut("venue").and_then(toml::Value::as_array_mut);
    for venue in venues.into_iter().flatten() {
        let Some(plan) = venue.get_mut("plan") else {
            continue;
        };
        let chart = plan.as_str().and_then(|plan| plan.split_once(':'));
        if let Some((format, file)) = chart.filter(|(format, _)| *format != "grid") {
            let file = folder.join(file);
            *plan = toml::Value::String(format!("{format}:{}", file.display()));
        }
    }
}

/// Returns the seconds of a time such as `"+20s"`.
fn after_start_s(value: &toml::Value) -> Option<f64> {
    let number = value.as_str()?.strip_prefix('+')?.strip_suffix('s')?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::sale::planned_sale;
    use crate::swarm::scenario_of;

    const CALM: &str = include_str!("../../scenarios/calm.toml");

    fn sale() -> PlannedSale {
        planned_sale(&scenario_of("calm", CALM).expect("a scenario"), None).expect("a sale")
    }

    #[test]
    fn the_recommended_pace_is_nearly_as_good_as_the_fastest() {
        let good = recommend(&sale(), None, 1).expect("settings");
        let best_s = good.sold_99_s.expect("they are sold");
        let slower = TriedPace::of(&sale(), good.per_s / 3.0, None, 1);
        assert!(slower.time_s() > best_s, "{good:?}, {}", slower.time_s());
        let fastest = TriedPace::of(&sale(), 27.0, None, 1);
        assert!(best_s <= fastest.time_s() * LATER_MAX, "{good:?}");
        assert!(good.max_inside < 4_000 && good.used.is_none());
    }

    #[test]
    fn the_file_is_an_on_sale_with_the_settings_and_with_times_of_a_day() {
        let settings = RecommendedSettings {
            per_s: 7.5,
            max_inside: 90,
            sold_99_s: None,
            used: None,
        };
        let start = "2031-01-02T10:00:00Z".parse().expect("a time");
        let table = CALM.parse().expect("TOML");
        let text = settings.onsale(table, start).expect("TOML");
        let onsale: toml::Table = text.parse().expect("TOML");
        let names: Vec<&String> = onsale.keys().collect();
        assert_eq!(names, ["room", "show", "venue"]);
        let room = &onsale["room"][0];
        assert_eq!(room["per_s"].as_float(), Some(7.5));
        assert_eq!(room["max_inside"].as_integer(), Some(90));
        assert_eq!(room["draw_at"].as_str(), Some("2031-01-02T10:00:20Z"));
    }

    #[test]
    fn a_file_in_another_folder_names_the_same_charts() {
        let settings = RecommendedSettings {
            per_s: 7.5,
            max_inside: 90,
            sold_99_s: None,
            used: None,
        };
        let folder = tempfile::tempdir().expect("a folder");
        let other = tempfile::tempdir().expect("a folder");
        let from = folder.path().join("sale.toml");
        let text = "[[venue]]\nid = \"hall\"\nplan = \"seatsio:charts/hall.json\"\n\
                    [[venue]]\nid = \"yard\"\nplan = \"grid:2x3\"\n";
        std::fs::write(&from, text).expect("written");
        let plans = |file: &Path| {
            settings
                .write(&from, file, Timestamp::UNIX_EPOCH)
                .expect("written");
            let text = std::fs::read_to_string(file).expect("readable");
            let table: toml::Table = text.parse().expect("TOML");
            [0, 1].map(|at| table["venue"][at]["plan"].as_str().map(str::to_owned))
        };
        let grid = Some("grid:2x3".to_owned());
        let chart = folder.path().join("charts/hall.json");
        let chart = Some(format!("seatsio:{}", chart.display()));
        assert_eq!(plans(&other.path().join("out.toml")), [chart, grid.clone()]);
        let beside = Some("seatsio:charts/hall.json".to_owned());
        assert_eq!(plans(&folder.path().join("out.toml")), [beside, grid]);
    }
}
