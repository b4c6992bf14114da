//! What a person decides about single shows when an import takes the place of an earlier one: about
//! departures of a timetable, and about showings of a programme.

use std::collections::{BTreeMap, BTreeSet};

use fairgate_model::ids::ShowId;

/// What a person decided about single shows. Each show is named once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShowChoices {
    /// Shows that are another show of what is imported, by the ids of both.
    pub matches: BTreeMap<ShowId, ShowId>,
    /// Shows that go on as they were sold. Nothing more is sold of them.
    pub keep: BTreeSet<ShowId>,
    /// Shows that are cancelled, so that their buyers get their money back.
    pub cancel: BTreeSet<ShowId>,
}

/// How an import treats the shows of an earlier one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportDecisions {
    /// What a person decided about single shows.
    pub choices: ShowChoices,
    /// Whether the import is only tried, and nothing is stored.
    pub is_preview: bool,
}

impl ShowChoices {
    /// Makes the choices from lists.
    ///
    /// # Errors
    /// Returns a show about which there are two choices.
    pub fn from_lists(
        matches: Vec<(ShowId, ShowId)>,
        keep: Vec<ShowId>,
        cancel: Vec<ShowId>,
    ) -> Result<Self, ShowId> {
        let old = matches.iter().map(|(old, _)| old);
        let mut seen = BTreeSet::new();
        let mut named = old.chain(&keep).chain(&cancel);
        if let Some(twice) = named.find(|show| !seen.insert(*show)) {
            return Err(twice.clone());
        }
        Ok(Self {
            matches: matches.into_iter().collect(),
            keep: keep.into_iter().collect(),
            cancel: cancel.into_iter().collect(),
        })
    }

    /// Returns every show about which there is a choice.
    pub fn shows(&self) -> impl Iterator<Item = &ShowId> {
        let matched = self.matches.keys();
        matched.chain(&self.keep).chain(&self.cancel)
    }

    /// Returns whether there is a choice about a show.
    #[must_use]
    pub fn has(&self, show: &ShowId) -> bool {
        self.matches.contains_key(show) || self.keep.contains(show) || self.cancel.contains(show)
    }
}

/// Reads `OLD=NEW`, the ids of two shows.
///
/// # Errors
/// Returns what would be right, in words.
pub fn parse_match(text: &str) -> Result<(ShowId, ShowId), String> {
    let (old, new) = text
        .split_once('=')
        .ok_or("write it as OLD=NEW, with the ids of two shows")?;
    Ok((parse_show(old)?, parse_show(new)?))
}

/// Reads the id of a show.
///
/// # Errors
/// Returns what is wrong, in words.
pub fn parse_show(text: &str) -> Result<ShowId, String> {
    text.parse().map_err(|error| format!("{text}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(id: &str) -> ShowId {
        id.parse().expect("a slug")
    }

    #[test]
    fn a_show_with_two_choices_is_refused() {
        let twice = ShowChoices::from_lists(
            vec![(show("a"), show("b"))],
            vec![show("b"), show("c")],
            vec![show("a")],
        );
        assert_eq!(twice, Err(show("a")));
        let once = ShowChoices::from_lists(vec![(show("a"), show("b"))], vec![show("b")], vec![]);
        let once = once.expect("each show once");
        assert!(once.has(&show("a")) && once.has(&show("b")) && !once.has(&show("c")));
    }

    #[test]
    fn a_match_is_two_ids_with_a_sign_between() {
        assert_eq!(parse_match("a=b"), Ok((show("a"), show("b"))));
        for (wrong, told) in [("a", "OLD=NEW"), ("a=", "slug"), ("A=b", "slug")] {
            let refused = parse_match(wrong).expect_err(wrong);
            assert!(refused.contains(told) || refused.contains('"'), "{refused}");
        }
    }
}
