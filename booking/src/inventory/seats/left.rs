//! Counts the seats that are left in each category, for lists of many shows. No show is opened for
//! this. A show's counts are cached for at least half a second, so a list that many people ask for
//! costs the store next to nothing.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fairgate_model::grid::CellState;
use fairgate_model::shows::Show;
use futures_util::future::join_all;

use super::SeatInventory;
use crate::ledger::LedgerError;
use crate::store::VersionedCells;

/// How long a show's counts are used before its seats are counted again. The lists and pages that
/// are made of the counts are shared for a quarter of a second each, so nobody sees counts that are
/// more than a second old.
const CACHED_FOR: Duration = Duration::from_millis(500);
/// The same for a show that is not in use. The line asks about many such shows each second.
const CACHED_AT_REST_FOR: Duration = Duration::from_secs(10);
/// When the cache has this many shows, counts that are too old are removed.
const CACHED_MAX: usize = 20_000;

/// How many seats of one category are left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SeatsLeft {
    /// Free seats.
    pub free: u32,
    /// Seats that are for sale at all, free or taken.
    pub of: u32,
    /// How many of the free seats are accessible.
    pub accessible: u32,
    /// Seats in baskets and unpaid orders.
    pub held: u32,
}

/// The last counts of a show.
pub(super) struct CachedSeatsLeft {
    counted_at: Instant,
    edition: u64,
    left: Arc<[SeatsLeft]>,
}

impl SeatInventory {
    /// Returns the seats left of each show, by category index.
    ///
    /// # Errors
    /// Returns an error if the ledger is needed for a show without earlier counts, and does not
    /// answer. The ledger is needed if the show is not open, or if the store does not answer.
    pub async fn seats_left(
        &self,
        shows: &[Arc<Show>],
    ) -> Result<Vec<Arc<[SeatsLeft]>>, LedgerError> {
        let counts = shows
            .iter()
            .map(|show| self.seats_left_of_show(show, CACHED_FOR));
        join_all(counts).await.into_iter().collect()
    }

    /// Does the same as [`Self::seats_left`], but the counts of shows that are not in use may be
    /// ten seconds old.
    ///
    /// # Errors
    /// Returns the errors of [`Self::seats_left`].
    pub async fn seats_left_for_line(
        &self,
        shows: &[Arc<Show>],
    ) -> Result<Vec<Arc<[SeatsLeft]>>, LedgerError> {
        let in_use: HashSet<_> = self.store.in_use().await.into_iter().collect();
        let counts = shows.iter().map(|show| {
            let is_used = in_use.contains(&show.id);
            self.seats_left_of_show(
                show,
                if is_used {
                    CACHED_FOR
                } else {
                    CACHED_AT_REST_FOR
                },
            )
        });
        join_all(counts).await.into_iter().collect()
    }

    async fn seats_left_of_show(
        &self,
        show: &Show,
        cached_for: Duration,
    ) -> Result<Arc<[SeatsLeft]>, LedgerError> {
        // A show that is over has no seats left, so neither the store nor the ledger is asked.
        if show.is_over(self.clock.now_ms()) {
            return Ok(count_seats_left(show, |_| CellState::Sold).into());
        }
        let edition = show.edition();
        let cached = {
            let cache = self.shared.seats_left.lock();
            let of_show = cache
                .get(&show.id)
                .filter(|cached| cached.edition == edition);
            of_show.map(|cached| (cached.counted_at, Arc::clone(&cached.left)))
        };
        if let Some((counted_at, left)) = &cached
            && counted_at.elapsed() < cached_for
        {
            return Ok(Arc::clone(left));
        }
        let left: Arc<[SeatsLeft]> = match self.store.glance(&show.id).await {
            Some(view) => count_left_in_view(show, &view).into(),
            // A show that is not open has no held seats. The ledger knows its sold seats.
            None => match self.ledger.claimed(&show.id).await {
                Ok(claimed) => {
                    let taken: HashSet<_> = claimed.into_iter().map(|(seat, _, _)| seat).collect();
                    let state = |seat| match taken.contains(&seat) {
                        true => CellState::Sold,
                        false => CellState::Free,
                    };
                    count_seats_left(show, state).into()
                }
                Err(error) => {
                    // Old counts are better than none.
                    return cached.map(|(_, left)| left).ok_or(error);
                }
            },
        };
        let mut cache = self.shared.seats_left.lock();
        if cache.len() >= CACHED_MAX {
            cache.retain(|_, cached| cached.counted_at.elapsed() < CACHED_AT_REST_FOR);
        }
        let counted_at = Instant::now();
        let cached_left = Arc::clone(&left);
        cache.insert(
            show.id.clone(),
            CachedSeatsLeft {
                counted_at,
                edition,
                left: cached_left,
            },
        );
        Ok(left)
    }
}

fn count_left_in_view(show: &Show, view: &VersionedCells) -> Vec<SeatsLeft> {
    let grid = show.grid();
    let mut seats = vec![CellState::Free; grid.seats as usize];
    for (cell, state) in (0..grid.cell_count()).zip(&view.states) {
        let seat = &mut seats[grid.seat_of(cell) as usize];
        // A seat with a sold leg counts as sold, even if another of its legs is only held.
        if *state != CellState::Free && *seat != CellState::Sold {
            *seat = *state;
        }
    }
    let state = |seat: u32| seats.get(seat as usize).copied();
    count_seats_left(show, |seat| state(seat).unwrap_or(CellState::Blocked))
}

/// Counts seats by category. A seat is free if all of its cells are free. A seat that is not for
/// sale is not counted.
fn count_seats_left(show: &Show, state: impl Fn(u32) -> CellState) -> Vec<SeatsLeft> {
    let map = &show.plan.map;
    let mut left = vec![SeatsLeft::default(); map.categories.len()];
    for cell in (0..map.cell_count()).filter(|cell| show.price(*cell).is_some()) {
        let Some(seat) = map.seats.get(cell as usize) else {
            continue;
        };
        let Some(counts) = left.get_mut(usize::from(seat.category)) else {
            continue;
        };
        let state = state(cell);
        let is_free = state == CellState::Free;
        counts.of += 1;
        counts.free += u32::from(is_free);
        counts.accessible += u32::from(is_free && seat.accessible);
        counts.held += u32::from(state == CellState::Held);
    }
    left
}

#[cfg(test)]
mod tests {
    use fairgate_databases::{Installation, SqliteDatabase};

    use super::*;
    use crate::catalogue::Catalogue;
    use crate::ledger::Ledger;
    use crate::store::InventoryStore;
    use crate::store::memory::MemoryStore;
    use fairgate_base::clock::Clock;
    use fairgate_model::payments::kind::ProviderKind;
    use fairgate_model::plans::parse_grid;

    #[tokio::test]
    async fn seats_left_are_counted_without_opening_the_show() {
        let folder = tempfile::tempdir().expect("a folder");
        let writer = SqliteDatabase::open(&folder.path().join("ledger.db")).expect("a file");
        let ledger = Ledger::open(Installation::File(writer))
            .await
            .expect("a ledger");
        let catalogue = Catalogue::open(ledger.clone(), ProviderKind::None).await;
        let catalogue = catalogue.expect("readable");
        let hall = "hall".parse().expect("a slug");
        let map = parse_grid("4x10").expect("a grid");
        let nowhere = fairgate_model::venues::VenueLocation::default();
        let put = catalogue.put_venue(&hall, &map, &nowhere, 0).await;
        put.expect("stored");
        let document = serde_json::json!({
            "venue": "hall", "title": "A film", "starts_at": "2099-06-01T20:00:00Z", "prices": {"cat1": 1_000},
        });
        let document = serde_json::from_value(document).expect("a document");
        let id = "film-1".parse().expect("a slug");
        let show = catalogue.put_show(&id, document, &[], 0).await;
        let show = show.expect("stored").show;
        let store = Arc::new(MemoryStore::default());
        let seats = SeatInventory::new(store.clone(), ledger, Clock::system());
        let left = seats.seats_left(std::slice::from_ref(&show)).await;
        let all = SeatsLeft {
            free: 20,
            of: 20,
            ..SeatsLeft::default()
        };
        let expected = [all, SeatsLeft::default()];
        assert_eq!(left.expect("counted")[0][..], expected);
        assert_eq!(
            store.edition(&id).await,
            Ok(None),
            "the show was not opened"
        );
    }
}
