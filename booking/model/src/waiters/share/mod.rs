//! Who gets what came free, and who waits in vain: pure decisions over a picture of the seats and
//! the line.

use std::collections::{BTreeSet, HashMap, HashSet};

use rand::Rng;

use super::{Waiter, WaitlistParty};
use crate::grid::CellState;
use crate::waiters::wish::{PartySeats, ShowLayout, unsold};

/// Offers made in one go; the next round goes on.
const OFFERS_MAX: usize = 100;

/// What one round gives.
#[derive(Debug, Default)]
pub struct WaitlistShares {
    /// The parties that are offered seats, by their place in the line, with the seats.
    pub offers: Vec<(usize, PartySeats)>,
    /// Kept cells that fit none of those who are here.
    pub left: Vec<u32>,
}

/// Those of the line who can never be served, by their place in it. An offer that a party has is
/// its own.
#[must_use]
pub fn in_vain(
    house: ShowLayout<'_>,
    states: &[CellState],
    line: &[Waiter],
    rng: &mut impl Rng,
) -> Vec<usize> {
    let unsold = unsold(states);
    let mut known: HashMap<&WaitlistParty, bool> = HashMap::new();
    let mut vain = Vec::new();
    for (at, waiter) in line.iter().enumerate() {
        let party = &waiter.party;
        let may = *known
            .entry(party)
            .or_insert_with(|| party.can_be_seated(house, &unsold, rng));
        if !may && waiter.offer.is_none() {
            vain.push(at);
        }
    }
    vain
}

/// Shares out what is free or kept: in the order of the line, to parties that are here, have no
/// offer, and sit well on what is left.
#[must_use]
pub fn share(
    house: ShowLayout<'_>,
    states: &[CellState],
    kept: &[u32],
    line: &[Waiter],
    now_ms: i64,
    rng: &mut impl Rng,
) -> WaitlistShares {
    let grid = house.grid();
    let mut kept: BTreeSet<u32> = kept.iter().copied().collect();
    let mut shares = WaitlistShares::default();
    // As those of the line see it: what is kept is free for them, until it is given.
    let mut states = states.to_vec();
    for cell in &kept {
        set_cell_state(&mut states, *cell, CellState::Free);
    }
    let mut left = states
        .iter()
        .filter(|state| **state == CellState::Free)
        .count();
    // What fits one party no more fits no other with the same wish: cells only get fewer.
    let mut unfit: HashSet<&WaitlistParty> = HashSet::new();
    for (at, waiter) in line.iter().enumerate() {
        let party = &waiter.party;
        if waiter.offer.is_some() || !waiter.is_here(now_ms) || unfit.contains(party) {
            continue;
        }
        if shares.offers.len() == OFFERS_MAX {
            // What is kept may still fit those behind.
            return shares;
        }
        let seated = match party.wanted(house) {
            Some(wanted) if left >= party.quantity as usize => {
                wanted.choose_seats(house, &states, rng)
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
                left -= 1;
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
