//! Says how long visits are believed to last where nobody has been inside for so long. In the
//! model, a visitor either stays until its pass ends, or comes out after several steps. The time of
//! each step has an exponential distribution, so the time of all steps has an Erlang distribution.
//! Each shape of a grid is believed as far as it explains how many entered and how many of them
//! are inside (Bayes). Before anything is seen, a visit of any length is as likely as one that
//! lasts twice as long.

use super::visit_table::VisitorsOfAge;

/// The shares of visitors who stay until their pass ends, as they are tried, and how far each is
/// believed before anything is seen. In most rooms at most one in three stays.
const STAYING: [(f64, f64); 9] = [
    (0.005, 1.0),
    (0.05, 1.0),
    (0.12, 1.0),
    (0.2, 1.0),
    (0.3, 1.0),
    (0.45, 0.5),
    (0.65, 0.3),
    (0.85, 0.3),
    (0.98, 0.3),
];
/// The mean times of the others, in seconds: the first one, the factor from each to the next, and
/// how many there are. The last one is half an hour.
const MEAN_FIRST_S: f64 = 2.0;
const MEAN_STEP: f64 = 1.6;
const MEANS: i32 = 15;
/// Before anything is seen, half of the belief is in means below this, in seconds, and two thirds
/// in means within this factor of it.
const MEAN_TYPICAL_S: f64 = 30.0;
const MEAN_FACTOR: f64 = 3.0;
/// The numbers of steps that are tried. With more steps, visits differ less.
const STEPS: [u32; 3] = [3, 8, 24];
/// All visitors together count at most as much as this many. No shape is quite right, and many
/// visitors must not make one of them certain.
const VISITORS_MAX: f64 = 60.0;
/// No shape explains counts with a lower or higher share than these, because when visitors entered
/// is known to some seconds only.
const SHARE_BOUNDS: [f64; 2] = [0.001, 0.999];

/// The visits that began longer ago than a pass lasts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EarlierVisits {
    /// How many came out before their pass ended.
    pub came_out: f64,
    /// How many stayed until their pass ended.
    pub stayed: f64,
}

/// The time of the visitors who come out.
#[derive(Debug, Clone, Copy, PartialEq)]
struct VisitTime {
    mean_s: f64,
    steps: u32,
}

impl VisitTime {
    /// Returns the share of visitors who are still inside after a time.
    fn share(self, age_s: f64) -> f64 {
        let steps_done = age_s / self.mean_s * f64::from(self.steps);
        let (mut sum, mut term) = (1.0, 1.0);
        for step in 1..self.steps {
            term *= steps_done / f64::from(step);
            sum += term;
        }
        sum * (-steps_done).exp()
    }
}

/// One shape that visits may have.
#[derive(Debug, Clone, Copy, PartialEq)]
struct VisitShape {
    /// The share of visitors who stay until their pass ends.
    staying: f64,
    time: VisitTime,
    /// How far the shape is believed; the sum of all is 1.
    weight: f64,
}

/// How long visits are believed to last.
#[derive(Debug, Clone, PartialEq)]
pub struct VisitBelief {
    shapes: Vec<VisitShape>,
    pass_s: f64,
}

impl VisitBelief {
    /// Returns what is believed of visits whose pass lasts `pass_s` seconds, after these were seen.
    #[must_use]
    pub fn new(ages: &[VisitorsOfAge], earlier: EarlierVisits, pass_s: f64) -> Self {
        let seen = ages.iter().map(|age| age.entered).sum::<f64>();
        let seen = seen + earlier.came_out + earlier.stayed;
        let each = (VISITORS_MAX / seen.max(1.0)).min(1.0);
        let [least, most] = SHARE_BOUNDS;
        let mut shapes = Vec::with_capacity(STAYING.len() * STEPS.len() * MEANS as usize);
        for time in times() {
            let shares: Vec<f64> = ages.iter().map(|age| time.share(age.middle_s())).collect();
            let share_of_pass = time.share(pass_s);
            let off = (time.mean_s / MEAN_TYPICAL_S).ln() / MEAN_FACTOR.ln();
            let of_mean = -off * off / 2.0;
            for (staying, believed) in STAYING {
                let likely = |inside: f64, out: f64, share: f64| {
                    let share = (staying + (1.0 - staying) * share).clamp(least, most);
                    inside * share.ln() + out * (1.0 - share).ln()
                };
                let of_ages: f64 = ages
                    .iter()
                    .zip(&shares)
                    .map(|(age, share)| {
                        let inside = age.inside.min(age.entered);
                        likely(inside, age.entered - inside, *share)
                    })
                    .sum();
                let of_earlier = likely(earlier.stayed, earlier.came_out, share_of_pass);
                shapes.push(VisitShape {
                    staying,
                    time,
                    weight: each * (of_ages + of_earlier) + of_mean + f64::ln(believed),
                });
            }
        }
        Self::weighted(shapes, pass_s)
    }

    /// Turns the logarithms of likelihoods into weights.
    fn weighted(mut shapes: Vec<VisitShape>, pass_s: f64) -> Self {
        let most = shapes.iter().map(|shape| shape.weight);
        let most = most.fold(f64::NEG_INFINITY, f64::max);
        for shape in &mut shapes {
            shape.weight = (shape.weight - most).exp();
        }
        let mut belief = Self { shapes, pass_s };
        belief.share_out();
        belief
    }

    /// Makes the sum of the weights 1.
    fn share_out(&mut self) {
        let sum: f64 = self.shapes.iter().map(|shape| shape.weight).sum();
        for shape in &mut self.shapes {
            shape.weight /= sum;
        }
    }

    /// Returns a part of the belief: the shapes between two shares of it, if they are ordered by
    /// how long visits last, the longest first.
    #[must_use]
    pub fn part(&self, [from, to]: [f64; 2]) -> Self {
        let length = |shape: &VisitShape| {
            shape.staying * self.pass_s + (1.0 - shape.staying) * shape.time.mean_s.min(self.pass_s)
        };
        let mut shapes = self.shapes.clone();
        shapes.sort_by(|one, other| length(other).total_cmp(&length(one)));
        let mut before = 0.0;
        for shape in &mut shapes {
            let after = before + shape.weight;
            shape.weight = (after.min(to) - before.max(from)).max(0.0);
            before = after;
        }
        let mut belief = Self {
            shapes,
            pass_s: self.pass_s,
        };
        belief.share_out();
        belief
    }

    /// Returns the share of visitors who are believed to be inside after each of these times, in
    /// seconds.
    #[must_use]
    pub fn shares(&self, ages_s: &[f64]) -> Vec<f64> {
        let mut shares = vec![0.0; ages_s.len()];
        for time in times() {
            let of_time = self.shapes.iter().filter(|shape| shape.time == time);
            let (staying, leaving) = of_time.fold((0.0, 0.0), |(staying, leaving), shape| {
                let stay = shape.weight * shape.staying;
                (staying + stay, leaving + shape.weight - stay)
            });
            if staying + leaving < 1e-6 {
                continue;
            }
            for (share, age_s) in shares.iter_mut().zip(ages_s) {
                *share += staying + leaving * time.share(*age_s);
            }
        }
        shares
    }
}

fn times() -> impl Iterator<Item = VisitTime> {
    (0..MEANS).flat_map(|step| {
        let mean_s = MEAN_FIRST_S * MEAN_STEP.powi(step);
        STEPS.map(|steps| VisitTime { mean_s, steps })
    })
}
