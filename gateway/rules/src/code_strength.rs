//! How well a list of codes withstands somebody who guesses. It is worked out from the shape of the
//! codes: how long the shortest is, and which kinds of characters the list has. It counts as if the
//! codes were random. Codes that follow a pattern are found sooner.

use crate::wrong_codes::WRONG_EVERY_MS;

/// A list of which all possible codes are fewer than two to this number is refused. At the room's
/// budget of wrong codes all of them are tried in about nine hours.
pub const REFUSED_BELOW_BITS: f64 = 16.0;
/// A list that withstands less than this is accepted with a warning.
pub const WARNED_BELOW_BITS: f64 = 40.0;

/// The shape of the codes of a list.
#[derive(Debug, Clone, Copy, Default)]
pub struct CodeShapes {
    has_digits: bool,
    has_letters: bool,
    has_other_letters: bool,
    has_signs: bool,
    shortest: Option<usize>,
}

impl CodeShapes {
    /// Notes a code in its normal form (see [`crate::join_codes::normal_form`]).
    pub fn note(&mut self, code: &str) {
        let mut length = 0;
        for char in code.chars() {
            length += 1;
            match char {
                'a'..='z' => self.has_letters = true,
                _ if char.is_numeric() => self.has_digits = true,
                _ if char.is_alphabetic() => self.has_other_letters = true,
                _ => self.has_signs = true,
            }
        }
        self.shortest = Some(
            self.shortest
                .map_or(length, |shortest| shortest.min(length)),
        );
    }

    /// Returns the strength of the list, which has this many codes.
    #[must_use]
    pub fn strength(self, codes: usize) -> CodeStrength {
        let kinds = [
            (self.has_digits, 10),
            (self.has_letters, 26),
            (self.has_other_letters, 26),
            (self.has_signs, 32),
        ];
        let seen = kinds.into_iter().filter(|(is_seen, _)| *is_seen);
        CodeStrength {
            alphabet: seen.map(|(_, characters)| characters).sum::<u32>().max(1),
            length: self.shortest.unwrap_or_default(),
            codes: codes.max(1),
        }
    }
}

/// How well a list of codes withstands somebody who guesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeStrength {
    alphabet: u32,
    length: usize,
    codes: usize,
}

impl CodeStrength {
    /// Returns the logarithm (to base 2) of the number of all possible codes.
    fn possible_bits(self) -> f64 {
        self.length as f64 * f64::from(self.alphabet).log2()
    }

    /// Returns the logarithm (to base 2) of the number of possible codes for each code of the list:
    /// 0 if every possible code is in the list. It has one decimal.
    #[must_use]
    pub fn withstands_bits(self) -> f64 {
        let bits = self.possible_bits() - (self.codes as f64).log2();
        (bits.max(0.0) * 10.0).round() / 10.0
    }

    /// Returns whether the codes are so short that all possible codes can be tried within one
    /// evening.
    #[must_use]
    pub fn is_refused(self) -> bool {
        self.possible_bits() < REFUSED_BELOW_BITS
    }

    /// Returns how long it takes to guess, in a sentence.
    #[must_use]
    pub fn told_time(self) -> String {
        let possible = self.possible_bits().exp2().max(self.codes as f64);
        let tries_s = WRONG_EVERY_MS as f64 / 1_000.0;
        let first_s = (possible + 1.0) / (self.codes as f64 + 1.0) * tries_s;
        format!(
            "At the 2 wrong codes a second that a room looks at, somebody who guesses finds a first code after about {} on average, and has tried all possible codes after {}.",
            told_span(first_s),
            told_span(possible * tries_s)
        )
    }

    /// Returns what a promoter should know of a list that withstands little, in a few sentences.
    #[must_use]
    pub fn warning(self) -> Option<String> {
        (self.withstands_bits() < WARNED_BELOW_BITS).then(|| {
            format!(
                "These codes withstand {} bits, and {WARNED_BELOW_BITS} are advised. {} Codes that follow a pattern or count up are found much sooner. {}",
                self.withstands_bits(),
                self.told_time(),
                self.advice()
            )
        })
    }

    /// Returns which codes to make instead, in a sentence.
    #[must_use]
    pub fn advice(self) -> String {
        let needed = WARNED_BELOW_BITS + (self.codes as f64).log2();
        let length = (needed / 36_f64.log2()).ceil();
        format!("Codes of {length} random letters and digits are strong enough for this list.")
    }

    /// Returns what the codes look like, such as "codes of 4 digits".
    #[must_use]
    pub fn told_shape(self) -> String {
        let characters = match self.alphabet {
            10 => "digits",
            26 => "letters",
            36 => "letters and digits",
            _ => "characters",
        };
        format!("codes of {} {characters}", self.length)
    }
}

/// Returns a span of time in words.
fn told_span(seconds: f64) -> String {
    const SPANS: [(f64, f64, &str); 5] = [
        (90.0, 1.0, "seconds"),
        (90.0 * 60.0, 60.0, "minutes"),
        (48.0 * 3_600.0, 3_600.0, "hours"),
        (730.0 * 86_400.0, 86_400.0, "days"),
        (1e6 * 31_557_600.0, 31_557_600.0, "years"),
    ];
    let found = SPANS.into_iter().find(|(below, ..)| seconds < *below);
    found.map_or_else(
        || "more than a million years".to_owned(),
        |(_, unit, name)| format!("{:.0} {name}", (seconds / unit).max(1.0)),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::join_codes::normal_form;

    fn strength<Code: AsRef<str>>(list: &[Code]) -> CodeStrength {
        let mut shapes = CodeShapes::default();
        for code in list {
            shapes.note(&normal_form(code.as_ref()));
        }
        shapes.strength(list.len())
    }

    #[test]
    fn the_alphabet_and_the_shortest_length_are_those_of_the_list() {
        for (list, possible, withstands) in [
            (&["1234"][..], 13.29, 13.3),
            (&["123456", "654321"], 19.93, 18.9),
            (&["12345678"], 26.58, 26.6),
            (&["abcdefgh", "ABCDEFGI"], 37.60, 36.6),
            (&["abcdefg8"], 41.36, 41.4),
            (&["FAN-001", "FAN-002"], 31.02, 30.0),
            (&["SPRING-A"], 32.90, 32.9),
            (&["RED-1", "RED-22"], 20.68, 19.7),
            (&["a1", "averylongcode2"], 10.34, 9.3),
            (&["ÄÖÜ1"], 20.68, 20.7),
            (&["ab.1"], 24.35, 24.3),
        ] {
            let found = strength(list);
            assert!(
                (found.possible_bits() - possible).abs() < 0.01,
                "{list:?}: {found:?}"
            );
            assert!(
                (found.withstands_bits() - withstands).abs() < 0.01,
                "{list:?}"
            );
        }
        let numbers: Vec<_> = (0..2_000).map(|of| format!("{of:06}")).collect();
        assert!((strength(&numbers).withstands_bits() - 9.0).abs() < 0.01);
    }

    #[test]
    fn only_a_list_whose_possible_codes_can_all_be_tried_in_an_evening_is_refused() {
        for (list, is_refused) in [
            (&["1234", "4321"][..], true),
            (&["abc"], true),
            (&["C-1", "C-2"], true),
            (&["12345"], false),
            (&["VIP1"], false),
            (&["BLUE"], false),
            (&["FAN-001", "FAN-002"], false),
            (&["SPRING-A", "SPRING-B"], false),
        ] {
            assert_eq!(strength(list).is_refused(), is_refused, "{list:?}");
        }
        let numbers: Vec<_> = (0..2_000).map(|of| format!("{of:06}")).collect();
        assert!(!strength(&numbers).is_refused());
    }

    #[test]
    fn the_time_is_told_in_words() {
        let told = |list: &[&str]| strength(list).told_time();
        let pin = told(&["1234"]);
        assert!(pin.contains("about 42 minutes on average"), "{pin}");
        assert!(pin.contains("all possible codes after 83 minutes"), "{pin}");
        let numbers: Vec<_> = (0..2_000).map(|of| format!("{of:06}")).collect();
        let numbers = strength(&numbers);
        let warned = numbers.warning().expect("a warning");
        for words in [
            "withstand 9 bits",
            "about 4 minutes",
            "after 6 days",
            "10 random",
        ] {
            assert!(warned.contains(words), "{words} is not in {warned}");
        }
        assert_eq!(numbers.told_shape(), "codes of 6 digits");
        let strong = strength(&["K7PQ2M9XTB"]);
        assert_eq!(strong.warning(), None);
        assert!(
            strong.told_time().contains("years"),
            "{}",
            strong.told_time()
        );
        let longest = strength(&["k7pq2m9xtbk7pq2m9xtb"]);
        assert!(longest.told_time().contains("more than a million years"));
    }

    proptest! {
        #[test]
        fn a_longer_code_is_never_weaker_and_a_longer_list_is_never_stronger(
            code in "[a-z0-9]{1,12}", more in "[a-z0-9]{1,4}", codes in 1_usize..100_000,
        ) {
            let of = |code: &str, codes| {
                let mut shapes = CodeShapes::default();
                shapes.note(code);
                shapes.strength(codes)
            };
            let (short, long) = (of(&code, codes), of(&(code.clone() + &more), codes));
            prop_assert!(long.withstands_bits() >= short.withstands_bits());
            prop_assert!(short.is_refused() || !long.is_refused());
            prop_assert!(of(&code, codes * 2).withstands_bits() <= short.withstands_bits());
            prop_assert!(short.withstands_bits() >= 0.0);
        }
    }
}
