//! Tests the forecasts with the samples of made-up sales.

use super::*;

const BEGAN_AT: i64 = 1_800_000_000_000;

/// Returns the samples of a sale. Ten visitors a second are called, and all enter. Half of them
/// buy two seats 20 s later.
fn samples(seats: u64) -> Vec<RoomSample> {
    let at = |second: u64| {
        let done = (5 * second.saturating_sub(20)).min(seats / 2);
        RoomSample {
            at_ms: BEGAN_AT + 1_000 * i64::try_from(second).expect("a time"),
            joined: 10_000,
            waiting: 10_000 - 10 * second,
            released: 10 * second,
            claimed: 10 * second,
            done,
            free: seats - 2 * done,
            sold: 2 * done,
            ..RoomSample::default()
        }
    };
    (0..=30).map(|ten| at(10 * ten)).collect()
}

fn document() -> RoomDocument {
    RoomDocument {
        method: LineMethod::Draw,
        draw_at: BEGAN_AT + 3_000,
        per_s: 10.0,
        max_inside: 5_000,
        pass_s: 60,
        ..RoomDocument::everyday()
    }
}

fn sale(seats: u64) -> SaleSamples {
    SaleSamples::of(&document(), &RoomFacts::default(), &samples(seats)).expect("it began")
}

fn forecasts(sale: &SaleSamples) -> RoomForecasts {
    let room = planned_room(&document(), sale.began_at);
    let due = sale.due().into_iter();
    due.map(|at| (at, sale.forecast(&room, 60, at))).collect()
}

#[test]
fn a_sale_begins_with_its_draw_and_a_long_one_is_forecast_once_a_minute() {
    let sale = sale(4_000);
    assert_eq!(sale.began_at, BEGAN_AT + 3_000);
    let due = sale.due();
    // A sample comes every ten seconds, and the sale begins three seconds after the first.
    let since_s = due.iter().map(|at| (at - sale.began_at) / 1_000);
    assert_eq!(since_s.collect::<Vec<_>>(), [67, 127, 187, 247]);
    let told = sale.build_report(&forecasts(&sale), &sale.due(), false);
    let newest = told.forecast.expect("it is running");
    assert_eq!(newest.made_at, rfc3339(BEGAN_AT + 250_000));
    let times = newest.sold_out_at.expect("all will be sold");
    assert!(times.p10 <= times.p50 && times.p50 <= times.p90);
    assert_eq!(told.earlier_forecasts.len(), 3);
    assert_eq!(told.sold_out_at, None);
    assert!(
        told.earlier_forecasts
            .iter()
            .all(|one| one.off_by_s.is_none())
    );
    let paused = sale.build_report(&forecasts(&sale), &sale.due(), true);
    assert_eq!(paused.forecast, None);
}

#[test]
fn when_everything_is_sold_earlier_forecasts_are_compared_with_the_time() {
    let sale = sale(1_000);
    let since_s = sale
        .due()
        .into_iter()
        .map(|at| (at - sale.began_at) / 1_000);
    let short: Vec<i64> = since_s.collect();
    assert!(
        short.windows(2).any(|pair| pair[1] - pair[0] == 10),
        "{short:?}"
    );
    let told = sale.build_report(&forecasts(&sale), &sale.due(), false);
    assert_eq!(told.forecast, None);
    assert_eq!(told.sold_out_at, Some(rfc3339(BEGAN_AT + 120_000)));
    let off = told.earlier_forecasts.iter().filter_map(|one| one.off_by_s);
    assert!(off.count() > 3);
}

#[test]
fn a_room_without_a_line_or_before_its_sale_is_not_forecast() {
    let facts = RoomFacts::default();
    let open = RoomDocument {
        method: LineMethod::Open,
        ..document()
    };
    assert!(SaleSamples::of(&open, &facts, &samples(100)).is_none());
    assert!(SaleSamples::of(&document(), &facts, &samples(100)[..1]).is_none());
    assert!(SaleSamples::of(&document(), &facts, &[]).is_none());
}

#[test]
fn forecasts_from_before_the_samples_that_are_looked_at_are_forgotten() {
    let at = |second: i64| RoomSample {
        at_ms: BEGAN_AT + 1_000 * second,
        released: 1,
        ..RoomSample::default()
    };
    let hours = |hours: i64| -> SaleSamples {
        let samples: Vec<_> = (0..=360 * hours).map(|ten| at(10 * ten)).collect();
        SaleSamples::of(&document(), &RoomFacts::default(), &samples).expect("it began")
    };
    let (short, long) = (hours(2), hours(13));
    let mut made: RoomForecasts = short.due().into_iter().map(|at| (at, None)).collect();
    let all = made.len();
    short.forget_earlier(&mut made);
    assert_eq!(made.len(), all, "all of them are shown");
    long.forget_earlier(&mut made);
    let hour_ms = 3_600_000;
    assert_eq!(long.began_at, BEGAN_AT + hour_ms);
    assert!(made.len() < all && made.keys().all(|at| *at >= BEGAN_AT + hour_ms));
}

#[test]
fn while_the_forecasts_of_a_room_are_made_no_other_room_waits() {
    let forecasts = MadeForecasts::default();
    let of_one = forecasts.of_room("one");
    let making = of_one.try_lock();
    assert!(making.is_ok());
    assert!(forecasts.of_room("one").try_lock().is_err());
    assert!(forecasts.of_room("other").try_lock().is_ok());
}
