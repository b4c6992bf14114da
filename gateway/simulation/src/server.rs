//! Models how long booking takes to answer. All calls are in one queue that is served at a fixed
//! rate. As at the real server, answers take longer as soon as more calls come than are served.

use std::collections::VecDeque;

use fairgate_rules::valve::HealthReading;

use crate::sale::PlannedServer;

/// The time over which booking's health is read, in milliseconds.
const HEALTH_WINDOW_MS: i64 = 3_000;

/// The longest time that a call takes, in milliseconds. It is longer than any simulated sale.
/// Larger numbers might not fit the integer types.
const ANSWER_MS_MAX: f64 = 1e9;

/// Booking as its callers see it.
pub struct SimulatedServer {
    server: PlannedServer,
    /// Until when the server has work, in milliseconds after the start.
    busy_until_ms: f64,
    /// The calls of the last seconds: when each was answered, in milliseconds after the start, and
    /// how many milliseconds that took.
    answers: VecDeque<(i64, u32)>,
    calls: u64,
    /// When the last call was made, in milliseconds after the start.
    last_ms: i64,
}

impl SimulatedServer {
    /// Makes a server that has no work.
    pub fn new(server: PlannedServer) -> Self {
        Self {
            server,
            busy_until_ms: 0.0,
            answers: VecDeque::new(),
            calls: 0,
            last_ms: 0,
        }
    }

    /// Makes one call and returns when it is answered, in milliseconds after the start. Calls must
    /// be made in the order of time.
    pub fn answer(&mut self, now_ms: i64) -> i64 {
        debug_assert!(now_ms >= self.last_ms, "a call before the last one");
        self.last_ms = now_ms;
        let now = now_ms as f64;
        let slowdown = self.server.slowdown(now_ms);
        let work_ms = self.server.calls_per_s.map_or(0.0, |per_s| 1e3 / per_s);
        self.busy_until_ms = self.busy_until_ms.max(now) + work_ms * slowdown;
        let answered_ms = self.busy_until_ms + self.server.answer_ms * slowdown;
        let answered_ms = answered_ms.min(now + ANSWER_MS_MAX).ceil() as i64;
        let took_ms = u32::try_from(answered_ms - now_ms).unwrap_or(u32::MAX);
        self.answers.push_back((answered_ms, took_ms));
        self.calls += 1;
        answered_ms
    }

    /// Returns how many calls were made so far.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Returns booking's health at a time, as gateways read it.
    pub fn reading(&mut self, now_ms: i64) -> HealthReading {
        while self
            .answers
            .front()
            .is_some_and(|(at, _)| *at + HEALTH_WINDOW_MS < now_ms)
        {
            self.answers.pop_front();
        }
        let mut times_ms: Vec<u32> = self
            .answers
            .iter()
            .filter(|(at, _)| *at <= now_ms)
            .map(|(_, took_ms)| *took_ms)
            .collect();
        let at = (times_ms.len() * 99).div_ceil(100).saturating_sub(1);
        let p99_ms = (!times_ms.is_empty()).then(|| u64::from(*times_ms.select_nth_unstable(at).1));
        HealthReading {
            p99_ms,
            calls: times_ms.len() as u64,
            errors: 0,
            shedding: false,
            // Simulated servers are slow for as long as they have too many calls.
            ill_back_s: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sale::PlannedSlowSpan;

    #[test]
    fn answers_take_longer_only_while_more_calls_come_than_are_served() {
        let mut server = SimulatedServer::new(PlannedServer {
            calls_per_s: Some(100.0),
            answer_ms: 5.0,
            slow: None,
        });
        assert_eq!(server.answer(0), 15);
        assert_eq!(server.answer(1_000), 1_015);
        let last = (0..200).map(|_| server.answer(2_000)).last();
        assert_eq!(last, Some(4_005));
        let reading = server.reading(4_100);
        assert_eq!(
            reading.calls, 200,
            "the call of 1 s was answered too long ago"
        );
        assert!(
            reading
                .p99_ms
                .is_some_and(|p99| (1_950..=2_005).contains(&p99))
        );
        assert_eq!(server.reading(60_000).p99_ms, None);
        assert_eq!(server.calls(), 202);
    }

    #[test]
    fn a_server_that_is_never_the_limit_always_answers_in_the_same_time() {
        let mut server = SimulatedServer::new(PlannedServer {
            calls_per_s: None,
            answer_ms: 5.0,
            slow: None,
        });
        assert!((0..10_000).all(|_| server.answer(1_000) == 1_005));
    }

    #[test]
    fn calls_take_longer_while_booking_is_slow() {
        let mut server = SimulatedServer::new(PlannedServer {
            calls_per_s: Some(100.0),
            answer_ms: 5.0,
            slow: Some(PlannedSlowSpan {
                from_s: 1.0,
                until_s: 2.0,
                factor: 4.0,
            }),
        });
        assert_eq!(
            [0, 1_000, 1_900, 2_000].map(|at_ms| server.answer(at_ms) - at_ms),
            [15, 60, 60, 15]
        );
    }
}
