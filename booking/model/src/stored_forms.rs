//! Converts the seats of orders and the runs of trains to the JSON that the ledger stores, and
//! back. The JSON is the same in every database.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_json::Result;

use crate::holds::HeldSeat;
use crate::orders::OrderItem;
use crate::runs::{DistanceRate, StationCall, TrainFares, TrainRun};

/// One seat of an order, as it is stored in `orders.items`.
#[derive(Serialize, Deserialize)]
struct StoredOrderItem {
    seat: u32,
    from: u16,
    to: u16,
    amount: i64,
    label: String,
    category: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    category_key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    traveller: Option<String>,
}

/// Writes the seats of an order in their stored form.
///
/// # Errors
/// If they cannot be written as JSON.
pub fn items_text(items: &[OrderItem]) -> Result<String> {
    let rows: Vec<StoredOrderItem> = items
        .iter()
        .map(|item| StoredOrderItem {
            seat: item.held.seat,
            from: item.held.legs.start,
            to: item.held.legs.end,
            amount: item.amount,
            label: item.label.clone(),
            category: item.category.clone(),
            category_key: item.category_key.clone(),
            traveller: item.traveller.clone(),
        })
        .collect();
    serde_json::to_string(&rows)
}

/// Reads the seats of an order from their stored form.
///
/// # Errors
/// If they cannot be read.
pub fn items_of(text: &str) -> Result<Vec<OrderItem>> {
    let rows: Vec<StoredOrderItem> = serde_json::from_str(text)?;
    let item = |row: StoredOrderItem| OrderItem {
        held: HeldSeat {
            seat: row.seat,
            legs: row.from..row.to,
        },
        amount: row.amount,
        label: row.label,
        category: row.category,
        category_key: row.category_key,
        traveller: row.traveller,
    };
    Ok(rows.into_iter().map(item).collect())
}

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

/// Writes a departure's run in its stored form. Of a fare table, only the fares between the run's
/// own stations are stored.
///
/// # Errors
/// If it cannot be written as JSON.
pub fn run_text(run: &TrainRun) -> Result<String> {
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
        arrives: call.arrives,
        departs: call.departs,
        at_m: call.at_m,
        no_boarding: call.no_boarding,
        no_alighting: call.no_alighting,
    };
    serde_json::to_string(&StoredTrainRun {
        train: run.train.clone(),
        date: run.date,
        time_zone: run.time_zone.clone(),
        calls: run.calls.iter().map(call).collect(),
        fares,
    })
}

/// Reads the run of a departure from its stored form.
///
/// # Errors
/// If it cannot be read.
pub fn run_of(text: &str) -> Result<Arc<TrainRun>> {
    let row: StoredTrainRun = serde_json::from_str(text)?;
    let fares = match row.fares {
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
        arrives: call.arrives,
        departs: call.departs,
        at_m: call.at_m,
        no_boarding: call.no_boarding,
        no_alighting: call.no_alighting,
    };
    Ok(Arc::new(TrainRun {
        train: row.train,
        date: row.date,
        time_zone: row.time_zone,
        calls: row.calls.into_iter().map(call).collect(),
        fares: Arc::new(fares),
    }))
}
