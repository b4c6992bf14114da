//! Walks from now on through the next minutes and hours, with people as a flow: how many come out,
//! how many are let in, and so how many of the line are called by each moment.

use super::visit_table::VisitTable;

/// The walk ends after this many steps.
const STEPS_MAX: usize = 240;
/// The walk ends after this many times the length of a pass, because the line then moves evenly.
const PASSES: f64 = 3.0;
/// A step is at least a second, and grows with the time to this part of it.
const STEP_PART: f64 = 0.04;
/// A step is at most this part of the length of a pass.
const STEP_PART_OF_PASS: f64 = 1.0 / 16.0;
/// Fewer visitors than this are not followed further.
const PEOPLE_MIN: f64 = 1e-3;
/// How uncertain it is how many the pace calls, compared with how many come out of a full room.
const PACE_SPREAD: f64 = 0.02;

/// What the walk starts from. Numbers of people need not be whole.
#[derive(Debug, Clone)]
pub struct WalkStart<'a> {
    /// How visits end.
    pub visits: &'a VisitTable,
    /// How many times as fast visits end as `visits` says.
    pub ending: f64,
    /// How long a pass is valid, in seconds.
    pub pass_s: f64,
    /// The visitors inside: how many, and since when, in seconds.
    pub inside: Vec<(f64, f64)>,
    /// Called visitors who are expected to come.
    pub called: f64,
    /// How long called visitors take until they are inside, in seconds.
    pub coming_s: f64,
    /// The share of called visitors who come.
    pub show_up: f64,
    /// The most visitors inside now.
    pub inside_max: f64,
    /// The most visitors inside if booking stays well.
    pub inside_max_later: f64,
    /// The pace now, in visitors a second; infinite in a room without a line.
    pub per_s: f64,
    /// The pace if booking stays well.
    pub per_s_later: f64,
    /// After this time, in seconds, pace and limit have come most of the way from what they are now
    /// to what they are later.
    pub recovers_s: f64,
    /// Visitors who use up the pace before anybody is called.
    pub debt: f64,
    /// Those of them who are not inside yet.
    pub debt_outside: f64,
    /// The seats that are left, if they may run out.
    pub seats: Option<SeatFlow>,
}

/// How many more people the seats that are left are for.
#[derive(Debug, Clone, Copy)]
pub struct SeatFlow {
    /// How many more people to call now; below 0 if too many are inside.
    pub wanted: f64,
    /// For how many people the baskets of now are that will be left behind.
    pub returning: f64,
    /// Which share of the seats that people take comes back.
    pub left_share: f64,
    /// How long a basket lives, in seconds.
    pub hold_s: f64,
    /// How many are called in a second even if nobody is wanted.
    pub trickle_per_s: f64,
}

/// One moment of a walk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WalkedMoment {
    /// In how many seconds.
    pub at_s: f64,
    /// How many people of the line have been called by then.
    pub called: f64,
    /// The variance of that number.
    pub variance: f64,
}

/// Visitors who entered, or will have entered, at the same time.
struct Cohort {
    people: f64,
    /// When they enter, in seconds from now. It is negative if they are inside.
    enter_s: f64,
    /// The logarithm of the share inside at the age at which they were counted.
    ln_counted: f64,
}

impl Cohort {
    fn inside(&self, start: &WalkStart<'_>, at_s: f64) -> f64 {
        let age_s = at_s - self.enter_s;
        if age_s >= start.pass_s {
            return 0.0;
        }
        self.people * (start.ending * (start.visits.ln_share(age_s) - self.ln_counted)).exp()
    }
}

struct Walk<'a> {
    start: &'a WalkStart<'a>,
    cohorts: Vec<Cohort>,
    debt: f64,
    debt_outside: f64,
    moments: Vec<WalkedMoment>,
}

/// Walks until `people` have been called, or until the line moves evenly.
#[must_use]
pub fn walk(start: &WalkStart<'_>, people: f64) -> Vec<WalkedMoment> {
    let mut walk = Walk {
        start,
        cohorts: Vec::new(),
        debt: start.debt,
        debt_outside: start.debt_outside,
        moments: vec![WalkedMoment {
            at_s: 0.0,
            called: 0.0,
            variance: 0.0,
        }],
    };
    for (people, age_s) in &start.inside {
        walk.cohorts.push(Cohort {
            people: *people,
            enter_s: -age_s,
            ln_counted: start.visits.ln_share(*age_s),
        });
    }
    walk.enter(start.called, start.coming_s);
    for _ in 0..STEPS_MAX {
        let last = walk.last();
        if last.called > people || last.at_s > PASSES * start.pass_s.max(60.0) {
            break;
        }
        walk.step();
    }
    walk.moments
}

impl Walk<'_> {
    fn last(&self) -> WalkedMoment {
        self.moments[self.moments.len() - 1]
    }

    fn enter(&mut self, people: f64, enter_s: f64) {
        if people > PEOPLE_MIN {
            self.cohorts.push(Cohort {
                people,
                enter_s,
                ln_counted: 0.0,
            });
        }
    }

    fn step(&mut self) {
        let (start, last) = (self.start, self.last());
        let step_s = (last.at_s * STEP_PART)
            .min(start.pass_s * STEP_PART_OF_PASS)
            .max(1.0);
        let at_s = last.at_s + step_s;
        let mut inside = 0.0;
        self.cohorts.retain(|cohort| {
            let people = cohort.inside(start, at_s);
            inside += people;
            people > PEOPLE_MIN
        });
        let recovered = 1.0 - (-at_s / start.recovers_s).exp();
        let between = |now: f64, later: f64| now + (later - now) * recovered;
        let inside_max = between(start.inside_max, start.inside_max_later);
        let per_s = if start.per_s.is_finite() {
            between(start.per_s, start.per_s_later)
        } else {
            start.per_s
        };
        let mut space = (inside_max - inside).max(0.0);
        let paid = self.debt.min(per_s * step_s);
        let of_pace = per_s * step_s - paid;
        let late = self.debt_outside.min(paid).min(space);
        self.debt -= paid;
        self.debt_outside -= late;
        self.enter(late, at_s);
        space -= late;
        let by_space = space / start.show_up;
        let by_seats = self.wanted(at_s).max(
            start
                .seats
                .map_or(f64::INFINITY, |seats| seats.trickle_per_s * step_s),
        );
        let called = of_pace.min(by_space).min(by_seats).max(0.0);
        self.enter(called * start.show_up, at_s + start.coming_s);
        let spread = if called < of_pace { 1.0 } else { PACE_SPREAD };
        self.moments.push(WalkedMoment {
            at_s,
            called: last.called + called,
            variance: last.variance + called * spread,
        });
    }

    /// Returns for how many more people seats are left at a moment.
    fn wanted(&self, at_s: f64) -> f64 {
        let Some(seats) = self.start.seats else {
            return f64::INFINITY;
        };
        let back = seats.returning * (at_s / seats.hold_s).min(1.0)
            + seats.left_share * self.called_by(at_s - seats.hold_s);
        (seats.wanted + back - self.last().called).max(0.0)
    }

    /// Returns how many people were called by a moment that the walk has passed.
    fn called_by(&self, at_s: f64) -> f64 {
        let after = self.moments.partition_point(|moment| moment.at_s <= at_s);
        after
            .checked_sub(1)
            .map_or(0.0, |at| self.moments[at].called)
    }
}
