//! Finds the commands in the text of a README: the commands of its blocks, and the commands that
//! its sentences and tables name.

/// The first words of commands.
const PROGRAMS: [&str; 9] = [
    "./test", "booking", "cargo", "curl", "docker", "gateway", "loadtest", "npx", "openssl",
];

/// Returns the commands of the blocks that are marked `sh`, in their order. Each command is one
/// line without its comment.
pub fn block_commands(text: &str) -> Vec<String> {
    let (mut found, mut begun, mut in_block) = (Vec::new(), String::new(), false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = line.trim() == "```sh";
            continue;
        }
        if !in_block {
            continue;
        }
        let line = without_comment(line);
        let (line, goes_on) = match line.strip_suffix('\\') {
            Some(line) => (line, true),
            None => (line, false),
        };
        begun = one_line(&format!("{begun} {line}"));
        if !goes_on && !begun.is_empty() {
            found.push(std::mem::take(&mut begun));
        }
    }
    found
}

/// Returns the paths of the pictures that a README shows.
pub fn pictures(text: &str) -> Vec<&str> {
    let after = text.split("![").skip(1);
    let links = after.filter_map(|picture| picture.split_once("]("));
    links
        .filter_map(|(_, link)| Some(link.split_once(')')?.0))
        .collect()
}

/// Returns the commands between backquotes outside of blocks.
pub fn named_commands(text: &str) -> Vec<String> {
    let (mut prose, mut in_block) = (String::new(), false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    let quoted = prose.split('`').skip(1).step_by(2);
    // In a table, a backslash stands before each bar.
    let quoted = quoted.map(|span| one_line(&span.replace("\\|", "|")));
    quoted.filter(|span| is_command(span)).collect()
}

/// Returns whether a span is a command, and not only the name of a program or a crate.
fn is_command(span: &str) -> bool {
    let is_setting = |word: &&str| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| {
            name.bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        })
    };
    let mut words = span.split(' ').skip_while(is_setting);
    let first = words.next().unwrap_or_default();
    PROGRAMS.contains(&first) && (first == "./test" || words.next().is_some())
}

/// Returns the line without the comment at its end. A `#` in quotes or within a word does not begin
/// a comment.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut before) = (None, ' ');
    for (at, one) in line.char_indices() {
        match (quote, one) {
            (None, '\'' | '"') => quote = Some(one),
            (Some(open), _) if open == one => quote = None,
            (None, '#') if before == ' ' => return line[..at].trim_end(),
            _ => {}
        }
        before = one;
    }
    line.trim_end()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn commands_are_found_without_their_comments_and_over_several_lines() {
    let text = "Run `cargo  run\n--release`, see `booking/model`.\n```sh\ncurl '#1' \\\n  -s   # a call\n\nexport A=1\n```\n";
    assert_eq!(block_commands(text), ["curl '#1' -s", "export A=1"]);
    assert_eq!(named_commands(text), ["cargo run --release"]);
}

#[test]
fn a_name_is_no_command_and_a_setting_before_a_command_is_part_of_it() {
    let text = "`gateway` `A_B=1 cargo test` `./test` `a \\| b` `loadtest x a\\|b`";
    let expected = ["A_B=1 cargo test", "./test", "loadtest x a|b"];
    assert_eq!(named_commands(text), expected);
}
