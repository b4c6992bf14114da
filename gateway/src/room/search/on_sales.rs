//! The on-sales as all visitors see them, prepared and shared. The index for searches is made anew
//! after a change, by one task. Answers are kept for the second in which they were made.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

use fairgate_base::http::shared_answers::SharedAnswers;
use fairgate_base::prepared::Prepared;
use fairgate_base::process::search_threads::SearchThreads;
use fairgate_model::shows::coverage::EVERYDAY;

use super::{OnSaleEdition, OnSaleIndex};
use crate::room::{Room, RoomRegistry, RoomView};
use crate::upstream::ShowSummary;

/// The most bytes of answers that are kept.
const KEPT_BYTES_MAX: u64 = 16 << 20;

/// How many shows a lobby lists at most. Nobody reads a longer list. A visitor who wants a certain
/// show searches for it.
const LISTED_MAX: usize = 100;

/// The prepared lists of an installation; a cheap handle.
#[derive(Clone)]
pub struct OnSales {
    /// The rooms.
    pub rooms: RoomRegistry,
    /// The answers of the last second.
    pub answers: SharedAnswers,
    /// The threads for searches.
    pub threads: SearchThreads,
    shows: Prepared<KnownShows>,
    index: Prepared<OnSaleIndex>,
    of_rooms: Arc<Mutex<HashMap<String, Prepared<RoomShows>>>>,
}

/// All shows that promoters have put.
struct KnownShows {
    edition: u64,
    shows: Vec<ShowSummary>,
}

/// What a room's own pages tell of its shows.
#[derive(Debug, Default)]
pub struct RoomShows {
    edition: OnSaleEdition,
    second: i64,
    /// The shows that are not showings, because showings are searched on their own page. At most a
    /// hundred.
    pub listed: Vec<ShowSummary>,
    /// The time zone of the first show that has one. A room's times are shown in this zone, even if
    /// its shows are in several zones.
    pub zone: Option<String>,
}

impl OnSales {
    /// Makes the lists of these rooms. They are read when somebody first asks for them.
    #[must_use]
    pub fn new(rooms: RoomRegistry) -> Self {
        Self {
            rooms,
            answers: SharedAnswers::up_to(KEPT_BYTES_MAX),
            threads: SearchThreads::default(),
            shows: Prepared::default(),
            index: Prepared::default(),
            of_rooms: Arc::default(),
        }
    }

    /// Returns the index as it is now. If booking does not answer, the index has the shows that
    /// booking had at its last answer. While shows are changed all the time, the index may be about
    /// a second old.
    pub async fn index(&self) -> Arc<OnSaleIndex> {
        let shows = self.known_shows().await;
        let newest = OnSaleEdition {
            shows: shows.as_ref().map(|shows| shows.edition),
            rooms: self.rooms.edition(),
        };
        let make = || {
            let (rooms, shows) = (self.rooms.clone(), shows.clone());
            async move {
                let making = move || make_index(&rooms, shows.as_deref());
                tokio::task::spawn_blocking(making).await.ok()
            }
        };
        let is_current = |index: &OnSaleIndex| index.edition().is_at_least(newest);
        let index = self.index.get(is_current, make).await;
        index.unwrap_or_else(|| Arc::new(make_index(&self.rooms, shows.as_deref())))
    }

    async fn known_shows(&self) -> Option<Arc<KnownShows>> {
        let newest = self.rooms.core().shows_edition();
        let make = || {
            let rooms = self.rooms.clone();
            async move {
                let core = rooms.core();
                let edition = core.shows_edition();
                match core.shows(&["*".to_owned()]).await {
                    Ok(shows) => Some(KnownShows { edition, shows }),
                    Err(error) => {
                        tracing::debug!(%error, "booking did not answer which shows there are");
                        None
                    }
                }
            }
        };
        let is_current = |known: &KnownShows| known.edition >= newest;
        self.shows.get(is_current, make).await
    }

    /// Returns the key of an answer that is made of the index now. An answer depends on the shows,
    /// the rooms and the time, so each of their states has its own answers.
    #[must_use]
    pub fn answer_key(&self, index: &OnSaleIndex, asked: &str) -> String {
        let OnSaleEdition { shows, rooms } = index.edition();
        let (now_rooms, second) = (self.rooms.edition(), self.second());
        format!("{shows:?} {rooms} {now_rooms} {second} {asked}")
    }

    /// Returns a room as lists show it. The figures are those of the room's last tick, which is
    /// about a second old.
    pub async fn view(&self, room: &Room) -> RoomView {
        if room.last_tick().at == 0 {
            return RoomView::fresh(&self.rooms, room).await;
        }
        RoomView::from_last_tick(room, self.rooms.now_ms())
    }

    /// Returns what the pages of a room tell of its shows. It is at most a second old.
    pub async fn shows_of(&self, room: &Room) -> Arc<RoomShows> {
        let prepared = {
            let mut of_rooms = self.of_rooms.lock();
            of_rooms.entry(room.id().to_owned()).or_default().clone()
        };
        let (newest, second) = (self.newest_edition(), self.second());
        let make = || {
            let (on_sales, room) = (self.clone(), room.clone());
            async move { on_sales.read_shows_of(&room).await }
        };
        // Departures of trains are not in the edition, so they are read again each second.
        let is_current =
            |known: &RoomShows| known.edition.is_at_least(newest) && known.second >= second;
        prepared.get(is_current, make).await.unwrap_or_default()
    }

    async fn read_shows_of(&self, room: &Room) -> Option<RoomShows> {
        let (edition, second) = (self.newest_edition(), self.second());
        let shows = match self.rooms.shows_of(room).await {
            Ok(shows) => shows,
            Err(error) => {
                tracing::debug!(%error, room = room.id(), "booking did not answer which shows the room has");
                return None;
            }
        };
        let zone = shows
            .iter()
            .find_map(|show| show.location.time_zone.clone());
        let listed = shows.into_iter().filter(|show| !show.showing);
        Some(RoomShows {
            edition,
            second,
            listed: listed.take(LISTED_MAX).collect(),
            zone,
        })
    }

    fn newest_edition(&self) -> OnSaleEdition {
        OnSaleEdition {
            shows: Some(self.rooms.core().shows_edition()),
            rooms: self.rooms.edition(),
        }
    }

    fn second(&self) -> i64 {
        self.rooms.now_ms().div_euclid(1_000)
    }
}

fn make_index(rooms: &RoomRegistry, shows: Option<&KnownShows>) -> OnSaleIndex {
    let edition = OnSaleEdition {
        shows: shows.map(|shows| shows.edition),
        rooms: rooms.edition(),
    };
    let shows = shows.map_or(&[][..], |shows| &shows.shows);
    // Nobody sells a show that no room names and that is no walk-in.
    let room_of = |show: &ShowSummary| {
        let room = rooms.core().room_of(show.id.as_str());
        room.filter(|room| room != EVERYDAY || show.walk_in)
    };
    OnSaleIndex::new(edition, rooms.all(), shows, room_of)
}
