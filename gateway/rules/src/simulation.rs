//! Simulates a small on-sale second by second and without sockets: a crowd, a booking server that
//! slows down under load, and the real code of the pace between them. The tests check the design's
//! promises about the pace.

use std::collections::{HashMap, HashSet, VecDeque};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::limits::{PaceLimits, PaceMeasurements, PaceMemory};
use super::odds::{AGES_S, SeatSupply};
use super::pace::{PaceInput, RankPresence, VISITOR_U, decide_release};
use super::pace_settings::PaceSettings;
use super::release_cohorts::{ClaimTiming, ReleaseCohorts};
use super::valve::HealthReading;
use crate::room_document::PaceMode;

/// The crowd, the seats and the booking server of a simulation.
struct Sale {
    settings: PaceSettings,
    seats: u64,
    party: u64,
    /// Who is at each rank.
    line: Vec<RankPresence>,
    /// How many seconds a visitor takes to answer the call, by rank.
    answers_after: fn(u64) -> u64,
    claim_s: u64,
    /// The time from the claim to the end of the visit while booking answers at once, in seconds.
    /// It must be even, because a visitor makes a call every two seconds.
    visit_s: u64,
    /// The share of visitors who take seats and pay. The holds of the others lapse after `hold_s`.
    buys: f64,
    hold_s: u64,
    /// How many calls booking answers in a second without delay, by second.
    capacity: fn(u64) -> u64,
}

const SALE: fn() -> Sale = || Sale {
    settings: PaceSettings {
        mode: PaceMode::Auto,
        line: true,
        per_s_u: 50 * VISITOR_U,
        max_inside: 1000,
        p99_ms: 300,
    },
    seats: 100_000,
    party: 2,
    line: vec![RankPresence::Here; 20_000],
    answers_after: |_| 1,
    claim_s: 30,
    visit_s: 10,
    buys: 0.8,
    hold_s: 60,
    capacity: |_| 1000,
};

/// The result of one second.
#[derive(Debug, Clone, Copy)]
struct Second {
    people: u64,
    entered: u64,
    p99_ms: u64,
    inside: u64,
    limits: PaceLimits,
    odds_of_last: f64,
}

struct Inside {
    number: u64,
    since: u64,
    buys: bool,
    calls_left: u64,
    asks_at: Option<u64>,
}

impl Inside {
    fn since_and_number(&self) -> (u64, u64) {
        (self.since, self.number)
    }
}

impl Sale {
    fn run(&self, seconds: u64) -> Vec<Second> {
        let mut rng = StdRng::seed_from_u64(7);
        let (mut memory, mut cohorts) = (PaceMemory::default(), ReleaseCohorts::default());
        let (mut released, mut remainder_u) = (0, 0);
        let mut answering: HashMap<u64, Vec<u64>> = HashMap::new();
        let mut late: Vec<u64> = Vec::new();
        let mut inside: Vec<Inside> = Vec::new();
        // The second at which each basket that will not be bought lapses.
        let mut lapses: Vec<u64> = Vec::new();
        let (mut free, mut sold, mut done, ended) = (self.seats, 0, 0, 0);
        let mut waiting: VecDeque<(u64, u64)> = VecDeque::new();
        let mut outcomes = Vec::new();
        for at in 1..=seconds {
            let now = at as i64 * 1000;
            cohorts.expire(now, self.claim_s as i64 * 1000);
            // Every visitor inside waits for the answer to a call, and makes the next call two
            // seconds later.
            let capacity = (self.capacity)(at);
            let mut asked_now = 0;
            for visit in inside.iter_mut().filter(|visit| visit.asks_at == Some(at)) {
                visit.asks_at = None;
                asked_now += 1;
                waiting.push_back(visit.since_and_number());
            }
            let p99_ms = 20 + (waiting.len() as u64).saturating_sub(capacity) * 1000 / capacity;
            for _ in 0..capacity {
                let Some(answered) = waiting.pop_front() else {
                    break;
                };
                if let Some(visit) = inside.iter_mut().find(|v| v.since_and_number() == answered) {
                    visit.calls_left -= 1;
                    visit.asks_at = Some(at + 2);
                }
            }
            inside.retain(|visit| {
                let over = visit.calls_left == 0;
                let takes = over && visit.buys && free >= self.party;
                free -= if takes { self.party } else { 0 };
                sold += if takes { self.party } else { 0 };
                done += u64::from(takes);
                if over && !visit.buys && free >= self.party {
                    free -= self.party;
                    lapses.push(at + self.hold_s);
                }
                !over
            });
            free += lapses.iter().filter(|due| **due == at).count() as u64 * self.party;
            lapses.retain(|due| *due > at);

            let mut ages = [0; 4];
            for visit in &inside {
                let age = AGES_S.iter().position(|age| at - visit.since < *age);
                ages[age.unwrap_or(3)] += 1;
            }
            let baskets = lapses.len() as u64;
            let soon = lapses.iter().filter(|due| **due <= at + 10).count() as u64;
            let measured = PaceMeasurements {
                now,
                inside: ages,
                called: cohorts.expected(),
                entering: 0,
                show_up: cohorts.show_up(),
                done,
                ended,
                seats: SeatSupply {
                    free,
                    held: baskets * self.party,
                    sold,
                    lapsing: soon * self.party,
                    baskets,
                    gone: 0,
                },
                reading: HealthReading {
                    p99_ms: (asked_now > 0 || p99_ms > 20).then_some(p99_ms),
                    calls: asked_now,
                    errors: 0,
                    shedding: false,
                },
            };
            let limits = memory.limits(&self.settings, &measured);
            let input = PaceInput {
                elapsed_ms: 1000,
                remainder_u,
                rate_u: limits.rate_u,
                trickle_u: limits.trickle_u,
                callable: limits.room,
                wanted: limits.wanted,
                owed_u: cohorts.owed_u(),
                selling: true,
                released,
                end: self.line.len() as u64,
            };
            let who = |rank: u64| self.line[rank as usize];
            let decided = decide_release(&input, who);
            cohorts.ticked(now, decided.owed_u, decided.late_u, self.settings.per_s_u);
            let called = released..decided.released;
            let away: HashSet<u64> = called
                .clone()
                .filter(|rank| who(*rank) == RankPresence::Away)
                .collect();
            for rank in called.filter(|rank| who(*rank) == RankPresence::Here) {
                let after = (self.answers_after)(rank);
                if after < u64::MAX {
                    answering.entry(at + after).or_default().push(rank);
                }
            }
            cohorts.released(released, decided.released, decided.people, away, now);
            (released, remainder_u) = (decided.released, decided.remainder_u);
            memory.record_tick(
                decided.people,
                decided.bound,
                1000,
                &self.settings,
                &measured,
            );

            let mut entered = 0;
            late.extend(answering.remove(&at).unwrap_or_default());
            late.retain(|rank| {
                let comes = match cohorts.timing(*rank, true) {
                    ClaimTiming::InWindow => true,
                    ClaimTiming::Late => cohorts.take_late(),
                };
                if comes {
                    cohorts.reserve_entry(*rank, now);
                    cohorts.entered(*rank);
                    entered += 1;
                    inside.push(Inside {
                        number: *rank,
                        since: at,
                        buys: rng.random_bool(self.buys),
                        calls_left: self.visit_s / 2,
                        asks_at: Some(at + 1),
                    });
                }
                !comes
            });
            outcomes.push(Second {
                people: decided.people,
                entered,
                p99_ms,
                inside: inside.len() as u64,
                limits,
                odds_of_last: limits.demand.map_or(1.0, |demand| {
                    demand.seat_odds(self.line.len() as u64 - released)
                }),
            });
        }
        outcomes
    }
}

fn entered(seconds: &[Second]) -> u64 {
    seconds.iter().map(|second| second.entered).sum()
}

#[test]
fn a_fixed_pace_is_kept_in_every_ten_seconds() {
    for per_s_u in [300_000, 7_500_000, 50_000_000] {
        let mut sale = SALE();
        sale.settings = PaceSettings {
            mode: PaceMode::Fixed,
            per_s_u,
            ..sale.settings
        };
        let went = sale.run(200);
        for window in went.windows(10) {
            let people: u64 = window.iter().map(|second| second.people).sum();
            assert!(
                people * VISITOR_U <= 11 * per_s_u.max(VISITOR_U),
                "{people}"
            );
            assert!((people + 1) * VISITOR_U * 2 >= 19 * per_s_u, "{people}");
        }
        let all: u64 = went.iter().map(|second| second.people).sum();
        assert!((all * VISITOR_U).abs_diff(200 * per_s_u) <= 200 * per_s_u / 20);
    }
}

#[test]
fn if_nine_in_ten_at_the_front_of_the_line_are_away_entries_slow_by_at_most_a_twentieth() {
    for mode in [PaceMode::Auto, PaceMode::Fixed] {
        let mut full = SALE();
        full.settings.mode = mode;
        let mut gone = SALE();
        gone.settings.mode = mode;
        gone.line = (0..20_000)
            .map(|rank| {
                if rank < 10_000 && rank % 10 != 0 {
                    RankPresence::Away
                } else {
                    RankPresence::Here
                }
            })
            .collect();
        let (full, gone) = (entered(&full.run(120)), entered(&gone.run(120)));
        assert!(gone * 20 >= full * 19, "{mode:?}: {gone} of {full}");
    }
}

#[test]
fn once_windows_have_ended_more_people_are_called_in_place_of_those_who_never_come() {
    let mut half = SALE();
    half.settings.max_inside = 300;
    half.claim_s = 10;
    let full = entered(&half.run(200)[100..]);
    half.answers_after = |rank| if rank % 2 == 0 { 1 } else { u64::MAX };
    let half = entered(&half.run(200)[100..]);
    assert!(half * 10 >= full * 8, "{half} of {full}");
}

#[test]
fn entries_slow_down_with_booking_and_recover_with_it() {
    let mut sale = SALE();
    sale.settings.max_inside = 500;
    sale.capacity = |at| if (100..160).contains(&at) { 75 } else { 300 };
    let went = sale.run(260);
    let before = entered(&went[60..100]) / 40;
    assert!(before >= 40, "{before}");
    let slow = &went[130..159];
    let under = slow.iter().filter(|second| second.p99_ms <= 300).count();
    assert!(under * 4 >= slow.len() * 3, "{under} of {}", slow.len());
    let back = entered(&went[190..230]) / 40;
    assert!(back * 10 >= before * 9, "{back} after {before}");
}

#[test]
fn while_booking_is_ill_only_a_few_people_are_called_but_never_none() {
    let mut sale = SALE();
    sale.capacity = |at| if at < 60 { 1000 } else { 1 };
    let went = sale.run(400);
    let late: u64 = went[300..].iter().map(|second| second.people).sum();
    assert!((1..=100).contains(&late), "{late} in 100 s");
    assert!(went[399].limits.inside_max >= 10);
}

#[test]
fn releases_slow_to_a_trickle_when_baskets_cover_the_seats_and_resume_as_they_lapse() {
    let mut sale = SALE();
    (sale.seats, sale.buys, sale.visit_s) = (1000, 0.3, 4);
    let went = sale.run(150);
    let people = |from: usize, to: usize| -> u64 { went[from..to].iter().map(|s| s.people).sum() };
    let first_covered = went
        .iter()
        .position(|s| s.limits.demand.is_some_and(|d| d.people_wanted() == 0));
    let covered = first_covered.expect("at some time nobody more is wanted");
    assert!(
        people(covered, covered + 10) <= 30,
        "{covered}: {}",
        people(covered, covered + 10)
    );
    let resumed = (covered + 10..140)
        .map(|from| people(from, from + 10))
        .max();
    assert!(resumed.expect("seconds") >= 100, "{resumed:?}");
}

#[test]
fn late_comers_who_come_together_enter_no_faster_than_the_pace() {
    let mut sale = SALE();
    sale.settings.per_s_u = 20 * VISITOR_U;
    sale.claim_s = 30;
    sale.answers_after = |rank| {
        if rank % 2 == 0 && rank < 600 {
            61 - (rank / 20).min(30)
        } else {
            1
        }
    };
    sale.capacity = |_| 300;
    let went = sale.run(180);
    for second in &went {
        assert!(second.p99_ms <= 300, "{second:?}");
    }
    for window in went.windows(10) {
        assert!(entered(window) <= 20 * 11 + 20, "{}", entered(window));
    }
}

#[test]
fn never_more_people_are_inside_than_the_promoter_allows() {
    let mut sale = SALE();
    (sale.settings.max_inside, sale.visit_s) = (120, 30);
    for mode in [PaceMode::Auto, PaceMode::Fixed] {
        sale.settings.mode = mode;
        let most = sale.run(120).iter().map(|second| second.inside).max();
        assert!(
            most.is_some_and(|most| (60..=120).contains(&most)),
            "{most:?}"
        );
    }
}

#[test]
fn the_odds_of_the_last_in_line_show_from_the_start_whether_the_seats_suffice() {
    let mut sale = SALE();
    sale.seats = 2000;
    let went = sale.run(20);
    assert!(went[0].odds_of_last < 0.05, "{}", went[0].odds_of_last);
    sale.seats = 60_000;
    assert!(sale.run(20)[0].odds_of_last > 0.95);
}
