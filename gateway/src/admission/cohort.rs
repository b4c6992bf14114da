//! Who was called when: the people of the last releases who may still answer within their window.

use std::collections::{HashMap, HashSet, VecDeque};

use super::pace::{BANKED_MS_MAX, VISITOR_U};

/// One release.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cohort {
    from: u64,
    to: u64,
    at: i64,
    people: u64,
    /// Ranks nobody is waited for any more. A set, because who claims and then leaves is one answer and not two.
    answered: HashSet<u64>,
}

impl Cohort {
    fn open(&self) -> u64 {
        self.people.saturating_sub(self.answered.len() as u64)
    }
}

/// The releases whose window is open, oldest first; who is on the way in; and what the pace owes for late comers.
///
/// Whoever lets somebody in, or releases, holds the room's release lock from reading the figures to writing them
/// here: between the two nobody else may take the same room inside.
#[derive(Debug, Default)]
pub struct Cohorts {
    recent: VecDeque<Cohort>,
    /// Ranks whose claim is being written, and how many calls wait for it: two tabs are one visitor.
    entering: HashMap<u64, usize>,
    owed_u: u64,
    late_credit_u: u64,
    ticked_at: i64,
}

/// How a claim at a released rank stands to the pace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// Within the window: its way in was reserved by the release.
    InWindow,
    /// Past it, or a second pass: let in by the pace.
    Late,
}

impl Cohorts {
    /// Notes a release of `people` at `now` (ms), and what the pace carries on.
    pub fn released(&mut self, from: u64, to: u64, people: u64, now: i64) {
        if to > from {
            self.recent.push_back(Cohort {
                from,
                to,
                at: now,
                people,
                answered: HashSet::new(),
            });
        }
    }

    /// Forgets the windows that ended by `now` (ms).
    pub fn expire(&mut self, now: i64, claim_ms: i64) {
        while self
            .recent
            .front()
            .is_some_and(|cohort| now - cohort.at > claim_ms)
        {
            self.recent.pop_front();
        }
    }

    /// What the pace may count at `now` (ms): since the counter was `written_at`, or since a later tick that wrote
    /// nothing. No second is counted twice, and none beyond the last.
    #[must_use]
    pub fn elapsed_ms(&self, written_at: i64, now: i64) -> u64 {
        u64::try_from(now - written_at.max(self.ticked_at))
            .unwrap_or(0)
            .min(BANKED_MS_MAX)
    }

    /// Ends a tick: what is still owed, and what late comers earned, at most one visitor or one second's worth.
    pub fn ticked(&mut self, now: i64, owed_u: u64, credit_u: u64, per_s_u: u64) {
        let most = per_s_u.max(VISITOR_U);
        self.late_credit_u = self.late_credit_u.saturating_add(credit_u).min(most);
        (self.ticked_at, self.owed_u) = (now, owed_u);
    }

    /// What newcomers wait for beside the line: millionths of visitors who were let in ahead of it.
    #[must_use]
    pub fn owed_u(&self) -> u64 {
        self.owed_u
    }

    /// People who will be inside and are not counted there yet: called within their window, or claiming just now.
    #[must_use]
    pub fn called(&self) -> u64 {
        let open: u64 = self.recent.iter().map(Cohort::open).sum();
        open + self.entering.len() as u64
    }

    /// When the rank was called, where that is still known.
    #[must_use]
    pub fn called_at(&self, rank: u64) -> Option<i64> {
        self.recent
            .iter()
            .find(|cohort| (cohort.from..cohort.to).contains(&rank))
            .map(|cohort| cohort.at)
    }

    /// How a claim of that rank stands.
    #[must_use]
    pub fn timing(&self, rank: u64, first: bool) -> Timing {
        if first && self.called_at(rank).is_some() {
            Timing::InWindow
        } else {
            Timing::Late
        }
    }

    /// Takes one late comer's share of the pace, where there is one to take.
    pub fn take_late(&mut self) -> bool {
        let enough = self.late_credit_u >= VISITOR_U;
        if enough {
            self.late_credit_u -= VISITOR_U;
            self.owed_u = self.owed_u.saturating_add(VISITOR_U);
        }
        enough
    }

    /// Whether a claim of that rank is being written.
    #[must_use]
    pub fn is_entering(&self, rank: u64) -> bool {
        self.entering.contains_key(&rank)
    }

    /// Reserves the way in of that rank until [`Self::entered`] or [`Self::turned_back`].
    pub fn enter(&mut self, rank: u64) {
        *self.entering.entry(rank).or_default() += 1;
        self.settled(rank);
    }

    /// The claim is written, and the visitor counts as inside.
    pub fn entered(&mut self, rank: u64) {
        if let Some(calls) = self.entering.get_mut(&rank) {
            *calls -= 1;
            if *calls == 0 {
                self.entering.remove(&rank);
            }
        }
    }

    /// The claim was not written: whoever has no pass yet is waited for as before.
    pub fn turned_back(&mut self, rank: u64, first: bool) {
        self.entered(rank);
        if first
            && !self.is_entering(rank)
            && let Some(cohort) = self.cohort(rank)
        {
            cohort.answered.remove(&rank);
        }
    }

    /// The visitor at that rank claimed or left: nobody is waited for there any more.
    pub fn settled(&mut self, rank: u64) {
        if let Some(cohort) = self.cohort(rank) {
            cohort.answered.insert(rank);
        }
    }

    fn cohort(&mut self, rank: u64) -> Option<&mut Cohort> {
        self.recent
            .iter_mut()
            .find(|cohort| (cohort.from..cohort.to).contains(&rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::pace::{Input, step};

    #[test]
    fn a_call_counts_until_it_is_answered_or_its_window_ends() {
        let mut cohorts = Cohorts::default();
        cohorts.released(0, 10, 8, 1000);
        cohorts.released(10, 12, 2, 2000);
        cohorts.settled(3);
        cohorts.settled(3);
        assert_eq!(cohorts.called(), 9, "to claim and then leave is one answer");
        assert_eq!(
            (cohorts.timing(3, true), cohorts.timing(3, false)),
            (Timing::InWindow, Timing::Late)
        );
        cohorts.expire(6500, 5000);
        assert_eq!(cohorts.called(), 2, "the first window has ended");
        assert_eq!(cohorts.timing(3, true), Timing::Late);
    }

    #[test]
    fn whoever_is_on_the_way_in_counts_once_until_the_claim_is_written_or_failed() {
        let mut cohorts = Cohorts::default();
        cohorts.released(0, 2, 2, 0);
        cohorts.enter(0);
        cohorts.enter(0);
        cohorts.enter(9);
        assert_eq!(
            cohorts.called(),
            3,
            "two tabs of one, one called, one late comer"
        );
        cohorts.expire(10_000, 5000);
        assert_eq!(cohorts.called(), 2, "no window ends for who is on the way");
        cohorts.entered(0);
        assert!(cohorts.is_entering(0), "the second tab's claim is not done");
        cohorts.entered(0);
        cohorts.turned_back(9, true);
        assert_eq!(cohorts.called(), 0);
        cohorts.released(10, 11, 1, 10_000);
        cohorts.enter(10);
        cohorts.turned_back(10, true);
        assert_eq!(cohorts.called(), 1, "a failed claim is still waited for");
    }

    #[test]
    fn late_comers_are_let_in_by_the_pace_and_are_owed_for() {
        let mut cohorts = Cohorts::default();
        cohorts.ticked(0, 0, 2 * VISITOR_U, 2 * VISITOR_U);
        assert_eq!(
            (
                cohorts.take_late(),
                cohorts.take_late(),
                cohorts.take_late()
            ),
            (true, true, false)
        );
        assert_eq!(cohorts.owed_u(), 2 * VISITOR_U);
    }

    #[test]
    fn late_comers_in_an_emptied_line_leave_newcomers_no_more_than_a_second_to_pay() {
        let (mut cohorts, per_s_u) = (Cohorts::default(), 2 * VISITOR_U);
        for selling in [true, false] {
            let mut let_in = 0;
            for now in (1000..=8000).step_by(1000) {
                let idle = Input {
                    elapsed_ms: 1000,
                    remainder_u: 0,
                    per_s_u: Some(per_s_u),
                    max_inside: 100,
                    inside: 0,
                    called: 0,
                    owed_u: cohorts.owed_u(),
                    // A room that is sold out repays as an empty line does.
                    selling,
                    released: 16,
                    end: 16,
                };
                cohorts.ticked(now, step(&idle, |_| false).owed_u, per_s_u, per_s_u);
                while cohorts.take_late() {
                    let_in += 1;
                }
            }
            assert_eq!(let_in, 16);
            assert_eq!(cohorts.owed_u(), per_s_u, "the last second's, and no more");
        }
    }

    #[test]
    fn no_second_is_counted_twice_whether_or_not_a_tick_was_written() {
        let mut cohorts = Cohorts::default();
        assert_eq!(cohorts.elapsed_ms(0, 5000), 1000);
        cohorts.ticked(5000, 0, 0, VISITOR_U);
        assert_eq!(cohorts.elapsed_ms(0, 5100), 100);
        assert_eq!(cohorts.elapsed_ms(5050, 5100), 50);
        assert_eq!(
            cohorts.elapsed_ms(0, 4000),
            0,
            "a clock set back earns nothing"
        );
    }
}
