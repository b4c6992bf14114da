//! Chooses the seats of a request. A search in a large hall takes some milliseconds, and many
//! visitors may ask for one at once. Searches therefore run on a few threads of their own, and
//! never on those that answer calls. Calls wait for them in a queue, which has an end. Nobody needs
//! the suggestion of other seats, so a call does without one if many calls wait for one already.

use std::ops::Range;
use std::sync::Arc;

use fairgate_model::grid::CellState;
use fairgate_model::shows::Show;

use super::ask::{ResolvedSeatRequest, SeatSelection};
use super::chosen::{
    ChosenSeats, add_area_places, choose_best, leave_single_seats, refuse_avoidable_orphans,
};
use super::refusal::{HoldRefusal, SeatSuggestion};
use super::suggestion::suggestion;
use super::take::HoldDesk;
use crate::store::VersionedCells;

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

    /// Returns seats that may be held instead of those that were taken. Returns `None` if there are
    /// none, or if this process has no time to look for them.
    pub(super) async fn suggest(
        &self,
        show: &Arc<Show>,
        requested_seats: &[u32],
        legs: &Range<u16>,
    ) -> Option<Box<SeatSuggestion>> {
        if requested_seats.is_empty() {
            return None;
        }
        let turn = self.searches.suggestions.turn().await.ok()?;
        let view = self.seats.store.view(&show.id).await?;
        let (show, seats) = (Arc::clone(show), requested_seats.to_vec());
        let legs = legs.clone();
        turn.run(move || suggestion(&show, &view, (&seats, &legs), false))
            .await
    }
}
