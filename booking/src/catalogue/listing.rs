//! The list of all shows that promoters have put, prepared for searches: sorted, with the words of
//! each show and the room that it belongs to. The list is made anew after a change of
//! the catalogue, and not for each search.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use fairgate_model::plans::pinned::SeatingPlan;
use fairgate_model::search_text::SearchText;
use fairgate_model::search_text::index::TextIndex;
use fairgate_model::shows::Show;
use jiff::Timestamp;

use super::Catalogue;

/// All shows that promoters have put, by date and then by id.
#[derive(Debug)]
pub struct ShowListing {
    edition: u64,
    shows: Vec<ListedShow>,
    /// Title, id and venue of each show, in the order of `shows`. The first search for words makes
    /// them, because they take longer than all the rest.
    words: OnceLock<TextIndex>,
    /// The plans of the shows, each once.
    plans: Vec<Arc<SeatingPlan>>,
}

/// A show with what searches compare.
#[derive(Debug)]
pub struct ListedShow {
    /// The show.
    pub show: Arc<Show>,
    /// The room that sells the show, or will sell it. `None` if there is none.
    pub room: Option<String>,
    /// The position of its plan.
    plan: usize,
}

/// What a search asks for. A filter that is empty or `None` matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShowSearch {
    /// Words of the show's title, its id and its venue's slug, however they are typed.
    pub words: SearchText,
    /// A venue's slug.
    pub venue: Option<String>,
    /// The earliest beginning.
    pub from: Option<Timestamp>,
    /// The latest beginning.
    pub to: Option<Timestamp>,
    /// The key or the label of a category that must have a price.
    pub category: Option<String>,
    /// The room that sells the show, or will sell it.
    pub room: Option<String>,
}

/// One page of the shows that a search finds.
#[derive(Debug)]
pub struct ListedPage<'l> {
    /// The shows of the page.
    pub shows: Vec<&'l ListedShow>,
    /// How many shows all pages have.
    pub total: usize,
}

impl ShowListing {
    /// Makes the list of a catalogue's shows. This takes some milliseconds for each ten thousand
    /// shows.
    #[must_use]
    pub fn of(catalogue: &Catalogue) -> Self {
        // The edition is read first. If something changes after that, the list is made again.
        let edition = catalogue.edition();
        let mut plans: Vec<Arc<SeatingPlan>> = Vec::new();
        let mut positions: HashMap<*const SeatingPlan, usize> = HashMap::new();
        let mut listed = |show: Arc<Show>| {
            let plan = *positions.entry(Arc::as_ptr(&show.plan)).or_insert_with(|| {
                plans.push(Arc::clone(&show.plan));
                plans.len() - 1
            });
            ListedShow {
                room: catalogue.shown_room_of(&show),
                plan,
                show,
            }
        };
        let shows = catalogue.shows().into_iter().map(&mut listed).collect();
        Self {
            edition,
            shows,
            words: OnceLock::new(),
            plans,
        }
    }

    /// Returns the catalogue's edition of which the list was made.
    #[must_use]
    pub fn edition(&self) -> u64 {
        self.edition
    }

    /// Returns all shows.
    #[must_use]
    pub fn shows(&self) -> &[ListedShow] {
        &self.shows
    }

    /// Finds shows, and returns the page `page`, counted from 0.
    #[must_use]
    pub fn find(&self, search: &ShowSearch, page: usize, per_page: usize) -> ListedPage<'_> {
        let skipped = page.saturating_mul(per_page);
        if *search == ShowSearch::default() {
            let shows = self.shows.iter().skip(skipped).take(per_page);
            return ListedPage {
                shows: shows.collect(),
                total: self.shows.len(),
            };
        }
        let starts_at = |listed: &ListedShow| listed.show.document.starts_at;
        let begin = search.from.map_or(0, |from| {
            self.shows
                .partition_point(|listed| starts_at(listed) < from)
        });
        let end = search.to.map_or(self.shows.len(), |to| {
            self.shows.partition_point(|listed| starts_at(listed) <= to)
        });
        let categories = search.category.as_deref().map(|name| {
            let categories = self.plans.iter();
            let categories = categories.map(|plan| plan.map.category_index(name));
            categories.collect::<Vec<Option<_>>>()
        });
        let is_priced = |listed: &ListedShow, category: Option<u16>| {
            let price = category.and_then(|at| listed.show.prices.get(usize::from(at)));
            price.is_some_and(Option::is_some)
        };
        let is_wanted = |listed: &ListedShow| {
            let venue = &listed.show.document.venue;
            search
                .venue
                .as_ref()
                .is_none_or(|asked| venue.as_str() == asked)
                && (search.room.is_none() || listed.room == search.room)
                && categories
                    .as_ref()
                    .is_none_or(|by_plan| is_priced(listed, by_plan[listed.plan]))
        };
        let has_words = (!search.words.is_empty()).then(|| self.words().matches(&search.words));
        let has_words = |at: usize| has_words.as_ref().is_none_or(|has_words| has_words[at]);
        let found: Vec<_> = (begin..end.max(begin))
            .map(|at| (at, &self.shows[at]))
            .filter_map(|(at, listed)| (has_words(at) && is_wanted(listed)).then_some(listed))
            .collect();
        ListedPage {
            total: found.len(),
            shows: found.into_iter().skip(skipped).take(per_page).collect(),
        }
    }

    fn words(&self) -> &TextIndex {
        self.words.get_or_init(|| {
            let mut words = TextIndex::default();
            for ListedShow { show, .. } in &self.shows {
                let document = &show.document;
                words.add(&format!(
                    "{} {} {}",
                    document.title, show.id, document.venue
                ));
            }
            words
        })
    }
}

impl Catalogue {
    /// Returns a number that grows with each change of the shows, their rooms or their places. The
    /// numbers of two processes differ.
    #[must_use]
    pub fn edition(&self) -> u64 {
        self.shared.edition.get()
    }

    /// Returns the list of shows as it is now. If it is not prepared, this prepares it, which
    /// blocks the thread for some milliseconds for each ten thousand shows.
    #[must_use]
    pub fn current_listing(&self) -> Arc<ShowListing> {
        let edition = self.edition();
        let is_current = |listing: &ShowListing| listing.edition >= edition;
        let listing = &self.shared.listing;
        listing.get_blocking(is_current, || ShowListing::of(self))
    }

    /// Returns the list of shows as it is now. While shows are changed all the time, the list may
    /// be about a second old.
    pub async fn listing(&self) -> Arc<ShowListing> {
        let edition = self.edition();
        let make = || {
            let catalogue = self.clone();
            async move {
                let making = tokio::task::spawn_blocking(move || ShowListing::of(&catalogue));
                making.await.ok()
            }
        };
        let is_current = |listing: &ShowListing| listing.edition >= edition;
        let listing = self.shared.listing.get(is_current, make).await;
        listing.unwrap_or_else(|| Arc::new(ShowListing::of(self)))
    }
}
