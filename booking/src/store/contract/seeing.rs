//! Cases of reading a show: versions, changes, snapshots and counts agree with each other.

use std::collections::HashSet;

use fairgate_model::grid::picture::{CellChanges, CellCounts};

use super::*;
use crate::store::GlancedCells;

pub(super) const CASES: &[Case] = cases![
    a_glance_returns_the_view_and_nothing_for_a_show_that_is_not_open,
    every_change_raises_the_version_and_the_newest_version_has_no_changes,
    changes_applied_to_an_old_picture_give_the_new_one,
    a_follower_with_a_later_version_or_an_older_life_gets_a_gap,
    the_packed_picture_equals_the_picture,
    counts_agree_with_the_picture,
    only_baskets_count_as_holds_that_run_out_soon,
];

/// What can be seen after one transition.
struct Moment {
    step: &'static str,
    version: u64,
    states: Vec<CellState>,
    packed: (u64, u32, bytes::Bytes),
    counts: CellCounts,
    /// The changes that followers get: first the changes since each earlier moment, then the
    /// changes since this moment.
    changes: Vec<CellChanges>,
}

async fn look(store: &Store, step: &'static str, moments: &mut Vec<Moment>) {
    let (version, states) = picture(store).await;
    let mut changes = Vec::new();
    for since in moments.iter().map(|moment| moment.version).chain([version]) {
        changes.push(store.changes(&show(), since).await.expect("open"));
    }
    let (counts, _) = store.counts(&show(), NOW_MS, 0).await.expect("open");
    moments.push(Moment {
        step,
        version,
        states,
        packed: store.packed(&show()).await.expect("open"),
        counts,
        changes,
    });
}

/// Makes several transitions, and returns what can be seen after each.
async fn a_busy_day(store: &Store) -> Vec<Moment> {
    let mut seen = Vec::new();
    opened(store).await;
    let unknown = "no-such-show".parse().expect("a slug");
    let in_use = store.in_use_among(&[&unknown, &show()]).await;
    assert_eq!(in_use, HashSet::from([show()]));
    look(store, "open", &mut seen).await;
    let hold = taken(store, "a", ANA, &[0, 1, 2]).await;
    look(store, "take", &mut seen).await;
    let changed = store
        .change(&hold.id, ANA, seats(&[4]), vec![0], false, NO_LIMIT)
        .await;
    assert!(changed.is_ok());
    look(store, "change", &mut seen).await;
    store
        .release(&hold.id, ANA, BASKET)
        .await
        .expect("it is a basket");
    look(store, "release", &mut seen).await;
    let hold = taken(store, "b", BEN, &[5, 6]).await;
    look(store, "take again", &mut seen).await;
    assert!(secured(store, &hold.id, BEN, LOCK_MS * 2).await.is_ok());
    let sell = row(1, SeatOutboxAction::Sell, "b", BEN, &[5, 6]);
    assert!(store.deliver(&show(), &[sell]).await.is_ok());
    look(store, "sell", &mut seen).await;
    let free = row(2, SeatOutboxAction::Free, "b", BEN, &[5, 6]);
    assert!(store.deliver(&show(), &[free]).await.is_ok());
    look(store, "free", &mut seen).await;
    taken(store, "c", ANA, &[7]).await;
    look(store, "take to lapse", &mut seen).await;
    store.sweep(LOCK_MS, 100).await;
    look(store, "lapse", &mut seen).await;
    seen
}

async fn every_change_raises_the_version_and_the_newest_version_has_no_changes(store: Store) {
    let day = a_busy_day(&store).await;
    for two in day.windows(2) {
        assert!(two[1].version > two[0].version, "{}", two[1].step);
    }
    for moment in &day {
        let now = moment.changes.last();
        assert_eq!(now, Some(&CellChanges::None), "{}", moment.step);
    }
}

async fn changes_applied_to_an_old_picture_give_the_new_one(store: Store) {
    let day = a_busy_day(&store).await;
    for (n, moment) in day.iter().enumerate() {
        let step = moment.step;
        for (old, told) in day[..n].iter().zip(&moment.changes) {
            let CellChanges::Delta { from, to, cells } = told else {
                panic!("{step}: {told:?} after {}", old.step);
            };
            assert_eq!((*from, *to), (old.version, moment.version));
            assert!(cells.windows(2).all(|two| two[0].0 < two[1].0), "{step}");
            let mut copy: Vec<u8> = old.states.iter().map(|state| *state as u8).collect();
            for (cell, state) in cells {
                copy[*cell as usize] = *state;
            }
            let now: Vec<u8> = moment.states.iter().map(|state| *state as u8).collect();
            assert_eq!(copy, now, "{step} after {}", old.step);
        }
    }
}

async fn a_follower_with_a_later_version_or_an_older_life_gets_a_gap(store: Store) {
    opened(&store).await;
    let (first, _) = picture(&store).await;
    taken(&store, "a", ANA, &[0]).await;
    let ahead = picture(&store).await.0 + 1;
    assert_eq!(store.changes(&show(), ahead).await, Some(CellChanges::Gap));
    store
        .release(&id("a"), ANA, BASKET)
        .await
        .expect("it is a basket");
    let next = OpeningInventory {
        incarnation: 2,
        ..opening()
    };
    store
        .open(&show(), next)
        .await
        .expect("the show has no holds");
    assert_eq!(store.changes(&show(), first).await, Some(CellChanges::Gap));
}

async fn the_packed_picture_equals_the_picture(store: Store) {
    for moment in a_busy_day(&store).await {
        let (version, cells, bytes) = &moment.packed;
        assert_eq!((*version, *cells), (moment.version, GRID.cell_count()));
        assert_eq!(bytes.len(), moment.states.len().div_ceil(4));
        for (cell, state) in moment.states.iter().enumerate() {
            let bits = bytes[cell / 4] >> (2 * (cell % 4)) & 3;
            assert_eq!(bits, *state as u8, "{}: cell {cell}", moment.step);
        }
    }
}

async fn counts_agree_with_the_picture(store: Store) {
    for moment in a_busy_day(&store).await {
        let of = |state| moment.states.iter().filter(|one| **one == state).count() as u64;
        let expected = CellCounts {
            free: of(CellState::Free),
            held: of(CellState::Held),
            sold: of(CellState::Sold),
        };
        assert_eq!(moment.counts, expected, "{}", moment.step);
    }
}

async fn only_baskets_count_as_holds_that_run_out_soon(store: Store) {
    opened(&store).await;
    taken(&store, "a", ANA, &[0, 1]).await;
    let hold = taken(&store, "b", BEN, &[2]).await;
    assert!(secured(&store, &hold.id, BEN, LOCK_MS).await.is_ok());
    for (within_ms, due) in [(LOCK_MS - NOW_MS, 4), (LOCK_MS - NOW_MS - 1, 0)] {
        let counts = store.counts(&show(), NOW_MS, within_ms).await;
        let baskets = counts.expect("open").1;
        assert_eq!(
            baskets.lapsing_cells, due,
            "holds of orders do not count as lapsing"
        );
        assert_eq!((baskets.all, baskets.lapsing), (2, u64::from(due > 0)));
    }
}

async fn a_glance_returns_the_view_and_nothing_for_a_show_that_is_not_open(store: Store) {
    assert!(store.glance(&show()).await.is_none());
    opened(&store).await;
    taken(&store, "a", ANA, &[0]).await;
    let glance = store.glance(&show()).await.expect("open");
    let GlancedCells {
        plan_version,
        cells,
    } = glance;
    assert_eq!(plan_version, PLAN);
    assert_eq!((cells.version, cells.states), picture(&store).await);
}
