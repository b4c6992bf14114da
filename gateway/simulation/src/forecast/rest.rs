//! Makes the sale that a forecast simulates. It repeats the last minutes of the running sale as
//! they went. The rest then follows the rules of the pace. A large sale is made smaller, but keeps
//! its times.

use fairgate_rules::room_document::{LineMethod, PaceMode};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, StandardNormal};

use super::habits::{DelayedShare, MeasuredHabits, people_called, value_at};
use super::running::{RunningFigures, RunningSale};
use crate::arrivals::ArrivalCounts;
use crate::behaviour::{SecondsRange, VisitorBehaviour};
use crate::crowd::{ArrivalPattern, CrowdSettings, PlacedBots};
use crate::sale::{
    CalledSoFar, PlannedCategories, PlannedRoom, PlannedSale, PlannedServer, PlannedShow,
};

/// A forecast simulates about this many visitors who enter. A larger sale is made smaller.
const VISITS_SIMULATED: f64 = 2_000.0;
/// The simulated line is limited to this many times the visitors who will probably be called for
/// the seats that are left. The visitors of the trickle are added to this limit.
const LINE_FACTOR: f64 = 3.0;
/// This many visitors are also added to that limit.
const LINE_MIN: f64 = 50.0;
/// At most this many seconds of the past are simulated.
const PAST_MAX_S: f64 = 900.0;
/// If an auto room calls people at less than this part of the promoter's pace, booking's health is
/// taken to be the limit.
const SLOWED_BELOW: f64 = 0.8;
/// The number of seconds over which the rate of new visitors is measured. The rate is expected to
/// stay the same.
const JOINS_MEASURED_S: f64 = 120.0;
/// If booking's health limits the pace, the pace is measured over this many seconds and expected to
/// stay the same. Cuts and recoveries of the pace alternate in less than a minute, so they even
/// out.
const PACE_MEASURED_S: f64 = 60.0;
/// If the measured share of called visitors who enter is larger than this, all of them are expected
/// to come. Visitors who were just called have not entered yet, so the figures look as if a few
/// stayed away. If the simulation expected some to stay away, its sale would end minutes later.
const ALL_COME: f64 = 0.97;
/// A measured delay may be wrong by this part of itself. The error concerns visitors whose entry is
/// less than one delay ago. The same part of them looks as if they did not buy, or as if they had
/// bought already.
const DELAY_DOUBT: f64 = 0.1;
/// The doubt about a measured share is at least this part of the share, or of 1 minus the share,
/// whichever is smaller.
const DOUBT_MIN: f64 = 0.02;

/// The rest of a running sale.
pub struct RestOfSale<'a> {
    sale: &'a RunningSale,
    habits: &'a MeasuredHabits,
    /// When the simulation begins, in seconds after the beginning of the sale.
    pub from_s: f64,
    /// How many real visitors one simulated visitor represents.
    real_per_simulated: f64,
}

impl<'a> RestOfSale<'a> {
    pub fn of(sale: &'a RunningSale, habits: &'a MeasuredHabits) -> Self {
        let now = last(sale);
        let first_figures = sale.figures.first().copied().unwrap_or_default();
        let visit_s = 3.0 * habits.buy.delay_s + 60.0;
        let known_s = f64::from(sale.hold_s.max(sale.room.pace.pass_s)).max(visit_s);
        let from_s = (now.at_s - known_s.min(PAST_MAX_S))
            .max(first_figures.at_s)
            .floor();
        let entered =
            now.claimed as f64 - value_at(&sale.figures, from_s, |figures| figures.claimed as f64);
        let visits = entered + Self::buyers_left(&now, habits) / habits.buy.share;
        Self {
            sale,
            habits,
            from_s,
            real_per_simulated: (visits / VISITS_SIMULATED).max(1.0),
        }
    }

    fn buyers_left(now: &RunningFigures, habits: &MeasuredHabits) -> f64 {
        (now.free + now.held) as f64 / habits.party
    }

    /// Returns how many simulated visitors, seats or calls represent `count` real ones.
    fn scaled_down(&self, count: f64) -> f64 {
        count / self.real_per_simulated
    }

    /// Returns how many simulated cells are left. Each simulated visitor takes one cell, so even
    /// the last cell is enough for a visitor.
    fn cells(&self) -> u64 {
        let buyers = Self::buyers_left(&last(self.sale), self.habits);
        (self.scaled_down(buyers).round() as u64).max(1)
    }

    /// Returns how many real buyers one simulated buyer represents. Only buyers of the cells that
    /// are left count.
    pub fn real_buyers_per_simulated(&self) -> f64 {
        let buyers = Self::buyers_left(&last(self.sale), self.habits);
        (buyers / self.cells() as f64).max(1.0)
    }

    /// Makes the sale. Each seed draws a different share of buyers. The larger the doubt about the
    /// measured share, the more the drawn shares differ.
    pub fn planned(&self, seed: u64) -> PlannedSale {
        let (now, figures) = (last(self.sale), &self.sale.figures);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let doubted = |share: DelayedShare, rng: &mut Xoshiro256PlusPlus| {
            let buyers = self.habits.buyers as f64;
            let other_share = 1.0 - share.share;
            let by_chance = (share.share * other_share / buyers).sqrt();
            let by_delay = DELAY_DOUBT * share_entered_within(figures, share.delay_s);
            let doubt = by_chance.hypot(by_delay) + DOUBT_MIN * other_share.min(share.share);
            let error: f64 = StandardNormal.sample(rng);
            (1.0 - (other_share + doubt * error).abs()).clamp(0.02, 1.0)
        };
        let buy = doubted(self.habits.buy, &mut rng);
        let show_up = match self.habits.show_up.share {
            nearly_all if nearly_all > ALL_COME => 1.0,
            share => share,
        };
        let past_s = (now.at_s - self.from_s).max(1.0);
        let called_before = value_at(figures, self.from_s, people_called);
        let called = (1..=past_s as u32).map(|second| {
            let called = value_at(figures, self.from_s + f64::from(second), people_called);
            self.scaled_down(called - called_before) as u64
        });
        let called: Vec<u64> = called.collect();
        let wanted = Self::buyers_left(&now, self.habits) / (buy * show_up);
        let waiting = self.scaled_down(now.waiting as f64);
        let rest_s = self.rest_s(wanted);
        let trickle_min = self.sale.room.pace.trickle_min_u as f64 / 1e6;
        let trickle = self.scaled_down((self.pace() / 100.0).max(trickle_min));
        let line =
            waiting.min(LINE_FACTOR * self.scaled_down(wanted) + trickle * rest_s + LINE_MIN);
        let joined_at_start = called.last().copied().unwrap_or(0) + line.round() as u64;
        let cells = self.cells();
        let joins = self.joins();
        let mut each_second = vec![0; rest_s as usize];
        for (second, joined) in each_second.iter_mut().enumerate() {
            let joined_by = |second: usize| (joins * second as f64) as u64;
            *joined = joined_by(second + 1) - joined_by(second);
        }
        let past = vec![0; called.len().saturating_sub(1)];
        let arrivals = std::iter::once(joined_at_start)
            .chain(past)
            .chain(each_second);
        let arrivals = ArrivalCounts::from_counts(arrivals);
        let until_s = (past_s + rest_s) as u32;
        PlannedSale {
            room: self.room(),
            shows: vec![self.show(cells, &called)],
            crowd: CrowdSettings {
                visitors: arrivals.total() as usize,
                from_s: 0.0,
                over_s: 1.0,
                arrivals: ArrivalPattern::Uniform,
                rush: 0.0,
                rush_s: 0.0,
                after_draw: 0.0,
                socket: 1.0,
                mute: 0,
                bots: 0,
                bot_networks: 1,
            },
            bots: PlacedBots::default(),
            arrivals: Some(arrivals),
            behaviour: self.behaviour(buy, show_up),
            wishes: None,
            server: PlannedServer {
                calls_per_s: None,
                answer_ms: 5.0,
                slow: None,
            },
            lost_gateway: None,
            so_far: Some(CalledSoFar {
                called,
                cells_left: cells,
            }),
            until_s,
        }
    }

    /// Returns the promoter's pace, in visitors a second.
    fn pace(&self) -> f64 {
        self.sale.room.pace.per_s_u as f64 / 1e6
    }

    /// Returns the longest time that is simulated after the last figures, in seconds. `wanted` is
    /// how many real visitors will probably be called.
    fn rest_s(&self, wanted: f64) -> f64 {
        let (now, room) = (last(self.sale), &self.sale.room);
        let at_pace_s = wanted / self.pace().max(1e-6);
        let so_far_s = now.at_s * (now.free + now.held) as f64 / (now.sold as f64).max(1.0);
        let longest_s = f64::from(self.sale.hold_s.max(room.pace.pass_s));
        let rest_s = 3.0 * at_pace_s.max(so_far_s) + 8.0 * longest_s;
        let closes_s = room.closes_s.unwrap_or(f64::INFINITY);
        rest_s.min(closes_s - now.at_s).clamp(1.0, 14_400.0)
    }

    /// Returns how many new simulated visitors are expected each second.
    fn joins(&self) -> f64 {
        let now = last(self.sale);
        let since_s = (now.at_s - JOINS_MEASURED_S).max(0.0);
        let joined_before = value_at(&self.sale.figures, since_s, |figures| figures.joined as f64);
        let joined = (now.joined as f64 - joined_before).max(0.0);
        self.scaled_down(joined / (now.at_s - since_s).max(1.0))
    }

    fn room(&self) -> PlannedRoom {
        let (room, now) = (self.sale.room, last(self.sale));
        let mut pace = room.pace;
        let called_before = value_at(
            &self.sale.figures,
            now.at_s - PACE_MEASURED_S,
            people_called,
        );
        let measured_per_s =
            (people_called(&now) - called_before) / now.at_s.clamp(1.0, PACE_MEASURED_S);
        let seats_per_visitor = self.habits.party * self.habits.buy.share;
        let has_plenty = now.free as f64 > 4.0 * now.inside as f64 * seats_per_visitor;
        let is_slowed = measured_per_s < SLOWED_BELOW * self.pace();
        if pace.mode == PaceMode::Auto && has_plenty && now.waiting > 0 && is_slowed {
            pace.per_s_u = (measured_per_s * 1e6) as u64;
        }
        pace.per_s_u = (self.scaled_down(pace.per_s_u as f64) as u64).max(1);
        pace.trickle_min_u = self.scaled_down(pace.trickle_min_u as f64) as u64;
        pace.max_inside = (self.scaled_down(pace.max_inside as f64).round() as u64).max(1);
        PlannedRoom {
            // The line is already drawn, so the simulation keeps its order.
            method: match room.method {
                LineMethod::Draw | LineMethod::Fifo => LineMethod::Fifo,
                LineMethod::Open => LineMethod::Open,
            },
            pace,
            opens_s: 0.0,
            draw_s: 0.0,
            closes_s: room.closes_s.map(|closes_s| closes_s - self.from_s),
            ..room
        }
    }

    /// Returns the simulated hall. At first it has more seats than are left, so that the simulated
    /// past does not run out of seats.
    fn show(&self, cells: u64, called: &[u64]) -> PlannedShow {
        let called_so_far = called.last().copied().unwrap_or(0);
        PlannedShow {
            seats: u32::try_from(cells + called_so_far).unwrap_or(u32::MAX),
            legs: 1,
            hold_s: self.sale.hold_s,
            grace_s: 0,
            pay_s: self.sale.hold_s,
            claim_grace_s: 0,
            seats_per_visitor: 1,
            categories: PlannedCategories::ONE,
        }
    }

    fn behaviour(&self, buy: f64, show_up: f64) -> VisitorBehaviour {
        let visit_s = self.habits.buy.delay_s;
        let part = |share: f64| SecondsRange(share * visit_s * 0.3, share * visit_s * 1.7);
        VisitorBehaviour {
            party: vec![1.0],
            give_up: 1.0 - buy,
            no_show: 1.0 - show_up,
            claim_s: SecondsRange(0.0, 2.0 * self.habits.show_up.delay_s),
            choose_s: part(0.4),
            order_s: part(0.3),
            pay_s: part(0.3),
            tries: 100,
            retry_s: SecondsRange(2.0, 5.0),
            ..VisitorBehaviour::default()
        }
    }
}

/// Returns which share of the visitors who have entered did so within the last `within_s` seconds.
fn share_entered_within(figures: &[RunningFigures], within_s: f64) -> f64 {
    let claimed = |figures: &RunningFigures| figures.claimed as f64;
    let now = figures.last().copied().unwrap_or_default();
    let claimed_before = value_at(figures, now.at_s - within_s, claimed);
    (claimed(&now) - claimed_before) / claimed(&now).max(1.0)
}

fn last(sale: &RunningSale) -> RunningFigures {
    sale.figures.last().copied().unwrap_or_default()
}
