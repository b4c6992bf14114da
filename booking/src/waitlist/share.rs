//! Who gets what came free, and who waits in vain: pure decisions over a picture of the seats and the line.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use rand::Rng;

use super::{Party, Waiter};
use crate::catalogue::seatmap::SeatMap;
use crate::inventory::CellState;
use crate::inventory::choose::{self, Ask, Choice, Wish};

/// Offers made in one go; the next round goes on.
const OFFERS_MAX: usize = 100;

/// What one round gives.
#[derive(Debug, Default)]
pub struct Shares {
    /// The parties that are offered seats, by their place in the line, with the seats.
    pub offers: Vec<(usize, Choice)>,
    /// Kept cells that fit none of those who are here.
    pub left: Vec<u32>,
}

impl Party {
    /// The party's wish in names.
    pub(super) fn ask(&self, categories: Option<Vec<String>>) -> Ask {
        Ask {
            quantity: self.quantity,
            categories,
            sections: None,
            zone: None,
            channels: None,
            ignore_channels: false,
            accessible: self.accessible,
            avoid_orphans: true,
            class: None,
        }
    }

    /// The party's wish on a map; `None` where the map lacks a category that it names. Where a show has standing places
    /// only, whoever waits for it is ready to stand.
    #[must_use]
    pub fn wish(&self, map: &SeatMap) -> Option<Wish> {
        let categories = (!self.categories.is_empty()).then(|| self.categories.clone());
        let ask = self.ask(categories);
        let mut wish = ask.resolve(map, &BTreeMap::new()).ok()?;
        if wish.categories.is_none() && map.benches().is_empty() {
            wish.categories = Some((0..).take(map.categories.len()).collect());
        }
        Some(wish)
    }

    /// Whether seats for the party may ever come free: of what is not sold, enough would do for it.
    #[must_use]
    pub fn may_be_served(&self, map: &SeatMap, states: &[CellState]) -> bool {
        let unsold = |cell: u32| {
            let state = states.get(cell as usize);
            matches!(state, Some(CellState::Free | CellState::Held))
        };
        let wish = self.wish(map);
        wish.is_some_and(|wish| choose::choose(map, &unsold, &wish, 0, &mut rand::rng()).is_ok())
    }
}

/// Those of the line who can never be served, by their place in it. An offer that a party has is its own.
#[must_use]
pub fn in_vain(map: &SeatMap, states: &[CellState], line: &[Waiter]) -> Vec<usize> {
    let mut known: HashMap<&Party, bool> = HashMap::new();
    let mut vain = Vec::new();
    for (at, waiter) in line.iter().enumerate() {
        let party = &waiter.party;
        let may = *known
            .entry(party)
            .or_insert_with(|| party.may_be_served(map, states));
        if !may && waiter.offer.is_none() {
            vain.push(at);
        }
    }
    vain
}

/// Shares out what is free or kept: in the order of the line, to parties that are here, have no offer, and sit well on
/// what is left.
#[must_use]
pub fn share(
    map: &SeatMap,
    states: &[CellState],
    kept: &[u32],
    line: &[Waiter],
    now_ms: i64,
    rng: &mut impl Rng,
) -> Shares {
    let mut kept: BTreeSet<u32> = kept.iter().copied().collect();
    let mut shares = Shares::default();
    let is_free = |cell: &u32| states.get(*cell as usize) == Some(&CellState::Free);
    let mut left = (0..map.cell_count()).filter(is_free).count() + kept.len();
    let mut given: HashSet<u32> = HashSet::new();
    // What fits one party no more fits no other with the same wish: cells only get fewer.
    let mut unfit: HashSet<&Party> = HashSet::new();
    for (at, waiter) in line.iter().enumerate() {
        let party = &waiter.party;
        if waiter.offer.is_some() || !waiter.is_here(now_ms) || unfit.contains(party) {
            continue;
        }
        if shares.offers.len() == OFFERS_MAX {
            // What is kept may still fit those behind.
            return shares;
        }
        let may_have =
            |cell: u32| (is_free(&cell) || kept.contains(&cell)) && !given.contains(&cell);
        let choice = match party.wish(map) {
            Some(wish) if left >= party.quantity as usize => {
                choose::choose(map, &may_have, &wish, 0, rng).ok()
            }
            _ => None,
        };
        let Some(choice) = choice else {
            unfit.insert(party);
            continue;
        };
        left -= choice.cells.len();
        given.extend(&choice.cells);
        shares.offers.push((at, choice));
    }
    kept.retain(|cell| !given.contains(cell));
    shares.left = kept.into_iter().collect();
    shares
}

#[cfg(test)]
mod tests {
    use fairgate_pass::Holder;
    use proptest::prelude::*;

    use super::*;
    use crate::catalogue::plan::parse_grid;
    use crate::waitlist::{HERE_MS, Offered};

    const NOW_MS: i64 = 1_000_000;

    fn hall() -> SeatMap {
        parse_grid("4x10").expect("a hall")
    }

    /// A party of that size; it is here where it was seen now.
    fn waiter(n: u8, quantity: u32, seen_ms: i64) -> Waiter {
        Waiter {
            id: format!("waiter_night-1_{}", hex::encode([n; 16]))
                .parse()
                .expect("an id"),
            visitor: Holder([n; 32]),
            room: "demo".to_owned(),
            party: Party {
                quantity,
                categories: Vec::new(),
                accessible: 0,
            },
            number: u64::from(n),
            since_ms: 0,
            until_ms: i64::MAX,
            seen_ms,
            offers: 0,
            missed: 0,
            offer: None,
            ended: None,
        }
    }

    /// A hall in which all is sold but what is kept and what is free.
    fn states(map: &SeatMap, kept: &[u32], free: &[u32]) -> Vec<CellState> {
        let state = |cell| match (kept.contains(&cell), free.contains(&cell)) {
            (true, _) => CellState::Held,
            (_, true) => CellState::Free,
            _ => CellState::Sold,
        };
        (0..map.cell_count()).map(state).collect()
    }

    fn shared(kept: &[u32], free: &[u32], line: &[Waiter]) -> (Vec<usize>, Vec<u32>) {
        let map = hall();
        let states = states(&map, kept, free);
        let shares = share(&map, &states, kept, line, NOW_MS, &mut rand::rng());
        let offers = shares.offers.iter().map(|(at, _)| *at).collect();
        (offers, shares.left)
    }

    #[test]
    fn the_first_of_those_who_are_here_and_whom_it_fits_is_offered_it() {
        let line = [
            waiter(1, 4, NOW_MS),
            waiter(2, 2, NOW_MS - HERE_MS),
            waiter(3, 2, NOW_MS - HERE_MS + 1),
            waiter(4, 2, NOW_MS),
        ];
        assert_eq!(shared(&[5, 6], &[], &line), (vec![2], vec![]));
        assert_eq!(
            shared(&[5], &[6], &line),
            (vec![2], vec![]),
            "free ones fill up"
        );
        assert_eq!(shared(&[5, 6, 7, 8], &[], &line), (vec![0], vec![]));
        assert_eq!(shared(&[0, 1, 20, 21, 30], &[], &line).0, [0]);
        assert_eq!(
            shared(&[5], &[], &line),
            (vec![], vec![5]),
            "it fits nobody"
        );
    }

    #[test]
    fn who_has_an_offer_is_not_made_another() {
        let mut line = [waiter(1, 1, NOW_MS), waiter(2, 1, NOW_MS)];
        line[0].offer = Some(Offered {
            hold: crate::ids::HoldId::of_offer(&line[0].id, 0),
            until_ms: NOW_MS,
            life: 1,
        });
        let (offers, left) = shared(&[5, 6], &[], &line);
        assert_eq!((offers, left.len()), (vec![1], 1));
    }

    #[test]
    fn a_party_waits_in_vain_where_too_little_is_not_sold() {
        let map = hall();
        let line = [waiter(1, 3, NOW_MS), waiter(2, 2, 0), waiter(3, 3, NOW_MS)];
        let states = states(&map, &[5], &[6]);
        assert_eq!(in_vain(&map, &states, &line), [0, 2]);
        let mut named = waiter(4, 1, NOW_MS);
        named.party.categories = vec!["no such".to_owned()];
        assert_eq!(in_vain(&map, &states, &[named]), [0]);
    }

    proptest! {
        #[test]
        fn nothing_is_offered_twice_nobody_who_fits_is_passed_over_and_all_that_is_kept_is_accounted_for(
            kept in proptest::collection::btree_set(0_u32..40, 0..12),
            free in proptest::collection::btree_set(0_u32..40, 0..4),
            parties in proptest::collection::vec((1_u32..5, proptest::bool::weighted(0.7)), 0..12),
        ) {
            let map = hall();
            let kept: Vec<u32> = kept.into_iter().collect();
            let free: Vec<u32> = free.into_iter().filter(|cell| !kept.contains(cell)).collect();
            let line: Vec<Waiter> = (0..).zip(&parties)
                .map(|(n, (quantity, here))| waiter(n, *quantity, if *here { NOW_MS } else { 0 }))
                .collect();
            let states = states(&map, &kept, &free);
            let shares = share(&map, &states, &kept, &line, NOW_MS, &mut rand::rng());
            let mut given = HashSet::new();
            let mut served = HashSet::new();
            for (at, choice) in &shares.offers {
                prop_assert!(line[*at].is_here(NOW_MS));
                prop_assert_eq!(choice.cells.len(), line[*at].party.quantity as usize);
                prop_assert!(served.insert(*at));
                for cell in &choice.cells {
                    prop_assert!(kept.contains(cell) || free.contains(cell));
                    prop_assert!(given.insert(*cell), "offered twice");
                }
            }
            // Any seats will do for these parties, so who is passed over found fewer than it wants.
            let mut left = kept.len() + free.len();
            for (at, waiter) in line.iter().enumerate().filter(|(_, waiter)| waiter.is_here(NOW_MS)) {
                let size = waiter.party.quantity as usize;
                prop_assert_eq!(served.contains(&at), size <= left, "party {}", at);
                if size <= left { left -= size; }
            }
            let unoffered: Vec<u32> = kept.iter().copied().filter(|cell| !given.contains(cell)).collect();
            prop_assert_eq!(shares.left, unoffered);
        }
    }
}
