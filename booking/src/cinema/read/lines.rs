//! Finds the lines of paths in a JSON text. The JSON parser does not report the lines of values, so
//! a text with faults or notes is read a second time here.

use std::collections::{HashMap, HashSet};

/// Returns the line of each path, counted from 1. For a path that does not exist, returns the line
/// of the nearest outer value that exists. The text must be valid JSON, except that it may
/// have control characters within quotes.
pub fn line_numbers<'p>(text: &str, paths: impl Iterator<Item = &'p str> + Clone) -> Vec<usize> {
    let wanted: HashSet<&str> = paths.clone().flat_map(with_outer).collect();
    let mut walk = JsonLineFinder {
        bytes: text.as_bytes(),
        at: 0,
        line: 1,
        path: String::new(),
        wanted: &wanted,
        found: HashMap::new(),
    };
    walk.walk_value();
    let found = walk.found;
    let line = |path: &str| with_outer(path).find_map(|path| found.get(path).copied());
    paths.map(|path| line(path).unwrap_or(1)).collect()
}

/// Returns a path, then the path of the value around it, and so on outwards.
fn with_outer(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| {
        path.rfind(['.', '[']).map(|end| &path[..end])
    })
}

struct JsonLineFinder<'t> {
    bytes: &'t [u8],
    at: usize,
    line: usize,
    path: String,
    wanted: &'t HashSet<&'t str>,
    found: HashMap<String, usize>,
}

impl JsonLineFinder<'_> {
    fn walk_value(&mut self) {
        self.skip_space();
        if self.wanted.contains(self.path.as_str()) {
            // If an object has a field twice, the later one counts.
            self.found.insert(self.path.clone(), self.line);
        }
        match self.current_byte() {
            Some(b'{') => self.walk_members(),
            Some(b'[') => self.walk_elements(),
            Some(b'"') => drop(self.read_quoted_text()),
            _ => {
                while self
                    .current_byte()
                    .is_some_and(|byte| !b",]} \t\r\n".contains(&byte))
                {
                    self.at += 1;
                }
            }
        }
    }

    fn walk_members(&mut self) {
        self.at += 1;
        loop {
            self.skip_space();
            match self.current_byte() {
                Some(b'"') => {}
                Some(b',') => {
                    self.at += 1;
                    continue;
                }
                _ => break,
            }
            let key = self.read_quoted_text();
            self.skip_space();
            // Skips the colon.
            self.at += 1;
            let outer = self.path.len();
            if outer > 0 {
                self.path.push('.');
            }
            self.path.push_str(&key);
            self.walk_value();
            self.path.truncate(outer);
        }
        self.at += 1;
    }

    fn walk_elements(&mut self) {
        self.at += 1;
        let mut index = 0;
        loop {
            self.skip_space();
            match self.current_byte() {
                Some(b',') => self.at += 1,
                None | Some(b']') => break,
                Some(_) => {
                    let outer = self.path.len();
                    self.path.push_str(&format!("[{index}]"));
                    self.walk_value();
                    self.path.truncate(outer);
                    index += 1;
                }
            }
        }
        self.at += 1;
    }

    /// Reads a text in quotes, and returns it without resolving its escapes.
    fn read_quoted_text(&mut self) -> String {
        let start = self.at + 1;
        self.at = start;
        while let Some(byte) = self.current_byte() {
            match byte {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => {
                    // JSON forbids line breaks within quotes, but this text may have some. They
                    // were escaped only in the copy that was parsed.
                    self.line += usize::from(byte == b'\n');
                    self.at += 1;
                }
            }
        }
        let text = self.bytes.get(start..self.at).unwrap_or_default();
        self.at += 1;
        String::from_utf8_lossy(text).into_owned()
    }

    fn skip_space(&mut self) {
        while let Some(byte @ (b' ' | b'\t' | b'\r' | b'\n')) = self.current_byte() {
            self.line += usize::from(byte == b'\n');
            self.at += 1;
        }
    }

    fn current_byte(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_path_has_the_line_of_its_value_and_a_missing_path_that_of_the_outer_value() {
        let text = "{\"d\": 0,\n \"a\": [1, {\"b\\\"\": \"]}\",\n  \"c\": -1.5e3 },\n  [[], {}]],\n \"d\":\n  null}";
        for (path, line) in [
            ("a", 2),
            ("a[0]", 2),
            ("a[1]", 2),
            ("a[1].c", 3),
            ("a[1].missing", 2),
            ("a[2]", 4),
            ("a[2][1]", 4),
            ("d", 6),
            ("nowhere.at.all", 1),
            ("", 1),
        ] {
            assert_eq!(
                super::line_numbers(text, [path].into_iter()),
                [line],
                "{path}"
            );
        }
    }
}
