//! Brings texts into the form that is compared: words of small letters, without accents. People
//! write some words in several ways, so a text may have several readings.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{compose, is_combining_mark};

/// Words that join others. "&" is one, too. Titles are compared with them and without them.
const JOINING: [&str; 2] = ["and", "und"];

/// Words that are spelled out or shortened. The first of each row stands for all of them.
const SHORTENED: [&[&str]; 5] = [
    &["dr", "doctor", "doktor"],
    &["mr", "mister"],
    &["prof", "professor"],
    &["st", "saint", "sankt"],
    &["vs", "versus"],
];

/// A text of at most so many words may have been typed.
const TYPED_WORDS_MAX: usize = 24;

/// The words of a text in all its readings.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NormalText {
    /// The ways to divide the text into words and to spell them. The first one has the words as
    /// they stand, divided at everything but letters and digits. A long text has only the ways to
    /// divide it, because nobody types so much.
    pub readings: Vec<Vec<String>>,
    /// The words of a long text's other spellings that are in none of its readings, each once.
    pub other_words: Vec<String>,
    /// The words without spaces between them. Words that join others are left out, and words that
    /// may be shortened are short, so that different spellings of a title are the same here.
    pub whole: String,
}

impl NormalText {
    /// Reads a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let folded = folded(text);
        let split = words_of(&folded);
        let joined = folded.split_whitespace();
        let joined = joined.map(|word| word.chars().filter(|char| is_of_word(*char)).collect());
        let joined: Vec<String> = joined.filter(|word: &String| !word.is_empty()).collect();
        let whole = whole_of(&split);
        let mut readings = vec![split];
        if joined.len() < readings[0].len() {
            readings.push(joined);
        }
        let mut normal = Self {
            readings,
            other_words: Vec::new(),
            whole,
        };
        for spelling in spellings(&normal.readings[0], &folded, text) {
            normal.add(spelling);
        }
        normal
    }

    fn add(&mut self, spelling: Vec<String>) {
        if spelling.is_empty() || self.readings.contains(&spelling) {
            return;
        }
        if self.readings[0].len() <= TYPED_WORDS_MAX {
            return self.readings.push(spelling);
        }
        for word in spelling {
            let mut known = self.readings.iter().flatten().chain(&self.other_words);
            if !known.any(|known| *known == word) {
                self.other_words.push(word);
            }
        }
    }
}

/// Returns whether a text has letters of a script that has no spaces between words, such as Chinese
/// or Thai.
#[must_use]
pub fn is_unspaced(text: &str) -> bool {
    // Thai, Lao, Myanmar, Khmer, and from the radicals of Chinese on.
    text.contains(|char| {
        matches!(char, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..)
    })
}

/// Returns other spellings of a text, of which `plain` are the words.
fn spellings(plain: &[String], folded: &str, text: &str) -> Vec<Vec<String>> {
    let mut spellings = Vec::new();
    if let Some(spelled_out) = with_umlauts_spelled_out(text) {
        spellings.push(words_of(&self::folded(&spelled_out)));
    }
    if folded.contains(['&', '+']) {
        for joining in JOINING {
            let joined = folded.replace(['&', '+'], &format!(" {joining} "));
            spellings.push(words_of(&joined));
        }
    }
    for row in SHORTENED {
        if plain.iter().any(|word| row.contains(&word.as_str())) {
            for form in row {
                let spelled = |word: &String| {
                    let is_form = row.contains(&word.as_str());
                    if is_form {
                        (*form).to_owned()
                    } else {
                        word.clone()
                    }
                };
                spellings.push(plain.iter().map(spelled).collect());
            }
        }
    }
    let without = without_joining(plain);
    if without.len() < plain.len() && plain.len() <= TYPED_WORDS_MAX {
        spellings.push(without.into_iter().map(str::to_owned).collect());
        spellings.push(vec![plain.concat()]);
    }
    spellings
}

fn words_of(folded: &str) -> Vec<String> {
    let words = folded.split(|char: char| !is_of_word(char));
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// Returns whether a character belongs to a word. The signs for vowels and tones of some scripts,
/// such as Thai, are marks.
fn is_of_word(char: char) -> bool {
    char.is_alphanumeric() || is_combining_mark(char)
}

fn whole_of(words: &[String]) -> String {
    let short = |word: &str| {
        let row = SHORTENED.iter().find(|row| row.contains(&word));
        row.and_then(|row| row.first())
            .map_or(word.to_owned(), |short| (*short).to_owned())
    };
    without_joining(words).into_iter().map(short).collect()
}

/// Returns the words that do not only join others, or all words if there are no others.
fn without_joining(words: &[String]) -> Vec<&str> {
    let words = words.iter().map(String::as_str);
    let others: Vec<&str> = words
        .clone()
        .filter(|word| !JOINING.contains(word))
        .collect();
    if others.is_empty() {
        words.collect()
    } else {
        others
    }
}

/// Spells umlauts out as people do who have no keys for them. Returns `None` if there are none.
fn with_umlauts_spelled_out(text: &str) -> Option<String> {
    let mut spelled = String::with_capacity(text.len());
    let mut has_umlauts = false;
    for char in text.nfc().flat_map(char::to_lowercase) {
        let letters = match char {
            'ä' => "ae",
            'ö' | 'ø' => "oe",
            'ü' => "ue",
            'å' => "aa",
            char => {
                spelled.push(char);
                continue;
            }
        };
        has_umlauts = true;
        spelled.push_str(letters);
    }
    has_umlauts.then_some(spelled)
}

/// Returns a text in small letters and without accents. Letters that Unicode does not divide into a
/// plain letter and an accent become the plain letters that people type instead. Katakana become
/// hiragana.
fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for char in text.nfkd().filter(|char| !is_accent(*char)) {
        for char in char.to_lowercase() {
            match char {
                'æ' => folded.push_str("ae"),
                'œ' => folded.push_str("oe"),
                'ß' => folded.push_str("ss"),
                'þ' => folded.push_str("th"),
                'ø' => folded.push('o'),
                'ł' => folded.push('l'),
                'đ' | 'ð' => folded.push('d'),
                'ı' => folded.push('i'),
                // Making a letter lower case may add a new accent.
                char if is_accent(char) => {}
                char => push_kana(&mut folded, hiragana_of(char)),
            }
        }
    }
    folded
}

/// Returns whether a character is an accent or a point that people leave out. The signs of other
/// scripts stand for vowels and tones, without which a word is another one.
fn is_accent(char: char) -> bool {
    matches!(char,
        '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}'
        // The points of Hebrew, and the vowels of Arabic.
        | '\u{591}'..='\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{670}')
        && is_combining_mark(char)
}

fn hiragana_of(char: char) -> char {
    match char {
        '\u{30a1}'..='\u{30f6}' | '\u{30fd}' | '\u{30fe}' => {
            char::from_u32(u32::from(char) - 0x60).unwrap_or(char)
        }
        char => char,
    }
}

/// Adds a character. A sign that makes a kana another sound becomes one character with it.
fn push_kana(folded: &mut String, char: char) {
    if matches!(char, '\u{3099}' | '\u{309a}')
        && let Some(whole) = folded
            .chars()
            .next_back()
            .and_then(|last| compose(last, char))
    {
        folded.pop();
        folded.push(whole);
    } else {
        folded.push(char);
    }
}
