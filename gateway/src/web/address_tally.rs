//! Counts the requests of the last minutes, and how many of them came from an unknown client. One
//! such request among many says nothing about the proxies in front, so operators are warned only if
//! the share of such requests is high.

use std::time::{Duration, Instant};

/// The length of a window. The figures cover the present window and the window before.
const WINDOW: Duration = Duration::from_secs(300);
/// Operators are warned if at least one in this many requests comes from an unknown client.
const WARNED_AT_ONE_IN: u64 = 20;

/// The requests of one window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AddressFigures {
    /// All requests for which the client's network was needed.
    pub requests: u64,
    /// The requests among them that came from an unknown client.
    pub unread: u64,
}

/// The count of the present window and of the one before.
#[derive(Debug)]
pub struct AddressTally {
    begun: Instant,
    current: AddressFigures,
    previous: AddressFigures,
}

impl AddressTally {
    /// Begins to count.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self {
            begun: now,
            current: AddressFigures::default(),
            previous: AddressFigures::default(),
        }
    }

    /// Counts a request.
    pub fn count(&mut self, is_unread: bool, now: Instant) {
        self.roll_window(now);
        self.current.requests += 1;
        self.current.unread += u64::from(is_unread);
    }

    /// Returns the figures if operators should be warned.
    pub fn figures_to_warn_of(&mut self, now: Instant) -> Option<AddressFigures> {
        self.roll_window(now);
        let figures = AddressFigures {
            requests: self.current.requests + self.previous.requests,
            unread: self.current.unread + self.previous.unread,
        };
        let is_much = figures.unread.saturating_mul(WARNED_AT_ONE_IN) >= figures.requests;
        (figures.unread > 0 && is_much).then_some(figures)
    }

    fn roll_window(&mut self, now: Instant) {
        let age = now.saturating_duration_since(self.begun);
        if age < WINDOW {
            return;
        }
        let current = std::mem::take(&mut self.current);
        self.previous = if age < 2 * WINDOW {
            current
        } else {
            AddressFigures::default()
        };
        self.begun = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(requests: u64, unread: u64) -> Option<AddressFigures> {
        Some(AddressFigures { requests, unread })
    }

    #[test]
    fn a_proxy_in_front_is_seen_at_its_first_request() {
        let now = Instant::now();
        let mut tally = AddressTally::new(now);
        assert_eq!(tally.figures_to_warn_of(now), None);
        tally.count(true, now);
        assert_eq!(tally.figures_to_warn_of(now), figures(1, 1));
        tally.count(true, now + WINDOW);
        assert_eq!(tally.figures_to_warn_of(now + WINDOW), figures(2, 2));
    }

    #[test]
    fn one_request_without_a_client_among_many_gives_no_warning() {
        let now = Instant::now();
        let mut tally = AddressTally::new(now);
        for _ in 0..39 {
            tally.count(false, now);
        }
        tally.count(true, now);
        tally.count(true, now);
        assert_eq!(tally.figures_to_warn_of(now), None);
        tally.count(true, now);
        assert_eq!(tally.figures_to_warn_of(now), figures(42, 3));
    }

    #[test]
    fn what_an_outsider_sent_is_forgotten() {
        let now = Instant::now();
        let mut tally = AddressTally::new(now);
        tally.count(true, now);
        assert_eq!(tally.figures_to_warn_of(now + WINDOW), figures(1, 1));
        assert_eq!(tally.figures_to_warn_of(now + 2 * WINDOW), None);
        let mut quiet = AddressTally::new(now);
        quiet.count(true, now);
        assert_eq!(quiet.figures_to_warn_of(now + 3 * WINDOW), None);
    }
}
