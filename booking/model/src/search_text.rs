//! Compares what people type with names and titles. It ignores accents, hyphens and case, takes
//! words that are written in several ways for the same ([`normal`]), and tolerates typing errors.
//! Only this module uses the edit distance and Unicode's normal forms.

mod normal;

pub mod index;

use strsim::osa_distance;

use normal::{NormalText, is_unspaced};

/// A text in the form that is compared: words of lower-case letters and digits, without accents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchText {
    /// The ways to divide the text into words and to spell them, each once. The first way divides
    /// at everything but letters and digits: `l'étoile` becomes "l" and "etoile". The next way
    /// divides only at spaces, and the same text becomes "letoile". Others spell out umlauts, "&"
    /// and "Dr.".
    readings: Vec<Vec<SearchWord>>,
    /// Words of other spellings that are in no reading.
    other_words: Vec<SearchWord>,
    /// All words joined without spaces, since people may join or split words when they type.
    whole: SearchWord,
}

/// How well a typed text matches a title. A smaller value is a better match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextMatch {
    /// How many edits turn the typed text into the title or a part of it. An edit inserts, deletes
    /// or replaces a letter, or swaps two neighbouring letters.
    pub edits: usize,
    /// Which part of the title was typed.
    pub part: MatchedPart,
}

/// The part of a title that a typed text matches. Better matches come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchedPart {
    /// The whole title.
    Whole,
    /// Whole words of it.
    Words,
    /// Beginnings of its words, or a part of a title without spaces.
    Beginnings,
    /// Words of another text that belongs to the title.
    OtherText,
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

    /// Returns whether the word has all letters of another. Only such a word can contain it.
    fn has_letters_of(&self, other: &Self) -> bool {
        other.letters & !self.letters == 0
    }

    /// Returns the number of edits between two words, if it is at most `most`.
    fn edits_from(&self, typed: &Self, most: usize) -> Option<usize> {
        // One edit changes the length by at most one. It adds at most one letter, and takes at most
        // one letter away.
        let more_than_most = |letters: u64| letters.count_ones() as usize > most;
        if self.chars.abs_diff(typed.chars) > most
            || more_than_most(self.letters & !typed.letters)
            || more_than_most(typed.letters & !self.letters)
        {
            return None;
        }
        Some(osa_distance(&self.text, &typed.text)).filter(|edits| *edits <= most)
    }

    /// Returns how many edits a typed text of this length may have.
    fn edits_max(&self) -> usize {
        match self.chars {
            0..=2 => 0,
            3..=7 => 1,
            _ => 2,
        }
    }
}

impl SearchText {
    /// Prepares a text for comparison.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let text = NormalText::of(text);
        let words = |words: Vec<String>| -> Vec<SearchWord> {
            words.iter().map(|word| SearchWord::new(word)).collect()
        };
        Self {
            readings: text.readings.into_iter().map(words).collect(),
            other_words: words(text.other_words),
            whole: SearchWord::new(&text.whole),
        }
    }

    /// Returns whether there are no words to compare.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.whole.chars == 0
    }

    /// Returns the words of all readings and spellings.
    fn words(&self) -> impl Iterator<Item = &SearchWord> {
        self.readings.iter().flatten().chain(&self.other_words)
    }

    /// Returns whether the text contains all these words.
    #[must_use]
    pub fn mentions(&self, typed: &Self) -> bool {
        let has = |word: &SearchWord| self.words().any(|own| own == word);
        typed.readings.iter().any(|words| words.iter().all(has))
    }

    /// Returns all words joined without spaces.
    #[must_use]
    pub fn joined(&self) -> &str {
        &self.whole.text
    }

    /// Returns which part of this title was typed, or `None` if an edit is needed. A typed word
    /// needs no edit if a word of the title begins with it.
    #[must_use]
    pub fn match_exactly(&self, typed: &Self) -> Option<MatchedPart> {
        let (whole, typed_whole) = (&self.whole.text, &typed.whole.text);
        if whole == typed_whole {
            return Some(MatchedPart::Whole);
        }
        if self.mentions(typed) {
            return Some(MatchedPart::Words);
        }
        let unspaced = is_unspaced(typed_whole);
        let begins = |word: &SearchWord| self.begins_a_word(word);
        let begun = whole.starts_with(typed_whole)
            || (unspaced && whole.contains(typed_whole))
            // Somebody may type "para pluies" for the word "parapluies" of a title.
            || begins(&typed.whole)
            || typed.readings.iter().any(|words| words.iter().all(begins));
        begun.then_some(MatchedPart::Beginnings)
    }

    fn begins_a_word(&self, typed: &SearchWord) -> bool {
        self.words().any(|word| word.text.starts_with(&typed.text))
    }

    /// Returns how well the typed text matches this title. Returns `None` if more edits are needed
    /// than a typed text of this length may have.
    #[must_use]
    pub fn match_typed(&self, typed: &Self) -> Option<TextMatch> {
        if let Some(part) = self.match_exactly(typed) {
            return Some(TextMatch { edits: 0, part });
        }
        let most = typed.whole.edits_max();
        let by_words = typed.readings.iter();
        let by_words = by_words.filter_map(|words| self.edits_by_words(words, most));
        let by_words = by_words.chain(self.edits_to_a_word(&typed.whole, most));
        let by_words = by_words.map(|edits| (edits, MatchedPart::Words));
        let together = self.whole.edits_from(&typed.whole, most);
        let together = together.map(|edits| (edits, MatchedPart::Whole));
        let best = by_words.chain(together).min();
        best.map(|(edits, part)| TextMatch { edits, part })
    }

    fn edits_by_words(&self, typed: &[SearchWord], most: usize) -> Option<usize> {
        let mut edits = 0;
        for word in typed {
            edits += self.edits_to_a_word(word, most - edits)?;
        }
        Some(edits)
    }

    fn edits_to_a_word(&self, typed: &SearchWord, most: usize) -> Option<usize> {
        if self.begins_a_word(typed) {
            return Some(0);
        }
        let edits = self.words().filter_map(|word| word.edits_from(typed, most));
        // If every typed letter needs an edit, the words have nothing in common and do not match.
        edits.filter(|edits| *edits < typed.chars).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_found_by_its_words_or_their_beginnings_despite_a_typing_error() {
        use MatchedPart::{Beginnings, Whole, Words};
        for (title, typed, expected) in [
            ("The Third Man", "third man", Some((0, Words))),
            ("The Third Man", "thi", Some((0, Beginnings))),
            ("The Third Man", "man third", Some((0, Words))),
            ("The Third Man", "thethirdman", Some((0, Whole))),
            ("The Third Man", "the thrid man", Some((1, Whole))),
            ("The Third Man", "the thi rd man", Some((0, Whole))),
            ("The Third Man", "thrid", Some((1, Words))),
            ("The Third Man", "the third mann", Some((1, Whole))),
            ("The Third Man", "second", None),
            ("Amélie", "amelie", Some((0, Whole))),
            ("Ocean’s Eleven", "oceans", Some((0, Words))),
            ("Ocean’s Eleven", "ocean's", Some((0, Words))),
            ("Oceans Eleven", "ocean's eleven", Some((0, Whole))),
            ("The Oceans", "ocean's", Some((0, Words))),
            ("L'ÉTOILE", "etoile", Some((0, Words))),
            ("L'ÉTOILE", "letoile", Some((0, Whole))),
            ("L’étoile du Nord", "letoile", Some((0, Words))),
            ("L’étoile du Nord", "étiole", Some((1, Words))),
            ("Un après-midi", "midi", Some((0, Words))),
            ("Un après-midi", "apresmidi", Some((0, Words))),
            ("Un après-midi", "apres mdii", Some((1, Words))),
            (
                "Les Parapluies du Port",
                "para pluies",
                Some((0, Beginnings)),
            ),
            ("Cœur de pierre", "coeur", Some((0, Words))),
            ("Der große Weg", "grosse", Some((0, Words))),
            ("İstanbul", "istanbul", Some((0, Whole))),
            ("千与千寻", "千寻", Some((0, Beginnings))),
            ("Up", "u", Some((0, Beginnings))),
            ("Up", "in", None),
            ("M", "n", None),
            ("Salt & Snow", "salt and snow", Some((0, Whole))),
            ("Salt & Snow", "salt und snow", Some((0, Whole))),
            ("Salt & Snow", "salt snow", Some((0, Whole))),
            ("Salt & Snow", "salt an", Some((0, Beginnings))),
            ("Salt and Snow", "salt & snow", Some((0, Whole))),
            ("Salt and Snow", "saltandsnow", Some((0, Words))),
            ("Nord & Süd", "nord und süd", Some((0, Whole))),
            ("Nord & Süd", "nord and sued", Some((0, Words))),
            ("Nord und Süd", "nord un", Some((0, Beginnings))),
            ("And", "and", Some((0, Whole))),
            ("Dr. Lantern", "doctor lantern", Some((0, Whole))),
            ("Dr. Lantern", "doktor", Some((0, Words))),
            ("Doctor Lantern", "dr lantern", Some((0, Whole))),
            ("Doctor Lantern", "doct", Some((0, Beginnings))),
            ("Sankt Pauli", "st. pauli", Some((0, Whole))),
            ("Käthe", "kaethe", Some((0, Words))),
            ("Kaethe", "käthe", Some((0, Words))),
            ("Die Brücke", "bruecke", Some((0, Words))),
            ("Göttin der Nacht", "goett nacht", Some((0, Beginnings))),
            ("Jørgen på fjellet", "joergen paa", Some((0, Words))),
            ("ที่รัก", "ที่รัก", Some((0, Whole))),
            ("หนังรักของฉัน", "รัก", Some((0, Beginnings))),
            ("ป้า", "ป๋า", Some((1, Whole))),
            ("トトロのもり", "ととろ", Some((0, Beginnings))),
            ("ととろ", "トトロ", Some((0, Whole))),
            ("ガラスの城", "ｶﾞﾗｽ", Some((0, Beginnings))),
            ("がらす", "からす", Some((1, Whole))),
            ("हिन्दी", "हिन्दी", Some((0, Whole))),
        ] {
            let (plain, typed_plain) = (SearchText::new(title), SearchText::new(typed));
            let found = plain.match_typed(&typed_plain);
            let found = found.map(|found| (found.edits, found.part));
            assert_eq!(found, expected, "{typed} in {title}");
        }
    }

    #[test]
    fn a_better_match_is_the_smaller_one() {
        let typed = SearchText::new("nuit");
        let matched = |title: &str| SearchText::new(title).match_typed(&typed);
        let in_order = ["Nuit", "La Nuit", "Nuitée", "Nuits", "La Nuot"].map(matched);
        assert!(in_order.iter().all(Option::is_some), "{in_order:?}");
        assert!(in_order.is_sorted(), "{in_order:?}");
    }
}
