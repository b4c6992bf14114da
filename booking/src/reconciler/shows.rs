//! Compares shows in the ledger with their pictures (the states of all cells) in the store. There
//! may be thousands of shows, so a pass cannot compare all of them. Each pass compares up to 200
//! shows with traffic. The promoters' shows without traffic take turns, and each is compared once
//! an hour. Departures without traffic are not compared.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use fairgate_model::findings::{ReconcilerSnapshot, ShowFacts, findings};
use fairgate_model::grid::CellState;
use fairgate_model::holds::cells_of;
use fairgate_model::ids::ShowId;
use fairgate_model::shows::Show;

use super::Reconciler;
use crate::inventory::seats::SeatInventory;
use crate::ledger::{ClaimedCell, LedgerError};
use crate::store::SeatOutboxRow;

/// The maximum number of undelivered seat rows of one show that are read.
const ROWS_MAX: u32 = 10_000;

/// A show that differs is read again after this time, because a picture that is only late does not
/// count as different.
const PICTURE_LAG: Duration = Duration::from_millis(500);

/// The maximum number of shows with traffic that one pass compares. The following passes compare
/// the others.
const BUSY_MAX: usize = 200;

/// How many passes it takes to compare every promoter's show without traffic. With a pass every ten
/// seconds, this is one hour.
const IDLE_PASSES: usize = 360;

/// The last show with traffic and the last show without traffic that were compared.
#[derive(Debug, Default)]
pub(super) struct ReconcilerProgress {
    busy: Option<ShowId>,
    idle: Option<ShowId>,
}

impl ReconcilerProgress {
    /// Returns the shows of the next pass.
    fn next(&mut self, busy: &BTreeSet<ShowId>, all_shows: &BTreeSet<ShowId>) -> Vec<ShowId> {
        let idle: BTreeSet<ShowId> = all_shows.difference(busy).cloned().collect();
        let idle_max = idle.len().div_ceil(IDLE_PASSES);
        let mut shows = next_in_turn(busy, &mut self.busy, BUSY_MAX);
        shows.extend(next_in_turn(&idle, &mut self.idle, idle_max));
        shows
    }
}

/// Returns up to `most` members of a set. Begins after the last member of the previous call. After
/// the set's end, continues at its start.
fn next_in_turn(shows: &BTreeSet<ShowId>, last: &mut Option<ShowId>, most: usize) -> Vec<ShowId> {
    let is_later = |show: &&ShowId| last.as_ref().is_none_or(|last| *show > last);
    let (later, earlier): (Vec<_>, Vec<_>) = shows.iter().partition(is_later);
    let next: Vec<ShowId> = later
        .into_iter()
        .chain(earlier)
        .take(most)
        .cloned()
        .collect();
    *last = next.last().cloned().or(last.take());
    next
}

impl Reconciler {
    /// Reads which shows have traffic, and returns the shows of the next pass: shows with traffic,
    /// and a few of the promoters' other shows.
    pub(super) async fn shows_due(
        &self,
        progress: &mut ReconcilerProgress,
    ) -> Result<Vec<ShowId>, LedgerError> {
        let Some(seats) = &self.seats else {
            return Ok(Vec::new());
        };
        let mut busy: BTreeSet<ShowId> = self.ledger.busy_shows().await?.into_iter().collect();
        busy.extend(seats.store.in_use().await);
        let all_shows = self
            .catalogue
            .shows()
            .iter()
            .map(|show| show.id.clone())
            .collect();
        Ok(progress.next(&busy, &all_shows))
    }

    /// Returns the shows whose pictures differ from the ledger in two readings in a row.
    pub(super) async fn differing_shows(
        &self,
        shows: Vec<ShowId>,
    ) -> Result<Vec<ShowFacts>, LedgerError> {
        let Some(seats) = &self.seats else {
            return Ok(Vec::new());
        };
        let mut differing = Vec::new();
        for show in shows {
            let first = self.show_facts(seats, &show).await?;
            if first.as_ref().is_some_and(differs) {
                differing.push(show);
            }
        }
        if differing.is_empty() {
            return Ok(Vec::new());
        }
        tokio::time::sleep(PICTURE_LAG).await;
        let mut facts = Vec::new();
        for show in differing {
            facts.extend(self.show_facts(seats, &show).await?.filter(differs));
        }
        Ok(facts)
    }

    /// Reads a show from the ledger and the store. Returns `None` if the show is unknown or not
    /// open.
    async fn show_facts(
        &self,
        seats: &SeatInventory,
        id: &ShowId,
    ) -> Result<Option<ShowFacts>, LedgerError> {
        let Some(show) = self.catalogue.show(id) else {
            return Ok(None);
        };
        if seats.store.glance(id).await.is_none() {
            return Ok(None);
        }
        // The order of these readings matters. The picture is read between two readings of the
        // claims. If a cell has the same claim in both, and no undelivered row, the picture must
        // show that claim. Any other claimed cell is being changed at this moment, and is not
        // compared.
        let before = self.ledger.claimed(id).await?;
        let undelivered = self.undelivered_rows(id).await?;
        let read_ms = self.clock.now_ms();
        let glanced = seats.store.glance(id).await;
        let after = self.ledger.claimed(id).await?;
        let grid = show.grid();
        let Some(glanced) = glanced.filter(|glanced| glanced.are_of(&show)) else {
            return Ok(None);
        };
        if !self.has_present_legs(&show).await? {
            return Ok(None);
        }
        let mut view = glanced.cells;
        let before: HashSet<_> = before.into_iter().collect();
        let (unchanged, changed): (Vec<_>, Vec<_>) =
            after.into_iter().partition(|claim| before.contains(claim));
        let known: HashSet<_> = unchanged.iter().copied().collect();
        let ended_claims = before.iter().filter(|claim| !known.contains(claim));
        let cell = |(seat, leg, _): &ClaimedCell| u32::from(*leg) * grid.seats + seat;
        let mut busy: HashSet<u32> = changed.iter().chain(ended_claims).map(cell).collect();
        for mut row in undelivered {
            row.items.retain(|item| item.legs.end <= grid.legs);
            busy.extend(cells_of(&row.items, grid));
        }
        for cell in &busy {
            if let Some(state) = view.states.get_mut(*cell as usize) {
                *state = CellState::Held;
            }
        }
        let claims = unchanged.iter().map(|claim| (cell(claim), claim.2));
        Ok(Some(ShowFacts {
            show: id.clone(),
            claims: claims.filter(|(cell, _)| !busy.contains(cell)).collect(),
            states: view.states,
            read_ms,
        }))
    }

    /// Returns whether this node and the ledger know the same stops of a train. They do not for a
    /// moment after its stops have changed, and then legs cannot be compared.
    async fn has_present_legs(&self, show: &Show) -> Result<bool, LedgerError> {
        if show.run.is_none() {
            return Ok(true);
        }
        Ok(self.ledger.pinned_plan(&show.id).await? == Some(show.plan.version))
    }

    async fn undelivered_rows(&self, id: &ShowId) -> Result<Vec<SeatOutboxRow>, LedgerError> {
        let shows = self.ledger.number_seat_rows().await?;
        match shows.iter().find(|(show, _)| show == id) {
            Some((_, delivered)) => self.ledger.seat_rows(id, *delivered, ROWS_MAX).await,
            None => Ok(Vec::new()),
        }
    }
}

fn differs(facts: &ShowFacts) -> bool {
    let snapshot = ReconcilerSnapshot {
        shows: vec![facts.clone()],
        ..ReconcilerSnapshot::default()
    };
    !findings(&snapshot, facts.read_ms).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(numbers: std::ops::Range<usize>) -> BTreeSet<ShowId> {
        let show = |n| format!("show-{n:05}").parse().expect("a slug");
        numbers.map(show).collect()
    }

    #[test]
    fn a_pass_compares_few_of_ten_thousand_shows_and_an_hour_compares_all() {
        let (all, busy) = (set(0..10_000), set(40..50));
        let mut progress = ReconcilerProgress::default();
        let mut seen = BTreeSet::new();
        for _ in 0..IDLE_PASSES {
            let shows = progress.next(&busy, &all);
            assert!(shows.len() <= 10 + 28, "{}", shows.len());
            assert!(busy.iter().all(|show| shows.contains(show)), "each time");
            seen.extend(shows);
        }
        assert_eq!(seen, all);
    }

    #[test]
    fn shows_with_traffic_take_turns_if_they_are_too_many_for_a_pass() {
        let busy = set(0..450);
        let mut progress = ReconcilerProgress::default();
        let mut seen = BTreeSet::new();
        for _ in 0..3 {
            let shows = progress.next(&busy, &busy);
            assert_eq!(shows.len(), BUSY_MAX);
            seen.extend(shows);
        }
        assert_eq!(seen, busy);
        assert!(progress.next(&set(0..0), &set(0..0)).is_empty());
    }
}
