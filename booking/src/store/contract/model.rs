//! Checks a store against a simple model. Both get the same random transitions, and must give the
//! same answers and the same picture.

use std::collections::BTreeMap;

use fairgate_model::holds::cells_of;
use proptest::prelude::*;

use super::*;
use crate::store::memory::MemoryStore;
use crate::store::{BasketDeadlines, InventoryRefusal};

const LIMIT: u32 = 4;
/// The time until which somebody waits, in milliseconds. It is later than every random sweep.
const WAIT_UNTIL_MS: i64 = LOCK_MS * 4;

/// One transition of a random sequence.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Take(u8, u8, Vec<u32>),
    Change(u8, u8, Vec<u32>, Vec<u32>),
    Release(u8, u8),
    Secure(u8, u8),
    Sell(u8),
    Free(u8),
    Sweep(i64),
    Wait(bool),
    Offer(u8, u8, Vec<u32>),
    Accept(u8, u8),
    LetGo(Vec<u32>),
}

/// The model: every hold, the owner of every cell and every bought seat, each stored once.
#[derive(Default)]
struct Model {
    holds: BTreeMap<u8, Hold>,
    locks: BTreeMap<u32, u8>,
    sold: BTreeMap<u32, Holder>,
    orders: BTreeMap<u8, (Holder, Vec<HeldSeat>)>,
    /// The last change of each hold, to recognise a repeated change.
    last_changes: BTreeMap<u8, (Vec<HeldSeat>, Vec<u32>)>,
    /// The visitor who last released each hold, to recognise a repeated release.
    released: BTreeMap<u8, Holder>,
    /// The holds that were offers before they became baskets.
    accepted: std::collections::BTreeSet<u8>,
    /// Whether somebody is on the waitlist. If so, `kept` has the cells that are kept for the
    /// waitlist.
    somebody_waits: bool,
    kept: std::collections::BTreeSet<u32>,
}

impl Model {
    fn is_free(&self, cell: u32) -> bool {
        let owned = self.locks.contains_key(&cell) || self.sold.contains_key(&cell);
        !owned && !self.kept.contains(&cell)
    }

    fn keep_if_somebody_waits(&mut self, cell: u32) {
        if self.somebody_waits {
            self.kept.insert(cell);
        }
    }

    fn have(&self, visitor: Holder) -> u32 {
        let held = self.holds.values().filter(|hold| hold.visitor == visitor);
        let bought = self.orders.values().filter(|order| order.0 == visitor);
        let count = held.map(|hold| hold.items.len()).sum::<usize>()
            + bought.map(|order| order.1.len()).sum::<usize>();
        u32::try_from(count).expect("small")
    }

    fn own(&self, key: u8, visitor: Holder) -> Result<Hold, InventoryRefusal> {
        match self.holds.get(&key) {
            None => Err(InventoryRefusal::Gone),
            Some(hold) if hold.visitor != visitor => Err(InventoryRefusal::Foreign),
            Some(hold) => Ok(hold.clone()),
        }
    }

    fn own_for_basket(&self, key: u8, visitor: Holder) -> Result<Hold, InventoryRefusal> {
        let hold = self.own(key, visitor)?;
        match hold.purpose {
            HoldPurpose::Basket => Ok(hold),
            other => Err(InventoryRefusal::OtherPurpose(other)),
        }
    }

    fn basket(&self, key: u8, visitor: Holder) -> Result<Hold, InventoryRefusal> {
        let hold = self.own_for_basket(key, visitor)?;
        match hold.stage {
            HoldStage::Basket => Ok(hold),
            HoldStage::Ordered => Err(InventoryRefusal::Ordered),
        }
    }

    fn admit(&self, visitor: Holder, more: u32, add: &[HeldSeat]) -> Result<(), InventoryRefusal> {
        let have = self.have(visitor);
        if more > 0 && have + more > LIMIT {
            return Err(InventoryRefusal::Limit { have, limit: LIMIT });
        }
        let taken: Vec<u32> = cells_of(add, GRID)
            .into_iter()
            .filter(|cell| !self.is_free(*cell))
            .collect();
        if taken.is_empty() {
            Ok(())
        } else {
            Err(InventoryRefusal::Taken(taken))
        }
    }

    fn unlock(&mut self, key: u8, items: &[HeldSeat]) {
        for cell in cells_of(items, GRID) {
            if self.locks.get(&cell) == Some(&key) {
                self.locks.remove(&cell);
                self.keep_if_somebody_waits(cell);
            }
        }
    }

    fn lock(&mut self, key: u8, items: &[HeldSeat]) {
        self.locks
            .extend(cells_of(items, GRID).into_iter().map(|cell| (cell, key)));
    }

    fn take(&mut self, key: u8, wanted: Hold) -> Result<Hold, InventoryRefusal> {
        if self.holds.contains_key(&key) {
            return self.own(key, wanted.visitor);
        }
        let more = u32::try_from(wanted.items.len()).expect("small");
        self.admit(wanted.visitor, more, &wanted.items)?;
        Ok(self.insert_taken(key, wanted))
    }

    fn offer(&mut self, key: u8, wanted: Hold) -> Result<Hold, InventoryRefusal> {
        if self.holds.contains_key(&key) {
            return self.own(key, wanted.visitor);
        }
        let more = u32::try_from(wanted.items.len()).expect("small");
        let kept = std::mem::take(&mut self.kept);
        let admitted = self.admit(wanted.visitor, more, &wanted.items);
        self.kept = kept;
        admitted?;
        for cell in wanted.cells(GRID) {
            self.kept.remove(&cell);
        }
        Ok(self.insert_taken(key, wanted))
    }

    fn insert_taken(&mut self, key: u8, wanted: Hold) -> Hold {
        self.lock(key, &wanted.items);
        self.last_changes.remove(&key);
        self.accepted.remove(&key);
        self.holds.insert(key, wanted.clone());
        wanted
    }

    fn accept(
        &mut self,
        key: u8,
        visitor: Holder,
        until: BasketDeadlines,
    ) -> Result<Hold, InventoryRefusal> {
        let hold = self.own(key, visitor)?;
        let was_offer = hold.purpose == HoldPurpose::Offer || self.accepted.contains(&key);
        match (was_offer, hold.stage, hold.purpose) {
            (false, ..) => Err(InventoryRefusal::OtherPurpose(hold.purpose)),
            (true, HoldStage::Ordered, _) => Err(InventoryRefusal::Ordered),
            (true, HoldStage::Basket, HoldPurpose::Basket) => Ok(hold),
            _ => {
                let basket = Hold {
                    purpose: HoldPurpose::Basket,
                    expires_at_ms: until.expires_at_ms,
                    lock_until_ms: until.lock_until_ms,
                    ..hold
                };
                self.accepted.insert(key);
                self.holds.insert(key, basket.clone());
                Ok(basket)
            }
        }
    }

    fn change(
        &mut self,
        key: u8,
        visitor: Holder,
        add: &[HeldSeat],
        remove: &[u32],
    ) -> Result<Hold, InventoryRefusal> {
        let mut hold = self.basket(key, visitor)?;
        let change = (add.to_vec(), remove.to_vec());
        if self.last_changes.get(&key) == Some(&change) {
            return Ok(hold);
        }
        let in_hold = |seat: &u32| hold.items.iter().any(|item| item.seat == *seat);
        if let Some(not_held) = remove.iter().find(|seat| !in_hold(seat)) {
            return Err(InventoryRefusal::NotHeld(vec![*not_held]));
        }
        let more = add.len().saturating_sub(remove.len());
        self.admit(visitor, u32::try_from(more).expect("small"), add)?;
        let out: Vec<HeldSeat> = seats(remove);
        self.unlock(key, &out);
        self.lock(key, add);
        hold.items.retain(|item| !remove.contains(&item.seat));
        hold.items.extend_from_slice(add);
        self.last_changes.insert(key, change);
        self.holds.insert(key, hold.clone());
        Ok(hold)
    }

    fn release(&mut self, key: u8, visitor: Holder) -> Result<(), InventoryRefusal> {
        if !self.holds.contains_key(&key) && self.released.get(&key) == Some(&visitor) {
            return Ok(());
        }
        let hold = self.basket(key, visitor)?;
        self.unlock(key, &hold.items);
        self.holds.remove(&key);
        self.released.insert(key, visitor);
        Ok(())
    }

    fn secure(
        &mut self,
        key: u8,
        visitor: Holder,
        until_ms: i64,
    ) -> Result<Hold, InventoryRefusal> {
        let hold = self.own_for_basket(key, visitor)?;
        if hold.stage == HoldStage::Ordered {
            let hold = Hold {
                lock_until_ms: until_ms.max(hold.lock_until_ms + 1),
                ..hold
            };
            self.holds.insert(key, hold.clone());
            return Ok(hold);
        }
        let lost: Vec<u32> = hold
            .cells(GRID)
            .into_iter()
            .filter(|cell| self.locks.get(cell) != Some(&key))
            .collect();
        if !lost.is_empty() {
            return Err(InventoryRefusal::Taken(lost));
        }
        let hold = Hold {
            stage: HoldStage::Ordered,
            lock_until_ms: until_ms.max(hold.lock_until_ms),
            ..hold
        };
        self.holds.insert(key, hold.clone());
        Ok(hold)
    }

    fn state(&self, cell: u32) -> CellState {
        match (
            self.sold.contains_key(&cell),
            self.locks.contains_key(&cell) || self.kept.contains(&cell),
        ) {
            (true, _) => CellState::Sold,
            (_, true) => CellState::Held,
            _ => CellState::Free,
        }
    }
}

fn visitor(n: u8) -> Holder {
    Holder([n; 32])
}

/// Generates random sequences of transitions.
pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let some = || proptest::collection::btree_set(0..GRID.seats, 0..4);
    let list = |set: std::collections::BTreeSet<u32>| set.into_iter().collect::<Vec<_>>();
    let step = prop_oneof![
        4 => (0..9_u8, 1..4_u8, proptest::collection::btree_set(0..GRID.seats, 1..4))
            .prop_map(move |(key, who, of)| Step::Take(key, who, list(of))),
        2 => (0..9_u8, 1..4_u8, some(), proptest::collection::btree_set(0..GRID.seats, 0..2))
            .prop_map(move |(key, who, add, out)| Step::Change(key, who, list(add), list(out))),
        1 => (0..9_u8, 1..4_u8).prop_map(|(key, who)| Step::Release(key, who)),
        2 => (0..9_u8, 1..4_u8).prop_map(|(key, who)| Step::Secure(key, who)),
        2 => (0..9_u8).prop_map(Step::Sell),
        1 => (0..9_u8).prop_map(Step::Free),
        1 => (0..6_i64).prop_map(|late| Step::Sweep(LOCK_MS + late * 10)),
        1 => proptest::bool::weighted(0.8).prop_map(Step::Wait),
        2 => (0..9_u8, 1..4_u8, proptest::collection::btree_set(0..GRID.seats, 1..4))
            .prop_map(move |(key, who, of)| Step::Offer(key, who, list(of))),
        2 => (0..9_u8, 1..4_u8).prop_map(|(key, who)| Step::Accept(key, who)),
        1 => some().prop_map(move |of| Step::LetGo(list(of))),
    ];
    proptest::collection::vec(step, 1..80)
}

/// Makes the transitions on a fresh store and on the model, and compares both.
pub(crate) async fn play(store: Store, steps: Vec<Step>) {
    opened(&store).await;
    let (mut model, mut seq, mut last) = (Model::default(), 0, 0);
    for (n, step) in (0_i64..).zip(steps) {
        let key_of = |key: u8| id(&key.to_string());
        match step.clone() {
            Step::Take(key, who, of) => {
                let wanted = Hold {
                    lock_until_ms: LOCK_MS + n % 50,
                    ..basket(&key.to_string(), visitor(who), &of)
                };
                // After an order, the hold's id is not used again: a later call derives another id.
                if !model.orders.contains_key(&key) {
                    let expected = model.take(key, wanted.clone());
                    assert_eq!(store.take(wanted, LIMIT).await, expected, "{step:?}");
                }
            }
            Step::Change(key, who, add, out) => {
                let add = seats(&add);
                let expected = model.change(key, visitor(who), &add, &out);
                let got = store
                    .change(&key_of(key), visitor(who), add, out, false, LIMIT)
                    .await;
                assert_eq!(got, expected, "{step:?}");
            }
            Step::Release(key, who) => {
                let expected = model.release(key, visitor(who));
                let got = store.release(&key_of(key), visitor(who), BASKET).await;
                assert_eq!(got, expected, "{step:?}");
            }
            Step::Secure(key, who) => {
                let until = LOCK_MS + 30 + n;
                let expected = model.secure(key, visitor(who), until);
                let got = secured(&store, &key_of(key), visitor(who), until).await;
                assert_eq!(got, expected, "{step:?}");
            }
            Step::Sell(key) => {
                let Some(hold) = model.holds.get(&key).cloned() else {
                    continue;
                };
                // The ledger sells only cells that nobody else bought, because its claims are
                // unique.
                if hold.stage == HoldStage::Basket
                    || hold
                        .cells(GRID)
                        .iter()
                        .any(|cell| model.sold.contains_key(cell))
                {
                    continue;
                }
                seq += 1;
                model.holds.remove(&key);
                for cell in hold.cells(GRID) {
                    model.locks.remove(&cell);
                    model.sold.insert(cell, hold.visitor);
                }
                model.orders.insert(key, (hold.visitor, hold.items.clone()));
                let row = SeatOutboxRow {
                    items: hold.items,
                    ..row(
                        seq,
                        SeatOutboxAction::Sell,
                        &key.to_string(),
                        hold.visitor,
                        &[],
                    )
                };
                assert_eq!(store.deliver(&show(), &[row.clone(), row]).await, Ok(seq));
            }
            Step::Free(key) => {
                let Some((owner, items)) = model.orders.remove(&key) else {
                    continue;
                };
                seq += 1;
                for cell in cells_of(&items, GRID) {
                    if model.sold.remove(&cell).is_some() {
                        model.keep_if_somebody_waits(cell);
                    }
                }
                let row = SeatOutboxRow {
                    items,
                    ..row(seq, SeatOutboxAction::Free, &key.to_string(), owner, &[])
                };
                assert_eq!(store.deliver(&show(), &[row.clone(), row]).await, Ok(seq));
            }
            Step::Wait(whether) => {
                let until_ms = if whether { WAIT_UNTIL_MS } else { 0 };
                if !whether {
                    model.kept.clear();
                }
                model.somebody_waits = whether;
                let kept: Vec<u32> = model.kept.iter().copied().collect();
                assert_eq!(store.keep_freed(&show(), until_ms).await, Ok(kept));
            }
            Step::Offer(key, who, of) => {
                let wanted = Hold {
                    purpose: HoldPurpose::Offer,
                    lock_until_ms: LOCK_MS + n % 50,
                    ..basket(&key.to_string(), visitor(who), &of)
                };
                if !model.orders.contains_key(&key) {
                    let expected = model.offer(key, wanted.clone());
                    assert_eq!(store.offer(wanted, LIMIT).await, expected, "{step:?}");
                }
            }
            Step::Accept(key, who) => {
                let until = BasketDeadlines {
                    expires_at_ms: EXPIRES_MS + n,
                    lock_until_ms: LOCK_MS + n % 50,
                };
                let expected = model.accept(key, visitor(who), until);
                let got = store
                    .accept_offer(&key_of(key), visitor(who), LIMIT, until, NOW_MS)
                    .await;
                assert_eq!(got, expected, "{step:?}");
            }
            Step::LetGo(of) => {
                let cells = cells_of(&seats(&of), GRID);
                for cell in &cells {
                    model.kept.remove(cell);
                }
                assert_eq!(store.free_kept_cells(&show(), &cells).await, Ok(()));
            }
            Step::Sweep(now_ms) => {
                let due: Vec<u8> = model
                    .holds
                    .iter()
                    .filter(|(_, hold)| hold.lock_until_ms <= now_ms)
                    .map(|(key, _)| *key)
                    .collect();
                let mut expected: Vec<HoldId> = due.iter().map(|key| key_of(*key)).collect();
                for key in due {
                    if let Some(hold) = model.holds.remove(&key) {
                        model.unlock(key, &hold.items);
                    }
                }
                let mut got = store.sweep(now_ms, 1_000).await.lapsed;
                got.sort();
                expected.sort();
                assert_eq!(got, expected, "{step:?}");
            }
        }
        if model.somebody_waits {
            let kept = store.keep_freed(&show(), WAIT_UNTIL_MS).await;
            let expected: Vec<u32> = model.kept.iter().copied().collect();
            assert_eq!(kept, Ok(expected), "after {step:?}");
        }
        let (version, states) = picture(&store).await;
        assert!(version >= last, "{step:?}: the version decreased");
        last = version;
        let expected: Vec<CellState> = (0..GRID.cell_count())
            .map(|cell| model.state(cell))
            .collect();
        assert_eq!(states, expected, "after {step:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn the_store_and_a_simple_model_never_disagree(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(play(Arc::new(MemoryStore::default()), steps));
    }
}
