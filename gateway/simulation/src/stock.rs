//! Keeps the seats of the shows: free, held (in a basket or an unpaid order), or sold. A hall's
//! seats are only counted. A train's seats are kept one by one, because two travellers can share a
//! seat if their legs do not overlap.

use std::collections::BTreeMap;
use std::ops::Range;

use fairgate_rules::odds::SeatSupply;

use crate::sale::PlannedShow;
use crate::train_seats::{FREE, HELD, SOLD, TrainSeats, mask};
use crate::wishes::WishedSeats;

/// A basket that has no order after this time, in milliseconds, counts as left behind. Booking
/// counts in the same way.
const LEFT_BEHIND_AFTER_MS: i64 = 120_000;

/// The seats of all shows.
pub struct SeatStock {
    shows: Vec<ShowSeats>,
    free: u64,
    held: u64,
    sold: u64,
    baskets: u64,
    /// Whether cells have come free since the last call of [`SeatStock::came_free`].
    freed: bool,
    /// How many cells were sold and given back.
    given_back: u64,
    /// The baskets that are not ordered. The keys are the time at which the lock ends and the index
    /// of the show.
    lapses: BTreeMap<(i64, usize), LapsingBaskets>,
    /// How long the lock of a basket lasts in each show, in milliseconds.
    locked_ms: Vec<i64>,
}

/// The baskets of one show whose locks end at the same time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct LapsingBaskets {
    cells: u64,
    baskets: u64,
}

enum ShowSeats {
    /// How many seats of each category of a hall are free, held and sold.
    Hall(Vec<[u64; 3]>),
    /// The seats of a train.
    Train(TrainSeats),
}

/// What a visitor wants of a show.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeatRequest {
    /// The index of the show.
    pub show: usize,
    /// The index of the category; 0 in a train.
    pub category: usize,
    /// How many seats.
    pub quantity: u32,
    /// The first leg; 0 in a hall.
    pub from_leg: u32,
    /// The leg after the last one; 1 in a hall.
    pub to_leg: u32,
}

/// Seats that a visitor has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenSeats {
    show: usize,
    category: usize,
    legs: Range<u32>,
    quantity: u32,
    /// The indices of a train's seats.
    seats: Vec<u32>,
    /// When the basket's lock ends, in milliseconds after the start; `None` once it is ordered.
    basket_until_ms: Option<i64>,
}

impl TakenSeats {
    /// Returns the number of seats.
    pub fn quantity(&self) -> u32 {
        self.quantity
    }

    fn cells(&self) -> u64 {
        u64::from(self.quantity) * u64::from(self.legs.end - self.legs.start)
    }
}

impl SeatStock {
    /// Makes the stock of these shows, with all seats free.
    pub fn new(shows: &[PlannedShow]) -> Self {
        let seats = |show: &PlannedShow| {
            if show.legs == 1 {
                let categories = show.categories.of(show.seats).into_iter();
                ShowSeats::Hall(categories.map(|seats| [u64::from(seats), 0, 0]).collect())
            } else {
                ShowSeats::Train(TrainSeats::new(show))
            }
        };
        let cells = |show: &PlannedShow| u64::from(show.seats) * u64::from(show.legs);
        Self {
            free: shows.iter().map(cells).sum(),
            shows: shows.iter().map(seats).collect(),
            held: 0,
            sold: 0,
            baskets: 0,
            freed: false,
            given_back: 0,
            lapses: BTreeMap::new(),
            locked_ms: shows
                .iter()
                .map(|show| i64::from(show.hold_s + show.grace_s) * 1_000)
                .collect(),
        }
    }

    /// Puts seats into a basket whose lock ends at `until_ms`. Returns `None` if not enough are
    /// free.
    pub fn hold(&mut self, wish: &SeatRequest, until_ms: i64) -> Option<TakenSeats> {
        let legs = wish.from_leg..wish.to_leg;
        let wanted_legs = mask(&legs);
        let seats = match self.shows.get_mut(wish.show)? {
            ShowSeats::Hall(categories) => {
                let counts = categories.get_mut(wish.category)?;
                counts[FREE] = counts[FREE].checked_sub(u64::from(wish.quantity))?;
                counts[HELD] += u64::from(wish.quantity);
                Vec::new()
            }
            ShowSeats::Train(train) => {
                let free_seats = train.find(wish.quantity, wanted_legs)?;
                train.change(&free_seats, |legs| legs.taken |= wanted_legs);
                free_seats
            }
        };
        let taken = TakenSeats {
            show: wish.show,
            category: wish.category,
            legs,
            quantity: wish.quantity,
            seats,
            basket_until_ms: Some(until_ms),
        };
        self.free -= taken.cells();
        self.held += taken.cells();
        self.baskets += 1;
        let lapsing = self.lapses.entry((until_ms, taken.show)).or_default();
        lapsing.cells += taken.cells();
        lapsing.baskets += 1;
        Some(taken)
    }

    /// Orders a basket. The seats of an unpaid order do not count as seats that are free soon.
    pub fn order(&mut self, taken: &mut TakenSeats) {
        self.forget_lapse(taken);
        taken.basket_until_ms = None;
    }

    /// Sells the seats of a basket or an unpaid order.
    pub fn sell(&mut self, taken: &TakenSeats) {
        self.forget_lapse(taken);
        self.held -= taken.cells();
        self.sold += taken.cells();
        self.baskets -= 1;
        let sold_legs = mask(&taken.legs);
        match self.shows.get_mut(taken.show) {
            Some(ShowSeats::Hall(categories)) => {
                let counts = &mut categories[taken.category];
                counts[HELD] -= u64::from(taken.quantity);
                counts[SOLD] += u64::from(taken.quantity);
            }
            Some(ShowSeats::Train(train)) => {
                train.change(&taken.seats, |legs| legs.sold |= sold_legs);
            }
            None => {}
        }
    }

    /// Frees the seats of a basket or an unpaid order.
    pub fn put_back(&mut self, taken: &TakenSeats) {
        self.forget_lapse(taken);
        self.held -= taken.cells();
        self.baskets -= 1;
        self.free(taken, HELD);
    }

    /// Frees seats that were sold.
    pub fn give_back(&mut self, taken: &TakenSeats) {
        self.sold -= taken.cells();
        self.given_back += taken.cells();
        self.free(taken, SOLD);
    }

    /// Frees seats that were held or sold.
    fn free(&mut self, taken: &TakenSeats, old_state: usize) {
        self.free += taken.cells();
        self.freed = true;
        let freed_legs = mask(&taken.legs);
        match self.shows.get_mut(taken.show) {
            Some(ShowSeats::Hall(categories)) => {
                let counts = &mut categories[taken.category];
                counts[old_state] -= u64::from(taken.quantity);
                counts[FREE] += u64::from(taken.quantity);
            }
            Some(ShowSeats::Train(train)) => train.change(&taken.seats, |legs| {
                legs.taken &= !freed_legs;
                legs.sold &= !freed_legs;
            }),
            None => {}
        }
    }

    /// Takes free seats out of the first show until at most `cells` cells are free or held, or
    /// until no seat is free. Only a hall of one category is changed.
    pub fn reduce_to(&mut self, cells: u64) {
        let free = cells.saturating_sub(self.held).min(self.free);
        if let Some(ShowSeats::Hall(categories)) = self.shows.first_mut()
            && let [counts] = &mut categories[..]
        {
            counts[FREE] = free;
            self.free = free;
        }
    }

    /// Returns whether cells have come free since the last call.
    pub fn came_free(&mut self) -> bool {
        std::mem::take(&mut self.freed)
    }

    /// Returns whether enough seats for this request are free or may come free, because they are
    /// not sold. If this is false, booking ends the wait of the party.
    pub fn may_come_free(&self, wish: &SeatRequest) -> bool {
        let seats = match self.shows.get(wish.show) {
            Some(ShowSeats::Hall(categories)) => {
                let counts = categories[wish.category];
                counts[FREE] + counts[HELD]
            }
            Some(ShowSeats::Train(train)) => train.unsold(mask(&(wish.from_leg..wish.to_leg))),
            None => 0,
        };
        seats >= u64::from(wish.quantity)
    }

    /// Returns how many cells were sold and given back.
    pub fn given_back(&self) -> u64 {
        self.given_back
    }

    fn forget_lapse(&mut self, taken: &TakenSeats) {
        let Some(until_ms) = taken.basket_until_ms else {
            return;
        };
        let lapse = (until_ms, taken.show);
        if let Some(lapsing) = self.lapses.get_mut(&lapse) {
            lapsing.cells -= taken.cells();
            lapsing.baskets -= 1;
            if lapsing.baskets == 0 {
                self.lapses.remove(&lapse);
            }
        }
    }

    /// Returns how many seats are free, held and sold.
    fn seats(&self) -> [u64; 3] {
        let mut seats = [0; 3];
        for show in &self.shows {
            let counts = match show {
                ShowSeats::Hall(categories) => &categories[..],
                ShowSeats::Train(train) => std::slice::from_ref(&train.counts),
            };
            for counts in counts {
                (0..seats.len()).for_each(|state| seats[state] += counts[state]);
            }
        }
        seats
    }

    /// Returns whether a seat is free.
    pub fn has_free_seats(&self) -> bool {
        self.seats()[FREE] > 0
    }

    /// Returns the figures from which the pace is worked out. They count seats, not cells. In a
    /// hall, each cell is a seat. Seats whose baskets run out within `soon_s` seconds count as
    /// lapsing.
    pub fn supply(&self, now_ms: i64, soon_s: u64) -> SeatSupply {
        let seats = self.seats();
        let mut lapsing = vec![0; self.shows.len()];
        let soon_ms = now_ms.saturating_add_unsigned(soon_s * 1_000);
        for ((_, show), baskets) in self.lapses.range(..=(soon_ms, usize::MAX)) {
            lapsing[*show] += baskets.cells;
        }
        let old_ms = |locked_ms: i64| now_ms + locked_ms - LEFT_BEHIND_AFTER_MS;
        let longest_ms = self.locked_ms.iter().max().copied().unwrap_or(0);
        let maybe_old = self.lapses.range(..=(old_ms(longest_ms), usize::MAX));
        let old =
            maybe_old.filter(|((until_ms, show), _)| *until_ms <= old_ms(self.locked_ms[*show]));
        let left_behind = old.map(|(_, baskets)| baskets.baskets).sum();
        // A seat of a train has several cells, so the cells may be more than the held seats. As in
        // booking, the count is at most the number of held seats.
        let lapsing = lapsing
            .iter()
            .zip(&self.shows)
            .map(|(cells, show)| match show {
                ShowSeats::Hall(_) => *cells,
                ShowSeats::Train(train) => (*cells).min(train.counts[HELD]),
            });
        SeatSupply {
            free: seats[FREE],
            held: seats[HELD],
            sold: seats[SOLD],
            lapsing: lapsing.sum(),
            baskets: self.baskets,
            left_behind,
            gone: 0,
        }
    }

    /// Returns how many seats of each category of a hall are free, and how many are held.
    pub fn categories(&self, show: usize) -> impl Iterator<Item = [u64; 2]> {
        let categories = match self.shows.get(show) {
            Some(ShowSeats::Hall(categories)) => &categories[..],
            Some(ShowSeats::Train(_)) | None => &[],
        };
        categories.iter().map(|counts| [counts[FREE], counts[HELD]])
    }

    /// Returns whether a wish can be met now.
    pub fn has(&self, seats: &WishedSeats) -> bool {
        let free = self.categories(seats.show).nth(seats.category);
        free.is_some_and(|[free, _]| free >= u64::from(seats.quantity))
    }

    /// Returns how many cells are free, in baskets or unpaid orders, and sold.
    pub fn cells(&self) -> [u64; 3] {
        [self.free, self.held, self.sold]
    }

    /// Returns whether no cell is free or held.
    pub fn is_sold_out(&self) -> bool {
        self.free == 0 && self.held == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sale::PlannedCategories;

    fn show(seats: u32, legs: u32) -> PlannedShow {
        PlannedShow {
            seats,
            legs,
            hold_s: 300,
            grace_s: 5,
            pay_s: 120,
            claim_grace_s: 30,
            seats_per_visitor: 4,
            categories: PlannedCategories::default(),
        }
    }

    fn wish(quantity: u32, legs: Range<u32>) -> SeatRequest {
        SeatRequest {
            show: 0,
            category: 0,
            quantity,
            from_leg: legs.start,
            to_leg: legs.end,
        }
    }

    #[test]
    fn seats_go_from_free_to_a_basket_and_on_to_sold_or_back() {
        let mut stock = SeatStock::new(&[show(5, 1)]);
        let one = stock.hold(&wish(3, 0..1), 50_000).expect("five are free");
        assert_eq!(stock.hold(&wish(3, 0..1), 1), None, "only two are left");
        let two = stock.hold(&wish(2, 0..1), 100).expect("two are free");
        let supply = stock.supply(0, 10);
        assert_eq!((supply.free, supply.held, supply.baskets), (0, 5, 2));
        assert_eq!(supply.lapsing, 2, "the second basket ends soon");
        let mut one = one;
        stock.order(&mut one);
        assert_eq!(stock.supply(60_000, 10).lapsing, 2, "an order is no basket");
        stock.sell(&one);
        assert!(!stock.is_sold_out());
        stock.put_back(&two);
        let two = stock.hold(&wish(2, 0..1), 100).expect("two are free again");
        stock.sell(&two);
        assert!(stock.is_sold_out());
        assert_eq!(stock.supply(0, 10).sold, 5);
        stock.give_back(&one);
        assert_eq!(stock.supply(0, 10).free, 3);
    }

    #[test]
    fn two_travellers_share_a_seat_if_their_legs_do_not_meet() {
        let mut train = SeatStock::new(&[show(1, 3)]);
        let front = train.hold(&wish(1, 0..2), 1).expect("the seat is free");
        assert_eq!(train.hold(&wish(1, 1..3), 1), None);
        let back = train.hold(&wish(1, 2..3), 1).expect("the last leg is free");
        assert_eq!(train.cells(), [0, 3, 0]);
        let supply = train.supply(0, 10);
        assert_eq!((supply.free, supply.held, supply.lapsing), (0, 1, 1));
        train.sell(&front);
        train.put_back(&back);
        assert_eq!(train.cells(), [1, 0, 2]);
        let supply = train.supply(0, 10);
        assert_eq!(
            (supply.free, supply.sold),
            (1, 0),
            "the line counts the seat once, as free"
        );
        assert!(train.may_come_free(&wish(1, 2..3)));
        assert!(
            !train.may_come_free(&wish(1, 0..1)),
            "the first leg is sold"
        );
        assert!(train.hold(&wish(1, 2..3), 1).is_some());
    }

    #[test]
    fn a_train_of_sixty_four_legs_is_taken_whole() {
        let mut train = SeatStock::new(&[show(2, 64)]);
        let taken = train.hold(&wish(2, 0..64), 1).expect("both are free");
        assert_eq!(train.supply(0, 10).held, 2);
        train.sell(&taken);
        assert_eq!((train.supply(0, 10).sold, train.is_sold_out()), (2, true));
        train.give_back(&taken);
        assert_eq!(train.supply(0, 10).free, 2);
    }
}
