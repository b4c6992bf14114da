//! What the places of a room wish for, as this node knows it, and the odds of these wishes. The
//! odds are worked out when somebody asks for them, at most once every [`GOOD_FOR_MS`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use fairgate_rules::wishes::{CategorySupply, SeatWish, WishForecast, WishingLine};
use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::draw_state::RankedLine;
use super::tick::RoomTick;
use crate::store::{RoomStore, StoreFailure, WishCursor, WishList};
use crate::upstream::ShowSeatsLeft;

/// How long odds are told until they are worked out again, in milliseconds.
const GOOD_FOR_MS: i64 = 5_000;
/// For so many different wishes the odds before the draw are kept.
const KNOWN_MAX: usize = 10_000;

/// A line whose visitors wish for seats.
pub struct LineAtTick<'a> {
    /// The room's slug.
    pub room: &'a str,
    /// The figures of the last tick.
    pub tick: &'a RoomTick,
    /// The order of the drawn numbers, after the draw.
    pub ranked: Option<Arc<RankedLine>>,
    /// Whether everybody has a rank. Before the draw nobody has.
    pub is_ordered: bool,
}

/// The wishes of a room and their odds.
#[derive(Default)]
pub struct WishBoard {
    known: tokio::sync::Mutex<KnownWishes>,
    forecast: RwLock<Option<TimedForecast>>,
}

/// The odds of wishes, as they were worked out at one time.
pub struct WishOdds {
    forecast: WishForecast,
    /// The odds before the draw by wish. They are the same for everybody then, and take half a
    /// millisecond.
    before_draw: Mutex<HashMap<SeatWish, f64>>,
    is_ordered: bool,
}

impl WishOdds {
    /// Returns the odds of a wish as its visitor is told them. `ahead` is the number of present
    /// people in front.
    #[must_use]
    pub fn told(&self, wish: &SeatWish, ahead: u64) -> f64 {
        if self.is_ordered {
            return self.forecast.told_odds(wish, ahead);
        }
        let mut known = self
            .before_draw
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(odds) = known.get(wish) {
            return *odds;
        }
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        let odds = self.forecast.told_odds(wish, ahead);
        known.insert(wish.clone(), odds);
        odds
    }
}

/// The wishes that this node has read.
#[derive(Default)]
struct KnownWishes {
    cursor: WishCursor,
    by_number: HashMap<u64, WishList>,
}

#[derive(Clone)]
struct TimedForecast {
    odds: Arc<WishOdds>,
    made_at: i64,
}

impl WishBoard {
    /// Returns the odds of wishes at `now` (ms). They may be [`GOOD_FOR_MS`] old. Returns `None` if
    /// the room has no seats that could run out.
    ///
    /// # Errors
    /// Fails if the store did not answer.
    pub async fn odds(
        &self,
        line: &LineAtTick<'_>,
        store: &dyn RoomStore,
        now: i64,
    ) -> Result<Option<Arc<WishOdds>>, StoreFailure> {
        let earlier = self.earlier(line.is_ordered);
        if let Some(earlier) = &earlier
            && now - earlier.made_at < GOOD_FOR_MS
        {
            return Ok(Some(Arc::clone(&earlier.odds)));
        }
        let mut known = match (earlier, self.known.try_lock()) {
            (_, Ok(known)) => known,
            // Another call is making the next odds.
            (Some(earlier), Err(_)) => return Ok(Some(earlier.odds)),
            (None, Err(_)) => self.known.lock().await,
        };
        // The call that had the lock may have made the odds that this one waited for.
        if let Some(made) = self.earlier(line.is_ordered)
            && now - made.made_at < GOOD_FOR_MS
        {
            return Ok(Some(made.odds));
        }
        known.read_changes(line.room, store).await?;
        let Some(forecast) = known.make_forecast(line).await else {
            return Ok(None);
        };
        let odds = Arc::new(WishOdds {
            forecast,
            before_draw: Mutex::default(),
            is_ordered: line.is_ordered,
        });
        let made = TimedForecast {
            odds: Arc::clone(&odds),
            made_at: now,
        };
        *self
            .forecast
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Some(made);
        Ok(Some(odds))
    }

    /// Returns the last odds, unless the draw has changed the line since.
    fn earlier(&self, is_ordered: bool) -> Option<TimedForecast> {
        let made = self.forecast.read().unwrap_or_else(PoisonError::into_inner);
        made.clone()
            .filter(|made| made.odds.is_ordered == is_ordered)
    }
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
            if changes.changed.is_empty() {
                return Ok(());
            }
            for (number, wishes) in changes.changed {
                match wishes.is_empty() {
                    true => self.by_number.remove(&number),
                    false => self.by_number.insert(number, wishes),
                };
            }
        }
    }

    /// Works out the odds on a thread of its own, because in a long line it takes a while.
    async fn make_forecast(&self, line: &LineAtTick<'_>) -> Option<WishForecast> {
        let demand = line.tick.demand?;
        let supply = supply_of(&line.tick.pulse.shows);
        let wishes = self.in_line(line);
        let is_drawn = line.is_ordered;
        let hold_s = line.tick.pulse.shows.iter().map(|show| show.hold_s).max();
        let (per_s, _) = line.tick.rates;
        let basket_people = (per_s * f64::from(hold_s.unwrap_or_default())) as u64;
        let made = tokio::task::spawn_blocking(move || {
            let wishes: Vec<&[SeatWish]> = wishes.iter().map(|wishes| &**wishes).collect();
            let mut rng = SmallRng::from_rng(&mut rand::rng());
            let line = WishingLine {
                people: &wishes,
                is_drawn,
                basket_people,
            };
            WishForecast::make(&supply, &demand, &line, &mut rng)
        });
        made.await.ok()
    }

    /// Returns the wishes of the people who are present, in the order of the line.
    fn in_line(&self, line: &LineAtTick<'_>) -> Vec<WishList> {
        let nothing = WishList::default();
        let of_rank = |rank: u64| {
            let ranked = line.ranked.as_ref();
            let number = ranked.map_or(rank, |ranked| ranked.number_at(rank));
            self.by_number.get(&number).unwrap_or(&nothing).clone()
        };
        line.tick.crowd.ranks().map(of_rank).collect()
    }
}

/// Returns the seats that can be wished for.
#[must_use]
pub fn supply_of(shows: &[ShowSeatsLeft]) -> Vec<CategorySupply> {
    let of_show = |show: &ShowSeatsLeft| {
        let of = show.show.clone();
        let supply = show.categories.iter().map(move |left| CategorySupply {
            show: of.clone(),
            key: left.key.clone(),
            free: u64::from(left.free - left.accessible),
            accessible: u64::from(left.accessible),
            held: u64::from(left.held),
        });
        supply.collect::<Vec<_>>()
    };
    shows.iter().flat_map(of_show).collect()
}
