//! Finds results of Redis that are read by their place in a list. A script or a store that counts
//! places reads another value as soon as the list changes, and nothing fails.

use std::collections::BTreeSet;

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The methods that take a place in a list.
const METHODS_WITH_A_PLACE: [&str; 6] = ["chunks", "chunks_exact", "get", "nth", "remove", "skip"];
/// The keywords after which brackets are not an index.
const KEYWORDS: [&str; 6] = ["break", "else", "in", "match", "return", "yield"];

/// Returns the numbers of the lines of a Lua script that read or answer values by their place:
///
/// - an index that is a number (`life[3]`), a sum with one (`flat[at + 1]`), or the variable of a
///   loop with a step (`for at = 1, #flat, 2`);
/// - `unpack` outside the arguments of a call, and `select`;
/// - `KEYS` and `ARGV`, because the arguments of scripts have names;
/// - an answer that lists unlike values without names (`return { 'let', 1 }`).
pub fn lua_lines_with_places(text: &str) -> BTreeSet<usize> {
    let code = without_comments_and_texts(text);
    let stepped: Vec<&str> = code.lines().filter_map(stepped_variable).collect();
    let has_place = |line: &str| {
        indexes(line).any(|index| is_place(index, &stepped))
            || has_unpacked_result(line)
            || ["select", "KEYS", "ARGV"]
                .iter()
                .any(|word| words(line).any(|other| other == *word))
            || answers_without_names(line)
    };
    let lines = code.lines().enumerate();
    lines
        .filter(|(_, line)| has_place(line))
        .map(|(index, _)| index + 1)
        .collect()
}

/// Returns the numbers of the lines of a Rust file that read by a place: an index that is a number
/// (`call[0]`), or a method like `get` or `skip` with a number. Items under `#[cfg(test)]` do not
/// count.
///
/// # Errors
/// Where the text is not Rust.
pub fn rust_lines_with_places(text: &str) -> Result<BTreeSet<usize>> {
    let tokens: TokenStream = text.parse().map_err(|_| anyhow!("this is not Rust"))?;
    let mut lines = BTreeSet::new();
    find_rust_places(tokens, &mut lines);
    Ok(lines)
}

/// Replaces comments and the contents of texts by nothing. Keeps the ends of lines.
fn without_comments_and_texts(text: &str) -> String {
    let mut code = String::new();
    for line in text.lines() {
        let mut quote = None;
        let mut letters = line.chars().peekable();
        while let Some(letter) = letters.next() {
            match quote {
                Some(_) if letter == '\\' => {
                    letters.next();
                }
                Some(end) if letter == end => {
                    quote = None;
                    code.push(letter);
                }
                Some(_) => {}
                None if letter == '-' && letters.peek() == Some(&'-') => break,
                None => {
                    quote = ['\'', '"'].contains(&letter).then_some(letter);
                    code.push(letter);
                }
            }
        }
        code.push('\n');
    }
    code
}

fn is_word_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !is_word_letter(letter))
}

/// Returns the variable of a loop that has a step, as in `for at = 1, #flat, 2 do`.
fn stepped_variable(line: &str) -> Option<&str> {
    let head = line.trim_start().strip_prefix("for ")?;
    let (variable, bounds) = head.split_once(" = ")?;
    let (bounds, _) = bounds.rsplit_once(" do")?;
    let (_, step) = bounds.rsplit_once(", ")?;
    let has_step = bounds.matches(", ").count() > 1 && step.parse::<u32>().is_ok();
    has_step.then_some(variable)
}

/// Returns what stands in the brackets of every index of a line. Brackets of a table constructor
/// are not an index.
fn indexes(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices('[').filter_map(move |(at, _)| {
        let before = line[..at].chars().next_back()?;
        let is_index = is_word_letter(before) || [')', ']'].contains(&before);
        let (index, _) = line[at + 1..].split_once(']')?;
        is_index.then(|| index.trim())
    })
}

fn is_place(index: &str, stepped: &[&str]) -> bool {
    let is_number = |text: &str| text.parse::<u32>().is_ok();
    // `list[#list + 1] = value` appends to a list.
    let is_sum = !index.starts_with('#')
        && index
            .rsplit_once([' ', '+', '-'])
            .is_some_and(|(_, last)| is_number(last));
    is_number(index) || is_sum || stepped.contains(&index)
}

/// Returns whether a line unpacks a list elsewhere than in the arguments of a call of Redis.
fn has_unpacked_result(line: &str) -> bool {
    line.match_indices("unpack(").any(|(at, _)| {
        let before = &line[..at];
        let is_of_struct = before.ends_with('.');
        let inside_call = before.rfind("call(").is_some_and(|call| {
            let opened = before[call..].matches('(').count();
            opened > before[call..].matches(')').count()
        });
        !is_of_struct && !inside_call
    })
}

/// Returns whether a line returns a table that begins with a value that has no name.
fn answers_without_names(line: &str) -> bool {
    line.match_indices("return {").any(|(at, found)| {
        let first = line[at + found.len()..].trim_start();
        let after_name = first.trim_start_matches(is_word_letter).trim_start();
        let has_name = after_name.starts_with('=') && !after_name.starts_with("==");
        !first.starts_with('}') && !has_name
    })
}

fn find_rust_places(tokens: TokenStream, lines: &mut BTreeSet<usize>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut is_for_tests = false;
    for (index, token) in tokens.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| &tokens[before]);
        match token {
            TokenTree::Group(group) => {
                let is_attribute =
                    matches!(before, Some(TokenTree::Punct(sign)) if sign.as_char() == '#');
                if is_attribute {
                    is_for_tests |= group.stream().to_string().replace(' ', "") == "cfg(test)";
                    continue;
                }
                if group.delimiter() == Delimiter::Bracket
                    && before.is_some_and(is_indexed)
                    && is_single_number(&group.stream())
                {
                    lines.insert(group.span_open().start().line);
                }
                if !is_for_tests {
                    find_rust_places(group.stream(), lines);
                }
                is_for_tests &= group.delimiter() != Delimiter::Brace;
            }
            TokenTree::Ident(word) if METHODS_WITH_A_PLACE.contains(&word.to_string().as_str()) => {
                let is_method =
                    matches!(before, Some(TokenTree::Punct(sign)) if sign.as_char() == '.');
                if let Some(TokenTree::Group(arguments)) = tokens.get(index + 1)
                    && is_method
                    && is_single_number(&arguments.stream())
                {
                    lines.insert(word.span().start().line);
                }
            }
            TokenTree::Punct(sign) if sign.as_char() == ';' => is_for_tests = false,
            _ => {}
        }
    }
}

/// Returns whether brackets after this token are an index.
fn is_indexed(before: &TokenTree) -> bool {
    match before {
        TokenTree::Ident(word) => !KEYWORDS.contains(&word.to_string().as_str()),
        TokenTree::Group(group) => group.delimiter() != Delimiter::Brace,
        TokenTree::Punct(sign) => sign.as_char() == '?',
        TokenTree::Literal(_) => false,
    }
}

fn is_single_number(tokens: &TokenStream) -> bool {
    tokens.to_string().parse::<u32>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lua_has_place(line: &str) -> bool {
        !lua_lines_with_places(line).is_empty()
    }

    #[test]
    fn a_lua_line_that_reads_or_answers_by_a_place_is_found() {
        for line in [
            "local inside = counts(now_s)[3] + 1",
            "if tonumber(meta[8]) > 0 then",
            "local key = call('ZRANGE', key, 0, 0)[1]",
            "local owner, stage = unpack(call('HMGET', key, 'v', 's'))",
            "local value = flat[at + 1]",
            "return { 'let', 1 }",
            "return {'OK', at}",
            "return { version, bits }",
            "local id = ARGV[at]",
            "local last = select(2, ...)",
        ] {
            assert!(lua_has_place(line), "{line}");
        }
    }

    #[test]
    fn a_walk_over_pairs_is_found_where_it_reads() {
        let walk = "for at = 1, #flat, 2 do\n  drop(flat[at])\nend\n";
        assert_eq!(lua_lines_with_places(walk), BTreeSet::from([2]));
        let bytes = "for at = 1, #items, 16 do\n  add(string.sub(items, at, at + 15))\nend\n";
        assert!(!lua_has_place(bytes), "items are bytes");
    }

    #[test]
    fn names_and_lists_of_like_items_are_no_places() {
        for line in [
            "local inside = counts(now_s).inside",
            "cells[#cells + 1] = cell",
            "tallies[field] = tonumber(count)",
            "call('BITOP', 'OR', K('here'), unpack(seen))",
            "local seat = struct.unpack('<I4', item)",
            "return named({ kind = 'let', first = 1 })",
            "return { kind = 'let' }",
            "return {}",
            "-- as meta[8] was",
            "local text = 'flat[1]'",
        ] {
            assert!(!lua_has_place(line), "{line}");
        }
    }

    #[test]
    fn a_rust_line_that_reads_by_a_place_is_found() {
        let text = "fn f() {\n  a(call[0]);\n  reply.list()?[1];\n  m!(list.iter().skip(3));\n}\n";
        let found = rust_lines_with_places(text).expect("it is Rust");
        assert_eq!(found, BTreeSet::from([2, 3, 4]));
    }

    #[test]
    fn arrays_types_batches_and_tests_are_no_places() {
        let text = "#[a(1)]\nfn f(x: [u8; 32]) -> u8 { let y = [0]; for z in [1] {} vec![2]; \
                    list.chunks(BATCH); list[n]; list[1..] }\n\
                    #[cfg(test)]\nmod tests { fn g() { a[0]; } }\n";
        let found = rust_lines_with_places(text).expect("it is Rust");
        assert!(found.is_empty(), "{found:?}");
    }
}
