//! Why no seats were found for somebody: all that fit are sold, or some of them are in baskets and may come back.

use serde_json::json;

use super::ask::{Asked, Wanted};
use crate::inventory::CellState;
use crate::inventory::choose::rail::{self, Train};
use crate::inventory::choose::{self, NotFound};
use fairgate_base::http::Problem;

/// 409 `best_available_not_found`; where places run short, with how many that would fit are in baskets.
pub(super) fn not_found(why: NotFound, train: &Train<'_>, asked: &Asked) -> Problem {
    let problem = |reason: &str, detail: String| {
        let title = "No such seats are free";
        Problem::new(409, "best_available_not_found", title, detail).with("reason", reason)
    };
    match why {
        NotFound::NoBlock => problem("no_block", why.to_string()),
        NotFound::Capacity => {
            let in_baskets = in_baskets(train, asked);
            let detail = match in_baskets {
                0 => "Fewer places are free than you asked for. The others that fit are sold, and none is in a basket. Nothing was held. Ask for fewer, or for other places.".to_owned(),
                _ => format!(
                    "Fewer places are free than you asked for. {in_baskets} more that fit are in the baskets of others and may come back within minutes. Nothing was held. Ask for fewer, or try again in a minute."
                ),
            };
            problem("capacity", detail).with("seats_in_baskets", json!(in_baskets))
        }
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
        Wanted::Best(wish) => choose::fitting(train.map, &in_basket, wish),
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
