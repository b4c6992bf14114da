//! Chooses seats in a picture of a show.

use std::ops::Range;

use fairgate_model::choosing;
use fairgate_model::plans::seatmap::SeatMap;
use fairgate_model::shows::Show;
use fairgate_model::shows::document::OrphanSeatRule;

use super::ask::{ResolvedSeatRequest, SeatSelection};
use super::refusal::HoldRefusal;
use super::shortage;
use super::suggestion::{suggestion, train};
use crate::store::VersionedCells;

/// For each try, how many of the best blocks it chooses from at random. The first try takes the
/// best block. Each later try chooses from more blocks, so that visitors do not collide again.
pub(super) const SPREADS: [usize; 6] = [0, 8, 32, 128, 512, 2_048];

/// The chosen seats by index, their legs, and whether they are side by side.
pub(super) struct ChosenSeats {
    pub(super) seats: Vec<u32>,
    pub(super) legs: Range<u16>,
    pub(super) side_by_side: bool,
}

/// Chooses the best of the free seats.
pub(super) fn choose_best(
    show: &Show,
    view: &VersionedCells,
    request: &ResolvedSeatRequest,
    spread: usize,
) -> Result<ChosenSeats, HoldRefusal> {
    let train = train(show, view);
    let is_free = |seat: u32| train.is_free(seat, &request.legs);
    let mut rng = rand::rng();
    let choice = match &request.wanted {
        SeatSelection::Best(wish) => {
            choosing::choose(&show.plan.map, &is_free, wish, spread, &mut rng)
        }
        SeatSelection::Class(party) => {
            choosing::rail::choose(&train, &request.legs, *party, spread, &mut rng)
        }
        SeatSelection::Named { seats, areas } => {
            return add_area_places(show, view, request, (seats, areas));
        }
    };
    let choice = choice.map_err(|why| shortage::refusal_without_seats(why, &train, request))?;
    Ok(ChosenSeats {
        seats: choice.cells,
        legs: request.legs.clone(),
        side_by_side: choice.next_to_each_other,
    })
}

/// Adds places of the areas to the named seats.
pub(super) fn add_area_places(
    show: &Show,
    view: &VersionedCells,
    request: &ResolvedSeatRequest,
    (seats, areas): (&[u32], &[(usize, u32)]),
) -> Result<ChosenSeats, HoldRefusal> {
    let (map, train) = (&show.plan.map, train(show, view));
    let is_free = |seat: u32| train.is_free(seat, &request.legs);
    let mut named = seats.to_vec();
    for (index, quantity) in areas {
        let Some(area) = map.areas.get(*index) else {
            continue;
        };
        let places = choosing::pick_area(map, &is_free, area, *quantity, &mut rand::rng());
        named.extend(places.map_err(|why| shortage::refusal_without_seats(why, &train, request))?);
    }
    Ok(ChosenSeats {
        side_by_side: side_by_side(map, &named),
        seats: named,
        legs: request.legs.clone(),
    })
}

pub(super) fn may_choose_again(wanted: &SeatSelection, show: &Show, refused: &[u32]) -> bool {
    match wanted {
        SeatSelection::Best(_) | SeatSelection::Class(_) => true,
        SeatSelection::Named { .. } => {
            let grid = show.grid();
            refused
                .iter()
                .all(|cell| show.plan.map.area_of(grid.seat_of(*cell)).is_some())
        }
    }
}

/// Returns whether these seats leave a single empty seat and the show has a rule against that.
/// Trains have no such rule, because a single seat may suit another stretch. If one of the seats is
/// already taken, the answer is no, because the store will refuse the seats anyway.
pub(super) fn leave_single_seats(show: &Show, view: &VersionedCells, seats: &[u32]) -> bool {
    let (train, legs) = (train(show, view), show.legs());
    let is_free = |seat: u32| train.is_free(seat, &legs);
    show.document.orphans != OrphanSeatRule::Allow
        && show.run.is_none()
        && seats.iter().all(|seat| is_free(*seat))
        && !choosing::orphans_of(&show.plan.map, &is_free, seats).is_empty()
}

pub(super) fn refuse_avoidable_orphans(
    show: &Show,
    view: &VersionedCells,
    seats: &[u32],
) -> Result<(), HoldRefusal> {
    let (train, legs) = (train(show, view), show.legs());
    let is_free = |seat: u32| train.is_free(seat, &legs);
    let Some(orphans) = choosing::would_orphan(&show.plan.map, &is_free, seats) else {
        return Ok(());
    };
    let labels = orphans.iter().map(|seat| show.seat_label(*seat).to_owned());
    Err(HoldRefusal::WouldOrphan {
        labels: labels.collect(),
        suggestion: suggestion(show, view, (seats, &legs), true),
    })
}

/// Returns whether seats form one block, or are standing places of one area.
pub(super) fn side_by_side(map: &SeatMap, seats: &[u32]) -> bool {
    let mut positions = Vec::with_capacity(seats.len());
    for seat in seats {
        let Some((bench, at)) = map.bench_of(*seat) else {
            // Standing places of one area always count as side by side.
            let area = map.area_of(*seat).map(|area| area.first);
            return area.is_some()
                && seats
                    .iter()
                    .all(|other| map.area_of(*other).map(|area| area.first) == area);
        };
        positions.push((bench.row, bench.cells.start, at));
    }
    positions.sort_unstable();
    positions
        .windows(2)
        .all(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1) && pair[0].2 + 1 == pair[1].2)
}
