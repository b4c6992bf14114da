//! Decides who sells a show. Rooms name shows by ids and globs. A room that names a show sells it
//! alone. A show that no room names is sold only if it says that it is a walk-in.

use std::sync::Arc;

use crate::ids::ShowId;

use super::Show;
use super::document::ShowState;

/// The built-in room. It sells the walk-ins that no other room names.
pub const EVERYDAY: &str = "everyday";

/// The most withheld shows that a sentence names.
const WITHHELD_NAMED_MAX: usize = 5;

/// Why nobody sells a show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotSoldReason {
    /// The show's document says `announced`.
    Announced,
    /// No room names the show, and it is no walk-in.
    NoRoom,
    /// An on-sale file that changes the show and its room was stored in part only.
    Withheld,
}

/// Returns what a promoter should know about a show that is on sale although nobody sells it.
#[must_use]
pub fn unnamed_show_warning(show: &ShowId) -> String {
    format!(
        "The show \"{show}\" is announced and not sold: no room names it. Name it in a room's \"shows\", or set \"walk_in\" to true to sell it without a room."
    )
}

/// Returns what a promoter should know about shows that an unfinished apply keeps off sale.
#[must_use]
pub fn withheld_shows_warning(shows: &[ShowId]) -> String {
    format!(
        "shows are kept off sale because an on-sale file that changes them was stored in part: {}; apply the file again, or put the shows",
        some_names(shows)
    )
}

/// Returns what a promoter should know about the shows that an apply has withheld, if it did not
/// store its file, or if nobody knows whether it did.
#[must_use]
pub fn left_off_sale(shows: &[ShowId]) -> String {
    format!(
        "Shows of the file may be off sale until you apply it again, or put them: {}.",
        some_names(shows)
    )
}

/// Returns the first of these ids, and how many more there are.
fn some_names(shows: &[ShowId]) -> String {
    let named = shows.iter().take(WITHHELD_NAMED_MAX);
    let names: Vec<&str> = named.map(ShowId::as_str).collect();
    let more = match shows.len() - names.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", names.join(", "))
}

/// Returns what a promoter should know about a show on sale that no room names any more.
#[must_use]
pub fn lost_room_warning(show: &ShowId, is_walk_in: bool) -> String {
    if is_walk_in {
        format!(
            "The show \"{show}\" is sold through the room everyday from now on: no other room names it any more. Name it in a room's \"shows\" to sell it there."
        )
    } else {
        format!(
            "The show \"{show}\" is announced and not sold any more: no room names it. Name it in a room's \"shows\", or set \"walk_in\" to true to sell it without a room."
        )
    }
}

/// The rooms, each with the ids and globs of shows that it names. Cheap to clone, because there may
/// be thousands of rooms.
#[derive(Debug, Clone, Default)]
pub struct RoomCoverage(Arc<[(String, Vec<String>)]>);

impl RoomCoverage {
    /// Makes the coverage from a list of (room, patterns).
    #[must_use]
    pub fn new(rooms: Vec<(String, Vec<String>)>) -> Self {
        Self(rooms.into())
    }

    /// Returns whether both are the same coverage. Two that were made from equal lists are not.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the list that it was made from.
    #[must_use]
    pub fn rooms(&self) -> &[(String, Vec<String>)] {
        &self.0
    }

    /// Returns the first room that names the show.
    #[must_use]
    pub fn naming_room(&self, show: &ShowId) -> Option<&str> {
        let mut rooms = self.0.iter();
        let named = rooms.find(|(_, patterns)| {
            patterns
                .iter()
                .any(|pattern| matches(pattern, show.as_str()))
        });
        named.map(|(room, _)| room.as_str())
    }

    /// Returns the room whose passes belong to the show: the first room that names it, or
    /// `everyday` if no room names it. This room does not always sell the show; see
    /// [`Self::seller_of`].
    #[must_use]
    pub fn room_of(&self, show: &ShowId) -> String {
        self.naming_room(show).unwrap_or(EVERYDAY).to_owned()
    }

    /// Returns the room that sells the show now. A room that names the show sells it alone, also
    /// after that room has closed, when it lets nobody in.
    ///
    /// # Errors
    /// Returns the reason if nobody sells the show.
    pub fn seller_of(&self, show: &Show) -> Result<String, NotSoldReason> {
        self.seller(&show.id, show.document.state, show.is_walk_in())
    }

    /// Returns what [`Self::seller_of`] returns for a show with this state.
    ///
    /// # Errors
    /// Returns the reason if nobody sells the show.
    pub fn seller(
        &self,
        show: &ShowId,
        state: ShowState,
        is_walk_in: bool,
    ) -> Result<String, NotSoldReason> {
        match (self.naming_room(show), state) {
            (_, ShowState::Draft | ShowState::Announced | ShowState::Ended) => {
                Err(NotSoldReason::Announced)
            }
            (Some(room), ShowState::OnSale) => Ok(room.to_owned()),
            (None, ShowState::OnSale) if is_walk_in => Ok(EVERYDAY.to_owned()),
            (None, ShowState::OnSale) => Err(NotSoldReason::NoRoom),
        }
    }
}

/// Returns whether a pattern names a show. `*` matches any characters or none, and every other
/// character matches only itself.
#[must_use]
pub fn matches(pattern: &str, show: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| show.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters_and_nothing_else_is_special() {
        for (pattern, show, expected) in [
            ("g1-*", "g1-2027-01-10", true),
            ("g1-*", "g1", false),
            ("*", "anything", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxcyyb", false),
            ("night-1", "night-1", true),
            ("night-1", "night-10", false),
            ("a*a", "a", false),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, show), expected, "{pattern} on {show}");
        }
    }

    #[test]
    fn a_show_is_sold_by_the_room_that_names_it_or_as_a_walk_in_and_else_by_nobody() {
        use NotSoldReason::{Announced, NoRoom};
        use ShowState::OnSale;
        let coverage = RoomCoverage::new(vec![("demo".into(), vec!["night-*".into()])]);
        for (show, state, is_walk_in, expected) in [
            ("night-1", OnSale, false, Ok("demo")),
            ("night-1", OnSale, true, Ok("demo")),
            ("film", OnSale, true, Ok(EVERYDAY)),
            ("film", OnSale, false, Err(NoRoom)),
            ("night-1", ShowState::Announced, true, Err(Announced)),
            ("film", ShowState::Announced, true, Err(Announced)),
            ("film", ShowState::Draft, true, Err(Announced)),
            ("film", ShowState::Ended, true, Err(Announced)),
        ] {
            let sold = coverage.seller(&show.parse().expect("a slug"), state, is_walk_in);
            let expected = expected.map(str::to_owned);
            assert_eq!(sold, expected, "{show} {state:?} {is_walk_in}");
        }
    }

    #[test]
    fn passes_of_everyday_belong_to_shows_that_no_room_names() {
        let coverage = RoomCoverage::new(vec![("demo".into(), vec!["night-*".into()])]);
        let room = |show: &str| coverage.room_of(&show.parse().expect("a slug"));
        assert_eq!(
            (room("night-1"), room("film")),
            ("demo".to_owned(), EVERYDAY.to_owned())
        );
    }
}
