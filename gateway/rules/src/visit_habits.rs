//! Estimates the probability that a visitor inside still wants seats, by the time since the visitor
//! entered. In the model, a visitor either never buys, or has tickets after several steps. The time
//! of each step has an exponential distribution, so the time of all steps has an Erlang
//! distribution. The model has three parameters: the share of visitors who never buy, and the mean
//! time and the number of steps of those who buy. The code tries a grid of parameters. It takes
//! those that best explain how many visitors entered and how many of them are still inside (maximum
//! likelihood).

use std::sync::LazyLock;

use crate::entry_history::AGES_S;

/// A typical time since the entry in each group of [`AGES_S`], in seconds.
const MIDDLES_S: [f64; 4] = [15.0, 45.0, 90.0, 240.0];
/// The highest weight of a visitor of each group. The visitors of the last group have been inside
/// for very different times, and most of them have given up. If they counted in full, a large sale
/// would end later.
const WEIGHT_MAX: [f64; 4] = [1.0, 0.5, 0.25, 0.1];
/// The first guess, before anything is measured. In each group it counts as `GUESS_WEIGHT`
/// visitors.
const GUESS: VisitHabits = VisitHabits {
    never: 0.2,
    mean_s: 30.0,
    steps: 1,
};
const GUESS_WEIGHT: f64 = 20.0;
/// The shares and means that are tried: the first value, the factor from each value to the next,
/// and the number of values. The largest share is 0.94, and the largest mean is 20 minutes.
const NEVER_FIRST: f64 = 0.005;
const NEVER_STEP: f64 = 1.79;
const NEVER_TRIES: i32 = 10;
const MEAN_FIRST_S: f64 = 2.0;
const MEAN_STEP: f64 = 1.79;
const MEAN_TRIES: i32 = 12;
/// The numbers of steps that are tried. If visitors look at many pages, hardly anybody buys at
/// once, and five steps fit better than one.
const STEPS_TRIED: [u32; 2] = [1, 5];

/// The processor computes the likelihoods of this many tried habits at the same time.
const LANES: usize = 8;

/// Some habits that are tried. `logarithms` has, for each group and each of these habits, the
/// logarithms of two probabilities: that a visitor has no tickets, and that a visitor has tickets.
struct TriedHabits {
    habits: [VisitHabits; LANES],
    logarithms: [[[f64; LANES]; 2]; 4],
}

impl TriedHabits {
    fn of(habits: [VisitHabits; LANES]) -> Self {
        let logarithms = MIDDLES_S.map(|middle_s| {
            let shares = habits.map(|habits| habits.without_tickets(middle_s));
            let shares = shares.map(|share| share.clamp(1e-6, 1.0 - 1e-6));
            [shares.map(f64::ln), shares.map(|share| (1.0 - share).ln())]
        });
        Self { habits, logarithms }
    }

    /// Returns how likely the counts are with each of these habits, as a logarithm.
    fn log_likelihoods(&self, counts: &[[f64; 2]; 4]) -> [f64; LANES] {
        let mut sums = [0.0; LANES];
        for (rows, counts) in self.logarithms.iter().zip(counts) {
            for lane in 0..LANES {
                sums[lane] += rows[0][lane] * counts[0] + rows[1][lane] * counts[1];
            }
        }
        sums
    }
}

/// All habits that are tried. They are worked out once, because a forecast measures thousands of
/// simulated seconds.
static TRIED_HABITS: LazyLock<Vec<TriedHabits>> = LazyLock::new(|| {
    let never_shares = (0..NEVER_TRIES).map(|step| NEVER_FIRST * NEVER_STEP.powi(step));
    let habits = never_shares.flat_map(|never| {
        let means_s = (0..MEAN_TRIES).map(|step| MEAN_FIRST_S * MEAN_STEP.powi(step));
        means_s.flat_map(move |mean_s| {
            STEPS_TRIED.map(|steps| VisitHabits {
                never,
                mean_s,
                steps,
            })
        })
    });
    let habits: Vec<VisitHabits> = habits.collect();
    let (lanes, left_over) = habits.as_chunks::<LANES>();
    assert!(left_over.is_empty(), "each try has a lane");
    lanes.iter().copied().map(TriedHabits::of).collect()
});

/// How many visitors of each group of [`AGES_S`] entered, and how many of them are inside.
#[derive(Debug, Clone, Copy, Default)]
pub struct EntryCounts {
    /// The visitors who entered in the time span of each group, whether they are still inside or
    /// not.
    pub entered: [u64; 4],
    /// The visitors of each group who are inside.
    pub inside: [u64; 4],
    /// The visitors whose pass ran out without an order.
    pub ended: u64,
    /// How long a pass is valid, in seconds.
    pub pass_s: u64,
}

/// What visitors do once they are inside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VisitHabits {
    /// The share of visitors who never buy.
    never: f64,
    /// The mean time from the entry to the tickets of those who buy, in seconds.
    mean_s: f64,
    /// The number of steps in which they buy. With more steps, the times of different buyers differ
    /// less.
    steps: u32,
}

impl VisitHabits {
    /// Finds the habits with which these counts are most likely.
    pub fn measure(people: &EntryCounts) -> Self {
        let counts = counts_by_group(people);
        let (mut best_habits, mut most_likely) = (GUESS, f64::NEG_INFINITY);
        for tried in TRIED_HABITS.iter() {
            for (likelihood, habits) in tried.log_likelihoods(&counts).iter().zip(&tried.habits) {
                if *likelihood >= most_likely {
                    (best_habits, most_likely) = (*habits, *likelihood);
                }
            }
        }
        best_habits
    }

    /// Returns the share of buyers who have no tickets yet `after_s` seconds after they entered.
    fn buyers_left(&self, after_s: f64) -> f64 {
        let steps_done = after_s / self.mean_s * f64::from(self.steps);
        let (mut sum, mut term) = (1.0, 1.0);
        for step in 1..self.steps {
            term *= steps_done / f64::from(step);
            sum += term;
        }
        sum * (-steps_done).exp()
    }

    /// Returns the share of visitors who have no tickets `after_s` seconds after they entered.
    fn without_tickets(&self, after_s: f64) -> f64 {
        self.never + (1.0 - self.never) * self.buyers_left(after_s)
    }

    /// Returns for each group how likely it is that a visitor without a basket still wants seats,
    /// compared with a visitor who has just entered.
    pub fn still_want_seats(&self) -> [f64; 4] {
        std::array::from_fn(|group| {
            let middle_s = MIDDLES_S[group];
            // Somebody who has just entered counts in full.
            if group == 0 {
                return WEIGHT_MAX[group];
            }
            (self.buyers_left(middle_s) / self.without_tickets(middle_s)).min(WEIGHT_MAX[group])
        })
    }
}

/// Returns for each group how many visitors have no tickets and how many have tickets. The first
/// guess is added. Both counts of a group are 0 if it is not known how many of its visitors have
/// tickets.
fn counts_by_group(people: &EntryCounts) -> [[f64; 2]; 4] {
    std::array::from_fn(|group| {
        // If a pass ran out, it is not known when its visitor entered. These visitors belong to the
        // last group, unless passes are so short that earlier groups have lost visitors, too.
        let inside = match AGES_S.get(group) {
            Some(until_s) if *until_s > people.pass_s => return [0.0; 2],
            Some(_) => people.inside[group],
            None => people.inside[group] + people.ended,
        };
        let entered = people.entered[group];
        let without_tickets = inside.min(entered) as f64;
        let guessed = GUESS_WEIGHT * GUESS.without_tickets(MIDDLES_S[group]);
        [
            without_tickets + guessed,
            entered as f64 - without_tickets + GUESS_WEIGHT - guessed,
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(entered: [u64; 4], inside: [u64; 4], pass_s: u64) -> [f64; 4] {
        let people = EntryCounts {
            entered,
            inside,
            pass_s,
            ..EntryCounts::default()
        };
        VisitHabits::measure(&people).still_want_seats()
    }

    #[test]
    fn at_first_visitors_are_believed_to_lose_interest_within_minutes() {
        let [new, half_minute, minute, long] = weights([0; 4], [0; 4], 600);
        assert_eq!(new, 1.0);
        assert_eq!(half_minute, 0.5);
        assert!((0.1..0.35).contains(&minute), "{minute}");
        assert!(long < 0.02, "{long}");
    }

    #[test]
    fn where_buyers_take_five_seconds_those_inside_after_thirty_do_not_buy() {
        // 100 visitors enter each second, and five in a hundred never buy.
        let weights = weights([3_000, 2_000, 0, 0], [600, 100, 0, 0], 600);
        assert!(weights[1] < 0.05 && weights[2] < 0.01, "{weights:?}");
    }

    #[test]
    fn where_buyers_take_five_minutes_those_inside_count_as_much_as_they_can() {
        let weights = weights([300, 300, 600, 3_000], [285, 258, 444, 900], 900);
        assert_eq!(weights, WEIGHT_MAX);
    }

    #[test]
    fn where_everybody_takes_a_minute_and_a_half_nobody_is_given_up_before() {
        // Ten visitors enter each second, and one in ten gives up.
        let weights = weights([300, 300, 600, 6_000], [299, 292, 350, 620], 900);
        assert!(
            weights[1] == WEIGHT_MAX[1] && weights[3] == WEIGHT_MAX[3],
            "{weights:?}"
        );
    }

    #[test]
    fn visitors_whose_short_pass_ran_out_do_not_look_like_buyers() {
        // All passes end after a minute, and half of the visitors never buy.
        let short = EntryCounts {
            entered: [300, 300, 600, 1_200],
            inside: [180, 150, 0, 0],
            ended: 900,
            pass_s: 60,
        };
        let weights = VisitHabits::measure(&short).still_want_seats();
        assert!(weights[1] < 0.2, "{weights:?}");
    }
}
