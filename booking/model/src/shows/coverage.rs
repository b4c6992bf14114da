//! Finds the room whose passes are valid for a show. Rooms name shows by ids and globs.

use crate::ids::ShowId;

/// The room that covers all shows that no other room names.
pub const EVERYDAY: &str = "everyday";

/// The rooms, each with the ids and globs of shows that it names.
#[derive(Debug, Default)]
pub struct RoomCoverage(Vec<(String, Vec<String>)>);

impl RoomCoverage {
    /// Makes the coverage from a list of (room, patterns).
    #[must_use]
    pub fn new(rooms: Vec<(String, Vec<String>)>) -> Self {
        Self(rooms)
    }

    /// Returns the list that it was made from.
    #[must_use]
    pub fn rooms(&self) -> &[(String, Vec<String>)] {
        &self.0
    }

    /// Returns the first room that names the show, or `everyday` if no room names it.
    #[must_use]
    pub fn room_of(&self, show: &ShowId) -> String {
        let named = self.0.iter().find(|(_, patterns)| {
            patterns
                .iter()
                .any(|pattern| matches(pattern, show.as_str()))
        });
        named.map_or_else(|| EVERYDAY.to_owned(), |(room, _)| room.clone())
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
    fn a_show_that_no_room_names_is_in_the_everyday_room() {
        let coverage = RoomCoverage::new(vec![("demo".into(), vec!["night-*".into()])]);
        let room = |show: &str| coverage.room_of(&show.parse().expect("a slug"));
        assert_eq!(
            (room("night-1"), room("film")),
            ("demo".to_owned(), EVERYDAY.to_owned())
        );
    }
}
