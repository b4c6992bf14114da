//! Chooses the seats of a request. A search in a large hall takes some milliseconds, and many
//! visitors may ask for one at once. Searches therefore run on a few threads of their own, and
//! never on those that answer calls. Calls wait for them in a queue, which has an end.

use std::ops::Range;
use std::sync::Arc;

use fairgate_base::process::search_threads::{SearchQueue, SearchThreads, SearchTurn};
use fairgate_model::choosing;
use fairgate_model::choosing::rail::TrainSeatStates;
use fairgate_model::grid::CellState;
use fairgate_model::plans::seatmap::SeatMap;
use fairgate_model::shows::Show;
use fairgate_model::shows::document::OrphanSeatRule;

use super::ask::{ResolvedSeatRequest, SeatSelection};
use super::refusal::HoldRefusal;
use super::shortage;
use super::suggest::suggestion;
use super::take::HoldDesk;
use crate::store::VersionedCells;

/// For each try, how many of the best blocks it chooses from at random. The first try takes the
/// best block. Each later try chooses from more blocks, so that visitors do not collide again.
pub(super) const SPREADS: [usize; 6] = [0, 8, 32, 128, 512, 2_048];

/// How many calls wait until seats are chosen for them, at most.
const CHOICES_MAX: usize = 64;
/// How many refused calls wait until other seats are found for them, at most. Choices come first,
/// so these are fewer.
const SUGGESTIONS_MAX: usize = 8;

/// The threads that search for seats, and who waits for them. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SeatSearches {
    choices: SearchQueue,
    pub(super) suggestions: SearchQueue,
}

impl Default for SeatSearches {
    fn default() -> Self {
        let threads = SearchThreads::default();
        Self {
            choices: SearchQueue::new(threads.clone(), CHOICES_MAX),
            suggestions: SearchQueue::new(threads, SUGGESTIONS_MAX),
        }
    }
}

impl SeatSearches {
    /// Waits until seats may be chosen for one call.
    ///
    /// # Errors
    /// [`HoldRefusal::SearchesFull`] if too many calls wait.
    pub async fn turn(&self) -> Result<SearchTurn, HoldRefusal> {
        Ok(self.choices.turn().await?)
    }
}

/// The chosen seats by index, their legs, and whether they are side by side.
pub(super) struct ChosenSeats {
    pub(super) seats: Vec<u32>,
    pub(super) legs: Range<u16>,
    pub(super) side_by_side: bool,
}

impl HoldDesk {
    /// Chooses seats for a request in the show's present picture. `own_cells` count as free. With a
    /// larger `spread` chance decides between more choices.
    ///
    /// # Errors
    /// [`HoldRefusal`] if there are no such seats, or if too many calls wait for theirs.
    pub(super) async fn choose_seats(
        &self,
        show: &Arc<Show>,
        request: &ResolvedSeatRequest,
        own_cells: &[u32],
        spread: usize,
    ) -> Result<ChosenSeats, HoldRefusal> {
        if let SeatSelection::Named { seats, areas } = &request.wanted {
            let view = self.view_with_free(show, own_cells).await?;
            self.refuse_orphans(show, &view, seats).await?;
            return add_area_places(show, &view, request, (seats, areas));
        }
        let turn = self.searches.turn().await?;
        // The picture is read after the wait, so that few of its free seats are taken by now.
        let view = self.view_with_free(show, own_cells).await?;
        let (show, request) = (Arc::clone(show), request.clone());
        turn.run(move || choose_best(&show, &view, &request, spread))
            .await
    }

    /// Returns the show's picture, in which these cells are free.
    async fn view_with_free(
        &self,
        show: &Show,
        own_cells: &[u32],
    ) -> Result<VersionedCells, HoldRefusal> {
        let mut view = self.view(show).await?;
        for cell in own_cells {
            if let Some(state) = view.states.get_mut(*cell as usize) {
                *state = CellState::Free;
            }
        }
        Ok(view)
    }

    /// Returns the show's picture.
    pub(super) async fn view(&self, show: &Show) -> Result<VersionedCells, HoldRefusal> {
        self.seats
            .store
            .view(&show.id)
            .await
            .ok_or(HoldRefusal::NotReady)
    }

    /// Refuses named seats that would leave a single empty seat, unless the show allows that or
    /// there is no better choice.
    pub(super) async fn refuse_orphans(
        &self,
        show: &Arc<Show>,
        view: &VersionedCells,
        seats: &[u32],
    ) -> Result<(), HoldRefusal> {
        if !leave_single_seats(show, view, seats) {
            return Ok(());
        }
        // Whether there is a better choice takes a search in the whole hall.
        let turn = self.searches.turn().await?;
        let (show, view, seats) = (Arc::clone(show), view.clone(), seats.to_vec());
        turn.run(move || refuse_avoidable_orphans(&show, &view, &seats))
            .await
    }
}

/// Chooses the best of the free seats.
fn choose_best(
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
fn add_area_places(
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

pub(super) fn train<'a>(show: &'a Show, view: &'a VersionedCells) -> TrainSeatStates<'a> {
    TrainSeatStates {
        map: &show.plan.map,
        grid: show.grid(),
        states: &view.states,
    }
}

/// Returns whether these seats leave a single empty seat and the show has a rule against that.
/// Trains have no such rule, because a single seat may suit another stretch. If one of the seats is
/// already taken, the answer is no, because the store will refuse the seats anyway.
fn leave_single_seats(show: &Show, view: &VersionedCells, seats: &[u32]) -> bool {
    let (train, legs) = (train(show, view), show.legs());
    let is_free = |seat: u32| train.is_free(seat, &legs);
    show.document.orphans != OrphanSeatRule::Allow
        && show.run.is_none()
        && seats.iter().all(|seat| is_free(*seat))
        && !choosing::orphans_of(&show.plan.map, &is_free, seats).is_empty()
}

fn refuse_avoidable_orphans(
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
