//! Explains why no seats were found for a visitor. If too few seats are free, counts the suitable
//! seats that are in baskets and may become free again.

use fairgate_model::choosing::rail::{self, TrainSeatStates};
use fairgate_model::choosing::{self, SeatsNotFound};
use fairgate_model::grid::CellState;

use super::ask::{ResolvedSeatRequest, SeatSelection};
use super::refusal::HoldRefusal;

/// Turns the reason why no seats were chosen into a refusal.
pub(super) fn refusal_without_seats(
    why: SeatsNotFound,
    train: &TrainSeatStates<'_>,
    request: &ResolvedSeatRequest,
) -> HoldRefusal {
    match why {
        SeatsNotFound::NoBlock => HoldRefusal::NoBlock,
        SeatsNotFound::Capacity => HoldRefusal::TooFewFree(in_baskets(train, request)),
    }
}

/// Counts the suitable seats and standing places that are held now. They become free if their
/// baskets run out.
fn in_baskets(train: &TrainSeatStates<'_>, request: &ResolvedSeatRequest) -> usize {
    let in_basket = |seat: u32| {
        let cells = train.grid.cells_of(seat, request.legs.clone());
        let states = cells.map(|cell| train.states.get(cell as usize));
        let mut held = false;
        for state in states {
            match state {
                Some(CellState::Held) => held = true,
                Some(CellState::Free) => {}
                _ => return false,
            }
        }
        held
    };
    match &request.wanted {
        SeatSelection::Best(wish) => choosing::count_fitting(train.map, &in_basket, wish),
        SeatSelection::Class(party) => rail::of_class(train.map, party.class)
            .filter(|seat| in_basket(*seat))
            .count(),
        SeatSelection::Named { areas, .. } => {
            let areas = areas
                .iter()
                .filter_map(|(index, _)| train.map.areas.get(*index));
            areas
                .flat_map(|area| area.cells())
                .filter(|cell| in_basket(*cell))
                .count()
        }
    }
}
