//! Counts the seats of many shows for the line, at a bounded cost. A room may cover ten thousand
//! departures and asks about once a second. Shows in use are counted again each time. Of the shows
//! at rest (not in use), up to a hundred are counted each time. All other shows at rest keep their
//! last figures. Trains, and shows without sold seats, are not opened for this. Whether a show has
//! sold seats is asked of the ledger every few seconds, because a thousand rooms may wait at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fairgate_model::grid::picture::CellCounts;
use fairgate_model::shows::Show;
use futures_util::future::join_all;

use super::{SeatInventory, train, unavailable};
use crate::ledger::LedgerError;
use crate::store::{GlancedCells, InventoryRefusal, ShowHoldFigures};

/// The most shows at rest that one call counts. The shows that were counted longest ago come first.
const RESTING_COUNTED_MAX: usize = 100;

/// How often the ledger is asked whether a show that is not open has claimed cells. Cells are
/// claimed only for holds, and the first hold opens the show.
const CLAIMS_ASKED_EVERY: Duration = Duration::from_secs(5);

/// Held cells are reported to the line as lapsing if their holds run out within this many
/// milliseconds.
const LAPSING_MS: i64 = 5 * 60 * 1_000;
/// A hold that has no order after this many milliseconds is probably left behind.
const LEFT_BEHIND_AFTER_MS: i64 = 2 * 60 * 1_000;

/// The seat figures of one or more shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ShowSeatFigures {
    /// The cells by state.
    pub counts: CellCounts,
    /// How many holds there are, and how many of them run out within five minutes.
    pub baskets: ShowHoldFigures,
    /// Held cells whose holds run out so soon that they count as free for a visitor who is called
    /// now.
    pub lapsing_soon: u64,
    /// Holds without an order that are probably left behind, because they were begun long ago.
    pub left_behind: u64,
    /// Cells that can no longer be bought and do not count as sold: cells of shows that are
    /// cancelled, that have left, or whose sale has ended.
    pub gone: u64,
}

impl ShowSeatFigures {
    /// Adds the figures of other shows.
    #[must_use]
    pub fn combined_with(mut self, more: &Self) -> Self {
        self.counts.free += more.counts.free;
        self.counts.held += more.counts.held;
        self.counts.sold += more.counts.sold;
        self.baskets.all += more.baskets.all;
        self.baskets.lapsing += more.baskets.lapsing;
        self.baskets.lapsing_cells += more.baskets.lapsing_cells;
        self.lapsing_soon += more.lapsing_soon;
        self.left_behind += more.left_behind;
        self.gone += more.gone;
        self
    }

    /// Returns a show's figures as the line gets them at `now_ms`. The cells of a show that is over
    /// are neither free nor held.
    fn public_figures(self, show: &Show, now_ms: i64) -> Self {
        if !show.is_over(now_ms) {
            return self;
        }
        let CellCounts { free, held, sold } = self.counts;
        let sold_still = if show.is_cancelled() { 0 } else { sold };
        Self {
            counts: CellCounts {
                sold: sold_still,
                ..CellCounts::default()
            },
            gone: self.gone + free + held + sold - sold_still,
            ..Self::default()
        }
    }

    /// Returns the figures of a show without held or sold seats.
    fn unsold(show: &Show, now_ms: i64) -> Self {
        if show.run.is_some() {
            return train::count_train_seats(show, &show.unsold(), now_ms);
        }
        let blocked = show.blocked().len() as u64;
        let counts = CellCounts {
            free: u64::from(show.grid().cell_count()).saturating_sub(blocked),
            ..CellCounts::default()
        };
        Self {
            counts,
            ..Self::default()
        }
    }
}

/// A show's last figures, and when they were counted. `at` is `None` if the figures were computed
/// from the plan alone.
pub(super) struct CountedFigures {
    figures: ShowSeatFigures,
    at: Option<Instant>,
    /// When the ledger last said that the show, which is not open, has no claimed cells.
    unclaimed_at: Option<Instant>,
}

/// The time of a count, and how far it looks ahead, in milliseconds.
#[derive(Debug, Clone, Copy)]
struct CountingTime {
    now_ms: i64,
    soon_ms: i64,
}

impl SeatInventory {
    /// Counts some shows together. Trains are counted by seat. Other shows are counted by cell,
    /// because each of their seats has one cell. Seats whose holds run out within `soon_s` seconds
    /// count as lapsing soon.
    ///
    /// # Errors
    /// Returns an error if the store or the ledger is needed and does not answer.
    pub async fn show_figures(
        &self,
        shows: &[Arc<Show>],
        soon_s: u64,
        now_ms: i64,
    ) -> Result<ShowSeatFigures, LedgerError> {
        let counting = CountingTime {
            now_ms,
            soon_ms: i64::try_from(soon_s.saturating_mul(1_000)).unwrap_or(i64::MAX),
        };
        let to_count = self.choose_shows_to_count(shows, now_ms).await;
        // The shows are counted at the same time, so that a store that does not answer delays the
        // whole call no longer than one show would.
        let each = to_count
            .iter()
            .map(|show| self.count_without_opening(show, counting));
        let (mut figures, mut unopened) = (Vec::new(), Vec::new());
        for (show, counted) in to_count.iter().zip(join_all(each).await) {
            match counted? {
                Some(counted) => figures.push((show, (counted, None))),
                None => unopened.push(show),
            }
        }
        self.leave_out_unclaimed(&mut unopened);
        let counted = self.count_unopened(unopened, counting).await?;
        for (show, (figures, unclaimed_at)) in figures.into_iter().chain(counted) {
            let counted = CountedFigures {
                figures,
                at: Some(Instant::now()),
                unclaimed_at,
            };
            self.shared.counted.lock().insert(show.id.clone(), counted);
        }
        let counted = self.shared.counted.lock();
        let each = shows.iter().filter_map(|show| {
            let counted = counted.get(&show.id)?;
            Some(counted.figures.public_figures(show, now_ms))
        });
        Ok(each.fold(ShowSeatFigures::default(), |sum, one| {
            sum.combined_with(&one)
        }))
    }

    /// Chooses the shows that are counted now: the shows in use and a few shows at rest. Also
    /// stores the figures of an unsold show for each show that has none yet.
    async fn choose_shows_to_count(&self, shows: &[Arc<Show>], now_ms: i64) -> Vec<Arc<Show>> {
        let ids: Vec<_> = shows.iter().map(|show| &show.id).collect();
        let in_use = self.store.in_use_among(&ids).await;
        let (mut chosen, mut resting) = (Vec::new(), Vec::new());
        let mut counted = self.shared.counted.lock();
        for show in shows {
            if in_use.contains(&show.id) {
                chosen.push(Arc::clone(show));
                continue;
            }
            let unsold = || CountedFigures {
                figures: ShowSeatFigures::unsold(show, now_ms),
                at: None,
                unclaimed_at: None,
            };
            let at = counted.entry(show.id.clone()).or_insert_with(unsold).at;
            // All seats of a train that is over are gone, so the train need not be counted again.
            if show.run.is_none() || !show.is_over(now_ms) {
                resting.push((at, show));
            }
        }
        resting.sort_by_key(|(at, _)| *at);
        let oldest = resting.into_iter().take(RESTING_COUNTED_MAX);
        chosen.extend(oldest.map(|(_, show)| Arc::clone(show)));
        chosen
    }

    /// Counts a train, or a show that is open. Returns `None` for a show that is not open.
    async fn count_without_opening(
        &self,
        show: &Show,
        counting: CountingTime,
    ) -> Result<Option<ShowSeatFigures>, LedgerError> {
        if show.run.is_some() {
            return self.count_train(show, counting).await.map(Some);
        }
        if let Some(figures) = self.figures_in_store(show, counting).await {
            return Ok(Some(figures));
        }
        if self.store.cursor(&show.id).await == Err(InventoryRefusal::Unreachable) {
            return Err(unavailable("the store of the seats does not answer"));
        }
        Ok(None)
    }

    /// Leaves out the shows of which the ledger said just now that they have no claimed cells.
    /// Their last figures are still right.
    fn leave_out_unclaimed(&self, unopened: &mut Vec<&Arc<Show>>) {
        let counted = self.shared.counted.lock();
        unopened.retain(|show| {
            let unclaimed_at = counted
                .get(&show.id)
                .and_then(|figures| figures.unclaimed_at);
            unclaimed_at.is_none_or(|at| at.elapsed() >= CLAIMS_ASKED_EVERY)
        });
    }

    /// Counts shows that are not open and are no trains. Returns for each its figures, and when the
    /// ledger said that it has no claimed cells. Asks the ledger once which of them have
    /// claimed cells, and opens these.
    async fn count_unopened<'s>(
        &self,
        shows: Vec<&'s Arc<Show>>,
        counting: CountingTime,
    ) -> Result<Vec<(&'s Arc<Show>, (ShowSeatFigures, Option<Instant>))>, LedgerError> {
        if shows.is_empty() {
            return Ok(Vec::new());
        }
        let ids = shows.iter().map(|show| show.id.clone()).collect();
        let claimed = self.ledger.claimed_shows(ids).await?;
        let each = shows.into_iter().map(async |show| {
            if !claimed.contains(&show.id) {
                let unsold = ShowSeatFigures::unsold(show, counting.now_ms);
                return Ok((show, (unsold, Some(Instant::now()))));
            }
            self.ensure_open(show).await?;
            let figures = self.figures_in_store(show, counting).await;
            let figures = figures.ok_or_else(|| unavailable("the show is not open"))?;
            Ok((show, (figures, None)))
        });
        join_all(each).await.into_iter().collect()
    }

    /// Counts a train without opening it, because a room may cover all departures of a country.
    async fn count_train(
        &self,
        show: &Show,
        counting: CountingTime,
    ) -> Result<ShowSeatFigures, LedgerError> {
        let now_ms = counting.now_ms;
        let glanced = self.store.glance(&show.id).await;
        let Some(GlancedCells { cells: view, .. }) = glanced.filter(|glanced| glanced.are_of(show))
        else {
            if self.store.cursor(&show.id).await == Err(InventoryRefusal::Unreachable) {
                return Err(unavailable("the store of the seats does not answer"));
            }
            let states = show.claimed_only(&self.ledger.claimed(&show.id).await?);
            return Ok(train::count_train_seats(show, &states, now_ms));
        };
        let figures = train::count_train_seats(show, &view.states, now_ms);
        let Some(in_store) = self.figures_in_store(show, counting).await else {
            return Ok(figures);
        };
        // The store counts cells, and a seat of a train has many cells. The number of lapsing cells
        // is therefore limited to the number of held seats.
        let held = figures.counts.held;
        let baskets = ShowHoldFigures {
            lapsing_cells: in_store.baskets.lapsing_cells.min(held),
            ..in_store.baskets
        };
        Ok(ShowSeatFigures {
            baskets,
            lapsing_soon: in_store.lapsing_soon.min(held),
            left_behind: in_store.left_behind,
            ..figures
        })
    }

    async fn figures_in_store(
        &self,
        show: &Show,
        counting: CountingTime,
    ) -> Option<ShowSeatFigures> {
        let within = |ms| self.store.counts(&show.id, counting.now_ms, ms);
        let locked_s = show.document.hold_s + show.document.grace_s;
        let old_ms = i64::from(locked_s) * 1_000 - LEFT_BEHIND_AFTER_MS;
        let (_, soon) = within(counting.soon_ms).await?;
        let (_, old) = within(old_ms).await?;
        let (counts, baskets) = within(LAPSING_MS).await?;
        Some(ShowSeatFigures {
            counts,
            baskets,
            lapsing_soon: soon.lapsing_cells,
            left_behind: old.lapsing,
            gone: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use fairgate_databases::{Installation, SqliteDatabase};
    use fairgate_pass::Holder;
    use fairgate_redis::Redis;
    use fairgate_servers as servers;

    use super::*;
    use crate::ledger::Ledger;
    use crate::store::redis::{RedisStore, RedisStoreOptions};
    use fairgate_base::clock::Clock;
    use fairgate_model::holds::{HeldSeat, Hold, HoldStage};
    use fairgate_model::ids::HoldId;
    use fairgate_model::plans::parse_grid;
    use fairgate_model::plans::pinned::{EncodedGeometry, SeatingPlan};

    /// The number of departures in the test.
    const DEPARTURES: usize = 10_000;
    /// The seats of each train.
    const SEATS: u64 = 40;

    fn departures() -> Vec<Arc<Show>> {
        let map = parse_grid("4x10").expect("a grid");
        let plan = Arc::new(SeatingPlan {
            version: 1,
            geometry: EncodedGeometry {
                json: Default::default(),
                packed: Default::default(),
                digest: String::new(),
            },
            map,
        });
        let document = serde_json::json!({
            "venue": "train", "title": "A train", "starts_at": "2099-06-01T20:00:00Z", "currency": "EUR",
            "prices": {"cat1": 1_000, "cat2": 900},
        });
        let departure = |n: usize| {
            Arc::new(Show {
                fate: None,
                terms: 1,
                id: format!("train-{n}").parse().expect("a slug"),
                document: serde_json::from_value(document.clone()).expect("a document"),
                plan: Arc::clone(&plan),
                prices: vec![Some(1_000), Some(900)],
                run: None,
                untouched: false,
            })
        };
        (0..DEPARTURES).map(departure).collect()
    }

    /// Returns how many scripts Redis has run so far, and how many keys it has.
    async fn scripts_and_keys(redis: &servers::RedisServers) -> (u64, servers::RespReply) {
        let stats = redis.command(0, &["INFO", "commandstats"]).await;
        let stats = stats.expect("it answers");
        let calls = stats.text().lines().find_map(|line| {
            let rest = line.strip_prefix("cmdstat_evalsha:calls=")?;
            rest.split(',').next()?.parse().ok()
        });
        let keys = redis.command(0, &["DBSIZE"]).await;
        (calls.unwrap_or(0), keys.expect("it answers"))
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn departures_at_rest_need_few_scripts_and_one_in_use_is_counted_at_once() {
        if servers::must_skip("ten thousand departures") {
            return;
        }
        const ROUNDS: u64 = 5;
        let redis = servers::RedisServers::single().await.expect("it starts");
        let folder = tempfile::tempdir().expect("a folder");
        let writer = SqliteDatabase::open(&folder.path().join("ledger.db")).expect("a file");
        let ledger = Ledger::open(Installation::File(writer))
            .await
            .expect("a ledger");
        let clock = Clock::system();
        let connected = Redis::connect(&redis.url()).expect("a URL");
        let store = RedisStore::open(connected, "ledger", RedisStoreOptions::new(clock.clone()));
        let store = Arc::new(store.await.expect("it answers"));
        let seats = SeatInventory::new(store, ledger, clock.clone());
        let shows = departures();

        for _ in 0..ROUNDS {
            let figures = seats
                .show_figures(&shows, 60, clock.now_ms())
                .await
                .expect("counted");
            assert_eq!(figures.counts.free, SEATS * DEPARTURES as u64);
            assert_eq!(seats.sweep(clock.now_ms()).await, 0);
            seats.compare().await.expect("compared");
            assert_eq!(seats.carry_outbox().await.expect("carried"), 0);
        }
        let (calls, keys) = scripts_and_keys(&redis).await;
        let scripts_max = ROUNDS * RESTING_COUNTED_MAX as u64 * 4;
        assert!(calls <= scripts_max, "{calls} scripts in {ROUNDS} rounds");
        assert_eq!(
            keys,
            servers::RespReply::Int(1),
            "only the key that names the data's owner"
        );
        assert!(seats.store.in_use().await.is_empty());

        let show = &shows[DEPARTURES - 1];
        seats.ensure_open(show).await.expect("opened");
        let visitor = Holder([1; 32]);
        let hold = Hold {
            id: HoldId::of_key(&show.id, visitor, "k"),
            visitor,
            room: "everyday".to_owned(),
            purpose: fairgate_model::holds::HoldPurpose::Basket,
            terms: 1,
            items: vec![HeldSeat {
                seat: 0,
                legs: 0..1,
            }],
            plan_version: 1,
            next_to_each_other: true,
            expires_at_ms: clock.now_ms() + 60_000,
            lock_until_ms: clock.now_ms() + 65_000,
            extensions_left: 0,
            stage: HoldStage::Basket,
        };
        seats.store.take(hold, 4).await.expect("free");
        assert_eq!(seats.store.in_use().await, std::slice::from_ref(&show.id));
        let figures = seats
            .show_figures(&shows, 120, clock.now_ms())
            .await
            .expect("counted");
        assert_eq!(figures.lapsing_soon, 1);
        assert_eq!(figures.counts.held, 1, "a show in use is counted at once");
        assert_eq!(figures.baskets.all, 1);
    }
}
