//! Runs one sale. The pace ticks every second. Between two ticks, the visitors who were called take
//! their steps.

mod tally;

use std::collections::HashSet;

use fairgate_rules::choosing_time::ChoosingTime;
use fairgate_rules::claim_timing::{entry_order, turn_of};
use fairgate_rules::entry_door::{ASKS_AGAIN_MS, LOOKS_FOR_SPACE_MS, asks_again_ms};
use fairgate_rules::estimate::UnknownWait;
use fairgate_rules::limits::{PaceLimits, PaceMeasurements, PaceMemory};
use fairgate_rules::pace::{
    PaceInput, RankPresence, ReleaseBound, ReleaseDecision, decide_release,
};
use fairgate_rules::presence_bitmap::PresenceBitmap;
use fairgate_rules::release_cohorts::{
    ClaimToEnter, EntryDecision, ReleaseCohorts, TickAccounts, idle_ms,
};
use fairgate_rules::waits::{LineFigures, LineWaits, age_limits_s, forecast};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::arrivals::ArrivalCounts;
use crate::behaviour::{SecondsRange, VisitorBehaviour};
use crate::line::{RankedVisitor, SimulatedLine};
use crate::outcome::{SaleOutcome, SeatEnds, WaitScores};
use crate::sale::{LostGateway, PlannedSale};
use crate::schedule::{SaleEvent, SaleSchedule, VisitStep};
use crate::server::SimulatedServer;
use crate::stock::SeatStock;
use crate::told_odds::READ_AFTER_S;
use crate::told_waits::{PlannedPause, READ_EVERY_S, READ_FROM_S, ToldWaits};
use crate::visit::{SimulatedVisit, VisitEnd, VisitWorld};
use crate::waitlist::{ASKS_EVERY_S, SimulatedWaitlist};
use crate::wishes::wishes_of;
use tally::SaleTally;

/// A visitor who polls notices the call up to this much later, in seconds. Pages near the front ask
/// once a second.
const POLLED_WITHIN_S: f64 = 1.0;
/// A visitor who was not let in claims again after the told time, and later by up to this, in
/// seconds.
const CLAIM_LATE_S: f64 = 0.5;

/// Between two ticks, visitors look at their wait at this many different moments.
const LOOKS: u64 = 10;

/// Simulates a sale. The same sale and the same seed give the same outcome.
#[must_use]
pub fn simulate(sale: &PlannedSale, seed: u64) -> SaleOutcome {
    let (outcome, _) = play(sale, seed, None, |_| false);
    outcome
}

/// Simulates a sale as [`simulate`] does, with a pause if one is given, and returns how well the
/// waits came true that visitors were told.
#[must_use]
pub fn simulate_told_waits(
    sale: &PlannedSale,
    pause: Option<PlannedPause>,
    seed: u64,
) -> WaitScores {
    let told = ToldWaits::new(pause, sale.visitors(), sale.room.claim_s);
    let (_, told) = play(sale, seed, Some(told), |_| false);
    told.map_or_else(WaitScores::default, |told| told.scores())
}

/// Simulates a sale as [`simulate`] does, but only until everything is sold. The outcome has no
/// later seconds, and does not know how the visits of visitors who were still inside end.
#[must_use]
pub fn simulate_until_sold_out(sale: &PlannedSale, seed: u64) -> SaleOutcome {
    let (outcome, _) = play(sale, seed, None, |run| run.tally.sold_out_ms.is_some());
    outcome
}

fn play(
    sale: &PlannedSale,
    seed: u64,
    told_waits: Option<ToldWaits>,
    is_enough: impl Fn(&SaleRun) -> bool,
) -> (SaleOutcome, Option<ToldWaits>) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let arrivals = sale.arrivals.clone().unwrap_or_else(|| {
        ArrivalCounts::draw(&sale.crowd, sale.room.opens_s, sale.room.draw_s, &mut rng)
    });
    let line = SimulatedLine::new(sale, &arrivals, seed);
    let mut run = SaleRun {
        seed,
        line,
        world: VisitWorld {
            sale,
            stock: SeatStock::new(&sale.shows),
            server: SimulatedServer::new(sale.server),
            schedule: SaleSchedule::default(),
            waitlist: SimulatedWaitlist::default(),
            seats_lapsed: 0,
            seats_from_waitlist: 0,
            refunds_ahead: 0,
            choosing_time: ChoosingTime::default(),
        },
        visits: Vec::new(),
        memory: PaceMemory::default(),
        cohorts: ReleaseCohorts::default(),
        released: 0,
        remainder_u: 0,
        line_dismissed: false,
        tally: SaleTally::new(arrivals.total()),
        told_waits,
    };
    for second in 1..=sale.until_s {
        run.play_until(i64::from(second) * 1_000);
        run.tick(second);
        if run.is_over(second) || is_enough(&run) {
            break;
        }
    }
    let told_waits = run.told_waits.take();
    (run.finish(), told_waits)
}

struct SaleRun<'a> {
    seed: u64,
    line: SimulatedLine<'a>,
    world: VisitWorld<'a>,
    visits: Vec<SimulatedVisit>,
    memory: PaceMemory,
    cohorts: ReleaseCohorts,
    released: u64,
    remainder_u: u64,
    /// Whether everybody in the line was told that everything is sold or that the room is closed,
    /// and has left.
    line_dismissed: bool,
    tally: SaleTally,
    /// The waits that visitors are told, if they are followed.
    told_waits: Option<ToldWaits>,
}

impl SaleRun<'_> {
    fn play_until(&mut self, until_ms: i64) {
        while let Some((at_ms, event)) = self.world.schedule.next_before(until_ms) {
            match event {
                SaleEvent::Claim { visit } => self.claim(visit, at_ms),
                SaleEvent::Step { visit, step } => self.step(visit, step, at_ms),
            }
        }
    }

    fn step(&mut self, visit: u32, step: VisitStep, now_ms: i64) {
        let visitor = &mut self.visits[visit as usize];
        // The end of an earlier pass changes nothing if the visitor has a newer one.
        let pass_ms = i64::from(self.world.sale.room.pace.pass_s) * 1_000;
        if step == VisitStep::PassEnds && visitor.entered_ms + pass_ms != now_ms {
            return;
        }
        if step == VisitStep::Hold && visitor.inside {
            let stock = &self.world.stock;
            self.tally
                .wishes
                .note(visitor.rank, |seats| stock.has(seats));
        }
        let (was_inside, had_ended) = (visitor.inside, visitor.end);
        let was_told_none = visitor.told_none && was_inside;
        visitor.step(step, &mut self.world, now_ms);
        let is_told_none = visitor.told_none && visitor.inside;
        if was_told_none != is_told_none {
            self.tally.told_none(visitor.entered_ms, is_told_none);
        }
        if was_inside && !visitor.inside {
            let ticketed = visitor.end == Some(VisitEnd::Ticketed);
            self.tally.no_longer_inside(visitor.entered_ms, ticketed);
        }
        if let (None, Some(end)) = (had_ended, visitor.end) {
            self.tally.ended(end, now_ms);
        }
        if self.world.stock.came_free() || step == VisitStep::JoinWaitlist {
            self.offer_freed_seats(now_ms);
        }
        if self.tally.sold_out_ms.is_none() && self.world.stock.is_sold_out() {
            self.tally.sold_out_ms = Some(now_ms);
        }
    }

    /// Offers the seats that are free to parties that wait for them.
    fn offer_freed_seats(&mut self, now_ms: i64) {
        let world = &mut self.world;
        while world.waitlist.len() > 0
            && let Some(offer) = world
                .waitlist
                .offer(&mut world.stock, &world.sale.shows, now_ms)
        {
            self.visits[offer.visit as usize].offer(offer, world, now_ms);
        }
    }

    /// Makes the calls with which waiting parties ask for their state. Then ends the wait of
    /// parties for which too few seats can still come free.
    fn tell_waiting_parties(&mut self, now_ms: i64) {
        for _ in 0..self.world.waitlist.len().div_ceil(ASKS_EVERY_S) {
            self.world.server.answer(now_ms);
        }
        for visit in self.world.waitlist.remove_unserved(&self.world.stock) {
            self.visits[visit as usize].end_waiting();
            self.tally.ended(VisitEnd::NoSeats, now_ms);
        }
    }

    fn claim_at(&mut self, visit: u32, at_ms: i64) {
        self.world.schedule.add(at_ms, SaleEvent::Claim { visit });
    }

    fn claim(&mut self, visit: u32, now_ms: i64) {
        let now_s = now_ms as f64 / 1e3;
        let visitor = &mut self.visits[visit as usize];
        if let Some(told) = &mut self.told_waits {
            told.note_claim(visitor.rank, now_s);
            if told.is_paused(now_s) {
                let again_ms = now_ms + LOOKS_FOR_SPACE_MS as i64;
                return self.claim_at(visit, again_ms);
            }
        }
        // The claim of a visitor whose pass ran out is not the first one.
        let first = visitor.entered_ms == 0;
        let pace = &self.world.sale.room.pace;
        let behind = visitor.called_behind(pace.pass_s, |ended_s| self.line.end(ended_s));
        let turn = turn_of(visitor.rank, behind);
        let came_out_s = visitor.came_out_s(pace.pass_s).map(|at_s| at_s as i64);
        if turn >= self.released && self.line_dismissed {
            visitor.end_waiting();
            return self.tally.ended(VisitEnd::NoSeats, now_ms);
        }
        if turn >= self.released {
            let again_ms = now_ms + ASKS_AGAIN_MS as i64;
            return self.claim_at(visit, again_ms);
        }
        let decision = self.cohorts.admit(&ClaimToEnter {
            rank: visitor.rank,
            order: entry_order(turn, behind, came_out_s),
            first,
            inside: self.tally.inside(),
            max_inside: pace.max_inside,
            line: pace.line,
            idle_ms: idle_ms(pace.line.then_some(pace.per_s_u)),
            now: now_ms,
        });
        if let EntryDecision::Waits { entry_in_ms } = decision {
            let told_s = asks_again_ms(entry_in_ms).div_ceil(1_000);
            let again_s = told_s as f64 + CLAIM_LATE_S * visitor.rng().random::<f64>();
            let again_ms = now_ms + (again_s * 1e3) as i64;
            return self.claim_at(visit, again_ms);
        }
        self.cohorts.reserve_entry(visitor.rank, now_ms);
        self.cohorts.end_entry(visitor.rank);
        self.tally.entered(now_ms, first);
        if let Some(told) = &mut self.told_waits {
            told.note_entry(visitor.rank, now_s);
        }
        visitor.enter(&mut self.world, now_ms);
        if visitor.told_none {
            self.tally.told_none(now_ms, true);
        }
    }

    fn tick(&mut self, second: u32) {
        let (sale, now_ms) = (self.world.sale, i64::from(second) * 1_000);
        if let Some(so_far) = &sale.so_far
            && so_far.called.len() == second as usize
        {
            self.world.stock.reduce_to(so_far.cells_left);
        }
        self.tell_waiting_parties(now_ms);
        let (settings, now_s) = (&sale.room.pace, f64::from(second));
        self.cohorts
            .close_windows(now_ms, i64::from(sale.room.claim_s) * 1_000);
        let measured = self.measure(now_ms);
        let limits = self.memory.limits(settings, &measured);
        let closed = sale.room.closes_s.is_some_and(|closes_s| now_s >= closes_s);
        let sold_out = self.world.stock.is_sold_out();
        let begun = now_s >= sale.room.draw_s;
        let paused = self
            .told_waits
            .as_ref()
            .is_some_and(|told| told.is_paused(now_s));
        let selling = begun && !closed && !sold_out && !paused;
        if begun && (closed || sold_out) && !self.line_dismissed {
            self.tell_everybody(now_s);
        }
        let end = if self.line_dismissed {
            self.released
        } else {
            self.line.end(now_s)
        };
        if is_second_of(sale.room.draw_s + READ_AFTER_S, now_s) {
            self.tell_odds(&limits, now_s);
        }
        self.tell_wishes(&limits, now_s);
        let cells = self.world.stock.cells();
        let called = self.release(&limits, &measured, selling, end, now_ms);
        if begun && !self.line_dismissed {
            self.tell_waits(&limits, &measured, called, second);
        }
        self.tally
            .add_second(second, self.line.joined(now_s), |figures| {
                figures.released = self.released;
                figures.waiting = if self.line_dismissed {
                    0
                } else {
                    let there = self.line.people_there(self.released, end, now_s);
                    there.min(figures.joined.saturating_sub(self.released))
                };
                figures.inside_max = limits.inside_max;
                let unreleased = self.line.end(now_s).saturating_sub(self.released);
                figures.odds_of_last = limits
                    .demand
                    .map_or(1.0, |demand| demand.seat_odds(unreleased));
                [figures.free, figures.held, figures.sold] = cells;
                figures.p99_ms = measured.reading.p99_ms.unwrap_or(0);
                figures.calls = self.world.server.calls();
            });
    }

    fn measure(&mut self, now_ms: i64) -> PaceMeasurements {
        PaceMeasurements {
            now: now_ms,
            inside: self.tally.inside_by_age(now_ms),
            told_none: self.tally.told_none_by_age(now_ms),
            called: self.cohorts.expected(),
            entering: 0,
            show_up: self.cohorts.show_up(),
            done: self.tally.done,
            ended: self.tally.passes_ended,
            seats: self
                .world
                .stock
                .supply(now_ms, self.world.choosing_time.mean_s()),
            reading: self.world.server.reading(now_ms),
            owed_u: self.cohorts.owed_u(),
            asking: self.cohorts.asking(now_ms),
            claimed: self.tally.claimed(),
        }
    }

    /// Calls the visitors of one tick, and returns how many of them were present.
    fn release(
        &mut self,
        limits: &PaceLimits,
        measured: &PaceMeasurements,
        selling: bool,
        end: u64,
        now_ms: i64,
    ) -> u64 {
        let settings = &self.world.sale.room.pace;
        let now_s = now_ms as f64 / 1e3;
        let input = PaceInput {
            elapsed_ms: 1_000,
            remainder_u: self.remainder_u,
            rate_u: limits.rate_u,
            trickle_u: limits.trickle_u,
            callable: limits.callable,
            wanted: limits.wanted,
            owed_u: measured.owed_u,
            asking: measured.asking,
            selling,
            released: self.released,
            end,
        };
        let second = u32::try_from(now_ms / 1_000).unwrap_or(u32::MAX);
        let so_far = self.world.sale.so_far.as_ref();
        let decision = match so_far.and_then(|so_far| so_far.by(second)) {
            Some(called) => self.past_release(called.min(end)),
            None => decide_release(&input, |rank| self.line.presence(rank, now_s)),
        };
        let accounts = TickAccounts {
            until: now_ms,
            owed_u: decision.owed_u,
            credit_u: decision.late_u,
            rate_u: limits.rate_u,
        };
        self.cohorts.end_tick(&accounts, now_ms);
        let called = self.released..decision.released;
        let away: HashSet<u64> = called
            .clone()
            .filter(|rank| self.line.presence(*rank, now_s) == RankPresence::Away)
            .collect();
        self.cohorts.note_release(
            self.released,
            decision.released,
            decision.people,
            away,
            now_ms,
        );
        for rank in called {
            self.call(rank, now_ms);
        }
        self.released = decision.released;
        self.remainder_u = decision.remainder_u;
        self.memory
            .record_tick(&decision, 1_000, limits, settings, measured);
        decision.people
    }

    /// Returns the release that was made in a second of the past.
    fn past_release(&self, released: u64) -> ReleaseDecision {
        let released = released.max(self.released);
        ReleaseDecision {
            released,
            people: released - self.released,
            remainder_u: 0,
            owed_u: 0,
            late_u: 0,
            bound: ReleaseBound::Rate,
        }
    }

    /// Calls the visitor at a rank. If the visitor is there, this adds its claim to the schedule.
    fn call(&mut self, rank: u64, now_ms: i64) {
        let (sale, now_s) = (self.world.sale, now_ms as f64 / 1e3);
        let mut visitor = self.line.visitor(rank);
        if visitor.no_show || visitor.never_enters || visitor.leaves_s <= now_s {
            return;
        }
        let behaviour = &sale.behaviour;
        let polls_s = if visitor.socket {
            0.0
        } else {
            POLLED_WITHIN_S * visitor.rng.random::<f64>()
        };
        let think_s = behaviour.claim_s.draw(&mut visitor.rng);
        let hears_s = self.hears_s(&mut visitor, now_s + polls_s);
        let mut claim_s = hears_s + think_s;
        let late_claim_s = sale.room.draw_s + behaviour.late_at_s;
        if visitor.late && late_claim_s > now_s {
            claim_s = late_claim_s;
        }
        let waited_s = now_s - visitor.joined_s.max(sale.room.draw_s);
        self.tally.called(rank, waited_s);
        if let Some(told) = &mut self.told_waits {
            told.note_call(rank, now_s);
        }
        let visit = self.visits.len() as u32;
        let seat_left = self.world.stock.has_free_seats();
        let wishes = wishes_of(sale, self.seed, rank).seats;
        self.visits.push(SimulatedVisit::new(
            visit,
            (rank, now_ms),
            visitor,
            wishes,
            seat_left,
        ));
        let claim_ms = (claim_s * 1e3) as i64;
        self.world
            .schedule
            .add(claim_ms, SaleEvent::Claim { visit });
    }

    /// Returns when a visitor learns of a call that is made at `called_s`. The visitor's socket may
    /// have dropped, by itself or with a gateway. Then the visitor learns of the call when the
    /// socket is open again.
    fn hears_s(&self, visitor: &mut RankedVisitor, called_s: f64) -> f64 {
        let (sale, drop_s) = (self.world.sale, self.world.sale.behaviour.drop_s);
        let called_s = self.hears_unless_gateway_lost_s(visitor, called_s);
        let had_socket = |lost: &LostGateway| visitor.socket && visitor.joined_s < lost.at_s;
        let Some(lost) = sale.lost_gateway.filter(had_socket) else {
            return called_s;
        };
        let is_away = (lost.at_s..lost.at_s + drop_s.1).contains(&called_s);
        if is_away && VisitorBehaviour::roll(lost.share, &mut visitor.rng) {
            called_s.max(lost.at_s + drop_s.draw(&mut visitor.rng))
        } else {
            called_s
        }
    }

    /// Returns when a visitor learns of a call that is made at `called_s`, if no gateway is lost.
    /// The visitor's socket may drop by itself.
    fn hears_unless_gateway_lost_s(&self, visitor: &mut RankedVisitor, called_s: f64) -> f64 {
        let (sale, behaviour) = (self.world.sale, &self.world.sale.behaviour);
        if !visitor.socket || !VisitorBehaviour::roll(behaviour.drop_socket, &mut visitor.rng) {
            return called_s;
        }
        let mishap = SecondsRange(0.0, VisitorBehaviour::MISHAP_WITHIN_S);
        let waits_s = visitor.joined_s.max(sale.room.draw_s);
        let drops_s = waits_s + mishap.draw(&mut visitor.rng);
        let reopens_s = drops_s + behaviour.drop_s.draw(&mut visitor.rng);
        if (drops_s..reopens_s).contains(&called_s) {
            reopens_s
        } else {
            called_s
        }
    }

    /// Tells a sample of the line the odds that visitors read after the draw.
    fn tell_odds(&mut self, limits: &PaceLimits, now_s: f64) {
        let Some(demand) = limits.demand else {
            return;
        };
        let (line, released) = (&self.line, self.released);
        let end = line.end(now_s);
        let unreleased = end.saturating_sub(released).max(1);
        let present_share = line.people_there(released, end, now_s) as f64 / unreleased as f64;
        let ahead = |rank: u64| (present_share * (rank - released) as f64) as u64;
        let odds = &mut self.tally.odds;
        odds.tell(line.sampled_there(released, now_s), &demand, ahead);
    }

    /// Tells the followed visitors in the line their waits, if they read them in this second.
    /// `called` people have just been called.
    fn tell_waits(
        &mut self,
        limits: &PaceLimits,
        measured: &PaceMeasurements,
        called: u64,
        second: u32,
    ) {
        let draw_s = self.world.sale.room.draw_s.ceil() as u32;
        let is_read = (second - draw_s) % READ_EVERY_S == READ_FROM_S;
        let Some(told) = self.told_waits.as_mut().filter(|_| is_read) else {
            return;
        };
        let (line, now_s) = (&self.line, f64::from(second));
        let presence = |rank| line.presence(rank, now_s);
        let end = line.end(now_s);
        let crowd = PresenceBitmap::from_presence(self.released, end, presence);
        let settings = &self.world.sale.room.pace;
        let ages_s = age_limits_s(u64::from(settings.pass_s));
        let waits = if told.is_paused(now_s) {
            LineWaits::unknown(UnknownWait::Paused)
        } else {
            let hold_s = self.world.sale.shows.iter().map(|show| show.hold_s).max();
            let figures = LineFigures {
                settings,
                limits,
                measured,
                younger: &self.tally.inside_for_less(i64::from(second), &ages_s),
                called,
                waiting: crowd.between(self.released, end),
                hold_s: u64::from(hold_s.unwrap_or_default()),
            };
            forecast(&self.memory, &figures)
        };
        for rank in self.released..end {
            if told.is_followed(rank) && line.is_there(rank, now_s) {
                let ahead = crowd.between(self.released, rank);
                // Visitors look at any moment between two ticks.
                let looks_s = now_s + (rank % LOOKS) as f64 / LOOKS as f64;
                told.tell(rank, looks_s, waits.wait(ahead));
            }
        }
    }

    /// Tells the visitors in the line the odds of their wishes, if they read them in this second.
    fn tell_wishes(&mut self, limits: &PaceLimits, now_s: f64) {
        let (sale, seed) = (self.world.sale, self.seed);
        let after_draw_s = now_s - sale.room.draw_s;
        let wishes_due = sale
            .wishes
            .filter(|wishes| is_second_of(wishes.read_after_s, after_draw_s));
        let (Some(wishes), Some(demand)) = (wishes_due, limits.demand) else {
            return;
        };
        let is_drawn = wishes.read_after_s >= 0.0;
        let ranks = self.released..self.line.end(now_s);
        let present_ranks = ranks.filter(|rank| self.line.is_there(*rank, now_s));
        let waiting = present_ranks
            .map(|rank| (rank, wishes_of(sale, seed, rank)))
            .collect();
        let stock = &self.world.stock;
        self.tally
            .wishes
            .tell(sale, stock, &demand, &waiting, is_drawn);
    }

    /// Tells everybody in the line that everything is sold, or that the room is closed.
    fn tell_everybody(&mut self, now_s: f64) {
        self.line_dismissed = true;
        for rank in self.line.sampled_there(self.released, now_s) {
            self.tally.odds.note(rank, false);
        }
        self.tally.wishes.note_in_vain(self.released);
        let end = self.line.end(now_s);
        self.tally.told_waiting(self.released, now_s, |from, to| {
            self.line.people_there(from.min(end), to.min(end), now_s)
        });
    }

    fn is_over(&self, second: u32) -> bool {
        let have_all_joined = self.line.end(f64::from(second)) == self.line.total();
        let nobody_waits =
            self.line_dismissed || (have_all_joined && self.released == self.line.total());
        let begun = f64::from(second) >= self.world.sale.room.draw_s;
        let [_, held, _] = self.world.stock.cells();
        begun
            && nobody_waits
            && self.tally.under_way == 0
            && held == 0
            && self.world.refunds_ahead == 0
    }

    fn finish(mut self) -> SaleOutcome {
        for visit in &self.visits {
            self.tally.add_visit(visit);
        }
        let world = &self.world;
        let [free, held, _] = world.stock.cells();
        self.tally.into_outcome(
            world.sale.room.draw_s,
            SeatEnds {
                left: free + held,
                lapsed: world.seats_lapsed,
                given_back: world.stock.given_back(),
                from_waitlist: world.seats_from_waitlist,
            },
            world.waitlist.joined(),
        )
    }
}

/// Returns whether the tick at `now_s` is the one for a moment. Ticks are a second apart, so each
/// moment has exactly one tick.
fn is_second_of(moment_s: f64, now_s: f64) -> bool {
    (-0.5..0.5).contains(&(now_s - moment_s))
}
