//! Checks the names and the e-mail addresses that buyers type.

/// How many characters a name may have.
pub const NAME_CHARS_MAX: usize = 200;

/// How many characters an e-mail address may have.
const EMAIL_CHARS_MAX: usize = 200;

/// Returns a name as tickets print it: without blanks around it, and without marks that change the
/// direction of the text after them. Returns `None` if it is empty, too long or not printable.
#[must_use]
pub fn cleaned_name(typed: &str) -> Option<String> {
    let name: String = typed
        .chars()
        .filter(|char| !is_of_direction(*char))
        .collect();
    let name = name.trim_matches(|char: char| char.is_whitespace() || has_no_width(char));
    let is_printable = !name.chars().any(char::is_control);
    let chars = name.chars().count();
    ((1..=NAME_CHARS_MAX).contains(&chars) && is_printable).then(|| name.to_owned())
}

/// Returns whether a text is an e-mail address that a ticket may be sent to: one `@`, no blanks,
/// not even those of no width, and no brackets or quotes around it.
#[must_use]
pub fn is_email(typed: &str) -> bool {
    let is_plain = |char: char| {
        !char.is_whitespace()
            && !char.is_control()
            && !has_no_width(char)
            && !is_of_direction(char)
            && !"<>()[]\\,;:\"".contains(char)
    };
    let Some((local, domain)) = typed.split_once('@') else {
        return false;
    };
    let is_dotted = |text: &str| text.split('.').all(|part| !part.is_empty());
    typed.chars().count() <= EMAIL_CHARS_MAX
        && typed.chars().all(is_plain)
        && !domain.contains('@')
        && is_dotted(local)
        && is_dotted(domain)
        && domain.contains('.')
}

/// Returns whether a character sets the direction of the text after it. On a ticket or in a list,
/// it could turn around what somebody else wrote.
fn is_of_direction(char: char) -> bool {
    matches!(char, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns whether a character is drawn without any width. Inside a name, some scripts need a
/// joiner.
fn has_no_width(char: char) -> bool {
    matches!(char, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_direction_are_cleaned_from_names() {
        for (typed, expected) in [
            ("Ana Fan", Some("Ana Fan")),
            (" Ana Fan\u{a0}", Some("Ana Fan")),
            ("\u{202e}Ana\u{202c} Fan", Some("Ana Fan")),
            ("\u{2067}דנה\u{2069}\u{200f}", Some("דנה")),
            ("\u{feff}Ana\u{200b}", Some("Ana")),
            // A joiner inside a name is a part of the name.
            ("علی\u{200c}رضا", Some("علی\u{200c}رضا")),
            ("", None),
            (" ", None),
            ("\u{202e}\u{200b}", None),
            ("a\u{0}", None),
            ("a\nb", None),
        ] {
            assert_eq!(cleaned_name(typed).as_deref(), expected, "{typed:?}");
        }
        assert!(cleaned_name(&"x".repeat(200)).is_some());
        assert_eq!(cleaned_name(&"x".repeat(201)), None);
    }

    #[test]
    fn an_address_has_one_at_sign_and_nothing_that_nobody_sees() {
        for good in [
            "ana@example.org",
            "ana.fan+tickets@mail.example.org",
            "o'neil@example.org",
            "änne@bücher.example",
        ] {
            assert!(is_email(good), "{good}");
        }
        for bad in [
            "",
            "ana",
            "ana@example",
            "@example.org",
            "ana@@example.org",
            "ana@home@example.org",
            "ana@example.org@",
            "ana@.org",
            "ana@example.",
            "ana@example..org",
            ".ana@example.org",
            "ana@exam ple.org",
            "ana@example.org ",
            "ana\u{a0}@example.org",
            "ana\u{200b}@example.org",
            "\u{feff}ana@example.org",
            "ana@example\u{2060}.org",
            "\u{202e}ana@example.org",
            "<ana@example.org>",
            "Ana<ana@example.org>",
            "ana@example.org,ben@example.org",
            "ana@example.org\r\nBcc:ben@example.org",
        ] {
            assert!(!is_email(bad), "{bad:?}");
        }
    }
}
