//! Who was called when: the people of the last releases who may still answer within their window.

use std::collections::VecDeque;

/// One release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cohort {
    from: u64,
    to: u64,
    at: i64,
    open: u64,
}

/// The releases whose window is open, oldest first, and what the pace owes for those who came later.
#[derive(Debug, Default)]
pub struct Cohorts {
    recent: VecDeque<Cohort>,
    owed_u: u64,
    late_credit_u: u64,
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
                open: people,
            });
        }
    }

    /// Starts a tick: windows that ended are forgotten, and late comers earn `credit_u`, at most one visitor or one
    /// second's worth. Gives how many are called and unclaimed, and what is owed.
    pub fn tick(&mut self, now: i64, claim_ms: i64, credit_u: u64, per_s_u: u64) -> (u64, u64) {
        while self
            .recent
            .front()
            .is_some_and(|cohort| now - cohort.at > claim_ms)
        {
            self.recent.pop_front();
        }
        let most = per_s_u.max(super::pace::VISITOR_U);
        self.late_credit_u = self.late_credit_u.saturating_add(credit_u).min(most);
        (self.called(), self.owed_u)
    }

    /// What is owed after a tick.
    pub fn set_owed(&mut self, owed_u: u64) {
        self.owed_u = owed_u;
    }

    /// People called and unclaimed within their window.
    #[must_use]
    pub fn called(&self) -> u64 {
        self.recent.iter().map(|cohort| cohort.open).sum()
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
        let enough = self.late_credit_u >= super::pace::VISITOR_U;
        if enough {
            self.late_credit_u -= super::pace::VISITOR_U;
            self.owed_u = self.owed_u.saturating_add(super::pace::VISITOR_U);
        }
        enough
    }

    /// The visitor at that rank claimed or left: nobody is waited for there any more.
    pub fn settled(&mut self, rank: u64) {
        if let Some(cohort) = self
            .recent
            .iter_mut()
            .find(|cohort| (cohort.from..cohort.to).contains(&rank))
        {
            cohort.open = cohort.open.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::pace::VISITOR_U;

    #[test]
    fn a_call_counts_until_it_is_answered_or_its_window_ends() {
        let mut cohorts = Cohorts::default();
        cohorts.released(0, 10, 8, 1000);
        cohorts.released(10, 12, 2, 2000);
        cohorts.settled(3);
        assert_eq!(cohorts.called(), 9);
        assert_eq!(
            (cohorts.timing(3, true), cohorts.timing(3, false)),
            (Timing::InWindow, Timing::Late)
        );
        assert_eq!(
            cohorts.tick(6500, 5000, 0, VISITOR_U).0,
            2,
            "the first window has ended"
        );
        assert_eq!(cohorts.timing(3, true), Timing::Late);
    }

    #[test]
    fn late_comers_are_let_in_by_the_pace_and_are_owed_for() {
        let mut cohorts = Cohorts::default();
        cohorts.tick(0, 1, 2 * VISITOR_U, 2 * VISITOR_U);
        assert_eq!(
            (
                cohorts.take_late(),
                cohorts.take_late(),
                cohorts.take_late()
            ),
            (true, true, false)
        );
        assert_eq!(cohorts.tick(0, 1, 0, VISITOR_U).1, 2 * VISITOR_U);
    }
}
