//! Chooses the fare that is sold where several apply to one ride.
//!
//! A ride on one train needs no change, so the fares that allow the fewest changes come first. Of
//! those the dearest is sold: a feed does not say which of its fares are for children, and a
//! child's fare must not be sold to everybody by accident. The notes name all of them, so that the
//! promoter can say in the `--rail` file which ones are sold.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use fairgate_model::counted::counted;
use fairgate_model::timetables::TimetableParts;

use super::{FeedFare, names_in_short};

/// How many sets of fares have a note of their own, at most.
const NOTES_MAX: usize = 10;
/// How many fares a note names that are not sold, at most.
const FARES_MAX: usize = 5;
/// How many stretches a note names, at most.
const STRETCHES_MAX: usize = 3;

/// Chooses fares, and remembers where it had a choice.
pub struct FareChoice<'a> {
    fares: &'a [FeedFare],
    /// The stretches, as pairs of stations, to which the same fares of different prices apply. The
    /// fare that is sold comes first.
    several: BTreeMap<Vec<u32>, BTreeSet<(u32, u32)>>,
}

impl<'a> FareChoice<'a> {
    pub fn new(fares: &'a [FeedFare]) -> Self {
        Self {
            fares,
            several: BTreeMap::new(),
        }
    }

    /// Returns the price of a stretch to which the fares in `found` apply, or `None` if there are
    /// no fares.
    pub fn choose(&mut self, found: &mut Vec<u32>, stretch: (u32, u32)) -> Option<i64> {
        let fare = |at: &u32| &self.fares[*at as usize];
        found.sort_by_key(|at| (fare(at).transfers, Reverse(fare(at).amount), *at));
        found.dedup();
        let amount = fare(found.first()?).amount;
        if found.iter().any(|at| fare(at).amount != amount) {
            match self.several.get_mut(found.as_slice()) {
                Some(stretches) => {
                    stretches.insert(stretch);
                }
                None => {
                    self.several
                        .insert(found.clone(), BTreeSet::from([stretch]));
                }
            }
        }
        Some(amount)
    }

    /// Returns notes that name the fares which apply to the same stretches, and these stretches.
    pub fn notes(&self, parts: &TimetableParts) -> Vec<String> {
        let several = self.several.iter().take(NOTES_MAX);
        let mut notes: Vec<String> = several
            .map(|(fares, stretches)| self.note(parts, fares, stretches))
            .collect();
        let others = self.several.values().skip(NOTES_MAX);
        let stretches: usize = others.map(BTreeSet::len).sum();
        if stretches > 0 {
            notes.push(format!(
                "{} more than one fare too, of other fares: the dearest of those that allow the \
                 fewest changes is sold",
                counted(stretches, "stretch has", "stretches have")
            ));
        }
        notes
    }

    fn note(
        &self,
        parts: &TimetableParts,
        fares: &[u32],
        stretches: &BTreeSet<(u32, u32)>,
    ) -> String {
        let fare = |at: &u32| &self.fares[*at as usize];
        let name = |at: &u32| {
            let price = parts.currency.with_amount(fare(at).amount);
            format!("{:?} ({price})", fare(at).id)
        };
        let (sold, others) = (&fares[0], &fares[1..]);
        let fewer = others
            .iter()
            .any(|other| fare(other).transfers > fare(sold).transfers);
        let fewer = if fewer {
            ", which allows the fewest changes,"
        } else {
            ""
        };
        let others: Vec<String> = others.iter().map(name).collect();
        let station = |at: u32| &parts.stations[at as usize].name;
        let examples = stretches.iter().take(STRETCHES_MAX);
        let examples: Vec<String> = examples
            .map(|(from, to)| format!("{} to {}", station(*from), station(*to)))
            .collect();
        format!(
            "{} more than one fare, such as {}: {}{fewer} is sold, and not {}; to choose, list all \
             fares to sell in the --rail file, as [fares] sold = [{:?}, …]",
            counted(stretches.len(), "stretch has", "stretches have"),
            names_in_short(&examples, STRETCHES_MAX),
            name(sold),
            names_in_short(&others, FARES_MAX),
            fare(sold).id
        )
    }
}
