//! Tests the cohorts, the expected visitors and the late comers.

use super::*;
use crate::pace::{PaceInput, RankPresence, decide_release};

#[test]
fn called_people_are_expected_until_they_claim_or_leave_or_their_window_ends() {
    let mut cohorts = ReleaseCohorts::default();
    cohorts.note_release(0, 10, 8, HashSet::new(), 1000);
    cohorts.note_release(10, 12, 2, HashSet::new(), 2000);
    cohorts.reserve_entry(3, 0);
    cohorts.end_entry(3);
    cohorts.note_departure(3);
    assert_eq!(
        cohorts.expected(),
        9,
        "a visitor who claims and then leaves is subtracted once"
    );
    assert_eq!(
        (cohorts.timing(3, true), cohorts.timing(3, false)),
        (ClaimTiming::InWindow, ClaimTiming::Again)
    );
    cohorts.close_windows(6500, 5000);
    assert_eq!(cohorts.expected(), 2, "the first window has ended");
    assert_eq!(cohorts.timing(3, true), ClaimTiming::Late);
}

#[test]
fn an_entering_visitor_counts_once_until_the_claim_is_written_or_fails() {
    let mut cohorts = ReleaseCohorts::default();
    cohorts.note_release(0, 2, 2, HashSet::new(), 0);
    cohorts.reserve_entry(0, 0);
    cohorts.reserve_entry(0, 0);
    cohorts.reserve_entry(9, 0);
    assert_eq!(
        (cohorts.expected(), cohorts.entering()),
        (1, 2),
        "one visitor is expected; a visitor with two tabs and a late comer are entering"
    );
    cohorts.close_windows(10_000, 5000);
    assert_eq!(
        (cohorts.expected(), cohorts.entering()),
        (0, 2),
        "an entry stays open after its window has ended"
    );
    cohorts.end_entry(0);
    assert!(!cohorts.is_entering(0), "a claim of the visitor is written");
    cohorts.entry_failed(0, true);
    cohorts.entry_failed(9, true);
    assert_eq!((cohorts.expected(), cohorts.entering()), (0, 0));
    cohorts.note_release(10, 11, 1, HashSet::new(), 10_000);
    cohorts.reserve_entry(10, 0);
    cohorts.entry_failed(10, true);
    assert_eq!(
        cohorts.expected(),
        1,
        "after a failed claim the visitor is still expected"
    );
}

#[test]
fn an_entry_that_no_request_ends_lapses_by_itself() {
    let mut cohorts = ReleaseCohorts::default();
    cohorts.note_release(0, 2, 2, HashSet::new(), 0);
    cohorts.reserve_entry(0, 0);
    cohorts.reserve_entry(1, 10_000);
    cohorts.lapse(ENTRY_LAPSES_MS - 1);
    assert_eq!(cohorts.entering(), 2);
    cohorts.lapse(ENTRY_LAPSES_MS);
    assert_eq!((cohorts.entering(), cohorts.is_entering(1)), (1, true));
    cohorts.end_entry(0);
    assert_eq!(
        cohorts.entering(),
        1,
        "ending a lapsed entry changes nothing"
    );
}

/// Ends a tick at `until` (ms) at a pace of two visitors a second, with this credit and debt.
fn end_tick(cohorts: &mut ReleaseCohorts, until: i64, owed_u: u64, credit_u: u64) {
    let accounts = TickAccounts {
        until,
        owed_u,
        credit_u,
        rate_u: Some(2 * VISITOR_U),
    };
    cohorts.end_tick(&accounts, until);
}

fn is_let_in(cohorts: &mut ReleaseCohorts, claim: &ClaimToEnter) -> bool {
    cohorts.admit(claim) == EntryDecision::Enters
}

/// A first claim of a late comer, in a room for four whose pace is two visitors a second.
fn late_claim(now: i64) -> ClaimToEnter {
    ClaimToEnter {
        rank: 0,
        order: 0,
        first: true,
        inside: 0,
        max_inside: 4,
        line: true,
        idle_ms: idle_ms(Some(2 * VISITOR_U)),
        now,
    }
}

#[test]
fn late_comers_take_a_share_of_the_pace_and_add_to_the_debt() {
    let mut cohorts = ReleaseCohorts::default();
    let late = |rank, now| ClaimToEnter {
        rank,
        order: rank,
        max_inside: 100,
        idle_ms: i64::MAX,
        ..late_claim(now)
    };
    end_tick(&mut cohorts, 0, 0, 5 * VISITOR_U);
    let let_in = [(0, 0), (1, 500), (2, 1_000)].map(|(rank, now)| {
        let let_in = is_let_in(&mut cohorts, &late(rank, now));
        cohorts.reserve_entry(rank, now);
        let_in
    });
    assert_eq!(let_in, [true, true, false], "one second of the pace");
    assert_eq!(cohorts.owed_u(), 2 * VISITOR_U);
}

#[test]
fn people_who_never_come_keep_no_late_comer_out_for_longer_than_a_few_seconds() {
    let mut cohorts = ReleaseCohorts::default();
    end_tick(&mut cohorts, 100_000, 0, 0);
    cohorts.note_release(10, 14, 4, HashSet::new(), 100_000);
    cohorts.reserve_entry(10, 100_000);
    cohorts.end_entry(10);
    assert_eq!(cohorts.expected(), 3);
    let inside = |claim| ClaimToEnter { inside: 1, ..claim };
    assert!(!is_let_in(&mut cohorts, &inside(late_claim(105_499))));
    let full = ClaimToEnter {
        inside: 4,
        ..late_claim(105_500)
    };
    assert!(!is_let_in(&mut cohorts, &full), "a full room stays closed");
    let second = ClaimToEnter {
        first: false,
        ..inside(late_claim(105_500))
    };
    assert!(
        !is_let_in(&mut cohorts, &second),
        "a second pass waits for the others"
    );
    assert!(is_let_in(&mut cohorts, &inside(late_claim(105_500))));
    cohorts.reserve_entry(0, 105_500);
    assert_eq!(
        (cohorts.owed_u(), cohorts.late_credit_u),
        (VISITOR_U, 0),
        "the pace pays for the late comer"
    );
    let next = ClaimToEnter {
        rank: 1,
        order: 1,
        ..inside(late_claim(110_999))
    };
    assert!(!is_let_in(&mut cohorts, &next), "one at a time");
    let later = ClaimToEnter {
        now: 111_000,
        ..next
    };
    assert!(is_let_in(&mut cohorts, &later));
}

#[test]
fn without_an_entry_a_late_comer_waits_for_seconds_and_for_a_share_of_the_pace() {
    assert_eq!(idle_ms(None), 5_000);
    assert_eq!(idle_ms(Some(VISITOR_U / 10)), 15_000);
    assert_eq!(idle_ms(Some(500 * VISITOR_U)), 5_002);
}

#[test]
fn late_comers_in_an_emptied_line_leave_a_debt_of_at_most_one_second() {
    let (mut cohorts, per_s_u) = (ReleaseCohorts::default(), 2 * VISITOR_U);
    let mut now = 0;
    for selling in [true, false] {
        let mut let_in = 0;
        for _ in 1..=8 {
            now += 1_000;
            let idle = PaceInput {
                elapsed_ms: 1000,
                remainder_u: 0,
                rate_u: Some(per_s_u),
                trickle_u: 0,
                callable: 100,
                wanted: 100,
                owed_u: cohorts.owed_u(),
                asking: 0,
                // In a room that is sold out, the debt shrinks as in an empty line.
                selling,
                released: 16,
                end: 16,
            };
            let owed_u = decide_release(&idle, |_| RankPresence::Here).owed_u;
            end_tick(&mut cohorts, now, owed_u, per_s_u);
            for at in [now, now + 500] {
                let claim = ClaimToEnter {
                    max_inside: 100,
                    idle_ms: i64::MAX,
                    ..late_claim(at)
                };
                let_in += u64::from(is_let_in(&mut cohorts, &claim));
            }
        }
        assert_eq!(let_in, 16);
        assert_eq!(
            cohorts.owed_u(),
            per_s_u,
            "the debt is one second of the pace, and no more"
        );
    }
}

#[test]
fn a_tick_counts_at_most_one_second_and_no_time_twice() {
    assert_eq!(elapsed_ms(0, 5000), (1000, 4500));
    assert_eq!(elapsed_ms(5000, 5100), (100, 5100));
    assert_eq!(
        elapsed_ms(5000, 4000).0,
        0,
        "a clock that was set back earns nothing"
    );
}

#[test]
fn ticks_that_come_a_little_late_lose_no_time_and_gain_none() {
    let mut cohorts = ReleaseCohorts::default();
    let (mut counted, mut now) = (0, 100_000);
    end_tick(&mut cohorts, now, 0, 0);
    for late in [90, 0, 110, 30, 0, 70, 100, 40, 20, 0] {
        now = now.max(100_000 + (counted + 1) as i64 * 1000);
        let (elapsed, until) = elapsed_ms(cohorts.counted_until(), now + late);
        assert!(elapsed <= 1000);
        end_tick(&mut cohorts, until, 0, 0);
        counted += 1;
    }
    let (rest, _) = elapsed_ms(cohorts.counted_until(), 110_000);
    assert_eq!(cohorts.ticked_at + rest as i64, 110_000);
}

#[test]
fn visitors_who_were_away_when_called_are_not_expected_and_claim_as_late_comers() {
    let mut cohorts = ReleaseCohorts::default();
    cohorts.note_release(0, 3, 1, HashSet::from([0, 2]), 0);
    assert_eq!(cohorts.expected(), 1);
    assert_eq!(
        [0, 1, 2].map(|rank| cohorts.timing(rank, true)),
        [ClaimTiming::Late, ClaimTiming::InWindow, ClaimTiming::Late]
    );
    cohorts.reserve_entry(0, 0);
    assert_eq!(
        cohorts.expected(),
        1,
        "the visitor who was present is still expected"
    );
}

#[test]
fn the_show_up_follows_from_the_windows_that_ended() {
    let mut cohorts = ReleaseCohorts::default();
    assert!((cohorts.show_up() - 1.0).abs() < 1e-9);
    for at in 0..40 {
        cohorts.note_release(at * 10, at * 10 + 10, 10, HashSet::new(), 0);
        for rank in at * 10..at * 10 + 5 {
            cohorts.reserve_entry(rank, 0);
            cohorts.end_entry(rank);
        }
    }
    assert!(
        (cohorts.show_up() - 1.0).abs() < 1e-9,
        "no window has ended"
    );
    cohorts.close_windows(5001, 5000);
    let learnt = cohorts.show_up();
    assert!((0.5..0.6).contains(&learnt), "{learnt}");
    for at in 0..80 {
        cohorts.note_release(1000 + at * 10, 1010 + at * 10, 10, HashSet::new(), 6000);
    }
    cohorts.close_windows(20_000, 5000);
    assert!(
        (cohorts.show_up() - SHOW_UP_MIN).abs() < 0.05,
        "never below a quarter"
    );
}
