//! Finds other seats for a visitor whose seats were refused.

use std::collections::BTreeMap;
use std::ops::Range;

use fairgate_model::choosing::rail::TrainSeatStates;
use fairgate_model::choosing::{self, SeatChoice};
use fairgate_model::shows::Show;

use super::refusal::SeatSuggestion;
use crate::rail::journey::JourneySummary;
use crate::store::VersionedCells;

/// Returns the states of the show's seats on each leg.
pub(super) fn train<'a>(show: &'a Show, view: &'a VersionedCells) -> TrainSeatStates<'a> {
    TrainSeatStates {
        map: &show.plan.map,
        grid: show.grid(),
        states: &view.states,
    }
}

/// Returns seats that may be held instead, in the form of a new request: seats by label, standing
/// places by area and quantity, and on a train the two stations.
pub(super) fn suggestion(
    show: &Show,
    view: &VersionedCells,
    (requested_seats, legs): (&[u32], &Range<u16>),
    leaves_no_single_seat: bool,
) -> Option<Box<SeatSuggestion>> {
    let map = &show.plan.map;
    let train = train(show, view);
    let is_free = |seat: u32| train.is_free(seat, legs) && show.fare(seat, legs).is_some();
    let SeatChoice { cells, .. } = choosing::suggest(
        map,
        &is_free,
        requested_seats,
        leaves_no_single_seat,
        &mut rand::rng(),
    )?;
    let seats: Vec<String> = cells
        .iter()
        .filter(|cell| map.area_of(**cell).is_none())
        .map(|cell| show.seat_label(*cell).to_owned())
        .collect();
    let mut areas: BTreeMap<&str, u32> = BTreeMap::new();
    for area in cells.iter().filter_map(|cell| map.area_of(*cell)) {
        *areas.entry(area.label.as_str()).or_default() += 1;
    }
    if seats.is_empty() && areas.is_empty() {
        return None;
    }
    let journey = show
        .run
        .as_ref()
        .and_then(|run| JourneySummary::from_leg_range(run, legs));
    let area = |(label, quantity): (&str, u32)| (label.to_owned(), quantity);
    Some(Box::new(SeatSuggestion {
        seats,
        areas: areas.into_iter().map(area).collect(),
        departs: ride_time(show, journey.as_ref(), legs),
        stretch: journey.map(|journey| (journey.from.station, journey.to.station)),
    }))
}

/// Returns when a train leaves on these legs. Returns `None` if the train goes between the two
/// stations of the legs only once.
fn ride_time(
    show: &Show,
    journey: Option<&JourneySummary>,
    legs: &Range<u16>,
) -> Option<jiff::Timestamp> {
    let (run, journey) = show.run.as_ref().zip(journey)?;
    let rides = run.rides(&journey.from.station, &journey.to.station);
    run.departs_at(legs).filter(|_| rides.len() > 1)
}
