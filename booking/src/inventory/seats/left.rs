//! Counts the seats that are left in each category, for lists of many shows. No show is opened for
//! this. A show's counts are cached for at least half a second, so a list that many people ask for
//! costs the store next to nothing.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fairgate_model::grid::CellState;
use fairgate_model::ids::ShowId;
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
        self.seats_left_cached(shows, |_| CACHED_FOR).await
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
        let ids: Vec<_> = shows.iter().map(|show| &show.id).collect();
        let in_use = self.store.in_use_among(&ids).await;
        let cached_for = |show: &Show| match in_use.contains(&show.id) {
            true => CACHED_FOR,
            false => CACHED_AT_REST_FOR,
        };
        self.seats_left_cached(shows, cached_for).await
    }

    async fn seats_left_cached(
        &self,
        shows: &[Arc<Show>],
        cached_for: impl Fn(&Show) -> Duration,
    ) -> Result<Vec<Arc<[SeatsLeft]>>, LedgerError> {
        let counting = shows.iter().map(|show| {
            let cached_for = cached_for(show);
            self.seats_left_without_ledger(show, cached_for)
        });
        let counts = join_all(counting).await;
        // A show that is not open has no held seats, and the ledger knows its sold seats. It is
        // asked once for all such shows.
        let unopened: Vec<ShowId> = shows
            .iter()
            .zip(&counts)
            .filter(|(_, left)| left.is_none())
            .map(|(show, _)| show.id.clone())
            .collect();
        if unopened.is_empty() {
            return Ok(counts.into_iter().flatten().collect());
        }
        let counts = shows.iter().zip(counts);
        let claimed = match self.ledger.claimed_shows(unopened).await {
            Ok(claimed) => claimed,
            Err(error) => {
                // Old counts are better than none.
                let or_old = |(show, left): (&Arc<Show>, Option<_>)| {
                    left.or_else(|| self.cached_seats_left(show).map(|(_, old)| old))
                };
                let all: Option<Vec<_>> = counts.map(or_old).collect();
                return all.ok_or(error);
            }
        };
        let counting = counts.map(async |(show, left)| match left {
            Some(left) => Ok(left),
            None => {
                let is_claimed = claimed.contains(&show.id);
                self.seats_left_in_ledger(show, is_claimed).await
            }
        });
        join_all(counting).await.into_iter().collect()
    }

    /// Counts a show's seats left without the ledger. Returns `None` if only the ledger knows them.
    async fn seats_left_without_ledger(
        &self,
        show: &Show,
        cached_for: Duration,
    ) -> Option<Arc<[SeatsLeft]>> {
        // A show that is over has no seats left, so neither the store nor the ledger is asked.
        if show.is_over(self.clock.now_ms()) {
            return Some(count_seats_left(show, |_| CellState::Sold).into());
        }
        if let Some((counted_at, left)) = self.cached_seats_left(show)
            && counted_at.elapsed() < cached_for
        {
            return Some(left);
        }
        let glanced = self.store.glance(&show.id).await?;
        let left = count_left_in_view(show, &glanced.cells).into();
        Some(self.cache_seats_left(show, left))
    }

    /// Counts the seats left of a show that is not open.
    async fn seats_left_in_ledger(
        &self,
        show: &Show,
        is_claimed: bool,
    ) -> Result<Arc<[SeatsLeft]>, LedgerError> {
        let mut taken = HashSet::new();
        if is_claimed {
            match self.ledger.claimed(&show.id).await {
                Ok(claimed) => taken.extend(claimed.into_iter().map(|(seat, _, _)| seat)),
                Err(error) => {
                    let old = self.cached_seats_left(show);
                    return old.map(|(_, old)| old).ok_or(error);
                }
            }
        }
        let state = |seat| match taken.contains(&seat) {
            true => CellState::Sold,
            false => CellState::Free,
        };
        let left = count_seats_left(show, state).into();
        Ok(self.cache_seats_left(show, left))
    }

    /// Returns the last counts of a show with this plan and these prices, however old they are.
    fn cached_seats_left(&self, show: &Show) -> Option<(Instant, Arc<[SeatsLeft]>)> {
        let cache = self.shared.seats_left.lock();
        let cached = cache.get(&show.id)?;
        let is_same = cached.edition == show.edition();
        is_same.then(|| (cached.counted_at, Arc::clone(&cached.left)))
    }

    fn cache_seats_left(&self, show: &Show, left: Arc<[SeatsLeft]>) -> Arc<[SeatsLeft]> {
        let mut cache = self.shared.seats_left.lock();
        if cache.len() >= CACHED_MAX {
            cache.retain(|_, cached| cached.counted_at.elapsed() < CACHED_AT_REST_FOR);
        }
        let cached = CachedSeatsLeft {
            counted_at: Instant::now(),
            edition: show.edition(),
            left: Arc::clone(&left),
        };
        cache.insert(show.id.clone(), cached);
        left
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
