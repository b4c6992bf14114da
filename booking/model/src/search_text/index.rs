//! Finds typed words in many texts. The answers are those of [`SearchText::match_typed`]. Each word
//! that occurs in the texts is compared only once with each typed word, because fifteen thousand
//! texts have only a few thousand different words.

use std::collections::HashMap;
use std::ops::Range;

use super::normal::is_unspaced;
use super::{SearchText, SearchWord};

/// In a table of edits: the words are too different.
const TOO_MANY: u8 = u8::MAX;

/// Texts that are prepared for searches.
#[derive(Debug, Default)]
pub struct TextIndex {
    /// All words of all texts, each once.
    words: Vec<SearchWord>,
    positions: HashMap<String, u32>,
    texts: Vec<IndexedText>,
    /// The words of each text, one text after the other, as positions in `words`. They are together
    /// because a search reads all of them.
    words_of_texts: Vec<u32>,
}

#[derive(Debug)]
struct IndexedText {
    /// All words joined without spaces.
    whole: SearchWord,
    /// Where `words_of_texts` has its words in all readings, each once.
    words: Range<usize>,
}

/// How many edits turn each word of the index into a typed word.
type EditTable = Vec<u8>;

impl TextIndex {
    /// Adds a text. The first text is at position 0.
    pub fn add(&mut self, text: &str) {
        let text = SearchText::new(text);
        let mut words: Vec<u32> = Vec::new();
        for word in text.words() {
            let next = u32::try_from(self.words.len()).unwrap_or(u32::MAX);
            let position = match self.positions.get(&word.text) {
                Some(position) => *position,
                None => {
                    self.positions.insert(word.text.clone(), next);
                    self.words.push(word.clone());
                    next
                }
            };
            words.push(position);
        }
        words.sort_unstable();
        words.dedup();
        let begin = self.words_of_texts.len();
        self.words_of_texts.append(&mut words);
        self.texts.push(IndexedText {
            whole: text.whole,
            words: begin..self.words_of_texts.len(),
        });
    }

    /// Returns for each text whether [`SearchText::match_typed`] matches it. A typed text without
    /// words matches every text.
    #[must_use]
    pub fn matches(&self, typed: &SearchText) -> Vec<bool> {
        if typed.is_empty() {
            return vec![true; self.texts.len()];
        }
        let edits_max = typed.whole.edits_max();
        let mut tables: HashMap<&str, EditTable> = HashMap::new();
        for word in typed.words().chain([&typed.whole]) {
            tables
                .entry(&word.text)
                .or_insert_with(|| self.edits(word, edits_max));
        }
        let readings: Vec<Vec<&EditTable>> = typed
            .readings
            .iter()
            .map(|words| {
                words
                    .iter()
                    .map(|word| &tables[word.text.as_str()])
                    .collect()
            })
            .collect();
        let joined = &tables[typed.whole.text.as_str()];
        let is_unspaced = is_unspaced(&typed.whole.text);
        let contains = |text: &IndexedText| {
            text.whole.text.starts_with(&typed.whole.text)
                || (is_unspaced && text.whole.text.contains(&typed.whole.text))
        };
        let matches = |text: &IndexedText| {
            let words = &self.words_of_texts[text.words.clone()];
            least_edits(words, joined) != TOO_MANY
                || readings
                    .iter()
                    .any(|reading| has_reading(words, reading, edits_max))
                || (text.whole.has_letters_of(&typed.whole) && contains(text))
                || text.whole.edits_from(&typed.whole, edits_max).is_some()
        };
        self.texts.iter().map(matches).collect()
    }

    /// Compares a typed word with every word of the index.
    fn edits(&self, typed: &SearchWord, edits_max: usize) -> EditTable {
        let edits = |word: &SearchWord| {
            if word.has_letters_of(typed) && word.text.starts_with(&typed.text) {
                return 0;
            }
            let edits = word.edits_from(typed, edits_max);
            let edits = edits.filter(|edits| *edits < typed.chars);
            edits.map_or(TOO_MANY, |edits| u8::try_from(edits).unwrap_or(TOO_MANY))
        };
        self.words.iter().map(edits).collect()
    }
}

/// Returns how many edits turn one of these words into a typed word.
fn least_edits(words: &[u32], table: &EditTable) -> u8 {
    let edits = words.iter().map(|word| table[*word as usize]);
    edits.min().unwrap_or(TOO_MANY)
}

/// Returns whether all typed words of a reading are among these words, with at most this many edits
/// together.
fn has_reading(words: &[u32], reading: &[&EditTable], edits_max: usize) -> bool {
    let mut edits = 0;
    reading.iter().all(|table| {
        let least = least_edits(words, table);
        edits += usize::from(least);
        least != TOO_MANY && edits <= edits_max
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TITLES: [&str; 24] = [
        "The Third Man",
        "Die Zauberflöte hall Köln",
        "L’étoile du Nord Cinema 7, Street 7, City 3",
        "Un après-midi",
        "Ocean's Eleven",
        "Oceans Eleven hall-3",
        "Les Parapluies du Port",
        "千与千寻",
        "Up",
        "M",
        "",
        "…",
        "Winter Paper hall-12 Cinema 2, Hall 3, Street 2, City 0",
        "Paper Winter",
        "Der große Weg",
        "İstanbul",
        "Cœur de pierre",
        "para pluies",
        "Salt & Snow",
        "Nord und Süd",
        "Dr. Lantern",
        "หนังรักของฉัน",
        "トトロのもり",
        "Die Bruecke",
    ];

    #[test]
    fn an_index_finds_the_texts_that_a_comparison_with_each_text_finds() {
        let mut index = TextIndex::default();
        TITLES.iter().for_each(|title| index.add(title));
        let mut typed: Vec<String> = TITLES.iter().map(|title| (*title).to_owned()).collect();
        for title in TITLES {
            let chars: Vec<char> = title.chars().collect();
            for at in 0..chars.len() {
                let mut without = chars.clone();
                without.remove(at);
                typed.push(without.iter().collect());
                typed.push(chars[..at].iter().collect());
                let mut swapped = chars.clone();
                swapped.swap(at, (at + 1) % chars.len());
                typed.push(swapped.iter().collect());
            }
        }
        typed.extend(["paper paper wintr", "c ci cin", "x", "zz top", "hall 12"].map(String::from));
        for typed in typed {
            let words = SearchText::new(&typed);
            let each = TITLES.map(|title| {
                words.is_empty() || SearchText::new(title).match_typed(&words).is_some()
            });
            assert_eq!(index.matches(&words), each, "{typed:?}");
        }
    }
}
