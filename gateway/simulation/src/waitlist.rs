//! Keeps the parties that wait for seats to come free. As in booking, freed seats are offered to a
//! party that they suit. If they suit several, the party that has waited longest gets the offer.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::sale::PlannedShow;
use crate::stock::{SeatRequest, SeatStock, TakenSeats};

/// How long an offer is open, in milliseconds.
pub const OFFER_MS: i64 = 60_000;
/// How often a party asks for its state, in seconds. Booking tells parties to ask this often.
pub const ASKS_EVERY_S: u64 = 5;

/// The parties that wait.
#[derive(Debug, Default)]
pub struct SimulatedWaitlist {
    /// The parties by what they want, in the order in which they joined. A party that has left may
    /// still be here, but its number is no longer in `waiting`.
    lines: BTreeMap<SeatRequest, VecDeque<WaitingParty>>,
    /// The number under which each visit waits.
    waiting: HashMap<u32, u64>,
    joined: u64,
}

#[derive(Debug, Clone, Copy)]
struct WaitingParty {
    number: u64,
    /// The index of the visit.
    visit: u32,
}

/// Seats that are held for a party.
pub struct SimulatedOffer {
    /// The index of the visit.
    pub visit: u32,
    /// The seats.
    pub seats: TakenSeats,
    /// Until when the party may order them, in milliseconds after the start.
    pub until_ms: i64,
    /// When their lock ends, in milliseconds after the start.
    pub lock_ms: i64,
}

impl SimulatedWaitlist {
    /// Adds a party at the end. Returns its number.
    pub fn join(&mut self, visit: u32, wish: SeatRequest) -> u64 {
        self.joined += 1;
        let number = self.joined;
        self.waiting.insert(visit, number);
        let party = WaitingParty { number, visit };
        self.lines.entry(wish).or_default().push_back(party);
        number
    }

    /// Removes a party. Returns false if the party no longer waits under this number.
    pub fn leave(&mut self, visit: u32, number: u64) -> bool {
        let was_waiting = self.waiting.get(&visit) == Some(&number);
        if was_waiting {
            self.waiting.remove(&visit);
        }
        was_waiting
    }

    /// Returns how many parties wait.
    pub fn len(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Returns how many parties have joined so far.
    pub fn joined(&self) -> u64 {
        self.joined
    }

    /// Holds seats for the first party that they suit. Returns `None` if they suit nobody.
    pub fn offer(
        &mut self,
        stock: &mut SeatStock,
        shows: &[PlannedShow],
        now_ms: i64,
    ) -> Option<SimulatedOffer> {
        let waiting = &self.waiting;
        for line in self.lines.values_mut() {
            let stays = |party: &WaitingParty| waiting.get(&party.visit) == Some(&party.number);
            while line.front().is_some_and(|party| !stays(party)) {
                line.pop_front();
            }
        }
        self.lines.retain(|_, line| !line.is_empty());
        let mut fronts: Vec<(u64, &SeatRequest)> = self
            .lines
            .iter()
            .filter_map(|(wish, line)| Some((line.front()?.number, wish)))
            .collect();
        fronts.sort_unstable_by_key(|(number, _)| *number);
        let until_ms = now_ms + OFFER_MS;
        let (wish, seats, lock_ms) = fronts.into_iter().find_map(|(_, wish)| {
            let lock_ms = until_ms + i64::from(shows[wish.show].grace_s) * 1_000;
            let seats = stock.hold(wish, lock_ms)?;
            Some((wish.clone(), seats, lock_ms))
        })?;
        let party = self.lines.get_mut(&wish)?.pop_front()?;
        self.waiting.remove(&party.visit);
        Some(SimulatedOffer {
            visit: party.visit,
            seats,
            until_ms,
            lock_ms,
        })
    }

    /// Removes the parties for which too few seats can still come free. Returns the indices of
    /// their visits.
    pub fn remove_unserved(&mut self, stock: &SeatStock) -> Vec<u32> {
        let (waiting, mut visits) = (&self.waiting, Vec::new());
        self.lines.retain(|wish, line| {
            let may_come = stock.may_come_free(wish);
            if !may_come {
                let stays =
                    |party: &&WaitingParty| waiting.get(&party.visit) == Some(&party.number);
                visits.extend(line.iter().filter(stays).map(|party| party.visit));
            }
            may_come
        });
        for visit in &visits {
            self.waiting.remove(visit);
        }
        visits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sale::PlannedCategories;

    const SHOW: PlannedShow = PlannedShow {
        seats: 4,
        legs: 1,
        hold_s: 300,
        grace_s: 5,
        pay_s: 120,
        claim_grace_s: 30,
        seats_per_visitor: 4,
        categories: PlannedCategories::ONE,
    };

    fn wish(quantity: u32) -> SeatRequest {
        SeatRequest {
            show: 0,
            category: 0,
            quantity,
            from_leg: 0,
            to_leg: 1,
        }
    }

    #[test]
    fn seats_are_offered_to_the_first_party_that_they_suit() {
        let mut stock = SeatStock::new(&[SHOW]);
        let sold = stock.hold(&wish(2), 1).expect("four are free");
        let basket = stock.hold(&wish(2), 1).expect("two are free");
        let mut waitlist = SimulatedWaitlist::default();
        waitlist.join(7, wish(3));
        waitlist.join(8, wish(2));
        let left = waitlist.join(9, wish(1));
        waitlist.join(10, wish(1));
        assert!(waitlist.leave(9, left) && !waitlist.leave(9, left));
        assert!(waitlist.offer(&mut stock, &[SHOW], 0).is_none());
        stock.put_back(&basket);
        let offer = waitlist.offer(&mut stock, &[SHOW], 1_000).expect("for two");
        assert_eq!((offer.visit, offer.seats.quantity()), (8, 2));
        assert_eq!((offer.until_ms, offer.lock_ms), (61_000, 66_000));
        stock.put_back(&offer.seats);
        let offer = waitlist.offer(&mut stock, &[SHOW], 2_000).expect("for one");
        assert_eq!((offer.visit, waitlist.len()), (10, 1));
        stock.sell(&sold);
        assert_eq!(waitlist.remove_unserved(&stock), [7]);
        assert_eq!((waitlist.len(), waitlist.joined()), (0, 4));
    }
}
