//! Measures how similar a typed text is to a title. Only this module uses the edit distance and
//! Unicode's normal forms.

use strsim::osa_distance;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The first character of the scripts that have no spaces between words, such as Chinese.
const UNSPACED_FROM: char = '\u{2e80}';

/// A text in the form that is compared: words of lower-case letters and digits, without accents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchText {
    words: Vec<SearchWord>,
    /// All words joined without spaces, since people may join or split words when they type.
    whole: SearchWord,
}

/// A word, with values that rule out dissimilar words quickly.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct SearchWord {
    text: String,
    chars: usize,
    /// One bit for each letter in the word. Several letters may share a bit.
    letters: u64,
}

impl SearchWord {
    fn new(text: &str) -> Self {
        let bit = |char: char| 1_u64 << (u32::from(char) % u64::BITS);
        Self {
            text: text.to_owned(),
            chars: text.chars().count(),
            letters: text.chars().fold(0, |letters, char| letters | bit(char)),
        }
    }

    /// Returns the number of edits between two words, if it is at most `most`.
    fn edits_from(&self, typed: &Self, most: usize) -> Option<usize> {
        // One edit changes the length by at most one, and at most two bits of `letters`.
        let differ = (self.letters ^ typed.letters).count_ones() as usize;
        if self.chars.abs_diff(typed.chars) > most || differ > 2 * most {
            return None;
        }
        Some(osa_distance(&self.text, &typed.text)).filter(|edits| *edits <= most)
    }
}

impl SearchText {
    /// Prepares a text for comparison.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let folded = text.nfkd().filter(|char| !is_combining_mark(*char));
        let folded: String = folded.flat_map(char::to_lowercase).collect();
        // "Ocean's" is one word.
        let folded = folded.replace(['\'', '’'], "");
        let words: Vec<&str> = folded
            .split(|char: char| !char.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        Self {
            whole: SearchWord::new(&words.concat()),
            words: words.into_iter().map(SearchWord::new).collect(),
        }
    }

    /// Returns whether there are no words to compare.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns whether the text contains all these words.
    #[must_use]
    pub fn mentions(&self, words: &Self) -> bool {
        words.words.iter().all(|word| self.words.contains(word))
    }

    /// Returns how many edits turn the typed text into this title or a part of it. An edit is a
    /// letter inserted, deleted, replaced, or swapped with its neighbour. Returns `None` if more
    /// edits are needed than a typed text of this length may have. A typed word needs no edit if a
    /// word of the title begins with it.
    #[must_use]
    pub fn edits_from(&self, typed: &Self) -> Option<usize> {
        let most = match typed.whole.chars {
            0..=2 => 0,
            3..=7 => 1,
            _ => 2,
        };
        let (whole, part) = (&self.whole.text, &typed.whole.text);
        let unspaced = part.contains(|char| char >= UNSPACED_FROM);
        if whole.starts_with(part) || (unspaced && whole.contains(part)) {
            return Some(0);
        }
        let by_words = self.edits_by_words(typed, most);
        if by_words == Some(0) {
            return by_words;
        }
        let together = self.whole.edits_from(&typed.whole, most);
        [by_words, together].into_iter().flatten().min()
    }

    fn edits_by_words(&self, typed: &Self, most: usize) -> Option<usize> {
        let mut edits = 0;
        for word in &typed.words {
            edits += self.edits_to_a_word(word, most - edits)?;
        }
        Some(edits)
    }

    fn edits_to_a_word(&self, typed: &SearchWord, most: usize) -> Option<usize> {
        if self
            .words
            .iter()
            .any(|word| word.text.starts_with(&typed.text))
        {
            return Some(0);
        }
        let edits = self
            .words
            .iter()
            .filter_map(|word| word.edits_from(typed, most));
        // If every typed letter has to be edited, the words have nothing in common and do not
        // match.
        edits.filter(|edits| *edits < typed.chars).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_found_by_its_words_or_their_beginnings_despite_a_typing_error() {
        for (title, typed, edits) in [
            ("The Third Man", "third man", Some(0)),
            ("The Third Man", "thi", Some(0)),
            ("The Third Man", "man third", Some(0)),
            ("The Third Man", "thethirdman", Some(0)),
            ("The Third Man", "the thrid man", Some(1)),
            ("The Third Man", "the thi rd man", Some(0)),
            ("The Third Man", "the third mann", Some(1)),
            ("The Third Man", "second", None),
            ("Amélie", "amelie", Some(0)),
            ("Ocean’s Eleven", "oceans", Some(0)),
            ("千与千寻", "千寻", Some(0)),
            ("Up", "u", Some(0)),
            ("Up", "in", None),
            ("M", "n", None),
        ] {
            let (plain, typed_plain) = (SearchText::new(title), SearchText::new(typed));
            assert_eq!(plain.edits_from(&typed_plain), edits, "{typed} in {title}");
        }
    }
}
