//! Decides which parties are offered freed seats, and which parties wait in vain. The module is
//! pure.

use std::collections::{BTreeSet, HashMap, HashSet};

use rand::Rng;

use super::{Waiter, WaitlistParty};
use crate::grid::CellState;
use crate::waiters::wish::{PartySeats, ShowLayout, with_held_freed};

/// How many offers one round makes, at most. The next round makes the remaining offers.
const OFFERS_MAX: usize = 100;

/// The result of one round.
#[derive(Debug, Default)]
pub struct WaitlistShares {
    /// The parties that are offered seats, by their index in the line, with the seats.
    pub offers: Vec<(usize, PartySeats)>,
    /// The cells that are kept for the waitlist but suit no party that is present and has no offer.
    /// The list is empty if the round stopped before the end of the line.
    pub left: Vec<u32>,
}

/// Returns the parties that can never be served, by their index in the line. A party that has an
/// offer is not among them.
#[must_use]
pub fn never_served(
    layout: ShowLayout<'_>,
    states: &[CellState],
    line: &[Waiter],
    rng: &mut impl Rng,
) -> Vec<usize> {
    let freed = with_held_freed(states);
    let mut known: HashMap<&WaitlistParty, bool> = HashMap::new();
    let mut unservable = Vec::new();
    for (at, waiter) in line.iter().enumerate() {
        let party = &waiter.party;
        let can_be_seated = *known
            .entry(party)
            .or_insert_with(|| party.can_be_seated(layout, &freed, rng));
        if !can_be_seated && waiter.offer.is_none() {
            unservable.push(at);
        }
    }
    unservable
}

/// Shares out the seats that are free or kept for the waitlist. The parties get seats in the order
/// of the line, if they are present, have no offer, and the remaining seats suit them.
#[must_use]
pub fn share(
    layout: ShowLayout<'_>,
    states: &[CellState],
    kept: &[u32],
    line: &[Waiter],
    now_ms: i64,
    rng: &mut impl Rng,
) -> WaitlistShares {
    let grid = layout.grid();
    let mut kept: BTreeSet<u32> = kept.iter().copied().collect();
    let mut shares = WaitlistShares::default();
    // Kept cells are for the parties in the line, so here they are treated as free.
    let mut states = states.to_vec();
    for cell in &kept {
        set_cell_state(&mut states, *cell, CellState::Free);
    }
    let mut free_cells = states
        .iter()
        .filter(|state| **state == CellState::Free)
        .count();
    // If no seats suit one party, none suit a later party with the same wish, because no seat comes
    // free during the round.
    let mut unfit: HashSet<&WaitlistParty> = HashSet::new();
    for (at, waiter) in line.iter().enumerate() {
        let party = &waiter.party;
        if waiter.offer.is_some() || !waiter.is_here(now_ms) || unfit.contains(party) {
            continue;
        }
        if shares.offers.len() == OFFERS_MAX {
            // The kept cells may still suit parties further back in the line, so none is listed in
            // `left`.
            return shares;
        }
        let seated = match party.resolve_wish(layout) {
            Some(wanted) if free_cells >= party.quantity as usize => {
                wanted.choose_seats(layout, &states, rng)
            }
            _ => None,
        };
        let Some(seated) = seated else {
            unfit.insert(party);
            continue;
        };
        for seat in &seated.seats {
            for cell in grid.cells_of(*seat, seated.legs.clone()) {
                set_cell_state(&mut states, cell, CellState::Held);
                kept.remove(&cell);
                free_cells -= 1;
            }
        }
        shares.offers.push((at, seated));
    }
    shares.left = kept.into_iter().collect();
    shares
}

fn set_cell_state(states: &mut [CellState], cell: u32, state: CellState) {
    if let Some(slot) = states.get_mut(cell as usize) {
        *slot = state;
    }
}

#[cfg(test)]
mod tests;
