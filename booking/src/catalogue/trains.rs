//! The trains that a room covers. They are needed to count the room's seats, to compute its odds
//! and to know whether it is sold out. Departures that have a row in the ledger are listed one by
//! one. All other departures on sale are only summed up. The timetable may have a hundred thousand
//! departures, and a room asks every second. The sums are therefore cached for a while.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fairgate_databases::LedgerError;
use fairgate_model::ids::ShowId;
use fairgate_model::shows::Show;
use fairgate_model::shows::coverage::{EVERYDAY, RoomCoverage};
use fairgate_model::timetables::DepartureOnSale;

use super::Catalogue;

/// The shortest time for which the sums are cached.
const CACHED_FOR_MIN: Duration = Duration::from_secs(5);
/// The sums are also cached for at least this multiple of the time that it took to compute them.
const CACHED_FOR_FACTOR: u32 = 200;

/// The trains of a room.
#[derive(Debug, Default)]
pub struct RoomTrains {
    /// The departures that have a row in the ledger.
    pub touched: Vec<Arc<Show>>,
    /// Seats of the other departures that are free over at least one stretch.
    pub free: u64,
    /// Seats of the other departures that can no longer be bought, because the train has left.
    pub gone: u64,
}

/// What the timetable has on sale for a room.
pub(super) struct RoomDepartures {
    version: u64,
    coverage: RoomCoverage,
    at_ms: i64,
    cached_for_ms: i64,
    /// Free and gone seats, by the hash of the departure's id. The ids themselves would take many
    /// megabytes.
    departures: HashMap<u64, (u32, u32)>,
    free: u64,
    gone: u64,
}

impl Catalogue {
    /// Returns the trains that a room covers, with their seats as of `now_ms`.
    ///
    /// # Errors
    /// Returns an error if the search through the timetable panicked or was cancelled.
    pub async fn trains_of(&self, room: &str, now_ms: i64) -> Result<RoomTrains, LedgerError> {
        let on_sale = self.on_sale(room, now_ms).await?;
        let mut touched = self.departures();
        touched.retain(|show| self.room_of(&show.id) == room);
        let (mut free, mut gone) = (on_sale.free, on_sale.gone);
        for show in &touched {
            let counted = on_sale.departures.get(&departure_digest(&show.id));
            let (its_free, its_gone) = counted.copied().unwrap_or_default();
            free -= u64::from(its_free);
            gone -= u64::from(its_gone);
        }
        Ok(RoomTrains {
            touched,
            free,
            gone,
        })
    }

    async fn on_sale(&self, room: &str, now_ms: i64) -> Result<Arc<RoomDepartures>, LedgerError> {
        let timetable = self.timetable();
        let version = timetable
            .as_ref()
            .map_or(0, |timetable| timetable.version());
        let coverage = self.coverage();
        let known = self.shared.departures.on_sale.lock().get(room).cloned();
        if let Some(known) = known
            && known.version == version
            && known.coverage.is_same(&coverage)
            && (0..known.cached_for_ms).contains(&(now_ms - known.at_ms))
        {
            return Ok(known);
        }
        let patterns = patterns_of(room, coverage.rooms());
        let (catalogue, room_name) = (self.clone(), room.to_owned());
        let has_timetable = timetable.is_some();
        let search_timetable = move || {
            let began = Instant::now();
            let mut trains = RoomDepartures {
                version,
                coverage,
                at_ms: now_ms,
                cached_for_ms: 0,
                departures: HashMap::new(),
                free: 0,
                gone: 0,
            };
            let mut add = |departure: DepartureOnSale| {
                let digest = departure_digest(&departure.show);
                if catalogue.room_of(&departure.show) == room_name
                    && trains
                        .departures
                        .insert(digest, (departure.free, departure.gone))
                        .is_none()
                {
                    trains.free += u64::from(departure.free);
                    trains.gone += u64::from(departure.gone);
                }
            };
            if let Some(timetable) = timetable {
                timetable.on_sale(&patterns, now_ms, &mut add);
            }
            catalogue
                .departures_already_over(&patterns, now_ms)
                .into_iter()
                .for_each(&mut add);
            let cached_for = CACHED_FOR_MIN.max(began.elapsed() * CACHED_FOR_FACTOR);
            trains.cached_for_ms = i64::try_from(cached_for.as_millis()).unwrap_or(i64::MAX);
            trains
        };
        // Without a timetable there is nothing to search, and a house with a thousand rooms needs
        // no thread for each.
        let trains = if has_timetable {
            let searched = tokio::task::spawn_blocking(search_timetable).await;
            searched.map_err(|error| LedgerError::Unavailable(error.to_string()))?
        } else {
            search_timetable()
        };
        let trains = Arc::new(trains);
        let mut trains_by_room = self.shared.departures.on_sale.lock();
        trains_by_room.insert(room.to_owned(), Arc::clone(&trains));
        Ok(trains)
    }
}

impl Catalogue {
    /// Returns those departures without a ledger row that are over and whose ids are among the
    /// patterns. Their seats count as gone. A room that has only such departures is therefore sold
    /// out, not empty.
    fn departures_already_over(&self, patterns: &[String], now_ms: i64) -> Vec<DepartureOnSale> {
        let ids = patterns.iter().filter_map(|pattern| pattern.parse().ok());
        let departures = ids.filter_map(|id: ShowId| self.departure(&id));
        let ended = departures.filter(|show| show.untouched && show.is_over(now_ms));
        ended
            .map(|show| DepartureOnSale {
                show: show.id.clone(),
                free: 0,
                gone: show.grid().seats,
            })
            .collect()
    }
}

fn departure_digest(show: &ShowId) -> u64 {
    let mut hasher = DefaultHasher::new();
    show.as_str().hash(&mut hasher);
    hasher.finish()
}

/// Returns the patterns of a room. The built-in room has a pattern for everything, since it covers
/// the shows that no other room names.
fn patterns_of(room: &str, coverage: &[(String, Vec<String>)]) -> Vec<String> {
    if room == EVERYDAY {
        return vec!["*".to_owned()];
    }
    let coverage_of_room = coverage.iter().filter(|(named, _)| named == room);
    coverage_of_room
        .flat_map(|(_, patterns)| patterns.clone())
        .collect()
}
