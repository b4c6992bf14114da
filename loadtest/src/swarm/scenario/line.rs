//! The rig's own railway line, as a scenario sells it.

use super::{Scenario, ScenarioTrain};
use crate::rig::{CLASS, DEPARTURES, LONG_TRAIN, SHORT_TRAIN, STOPS, departure};

/// Returns the departure of the short train that crowds buy.
///
/// # Errors
/// If the line's time zone is unknown.
pub fn line_train() -> anyhow::Result<ScenarioTrain> {
    train(SHORT_TRAIN)
}

fn train(id: &str) -> anyhow::Result<ScenarioTrain> {
    Ok(ScenarioTrain {
        show: departure(id)?,
        departures: DEPARTURES,
        stops: &STOPS,
        class: CLASS,
    })
}

/// Adds trains to the sale: those that the scenario's `[[train]]` tables name. They must be trains
/// of the rig's line.
///
/// # Errors
/// A message about a train that the line does not have, or that has a different number of stops on
/// the line.
pub fn sell_line(scenario: &mut Scenario) -> Result<(), String> {
    for plan in scenario.onsale.train_plans().to_vec() {
        let is_known = [SHORT_TRAIN, LONG_TRAIN].contains(&plan.id.as_str());
        if !is_known || plan.stops as usize != STOPS.len() {
            return Err(format!(
                "train \"{}\": the rig's line has the trains \"{SHORT_TRAIN}\" and \"{LONG_TRAIN}\", with {} stops each",
                plan.id,
                STOPS.len()
            ));
        }
        let train = train(&plan.id).map_err(|error| error.to_string())?;
        scenario.onsale.sell_listed_train(&plan.id, train);
    }
    Ok(())
}
