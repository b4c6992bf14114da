//! Makes the table of waits from the figures of one tick. It walks ahead twice: once as things will
//! probably go, and once as slowly as they go in one of ten cases.

use super::LineWaits;
use super::points::{WaitPoint, keep_few};
use super::visit_belief::{EarlierVisits, VisitBelief};
use super::visit_table::{VisitTable, VisitorsOfAge, age_limits_s};
use super::walk::{SeatFlow, WalkStart, WalkedMoment, walk};
use crate::estimate::{TICK_P90_S, UnknownWait};
use crate::limits::{PaceLimits, PaceMeasurements, PaceMemory};
use crate::odds::SeatDemand;
use crate::pace::VISITOR_U;
use crate::pace_settings::PaceSettings;
use crate::room_document::PaceMode;

/// In a normal distribution, nine in ten values lie above the mean minus this many standard
/// deviations.
const NINE_IN_TEN: f64 = 1.28;
/// If the odds of a seat are below this, the wait is not known: it depends on seats that may come
/// back.
const ODDS_KNOWN: f64 = 0.1;
/// After its end, a walk goes on as in this many lengths of a pass before.
const EVEN_PASSES: f64 = 2.0;
/// In one of ten cases a tick is so much late, in seconds.
const LATE_TICK_S: f64 = 0.5;
/// By which part the line may move more slowly than the pace did in the last seconds.
const PACE_DOUBT: f64 = 0.06;
/// The same in auto mode, where booking may fall ill.
const PACE_DOUBT_AUTO: f64 = 0.35;
/// How far visits may end faster or slower than they did, as a part, however many were seen.
const ENDING_DOUBT: f64 = 0.15;
/// In one of ten cases this part of the called visitors comes later than the others, and all those
/// come who did not come within their window. While they ask, nobody new is called.
const SLOW_CALLED: f64 = 0.8;
/// Which parts of the belief about visits the courses have, if its shapes are ordered by how long
/// visits last, the longest first.
const MIDDLE_PART: [f64; 2] = [0.3, 0.7];
const SLOW_PART: [f64; 2] = [0.0, 0.2];
/// How many seats the walk expects fewer in one of ten cases, as a part.
const SEATS_DOUBT: f64 = 0.1;
/// Ages at which fewer visitors than this entered say nothing about how visits end.
const PEOPLE_MIN: f64 = 0.5;
/// After this time, in seconds, the valve of a room whose booking is well has come most of the way
/// to the promoter's limit.
const CLIMB_S: f64 = 8.0;
/// Booking that fell ill is believed to recover in this many times the time that it has been ill.
/// In many sales it cannot serve the asked pace at all.
const RECOVERY: f64 = 6.0;
/// The least and the longest time in which it is believed to recover, in seconds.
const RECOVERY_S: [f64; 2] = [20.0, 3_600.0];
/// In one of ten cases the recovery takes this many times as long.
const SLOW_RECOVERY: f64 = 8.0;
/// Called visitors are believed to take this long until they are inside, in seconds.
const COMING_S: f64 = 3.0;
/// The first numbers of people ahead for which waits are worked out one by one, and the factor from
/// each later number to the next.
const SINGLE_AHEAD: u64 = 20;
const AHEAD_STEP: f64 = 1.12;

/// What a forecast is made from.
#[derive(Debug, Clone, Copy)]
pub struct LineFigures<'a> {
    /// The promoter's settings.
    pub settings: &'a PaceSettings,
    /// The limits of the tick.
    pub limits: &'a PaceLimits,
    /// The measurements of the tick.
    pub measured: &'a PaceMeasurements,
    /// For each age of [`age_limits_s`], how many visitors have been inside for less.
    pub younger: &'a [u64],
    /// How many present people the tick has called.
    pub called: u64,
    /// How many people wait after that.
    pub waiting: u64,
    /// How long a basket lives, in seconds.
    pub hold_s: u64,
}

/// One of the two courses that the forecast walks.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Course {
    /// As things will probably go.
    Middle,
    /// As slowly as in one of ten cases.
    Slow,
}

/// Forecasts the waits of a line that people are let in from.
#[must_use]
pub fn forecast(memory: &PaceMemory, figures: &LineFigures<'_>) -> LineWaits {
    let ages = visitors_by_age(memory, figures);
    let pass_s = f64::from(figures.settings.pass_s);
    let belief = VisitBelief::new(&ages, earlier_visits(&ages, figures.measured), pass_s);
    let people = figures.waiting as f64 + 2.0;
    let [middle, slow] = [Course::Middle, Course::Slow].map(|course| {
        let belief = match course {
            Course::Middle => belief.part(MIDDLE_PART),
            Course::Slow => belief.part(SLOW_PART),
        };
        let visits = VisitTable::estimate(&ages, &belief, pass_s);
        let start = start_of(memory, figures, &visits, course);
        // The slow course also has to pass its own doubt.
        let people = if course == Course::Slow {
            people + 2.0 * NINE_IN_TEN * people.sqrt()
        } else {
            people
        };
        walk(&start, people)
    });
    let mut table: Vec<WaitPoint> = Vec::new();
    for ahead in aheads(figures.waiting) {
        // The visitor counts as half a person. This corrects the bias that comes from a slow line,
        // which moves in steps of whole people.
        let people = ahead as f64 + 0.5;
        let p50_s = passed_s(&middle, people, 0.0, pass_s);
        let p90_s = passed_s(&slow, people, NINE_IN_TEN, pass_s) + TICK_P90_S + LATE_TICK_S;
        if !(p50_s.is_finite() && p90_s.is_finite()) {
            break;
        }
        table.push(WaitPoint {
            ahead,
            p50_s,
            p90_s: p90_s.max(p50_s),
        });
    }
    if table.is_empty() {
        return LineWaits::unknown(UnknownWait::NoFigures);
    }
    LineWaits {
        points: keep_few(&table),
        few_seats_from: figures
            .limits
            .demand
            .and_then(|demand| few_seats_from(&demand, figures.waiting)),
        unknown: None,
    }
}

/// Returns the numbers of people ahead for which waits are worked out.
fn aheads(waiting: u64) -> impl Iterator<Item = u64> {
    let next = |ahead: &u64| {
        let step = (*ahead as f64 * (AHEAD_STEP - 1.0)) as u64;
        Some(
            ahead
                + if *ahead < SINGLE_AHEAD {
                    1
                } else {
                    step.max(1)
                },
        )
    };
    let all = std::iter::successors(Some(0), next);
    all.take_while(move |ahead| *ahead < waiting)
        .chain([waiting])
}

/// Returns from how many people ahead on hardly a seat will be left, if that is within the line.
fn few_seats_from(demand: &SeatDemand, waiting: u64) -> Option<u64> {
    let is_left = |ahead: u64| demand.seat_odds(ahead) >= ODDS_KNOWN;
    if is_left(waiting) {
        return None;
    }
    let (mut few, mut left) = (waiting, 0);
    while left < few {
        let middle = left + (few - left) / 2;
        if is_left(middle) {
            left = middle + 1;
        } else {
            few = middle;
        }
    }
    Some(few)
}

/// Returns after how many seconds a walk has called `people`, less `deviations` standard deviations
/// of their number. After the walk's end, the line moves on as in the last passes.
fn passed_s(walked: &[WalkedMoment], people: f64, deviations: f64, pass_s: f64) -> f64 {
    let surely = |moment: &WalkedMoment| moment.called - deviations * moment.variance.sqrt();
    let mut before = &walked[0];
    for moment in walked {
        if surely(moment) >= people {
            let (from, to) = (surely(before), surely(moment));
            return before.at_s + (moment.at_s - before.at_s) * (people - from) / (to - from);
        }
        before = moment;
    }
    // Full rooms empty and fill again with each length of a pass, so whole ones are compared.
    let even_s = before.at_s - EVEN_PASSES * pass_s;
    let even = walked.partition_point(|moment| moment.at_s < even_s);
    let even = even.min(walked.len() - 2);
    let per_s = (surely(before) - surely(&walked[even])) / (before.at_s - walked[even].at_s);
    before.at_s + (people - surely(before)) / per_s.max(0.0)
}

/// Counts who entered at which age, and who of them is inside.
fn visitors_by_age(memory: &PaceMemory, figures: &LineFigures<'_>) -> Vec<VisitorsOfAge> {
    let measured = figures.measured;
    let pass_s = u64::from(figures.settings.pass_s);
    let entered = |age_s: u64| memory.entered_before(measured, age_s);
    let all = measured.inside.iter().sum();
    let mut limits = age_limits_s(pass_s);
    limits.push(pass_s);
    let (mut from_s, mut younger_before) = (0, 0);
    let mut ages: Vec<VisitorsOfAge> = limits
        .iter()
        .enumerate()
        .map(|(at, to_s)| {
            let younger = figures.younger.get(at).copied().unwrap_or(all);
            let age = VisitorsOfAge {
                from_s: from_s as f64,
                to_s: *to_s as f64,
                entered: (entered(from_s) - entered(*to_s)).max(0.0),
                inside: younger.saturating_sub(younger_before) as f64,
            };
            (from_s, younger_before) = (*to_s, younger.max(younger_before));
            age
        })
        .collect();
    move_misplaced_entries(&mut ages);
    ages.retain(|age| age.entered >= PEOPLE_MIN);
    // When the first visitors entered is not known to the second. So those of the last age are
    // counted together with those before.
    if ages.len() > 1
        && let Some(oldest) = ages.pop()
        && let Some(last) = ages.last_mut()
    {
        last.to_s = oldest.to_s;
        last.entered += oldest.entered;
        last.inside += oldest.inside;
    }
    ages
}

/// Counts the visits that began before those of all ages.
fn earlier_visits(ages: &[VisitorsOfAge], measured: &PaceMeasurements) -> EarlierVisits {
    let later: f64 = ages.iter().map(|age| age.entered).sum();
    let earlier = (measured.entered() as f64 - later).max(0.0);
    let stayed = (measured.ended as f64).min(earlier);
    EarlierVisits {
        came_out: earlier - stayed,
        stayed,
    }
}

/// When visitors entered is known to some seconds only. If more of an age are inside than entered,
/// the others were counted among the younger ones, or else among the older ones. So nobody who is
/// inside looks like a visit that has ended.
fn move_misplaced_entries(ages: &mut [VisitorsOfAge]) {
    let older_first = (1..ages.len()).rev().map(|at| (at, at - 1));
    let younger_first = (1..ages.len()).map(|at| (at - 1, at));
    for (to, from) in older_first.chain(younger_first).collect::<Vec<_>>() {
        let missing = (ages[to].inside - ages[to].entered).max(0.0);
        let moved = missing.min(ages[from].entered);
        ages[to].entered += moved;
        ages[from].entered -= moved;
    }
}

/// Returns the visitors inside and their ages, with those of a wide range of ages spread over it.
fn inside_by_age(figures: &LineFigures<'_>) -> Vec<(f64, f64)> {
    let pass_s = u64::from(figures.settings.pass_s);
    let all: u64 = figures.measured.inside.iter().sum();
    let mut limits = age_limits_s(pass_s);
    limits.push(pass_s);
    let (mut from_s, mut before, mut inside) = (0, 0, Vec::new());
    for (at, to_s) in limits.into_iter().enumerate() {
        let younger = figures.younger.get(at).copied().unwrap_or(all).max(before);
        let people = (younger - before) as f64;
        let (width_s, parts) = ((to_s - from_s) as f64, 3_u32);
        for part in 0..parts {
            let middle = (f64::from(part) + 0.5) / f64::from(parts);
            if people > 0.0 {
                inside.push((people / f64::from(parts), from_s as f64 + width_s * middle));
            }
        }
        (from_s, before) = (to_s, younger);
    }
    inside
}

fn start_of<'a>(
    memory: &PaceMemory,
    figures: &LineFigures<'_>,
    visits: &'a VisitTable,
    course: Course,
) -> WalkStart<'a> {
    let (settings, limits, measured) = (figures.settings, figures.limits, figures.measured);
    let is_slow = course == Course::Slow;
    let asking = measured.asking as f64;
    let [per_s, per_s_later] = paces_per_s(memory, figures, is_slow);
    let recovers_s = memory.ill_for_s(measured.now).map_or(CLIMB_S, |ill_s| {
        (RECOVERY * ill_s).clamp(RECOVERY_S[0], RECOVERY_S[1])
    });
    let owed = memory.waits.map_or(0, |waits| waits.owed_u()) as f64 / VISITOR_U as f64;
    let late = memory.waits.filter(|_| is_slow).map_or(0.0, |waits| {
        let missing = waits.missing(measured.claimed, measured.called + figures.called);
        missing as f64 + SLOW_CALLED * measured.called as f64
    });
    let waiting_at_the_door = (asking - per_s.min(asking)).max(0.0);
    WalkStart {
        visits,
        ending: if is_slow {
            (-NINE_IN_TEN * ENDING_DOUBT).exp()
        } else {
            1.0
        },
        pass_s: f64::from(settings.pass_s),
        inside: inside_by_age(figures),
        called: (measured.called + measured.entering) as f64
            + figures.called as f64 * measured.show_up,
        coming_s: COMING_S,
        show_up: measured.show_up,
        inside_max: limits.inside_max as f64,
        inside_max_later: limits.inside_max.max(match settings.mode {
            PaceMode::Auto => settings.max_inside,
            PaceMode::Fixed => limits.inside_max,
        }) as f64,
        per_s,
        per_s_later,
        recovers_s: recovers_s * if is_slow { SLOW_RECOVERY } else { 1.0 },
        debt: owed + waiting_at_the_door + late,
        debt_outside: waiting_at_the_door + late,
        seats: limits.demand.map(|demand| {
            let each = demand.seats_per_visitor() * demand.show_up;
            let doubt = if is_slow { 1.0 - SEATS_DOUBT } else { 1.0 };
            let returning = measured.seats.held as f64 * (1.0 - demand.kept);
            SeatFlow {
                wanted: (demand.more_wanted() - figures.called as f64) * doubt,
                returning: (returning - measured.seats.lapsing as f64).max(0.0) / each,
                left_share: 1.0 - demand.kept,
                hold_s: figures.hold_s.max(1) as f64,
                trickle_per_s: limits.trickle_u as f64 / VISITOR_U as f64,
            }
        }),
    }
}

/// Returns the pace now and later, in visitors a second.
fn paces_per_s(memory: &PaceMemory, figures: &LineFigures<'_>, is_slow: bool) -> [f64; 2] {
    if figures.limits.rate_u.is_none() {
        return [f64::INFINITY; 2];
    }
    let kept_share = memory.waits.map_or(1.0, |waits| waits.kept_share());
    let doubt = match (is_slow, figures.settings.mode) {
        (false, _) => 0.0,
        (true, PaceMode::Fixed) => PACE_DOUBT,
        (true, PaceMode::Auto) => PACE_DOUBT_AUTO,
    };
    let later = figures.settings.per_s_u as f64 / VISITOR_U as f64 * kept_share * (1.0 - doubt);
    if memory.ill_for_s(figures.measured.now).is_none() {
        return [later; 2];
    }
    let (mean, low) = memory.rates(figures.settings.per_s_u);
    [if is_slow { low } else { mean }.min(later), later]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::odds::SeatSupply;
    use crate::pace::{ReleaseBound, ReleaseDecision};
    use crate::pace_settings::TRICKLE_MIN_U;
    use crate::valve::HealthReading;

    /// Returns the settings of a room with a pace of ten visitors a second.
    fn settings(max_inside: u64) -> PaceSettings {
        PaceSettings {
            mode: PaceMode::Fixed,
            line: true,
            per_s_u: 10 * VISITOR_U,
            trickle_min_u: TRICKLE_MIN_U,
            max_inside,
            p99_ms: 300,
            pass_s: 600,
        }
    }

    /// Forecasts the waits of a hundred people at the pace of `settings` after `seconds` seconds,
    /// in which nobody finished, of a room with these seats.
    fn waits_after(seconds: u64, settings: &PaceSettings, seats: SeatSupply) -> LineWaits {
        let mut memory = PaceMemory::default();
        let mut inside = 0;
        for second in 0_u64.. {
            // Visitors of the age of a limit and older have entered by then.
            let younger = |age_s: u64| match second.checked_sub(age_s + 1) {
                Some(then) => inside - entered_by(settings, then),
                None => inside,
            };
            let measured = PaceMeasurements {
                now: 1_800_000_000_000 + second as i64 * 1_000,
                inside: [younger(30), 0, 0, inside - younger(30)],
                told_none: [0; 4],
                called: 0,
                entering: 0,
                show_up: 1.0,
                done: 0,
                ended: 0,
                seats,
                reading: HealthReading::default(),
                owed_u: 0,
                asking: 0,
                claimed: inside,
            };
            let limits = memory.limits(settings, &measured);
            let called = entered_by(settings, second) - inside;
            let decision = ReleaseDecision {
                released: inside + called,
                people: called,
                remainder_u: 0,
                owed_u: 0,
                late_u: 0,
                bound: ReleaseBound::Limit,
            };
            memory.record_tick(&decision, 1_000, &limits, settings, &measured);
            if second == seconds {
                let ages_s = age_limits_s(600);
                return forecast(
                    &memory,
                    &LineFigures {
                        settings,
                        limits: &limits,
                        measured: &measured,
                        younger: &ages_s.into_iter().map(younger).collect::<Vec<_>>(),
                        called,
                        waiting: 100,
                        hold_s: 300,
                    },
                );
            }
            inside += called;
        }
        unreachable!("the seconds go on")
    }

    /// Returns how many have entered by the end of a second, from 0.
    fn entered_by(settings: &PaceSettings, second: u64) -> u64 {
        (10 * (second + 1)).min(settings.max_inside)
    }

    #[test]
    fn while_there_is_space_the_wait_follows_from_the_pace() {
        let waits = waits_after(5, &settings(5_000), SeatSupply::default());
        let wait = waits.wait(80);
        let [p50_s, p90_s] = [wait.p50_s, wait.p90_s].map(|wait| wait.expect("known"));
        assert!((7.0..9.5).contains(&p50_s), "{p50_s}");
        assert!((p50_s..12.0).contains(&p90_s), "{p90_s}");
    }

    #[test]
    fn if_nobody_comes_out_of_a_full_room_the_wait_lasts_until_passes_end() {
        let (settings, seats) = (settings(20), SeatSupply::default());
        let first = waits_after(3, &settings, seats).wait(30);
        assert!(first.p90_s.expect("known") > 500.0, "{first:?}");
        let later = waits_after(92, &settings, seats).wait(30);
        let [p50_s, p90_s] = [later.p50_s, later.p90_s].map(|wait| wait.expect("known"));
        assert!((300.0..1_300.0).contains(&p50_s), "{later:?}");
        assert!((500.0..1_500.0).contains(&p90_s), "{later:?}");
    }

    #[test]
    fn where_hardly_a_seat_will_be_left_the_wait_is_not_known() {
        let seats = SeatSupply {
            free: 40,
            ..SeatSupply::default()
        };
        let waits = waits_after(1, &settings(5_000), seats);
        let few = waits.few_seats_from.expect("the seats run out");
        assert!((5..60).contains(&few), "{few}");
        assert!(waits.wait(few - 1).known);
        assert_eq!(waits.wait(few).unknown, Some(UnknownWait::FewSeats));
    }
}
