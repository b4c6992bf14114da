//! What the people inside still want of the seats: how many more could use one, and how likely one
//! is left for somebody further back. Plain means and variances; nothing here knows a visitor.

/// Before anything is measured: seats a party takes.
const PARTY: f64 = 2.0;
/// Before anything is measured: how many of those let in buy.
const CHANCE: f64 = 0.8;
/// So many visitors the two guesses above weigh as much as.
const GUESS_WEIGHT: f64 = 20.0;
/// Baskets that become orders; the other seats come back.
const BASKETS_KEPT: f64 = 0.85;
/// How far the mean may be off before anything is measured, as a part of it, and at the least.
const DOUBT: f64 = 0.4;
const DOUBT_MIN: f64 = 0.03;
/// So many visitors who are done make the doubt smaller by the root of two.
const DOUBT_HALVES: f64 = 50.0;
/// The most seats that a party is believed to take.
const PARTY_MAX: f64 = 10.0;

/// Up to these ages inside, seconds, somebody without a basket wants seats with the weights beside
/// it; past the last hardly anybody does.
pub const AGES_S: [u64; 3] = [30, 60, 120];
const WEIGHTS: [f64; 4] = [1.0, 0.5, 0.25, 0.1];

/// The seats of a room's shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SeatSupply {
    /// Free cells.
    pub free: u64,
    /// Held cells.
    pub held: u64,
    /// Sold cells.
    pub sold: u64,
    /// Held cells whose deadline is so near that they count as free for who is called now.
    pub lapsing: u64,
    /// Baskets: holds without an order, and orders that are not paid.
    pub baskets: u64,
    /// Cells that nobody can have any more and that are not sold.
    pub gone: u64,
}

/// The people who come before anybody who is called now.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PeopleAhead {
    /// Inside, by time since their claim: up to each of [`AGES_S`], and longer.
    pub inside: [u64; 4],
    /// Called and expected to come.
    pub called: f64,
    /// Done: their order was ticketed.
    pub done: u64,
    /// Gone without an order: their pass ran out.
    pub ended: u64,
    /// How many of those called come, 0 to 1.
    pub show_up: f64,
}

/// What stands between a visitor and a seat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeatDemand {
    /// Seats that are free, or will be in a moment.
    supply: f64,
    /// Seats that will not be kept by those who have them in their baskets, on top of the free
    /// ones.
    coming: f64,
    free: f64,
    /// People before the line who have no basket yet and want one.
    choosing: f64,
    party: f64,
    chance: f64,
    show_up: f64,
    doubt: f64,
}

impl SeatDemand {
    /// Adds up one second's figures; `None` where the room has no seats that could run out.
    #[must_use]
    pub fn from_counts(seats: &SeatSupply, people: &PeopleAhead) -> Option<Self> {
        if seats.free + seats.held + seats.sold + seats.gone == 0 {
            return None;
        }
        let [free, held, sold, lapsing, baskets, done, ended] = [
            seats.free,
            seats.held,
            seats.sold,
            seats.lapsing,
            seats.baskets,
            people.done,
            people.ended,
        ]
        .map(as_f64);
        let inside: u64 = people.inside.iter().sum();
        let faded: f64 = people
            .inside
            .iter()
            .zip(WEIGHTS)
            .map(|(count, weight)| as_f64(*count) * weight)
            .sum();
        let without_basket = if inside == 0 {
            0.0
        } else {
            (as_f64(inside) - baskets).max(0.0) / as_f64(inside)
        };
        Some(Self {
            supply: free + lapsing,
            coming: held * (1.0 - BASKETS_KEPT),
            free,
            choosing: faded * without_basket + people.called,
            party: ((PARTY * GUESS_WEIGHT + held + sold) / (GUESS_WEIGHT + done + baskets))
                .clamp(1.0, PARTY_MAX),
            chance: (CHANCE * GUESS_WEIGHT + done) / (GUESS_WEIGHT + done + ended),
            show_up: people.show_up,
            doubt: (DOUBT / (1.0 + done / DOUBT_HALVES).sqrt()).max(DOUBT_MIN),
        })
    }

    /// Seats that one visitor who comes takes on average.
    fn takes(&self) -> f64 {
        self.party * self.chance
    }

    /// How many more people could be let in before those inside cover all seats that are left or
    /// about to lapse.
    #[must_use]
    pub fn people_wanted(&self) -> u64 {
        let left = self.supply - self.choosing * self.takes();
        // A float below zero, or not a number, becomes 0; one beyond the range its end.
        (left / self.takes() / self.show_up).ceil().max(0.0) as u64
    }

    /// How likely a seat is left for who has `ahead` people before it, 0 to 1.
    #[must_use]
    pub fn seat_odds(&self, ahead: u64) -> f64 {
        let people = self.choosing + as_f64(ahead) * self.show_up;
        let mean = people * self.takes();
        let of_one = self.chance * (self.party * self.party + 1.0) - self.takes() * self.takes();
        let deviation = (people * of_one + (self.doubt * mean).powi(2)).sqrt();
        let left = self.free + self.coming - mean - 0.5;
        if deviation < 1e-9 {
            return if left > 0.0 { 1.0 } else { 0.0 };
        }
        normal(left / deviation)
    }
}

/// The normal distribution by its logistic likeness, at most 0.01 off.
fn normal(z: f64) -> f64 {
    1.0 / (1.0 + (-1.702 * z).exp())
}

fn as_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEATS: SeatSupply = SeatSupply {
        free: 1000,
        held: 0,
        sold: 0,
        lapsing: 0,
        baskets: 0,
        gone: 0,
    };
    const PEOPLE: PeopleAhead = PeopleAhead {
        inside: [0; 4],
        called: 0.0,
        done: 0,
        ended: 0,
        show_up: 1.0,
    };

    fn wanted(seats: SeatSupply, people: PeopleAhead) -> u64 {
        SeatDemand::from_counts(&seats, &people)
            .expect("there are seats")
            .people_wanted()
    }

    #[test]
    fn people_are_wanted_until_those_inside_cover_the_seats() {
        assert_eq!(wanted(SEATS, PEOPLE), 625);
        let choosing = PeopleAhead {
            inside: [600, 0, 0, 0],
            ..PEOPLE
        };
        assert_eq!(wanted(SEATS, choosing), 25);
        let called = PeopleAhead {
            called: 30.0,
            ..choosing
        };
        assert_eq!(wanted(SEATS, called), 0);
    }

    #[test]
    fn who_has_been_inside_for_long_or_has_a_basket_wants_no_more() {
        let old = PeopleAhead {
            inside: [0, 0, 0, 600],
            ..PEOPLE
        };
        assert_eq!(wanted(SEATS, old), 565);
        let baskets = SeatSupply {
            held: 1000,
            free: 500,
            baskets: 500,
            ..SEATS
        };
        let inside = PeopleAhead {
            inside: [500, 0, 0, 0],
            ..PEOPLE
        };
        assert!(wanted(baskets, inside) > 300);
    }

    #[test]
    fn when_all_seats_are_in_baskets_people_are_wanted_as_holds_lapse() {
        let covered = SeatSupply {
            free: 0,
            held: 1000,
            baskets: 500,
            ..SEATS
        };
        assert_eq!(wanted(covered, PEOPLE), 0);
        assert!(
            wanted(
                SeatSupply {
                    lapsing: 40,
                    ..covered
                },
                PEOPLE
            ) >= 20
        );
    }

    #[test]
    fn odds_fall_along_the_line_from_sure_to_none() {
        let demand = SeatDemand::from_counts(&SEATS, &PEOPLE).expect("there are seats");
        let odds: Vec<f64> = [0, 100, 625, 1200, 10_000]
            .map(|ahead| demand.seat_odds(ahead))
            .to_vec();
        assert!(odds[0] > 0.99 && odds[1] > 0.99, "{odds:?}");
        assert!((0.35..0.65).contains(&odds[2]), "{odds:?}");
        assert!(odds[3] < 0.15 && odds[4] < 0.02, "{odds:?}");
        assert!(odds.is_sorted_by(|a, b| a >= b), "{odds:?}");
    }

    #[test]
    fn what_was_measured_outweighs_the_first_guess() {
        let (seats, people) = (
            SeatSupply {
                free: 1000,
                sold: 3000,
                ..SEATS
            },
            PeopleAhead {
                done: 1000,
                ended: 1000,
                ..PEOPLE
            },
        );
        let demand = SeatDemand::from_counts(&seats, &people).expect("there are seats");
        assert!((demand.party - 3.0).abs() < 0.1 && (demand.chance - 0.5).abs() < 0.1);
    }

    #[test]
    fn where_nothing_can_be_had_any_more_nobody_is_wanted_and_the_odds_are_none() {
        let over = SeatSupply {
            gone: 1_000,
            ..SeatSupply::default()
        };
        let demand = SeatDemand::from_counts(&over, &PEOPLE).expect("there were seats");
        assert_eq!(demand.people_wanted(), 0);
        assert!(
            demand.seat_odds(0) < 0.01 && demand.seat_odds(1) < 0.1,
            "{demand:?}"
        );
    }

    #[test]
    fn a_room_without_seats_wants_whoever_comes() {
        assert_eq!(
            SeatDemand::from_counts(&SeatSupply::default(), &PEOPLE),
            None
        );
    }
}
