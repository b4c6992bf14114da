//! Simulates one visitor from the pass to the tickets, step by step.

use fairgate_rules::choosing_time::ChoosingTime;
use fairgate_rules::departures::TOLD_WITHIN_MS;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, RngExt};

use crate::behaviour::VisitorBehaviour;
use crate::line::RankedVisitor;
use crate::outcome::VisitEnds;
use crate::sale::{PlannedSale, PlannedShow};
use crate::schedule::{SaleEvent, SaleSchedule, VisitStep};
use crate::server::SimulatedServer;
use crate::stock::{SeatRequest, SeatStock, TakenSeats};
use crate::waitlist::{ASKS_EVERY_S, SimulatedOffer, SimulatedWaitlist};
use crate::wishes::{WishedSeats, by_weight};

/// The most baskets that a visitor fills before it gives up.
const BASKETS_MAX: u32 = 4;
/// How long a visitor takes to change its mind about a basket or an order, in seconds.
const MIND_S: f64 = 0.3;
/// After a declined payment, booking waits this long for the next try, in milliseconds, if the
/// order's time to pay is not over sooner.
const NEXT_TRY_WITHIN_MS: i64 = 60_000;
/// The seats of an order without a next try are free this much later, in milliseconds.
const NEXT_TRY_ON_ITS_WAY_MS: i64 = 2_000;

/// How a visit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisitEnd {
    /// The visitor has tickets.
    Ticketed,
    /// The payment was declined.
    Declined,
    /// The visitor paid too late.
    TooLate,
    /// The visitor abandoned its basket or cancelled its order.
    GaveUp,
    /// The visitor found no seats.
    NoSeats,
}

impl VisitEnds {
    /// Counts one more end.
    pub fn add(&mut self, end: VisitEnd) {
        let count = match end {
            VisitEnd::Ticketed => &mut self.ticketed,
            VisitEnd::Declined => &mut self.declined,
            VisitEnd::TooLate => &mut self.too_late,
            VisitEnd::GaveUp => &mut self.gave_up,
            VisitEnd::NoSeats => &mut self.no_seats,
        };
        *count += 1;
    }
}

/// What all visits share.
pub struct VisitWorld<'a> {
    /// The sale.
    pub sale: &'a PlannedSale,
    /// Its seats.
    pub stock: SeatStock,
    /// Booking.
    pub server: SimulatedServer,
    /// What happens later.
    pub schedule: SaleSchedule,
    /// The parties that wait for seats to come free.
    pub waitlist: SimulatedWaitlist,
    /// Seats whose basket or unpaid order ran out.
    pub seats_lapsed: u64,
    /// Seats that were sold to parties of the waitlist.
    pub seats_from_waitlist: u64,
    /// Visitors who have tickets and will give them back.
    pub refunds_ahead: u64,
    /// How long visitors take from their call to their seats.
    pub choosing_time: ChoosingTime,
}

/// What a visitor does from the call on.
pub struct SimulatedVisit {
    /// The visitor's rank.
    pub rank: u64,
    /// When the visitor was called, in milliseconds after the start.
    called_ms: i64,
    /// Whether the visitor is inside: it has a pass and no tickets yet.
    pub inside: bool,
    /// When the visitor got its newest pass, in milliseconds after the start; 0 before the first.
    pub entered_ms: i64,
    /// Whether a seat was left at the call, or the visitor held one later.
    pub seat_left: bool,
    /// How the visit ended, once it has.
    pub end: Option<VisitEnd>,
    /// The index of this visit in the run.
    index: u32,
    rng: Xoshiro256PlusPlus,
    /// What the visitor wishes for, the most wanted first; empty if it takes any category.
    wishes: Vec<WishedSeats>,
    wish: Option<SeatRequest>,
    gives_up: bool,
    /// Whether the visitor reads the seats and picks some. Otherwise it asks for the best seats.
    picks_seats: bool,
    rounds_left: u32,
    baskets: u32,
    /// Whether the waitlist has offered seats to the visitor. After that, the visitor takes no
    /// other seats.
    offered: bool,
    taken: Option<TakenSeats>,
    /// The number of the newest lock of a basket or order. When an earlier lock ends, nothing
    /// changes.
    lock: u32,
    /// Until when the visitor can order the basket or pay the order, in milliseconds after the
    /// start.
    until_ms: i64,
    /// Whether the visitor has a socket while it is inside, so that it is known when it is gone.
    socket: bool,
    /// Whether the visitor was told that there are no seats, and holds none.
    pub told_none: bool,
}

fn ms(seconds: f64) -> i64 {
    (seconds * 1e3).round() as i64
}

impl SimulatedVisit {
    /// Makes the visit of somebody at a rank who was called at this time (ms). `index` is the
    /// visit's index in the run.
    pub fn new(
        index: u32,
        (rank, called_ms): (u64, i64),
        visitor: RankedVisitor,
        wishes: Vec<WishedSeats>,
        seat_left: bool,
    ) -> Self {
        Self {
            rank,
            called_ms,
            inside: false,
            entered_ms: 0,
            seat_left,
            end: None,
            index,
            rng: visitor.rng,
            wishes,
            wish: None,
            gives_up: false,
            picks_seats: false,
            rounds_left: 0,
            baskets: 0,
            offered: false,
            taken: None,
            lock: 0,
            until_ms: 0,
            socket: visitor.socket,
            told_none: false,
        }
    }

    /// Returns the visitor's generator.
    pub fn rng(&mut self) -> &mut impl Rng {
        &mut self.rng
    }

    /// Returns below which rank all are called before this visitor is called again: those who stood
    /// in line when the pass ran out, or nobody if no seats that fitted were free. `line_end`
    /// returns the first rank that nobody had at a time (s). Returns `None` before the first pass.
    pub fn called_behind(&self, pass_s: u32, line_end: impl Fn(f64) -> u64) -> Option<u64> {
        let behind = |ended_s| {
            if self.told_none { 0 } else { line_end(ended_s) }
        };
        self.came_out_s(pass_s).map(behind)
    }

    /// Returns when the last pass ran out, in seconds, or `None` before the first pass.
    pub fn came_out_s(&self, pass_s: u32) -> Option<f64> {
        let ended_s = self.entered_ms as f64 / 1e3 + f64::from(pass_s);
        (self.entered_ms != 0).then_some(ended_s)
    }

    /// Lets the visitor in with a new pass.
    pub fn enter(&mut self, world: &mut VisitWorld, now_ms: i64) {
        (self.inside, self.entered_ms) = (true, now_ms);
        let pass_ms = i64::from(world.sale.room.pace.pass_s) * 1_000;
        self.schedule_step(world, now_ms + pass_ms, VisitStep::PassEnds);
        if self.wish.is_some() {
            // The pass had run out while the visitor was choosing.
            return self.schedule_step(world, now_ms, VisitStep::Hold);
        }
        let behaviour = &world.sale.behaviour;
        let show = self.rng.random_range(0..world.sale.shows.len());
        let party = behaviour.party(&mut self.rng) as u32;
        let planned = &world.sale.shows[show];
        self.wish = Some(SeatRequest {
            show,
            category: 0,
            quantity: party.min(planned.seats_per_visitor),
            from_leg: 0,
            to_leg: planned.legs,
        });
        self.gives_up = VisitorBehaviour::roll(behaviour.give_up, &mut self.rng);
        let browses = VisitorBehaviour::roll(behaviour.browse, &mut self.rng);
        let from_ms = if browses {
            world.server.answer(now_ms)
        } else {
            now_ms
        };
        self.choose(world, from_ms);
    }

    /// Begins to choose seats for a basket.
    fn choose(&mut self, world: &mut VisitWorld, now_ms: i64) {
        let behaviour = &world.sale.behaviour;
        if self.baskets == BASKETS_MAX {
            return self.find_no_seats(world, now_ms);
        }
        self.baskets += 1;
        self.rounds_left = behaviour.tries;
        let together_ms = ms(world.sale.room.draw_s + behaviour.together_s);
        let chosen_ms = now_ms + ms(behaviour.choose_s.draw(&mut self.rng));
        let at_ms = if behaviour.together_s > 0.0 {
            together_ms.max(now_ms)
        } else {
            chosen_ms
        };
        self.picks_seats = VisitorBehaviour::roll(behaviour.by_seat, &mut self.rng);
        self.schedule_step(world, at_ms, VisitStep::Hold);
    }

    /// Does one step.
    pub fn step(&mut self, step: VisitStep, world: &mut VisitWorld, now_ms: i64) {
        match step {
            VisitStep::Hold => self.hold(world, now_ms),
            VisitStep::Swap => {
                // One call reads the seats, and one swaps a seat. The number of the visitor's seats
                // stays the same.
                world.server.answer(now_ms);
                let answered_ms = world.server.answer(now_ms);
                self.keep_basket(world, answered_ms);
            }
            VisitStep::PutBack => {
                let answered_ms = world.server.answer(now_ms);
                self.put_back(world);
                self.choose(world, answered_ms);
            }
            VisitStep::Order => self.order(world, now_ms),
            VisitStep::Cancel => {
                world.server.answer(now_ms);
                self.put_back(world);
                self.end = Some(VisitEnd::GaveUp);
            }
            VisitStep::Pay { declined } => self.pay(declined, world, now_ms),
            VisitStep::Paid => self.paid(world, now_ms),
            VisitStep::GiveBack => {
                world.server.answer(now_ms);
                world.refunds_ahead -= 1;
                if let Some(taken) = self.taken.take() {
                    world.stock.give_back(&taken);
                }
            }
            VisitStep::Lapse(lock) if lock == self.lock && self.end != Some(VisitEnd::Ticketed) => {
                if let Some(taken) = self.taken.take() {
                    world.seats_lapsed += u64::from(taken.quantity());
                    world.stock.put_back(&taken);
                }
            }
            VisitStep::Lapse(_) => {}
            VisitStep::PassEnds => self.inside = false,
            VisitStep::JoinWaitlist => self.join_waitlist(world, now_ms),
            VisitStep::LeaveWaitlist(number) => {
                if world.waitlist.leave(self.index, number) {
                    world.server.answer(now_ms);
                    self.end = Some(VisitEnd::NoSeats);
                }
            }
        }
    }

    /// Ends the visit without seats, unless the visitor joins the waitlist.
    fn find_no_seats(&mut self, world: &mut VisitWorld, now_ms: i64) {
        if VisitorBehaviour::roll(world.sale.behaviour.waitlist, &mut self.rng) {
            self.schedule_step(world, now_ms, VisitStep::JoinWaitlist);
        } else {
            self.end = Some(VisitEnd::NoSeats);
        }
    }

    fn join_waitlist(&mut self, world: &mut VisitWorld, now_ms: i64) {
        world.server.answer(now_ms);
        let Some(mut wish) = self.wish.clone() else {
            self.end = Some(VisitEnd::NoSeats);
            return;
        };
        let show = world.sale.shows[wish.show];
        (wish.from_leg, wish.to_leg) = journey(&show, &mut self.rng);
        if !world.stock.may_come_free(&wish) {
            self.end = Some(VisitEnd::NoSeats);
            return;
        }
        let number = world.waitlist.join(self.index, wish);
        let waits_s = world.sale.behaviour.waitlist_s.draw(&mut self.rng);
        let leave_ms = now_ms + ms(waits_s);
        self.schedule_step(world, leave_ms, VisitStep::LeaveWaitlist(number));
    }

    /// Offers seats that came free to the visitor. The visitor learns of the offer when it next
    /// asks for its state, and then orders.
    pub fn offer(&mut self, offer: SimulatedOffer, world: &mut VisitWorld, now_ms: i64) {
        (self.offered, self.seat_left, self.until_ms) = (true, true, offer.until_ms);
        self.lock_until(offer.seats, offer.lock_ms, world);
        let asks_s = ASKS_EVERY_S as f64 * self.rng.random::<f64>();
        let order_s = world.sale.behaviour.order_s.draw(&mut self.rng);
        self.schedule_step(world, now_ms + ms(asks_s + order_s), VisitStep::Order);
    }

    /// Ends the wait of a visitor for whom too few seats can still come free.
    pub fn end_waiting(&mut self) {
        self.end = Some(VisitEnd::NoSeats);
    }

    fn hold(&mut self, world: &mut VisitWorld, now_ms: i64) {
        if !self.inside {
            let claim = SaleEvent::Claim { visit: self.index };
            return world.schedule.add(now_ms, claim);
        }
        let Some(wish) = &mut self.wish else {
            return;
        };
        choose_category(wish, &self.wishes, &world.stock, &mut self.rng);
        let (sale, show) = (world.sale, world.sale.shows[wish.show]);
        // As in the load test's swarm, travellers who find no seats look for another journey.
        (wish.from_leg, wish.to_leg) = journey(&show, &mut self.rng);
        let wish = wish.clone();
        let behaviour = &sale.behaviour;
        if self.picks_seats {
            world.server.answer(now_ms);
        }
        let answered_ms = world.server.answer(now_ms);
        self.until_ms = now_ms + i64::from(show.hold_s) * 1_000;
        let lock_ms = self.until_ms + i64::from(show.grace_s) * 1_000;
        let held = world.stock.hold(&wish, lock_ms);
        self.told_none = held.is_none();
        let Some(taken) = held else {
            if self.rounds_left == 0 {
                return self.find_no_seats(world, answered_ms);
            }
            self.rounds_left -= 1;
            let retry_ms = answered_ms + ms(behaviour.retry_s.draw(&mut self.rng));
            return self.schedule_step(world, retry_ms, VisitStep::Hold);
        };
        self.seat_left = true;
        if self.lock == 0 {
            world.choosing_time.note(now_ms - self.called_ms);
        }
        self.lock_until(taken, lock_ms, world);
        let changes = VisitorBehaviour::roll(behaviour.change, &mut self.rng);
        if changes && self.rng.random_bool(0.5) {
            return self.schedule_step(world, answered_ms + ms(MIND_S), VisitStep::PutBack);
        }
        if changes {
            return self.schedule_step(world, answered_ms + ms(MIND_S), VisitStep::Swap);
        }
        self.keep_basket(world, answered_ms);
    }

    /// Abandons the basket, or orders it later.
    fn keep_basket(&mut self, world: &mut VisitWorld, now_ms: i64) {
        if self.gives_up {
            self.end = Some(VisitEnd::GaveUp);
            return self.leave_basket(world, now_ms);
        }
        let order_s = world.sale.behaviour.order_s.draw(&mut self.rng);
        self.schedule_step(world, now_ms + ms(order_s), VisitStep::Order);
    }

    /// Leaves the page, and with it the basket. A basket whose visitor is known to be gone lapses
    /// early.
    fn leave_basket(&mut self, world: &mut VisitWorld, now_ms: i64) {
        let away_ms = i64::from(world.sale.room.away_s) * 1_000;
        if self.socket {
            let lapses_ms = now_ms + away_ms + TOLD_WITHIN_MS;
            self.schedule_step(world, lapses_ms, VisitStep::Lapse(self.lock));
        }
    }

    fn order(&mut self, world: &mut VisitWorld, now_ms: i64) {
        let answered_ms = world.server.answer(now_ms);
        if now_ms > self.until_ms {
            self.put_back(world);
        }
        let Some(mut taken) = self.taken.take() else {
            if self.offered {
                self.end = Some(VisitEnd::NoSeats);
                return;
            }
            return self.choose(world, answered_ms);
        };
        let behaviour = &world.sale.behaviour;
        let show = self.wish.as_ref().map_or(0, |wish| wish.show);
        let show = world.sale.shows[show];
        self.until_ms = self.until_ms.max(now_ms + i64::from(show.pay_s) * 1_000);
        let lock_ms = self.until_ms + i64::from(show.claim_grace_s) * 1_000;
        world.stock.order(&mut taken);
        self.lock_until(taken, lock_ms, world);
        if VisitorBehaviour::roll(behaviour.cancel, &mut self.rng) {
            return self.schedule_step(world, answered_ms + ms(MIND_S), VisitStep::Cancel);
        }
        let declined = VisitorBehaviour::roll(behaviour.decline, &mut self.rng);
        let pay_ms = answered_ms + ms(behaviour.pay_s.draw(&mut self.rng));
        self.schedule_step(world, pay_ms, VisitStep::Pay { declined });
    }

    fn pay(&mut self, declined: bool, world: &mut VisitWorld, now_ms: i64) {
        let answered_ms = world.server.answer(now_ms);
        if now_ms > self.until_ms || self.taken.is_none() {
            self.end = Some(VisitEnd::TooLate);
        } else if declined {
            self.end = Some(VisitEnd::Declined);
            let until_ms = self.until_ms.min(now_ms + NEXT_TRY_WITHIN_MS);
            let show = self.wish.as_ref().map_or(0, |wish| wish.show);
            let grace_ms = i64::from(world.sale.shows[show].claim_grace_s) * 1_000;
            let over_ms = until_ms + grace_ms.min(NEXT_TRY_ON_ITS_WAY_MS);
            self.schedule_step(world, over_ms, VisitStep::Lapse(self.lock));
        } else {
            self.schedule_step(world, answered_ms, VisitStep::Paid);
        }
    }

    fn paid(&mut self, world: &mut VisitWorld, now_ms: i64) {
        // The visitor reads its order and one ticket.
        world.server.answer(now_ms);
        world.server.answer(now_ms);
        let Some(taken) = &self.taken else {
            self.end = Some(VisitEnd::TooLate);
            return;
        };
        world.stock.sell(taken);
        if self.offered {
            world.seats_from_waitlist += u64::from(taken.quantity());
        }
        (self.inside, self.end) = (false, Some(VisitEnd::Ticketed));
        let behaviour = &world.sale.behaviour;
        if VisitorBehaviour::roll(behaviour.give_back, &mut self.rng) {
            let give_back_ms = now_ms + ms(behaviour.give_back_s.draw(&mut self.rng));
            world.refunds_ahead += 1;
            self.schedule_step(world, give_back_ms, VisitStep::GiveBack);
        }
    }

    fn put_back(&mut self, world: &mut VisitWorld) {
        if let Some(taken) = self.taken.take() {
            world.stock.put_back(&taken);
        }
    }

    fn lock_until(&mut self, taken: TakenSeats, lock_ms: i64, world: &mut VisitWorld) {
        self.taken = Some(taken);
        self.lock += 1;
        self.schedule_step(world, lock_ms, VisitStep::Lapse(self.lock));
    }

    fn schedule_step(&self, world: &mut VisitWorld, at_ms: i64, step: VisitStep) {
        let visit = self.index;
        world.schedule.add(at_ms, SaleEvent::Step { visit, step });
    }
}

/// Chooses what to ask for. A visitor with wishes asks for the first wish that can be met. If none
/// can be met, it asks for its first wish. Any other visitor draws a category with enough free
/// seats, in proportion to the free seats. Nothing is drawn in a hall of one category.
fn choose_category(
    wish: &mut SeatRequest,
    wishes: &[WishedSeats],
    stock: &SeatStock,
    rng: &mut impl Rng,
) {
    if let Some(first) = wishes.first() {
        let available = wishes.iter().find(|seats| stock.has(seats));
        let seats = available.unwrap_or(first);
        (wish.show, wish.category, wish.quantity) = (seats.show, seats.category, seats.quantity);
        return;
    }
    let categories: Vec<[u64; 2]> = stock.categories(wish.show).collect();
    if categories.len() > 1 {
        let weight = |[free, _]: &[u64; 2]| {
            if *free >= u64::from(wish.quantity) {
                *free as f64
            } else {
                0.0
            }
        };
        let weights: Vec<f64> = categories.iter().map(weight).collect();
        wish.category = by_weight(&weights, rng).unwrap_or(0);
    }
}

/// Draws the first leg that a visitor travels, and the leg after its last one. Each pair of stops
/// is as likely as in the load test's swarm.
fn journey(show: &PlannedShow, rng: &mut impl Rng) -> (u32, u32) {
    if show.legs == 1 {
        return (0, 1);
    }
    let from = rng.random_range(0..show.legs);
    (from, rng.random_range(from + 1..=show.legs))
}
