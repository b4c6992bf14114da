//! The codes with which visitors join a room. People read codes from letters and tickets and type
//! them on phones. So letters' case, blanks, dashes, quotes and a byte order mark do not matter.
//! Only the digests of codes are stored.

use fairgate_pass::Digest;
use unicode_normalization::UnicodeNormalization;

/// The digests under which a code may be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinCode {
    /// The digest of the code's normal form. New codes are stored under it.
    pub normal: Digest,
    /// The digest of the code as it was typed, without blanks around it. Codes that were stored
    /// before there was a normal form are found by it.
    pub as_typed: Digest,
}

impl JoinCode {
    /// Returns the digests of a code that somebody typed.
    #[must_use]
    pub fn of_typed(text: &str) -> Self {
        Self {
            normal: Digest::of_bytes(normal_form(text).as_bytes()),
            as_typed: Digest::of_bytes(text.trim().as_bytes()),
        }
    }

    /// Returns the digests in the order in which they are looked up, each once.
    pub fn digests(self) -> impl Iterator<Item = Digest> {
        let other = (self.as_typed != self.normal).then_some(self.as_typed);
        [self.normal].into_iter().chain(other)
    }
}

/// Returns a code in the form that is compared: small letters, without blanks, dashes, quotes and
/// characters that nobody sees. Wide letters and accents that are characters of their own count as
/// the letters that they look like.
#[must_use]
pub fn normal_form(text: &str) -> String {
    let meant = text.chars().filter(|char| !does_not_matter(*char));
    let small: String = meant.nfkc().flat_map(char::to_lowercase).collect();
    // Some wide signs are dashes and quotes only after they were made narrow.
    small.nfc().filter(|char| !does_not_matter(*char)).collect()
}

fn does_not_matter(char: char) -> bool {
    char.is_whitespace() || is_dash(char) || is_quote(char) || is_unseen(char)
}

/// Returns whether a character is one of the dashes of keyboards and of phones, which replace two
/// hyphens by a long dash.
fn is_dash(char: char) -> bool {
    matches!(
        char,
        '-' | '_' | '\u{2010}'
            ..='\u{2015}'
                | '\u{2212}'
                | '\u{2e3a}'
                | '\u{2e3b}'
                | '\u{fe58}'
                | '\u{fe63}'
                | '\u{ff0d}'
    )
}

fn is_quote(char: char) -> bool {
    matches!(
        char,
        '"' | '\'' | '`' | '\u{b4}' | '\u{ab}' | '\u{bb}' | '\u{2018}'
            ..='\u{201f}' | '\u{2039}' | '\u{203a}'
    )
}

/// Returns whether a character has no width: a soft hyphen, a joiner, a mark of direction, or a
/// byte order mark.
fn is_unseen(char: char) -> bool {
    matches!(char, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_blanks_dashes_quotes_and_byte_order_marks_do_not_matter() {
        for typed in [
            "FAN-2027-AAAA",
            "fan-2027-aaaa",
            "\u{feff}FAN-2027-AAAA",
            " FAN 2027\u{a0}AAAA\r",
            "\"FAN-2027-AAAA\"",
            "“FAN—2027–AAAA”",
            "FAN\u{2011}2027\u{2212}AAAA",
            "fan2027aaaa",
            "FAN\u{200b}-2027-AAAA\u{200f}",
            "ＦＡＮ－２０２７－ＡＡＡＡ",
        ] {
            assert_eq!(normal_form(typed), "fan2027aaaa", "{typed:?}");
        }
        assert_eq!(normal_form("CAFE\u{301}"), normal_form("café"));
        for other in ["FAN-2027-AAAB", "FAN-2027", "FAN-2027-ÁAAA"] {
            assert_ne!(normal_form(other), "fan2027aaaa", "{other}");
        }
        for nothing in ["", " ", "\u{feff}", "--", "\"\"", "\u{200b}"] {
            assert_eq!(normal_form(nothing), "", "{nothing:?}");
        }
    }

    #[test]
    fn a_code_that_was_stored_before_is_found_as_it_was_typed() {
        let stored = Digest::of_bytes(b"FAN-2027-AAAA");
        let typed = JoinCode::of_typed(" FAN-2027-AAAA ");
        assert!(typed.digests().any(|digest| digest == stored));
        let one = JoinCode::of_typed("abc").digests();
        assert_eq!(one.count(), 1, "both forms are the same");
    }
}
