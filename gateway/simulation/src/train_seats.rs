//! Keeps the seats of a train one by one, because two travellers can share a seat if their legs do
//! not overlap.

use std::ops::Range;

use crate::sale::PlannedShow;

/// Free. This, [`HELD`] and [`SOLD`] are the states of a seat, and the indices of counts by state.
pub const FREE: usize = 0;
/// Held: in a basket or an unpaid order.
pub const HELD: usize = 1;
/// Sold.
pub const SOLD: usize = 2;

/// Returns the legs as bits, one bit for each leg.
pub fn mask(legs: &Range<u32>) -> u64 {
    let legs_below = |leg: u32| if leg >= 64 { u64::MAX } else { (1 << leg) - 1 };
    legs_below(legs.end) & !legs_below(legs.start)
}

/// The seats of a train. They are counted as in booking. A seat is free while one of its legs is
/// free. It is held while none of its legs is free but one may come free.
pub struct TrainSeats {
    legs: Vec<SeatLegs>,
    /// All legs of the train, as bits.
    all_legs: u64,
    /// How many seats are free, held and sold.
    pub counts: [u64; 3],
}

/// The legs of one seat, one bit for each leg.
#[derive(Debug, Clone, Copy, Default)]
pub struct SeatLegs {
    /// The legs that are held or sold.
    pub taken: u64,
    /// The legs that are sold.
    pub sold: u64,
}

impl SeatLegs {
    fn state(self, all_legs: u64) -> usize {
        if self.taken != all_legs {
            FREE
        } else if self.sold != all_legs {
            HELD
        } else {
            SOLD
        }
    }
}

impl TrainSeats {
    /// Makes the seats of a train, all of them free.
    pub fn new(show: &PlannedShow) -> Self {
        Self {
            legs: vec![SeatLegs::default(); show.seats as usize],
            all_legs: mask(&(0..show.legs)),
            counts: [u64::from(show.seats), 0, 0],
        }
    }

    /// Returns seats on which these legs are free; `None` if there are not enough.
    pub fn find(&self, quantity: u32, legs: u64) -> Option<Vec<u32>> {
        let seats = (0..).zip(&self.legs);
        let free = seats.filter(|(_, seat)| seat.taken & legs == 0);
        let found: Vec<u32> = free.map(|(at, _)| at).take(quantity as usize).collect();
        (found.len() == quantity as usize).then_some(found)
    }

    /// Returns the number of seats on which none of these legs is sold.
    pub fn unsold(&self, legs: u64) -> u64 {
        let seats = self.legs.iter();
        seats.filter(|seat| seat.sold & legs == 0).count() as u64
    }

    /// Changes which legs of some seats are taken, and updates the counts.
    pub fn change(&mut self, seats: &[u32], change: impl Fn(&mut SeatLegs)) {
        for seat in seats {
            let legs = &mut self.legs[*seat as usize];
            self.counts[legs.state(self.all_legs)] -= 1;
            change(legs);
            self.counts[legs.state(self.all_legs)] += 1;
        }
    }
}
