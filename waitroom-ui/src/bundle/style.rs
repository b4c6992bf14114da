//! Joins the styles of a page into one file without comments and superfluous whitespace.

/// The styles of each joined file, in their order. Every page has the base. The lobby loads `draw`,
/// `still` and `wish` later.
pub(super) const PAGE_STYLES: [(&str, &[&str]); 9] = [
    ("base", &["base", "lists", "still"]),
    ("draw", &["draw"]),
    ("lobby", &["base", "lobby"]),
    ("order", &["base", "lists", "order"]),
    ("search", &["base", "lists", "search"]),
    ("seats", &["base", "lists", "seats", "still"]),
    ("still", &["still"]),
    ("train", &["base", "lists", "seats", "search", "still"]),
    ("wish", &["wish"]),
];

/// Writes a style without comments. Strings stay as they are. A space stays where it may separate
/// two selectors or two values.
pub(super) fn shorten_style(source: &str) -> String {
    let mut out = String::new();
    let mut rest = source;
    let mut gap = false;
    while let Some(character) = rest.chars().next() {
        let length = match character {
            '/' if rest.starts_with("/*") => {
                gap = true;
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            }
            character if character.is_whitespace() => {
                gap = true;
                character.len_utf8()
            }
            quote @ ('"' | '\'') => {
                separate(&mut out, quote, &mut gap);
                let length = string_length(rest, quote);
                out.push_str(&rest[..length]);
                length
            }
            character => {
                separate(&mut out, character, &mut gap);
                if character == '}' && out.ends_with(';') {
                    out.pop();
                }
                out.push(character);
                character.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    out
}

fn separate(out: &mut String, character: char, gap: &mut bool) {
    let may_separate = !out.is_empty() && !out.ends_with(['{', '}', ';', ',', ':']);
    if std::mem::take(gap) && may_separate && !['{', '}', ';', ','].contains(&character) {
        out.push(' ');
    }
}

fn string_length(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        if character == quote && !escaped {
            return at + character.len_utf8();
        }
        escaped = character == '\\' && !escaped;
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_keeps_what_it_says() {
        for (source, expected) in [
            ("/* why */\na { b: c; }\n", "a{b:c}"),
            (
                ".a :hover, .b:hover > i { c: d  e, f; }",
                ".a :hover,.b:hover > i{c:d e,f}",
            ),
            (
                "a { width: calc(1px + 2px - (3px)); }",
                "a{width:calc(1px + 2px - (3px))}",
            ),
            (
                "a::before { content: \"/* ; } \\\" \"; }",
                "a::before{content:\"/* ; } \\\" \"}",
            ),
            (
                "@media (min-width: 3px) and (x) { a { b: c } }",
                "@media (min-width:3px) and (x){a{b:c}}",
            ),
            ("a/**/b {c: 'd  e'}", "a b{c:'d  e'}"),
            (
                ":root { --a: #fff; color: var(--a) !important }",
                ":root{--a:#fff;color:var(--a) !important}",
            ),
        ] {
            assert_eq!(shorten_style(source), expected);
        }
    }
}
