//! Many patterns at once. A room may name thousands of shows, so an id is looked up and not
//! compared with each of them.

use std::collections::HashSet;

use super::coverage::matches;

/// Ids and globs of shows, prepared for many comparisons.
#[derive(Debug, Default)]
pub struct ShowPatterns<'p> {
    ids: HashSet<&'p str>,
    globs: Vec<&'p str>,
}

impl<'p> FromIterator<&'p str> for ShowPatterns<'p> {
    fn from_iter<P: IntoIterator<Item = &'p str>>(patterns: P) -> Self {
        let mut prepared = Self::default();
        for pattern in patterns {
            if pattern.contains('*') {
                prepared.globs.push(pattern);
            } else {
                prepared.ids.insert(pattern);
            }
        }
        prepared
    }
}

impl ShowPatterns<'_> {
    /// Returns whether one of the patterns names a show.
    #[must_use]
    pub fn name(&self, show: &str) -> bool {
        self.ids.contains(show) || self.globs.iter().any(|glob| matches(glob, show))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_show_is_named_if_any_single_pattern_matches_it() {
        let patterns = ["night-1", "g1-*", "", "*-x-*"];
        let prepared: ShowPatterns<'_> = patterns.into_iter().collect();
        for show in ["night-1", "night-10", "g1-", "g1-2027", "a-x-b", "", "*"] {
            let each = patterns.iter().any(|pattern| matches(pattern, show));
            assert_eq!(prepared.name(show), each, "{show:?}");
        }
    }
}
