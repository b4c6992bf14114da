//! Holds what a run notes about each visitor, and works out the figures over all visitors.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::calls::float;
use crate::verdict::ahead::ToldAhead;

/// A visitor who has not been seen for this long counts as absent, in milliseconds.
const ABSENT_AFTER_MS: f64 = 60_000.0;

/// The data about one visitor from which the figures are worked out.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct VisitorFigures {
    /// The join number.
    pub number: Option<u64>,
    /// The rank, once the visitor has read it. If the visitor never reads it and the room has a
    /// draw, the rank is filled in from the published draw at the end of the run.
    pub rank: Option<u64>,
    /// When the visitor joined, in milliseconds since the epoch.
    pub joined_ms: Option<f64>,
    /// When the visitor left the room for good, in milliseconds since the epoch.
    pub gone_ms: Option<f64>,
    /// The first wait and odds that the visitor read after the draw.
    pub told: Option<DrawWaitEstimate>,
    /// When the visitor was called, in milliseconds since the epoch.
    pub called_ms: Option<f64>,
    /// When the visitor got its pass, in milliseconds since the epoch.
    pub entered_ms: Option<f64>,
    /// Whether the visitor ever held seats.
    pub held: bool,
    /// Whether the visitor joined a waitlist.
    pub waitlisted: bool,
    /// Whether a payment was approved before the order's deadline.
    pub approved: bool,
    /// When the visitor saw its tickets, in milliseconds since the epoch.
    pub ticketed_ms: Option<f64>,
    /// When the visitor learned that everything is sold, in milliseconds since the epoch, and
    /// whether a socket reported it.
    pub sold_out_ms: Option<(f64, bool)>,
    /// Whether the number and the rank were the same each time the visitor read them again; `None`
    /// if it never did.
    pub kept: Option<bool>,
    /// The people ahead, as the visitor was told before its first pass.
    pub told_ahead: ToldAhead,
    /// Whether the visitor was ever told that more people are ahead than before.
    pub ahead_rose: bool,
    /// The visitor's outcome, as the history names it.
    pub outcome: Option<String>,
}

/// The first wait and odds that a visitor read after the draw.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct DrawWaitEstimate {
    /// When the visitor read them, in milliseconds since the epoch.
    pub at_ms: f64,
    /// With a probability of one half, the visitor is called within this many seconds.
    pub p50_s: Option<f64>,
    /// With a probability of nine tenths, the visitor is called within this many seconds.
    pub p90_s: Option<f64>,
    /// The probability that a seat is left when the visitor is called, 0 to 1.
    pub odds: Option<f64>,
}

impl VisitorFigures {
    /// Returns whether the visitor counts as present at `at_ms`. A visitor who left the line or was
    /// revoked is absent at once. Any other visitor is absent only [`ABSENT_AFTER_MS`] after it has
    /// gone, because the line counts it as present until then.
    pub fn is_here(&self, at_ms: f64) -> bool {
        let grace_ms = if matches!(self.outcome.as_deref(), Some("left" | "revoked")) {
            0.0
        } else {
            ABSENT_AFTER_MS
        };
        self.joined_ms.is_some_and(|joined| joined <= at_ms)
            && self.gone_ms.is_none_or(|gone| gone + grace_ms > at_ms)
    }

    /// Notes whether the number and the rank are the same at a later reading.
    pub fn reread(&mut self, number: Option<u64>, rank: Option<u64>) {
        let same = number.is_none_or(|number| self.number == Some(number))
            && (rank.is_none() || self.rank.is_none() || self.rank == rank);
        self.kept = Some(self.kept.unwrap_or(true) && same);
    }

    /// Notes how many people are ahead, as the visitor learned at `at_ms`. The server was asked for
    /// it at `asked_ms`. Does nothing before the draw and once the visitor has a pass.
    pub fn read_ahead(&mut self, ahead: Option<u64>, asked_ms: f64, at_ms: f64) {
        if let (Some(ahead), None) = (ahead, self.entered_ms) {
            let lower = self.told_ahead.tell(ahead, asked_ms, at_ms);
            self.ahead_rose |= lower.is_some();
        }
    }
}

/// Adds the counts and rates over all visitors.
pub fn figures(people: &[VisitorFigures], into: &mut BTreeMap<String, f64>) {
    let count = |is: &dyn Fn(&VisitorFigures) -> bool| -> f64 {
        float(people.iter().filter(|person| is(person)).count() as u64)
    };
    let times = |at: &dyn Fn(&VisitorFigures) -> Option<f64>| {
        let mut times: Vec<f64> = people.iter().filter_map(at).collect();
        times.sort_unstable_by(f64::total_cmp);
        times
    };
    let joins = times(&|person| person.joined_ms);
    let entries = times(&|person| person.entered_ms);
    let tickets = times(&|person| person.ticketed_ms);
    into.insert("visitors".into(), float(people.len() as u64));
    into.insert("joined".into(), float(joins.len() as u64));
    into.insert("entries".into(), float(entries.len() as u64));
    into.insert("purchases".into(), float(tickets.len() as u64));
    into.insert("purchases_per_s".into(), busiest(&tickets, 10_000.0) / 10.0);
    into.insert("purchases_per_3s".into(), busiest(&tickets, 3_000.0) / 3.0);
    for (name, rate) in [
        ("joins_per_s", middle_rate(&joins)),
        ("entries_per_s", middle_rate(&entries)),
        ("purchases_per_s_mean", rate(&tickets)),
    ] {
        if let Some(rate) = rate {
            into.insert(name.into(), rate);
        }
    }
    into.insert(
        "told_no_seats".into(),
        count(&|person| matches!(person.outcome.as_deref(), Some("no_seats" | "sold_out"))),
    );
    into.insert(
        "failed".into(),
        count(&|person| {
            person
                .outcome
                .as_deref()
                .is_none_or(|outcome| outcome == "failed")
        }),
    );
    let waited = count(&|person| person.waitlisted);
    if waited > 0.0 {
        let bought = count(&|person| person.waitlisted && person.ticketed_ms.is_some());
        into.insert("waitlisted".into(), waited);
        into.insert("bought_from_waitlist".into(), bought);
    }
    if !entries.is_empty() {
        let in_vain = count(&|person| person.entered_ms.is_some() && !person.held);
        into.insert(
            "entered_no_seats".into(),
            in_vain / float(entries.len() as u64),
        );
    }
    let approved = count(&|person| person.approved);
    if approved > 0.0 {
        let ticketed = count(&|person| person.approved && person.ticketed_ms.is_some());
        into.insert("approved_ticketed".into(), ticketed / approved);
    }
    let reread = count(&|person| person.kept.is_some());
    if reread > 0.0 {
        let kept = count(&|person| person.kept == Some(true));
        into.insert("kept_places".into(), kept / reread);
    }
    into.insert("ahead_rose".into(), count(&|person| person.ahead_rose));
}

/// Returns how many of the sorted `times` lie in the busiest span of `window_ms`.
fn busiest(times: &[f64], window_ms: f64) -> f64 {
    let mut from = 0;
    let mut most = 0;
    for (at, time) in times.iter().enumerate() {
        while times[from] <= time - window_ms {
            from += 1;
        }
        most = most.max(at + 1 - from);
    }
    float(most as u64)
}

/// Returns how many of the sorted `times` lie in one second on average, between the first and the
/// last.
fn rate(times: &[f64]) -> Option<f64> {
    let span_s = (times.last()? - times.first()?) / 1e3;
    (span_s > 0.0).then(|| float(times.len() as u64 - 1) / span_s)
}

/// Returns the [`rate`] of the middle nine tenths of the times. A straggler at either end therefore
/// does not change it.
fn middle_rate(times: &[f64]) -> Option<f64> {
    let cut = times.len() / 20;
    rate(&times[cut..times.len() - cut])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_window_need_not_begin_at_a_multiple_of_its_length() {
        assert!(
            (busiest(&[0.0, 5_000.0, 11_000.0, 12_000.0, 14_000.0], 10_000.0) - 4.0).abs() < 1e-9
        );
        assert!(busiest(&[], 10_000.0).abs() < 1e-9);
    }

    #[test]
    fn a_straggler_does_not_change_the_rate() {
        let mut times: Vec<f64> = (0..100).map(|at| f64::from(at) * 100.0).collect();
        times.push(900_000.0);
        let rate = middle_rate(&times).expect("a rate");
        assert!((rate - 10.0).abs() < 0.01, "{rate}");
    }

    #[test]
    fn a_place_is_kept_only_if_every_reading_shows_the_same_number_and_rank() {
        let mut person = VisitorFigures {
            number: Some(3),
            rank: Some(9),
            ..VisitorFigures::default()
        };
        person.reread(Some(3), None);
        assert_eq!(person.kept, Some(true));
        person.reread(Some(3), Some(8));
        person.reread(Some(3), Some(9));
        assert_eq!(person.kept, Some(false));
    }

    #[test]
    fn visitors_count_whose_people_ahead_rose_before_their_pass() {
        let visitor = |told: [(Option<u64>, f64); 3], entered_ms: Option<f64>| {
            let mut person = VisitorFigures {
                entered_ms,
                ..VisitorFigures::default()
            };
            for (ahead, s) in told {
                person.read_ahead(ahead, s * 1e3, s * 1e3 + 50.0);
            }
            person
        };
        let (fell, rose) = (
            [(None, 1.0), (Some(9), 5.0), (Some(4), 9.0)],
            [(Some(9), 1.0), (Some(4), 5.0), (Some(9), 9.0)],
        );
        let people = [
            visitor(fell, None),
            visitor(rose, None),
            visitor(rose, Some(0.0)),
        ];
        let mut into = BTreeMap::new();
        figures(&people, &mut into);
        assert!((into["ahead_rose"] - 1.0).abs() < 1e-9);
    }
}
