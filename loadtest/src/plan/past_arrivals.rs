//! Reads the arrivals of a past sale: a CSV file with the columns `second` and `visitors`.

use std::path::Path;

use fairgate_simulation::arrivals::ArrivalCounts;
use fairgate_simulation::crowd::VISITORS_MAX;
use serde::Deserialize;

/// The longest past sale that is read, in seconds.
const SECONDS_MAX: usize = 48 * 3_600;

/// How many visitors came in one second.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ArrivalRow {
    /// The second after the lobby opened, from 0.
    second: usize,
    visitors: u64,
}

/// Reads the file. A second that the file does not name has no visitors. A second that it names
/// twice has the sum of both numbers.
///
/// # Errors
/// The first fault of the file. A fault in a row names its line or its second.
pub fn read(file: &Path) -> Result<ArrivalCounts, Vec<String>> {
    let faults_of = |fault: String| vec![format!("{}: {fault}", file.display())];
    let reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_path(file);
    let mut reader = reader.map_err(|error| faults_of(error.to_string()))?;
    let mut counts = Vec::new();
    for row in reader.deserialize::<ArrivalRow>() {
        let row = row.map_err(|error| faults_of(error.to_string()))?;
        if row.second >= SECONDS_MAX {
            let fault = format!("second {} is not below {SECONDS_MAX}", row.second);
            return Err(faults_of(fault));
        }
        if row.visitors > VISITORS_MAX as u64 {
            let fault = format!(
                "second {}: {} visitors are more than {VISITORS_MAX}",
                row.second, row.visitors
            );
            return Err(faults_of(fault));
        }
        if counts.len() <= row.second {
            counts.resize(row.second + 1, 0);
        }
        counts[row.second] += row.visitors;
    }
    if counts.iter().all(|count| *count == 0) {
        return Err(faults_of("no visitor came".to_owned()));
    }
    Ok(ArrivalCounts::from_counts(counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<ArrivalCounts, Vec<String>> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("past.csv");
        std::fs::write(&file, text).expect("a file");
        read(&file)
    }

    #[test]
    fn seconds_that_are_left_out_have_no_visitors_and_others_are_added_up() {
        let arrivals = read_text("second, visitors\n3, 10\n0, 2\n3, 5\n").expect("arrivals");
        assert_eq!(arrivals, ArrivalCounts::from_counts([2, 0, 0, 15]));
    }

    #[test]
    fn a_file_with_a_fault_is_refused_with_its_line() {
        for (text, told) in [
            ("second,visitors\n1,2\nx,3\n", "line: 3"),
            ("second,people\n1,2\n", "people"),
            ("second,visitors\n1,-2\n", "line: 2"),
            ("second,visitors\n9999999,2\n", "9999999"),
            ("second,visitors\n1,9999999999\n", "9999999999"),
            ("second,visitors\n1,0\n", "no visitor"),
        ] {
            let faults = read_text(text).expect_err(text).join("\n");
            assert!(faults.contains(told), "{text}: {faults}");
        }
    }
}
