//! Reads `[[train]]`, which describes a train for a plan. A run sells the train with this id of the
//! rig's own line. It reads the seats and terms of the train from the rig.

use serde::Deserialize;

/// A train.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainPlan {
    /// The train's id without the date.
    pub id: String,
    /// How many seats the train has.
    pub seats: u32,
    /// How many stops the train has, including the first and the last.
    pub stops: u32,
    /// How long a basket keeps its seats, as the buyer sees it, in seconds.
    pub hold_s: u32,
    /// How much longer the basket really keeps its seats, in seconds.
    pub grace_s: u32,
    /// The least time that a buyer has to pay an order, in seconds.
    pub pay_s: u32,
    /// How long an order keeps its seats after the time to pay has run out, in seconds.
    pub claim_grace_s: u32,
    /// How many seats one visitor may have.
    pub seats_per_visitor: u32,
}

impl TrainPlan {
    /// Reads all trains of a file. Adds every fault to `faults`.
    pub fn read_all(table: &toml::Table, faults: &mut Vec<String>) -> Vec<Self> {
        let list = table.get("train").and_then(toml::Value::as_array);
        let mut trains = Vec::new();
        for (at, entry) in list.into_iter().flatten().enumerate() {
            match entry.clone().try_into::<Self>() {
                Ok(train) if !(2..=65).contains(&train.stops) || train.seats == 0 => {
                    faults.push(format!(
                        "train \"{}\": a train has seats, and 2 to 65 stops",
                        train.id
                    ));
                }
                Ok(train) => trains.push(train),
                Err(error) => {
                    let fault = error.message();
                    faults.push(format!("[[train]] number {}: {fault}", at + 1));
                }
            }
        }
        trains
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        [[train]]
        id = "t1"
        seats = 80
        stops = 4
        hold_s = 3
        grace_s = 1
        pay_s = 120
        claim_grace_s = 2
        seats_per_visitor = 4
    "#;

    #[test]
    fn faults_of_trains_name_the_train() {
        for (right, wrong, told) in [
            ("stops = 4", "stops = 1", Some("2 to 65 stops")),
            ("seats = 80", "seats = 0", Some("has seats")),
            ("seats = 80", "chairs = 80", Some("number 1: unknown field")),
            ("seats = 80", "", Some("number 1: missing field")),
            ("seats = 80", "seats = 80", None),
        ] {
            let table = TEXT.replace(right, wrong).parse().expect("TOML");
            let mut faults = Vec::new();
            let trains = TrainPlan::read_all(&table, &mut faults);
            let expected = usize::from(told.is_none());
            assert_eq!((trains.len(), faults.len()), (expected, 1 - expected));
            assert!(
                told.is_none_or(|told| faults[0].contains(told)),
                "{faults:?}"
            );
        }
    }
}
