//! Why no seats were found for somebody: all that fit are sold, or some of them are in baskets and
//! may come back.

use super::ask::{Asked, Wanted};
use super::refusal::HoldRefusal;
use fairgate_model::choosing;
use fairgate_model::choosing::NotFound;
use fairgate_model::choosing::rail;
use fairgate_model::choosing::rail::Train;
use fairgate_model::grid::CellState;

/// Why no seats were chosen; where places run short, with how many that would fit are in baskets.
pub(super) fn not_found(why: NotFound, train: &Train<'_>, asked: &Asked) -> HoldRefusal {
    match why {
        NotFound::NoBlock => HoldRefusal::NoBlock,
        NotFound::Capacity => HoldRefusal::TooFewFree(in_baskets(train, asked)),
    }
}

/// Places that fit what was asked for and are held by others: free once their baskets run out.
fn in_baskets(train: &Train<'_>, asked: &Asked) -> usize {
    let in_basket = |seat: u32| {
        let cells = train.grid.cells_of(seat, asked.legs.clone());
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
    match &asked.wanted {
        Wanted::Best(wish) => choosing::fitting(train.map, &in_basket, wish),
        Wanted::Class(party) => rail::of_class(train.map, party.class)
            .filter(|seat| in_basket(*seat))
            .count(),
        Wanted::Named { areas, .. } => {
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
