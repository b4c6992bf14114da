//! Finds comment lines that are too long.

/// The most columns that a comment line should have.
pub const COMMENT_COLUMNS: usize = 100;

/// The signs of comments in a language. `line` begins a line comment. `opening` begins a block
/// comment, and `closing` ends it.
struct CommentSigns {
    line: &'static str,
    opening: &'static str,
    closing: &'static str,
}

fn signs_of(path: &str) -> Option<CommentSigns> {
    let (_, kind) = path.rsplit_once('.')?;
    Some(match kind {
        "rs" | "js" | "mjs" => CommentSigns {
            line: "//",
            opening: "/*",
            closing: "*/",
        },
        "lua" => CommentSigns {
            line: "--",
            opening: "--[[",
            closing: "]]",
        },
        "sql" => CommentSigns {
            line: "--",
            opening: "/*",
            closing: "*/",
        },
        _ => return None,
    })
}

/// Counts the comment lines of a file that are longer than [`COMMENT_COLUMNS`].
///
/// Comments after code on the same line do not count. Returns 0 for a file that is not Rust,
/// JavaScript, Lua or SQL.
pub fn count_long_comments(path: &str, text: &str) -> usize {
    let Some(signs) = signs_of(path) else {
        return 0;
    };
    let mut is_inside = false;
    let mut count = 0;
    for line in text.lines() {
        let words = line.trim();
        is_inside = is_inside || words.starts_with(signs.opening);
        let is_comment = is_inside || words.starts_with(signs.line);
        count += usize::from(is_comment && line.chars().count() > COMMENT_COLUMNS);
        is_inside = is_inside && !words.contains(signs.closing);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_comments_longer_than_the_limit_count() {
        let words = "x".repeat(COMMENT_COLUMNS - 3);
        let at_the_limit = format!("// {words}\n");
        assert_eq!(count_long_comments("a.rs", &at_the_limit), 0);
        assert_eq!(count_long_comments("a.rs", &format!("// {words}x\n")), 1);
        assert_eq!(
            count_long_comments("a.rs", &format!("let a = \"{words}{words}\";\n")),
            0
        );
        assert_eq!(count_long_comments("a.lua", &format!("-- {words}x\n")), 1);
        assert_eq!(count_long_comments("a.css", &format!("// {words}x\n")), 0);
    }

    #[test]
    fn every_line_of_a_block_comment_is_a_comment() {
        let words = "x".repeat(COMMENT_COLUMNS + 1);
        let text = format!("/*\n{words}\n{words} */\n{words}\n");
        assert_eq!(count_long_comments("a.js", &text), 2);
    }
}
