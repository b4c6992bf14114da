//! Measures how long work waits in this process, with a timer that should fire forty times a second
//! and with a ledger write that writes nothing. Also measures how many cores the process leaves
//! idle.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::{LoadLevel, LoadLevelTracker, LoadMeasurement, LoadSampleWindow, ProcessLoad};
use crate::ledger::RoomLedger;

const TIMER: Duration = Duration::from_millis(25);
const SECOND: Duration = Duration::from_secs(1);
const LEDGER_EVERY: Duration = Duration::from_millis(250);

/// Decides the level after each timer. Pure.
#[derive(Default)]
struct TimerProbe {
    window: LoadSampleWindow,
    tracker: LoadLevelTracker,
}

impl TimerProbe {
    fn after_timer(
        &mut self,
        now: Instant,
        lag: Duration,
        ledger_ms: u64,
    ) -> (LoadMeasurement, LoadLevel) {
        self.window.add_sample(now, whole_millis(lag));
        let measured = LoadMeasurement {
            lag_ms: self.window.third_largest(),
            ledger_ms,
        };
        (measured, self.tracker.level(measured, now))
    }
}

/// Measures how late timers fire. Never returns.
pub async fn measure_timer_lag(load: ProcessLoad) {
    let mut probe = TimerProbe::default();
    let mut second_began = Instant::now();
    let cores = std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
    let mut cpu_time = process_time();
    loop {
        let sleep_began = Instant::now();
        tokio::time::sleep(TIMER).await;
        let lag = sleep_began.elapsed().saturating_sub(TIMER);
        let (measured, level) = probe.after_timer(Instant::now(), lag, load.ledger_ms());
        load.apply_measurement(measured, level);
        let elapsed = second_began.elapsed();
        if elapsed >= SECOND {
            let earlier_cpu_time = std::mem::replace(&mut cpu_time, process_time());
            let used = cpu_time
                .saturating_sub(earlier_cpu_time)
                .div_duration_f64(elapsed);
            load.set_idle_cores((cores - used).max(0.0));
            second_began = Instant::now();
            load.end_second();
        }
    }
}

/// Measures how long a write waits for the ledger's writer. Never returns.
pub async fn measure_ledger_wait(load: ProcessLoad, ledger: RoomLedger) {
    let mut waits = LedgerWaits::default();
    loop {
        tokio::time::sleep(LEDGER_EVERY).await;
        let asked_at = Instant::now();
        let mut answer = std::pin::pin!(ledger.barrier());
        while tokio::time::timeout(LEDGER_EVERY, answer.as_mut())
            .await
            .is_err()
        {
            load.set_ledger_ms(whole_millis(waits.wait_so_far(asked_at.elapsed())));
        }
        // A failed write counts too, because it waited just as long. The calls that need the ledger
        // report the failure themselves.
        let waited = asked_at.elapsed();
        waits.add_wait(waited);
        load.set_ledger_ms(whole_millis(waited));
    }
}

/// How long the last two writes waited. Pure.
#[derive(Default)]
struct LedgerWaits {
    last: [Duration; 2],
}

impl LedgerWaits {
    fn add_wait(&mut self, waited: Duration) {
        self.last = [self.last[1], waited];
    }

    /// Returns the wait to report while a write is on its way. That is `waited`, the time that this
    /// write has waited so far, or the shorter wait of the two writes before it, if that is longer.
    /// With `waited` alone, the ledger would look fast at the beginning of each write.
    fn wait_so_far(&self, waited: Duration) -> Duration {
        waited.max(self.last[0].min(self.last[1]))
    }
}

/// Returns the time that all threads of this process have spent on processors.
fn process_time() -> Duration {
    let cpu_time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(cpu_time).unwrap_or_default()
}

fn whole_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use LoadLevel::{Calm, Deltas, Holds, Joins};

    const ON_TIME: u64 = 1;

    /// Feeds the lags of consecutive timers, in milliseconds. Returns when the level rose, in
    /// milliseconds from the beginning, and to what.
    fn rises(lags: impl IntoIterator<Item = u64>) -> Vec<(u64, LoadLevel)> {
        let (mut probe, begin) = (TimerProbe::default(), Instant::now());
        let (mut at_ms, mut before, mut rises) = (0, Calm, Vec::new());
        for late_ms in lags {
            at_ms += 25 + late_ms;
            let now = begin + Duration::from_millis(at_ms);
            let (_, level) = probe.after_timer(now, Duration::from_millis(late_ms), 0);
            if level > before {
                rises.push((at_ms, level));
            }
            before = level;
        }
        rises
    }

    /// Returns the lags of a calm process with stalls. Each entry of `stalls` has the number of
    /// timers on time before the stall, and the length of the stall in milliseconds.
    fn with_stalls(stalls: &[(usize, u64)]) -> Vec<u64> {
        let mut lags = vec![ON_TIME; 100];
        for (timers, stall_ms) in stalls {
            lags.extend(std::iter::repeat_n(ON_TIME, *timers));
            lags.push(*stall_ms);
        }
        lags.extend([ON_TIME; 200]);
        lags
    }

    #[test]
    fn one_or_two_stalls_of_the_machine_shed_nothing_however_long_they_are() {
        for stall_ms in [60, 260, 900, 1_000, 1_400, 3_500, 20_000] {
            assert_eq!(rises(with_stalls(&[(0, stall_ms)])), [], "{stall_ms} ms");
            for timers_between in (0..200).step_by(9) {
                let lags = with_stalls(&[(0, stall_ms), (timers_between, stall_ms)]);
                assert_eq!(rises(lags), [], "{stall_ms} ms, {timers_between} timers");
            }
        }
    }

    #[test]
    fn stalls_that_come_again_and_again_are_overload() {
        for (stall_ms, timers_between, level) in [
            (100, 40, Deltas),
            (300, 26, Joins),
            (500, 10, Joins),
            (900, 3, Joins),
            (1_000, 8, Holds),
            (1_400, 1, Holds),
            (2_000, 4, Holds),
            (10_000, 20, Holds),
        ] {
            let lags = with_stalls(&[(timers_between, stall_ms); 6]);
            let highest = rises(lags).last().map(|(_, level)| *level);
            assert_eq!(
                highest,
                Some(level),
                "{stall_ms} ms, {timers_between} timers"
            );
        }
    }

    #[test]
    fn a_steady_lag_is_shed_a_second_after_its_third_timer() {
        for (late_ms, level) in [(60, Deltas), (250, Joins), (1_000, Holds), (3_500, Holds)] {
            let rises = rises(std::iter::repeat_n(late_ms, 100));
            let (third_ms, timer_ms) = (3 * (25 + late_ms), 25 + late_ms);
            assert!(
                matches!(rises[..], [(at_ms, to)] if to == level
                    && at_ms < third_ms + 1_000 + timer_ms),
                "{late_ms} ms: {rises:?}"
            );
        }
    }

    #[test]
    fn a_lag_that_grows_raises_the_level_a_second_after_each_limit() {
        let lags = [vec![60; 20], vec![300; 6], vec![1_400; 4]].concat();
        let rises = rises(lags);
        let levels: Vec<_> = rises.iter().map(|(_, level)| *level).collect();
        assert_eq!(levels, [Deltas, Joins, Holds], "{rises:?}");
    }

    /// Returns the highest level while writes wait this long for the ledger, one after the other.
    fn highest_level(waits_ms: &[u64]) -> LoadLevel {
        let (mut probe, mut waits) = (TimerProbe::default(), LedgerWaits::default());
        let (mut at, mut seen, mut highest) = (Instant::now(), Duration::ZERO, Calm);
        let every_ms = whole_millis(LEDGER_EVERY);
        for wait_ms in waits_ms {
            // A write begins after a pause, and its wait so far is stored at whole pauses.
            for ms in (0..every_ms + wait_ms).step_by(25) {
                let waited = ms.saturating_sub(every_ms);
                if waited >= every_ms && waited.is_multiple_of(every_ms) {
                    seen = waits.wait_so_far(Duration::from_millis(waited));
                }
                at += Duration::from_millis(25);
                let (_, level) = probe.after_timer(at, Duration::ZERO, whole_millis(seen));
                highest = highest.max(level);
            }
            seen = Duration::from_millis(*wait_ms);
            waits.add_wait(seen);
        }
        highest
    }

    #[test]
    fn a_steady_wait_for_the_ledger_sheds_at_its_limit() {
        for (wait_ms, level) in [
            (200, Calm),
            (300, Deltas),
            (475, Deltas),
            (525, Joins),
            (800, Joins),
            (1_000, Joins),
            (1_900, Joins),
            (2_100, Holds),
        ] {
            assert_eq!(highest_level(&[wait_ms; 10]), level, "{wait_ms} ms");
        }
    }

    #[test]
    fn one_write_of_up_to_2300_ms_sheds_no_holds() {
        for waits_ms in [
            [5, 2_300, 480, 5],
            [5, 2_050, 800, 5],
            [800, 2_300, 800, 800],
        ] {
            assert!(highest_level(&waits_ms) <= Joins, "{waits_ms:?}");
        }
    }
}
