//! Splits a script into tokens and writes tokens without comments and superfluous whitespace. This
//! module handles only as much of JavaScript as the scripts of these pages use. In these scripts a
//! regular expression never follows directly after `)` or `}`, where only a parser could
//! distinguish it from a division.

use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name, a keyword or a number.
    Word,
    /// A string, a template or a regular expression, which is never changed.
    Literal,
    /// One character of an operator or a bracket.
    Sign,
}

#[derive(Clone, Debug)]
pub(super) struct Token<'a> {
    pub text: Cow<'a, str>,
    pub kind: TokenKind,
    /// What stands between this token and the one before it.
    pub gap: Gap,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    None,
    Space,
    Line,
}

impl Token<'_> {
    pub fn is(&self, text: &str) -> bool {
        self.kind != TokenKind::Literal && self.text == text
    }
}

/// The words after which a slash begins a regular expression. After any other word, a slash means
/// division.
const BEFORE_A_VALUE: [&str; 12] = [
    "await",
    "case",
    "delete",
    "do",
    "else",
    "in",
    "instanceof",
    "of",
    "return",
    "throw",
    "typeof",
    "yield",
];

/// Splits a script into its tokens.
///
/// # Errors
/// Says what is wrong if a comment or a literal does not end.
pub(super) fn tokens(source: &str) -> Result<Vec<Token<'_>>, String> {
    let mut scanner = Scanner { source, at: 0 };
    let mut tokens: Vec<Token<'_>> = Vec::new();
    while let Some(token) = scanner.next(tokens.last())? {
        tokens.push(token);
    }
    Ok(tokens)
}

struct Scanner<'a> {
    source: &'a str,
    at: usize,
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

impl<'a> Scanner<'a> {
    fn byte(&self, ahead: usize) -> u8 {
        let bytes = self.source.as_bytes();
        bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn next(&mut self, previous: Option<&Token<'_>>) -> Result<Option<Token<'a>>, String> {
        let gap = self.skip_gap()?;
        let start = self.at;
        let kind = match self.byte(0) {
            0 => return Ok(None),
            b'"' | b'\'' => self.quoted()?,
            b'`' => self.template()?,
            b'/' if previous.is_none_or(expects_value) => self.regular_expression()?,
            b'.' if self.byte(1).is_ascii_digit() => self.word(),
            byte if is_word(byte) => self.word(),
            _ => {
                self.at += 1;
                TokenKind::Sign
            }
        };
        let text = Cow::Borrowed(&self.source[start..self.at]);
        Ok(Some(Token { text, kind, gap }))
    }

    /// Moves over whitespace and comments.
    fn skip_gap(&mut self) -> Result<Gap, String> {
        let mut gap = Gap::None;
        loop {
            let length = match (self.byte(0), self.byte(1)) {
                (b'\n', _) => {
                    gap = Gap::Line;
                    1
                }
                (b' ' | b'\t' | b'\r', _) => 1,
                (b'/', b'/') => self.length_until("\n").unwrap_or(self.rest().len()),
                (b'/', b'*') => {
                    let length = self.length_until("*/").ok_or("a comment does not end")? + 2;
                    if self.rest()[..length].contains('\n') {
                        gap = Gap::Line;
                    }
                    length
                }
                _ => return Ok(gap),
            };
            self.at += length;
            gap = gap.max(Gap::Space);
        }
    }

    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn length_until(&self, end: &str) -> Option<usize> {
        self.rest().find(end)
    }

    fn word(&mut self) -> TokenKind {
        self.at += 1;
        while is_word(self.byte(0)) {
            self.at += 1;
        }
        TokenKind::Word
    }

    fn quoted(&mut self) -> Result<TokenKind, String> {
        let quote = self.byte(0);
        self.at += 1;
        loop {
            match self.byte(0) {
                0 | b'\n' => return Err("a string does not end".to_owned()),
                b'\\' => self.at += 2,
                byte => {
                    self.at += 1;
                    if byte == quote {
                        return Ok(TokenKind::Literal);
                    }
                }
            }
        }
    }

    /// Moves over a template, and over the code inside its `${…}`.
    fn template(&mut self) -> Result<TokenKind, String> {
        self.at += 1;
        loop {
            match (self.byte(0), self.byte(1)) {
                (0, _) => return Err("a template does not end".to_owned()),
                (b'\\', _) => self.at += 2,
                (b'`', _) => {
                    self.at += 1;
                    return Ok(TokenKind::Literal);
                }
                (b'$', b'{') => {
                    self.at += 2;
                    self.code_in_template()?;
                }
                _ => self.at += 1,
            }
        }
    }

    fn code_in_template(&mut self) -> Result<(), String> {
        let mut depth = 1;
        let mut previous: Option<Token<'_>> = None;
        while depth > 0 {
            let token = self.next(previous.as_ref())?;
            let token = token.ok_or("the code in a template does not end")?;
            depth += i32::from(token.is("{")) - i32::from(token.is("}"));
            previous = Some(token);
        }
        Ok(())
    }

    fn regular_expression(&mut self) -> Result<TokenKind, String> {
        let mut in_class = false;
        self.at += 1;
        loop {
            match self.byte(0) {
                0 | b'\n' => return Err("a regular expression does not end".to_owned()),
                b'\\' => self.at += 1,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'/' if !in_class => break,
                _ => {}
            }
            self.at += 1;
        }
        self.word(); // The slash and the flags.
        Ok(TokenKind::Literal)
    }
}

/// Returns whether a value, not an operator, follows this token.
fn expects_value(previous: &Token<'_>) -> bool {
    match previous.kind {
        TokenKind::Word => BEFORE_A_VALUE.contains(&&*previous.text),
        TokenKind::Literal => false,
        TokenKind::Sign => !matches!(&*previous.text, ")" | "]" | "}"),
    }
}

/// Writes tokens with no more whitespace than the language needs. A line break stays wherever the
/// language might insert a semicolon.
pub(super) fn write(tokens: &[Token<'_>]) -> String {
    let mut out = String::new();
    for token in tokens {
        let (last, first) = (out.bytes().last(), token.text.bytes().next());
        if let (Some(last), Some(first)) = (last, first) {
            let continues = token.kind == TokenKind::Sign && b"})],;.?:=&|".contains(&first)
                || b"{([,;=&|?:<>".contains(&last);
            if token.gap == Gap::Line && !continues {
                out.push('\n');
            } else if token.gap != Gap::None && must_be_apart(last, first) {
                out.push(' ');
            }
        }
        out.push_str(&token.text);
    }
    out
}

/// Returns whether two characters would mean something else without a space between them.
fn must_be_apart(last: u8, first: u8) -> bool {
    let words = is_word(last) && is_word(first) || last.is_ascii_digit() && first == b'.';
    words || last == first && matches!(last, b'+' | b'-') || last == b'/' || first == b'/'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &str) {
        let tokens = tokens(source).unwrap_or_else(|fault| panic!("{source}: {fault}"));
        assert_eq!(write(&tokens), expected);
    }

    #[test]
    fn comments_and_superfluous_whitespace_are_left_out() {
        check(
            "// why\nconst a = 1; /* b */ let c\n  = 2;",
            "const a=1;let c=2;",
        );
        check("f(\n  a,\n  b,\n);\n\ng();", "f(a,b,);g();");
        check("if (a) {\n  b();\n}\nc();", "if(a){b();}\nc();");
        check("a\n  .b()\n  ?.c;", "a.b()?.c;");
    }

    #[test]
    fn a_line_break_stays_where_a_semicolon_may_be_meant() {
        check("return\n1", "return\n1");
        check("a\n++b", "a\n++b");
        check("a /* one\ntwo */ b", "a\nb");
        check("let a = 1\n(b)", "let a=1\n(b)");
    }

    #[test]
    fn operators_and_words_do_not_grow_together() {
        check("a + +b - -c + ++d", "a+ +b- -c+ ++d");
        check("typeof a in b", "typeof a in b");
        check("1 .toFixed() + 0.5 + .5", "1 .toFixed()+0.5+.5");
        check("\"a\" in b", "\"a\"in b");
    }

    #[test]
    fn strings_templates_and_regular_expressions_stay_as_they_are() {
        for kept in [
            r#"f("a  // b \" /* c */")"#,
            "f('`  ')",
            r"f(/[/]\/  \[\/\/'/gu)",
            "f(`a  // ${b ? `${ c }  }` : \"}\"} /* d */ \\` `)",
            "`${ {a: 1}.a / 2 }`",
        ] {
            check(kept, kept);
        }
        check("a = b / c / d // e", "a=b / c / d");
        check("return /a  b/.test(c)", "return /a  b/.test(c)");
        check("x[0] / 2; (y) / 3 /* ' */", "x[0] / 2;(y) / 3");
    }

    #[test]
    fn what_does_not_end_is_refused() {
        for bad in ["\"a", "`a", "`${a", "/* a", "a = /b", "'a\n'"] {
            assert!(tokens(bad).is_err(), "{bad}");
        }
    }
}
