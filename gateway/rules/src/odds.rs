//! Estimates how many seats the people inside will take. From this estimate it works out how many
//! more people to call, and the odds that a seat is left for a visitor in the line. It uses only
//! counts, means and variances, and no data about single visitors.

use crate::visit_habits::{EntryCounts, VisitHabits};

/// The first guess of the seats that a party takes, before anything is measured.
const PARTY: f64 = 2.0;
/// The first guess of the share of visitors inside who buy, before anything is measured.
pub(crate) const CHANCE: f64 = 0.8;
/// Both guesses count as much as this many measured visitors.
pub(crate) const GUESS_WEIGHT: f64 = 20.0;
/// The share of held seats that are expected to be bought. The other held seats become free again.
const BASKETS_KEPT: f64 = 0.85;
/// The standard error of the number of seats that people will take, as a share of that number,
/// before anything is measured. It never falls below `DOUBT_MIN`.
const DOUBT: f64 = 0.4;
const DOUBT_MIN: f64 = 0.03;
/// After this many visitors with tickets, the doubt is divided by the square root of two.
const DOUBT_VISITORS: f64 = 50.0;
/// The most seats that a party is believed to take.
const PARTY_MAX: f64 = 10.0;

/// The seats of a room's shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SeatSupply {
    /// The number of free cells.
    pub free: u64,
    /// The number of held cells.
    pub held: u64,
    /// The number of sold cells.
    pub sold: u64,
    /// The number of held cells whose deadline is so near that they count as free for visitors who
    /// are called now.
    pub lapsing: u64,
    /// The number of baskets: holds without an order, and unpaid orders.
    pub baskets: u64,
    /// The number of baskets that were begun more than two minutes ago and have no order.
    pub left_behind: u64,
    /// The number of cells that were not sold and can no longer be bought.
    pub gone: u64,
}

/// The people who choose seats before a visitor who is called now.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PeopleAhead {
    /// The visitors inside, by the time since their claim: one group for each limit in
    /// [`AGES_S`](crate::entry_history::AGES_S), and one group for longer times.
    pub inside: [u64; 4],
    /// Those of the visitors inside who were told that there are no seats for them, and hold none.
    pub told_none: [u64; 4],
    /// The visitors who entered in the time span of each group, whether they are still inside or
    /// not.
    pub entered: [u64; 4],
    /// How long a pass is valid, in seconds.
    pub pass_s: u64,
    /// The called visitors who are expected to come.
    pub called: f64,
    /// The visitors whose order was ticketed.
    pub done: u64,
    /// Those of them whose order was ticketed in the last three minutes.
    pub done_lately: u64,
    /// The visitors whose pass ran out without an order.
    pub ended: u64,
    /// The share of called visitors who come, 0 to 1.
    pub show_up: f64,
}

/// The seats that are left, and the people ahead of the line who want them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeatDemand {
    /// The seats that are free now or will lapse soon.
    supply: f64,
    /// The held seats that will probably become free again.
    returning: f64,
    free: f64,
    /// The people ahead of the line who have no basket yet and want one.
    pub(crate) choosing: f64,
    /// The mean number of seats of a visitor who buys.
    pub(crate) party: f64,
    /// The share of visitors inside who buy.
    chance: f64,
    /// The share of called visitors who come.
    pub(crate) show_up: f64,
    /// The standard error of the number of seats that people will take, as a share of that number.
    pub(crate) doubt: f64,
    /// The share of held seats that will be bought.
    pub(crate) kept: f64,
}

impl SeatDemand {
    /// Computes the demand from the figures of one second. Returns `None` if the room has no seats.
    #[must_use]
    pub fn from_counts(seats: &SeatSupply, people: &PeopleAhead) -> Option<Self> {
        if seats.free + seats.held + seats.sold + seats.gone == 0 {
            return None;
        }
        let [free, held, sold, lapsing, baskets, left_behind, done, ended] = [
            seats.free,
            seats.held,
            seats.sold,
            seats.lapsing,
            seats.baskets,
            seats.left_behind.min(seats.baskets),
            people.done,
            people.ended,
        ]
        .map(as_f64);
        // Whoever was told that there are no seats does not take those that come free meanwhile,
        // unless the visitor asks again. Most of them have left.
        let looking: [u64; 4] = std::array::from_fn(|group| {
            people.inside[group].saturating_sub(people.told_none[group])
        });
        let looking_total: u64 = looking.iter().sum();
        let habits = VisitHabits::measure(&EntryCounts {
            entered: people.entered,
            inside: people.inside,
            ended: people.ended,
            pass_s: people.pass_s,
        });
        let still_wanting: f64 = looking
            .iter()
            .zip(habits.still_want_seats())
            .map(|(count, weight)| as_f64(*count) * weight)
            .sum();
        let share_without_basket = if looking_total == 0 {
            0.0
        } else {
            (as_f64(looking_total) - baskets).max(0.0) / as_f64(looking_total)
        };
        // Hardly anybody buys a basket that is older than two minutes. Of the other baskets, a part
        // will be left behind, too.
        let abandoned =
            left_behind + (baskets - left_behind) * (1.0 - keeping_share(seats, people));
        Some(Self {
            supply: free + lapsing,
            returning: held * (1.0 - BASKETS_KEPT),
            free,
            choosing: still_wanting * share_without_basket + people.called,
            party: ((PARTY * GUESS_WEIGHT + held + sold) / (GUESS_WEIGHT + done + baskets))
                .clamp(1.0, PARTY_MAX),
            chance: (CHANCE * GUESS_WEIGHT + done) / (GUESS_WEIGHT + done + ended),
            show_up: people.show_up,
            doubt: (DOUBT / (1.0 + done / DOUBT_VISITORS).sqrt()).max(DOUBT_MIN),
            kept: 1.0 - abandoned / baskets.max(1.0),
        })
    }

    /// Returns how many seats a visitor inside takes on average.
    pub(crate) fn seats_per_visitor(&self) -> f64 {
        self.party * self.chance
    }

    /// Returns how many more people to call, so that the people ahead of the line want all seats
    /// that are free now or will lapse soon.
    #[must_use]
    pub fn people_wanted(&self) -> u64 {
        // A negative float or NaN becomes 0, and a float beyond the range becomes the largest
        // integer.
        self.more_wanted().ceil().max(0.0) as u64
    }

    /// Returns how many more people to call. It is below 0 if the people ahead of the line want
    /// more seats than there are.
    pub(crate) fn more_wanted(&self) -> f64 {
        let seats_left = self.supply - self.choosing * self.seats_per_visitor();
        seats_left / self.seats_per_visitor() / self.show_up
    }

    /// Returns the odds that a seat is left for a visitor with `ahead` people in front, 0 to 1.
    #[must_use]
    pub fn seat_odds(&self, ahead: u64) -> f64 {
        let people = self.choosing + as_f64(ahead) * self.show_up;
        let mean = people * self.seats_per_visitor();
        let variance_of_one = self.chance * (self.party * self.party + 1.0)
            - self.seats_per_visitor() * self.seats_per_visitor();
        let deviation = (people * variance_of_one + (self.doubt * mean).powi(2)).sqrt();
        let seats_left = self.free + self.returning - mean - 0.5;
        if deviation < 1e-9 {
            return if seats_left > 0.0 { 1.0 } else { 0.0 };
        }
        normal(seats_left / deviation)
    }

    /// Returns the odds to show to a visitor with `ahead` people in front. They are rounded to
    /// tenths, because more digits would promise too much.
    #[must_use]
    pub fn told_odds(&self, ahead: u64) -> f64 {
        (self.seat_odds(ahead) * 10.0).round() / 10.0
    }
}

/// Estimates the share of visitors with a basket who buy it. It compares the orders of the last
/// minutes with the baskets that were left behind in about the same time. The first guess counts as
/// [`GUESS_WEIGHT`] visitors.
fn keeping_share(seats: &SeatSupply, people: &PeopleAhead) -> f64 {
    let bought = as_f64(people.done_lately);
    (CHANCE * GUESS_WEIGHT + bought) / (GUESS_WEIGHT + bought + as_f64(seats.left_behind))
}

/// Approximates the distribution function of the normal distribution by the logistic function, with
/// an error of at most 0.01.
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
        left_behind: 0,
        gone: 0,
    };
    const PEOPLE: PeopleAhead = PeopleAhead {
        inside: [0; 4],
        told_none: [0; 4],
        entered: [0; 4],
        pass_s: 600,
        called: 0.0,
        done: 0,
        done_lately: 0,
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
    fn visitors_inside_for_long_or_with_a_basket_hardly_add_to_the_demand() {
        let old = PeopleAhead {
            inside: [0, 0, 0, 600],
            ..PEOPLE
        };
        assert!(wanted(SEATS, old) > 560);
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
    fn odds_fall_along_the_line_from_almost_one_to_almost_zero() {
        let demand = SeatDemand::from_counts(&SEATS, &PEOPLE).expect("there are seats");
        let odds: Vec<f64> = [0, 100, 625, 1200, 10_000]
            .map(|ahead| demand.seat_odds(ahead))
            .to_vec();
        assert!(odds[0] > 0.99 && odds[1] > 0.99, "{odds:?}");
        assert!((0.35..0.65).contains(&odds[2]), "{odds:?}");
        assert!(odds[3] < 0.15 && odds[4] < 0.02, "{odds:?}");
        assert!(odds.is_sorted_by(|a, b| a >= b), "{odds:?}");
        let told = [0, 625, 10_000].map(|ahead| demand.told_odds(ahead));
        assert_eq!(told, [1.0, 0.5, 0.0]);
    }

    #[test]
    fn measured_figures_outweigh_the_first_guesses() {
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

    /// Returns the share of 200 baskets that will be bought.
    fn kept(left_behind: u64, done: u64, done_lately: u64) -> f64 {
        let seats = SeatSupply {
            held: 400,
            sold: 2 * done,
            baskets: 200,
            left_behind,
            ..SEATS
        };
        let people = PeopleAhead {
            done,
            done_lately,
            ..PEOPLE
        };
        let demand = SeatDemand::from_counts(&seats, &people);
        demand.expect("there are seats").kept
    }

    #[test]
    fn the_more_baskets_are_left_behind_the_fewer_will_be_bought() {
        let [few, some, all] = [10, 100, 200].map(|left| kept(left, 300, 300));
        assert!(few > 0.8, "{few}");
        assert!((0.3..0.5).contains(&some), "{some}");
        assert!(all < 0.01, "{all}");
    }

    #[test]
    fn baskets_that_lapsed_long_ago_do_not_count_at_the_end_of_a_sale() {
        let [soon, late] = [1_000, 100_000].map(|done| kept(20, done, 400));
        assert!(soon > 0.75 && (soon - late).abs() < 1e-9, "{soon}, {late}");
    }

    #[test]
    fn if_no_seat_can_be_bought_nobody_is_wanted_and_the_odds_are_near_zero() {
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
    fn a_room_without_seats_has_no_demand() {
        assert_eq!(
            SeatDemand::from_counts(&SeatSupply::default(), &PEOPLE),
            None
        );
    }
}
