//! Reads a timetable's CSV files, so that a bench asks only for pairs of stations that a train
//! connects.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Context;
use rand::RngExt;

/// The trips of a timetable.
pub struct RailBenchTimetable {
    pub trips: Vec<RailBenchTrip>,
}

/// One trip.
pub struct RailBenchTrip {
    /// The train's code.
    pub train: String,
    everyday: bool,
    /// The codes of the train's stations, in the order in which it stops there.
    stop_codes: Vec<String>,
}

impl RailBenchTimetable {
    /// Reads the three files of a timetable. Their fields must contain neither commas nor quotes.
    ///
    /// # Errors
    /// Where a file, a station or the stops of a train are missing, or a number cannot be read.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let codes: HashMap<String, String> = rows(folder, "stations.csv")?
            .into_iter()
            .map(|row| (row[1].clone(), row[0].clone()))
            .collect();
        let mut calls: HashMap<String, Vec<(u32, String)>> = HashMap::new();
        for row in rows(folder, "stop_times.csv")? {
            let code = codes
                .get(&row[2])
                .with_context(|| format!("no station {}", row[2]))?;
            calls
                .entry(row[0].clone())
                .or_default()
                .push((row[1].parse()?, code.clone()));
        }
        let mut trips = Vec::new();
        for row in rows(folder, "trains.csv")? {
            let mut calls = calls
                .remove(&row[0])
                .with_context(|| format!("no stops of {}", row[0]))?;
            calls.sort_unstable_by_key(|(sequence, _)| *sequence);
            trips.push(RailBenchTrip {
                train: row[1].clone(),
                everyday: row[9] == "ALL",
                stop_codes: calls.into_iter().map(|(_, code)| code).collect(),
            });
        }
        Ok(Self { trips })
    }

    /// Returns the number of stops of all trips.
    pub fn stops(&self) -> usize {
        self.trips.iter().map(|trip| trip.stop_codes.len()).sum()
    }

    /// Returns the trips that run every day from one station to another.
    pub fn everyday_between(&self, from: &str, to: &str) -> impl Iterator<Item = &RailBenchTrip> {
        self.everyday().filter(move |trip| {
            let at = |code: &str| trip.stop_codes.iter().position(|call| call == code);
            matches!((at(from), at(to)), (Some(from), Some(to)) if from < to)
        })
    }

    /// Returns the trips that run every day.
    pub fn everyday(&self) -> impl Iterator<Item = &RailBenchTrip> {
        self.trips.iter().filter(|trip| trip.everyday)
    }

    /// Returns a random stretch of a random trip.
    pub fn stretch(&self, dice: &mut impl rand::Rng) -> (&str, &str) {
        self.trips[dice.random_range(0..self.trips.len())].stretch(dice)
    }
}

impl RailBenchTrip {
    /// Returns two random stations of the trip, in the order of the journey.
    pub fn stretch(&self, dice: &mut impl rand::Rng) -> (&str, &str) {
        let to = dice.random_range(1..self.stop_codes.len());
        let from = dice.random_range(0..to);
        (&self.stop_codes[from], &self.stop_codes[to])
    }
}

/// Reads the rows of a file after its header.
fn rows(folder: &Path, name: &str) -> anyhow::Result<Vec<Vec<String>>> {
    let path = folder.join(name);
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("{} cannot be read", path.display()))?;
    let fields = |line: &str| line.split(',').map(str::to_owned).collect();
    Ok(text.lines().skip(1).map(fields).collect())
}
