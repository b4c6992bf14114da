//! Checks laws that hold in every simulated sale, and cases that can be worked out by hand.

mod common;

use common::sale;
use fairgate_rules::pace::VISITOR_U;
use fairgate_rules::pace_settings::{PaceSettings, TRICKLE_MIN_U};
use fairgate_rules::room_document::{LineMethod, PaceMode};
use fairgate_simulation::behaviour::{SecondsRange, VisitorBehaviour};
use fairgate_simulation::crowd::{CrowdSettings, PlacedBots};
use fairgate_simulation::outcome::SaleOutcome;
use fairgate_simulation::sale::{LostGateway, PlannedSale, PlannedShow};
use fairgate_simulation::simulate;
use proptest::prelude::*;

/// Generates random sales. Their visitors do most of what can be simulated.
fn any_sale() -> impl Strategy<Value = PlannedSale> {
    let shares = (0.0..0.3, 0.0..0.3, 0.0..0.3, 0.0..0.3, 0.0..0.3, 0.0..0.5);
    let room = (
        prop_oneof![
            Just(LineMethod::Draw),
            Just(LineMethod::Fifo),
            Just(LineMethod::Open)
        ],
        prop_oneof![Just(PaceMode::Auto), Just(PaceMode::Fixed)],
        1_u64..100,
        5_u64..500,
        5_u32..200,
        10_u32..300,
    );
    let stock = (1_u32..4, 1_u32..400, 1_u32..5, 3_u32..60);
    let crowd = (1_usize..2_000, 0.0..30.0, 0.0..0.5, 0.0..0.5);
    (shares, room, stock, crowd, prop::option::of(20.0..500.0)).prop_map(
        |(shares, room, stock, crowd, calls_per_s)| {
            let mut sale = sale();
            let (no_show, late, give_up, decline, leave, change) = shares;
            sale.behaviour = VisitorBehaviour {
                party: vec![3.0, 5.0, 1.0, 1.0],
                no_show,
                late,
                late_at_s: 40.0,
                give_up,
                decline,
                cancel: decline / 2.0,
                leave,
                patience_s: Some(SecondsRange(20.0, 400.0)),
                change,
                browse: change,
                give_back: leave,
                waitlist: leave * 2.0,
                waitlist_s: SecondsRange(10.0, 200.0),
                claim_s: SecondsRange(0.0, 5.0),
                choose_s: SecondsRange(0.5, 8.0),
                order_s: SecondsRange(0.5, 8.0),
                pay_s: SecondsRange(0.5, 8.0),
                ..VisitorBehaviour::default()
            };
            let (method, mode, per_s, max_inside, claim_s, pass_s) = room;
            sale.room.method = method;
            sale.room.pace = PaceSettings {
                mode,
                line: method != LineMethod::Open,
                per_s_u: per_s * VISITOR_U,
                trickle_min_u: TRICKLE_MIN_U,
                max_inside,
                p99_ms: 300,
                pass_s,
            };
            sale.room.claim_s = claim_s;
            let (shows, seats, legs, hold_s) = stock;
            sale.shows = vec![
                PlannedShow {
                    seats,
                    legs,
                    hold_s,
                    ..sale.shows[0]
                };
                shows as usize
            ];
            let (visitors, over_s, after_draw, rush) = crowd;
            sale.crowd = CrowdSettings {
                visitors,
                over_s,
                after_draw,
                rush,
                socket: 0.7,
                ..sale.crowd
            };
            sale.server.calls_per_s = calls_per_s;
            sale.until_s = 900;
            sale
        },
    )
}

/// Returns the same sale with visitors who all behave alike: each buys one seat, and nobody changes
/// its mind. The sale has one hall, a draw and a fixed pace.
fn with_equal_visitors(mut sale: PlannedSale) -> PlannedSale {
    sale.behaviour = common::sale().behaviour;
    sale.room.method = LineMethod::Draw;
    sale.room.pace.mode = PaceMode::Fixed;
    sale.room.pace.line = true;
    sale.shows = vec![PlannedShow {
        legs: 1,
        hold_s: 300,
        ..sale.shows[0]
    }];
    sale.room.pace.pass_s = 600;
    sale.server.calls_per_s = None;
    sale
}

/// How long a visit of one of these visitors takes, in seconds: to claim, choose, order and pay.
const VISIT_S: f64 = 11.0;

fn seat_left(outcome: &SaleOutcome) -> u64 {
    outcome.parts.iter().map(|part| part.seat_left).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn never_more_cells_are_sold_than_there_are_and_none_is_lost(sale in any_sale(), seed: u64) {
        let outcome = simulate(&sale, seed);
        for second in &outcome.seconds {
            prop_assert_eq!(second.free + second.held + second.sold, sale.cells());
        }
        let visitors = sale.crowd.visitors as u64;
        let ends = outcome.ends;
        let visits = ends.ticketed + ends.declined + ends.too_late + ends.gave_up + ends.no_seats;
        prop_assert!(visits <= visitors);
        let people: u64 = outcome.parts.iter().map(|part| part.people).sum();
        prop_assert!(people <= visitors);
        for part in outcome.parts {
            prop_assert!(part.ticketed <= part.seat_left && part.seat_left <= part.people);
        }
        prop_assert!(outcome.waitlisted <= visitors);
    }

    #[test]
    fn the_line_only_moves_forward_and_never_more_people_are_inside_than_allowed(
        sale in any_sale(), seed: u64,
    ) {
        let outcome = simulate(&sale, seed);
        let seconds = &outcome.seconds;
        prop_assert!(seconds.is_sorted_by(|a, b| a.released <= b.released && a.entered <= b.entered));
        for second in seconds {
            prop_assert!(second.released <= second.joined);
            prop_assert!(second.entered <= second.released);
            prop_assert!(second.waiting <= second.joined);
            prop_assert!(second.inside <= outcome.inside_most);
            prop_assert!(outcome.inside_most <= sale.room.pace.max_inside);
            prop_assert!(second.inside_max <= sale.room.pace.max_inside);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_outcome(sale in any_sale(), seed: u64) {
        prop_assert_eq!(simulate(&sale, seed), simulate(&sale, seed));
    }

    #[test]
    fn a_higher_pace_sells_out_hardly_later(sale in any_sale(), seed: u64, factor in 2_u64..5) {
        let slow = with_equal_visitors(sale);
        let mut fast = slow.clone();
        fast.room.pace.per_s_u *= factor;
        let slow_s = simulate(&slow, seed).sold_out_s;
        let fast_s = simulate(&fast, seed).sold_out_s;
        if let Some(slow_s) = slow_s {
            // The limit is not exact, because ticks are a second apart. Besides, the pace calls
            // people one by one for the last seats, so at another pace other people take these
            // seats. If not all buyers fit inside at once, the last of them may enter one visit
            // later: at a high pace the room fills at once, and nobody leaves before the first
            // visit is over.
            let all_fit = u64::from(slow.shows[0].seats) <= slow.room.pace.max_inside;
            let visit_s = if all_fit { 0.0 } else { VISIT_S };
            let latest_s = slow_s * 1.05 + 2.0 + visit_s;
            prop_assert!(fast_s.is_some_and(|fast_s| fast_s <= latest_s), "{fast_s:?} {slow_s}");
        }
    }

    #[test]
    fn fewer_seats_never_raise_the_odds(sale in any_sale(), seed: u64, share in 0.1..0.9) {
        let more = with_equal_visitors(sale);
        let mut fewer = more.clone();
        fewer.shows[0].seats = ((f64::from(more.shows[0].seats) * share) as u32).max(1);
        let (more, fewer) = (simulate(&more, seed), simulate(&fewer, seed));
        prop_assert!(seat_left(&fewer) <= seat_left(&more));
    }

    #[test]
    fn littles_law_holds_between_entries_inside_and_the_time_inside(
        seed: u64, per_s in 2_u64..20, time_s in 10_u32..60,
    ) {
        // Choosing a seat takes longer than any pass lasts. So everybody stays inside until its
        // pass ends.
        let mut sale = sale();
        sale.crowd.visitors = 20_000;
        sale.shows[0].seats = 1_000_000;
        sale.behaviour.choose_s = SecondsRange(10_000.0, 10_000.0);
        sale.room.pace.pass_s = time_s;
        sale.room.pace.per_s_u = per_s * VISITOR_U;
        sale.until_s = 400;
        let outcome = simulate(&sale, seed);
        let steady = &outcome.seconds[150..350];
        let mean = |figure: fn(&fairgate_simulation::outcome::SecondFigures) -> u64| {
            steady.iter().map(|second| figure(second) as f64).sum::<f64>() / steady.len() as f64
        };
        let entries_per_s = (steady[steady.len() - 1].entered - steady[0].entered) as f64
            / (steady.len() - 1) as f64;
        let inside = mean(|second| second.inside);
        let expected = entries_per_s * f64::from(time_s);
        prop_assert!((inside - expected).abs() <= 0.05 * expected + 1.0, "{inside} {expected}");
    }
}

#[test]
fn ten_visitors_a_second_have_their_tickets_when_it_was_worked_out_by_hand() {
    // The sale begins at 20 s. From then on, each tick calls ten of the hundred visitors. A visitor
    // claims one second after the call, holds five seconds after that, orders two seconds after
    // that, and pays three seconds after that. So the first ten have their tickets just after 31 s.
    // The last ten are called at 29 s and have theirs just after 40 s.
    let mut few = sale();
    few.crowd.visitors = 100;
    few.shows[0].seats = 10_000;
    let outcome = simulate(&few, 1);
    for second in &outcome.seconds {
        let since_first = i64::from(second.at_s) - 31;
        let expected = (since_first * 10).clamp(0, 100) as u64;
        assert_eq!(second.sold, expected, "{second:?}");
    }
    assert_eq!(outcome.ends.ticketed, 100);
    assert_eq!(
        (outcome.wait_s(0.0), outcome.wait_s(1.0)),
        (Some(0.0), Some(9.0))
    );
    assert_eq!((outcome.told_no, outcome.sold_out_s), (0, None));
}

#[test]
fn a_hall_without_a_line_is_sold_out_when_it_was_worked_out_by_hand() {
    // Everybody is called at 20 s, claims at 21 s and asks for seats at 26 s. The first hundred get
    // one each, order at 28 s and pay at 31 s. The other nine hundred find nothing.
    let mut open = sale();
    open.room.method = LineMethod::Open;
    open.room.pace.line = false;
    let outcome = simulate(&open, 1);
    let sold_out_s = outcome.sold_out_s.expect("everything is sold");
    assert!((11.0..11.1).contains(&sold_out_s), "{sold_out_s}");
    assert_eq!((outcome.ends.ticketed, outcome.told_no), (100, 900));
    assert_eq!(outcome.inside_most, 1_000);
}

#[test]
fn the_odds_fall_along_the_line_and_those_at_its_end_are_told_that_everything_is_sold() {
    let outcome = simulate(&sale(), 1);
    let odds = outcome.odds();
    assert_eq!((odds[0], odds[9]), (Some(1.0), Some(0.0)), "{odds:?}");
    assert_eq!(outcome.ends.ticketed, 100);
    assert!(outcome.told_no >= 850, "{}", outcome.told_no);
}

#[test]
fn seats_in_abandoned_baskets_come_back_when_their_lock_ends() {
    let mut abandoned = sale();
    abandoned.crowd.visitors = 50;
    abandoned.behaviour.give_up = 1.0;
    abandoned.shows[0].hold_s = 10;
    let outcome = simulate(&abandoned, 1);
    assert_eq!((outcome.sold_out_s, outcome.ends.gave_up), (None, 50));
    assert_eq!((outcome.seats.lapsed, outcome.seats.left), (50, 100));
    // Ten baskets are filled in each of five seconds, the first just after 26 s. Each is locked for
    // 10 s and 5 s of grace.
    for second in &outcome.seconds {
        let at_s = i64::from(second.at_s);
        let filled = ((at_s - 26) * 10).clamp(0, 50);
        let lapsed = ((at_s - 41) * 10).clamp(0, 50);
        assert_eq!(second.held, (filled - lapsed) as u64, "{second:?}");
    }
}

#[test]
fn a_sale_that_is_sold_out_goes_on_until_the_last_tickets_are_given_back() {
    let mut regretted = sale();
    regretted.behaviour.give_back = 1.0;
    regretted.behaviour.give_back_s = SecondsRange(60.0, 60.0);
    let outcome = simulate(&regretted, 1);
    assert!(outcome.sold_out_s.is_some());
    assert_eq!((outcome.seats.given_back, outcome.seats.left), (100, 100));
}

#[test]
fn seats_of_declined_orders_go_to_those_who_wait_for_them() {
    // Everybody is inside at once and asks at 26 s. A hundred find seats, and about half of their
    // payments are declined. All others join the waitlist. An order can be paid for at least 120 s.
    // It lapses 30 s of grace later, and its seats are offered. This goes on until every seat is
    // paid for.
    let mut open = sale();
    open.room.method = LineMethod::Open;
    open.room.pace.line = false;
    open.behaviour.decline = 0.5;
    open.behaviour.tries = 0;
    let without = simulate(&open, 1);
    open.behaviour.waitlist = 1.0;
    open.behaviour.waitlist_s = SecondsRange(3_600.0, 3_600.0);
    let with = simulate(&open, 1);
    assert_eq!((without.waitlisted, without.seats.from_waitlist), (0, 0));
    assert!(without.sold_out_s.is_none(), "{:?}", without.sold_out_s);
    assert_eq!(with.waitlisted, 900);
    assert_eq!(with.ends.ticketed, 100);
    let first = with.ends.ticketed - with.seats.from_waitlist;
    assert!((35..=65).contains(&first), "{:?}", with.seats);
    // An order that is not paid lapses after at least 150 s, so each round takes at least that
    // long.
    assert!(with.sold_out_s.is_some_and(|sold_s| sold_s > 150.0));
    assert_eq!(
        with.told_no + with.ends.ticketed + with.ends.declined,
        1_000
    );
}

#[test]
fn a_party_that_wants_more_seats_than_can_come_free_is_told_no_at_once() {
    let mut open = sale();
    open.room.method = LineMethod::Open;
    open.room.pace.line = false;
    open.behaviour.waitlist = 1.0;
    let outcome = simulate(&open, 1);
    // Nobody abandons a basket. So all seats are sold at 31 s, and the wait of all others ends with
    // the next tick.
    assert_eq!((outcome.ends.ticketed, outcome.told_no), (100, 900));
    assert_eq!(outcome.seconds.last().map(|second| second.at_s), Some(32));
}

#[test]
fn a_lost_gateway_costs_only_the_time_until_its_sockets_are_open_again() {
    let mut lost = sale();
    lost.shows[0].seats = 1_000;
    let whole = simulate(&lost, 1);
    // All sockets are lost at 50 s, and are open again six seconds later.
    lost.behaviour.drop_s = SecondsRange(6.0, 6.0);
    lost.lost_gateway = Some(LostGateway {
        at_s: 50.0,
        share: 1.0,
    });
    let broken = simulate(&lost, 1);
    let entered = |outcome: &SaleOutcome, at_s: usize| outcome.seconds[at_s - 1].entered;
    assert_eq!(entered(&whole, 50), entered(&broken, 50));
    // Visitors who are called at 49 s claim at 50 s. Visitors who are called at 50 to 55 s learn of
    // it at 56 s, and then enter at the pace of ten a second.
    assert_eq!(entered(&whole, 56) - entered(&broken, 56), 50);
    for at_s in 57..=100 {
        let behind = entered(&whole, at_s) - entered(&broken, at_s);
        assert!((40..=70).contains(&behind), "{behind} at {at_s} s");
        let in_ten_s = entered(&broken, at_s) - entered(&broken, at_s - 10);
        assert!(in_ten_s <= 110, "{in_ten_s} at {at_s} s");
    }
    assert_eq!(whole.ends.ticketed, broken.ends.ticketed);
}

#[test]
fn a_visit_ends_although_its_pass_ran_out_while_the_visitor_was_choosing() {
    let mut slow = sale();
    slow.behaviour.choose_s = SecondsRange(20.0, 20.0);
    slow.behaviour.tries = 0;
    slow.room.pace.pass_s = 15;
    slow.crowd.visitors = 300;
    // When everything is sold, those who want a second pass enter at the trickle.
    slow.until_s = 4_000;
    let outcome = simulate(&slow, 1);
    let people: u64 = outcome.parts.iter().map(|part| part.people).sum();
    assert_eq!(people, 300);
    assert_eq!(outcome.told_no + outcome.ends.ticketed, 300);
    // If a visit never ended, the sale would go on until `until_s`.
    let last = outcome.seconds.last().map(|second| second.at_s);
    assert!(last < Some(slow.until_s), "{last:?}");
}

#[test]
fn a_line_in_the_order_of_arrival_serves_those_who_came_first() {
    let mut fifo = sale();
    fifo.room.method = LineMethod::Fifo;
    let outcome = simulate(&fifo, 1);
    assert_eq!(outcome.parts[0].ticketed, 100);
    let later: u64 = outcome.parts[1..].iter().map(|part| part.ticketed).sum();
    assert_eq!(later, 0);
}

#[test]
fn a_room_without_a_line_lets_everybody_in_until_it_is_full() {
    let mut open = sale();
    open.room.method = LineMethod::Open;
    open.room.pace.line = false;
    open.room.pace.max_inside = 50;
    open.shows[0].seats = 2_000;
    let outcome = simulate(&open, 1);
    assert!(
        (45..=50).contains(&outcome.inside_most),
        "{}",
        outcome.inside_most
    );
    assert_eq!(outcome.ends.ticketed, 1_000);
}

#[test]
fn more_legs_of_a_train_serve_more_travellers_from_the_same_seats() {
    let mut train = sale();
    train.shows[0].legs = 6;
    let (hall, train) = (simulate(&sale(), 1), simulate(&train, 1));
    assert!(
        train.ends.ticketed > hall.ends.ticketed * 3 / 2,
        "{} {}",
        train.ends.ticketed,
        hall.ends.ticketed
    );
}

#[test]
fn when_booking_is_the_limit_auto_mode_keeps_it_near_its_target() {
    let mut slow = sale();
    slow.crowd.visitors = 20_000;
    slow.shows[0].seats = 10_000;
    slow.room.pace.per_s_u = 200 * VISITOR_U;
    slow.server.calls_per_s = Some(100.0);
    let fixed = simulate(&slow, 1);
    slow.room.pace.mode = PaceMode::Auto;
    let auto = simulate(&slow, 1);
    let worst = |outcome: &SaleOutcome| outcome.seconds.iter().map(|second| second.p99_ms).max();
    assert!(worst(&fixed) > Some(5_000), "{:?}", worst(&fixed));
    let over = auto
        .seconds
        .iter()
        .filter(|second| second.p99_ms > 600)
        .count();
    assert!(
        over * 5 <= auto.seconds.len(),
        "{over} of {}",
        auto.seconds.len()
    );
}

#[test]
fn visitors_without_patience_leave_and_are_not_called() {
    let mut impatient = sale();
    impatient.shows[0].seats = 1_000;
    impatient.behaviour.patience_s = Some(SecondsRange(30.0, 30.0));
    let outcome = simulate(&impatient, 1);
    assert!(
        (280..=310).contains(&outcome.ends.ticketed),
        "ten a second for thirty seconds: {}",
        outcome.ends.ticketed
    );
}

#[test]
fn a_socket_that_drops_costs_its_visitor_only_the_time_until_it_is_open_again() {
    let mut drops = sale();
    drops.shows[0].seats = 1_000;
    let whole = simulate(&drops, 1);
    drops.behaviour.drop_socket = 1.0;
    drops.behaviour.drop_s = SecondsRange(6.0, 6.0);
    let broken = simulate(&drops, 1);
    let entered = |outcome: &SaleOutcome, at_s: usize| outcome.seconds[at_s - 1].entered;
    // Sockets drop within 20 s of the draw at 20 s, so all are open again at 46 s.
    let late = (21..=46).map(|at_s| entered(&whole, at_s) - entered(&broken, at_s));
    assert!(late.max() > Some(0));
    for at_s in 48..=100 {
        let behind = entered(&whole, at_s) - entered(&broken, at_s);
        assert!(
            behind <= 60,
            "at most the six seconds: {behind} at {at_s} s"
        );
    }
    assert_eq!(whole.ends.ticketed, broken.ends.ticketed);
}

#[test]
fn visitors_who_never_read_and_bots_without_a_pass_are_called_and_do_not_come() {
    let mut half = sale();
    half.crowd.visitors = 200;
    half.crowd.mute = 100;
    half.shows[0].seats = 1_000;
    let outcome = simulate(&half, 1);
    let last = outcome.seconds.last().expect("seconds");
    assert_eq!(last.released, 200);
    assert!((80..120).contains(&last.entered), "{}", last.entered);
    assert_eq!(outcome.ends.ticketed, last.entered);

    let mut bots = half.clone();
    bots.crowd.mute = 0;
    bots.bots = PlacedBots {
        placed: 120,
        refused: 100,
    };
    let with_bots = simulate(&bots, 1);
    let last = with_bots.seconds.last().expect("seconds");
    assert_eq!(last.released, 200);
    assert_eq!(with_bots.ends.ticketed, outcome.ends.ticketed);
}
