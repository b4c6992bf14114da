//! Collects the measurements of a run. At the end, pure functions work out the run's figures from
//! them.

mod bots;
mod calls;
mod charts;
mod conditions;
mod cover;
mod forecast;
mod pace;
mod part;
mod people;
mod progress;
mod recovery;
mod report;
mod sale;
mod waits;

use parking_lot::{Mutex, MutexGuard};

pub use calls::{CallStats, quantile_of};
pub use charts::{EnteredVisitor, LATENCY_SHARES, RunCharts, RunSecond};
pub use conditions::RunConditions;
pub use part::MeasuredPart;
pub use people::{DrawWaitEstimate, VisitorFigures};
pub use progress::CrowdProgress;
pub use report::SwarmReport;

/// The operations of the line and of booking, as the history names them.
pub const OPS: &[&str] = &[
    "join",
    "place",
    "leave",
    "wish",
    "claim",
    "show",
    "seatmap",
    "seats",
    "wish_hold",
    "hold",
    "change",
    "drop",
    "order",
    "foreign_order",
    "pay",
    "order_read",
    "cancel",
    "consent",
    "ticket",
    "refund",
    "exchange",
    "scan",
    "wait",
    "stop_waiting",
    "room",
];
/// The operations that booking answers for a buyer. `booking.p99_ms` is the p99 of all these
/// operations together.
pub const BOOKING: &[&str] = &[
    "hold",
    "change",
    "drop",
    "order",
    "pay",
    "order_read",
    "cancel",
    "consent",
    "ticket",
    "refund",
    "exchange",
    "wait",
    "stop_waiting",
];
/// The figures that each operation has, and that `booking` as a whole has.
pub const OF_CALLS: &[&str] = &[
    "count", "ok", "errors", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "max_ms",
];
/// All other figures.
pub const FIGURES: &[&str] = &[
    "visitors",
    "joined",
    "joins_per_s",
    "entries",
    "entries_per_s",
    "purchases",
    "purchases_per_s",
    "purchases_per_3s",
    "purchases_per_s_mean",
    "entered_no_seats",
    "approved_ticketed",
    "told_no_seats",
    "waitlisted",
    "bought_from_waitlist",
    "failed",
    "unknown_outcomes",
    "released_window_max",
    "released_window_min",
    "entered_window_max",
    "pace_error",
    "covered_pace",
    "resumed",
    "waits_known",
    "wait_under_p90",
    "wait_under_p50",
    "odds_known",
    "odds_error_max",
    "sold_99_s",
    "sold_out_s",
    "last_seats_s",
    "wait_p50_s",
    "wait_p90_s",
    "odds_brier",
    "people_joined",
    "bots_joined",
    "bots_share_places",
    "bots_share_tickets",
    "tau_join_rank",
    "tau_rank_entry",
    "forecast_off_at_half",
    "seat_left_1",
    "seat_left_2",
    "seat_left_3",
    "seat_left_4",
    "seat_left_5",
    "seat_left_6",
    "seat_left_7",
    "seat_left_8",
    "seat_left_9",
    "seat_left_10",
    "told_after_last_sale_s",
    "polled_after_last_sale_s",
    "kept_places",
    "ahead_rose",
    "settled_s",
    "recovery_s",
    "entries_recovery_s",
    "cpu_busy_5s",
    "rss_max_mb",
    "rss_60s_mb",
    "rss_after_60s_ratio",
    "rss_slope_mb_per_min",
    "lag_p99_ms",
    "late_sends",
];

/// Returns whether a threshold may name this figure.
pub fn is_known(name: &str) -> bool {
    let of_calls = name.split_once('.').is_some_and(|(op, what)| {
        (OPS.contains(&op) || op == "booking") && OF_CALLS.contains(&what)
    });
    of_calls || FIGURES.contains(&name)
}

/// A time during which something disturbed the run.
#[derive(Debug, Clone, Copy)]
pub struct Disturbance {
    /// When the disturbance began, in milliseconds since the epoch.
    pub from_ms: f64,
    /// When the disturbance was over, in milliseconds since the epoch. Infinite while it lasts and
    /// its end is not known.
    pub until_ms: f64,
    /// Whether booking was slowed. Otherwise the disturbance is a kill or a scheduled fault.
    pub slow: bool,
    /// Whether the disturbance may delay a payment until it is too late. True for scheduled faults,
    /// false for kills and slowdowns.
    pub halts: bool,
}

/// Everything that the run has collected so far.
#[derive(Default)]
pub struct SwarmMeasurements {
    /// The figures of all calls.
    pub calls: CallStats,
    /// The visitors, by their number in the swarm.
    pub people: Vec<VisitorFigures>,
    /// The release counter as sockets received it: the time and the value of each increase.
    pub released: Vec<(f64, u64)>,
    /// The count of free seats as sockets received it: the time and the value of each change.
    pub free: Vec<(f64, u64)>,
    /// When the last seat for sale was sold, in milliseconds since the epoch; `None` while a seat
    /// is free or held.
    pub all_sold_ms: Option<f64>,
    /// When 99 of 100 seats for sale were sold, in milliseconds since the epoch; `None` while more
    /// are free or held.
    pub most_sold_ms: Option<f64>,
    /// Readings of the processor time that the rig's processes have used. Each has the time of the
    /// reading, and the processor time used since the first reading. Both are in milliseconds.
    pub processors: Vec<(f64, f64)>,
    /// The disturbances of the run.
    pub disturbances: Vec<Disturbance>,
}

/// Collects the measurements of a run. All visitors share this value.
#[derive(Default)]
pub struct SwarmTally {
    seen: Mutex<SwarmMeasurements>,
}

impl SwarmTally {
    /// Makes an empty tally for this many visitors.
    pub fn new(visitors: usize) -> Self {
        let tally = Self::default();
        tally
            .seen()
            .people
            .resize_with(visitors, VisitorFigures::default);
        tally
    }

    /// Locks and returns the measurements so far.
    pub fn seen(&self) -> MutexGuard<'_, SwarmMeasurements> {
        self.seen.lock()
    }

    /// Counts one try of a call.
    pub fn called(
        &self,
        op: &'static str,
        intended_ms: f64,
        sent_ms: f64,
        done_ms: f64,
        status: Option<u16>,
        code: Option<&str>,
    ) {
        self.seen()
            .calls
            .add(op, [intended_ms, sent_ms, done_ms], status, code);
    }

    /// Notes that a scheduled fault begins. Visitors look at it while it lasts. Returns its index
    /// for [`Self::fault_ends`].
    pub fn fault_begins(&self, from_ms: f64) -> usize {
        let disturbances = &mut self.seen().disturbances;
        disturbances.push(Disturbance {
            from_ms,
            until_ms: f64::INFINITY,
            slow: false,
            halts: true,
        });
        disturbances.len() - 1
    }

    /// Notes that a scheduled fault is over.
    pub fn fault_ends(&self, index: usize, until_ms: f64) {
        if let Some(fault) = self.seen().disturbances.get_mut(index) {
            fault.until_ms = until_ms;
        }
    }

    /// Notes what happened to a visitor. Does nothing if no visitor has this number.
    pub fn person(&self, who: usize, note: impl FnOnce(&mut VisitorFigures)) {
        if let Some(person) = self.seen().people.get_mut(who) {
            note(person);
        }
    }

    /// Notes the release counter and the free seats of a `line` frame.
    pub fn line(&self, at_ms: f64, released: u64, free: Option<u64>) {
        let mut seen = self.seen();
        let last = seen.released.last().map(|(_, last)| *last);
        if last.is_none_or(|last| released > last) {
            seen.released.push((at_ms, released));
        }
        if let Some(free) = free
            && seen.free.last().map(|(_, last)| *last) != Some(free)
        {
            seen.free.push((at_ms, free));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_known_by_their_whole_name() {
        for (name, known) in [
            ("hold.p99_ms", true),
            ("booking.p99_ms", true),
            ("entries_per_s", true),
            ("hold.p98_ms", false),
            ("p99_ms", false),
            ("holds.p99_ms", false),
        ] {
            assert_eq!(is_known(name), known, "{name}");
        }
    }

    #[test]
    fn an_older_release_counter_that_arrives_later_is_ignored() {
        let tally = SwarmTally::new(0);
        for (at, released) in [(1.0, 5), (2.0, 4), (3.0, 9)] {
            tally.line(at, released, None);
        }
        assert_eq!(tally.seen().released, [(1.0, 5), (3.0, 9)]);
    }

    #[test]
    fn a_fault_counts_from_its_beginning_on_and_each_ends_for_itself() {
        let tally = SwarmTally::new(0);
        let (first, second) = (tally.fault_begins(1.0), tally.fault_begins(2.0));
        let spans = || {
            let seen = tally.seen();
            let spans = seen.disturbances.iter();
            spans
                .map(|one| (one.from_ms, one.until_ms, one.halts))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            spans(),
            [(1.0, f64::INFINITY, true), (2.0, f64::INFINITY, true)]
        );
        tally.fault_ends(second, 5.0);
        tally.fault_ends(first, 9.0);
        assert_eq!(spans(), [(1.0, 9.0, true), (2.0, 5.0, true)]);
    }
}
