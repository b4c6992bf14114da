//! Removes control characters from texts, and quotes the text around a spot.

use std::borrow::Cow;
use std::fmt::Write as _;

/// How many characters before a spot are quoted. As many are quoted from the spot on.
const QUOTED: usize = 20;

/// Returns a text without control characters. Tabs become spaces, `\r\n` becomes `\n`, and any
/// other `\r` becomes a space. If anything was changed, the note says what and where.
pub fn without_controls(text: &str) -> (Cow<'_, str>, Option<String>) {
    let bad = |char: char| char.is_control() && char != '\n';
    let Some(first) = text.chars().position(bad) else {
        return (Cow::Borrowed(text), None);
    };
    let count = text.chars().filter(|char| bad(*char)).count();
    let mended = text.replace("\r\n", "\n").replace(['\t', '\r'], " ");
    let mended: String = mended.chars().filter(|char| !bad(*char)).collect();
    let (what, others) = match count {
        1 => ("The control character", String::new()),
        _ => (
            "A control character",
            match count - 1 {
                1 => ", and so was 1 more in this text".to_owned(),
                more => format!(", and so were {more} more in this text"),
            },
        ),
    };
    let note = format!(
        "{what} in {} was left out or became a space{others}.",
        quote_around(text, first)
    );
    (Cow::Owned(mended), Some(note))
}

/// Quotes the characters of a text around a position, which is counted in characters.
pub fn quote_around(text: &str, at: usize) -> String {
    let start = at.saturating_sub(QUOTED);
    let mut rest = text.chars().skip(start);
    let part: String = rest.by_ref().take(2 * QUOTED).collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if rest.next().is_some() { "…" } else { "" };
    format!("{before}{part:?}{after}")
}

/// A JSON text with escapes instead of the control characters within its strings.
pub struct EscapedJson {
    /// The text.
    pub text: String,
    /// The places in `text` where an escape replaces a line break, in bytes.
    line_breaks: Vec<usize>,
}

impl EscapedJson {
    /// Returns the line in the original text of a line and a column in [`Self::text`].
    pub fn original_line(&self, line: usize, column: usize) -> usize {
        let lines = self.text.split_inclusive('\n');
        let start: usize = lines.take(line.saturating_sub(1)).map(str::len).sum();
        let before = |at: &usize| *at < start + column;
        line + self.line_breaks.partition_point(before)
    }
}

/// Replaces control characters within the strings of a JSON text by escapes. JSON forbids such
/// characters there, but programs that do not use a JSON library write them. A control character
/// after a backslash stays, because with an escape the backslash would stand for itself.
pub fn escape_controls_in_strings(text: &str) -> EscapedJson {
    let mut escaped = String::with_capacity(text.len() + 16);
    let mut line_breaks = Vec::new();
    let (mut in_string, mut after_backslash) = (false, false);
    for char in text.chars() {
        match char {
            '"' if !after_backslash => in_string = !in_string,
            '\0'..' ' if in_string && !after_backslash => {
                if char == '\n' {
                    line_breaks.push(escaped.len());
                }
                // Writing to a string cannot fail.
                let _ = write!(escaped, "\\u{:04x}", u32::from(char));
                continue;
            }
            _ => {}
        }
        after_backslash = in_string && char == '\\' && !after_backslash;
        escaped.push(char);
    }
    EscapedJson {
        text: escaped,
        line_breaks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_left_out_and_the_note_quotes_the_first() {
        for (text, mended, quoted) in [
            ("plain\ntext", "plain\ntext", None),
            ("be\u{7}ll", "bell", Some(r#"in "be\u{7}ll" was"#)),
            ("a\tb", "a b", Some(r#""a\tb""#)),
            ("a\r\nb\rc", "a\nb c", Some("and so was 1 more")),
            ("\u{85}\u{0}", "", Some("and so was 1 more")),
        ] {
            let (found, note) = without_controls(text);
            assert_eq!(found, mended, "{text:?}");
            match quoted {
                None => assert_eq!(note, None, "{text:?}"),
                Some(quoted) => {
                    let note = note.expect("a note");
                    assert!(note.contains(quoted), "{note} lacks {quoted}");
                }
            }
        }
    }

    #[test]
    fn a_quote_shows_the_text_around_the_spot() {
        let text = format!("{}X{}", "a".repeat(50), "b".repeat(50));
        let expected = format!("…{:?}…", format!("{}X{}", "a".repeat(20), "b".repeat(19)));
        assert_eq!(quote_around(&text, 50), expected);
        assert_eq!(quote_around("kurz", 2), "\"kurz\"");
    }

    #[test]
    fn only_controls_within_strings_are_escaped() {
        let text = "{\n\t\"a\\\"\tb\": \"c\nd\\\\\",\t\"e\": 1}";
        let expected = "{\n\t\"a\\\"\\u0009b\": \"c\\u000ad\\\\\",\t\"e\": 1}";
        assert_eq!(escape_controls_in_strings(text).text, expected);
        let with_backslash = "{\"a\": \"b\\\u{7}\",\n\"c\": 1}";
        assert_eq!(
            escape_controls_in_strings(with_backslash).text,
            with_backslash
        );
    }
}
