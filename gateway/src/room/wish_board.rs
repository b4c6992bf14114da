//! What the places of a room wish for, as this node knows it, and the odds of these wishes. The
//! odds are worked out when somebody asks for them, at most once every [`FRESH_FOR`]. A separate
//! task does this, and goes on if the caller goes away.

use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fairgate_rules::presence_bitmap::PresenceBitmap;
use fairgate_rules::wishes::{CategorySupply, SeatWish, WishForecast, WishingLine};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use tokio::sync::{OwnedMutexGuard, watch};

use super::draw_state::RankedLine;
use super::tick::RoomTick;
use crate::store::{CHANGES_MAX, RoomStore, StoreFailure, WishCursor, WishList};
use crate::upstream::ShowSeatsLeft;

/// How long odds are used before new ones are worked out.
const FRESH_FOR: Duration = Duration::from_secs(5);
/// The age up to which a caller gets old odds at once, while new ones are being worked out.
const USABLE_MEANWHILE: Duration = Duration::from_secs(15);
/// The age from which odds are not used at all.
const ODDS_AGE_MAX: Duration = Duration::from_secs(60);
/// The longest time that a caller waits for odds. The visitor's place matters more than the odds.
/// The visitor sees the odds at the next call.
const WAIT_FOR_ODDS_MAX: Duration = Duration::from_millis(300);
/// The most odds before the draw that are kept. Each different wish has one entry.
const ODDS_KEPT_MAX: usize = 10_000;
/// How many lists may be kept in addition to two for each place with wishes. Unused lists are
/// forgotten only when there are more lists.
const LISTS_SPARE: usize = 1_000;

/// A line whose visitors wish for seats.
pub struct LineAtTick {
    /// The room's slug.
    pub room: String,
    /// The figures of the last tick.
    pub tick: Arc<RoomTick>,
    /// The order of the drawn numbers, after the draw.
    pub ranked: Option<Arc<RankedLine>>,
    /// Whether everybody has a rank. Before the draw nobody has one.
    pub is_ordered: bool,
}

/// The wishes of a room and their odds.
pub struct WishBoard {
    /// The wishes that were read. The task that works out the next odds holds the lock.
    known: Arc<tokio::sync::Mutex<KnownWishes>>,
    made: watch::Sender<Option<MadeOdds>>,
}

impl Default for WishBoard {
    fn default() -> Self {
        Self {
            known: Arc::default(),
            made: watch::Sender::new(None),
        }
    }
}

/// The wishes that this node has read.
#[derive(Default)]
struct KnownWishes {
    cursor: WishCursor,
    by_number: HashMap<u64, WishList>,
    /// All different lists. Places with equal lists share one.
    lists: HashSet<WishList>,
}

#[derive(Clone)]
struct MadeOdds {
    odds: Arc<WishOdds>,
    at: Instant,
}

/// The odds of wishes, as they were worked out at one time.
pub struct WishOdds {
    forecast: WishForecast,
    /// The odds of each wish before the draw, when they are the same for everybody. The odds of one
    /// wish take half a millisecond to work out.
    before_draw: Mutex<HashMap<SeatWish, f64>>,
    /// Who was present at that time. With `released`, this says how many people were ahead of a
    /// rank.
    crowd: Arc<PresenceBitmap>,
    released: u64,
    is_ordered: bool,
}

impl WishOdds {
    /// Returns the odds of a wish as the visitor at `rank` sees them. Before the draw nobody has a
    /// rank.
    #[must_use]
    pub fn told_odds(&self, wish: &SeatWish, rank: Option<u64>) -> f64 {
        if self.is_ordered {
            let ahead = rank.map_or(0, |rank| self.crowd.between(self.released, rank));
            return self.forecast.told_odds(wish, ahead);
        }
        if let Some(odds) = self.before_draw.lock().get(wish) {
            return *odds;
        }
        let odds = self.forecast.told_odds(wish, 0);
        let mut odds_by_wish = self.before_draw.lock();
        if odds_by_wish.len() < ODDS_KEPT_MAX {
            odds_by_wish.insert(wish.clone(), odds);
        }
        odds
    }
}

impl WishBoard {
    /// Returns the odds of wishes. If the known odds are older than [`FRESH_FOR`], starts a task
    /// that works out new ones. If there are none, or they are older than [`USABLE_MEANWHILE`],
    /// waits for the new ones, but at most [`WAIT_FOR_ODDS_MAX`]. If no new ones are ready, returns
    /// odds that are up to [`ODDS_AGE_MAX`] old. Returns `None` if nothing is on sale, if booking
    /// has not said what is on sale, or if there are no odds that are new enough.
    pub async fn odds(
        &self,
        line: LineAtTick,
        store: &Arc<dyn RoomStore>,
    ) -> Option<Arc<WishOdds>> {
        let supply = supply_of(&line.tick.pulse.shows);
        if line.tick.demand.is_none() || supply.is_empty() {
            return None;
        }
        let is_ordered = line.is_ordered;
        let mut made = self.made.subscribe();
        let earlier = odds_of(&made.borrow_and_update(), is_ordered);
        if let Some(earlier) = &earlier
            && earlier.at.elapsed() < FRESH_FOR
        {
            return Some(Arc::clone(&earlier.odds));
        }
        if let Ok(known) = Arc::clone(&self.known).try_lock_owned() {
            self.renew(known, line, supply, Arc::clone(store));
        }
        let age = earlier.as_ref().map(|earlier| earlier.at.elapsed());
        if age.is_none_or(|age| age > USABLE_MEANWHILE) {
            let is_newer = |made: &Option<MadeOdds>| {
                odds_of(made, is_ordered).is_some_and(|made| made.at.elapsed() < FRESH_FOR)
            };
            let ready = tokio::time::timeout(WAIT_FOR_ODDS_MAX, made.wait_for(is_newer)).await;
            if let Ok(Ok(made)) = ready {
                return odds_of(&made, is_ordered).map(|made| made.odds);
            }
        }
        let still_used = |earlier: &MadeOdds| earlier.at.elapsed() < ODDS_AGE_MAX;
        earlier.filter(still_used).map(|earlier| earlier.odds)
    }

    /// Forgets all wishes and odds of a room that has closed. Does nothing while odds are being
    /// worked out.
    pub fn clear(&self) {
        if let Ok(mut known) = self.known.try_lock() {
            *known = KnownWishes::default();
            self.made.send_replace(None);
        }
    }

    /// Works out the next odds in a separate task, because the caller may go away.
    fn renew(
        &self,
        mut known: OwnedMutexGuard<KnownWishes>,
        line: LineAtTick,
        supply: Vec<CategorySupply>,
        store: Arc<dyn RoomStore>,
    ) {
        let made = self.made.clone();
        tokio::spawn(async move {
            if let Err(error) = known.read_changes(&line.room, &*store).await {
                tracing::debug!(room = line.room, %error, "the wishes could not be read");
                return;
            }
            // In a long line this takes a while. No other call should wait for it.
            let computation = tokio::task::spawn_blocking(move || {
                if let Some(odds) = known.work_out(&line, &supply) {
                    made.send_replace(Some(odds));
                }
            });
            if let Err(error) = computation.await {
                tracing::error!(%error, "the odds of wishes could not be worked out");
            }
        });
    }
}

/// Returns the odds that were made, unless the draw has changed the line since.
fn odds_of(made: &Option<MadeOdds>, is_ordered: bool) -> Option<MadeOdds> {
    made.clone()
        .filter(|made| made.odds.is_ordered == is_ordered)
}

impl KnownWishes {
    async fn read_changes(
        &mut self,
        room: &str,
        store: &dyn RoomStore,
    ) -> Result<(), StoreFailure> {
        loop {
            let changes = store.wishes_changed(room, self.cursor).await?;
            if changes.is_new_life {
                self.by_number.clear();
            }
            self.cursor = changes.cursor;
            let count = changes.changed.len();
            for (number, wishes) in changes.changed {
                self.set(number, wishes);
            }
            if count < CHANGES_MAX {
                self.forget_unused_lists();
                return Ok(());
            }
        }
    }

    /// Forgets lists that no place has any more, once there are too many lists.
    fn forget_unused_lists(&mut self) {
        if self.lists.len() > 2 * self.by_number.len() + LISTS_SPARE {
            self.lists.retain(|list| Arc::strong_count(list) > 1);
        }
    }

    fn set(&mut self, number: u64, wishes: WishList) {
        if wishes.is_empty() {
            self.by_number.remove(&number);
            return;
        }
        let shared_list = self.lists.get(&wishes).cloned().unwrap_or_else(|| {
            self.lists.insert(Arc::clone(&wishes));
            wishes
        });
        self.by_number.insert(number, shared_list);
    }

    fn work_out(&self, line: &LineAtTick, supply: &[CategorySupply]) -> Option<MadeOdds> {
        let (tick, at) = (&line.tick, Instant::now());
        let demand = tick.demand.as_ref()?;
        let hold_s = tick.pulse.shows.iter().map(|show| show.hold_s).max();
        let per_s = tick.per_s;
        let wishing = WishingLine {
            people: &self.wishes_in_line(line),
            is_drawn: line.is_ordered,
            basket_people: (per_s * f64::from(hold_s.unwrap_or_default())) as u64,
        };
        let mut rng = SmallRng::from_rng(&mut rand::rng());
        let odds = WishOdds {
            forecast: WishForecast::make(supply, demand, &wishing, &mut rng),
            before_draw: Mutex::default(),
            crowd: Arc::clone(&tick.crowd),
            released: tick.released,
            is_ordered: line.is_ordered,
        };
        Some(MadeOdds {
            odds: Arc::new(odds),
            at,
        })
    }

    /// Returns the wishes of the people who are present, in the order of the line.
    fn wishes_in_line(&self, line: &LineAtTick) -> Vec<&[SeatWish]> {
        let of_rank = |rank: u64| {
            let ranked = line.ranked.as_ref();
            let number = ranked.map_or(rank, |ranked| ranked.number_at(rank));
            let wishes = self.by_number.get(&number);
            wishes.map_or(&[][..], |wishes| &**wishes)
        };
        line.tick.crowd.ranks().map(of_rank).collect()
    }
}

/// Returns the seats that can be wished for.
#[must_use]
pub fn supply_of(shows: &[ShowSeatsLeft]) -> Vec<CategorySupply> {
    let of_show = |show: &ShowSeatsLeft| {
        let slug = show.show.clone();
        let supply = show.categories.iter().map(move |seats| CategorySupply {
            show: slug.clone(),
            key: seats.key.clone(),
            free: u64::from(seats.free - seats.accessible),
            accessible: u64::from(seats.accessible),
            held: u64::from(seats.held),
        });
        supply.collect::<Vec<_>>()
    };
    shows.iter().flat_map(of_show).collect()
}

#[cfg(test)]
mod tests {
    use fairgate_databases::{Installation, SqliteDatabase};
    use fairgate_rules::odds::{PeopleAhead, SeatDemand, SeatSupply};
    use fairgate_rules::pace::RankPresence;
    use fairgate_rules::phase::RoomFacts;
    use fairgate_rules::room_document::RoomDocument;
    use fairgate_servers::actors::until;
    use futures_util::FutureExt;

    use super::*;
    use crate::ledger::{DrawSecret, RoomAuditEntry, RoomLedger, RoomRow};
    use crate::store::MemoryRoomStore;
    use crate::upstream::{BookingPulse, CategorySeatsLeft};

    const PEOPLE: u64 = 20;

    /// Opens a store whose visitors all wish for two seats.
    async fn store_with_wishes(folder: &std::path::Path) -> Arc<dyn RoomStore> {
        let writer = SqliteDatabase::open(&folder.join("ledger.db")).expect("a file");
        let ledger = RoomLedger::open(
            Installation::File(writer),
            fairgate_base::secret::InstallationSecret::derive("a test's secret"),
        )
        .await;
        let ledger = ledger.expect("migrates");
        let row = RoomRow {
            room: "r".into(),
            document: RoomDocument::everyday(),
            facts: RoomFacts::default(),
            version: 1,
            secret: DrawSecret([1; 32]),
            created_at: 0,
        };
        let entry = RoomAuditEntry {
            at: 0,
            role: "promoter",
            action: "room_created",
            detail: serde_json::Value::Null,
        };
        ledger.create_room(row, entry).await.expect("created");
        let store = MemoryRoomStore::new(ledger);
        store.open("r").await.expect("it opens");
        for number in 0..PEOPLE {
            let set = store.set_wishes("r", number, [wish()].into()).await;
            set.expect("kept");
        }
        Arc::new(store)
    }

    fn wish() -> SeatWish {
        SeatWish {
            show: None,
            quantity: 2,
            categories: Vec::new(),
            accessible: 0,
        }
    }

    /// Returns the line of a room with one show of twenty seats.
    fn line(is_ordered: bool) -> LineAtTick {
        let supply = SeatSupply {
            free: 20,
            ..SeatSupply::default()
        };
        let people = PeopleAhead {
            pass_s: 600,
            show_up: 1.0,
            ..PeopleAhead::default()
        };
        let category = CategorySeatsLeft {
            key: "stalls".into(),
            free: 20,
            accessible: 0,
            held: 0,
        };
        let show = ShowSeatsLeft {
            show: "night".into(),
            seats_per_visitor: 4,
            hold_s: 300,
            categories: vec![category],
        };
        let tick = RoomTick {
            crowd: Arc::new(PresenceBitmap::from_presence(0, PEOPLE, |_| {
                RankPresence::Here
            })),
            demand: SeatDemand::from_counts(&supply, &people),
            pulse: BookingPulse {
                shows: vec![show],
                ..BookingPulse::default()
            },
            ..RoomTick::default()
        };
        LineAtTick {
            room: "r".into(),
            tick: Arc::new(tick),
            ranked: None,
            is_ordered,
        }
    }

    #[tokio::test]
    async fn the_odds_of_a_caller_who_goes_away_are_worked_out_once_for_all_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let (store, board) = (store_with_wishes(folder.path()).await, WishBoard::default());
        // Each of these callers goes away at once.
        for _ in 0..5 {
            let _ = board.odds(line(true), &store).now_or_never();
        }
        let first = until("the first odds", async || {
            board.odds(line(true), &store).await
        })
        .await;
        let again = board.odds(line(true), &store).await.expect("odds");
        assert!(Arc::ptr_eq(&first, &again), "they are good for a while");
        let told = [0, PEOPLE - 1].map(|rank| first.told_odds(&wish(), Some(rank)));
        assert_eq!(told[0], 1.0);
        assert!(told[1] < 0.3, "{told:?}");
    }

    #[tokio::test]
    async fn before_the_draw_everybody_has_the_same_odds_and_the_draw_makes_new_ones() {
        let folder = tempfile::tempdir().expect("a folder");
        let (store, board) = (store_with_wishes(folder.path()).await, WishBoard::default());
        let before = until("odds", async || board.odds(line(false), &store).await).await;
        let told = before.told_odds(&wish(), None);
        assert!((0.2..0.95).contains(&told), "{told}");
        assert_eq!(before.told_odds(&wish(), None), told);
        let after = until("odds", async || board.odds(line(true), &store).await).await;
        assert!(!Arc::ptr_eq(&before, &after));
        // The task that made the odds may not have ended yet.
        until("a cleared board", async || {
            board.clear();
            board.made.borrow().is_none().then_some(())
        })
        .await;
    }

    #[tokio::test]
    async fn without_seats_or_figures_no_odds_are_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let (store, board) = (store_with_wishes(folder.path()).await, WishBoard::default());
        let mut unknown = RoomTick::clone(&line(true).tick);
        unknown.pulse.shows.clear();
        let mut silent = RoomTick::clone(&line(true).tick);
        silent.demand = None;
        for tick in [unknown, silent] {
            let line = LineAtTick {
                tick: Arc::new(tick),
                ..line(true)
            };
            assert!(board.odds(line, &store).await.is_none());
        }
        assert!(board.known.try_lock().is_ok(), "nothing was begun");
    }
}
