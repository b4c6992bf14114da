//! Estimates which share of the visitors is still inside after a time, from how many entered and
//! how many of them are still inside. It is a life table of those who are inside now. Where nobody
//! has been inside for as long, the visits end as they are believed to.

use super::visit_belief::VisitBelief;

/// The first limits of the ages by which the visitors inside are counted, in seconds.
const FIRST_AGES_S: [u64; 7] = [10, 20, 30, 45, 60, 90, 120];
/// Each later limit is this many times the one before.
const AGE_STEP: f64 = 1.25;
/// The belief about the share inside counts as much as this many visitors of each age.
const SHARE_WEIGHT: f64 = 5.0;
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

impl VisitorsOfAge {
    /// Returns the age in the middle of the range, in seconds.
    pub(super) fn middle_s(&self) -> f64 {
        f64::midpoint(self.from_s, self.to_s)
    }
}

/// Which share of the visitors is still inside after a time.
#[derive(Debug, Clone, PartialEq)]
pub struct VisitTable {
    pass_s: f64,
    /// The logarithms of the shares at ages at equal distances from 0 to `pass_s`.
    logarithms: Vec<f64>,
}

/// Returns the share inside at an age. It is interpolated between the known ages. After the last
/// one, visits end as they are believed to: `believed` is the believed share at the age.
fn share_at(known: &[(f64, f64, f64)], age_s: f64, believed: f64) -> f64 {
    let after = known.partition_point(|(at_s, _, _)| *at_s <= age_s);
    let (_, from, believed_from) = known[after - 1];
    match known.get(after) {
        Some((_, to, believed_to)) => {
            let believed_out = believed_from - believed_to;
            let part = if believed_out > SHARE_MIN {
                (believed_from - believed) / believed_out
            } else {
                0.5
            };
            from + (to - from) * part
        }
        None => from * believed / believed_from.max(SHARE_MIN),
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
    /// Estimates the table from the visitors of each age, the youngest first, and from what is
    /// believed of visits whose pass lasts `pass_s` seconds.
    #[must_use]
    pub fn estimate(ages: &[VisitorsOfAge], belief: &VisitBelief, pass_s: f64) -> Self {
        let mut ages_s: Vec<f64> = ages.iter().map(VisitorsOfAge::middle_s).collect();
        ages_s.extend((0..=AGES).map(|at| pass_s * at as f64 / AGES as f64));
        let believed = belief.shares(&ages_s);
        let (believed_of_ages, believed) = believed.split_at(ages.len());
        // Each known share with the one that was believed.
        let mut known = vec![(0.0, 1.0, 1.0)];
        let counted = falling_shares(ages);
        for ((age, counted), believed) in ages.iter().zip(counted).zip(believed_of_ages) {
            let (_, before, believed_before) = known[known.len() - 1];
            let expected = before * believed / believed_before;
            let share =
                (age.entered * counted + SHARE_WEIGHT * expected) / (age.entered + SHARE_WEIGHT);
            known.push((age.middle_s(), share.min(before), *believed));
        }
        let logarithms = (0..=AGES).zip(believed).map(|(at, believed)| {
            let age_s = pass_s * at as f64 / AGES as f64;
            share_at(&known, age_s, *believed).max(SHARE_MIN).ln()
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
    use super::super::visit_belief::EarlierVisits;
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
        let ages = ages.collect::<Vec<_>>();
        let belief = VisitBelief::new(&ages, EarlierVisits::default(), pass_s as f64);
        VisitTable::estimate(&ages, &belief, pass_s as f64)
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
