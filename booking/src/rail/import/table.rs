//! A file of comma-separated values, line by line; what is wrong with the file itself is told, and
//! the rest is read on.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use csv::{ReaderBuilder, StringRecord};

use super::RailFeedFault;

/// Faults so far. Shared, so that a line may tell its own.
#[derive(Debug, Default)]
pub struct RailFeedFaults(RefCell<Vec<RailFeedFault>>);

impl RailFeedFaults {
    /// Adds one.
    pub fn add(&self, file: &str, line: u64, code: &'static str, message: impl Into<String>) {
        self.0.borrow_mut().push(RailFeedFault {
            file: file.to_owned(),
            line,
            code,
            message: message.into(),
        });
    }

    /// All of them, by file and line.
    pub fn into_vec(self) -> Vec<RailFeedFault> {
        let mut all = self.0.into_inner();
        all.sort();
        all
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }
}

/// A line with its columns by name.
pub struct FeedTableLine<'a> {
    file: &'static str,
    /// From 1.
    pub number: u64,
    columns: &'a HashMap<String, usize>,
    record: &'a StringRecord,
    faults: &'a RailFeedFaults,
}

impl<'a> FeedTableLine<'a> {
    /// What stands in a column, without the space around it; empty where there is no such column.
    pub fn get(&self, column: &str) -> &'a str {
        let at = self.columns.get(column);
        at.and_then(|at| self.record.get(*at)).unwrap_or("").trim()
    }

    /// What must stand in a column; a fault where nothing does.
    pub fn needed(&self, column: &str) -> Option<&'a str> {
        let text = self.get(column);
        if text.is_empty() {
            self.fault("missing_value", format!("{column} is empty"));
            return None;
        }
        Some(text)
    }

    /// Tells a fault of this line.
    pub fn fault(&self, code: &'static str, message: impl Into<String>) {
        self.faults.add(self.file, self.number, code, message);
    }
}

/// Reads a file of a folder; false where it is not there, or lacks a column, so that nothing of it
/// was read.
pub fn each_line(
    folder: &Path,
    file: &'static str,
    needed: &[&str],
    faults: &RailFeedFaults,
    mut each: impl FnMut(&FeedTableLine<'_>),
) -> bool {
    let reader = ReaderBuilder::new()
        .flexible(true)
        .from_path(folder.join(file));
    let mut reader = match reader {
        Ok(reader) => reader,
        Err(error) => {
            faults.add(
                file,
                0,
                "missing_file",
                format!("it cannot be read: {error}"),
            );
            return false;
        }
    };
    let titles = match reader.headers() {
        Ok(titles) => titles.clone(),
        Err(error) => {
            faults.add(file, 1, "not_csv", error.to_string());
            return false;
        }
    };
    let mut columns = HashMap::new();
    for (at, title) in titles.iter().enumerate() {
        let title = title.trim_start_matches('\u{feff}').trim();
        if columns.insert(title.to_owned(), at).is_some() {
            let message = format!("the column {title} stands twice");
            faults.add(file, 1, "duplicate_column", message);
        }
    }
    let missing = needed.iter().filter(|title| !columns.contains_key(**title));
    let missing: Vec<_> = missing.copied().collect();
    if !missing.is_empty() {
        let message = format!("there is no column {}", missing.join(", "));
        faults.add(file, 1, "missing_column", message);
        return false;
    }
    let mut record = StringRecord::new();
    loop {
        match reader.read_record(&mut record) {
            Ok(false) => return true,
            Ok(true) => {
                let number = record.position().map_or(0, csv::Position::line);
                if record.len() != titles.len() {
                    let message = format!(
                        "it has {} values where the first line has {} titles",
                        record.len(),
                        titles.len()
                    );
                    faults.add(file, number, "wrong_columns", message);
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
                let number = error.position().map_or(0, csv::Position::line);
                if error.is_io_error() {
                    faults.add(file, number, "missing_file", error.to_string());
                    return false;
                }
                faults.add(file, number, "not_csv", "it is not text in UTF-8");
            }
        }
    }
}
