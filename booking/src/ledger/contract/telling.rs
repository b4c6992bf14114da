//! Cases of the seat outbox, of pictures, and of finished visitors. In most of them many
//! transactions commit at once.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use SeatOutboxAction::{Free, Sell};
use fairgate_model::orders::transition::OrderEvent;

use super::*;
use crate::ledger::ShowPicture;

pub(super) const CASES: &[Case] = cases![
    outbox_rows_are_numbered_by_show_and_read_after_a_cursor,
    a_show_is_listed_until_all_its_rows_are_marked_as_delivered,
    a_picture_shows_the_effect_of_exactly_the_rows_up_to_its_cursor,
    rows_of_a_cell_that_is_sold_and_freed_many_times_stay_in_order,
    a_visitor_who_finishes_later_has_a_larger_number,
];

/// A hall with so many seats that each of many tasks can claim a seat of its own.
const HALL: CellGrid = CellGrid {
    seats: 200,
    legs: 1,
};

fn in_hall(key: &str, visitor: Holder, seat: u32) -> Order {
    let mut order = order(key, visitor, &[seat]);
    order.items[0].held.legs = 0..1;
    order
}

async fn claimed_in_hall(ledger: &Books, key: &str, seat: u32) -> Order {
    let visitor = Holder([u8::try_from(seat).expect("a small hall"); 32]);
    let order = in_hall(key, visitor, seat);
    let claimed = ledger
        .claim(
            order.clone(),
            payment(&order),
            ClaimBasis {
                grid: HALL,
                ..BASKET_BASIS
            },
        )
        .await;
    claimed.expect("the seat is free")
}

async fn outbox_rows_are_numbered_by_show_and_read_after_a_cursor(ledger: Books) {
    stocked(&ledger).await;
    let cursor = async || ledger.seat_cursor(&show()).await.expect("readable");
    assert_eq!(cursor().await, 0);
    for seat in 0..3 {
        let order = claimed(&ledger, &seat.to_string(), ANA, &[seat]).await;
        authorised(&ledger, &order).await;
    }
    let all = rows(&ledger).await;
    let numbers: Vec<u64> = all.iter().map(|row| row.seq).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!(
        (all[0].visitor, all[0].items.as_slice()),
        (ANA, order("0", ANA, &[0]).held_seats().as_slice())
    );
    let after_first = ledger.seat_rows(&show(), 1, 1).await.expect("readable");
    assert_eq!(after_first, all[1..2]);
    assert_eq!(cursor().await, 3);
    let other = "night-2".parse().expect("a slug");
    let none = ledger.seat_rows(&other, 0, 10).await.expect("readable");
    assert!(none.is_empty(), "another show has numbers of its own");
}

async fn a_show_is_listed_until_all_its_rows_are_marked_as_delivered(ledger: Books) {
    stocked(&ledger).await;
    let undelivered = async || ledger.number_seat_rows().await.expect("numbered");
    assert!(undelivered().await.is_empty());
    for seat in 0..2 {
        let order = claimed(&ledger, &seat.to_string(), ANA, &[seat]).await;
        authorised(&ledger, &order).await;
    }
    assert_eq!(undelivered().await, [(show(), 0)]);
    let mark = async |upto| {
        let marked = ledger.seat_rows_delivered(&show(), upto).await;
        marked.expect("written");
    };
    mark(1).await;
    assert_eq!(undelivered().await, [(show(), 1)]);
    mark(2).await;
    assert!(undelivered().await.is_empty());
    mark(1).await;
    assert!(undelivered().await.is_empty(), "a mark never goes back");
    let order = claimed(&ledger, "later", ANA, &[5]).await;
    authorised(&ledger, &order).await;
    assert_eq!(undelivered().await, [(show(), 2)]);
}

fn sold_seats(picture: &ShowPicture) -> BTreeSet<u32> {
    let held = picture.sold.iter().flat_map(|(_, held)| held);
    held.map(|held| held.seat).collect()
}

async fn a_picture_shows_the_effect_of_exactly_the_rows_up_to_its_cursor(ledger: Books) {
    stocked(&ledger).await;
    let mut buying = tokio::task::JoinSet::new();
    for seat in 0..120 {
        let ledger = ledger.clone();
        buying.spawn(async move {
            let order = claimed_in_hall(&ledger, "a", seat).await;
            if seat % 3 == 0 {
                let given_up = ledger
                    .apply_event(&order.id, OrderEvent::GivenUp, NOW_MS)
                    .await;
                given_up.expect("written");
            } else {
                authorised(&ledger, &order).await;
            }
        });
    }
    let mut pictures = Vec::new();
    while !buying.is_empty() {
        pictures.push(
            ledger
                .open_show(&show(), PLAN, None)
                .await
                .expect("readable"),
        );
        ledger.number_seat_rows().await.expect("numbered");
        buying
            .join_next()
            .await
            .expect("one ends")
            .expect("it buys");
    }
    pictures.push(
        ledger
            .open_show(&show(), PLAN, None)
            .await
            .expect("readable"),
    );
    let all = rows(&ledger).await;
    assert_eq!(all.len(), 120);
    for picture in &pictures {
        let upto = all.iter().filter(|row| row.seq <= picture.cursor);
        let sold = upto.filter(|row| row.kind == Sell);
        let sold_in_rows: BTreeSet<u32> = sold.map(|row| row.items[0].seat).collect();
        assert_eq!(
            sold_seats(picture),
            sold_in_rows,
            "up to {}",
            picture.cursor
        );
    }
    assert_eq!(pictures.last().map(|picture| picture.cursor), Some(120));
}

async fn rows_of_a_cell_that_is_sold_and_freed_many_times_stay_in_order(ledger: Books) {
    const ROUNDS: usize = 8;
    stocked(&ledger).await;
    let mut trading = tokio::task::JoinSet::new();
    for seat in 0..4_u32 {
        let ledger = ledger.clone();
        trading.spawn(async move {
            for round in 0..ROUNDS {
                let order = claimed_in_hall(&ledger, &round.to_string(), seat).await;
                authorised(&ledger, &order).await;
                let capture = loop {
                    let due = ledger.due_effects(i64::MAX, 1_000).await.expect("readable");
                    let own = due.iter().find(|due| due.payment.order == order.id);
                    if let Some(own) = own {
                        break own.id;
                    }
                    tokio::task::yield_now().await;
                };
                let freed = ledger.capture_refused(capture, "next".into(), NOW_MS);
                freed.await.expect("written");
            }
        });
    }
    let over = Arc::new(AtomicBool::new(false));
    let numbering = {
        let (ledger, over) = (ledger.clone(), Arc::clone(&over));
        tokio::spawn(async move {
            while !over.load(Ordering::Acquire) {
                ledger.number_seat_rows().await.expect("numbered");
                tokio::task::yield_now().await;
            }
        })
    };
    while let Some(traded) = trading.join_next().await {
        traded.expect("it trades");
    }
    over.store(true, Ordering::Release);
    numbering.await.expect("it numbers");
    let all = rows(&ledger).await;
    let numbers: Vec<u64> = all.iter().map(|row| row.seq).collect();
    let expected: Vec<u64> = (1..).take(4 * 2 * ROUNDS).collect();
    assert_eq!(numbers, expected, "from one, without gaps");
    for seat in 0..4 {
        let of_seat = all.iter().filter(|row| row.items[0].seat == seat);
        let actions: Vec<(SeatOutboxAction, &HoldId)> =
            of_seat.map(|row| (row.kind, &row.hold)).collect();
        for pair in actions.chunks(2) {
            assert_eq!([pair[0].0, pair[1].0], [Sell, Free], "seat {seat}");
            assert_eq!(
                pair[0].1, pair[1].1,
                "the order that bought seat {seat} frees it"
            );
        }
    }
}

async fn a_visitor_who_finishes_later_has_a_larger_number(ledger: Books) {
    stocked(&ledger).await;
    let mut finishing = tokio::task::JoinSet::new();
    for seat in 0..60 {
        let order = claimed_in_hall(&ledger, "a", seat).await;
        authorised(&ledger, &order).await;
    }
    for effect in ledger.due_effects(i64::MAX, 100).await.expect("readable") {
        let ledger = ledger.clone();
        finishing.spawn(async move { ledger.captured(effect.id, NOW_MS).await });
    }
    let (mut cursor, mut seen) = (0, BTreeSet::new());
    loop {
        let over = finishing.is_empty();
        let listed = ledger.finished(cursor, vec![show()]).await;
        for (number, visitor) in listed.expect("readable") {
            assert!(number > cursor, "in order");
            cursor = number;
            assert!(seen.insert(visitor), "each visitor is listed once");
        }
        if over {
            break;
        }
        let finished = finishing.join_next().await.expect("one ends");
        finished.expect("it runs").expect("written");
    }
    assert_eq!(
        seen.len(),
        60,
        "a reader that remembers its cursor misses nobody"
    );
}
