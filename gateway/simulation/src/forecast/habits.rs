//! Measures what the visitors of a running sale do. From the sale's figures, it finds how many of
//! the called visitors enter, how many of those buy, how many seats they take, and how long it
//! takes them to enter and to buy.

use super::running::RunningFigures;

/// A forecast needs at least this many visitors with tickets.
const DONE_MIN: u64 = 10;
/// A first guess of a share weighs as much as this many visitors.
const GUESS_WEIGHT: f64 = 20.0;
/// The first guess of the share of called visitors who enter.
const SHOW_UP: f64 = 0.95;
/// The first guess of the share of visitors inside who buy.
const BUY: f64 = 0.8;
/// Each delay that is tried is longer than the one before by this factor.
const DELAY_STEP: f64 = 1.25;
/// The same factor for the delays that are then tried near the best one.
const DELAY_STEP_FINE: f64 = 1.02;
/// The shortest and the longest delay that are tried, in seconds.
const DELAY_MIN_S: f64 = 0.5;
const DELAY_MAX_S: f64 = 1_800.0;
/// Delays are tried in small steps only if at least this many visitors entered or bought. With
/// fewer visitors, a longer delay with a larger share fits about as well. Chance then decides which
/// of many delays fits best.
const REFINED_FROM: f64 = 200.0;
/// When less than this part of the seats is free, some buyers find no seats. So what visitors do is
/// measured from earlier figures, if enough visitors had tickets by then.
const FREE_MIN: f64 = 0.1;

/// What the visitors of a sale do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredHabits {
    /// The share of called visitors who enter, and the delay from the call to the entry.
    pub show_up: DelayedShare,
    /// The share of visitors inside who buy, and the delay from the entry to the tickets.
    pub buy: DelayedShare,
    /// How many cells a buyer takes on average.
    pub party: f64,
    /// How many visitors have got tickets. The more there are, the smaller the doubt about the
    /// shares.
    pub buyers: u64,
}

/// How one count follows another: a share of the first count appears in the second after a delay.
/// For example, a share of the called visitors enters some seconds after the call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DelayedShare {
    /// The share, above 0 and at most 1.
    pub share: f64,
    /// The delay, in seconds.
    pub delay_s: f64,
}

/// Estimates how many people were called. The released ranks include ranks of visitors who have
/// left, so the share of visitors who have left is subtracted.
pub fn people_called(figures: &RunningFigures) -> f64 {
    let share_left = figures.left as f64 / (figures.joined as f64).max(1.0);
    figures.released as f64 * (1.0 - share_left.min(1.0))
}

/// Returns the value of a figure at a time, interpolated linearly between the figures before and
/// after that time.
pub fn value_at(
    figures: &[RunningFigures],
    at_s: f64,
    value: impl Fn(&RunningFigures) -> f64,
) -> f64 {
    let next = figures.partition_point(|figures| figures.at_s <= at_s);
    let Some(before) = next.checked_sub(1).and_then(|before| figures.get(before)) else {
        return 0.0;
    };
    let Some(after) = figures.get(next) else {
        return value(before);
    };
    let share = (at_s - before.at_s) / (after.at_s - before.at_s);
    value(before) + share * (value(after) - value(before))
}

impl MeasuredHabits {
    /// Measures what visitors do. Returns `None` while too few of them have tickets.
    pub fn of(figures: &[RunningFigures]) -> Option<Self> {
        let (first, last) = (figures.first()?, figures.last()?);
        if last.done < DONE_MIN || last.done <= first.done {
            return None;
        }
        let cells = (first.free + first.held) as f64;
        let with_free_seats: Vec<RunningFigures> = figures
            .iter()
            .copied()
            .filter(|figures| figures.free as f64 >= FREE_MIN * cells)
            .collect();
        let measured = match with_free_seats.last() {
            Some(last) if last.done >= DONE_MIN => &with_free_seats[..],
            _ => figures,
        };
        let sold = last.sold.saturating_sub(first.sold) as f64;
        Some(Self {
            show_up: delayed_share(
                measured,
                people_called,
                |figures| figures.claimed as f64,
                SHOW_UP,
            ),
            buy: delayed_share(
                measured,
                |figures| figures.claimed as f64,
                |figures| figures.done as f64,
                BUY,
            ),
            party: (sold / (last.done - first.done) as f64).max(1.0),
            buyers: last.done - first.done,
        })
    }
}

/// Finds by least squares with which share and delay one count follows another. It tries delays in
/// large steps, and then in small steps near the best of them. The small steps matter when many
/// visitors enter. If a hundred enter each second and the delay is wrong by a tenth of a second,
/// ten of them look as if they had not bought.
fn delayed_share(
    figures: &[RunningFigures],
    from: impl Fn(&RunningFigures) -> f64,
    to: impl Fn(&RunningFigures) -> f64,
    guess: f64,
) -> DelayedShare {
    let fit = |delay_s: f64| {
        let earlier = |now: &RunningFigures| value_at(figures, now.at_s - delay_s, &from);
        let (mut products, mut squares, mut sum) = (0.0, 0.0, 0.0);
        for now in figures {
            let earlier = earlier(now);
            products += earlier * to(now);
            squares += earlier * earlier;
            sum += earlier;
        }
        let weight = GUESS_WEIGHT * sum / figures.len() as f64;
        let share = ((products + weight * guess) / (squares + weight).max(f64::MIN_POSITIVE))
            .clamp(0.02, 1.0);
        let squared_errors = figures
            .iter()
            .map(|now| (to(now) - share * earlier(now)).powi(2))
            .sum::<f64>();
        (squared_errors, DelayedShare { share, delay_s })
    };
    let best = |delays: &mut dyn Iterator<Item = f64>| {
        let fits = delays.map(fit);
        fits.min_by(|(one, _), (other, _)| one.total_cmp(other))
    };
    let no_fit = (
        0.0,
        DelayedShare {
            share: guess,
            delay_s: DELAY_MIN_S,
        },
    );
    let coarse = best(&mut delays(DELAY_MIN_S, DELAY_MAX_S, DELAY_STEP));
    let (_, coarse) = coarse.unwrap_or(no_fit);
    if figures.last().is_none_or(|last| to(last) < REFINED_FROM) {
        return coarse;
    }
    let least_s = (coarse.delay_s / DELAY_STEP).max(DELAY_MIN_S);
    let most_s = (coarse.delay_s * DELAY_STEP).min(DELAY_MAX_S);
    let (_, fine) = best(&mut delays(least_s, most_s, DELAY_STEP_FINE)).unwrap_or(no_fit);
    fine
}

/// Returns delays from `least_s` to `most_s`, each longer than the one before by `factor`.
fn delays(least_s: f64, most_s: f64, factor: f64) -> impl Iterator<Item = f64> {
    let longer = move |delay_s: &f64| Some(delay_s * factor);
    std::iter::successors(Some(least_s), longer).take_while(move |delay_s| *delay_s <= most_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten visitors a second are called. Eight of ten enter two seconds later. Twenty seconds after
    /// that, half of those have two tickets each.
    fn figures() -> Vec<RunningFigures> {
        let after = |at_s: f64, delay_s: f64| (at_s - delay_s).max(0.0);
        (0..=9)
            .map(|ten| {
                let at_s = f64::from(ten) * 10.0;
                let done = (after(at_s, 22.0) * 4.0) as u64;
                RunningFigures {
                    at_s,
                    joined: 5_000,
                    waiting: 5_000 - (at_s * 10.0) as u64,
                    released: (at_s * 10.0) as u64,
                    claimed: (after(at_s, 2.0) * 8.0) as u64,
                    done,
                    sold: 2 * done,
                    free: 5_000 - 2 * done,
                    ..RunningFigures::default()
                }
            })
            .collect()
    }

    #[test]
    fn shares_and_delays_are_found_in_the_counts() {
        let habits = MeasuredHabits::of(&figures()).expect("enough have tickets");
        assert!((habits.party - 2.0).abs() < 1e-9);
        assert!((habits.show_up.share - 0.8).abs() < 0.04, "{habits:?}");
        assert!((habits.buy.share - 0.5).abs() < 0.06, "{habits:?}");
        assert!((15.0..26.0).contains(&habits.buy.delay_s), "{habits:?}");
    }

    #[test]
    fn nothing_is_known_before_the_first_tickets() {
        assert_eq!(MeasuredHabits::of(&[]), None);
        assert_eq!(MeasuredHabits::of(&figures()[..3]), None);
    }
}
