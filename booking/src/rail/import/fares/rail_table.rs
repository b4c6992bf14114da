//! The fares in the table of a `--rail` file.

use std::collections::{BTreeMap, HashMap};

use fairgate_model::timetables::settings::RailFile;
use fairgate_model::timetables::{Tariff, TimetableParts};

use super::super::RailFeedFault;

/// Gives every trip the prices of the `--rail` file's table, if the file has one.
///
/// # Errors
/// Returns an error if a station in the table does not exist, or if the table has two prices for
/// the same stretch and class.
pub fn price_by_rail_table(
    parts: &mut TimetableParts,
    rail: &RailFile,
) -> Result<(), Vec<RailFeedFault>> {
    if rail.fare.is_empty() {
        return Ok(());
    }
    let mut codes = HashMap::new();
    for (station, at) in parts.stations.iter().zip(0_u32..) {
        codes.insert(station.code.as_str(), at);
    }
    let mut faults = Vec::new();
    let mut rows = BTreeMap::new();
    for (nth, fare) in rail.fare.iter().enumerate() {
        let mut fault = |code, message: String| {
            faults.push(RailFeedFault {
                file: String::new(),
                line: 0,
                code,
                message: format!("fare[{nth}]: {message}"),
            });
        };
        let class = rail.class.iter().position(|class| class.key == fare.class);
        let class = class.and_then(|at| u16::try_from(at).ok());
        let mut station = |code: &str| {
            let found = codes.get(code).copied();
            if found.is_none() {
                fault("dangling_stop", format!("there is no station {code:?}"));
            }
            found
        };
        let ends = (station(&fare.from), station(&fare.to));
        let (Some(class), (Some(from), Some(to))) = (class, ends) else {
            continue;
        };
        if rows.insert((class, from, to), fare.amount).is_some() {
            let message = format!("{} to {} occurs twice", fare.from, fare.to);
            fault("duplicate_id", message);
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let rows = rows
        .into_iter()
        .map(|((class, from, to), amount)| (class, from, to, amount));
    parts.tariffs = vec![Tariff::Table(rows.collect())];
    Ok(())
}
