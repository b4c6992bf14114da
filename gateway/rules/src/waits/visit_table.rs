//! Estimates which share of the visitors is still inside after a time, from how many entered and
//! how many of them are still inside. Nothing is assumed about how visits are spread: it is a life
//! table of those who are inside now. Where nobody has been inside for as long, the visits are
//! believed to go on as they did before, on a scale that grows with their age.

/// The first limits of the ages by which the visitors inside are counted, in seconds.
const FIRST_AGES_S: [u64; 7] = [10, 20, 30, 45, 60, 90, 120];
/// Each later limit is this many times the one before.
const AGE_STEP: f64 = 1.25;
/// At first, half of the visitors are believed to be out after this time, in seconds. Of those who
/// are inside for longer, half are believed to be out after as long again.
const SCALE_S: f64 = 30.0;
/// The belief about how fast visits end counts as much as this many visits that ended.
const BELIEF_WEIGHT: f64 = 1.0;
/// The belief about the share inside counts as much as this many visitors of each age.
const SHARE_WEIGHT: f64 = 1.0;
/// In a normal distribution, nine in ten values lie above the mean minus this many standard
/// deviations.
const NINE_IN_TEN: f64 = 1.28;
/// The shares are worked out for this many ages at equal distances.
const AGES: usize = 256;
/// The least share inside. Its logarithm is finite.
const SHARE_MIN: f64 = 1e-6;

/// Returns the limits of the ages by which the visitors inside are counted, in seconds, if a pass
/// is valid for `pass_s` seconds.
#[must_use]
pub fn age_limits_s(pass_s: u64) -> Vec<u64> {
    let last = FIRST_AGES_S[FIRST_AGES_S.len() - 1];
    let later = std::iter::successors(Some(last), |age_s| Some((*age_s as f64 * AGE_STEP) as u64));
    let ages_s = FIRST_AGES_S.into_iter().chain(later.skip(1));
    ages_s.take_while(|age_s| *age_s < pass_s).collect()
}

/// The visitors who entered within one range of ages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VisitorsOfAge {
    /// The least age, in seconds.
    pub from_s: f64,
    /// The age that is above all of the range, in seconds.
    pub to_s: f64,
    /// How many entered at these ages, still inside or not.
    pub entered: f64,
    /// How many of them are inside.
    pub inside: f64,
}

/// Which share of the visitors is still inside after a time.
#[derive(Debug, Clone, PartialEq)]
pub struct VisitTable {
    pass_s: f64,
    /// The logarithms of the shares at ages at equal distances from 0 to `pass_s`.
    logarithms: Vec<f64>,
}

/// How fast visits end, on the scale that grows with their age.
#[derive(Debug, Clone, Copy)]
struct EndingPace {
    /// How many visits ended, with the belief.
    ended: f64,
    /// The scales that visitors were seen inside for, added up, with the belief.
    seen: f64,
    is_slow: bool,
}

impl EndingPace {
    fn at_first(is_slow: bool) -> Self {
        Self {
            ended: BELIEF_WEIGHT,
            seen: BELIEF_WEIGHT,
            is_slow,
        }
    }

    /// Returns the pace after visitors were seen inside for `seen` scales more, and `ended` of
    /// their visits ended. What was seen of younger visitors becomes the belief.
    fn after(self, ended: f64, seen: f64) -> Self {
        let belief = BELIEF_WEIGHT * self.ended / self.seen;
        Self {
            ended: belief + ended,
            seen: BELIEF_WEIGHT + seen,
            ..self
        }
    }

    /// Returns how many visits of one visitor end within one scale: the mean, or what is exceeded
    /// in nine of ten cases. The number of visits that ended has a gamma distribution, whose tenth
    /// is near this cube (Wilson and Hilferty, 1931).
    fn told(&self) -> f64 {
        let part = if self.is_slow {
            let root = 1.0 / (9.0 * self.ended);
            (1.0 - root - NINE_IN_TEN * root.sqrt()).max(0.0).powi(3)
        } else {
            1.0
        };
        part * self.ended / self.seen
    }
}

/// Returns how many scales lie between two ages, in seconds.
fn scales_between(from_s: f64, to_s: f64) -> f64 {
    ((SCALE_S + to_s) / (SCALE_S + from_s)).ln()
}

/// Returns the share inside at an age. It is interpolated between the known ages. After the last
/// one, visits end at the last pace.
fn share_at(known: &[(f64, f64)], pace: &EndingPace, age_s: f64) -> f64 {
    let after = known.partition_point(|(at_s, _)| *at_s <= age_s);
    let (from_s, from) = known[after - 1];
    match known.get(after) {
        Some((to_s, to)) => from + (to - from) * (age_s - from_s) / (to_s - from_s),
        None => from * (-pace.told() * scales_between(from_s, age_s)).exp(),
    }
}

/// Returns the share inside of the visitors of each age, as near to the counts as shares can be
/// that do not grow with the age: neighbours that would grow are counted together.
fn falling_shares(ages: &[VisitorsOfAge]) -> Vec<f64> {
    // Each block has the visitors who entered, those inside, and the number of its ages.
    let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
    let share = |(entered, inside, _): &(f64, f64, usize)| {
        if *entered > 0.0 {
            inside / entered
        } else {
            0.0
        }
    };
    for age in ages {
        let mut block = (age.entered, age.inside.min(age.entered), 1);
        while let Some(before) = blocks.last()
            && share(before) < share(&block)
        {
            block = (block.0 + before.0, block.1 + before.1, block.2 + before.2);
            blocks.pop();
        }
        blocks.push(block);
    }
    blocks
        .iter()
        .flat_map(|block| std::iter::repeat_n(share(block), block.2))
        .collect()
}

impl VisitTable {
    /// Estimates the table from the visitors of each age, the youngest first. With `is_slow`, it is
    /// a table of visits that end as slowly as in one of ten cases.
    #[must_use]
    pub fn estimate(ages: &[VisitorsOfAge], pass_s: f64, is_slow: bool) -> Self {
        let (mut known, mut pace) = (vec![(0.0, 1.0)], EndingPace::at_first(is_slow));
        for (age, counted) in ages.iter().zip(falling_shares(ages)) {
            let middle_s = (age.from_s + age.to_s) / 2.0;
            let (before_s, before) = known[known.len() - 1];
            let scales = scales_between(before_s, middle_s);
            let believed = before * (-pace.told() * scales).exp();
            let share =
                (age.entered * counted + SHARE_WEIGHT * believed) / (age.entered + SHARE_WEIGHT);
            let share = share.min(before);
            pace = pace.after(
                age.entered * (before - share),
                age.entered * before * scales,
            );
            known.push((middle_s, share));
        }
        let logarithms = (0..=AGES).map(|at| {
            let age_s = pass_s * at as f64 / AGES as f64;
            share_at(&known, &pace, age_s).max(SHARE_MIN).ln()
        });
        Self {
            pass_s,
            logarithms: logarithms.collect(),
        }
    }

    /// Returns the logarithm of the share of visitors who are inside `age_s` seconds after they
    /// entered, if the pass is still valid then.
    #[must_use]
    pub fn ln_share(&self, age_s: f64) -> f64 {
        let at = (age_s.max(0.0) / self.pass_s * AGES as f64).min(AGES as f64);
        let before = (at as usize).min(AGES - 1);
        let (from, to) = (self.logarithms[before], self.logarithms[before + 1]);
        from + (to - from) * (at - before as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts visitors of whom one enters each second, for `since_s` seconds. `share_at` says which
    /// share is inside after a time.
    fn table(since_s: f64, pass_s: u64, share_at: impl Fn(f64) -> f64) -> VisitTable {
        let mut from_s = 0.0;
        let mut limits: Vec<f64> = age_limits_s(pass_s).iter().map(|age| *age as f64).collect();
        limits.push(pass_s as f64);
        let ages = limits.iter().map(|to_s| {
            let entered = (to_s.min(since_s) - from_s).max(0.0);
            let age = VisitorsOfAge {
                from_s,
                to_s: *to_s,
                entered,
                inside: entered * share_at((from_s + to_s) / 2.0),
            };
            from_s = *to_s;
            age
        });
        VisitTable::estimate(&ages.collect::<Vec<_>>(), pass_s as f64, false)
    }

    #[test]
    fn visits_that_ended_are_read_off_as_they_were() {
        let table = table(600.0, 600, |age_s| (-age_s / 100.0).exp());
        for age_s in [15.0, 60.0, 150.0, 300.0] {
            let share = table.ln_share(age_s).exp();
            assert!(
                (share - (-age_s / 100.0).exp()).abs() < 0.06,
                "{age_s}: {share}"
            );
        }
    }

    #[test]
    fn where_nobody_finishes_nobody_is_believed_to_finish_soon() {
        let young = table(2.0, 600, |_| 1.0);
        let old = table(300.0, 600, |_| 1.0);
        assert!(
            young.ln_share(60.0).exp() < 0.5,
            "at first visits are believed to be short"
        );
        assert!(old.ln_share(300.0).exp() > 0.95);
        assert!(
            old.ln_share(600.0).exp() > 0.8,
            "{}",
            old.ln_share(600.0).exp()
        );
    }
}
