//! Converts the runs of trains to the JSON that the ledger stores, and back. The JSON is the same
//! in every database.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_json::Result;

use super::{DistanceRate, StationCall, TrainFares, TrainRun};

/// A departure's run, as it is stored in `shows.run`.
#[derive(Serialize, Deserialize)]
struct StoredTrainRun {
    train: String,
    date: Date,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time_zone: Option<String>,
    calls: Vec<StoredStationCall>,
    fares: StoredTrainFares,
}

#[derive(Serialize, Deserialize)]
struct StoredStationCall {
    station: String,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time_zone: Option<String>,
    arrives: Option<Timestamp>,
    departs: Option<Timestamp>,
    at_m: u64,
    #[serde(default, skip_serializing_if = "is_false")]
    no_boarding: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    no_alighting: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
const fn is_false(value: &bool) -> bool {
    !*value
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredTrainFares {
    ByDistance(BTreeMap<String, DistanceRate>),
    Table(Vec<(String, String, String, i64)>),
}

impl StoredTrainRun {
    fn from_run(run: &TrainRun) -> Self {
        let call_index = |station: &str| run.calls.iter().position(|call| call.station == station);
        let fares = match &*run.fares {
            TrainFares::ByDistance(rates) => StoredTrainFares::ByDistance(rates.clone()),
            TrainFares::Table(table) => {
                let own_fares = table.iter().filter(|((_, from, to), _)| {
                    call_index(from).is_some() && call_index(to).is_some()
                });
                let row = |((class, from, to), amount): (&(String, String, String), &i64)| {
                    (class.clone(), from.clone(), to.clone(), *amount)
                };
                StoredTrainFares::Table(own_fares.map(row).collect())
            }
        };
        let call = |call: &StationCall| StoredStationCall {
            station: call.station.clone(),
            name: call.name.clone(),
            time_zone: call.time_zone.clone(),
            arrives: call.arrives,
            departs: call.departs,
            at_m: call.at_m,
            no_boarding: call.no_boarding,
            no_alighting: call.no_alighting,
        };
        Self {
            train: run.train.clone(),
            date: run.date,
            time_zone: run.time_zone.clone(),
            calls: run.calls.iter().map(call).collect(),
            fares,
        }
    }

    fn into_run(self) -> Arc<TrainRun> {
        let fares = match self.fares {
            StoredTrainFares::ByDistance(rates) => TrainFares::ByDistance(rates),
            StoredTrainFares::Table(rows) => TrainFares::Table(
                rows.into_iter()
                    .map(|(class, from, to, amount)| ((class, from, to), amount))
                    .collect(),
            ),
        };
        let call = |call: StoredStationCall| StationCall {
            station: call.station,
            name: call.name,
            time_zone: call.time_zone,
            arrives: call.arrives,
            departs: call.departs,
            at_m: call.at_m,
            no_boarding: call.no_boarding,
            no_alighting: call.no_alighting,
        };
        Arc::new(TrainRun {
            train: self.train,
            date: self.date,
            time_zone: self.time_zone,
            calls: self.calls.into_iter().map(call).collect(),
            fares: Arc::new(fares),
        })
    }
}

/// Writes a departure's run in its stored form. Of a fare table, only the fares between the run's
/// own stations are stored.
///
/// # Errors
/// If it cannot be written as JSON.
pub fn run_text(run: &TrainRun) -> Result<String> {
    serde_json::to_string(&StoredTrainRun::from_run(run))
}

/// Reads the run of a departure from its stored form.
///
/// # Errors
/// If it cannot be read.
pub fn run_of(text: &str) -> Result<Arc<TrainRun>> {
    let row: StoredTrainRun = serde_json::from_str(text)?;
    Ok(row.into_run())
}

/// Reads and writes a run that may be absent, for serde.
pub mod optional {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{StoredTrainRun, TrainRun};

    /// Writes the run.
    ///
    /// # Errors
    /// The error of the serializer.
    pub fn serialize<S: Serializer>(
        run: &Option<Arc<TrainRun>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let row = run.as_deref().map(StoredTrainRun::from_run);
        row.serialize(serializer)
    }

    /// Reads the run.
    ///
    /// # Errors
    /// The error of the deserializer.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Arc<TrainRun>>, D::Error> {
        let row = Option::<StoredTrainRun>::deserialize(deserializer)?;
        Ok(row.map(StoredTrainRun::into_run))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_from_before_stations_had_zones_has_the_zone_of_the_run_and_is_written_as_it_was() {
        let stored = r#"{"train":"G1","date":"2027-02-01","time_zone":"Asia/Shanghai","calls":[{"station":"A","name":"a","arrives":null,"departs":"2027-02-01T00:00:00Z","at_m":0},{"station":"B","name":"b","arrives":"2027-02-01T01:00:00Z","departs":null,"at_m":9}],"fares":{"table":[]}}"#;
        let run = run_of(stored).expect("readable");
        let zones = run.calls.iter().map(|call| run.zone_at(call));
        assert_eq!(zones.collect::<Vec<_>>(), [Some("Asia/Shanghai"); 2]);
        assert_eq!(run_text(&run).expect("JSON"), stored);
    }

    #[test]
    fn a_call_keeps_the_zone_of_its_station() {
        let stored = r#"{"train":"G1","date":"2027-02-01","calls":[{"station":"A","name":"a","time_zone":"Europe/London","arrives":null,"departs":null,"at_m":0},{"station":"B","name":"b","arrives":null,"departs":null,"at_m":9}],"fares":{"table":[]}}"#;
        let run = run_of(stored).expect("readable");
        let zones = run.calls.iter().map(|call| run.zone_at(call));
        assert_eq!(zones.collect::<Vec<_>>(), [Some("Europe/London"), None]);
        assert_eq!(run_text(&run).expect("JSON"), stored);
    }
}
