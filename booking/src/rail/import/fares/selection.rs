//! The fares that the promoter wants to sell: `sold` under `[fares]` in the `--rail` file.

use std::collections::BTreeSet;

use fairgate_model::timetables::settings::RailFile;

use super::super::RailFeedFault;
use super::super::table::RailFeedFaults;
use super::{FeedFare, names_in_short};

/// How many ids of fares a fault names, at most.
const NAMES_MAX: usize = 10;

/// The ids in the `--rail` file, and which of them the feed has.
pub struct FareSelection<'a> {
    /// The ids, or `None` if all fares may be sold.
    wanted: Option<&'a [String]>,
    found: BTreeSet<&'a str>,
    /// Fares that the feed has, but that are not read.
    unread: BTreeSet<String>,
    /// Whether a file of fares could not be read to its end. If so, missing fares are not reported.
    pub incomplete: bool,
}

impl<'a> FareSelection<'a> {
    pub fn new(wanted: Option<&'a [String]>) -> Self {
        Self {
            wanted,
            found: BTreeSet::new(),
            unread: BTreeSet::new(),
            incomplete: false,
        }
    }

    /// Returns whether a fare is sold that has any of these names.
    pub fn admits(&mut self, names: [&str; 2]) -> bool {
        let Some(wanted) = self.wanted else {
            return true;
        };
        let named = wanted.iter().filter(|id| names.contains(&id.as_str()));
        let named: Vec<&str> = named.map(String::as_str).collect();
        self.found.extend(&named);
        !named.is_empty()
    }

    /// Records a fare that is in the feed, but that the importer does not read.
    pub fn leave_unread(&mut self, id: &str) {
        self.unread.insert(id.to_owned());
    }

    /// Adds a fault for each id in the `--rail` file that no fare of the feed has.
    pub fn report_unknown(&self, fares: &[FeedFare], faults: &RailFeedFaults) {
        if self.incomplete {
            return;
        }
        for (nth, id) in self.wanted.unwrap_or_default().iter().enumerate() {
            if self.found.contains(id.as_str()) {
                continue;
            }
            let message = if self.unread.contains(id) {
                format!("the fare {id:?} is not read, so it cannot be sold")
            } else {
                format!("the feed has no fare {id:?}; {}", known_fares(fares))
            };
            faults.add(
                "",
                0,
                "dangling_fare",
                format!("fares.sold[{nth}]: {message}"),
            );
        }
    }
}

/// Says which fares the feed has.
fn known_fares(fares: &[FeedFare]) -> String {
    let ids: BTreeSet<String> = fares.iter().map(|fare| format!("{:?}", fare.id)).collect();
    let ids: Vec<String> = ids.into_iter().collect();
    match ids.len() {
        0 => "it has none".to_owned(),
        _ => format!("it has {}", names_in_short(&ids, NAMES_MAX)),
    }
}

/// Refuses a `--rail` file that says which of a feed's fares are sold, for a feed that never has
/// fares.
///
/// # Errors
/// Returns an error if the file names fares.
pub fn refuse_selection(rail: &RailFile) -> Result<(), Vec<RailFeedFault>> {
    let faults = RailFeedFaults::default();
    FareSelection::new(rail.sold_fares.as_deref()).report_unknown(&[], &faults);
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults.into_vec())
    }
}
