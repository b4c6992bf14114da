//! Checks in simulated sales that the pace does what the design promises.

mod common;

use fairgate_rules::pace::VISITOR_U;
use fairgate_rules::room_document::PaceMode;
use fairgate_simulation::behaviour::SecondsRange;
use fairgate_simulation::outcome::SecondFigures;
use fairgate_simulation::sale::{PlannedSale, PlannedSlowSpan};
use fairgate_simulation::simulate;

/// The beginning of the sale, in seconds after the start.
const DRAW_S: usize = 20;

/// Returns a sale with 20,000 visitors who want two seats each. It has more seats than they want,
/// and a pace of at most fifty visitors a second. Booking answers a thousand calls a second.
fn long_line() -> PlannedSale {
    let mut sale = common::sale();
    sale.room.pace.mode = PaceMode::Auto;
    sale.room.pace.per_s_u = 50 * VISITOR_U;
    sale.room.pace.max_inside = 1_000;
    sale.room.claim_s = 30;
    sale.crowd.visitors = 20_000;
    sale.shows[0].seats = 100_000;
    sale.behaviour.party = vec![0.0, 1.0];
    sale.behaviour.claim_s = SecondsRange(0.0, 2.0);
    sale.behaviour.choose_s = SecondsRange(3.0, 7.0);
    sale.behaviour.order_s = SecondsRange(1.0, 3.0);
    sale.behaviour.pay_s = SecondsRange(2.0, 4.0);
    sale.server.calls_per_s = Some(1_000.0);
    sale
}

/// Returns the figures of the first `seconds` seconds of the sale.
fn run(sale: &PlannedSale, seconds: usize) -> Vec<SecondFigures> {
    let mut sale = sale.clone();
    let draw_s = sale.room.draw_s as usize;
    sale.until_s = (draw_s + seconds - 1) as u32;
    simulate(&sale, 7).seconds.split_off(draw_s - 1)
}

fn released(seconds: &[SecondFigures]) -> u64 {
    seconds[seconds.len() - 1].released - seconds[0].released
}

fn entered(seconds: &[SecondFigures]) -> u64 {
    seconds[seconds.len() - 1].entered - seconds[0].entered
}

#[test]
fn a_fixed_pace_is_kept_in_every_ten_seconds() {
    for per_s_u in [300_000, 7_500_000, 50_000_000] {
        let mut sale = long_line();
        sale.room.pace.mode = PaceMode::Fixed;
        sale.room.pace.per_s_u = per_s_u;
        let went = run(&sale, 200);
        for window in went.windows(11) {
            let people = released(window);
            assert!(
                people * VISITOR_U <= 11 * per_s_u.max(VISITOR_U),
                "{people}"
            );
            assert!((people + 1) * VISITOR_U * 2 >= 19 * per_s_u, "{people}");
        }
        let all = went[went.len() - 1].released * VISITOR_U;
        assert!(all.abs_diff(200 * per_s_u) <= 200 * per_s_u / 20, "{all}");
    }
}

#[test]
fn if_nine_in_ten_at_the_front_of_the_line_are_away_entries_slow_by_at_most_a_twentieth() {
    for mode in [PaceMode::Auto, PaceMode::Fixed] {
        let mut full = long_line();
        full.room.pace.mode = mode;
        // Somebody who was not seen for a minute counts as away.
        full.room.draw_s = 90.0;
        let mut gone = full.clone();
        (gone.behaviour.no_show, gone.behaviour.no_show_head) = (0.9, 10_000);
        let (full, gone) = (entered(&run(&full, 120)), entered(&run(&gone, 120)));
        assert!(gone * 20 >= full * 19, "{mode:?}: {gone} of {full}");
    }
}

#[test]
fn once_windows_have_ended_more_people_are_called_in_place_of_those_who_do_not_come() {
    let mut half = long_line();
    half.room.pace.max_inside = 300;
    half.room.claim_s = 10;
    let full = entered(&run(&half, 200)[100..]);
    (half.behaviour.late, half.behaviour.late_at_s) = (0.5, 10_000.0);
    let half = entered(&run(&half, 200)[100..]);
    assert!(half * 10 >= full * 8, "{half} of {full}");
}

#[test]
fn entries_slow_down_with_booking_and_recover_with_it() {
    let mut sale = long_line();
    sale.room.pace.max_inside = 800;
    sale.server.calls_per_s = Some(300.0);
    sale.server.slow = Some(PlannedSlowSpan {
        from_s: (DRAW_S + 100) as f64,
        until_s: (DRAW_S + 160) as f64,
        factor: 4.0,
    });
    let went = run(&sale, 260);
    let before = entered(&went[60..100]) / 40;
    assert!(before >= 40, "{before}");
    let slow = &went[130..159];
    let under = slow.iter().filter(|second| second.p99_ms <= 300).count();
    assert!(under * 4 >= slow.len() * 3, "{under} of {}", slow.len());
    let back = entered(&went[200..240]) / 40;
    assert!(back * 10 >= before * 9, "{back} after {before}");
}

#[test]
fn while_booking_is_ill_only_a_few_people_are_called_but_never_none() {
    let mut sale = long_line();
    sale.server.slow = Some(PlannedSlowSpan {
        from_s: (DRAW_S + 60) as f64,
        until_s: 1e9,
        factor: 1_000.0,
    });
    let went = run(&sale, 400);
    let late = released(&went[300..]);
    assert!((1..=100).contains(&late), "{late} in 100 s");
    assert!(went[399].inside_max >= 10);
}

#[test]
fn releases_slow_to_a_trickle_when_baskets_cover_the_seats_and_resume_as_they_lapse() {
    let mut sale = long_line();
    sale.shows[0].seats = 1_000;
    sale.shows[0].hold_s = 60;
    sale.behaviour.give_up = 0.7;
    sale.behaviour.choose_s = SecondsRange(2.0, 2.0);
    let went = run(&sale, 150);
    let covered = went.iter().position(|second| second.free == 0);
    let covered = covered.expect("at some time no seat is free");
    let people = |from: usize| released(&went[from..from + 10]);
    assert!(people(covered) <= 30, "{covered}: {}", people(covered));
    let resumed = (covered + 10..139).map(people).max();
    assert!(resumed.expect("seconds") >= 100, "{resumed:?}");
}

#[test]
fn late_comers_who_come_together_enter_no_faster_than_the_pace() {
    let mut sale = long_line();
    sale.room.pace.per_s_u = 20 * VISITOR_U;
    // Late visitors who were called in the last five seconds are still expected: thirty at most.
    sale.room.claim_s = 5;
    (sale.behaviour.late, sale.behaviour.late_at_s) = (0.3, 60.0);
    sale.server.calls_per_s = Some(300.0);
    let went = run(&sale, 180);
    for second in &went {
        assert!(second.p99_ms <= 300, "{second:?}");
    }
    for window in went.windows(11) {
        assert!(entered(window) <= 20 * 11 + 20 + 30, "{}", entered(window));
    }
}

#[test]
fn a_room_that_has_filled_stays_nine_tenths_full_on_average_and_never_exceeds_its_limit() {
    let mut sale = long_line();
    sale.room.pace.max_inside = 120;
    sale.behaviour.choose_s = SecondsRange(25.0, 25.0);
    for mode in [PaceMode::Auto, PaceMode::Fixed] {
        sale.room.pace.mode = mode;
        let inside: Vec<u64> = run(&sale, 240).iter().map(|second| second.inside).collect();
        assert!(inside.iter().all(|inside| *inside <= 120), "{inside:?}");
        let filled = inside.iter().position(|inside| *inside == 120);
        let filled = filled.expect("the room fills");
        assert!(filled <= 20, "{mode:?}: it is full after {filled} s");
        let after = &inside[filled..];
        let mean = after.iter().sum::<u64>() / after.len() as u64;
        // Those who entered together leave together, so a part of the room is empty for a moment.
        assert!(mean >= 108, "{mode:?}: {mean} on average");
        assert!(after.iter().all(|inside| *inside >= 60), "{inside:?}");
    }
}

#[test]
fn the_odds_of_the_last_in_line_show_from_the_start_whether_the_seats_suffice() {
    let mut sale = long_line();
    sale.shows[0].seats = 2_000;
    let odds = run(&sale, 20)[0].odds_of_last;
    assert!(odds < 0.05, "{odds}");
    sale.shows[0].seats = 60_000;
    assert!(run(&sale, 20)[0].odds_of_last > 0.95);
}
