//! Checks the forecast in lines that can be worked out by hand.

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use super::*;
use crate::odds::{PeopleAhead, SeatSupply};

const KEYS: [&str; 3] = ["floor", "stalls", "balcony"];

fn supply(free: [u64; 3]) -> Vec<CategorySupply> {
    let category = |(key, free): (&str, u64)| CategorySupply {
        show: "night".to_owned(),
        key: key.to_owned(),
        free,
        accessible: 0,
        held: 0,
    };
    KEYS.into_iter().zip(free).map(category).collect()
}

fn wish(quantity: u32, keys: &[&str]) -> SeatWish {
    SeatWish {
        show: None,
        quantity,
        categories: keys.iter().map(|key| (*key).to_owned()).collect(),
        accessible: 0,
    }
}

/// Returns the demand of a room in which `bought` visitors have bought two seats each, and none
/// gave up.
fn demand(bought: u64) -> SeatDemand {
    let seats = SeatSupply {
        free: 100,
        sold: bought * 2,
        ..SeatSupply::default()
    };
    let people = PeopleAhead {
        done: bought,
        pass_s: 600,
        show_up: 1.0,
        ..PeopleAhead::default()
    };
    SeatDemand::from_counts(&seats, &people).expect("there are seats")
}

fn forecast(supply: &[CategorySupply], lists: &[Vec<SeatWish>], is_drawn: bool) -> WishForecast {
    let people: Vec<&[SeatWish]> = lists.iter().map(Vec::as_slice).collect();
    let line = WishingLine {
        people: &people,
        is_drawn,
        basket_people: 100,
    };
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    WishForecast::make(supply, &demand(2_000), &line, &mut rng)
}

#[test]
fn with_nobody_ahead_and_enough_seats_every_wish_is_met_and_no_sold_out_one() {
    let forecast = forecast(&supply([10, 3, 0]), &[], true);
    assert_eq!(forecast.odds(&wish(4, &["floor"]), 0), 1.0);
    assert_eq!(forecast.odds(&wish(3, &["stalls"]), 0), 1.0);
    assert_eq!(forecast.odds(&wish(4, &["stalls"]), 0), 0.0, "only three");
    assert_eq!(forecast.odds(&wish(1, &["balcony"]), 0), 0.0);
    assert_eq!(forecast.odds(&wish(4, &["balcony", "floor"]), 0), 1.0);
    assert_eq!(
        forecast.odds(&wish(11, &[]), 0),
        0.0,
        "not all in one category"
    );
    assert_eq!(forecast.odds(&wish(1, &[]), 500), 1.0, "nobody is there");
    let elsewhere = SeatWish {
        show: Some("morning".to_owned()),
        ..wish(1, &[])
    };
    assert_eq!(forecast.odds(&elsewhere, 0), 0.0);
}

#[test]
fn odds_fall_with_the_people_ahead_and_with_the_seats_that_are_wished() {
    let line: Vec<Vec<SeatWish>> = (0..2_000)
        .map(|at| vec![wish(1 + at % 3, &[KEYS[at as usize % 3]])])
        .collect();
    let forecast = forecast(&supply([300, 700, 900]), &line, true);
    for key in KEYS {
        for quantity in 1..6 {
            let at = |ahead| forecast.odds(&wish(quantity, &[key]), ahead);
            let odds: Vec<f64> = (0..2_000).step_by(50).map(at).collect();
            assert!(odds[0] > 0.99 && odds[39] < 0.2, "{key}: {odds:?}");
            for pair in odds.windows(2) {
                // A basket that runs out raises the odds of people who are called at that time.
                assert!(pair[1] <= pair[0] + 0.1, "{key} {quantity}: {odds:?}");
            }
            let more = |ahead| forecast.odds(&wish(quantity + 1, &[key]), ahead);
            assert!((0..2_000).all(|ahead| more(ahead) <= at(ahead)));
        }
    }
}

#[test]
fn wishes_lower_the_odds_of_their_category_and_spill_over_to_the_next_wish() {
    let seats = supply([100, 100, 100]);
    let odds = |forecast: &WishForecast| KEYS.map(|key| forecast.odds(&wish(2, &[key]), 90));
    let one = forecast(&seats, &vec![vec![wish(2, &["floor"])]; 200], true);
    let [floor, stalls, balcony] = odds(&one);
    assert!(floor < 0.1 && stalls == 1.0 && balcony == 1.0, "{floor}");
    let two = vec![wish(2, &["floor"]), wish(2, &["stalls"])];
    let spilt = forecast(&seats, &vec![two; 200], true);
    let [floor, stalls, balcony] = odds(&spilt);
    assert!(floor < 0.1 && stalls > 0.9 && balcony == 1.0, "{floor}");
    let behind = KEYS.map(|key| spilt.odds(&wish(2, &[key]), 180));
    assert!(behind[1] < 0.25 && behind[2] == 1.0, "{behind:?}");
}

#[test]
fn people_without_wishes_want_what_the_others_want() {
    let seats = supply([100, 100, 100]);
    let mut line = vec![vec![wish(2, &["floor"])]; 100];
    line.extend(vec![Vec::new(); 400]);
    line.sort_by_key(|list| list.len());
    let forecast = forecast(&seats, &line, true);
    let odds = KEYS.map(|key| forecast.odds(&wish(2, &[key]), 150));
    assert!(odds[0] < 0.25 && odds[1] > 0.9 && odds[2] > 0.9, "{odds:?}");
}

#[test]
fn people_without_wishes_take_any_seats_if_nobody_has_said_any() {
    let line = vec![Vec::new(); 400];
    let forecast = forecast(&supply([100, 100, 100]), &line, true);
    let at = |ahead| KEYS.map(|key| forecast.odds(&wish(3, &[key]), ahead));
    assert_eq!(at(60), [1.0; 3]);
    assert!(at(390).iter().all(|odds| *odds < 0.2), "{:?}", at(390));
}

#[test]
fn before_the_draw_the_odds_are_those_of_a_random_place() {
    let line = vec![vec![wish(2, &["floor"])]; 400];
    let forecast = forecast(&supply([200, 50, 0]), &line, false);
    let floor = wish(2, &["floor"]);
    let odds = forecast.odds(&floor, 0);
    assert!((0.2..0.35).contains(&odds), "{odds}");
    assert_eq!(odds, forecast.odds(&floor, 399));
    assert_eq!(forecast.odds(&wish(2, &["stalls"]), 7), 1.0);
    assert!([0.2, 0.3].contains(&forecast.told_odds(&floor, 0)));
}

#[test]
fn accessible_seats_go_only_to_those_who_ask_for_them() {
    let mut seats = supply([100, 100, 0]);
    seats[0].accessible = 4;
    let with = |accessible, quantity, key| SeatWish {
        accessible,
        ..wish(quantity, &[key])
    };
    let crowd = vec![vec![wish(2, &["floor"])]; 100];
    let calm = forecast(&seats, &crowd, true);
    assert_eq!(calm.odds(&with(2, 2, "floor"), 100), 1.0);
    assert!(
        calm.odds(&with(1, 2, "floor"), 100) < 0.2,
        "no seat beside it"
    );
    assert_eq!(calm.odds(&with(1, 2, "floor"), 0), 1.0);
    assert_eq!(calm.odds(&with(1, 2, "stalls"), 0), 0.0);
    let asked = forecast(&seats, &vec![vec![with(2, 2, "floor")]; 100], true);
    assert!(asked.odds(&with(1, 1, "floor"), 50) < 0.2);
    assert_eq!(asked.odds(&wish(2, &["floor"]), 50), 1.0);
}
