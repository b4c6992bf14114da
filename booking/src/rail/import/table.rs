//! Reads a file of comma-separated values line by line. A line that cannot be read is reported, and
//! the next lines are still read. A line that repeats an earlier one is left out.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::path::Path;

use csv::{Reader, ReaderBuilder, StringRecord};
use fairgate_model::counted::counted;

use super::RailFeedFault;
use super::optional::{is_empty, may_be_empty};

/// The faults of a feed so far, and notes about things that are not faults. All lines share these
/// lists, and each line can add to them.
#[derive(Debug, Default)]
pub struct RailFeedFaults {
    faults: RefCell<Vec<RailFeedFault>>,
    notes: RefCell<Vec<String>>,
}

impl RailFeedFaults {
    /// Adds a fault.
    pub fn add(&self, file: &str, line: u64, code: &'static str, message: impl Into<String>) {
        self.faults.borrow_mut().push(RailFeedFault {
            file: file.to_owned(),
            line,
            code,
            message: message.into(),
        });
    }

    /// Returns all faults, by file and line.
    pub fn into_vec(self) -> Vec<RailFeedFault> {
        let mut all = self.faults.into_inner();
        all.sort();
        all
    }

    /// Returns whether there are no faults.
    pub fn is_empty(&self) -> bool {
        self.faults.borrow().is_empty()
    }

    /// Adds a note, which is one sentence.
    pub fn note(&self, note: String) {
        self.notes.borrow_mut().push(note);
    }

    /// Returns the notes so far, and removes them from the list.
    pub fn take_notes(&self) -> Vec<String> {
        self.notes.take()
    }
}

/// The lines of a file so far, used to notice repeated lines. A line is recognised by two hashes
/// with random keys, so two different lines practically never count as the same.
#[derive(Default)]
struct SeenLines {
    keys: [RandomState; 2],
    lines: HashMap<[u64; 2], u64>,
    repeated: u64,
    /// The number of the first line that repeats an earlier line, and the number of that earlier
    /// line.
    first: (u64, u64),
}

impl SeenLines {
    /// Records the line. Returns false if it repeats an earlier line.
    fn add(&mut self, number: u64, record: &StringRecord) -> bool {
        let hashed = |key: &RandomState| {
            let mut hasher = key.build_hasher();
            record
                .iter()
                .for_each(|value| plain_text(value).hash(&mut hasher));
            hasher.finish()
        };
        let [one, other] = &self.keys;
        let Some(earlier) = self.lines.insert([hashed(one), hashed(other)], number) else {
            return true;
        };
        if self.repeated == 0 {
            self.first = (number, earlier);
        }
        self.repeated += 1;
        false
    }

    /// Adds a note about how many lines of the file were left out.
    fn note(&self, file: &str, faults: &RailFeedFaults) {
        let (line, earlier) = self.first;
        let others = match self.repeated {
            0 => return,
            1 => String::new(),
            2 => ", and so is 1 more such line".to_owned(),
            more => format!(", and so are {} more such lines", more - 1),
        };
        faults.note(format!(
            "{file}:{line}: it repeats line {earlier} and is left out{others}"
        ));
    }
}

/// A line. Its values are found by the titles of their columns.
pub struct FeedTableLine<'a> {
    file: &'static str,
    /// The number of the line, from 1.
    pub number: u64,
    columns: &'a HashMap<String, usize>,
    record: &'a StringRecord,
    faults: &'a RailFeedFaults,
}

impl<'a> FeedTableLine<'a> {
    /// Returns the text in a column as [`plain_text`]. Returns an empty text if there is no such
    /// column.
    pub fn get(&self, column: &str) -> &'a str {
        let at = self.columns.get(column);
        plain_text(at.and_then(|at| self.record.get(*at)).unwrap_or(""))
    }

    /// Returns whether the file has a column.
    pub fn has_column(&self, column: &str) -> bool {
        self.columns.contains_key(column)
    }

    /// Returns the text in a column that must not be empty. Adds a fault if it is empty.
    pub fn needed(&self, column: &str) -> Option<&'a str> {
        let text = self.get(column);
        if text.is_empty() {
            self.fault("missing_value", format!("{column} is empty"));
            return None;
        }
        Some(text)
    }

    /// Adds a fault of this line.
    pub fn fault(&self, code: &'static str, message: impl Into<String>) {
        self.faults.add(self.file, self.number, code, message);
    }
}

/// Returns a value without the spaces around it. Some programs write a space before a quoted value,
/// as in `1, "2"`. The quotes then do not begin the value, so the reader takes them for a part of
/// it. They are removed here.
fn plain_text(value: &str) -> &str {
    let text = value.trim();
    let inner = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    match inner {
        Some(inner) if value.starts_with(char::is_whitespace) => inner.trim(),
        _ => text,
    }
}

/// Reads a file of a folder, and calls `each` for every line that can be read and is not a
/// repetition. Returns false, and adds a fault, if the file cannot be read to its end or lacks a
/// needed column. Returns false without a fault if the file is empty and the feed may lack it.
pub fn each_line(
    folder: &Path,
    file: &'static str,
    needed: &[&str],
    faults: &RailFeedFaults,
    mut each: impl FnMut(&FeedTableLine<'_>),
) -> bool {
    if is_empty(folder, file) {
        if !may_be_empty(file) {
            let message = "it is empty; its first line must have the titles of its columns";
            faults.add(file, 0, "empty_file", message);
        }
        return false;
    }
    let Some((mut reader, titles)) = open_table(folder, file, faults) else {
        return false;
    };
    let Some(columns) = columns_by_title(&titles, file, needed, faults) else {
        return false;
    };
    // In a file with CR LF, the reader counts the LF of a line with the next line. So it is still
    // in the first line, and every number is too small by one.
    let uncounted = u64::from(reader.position().line() == 1);
    let line_of = |position: &csv::Position| position.line() + uncounted;
    let mut record = StringRecord::new();
    let mut seen = SeenLines::default();
    loop {
        match reader.read_record(&mut record) {
            Ok(false) => {
                seen.note(file, faults);
                return true;
            }
            Ok(true) => {
                let number = record.position().map_or(0, line_of);
                if record.len() != titles.len() {
                    let message = format!(
                        "it has {} where the first line has {}",
                        counted(record.len(), "value", "values"),
                        counted(titles.len(), "title", "titles")
                    );
                    faults.add(file, number, "wrong_columns", message);
                    continue;
                }
                if !seen.add(number, &record) {
                    continue;
                }
                each(&FeedTableLine {
                    file,
                    number,
                    columns: &columns,
                    record: &record,
                    faults,
                });
            }
            Err(error) => {
                let number = error.position().map_or(0, line_of);
                if error.is_io_error() {
                    faults.add(file, number, "missing_file", error.to_string());
                    return false;
                }
                faults.add(file, number, "not_csv", "it is not text in UTF-8");
            }
        }
    }
}

/// Opens a file of a folder, and reads its column titles. If this fails, adds a fault and returns
/// `None`.
fn open_table(
    folder: &Path,
    file: &str,
    faults: &RailFeedFaults,
) -> Option<(Reader<File>, StringRecord)> {
    let reader = ReaderBuilder::new()
        .flexible(true)
        .from_path(folder.join(file));
    let mut reader = reader
        .map_err(|error| {
            let message = format!("it cannot be read: {error}");
            faults.add(file, 0, "missing_file", message);
        })
        .ok()?;
    match reader.headers() {
        Ok(titles) => {
            let titles = titles.clone();
            Some((reader, titles))
        }
        Err(error) => {
            faults.add(file, 1, "not_csv", error.to_string());
            None
        }
    }
}

/// Returns the index of each column by its title. If a needed column is missing, adds a fault and
/// returns `None`.
fn columns_by_title(
    titles: &StringRecord,
    file: &str,
    needed: &[&str],
    faults: &RailFeedFaults,
) -> Option<HashMap<String, usize>> {
    let mut columns = HashMap::new();
    for (at, title) in titles.iter().enumerate() {
        let title = plain_text(title.trim_start_matches('\u{feff}'));
        if columns.insert(title.to_owned(), at).is_some() {
            let message = format!("the column {title} occurs twice");
            faults.add(file, 1, "duplicate_column", message);
        }
    }
    let missing = needed.iter().filter(|title| !columns.contains_key(**title));
    let missing: Vec<_> = missing.copied().collect();
    if missing.is_empty() {
        return Some(columns);
    }
    let message = format!("there is no column {}", missing.join(", "));
    faults.add(file, 1, "missing_column", message);
    None
}
