//! Counts what happens in a run.

use std::collections::{BTreeMap, VecDeque};

use fairgate_rules::entry_history::AGES_S;

use crate::outcome::{
    LinePart, PARTS, SaleOutcome, SeatEnds, SecondFigures, VisitEnds, percentile_of,
};
use crate::told_odds::ToldOdds;
use crate::told_wishes::ToldWishes;
use crate::visit::{SimulatedVisit, VisitEnd};

/// What has happened so far.
pub struct SaleTally {
    /// Visitors who have tickets.
    pub done: u64,
    /// Visitors whose pass ran out without tickets.
    pub passes_ended: u64,
    /// Visitors who were called and whose visit has not ended.
    pub under_way: u64,
    /// The odds that visitors were told.
    pub odds: ToldOdds,
    /// The odds that visitors were told for their wishes.
    pub wishes: ToldWishes,
    /// When for the first time no cell was free or held, in milliseconds after the start.
    pub sold_out_ms: Option<i64>,
    ranks: u64,
    entered: u64,
    inside: u64,
    inside_most: u64,
    /// For each second in which visitors entered, how many of them are still inside.
    inside_since: VecDeque<(i64, u64)>,
    /// For each second in which visitors entered, how many of those inside were told that there are
    /// no seats, and hold none.
    told_none_since: BTreeMap<i64, u64>,
    /// The visitors in [`SaleOutcome::told_no`], counted by the second after the start in which
    /// they learned it.
    told_no: BTreeMap<i64, u64>,
    calls_per_s_most: u64,
    /// How long the called visitors waited, by tenth of the line.
    waits_s: [Vec<f32>; PARTS],
    seconds: Vec<SecondFigures>,
    parts: [LinePart; PARTS],
    ends: VisitEnds,
}

impl SaleTally {
    /// Begins to count in a line of `ranks` ranks.
    pub fn new(ranks: u64) -> Self {
        Self {
            done: 0,
            passes_ended: 0,
            under_way: 0,
            odds: ToldOdds::default(),
            wishes: ToldWishes::default(),
            sold_out_ms: None,
            ranks,
            entered: 0,
            inside: 0,
            inside_most: 0,
            inside_since: VecDeque::new(),
            told_none_since: BTreeMap::new(),
            told_no: BTreeMap::new(),
            calls_per_s_most: 0,
            waits_s: std::array::from_fn(|_| Vec::new()),
            seconds: Vec::new(),
            parts: [LinePart::default(); PARTS],
            ends: VisitEnds::default(),
        }
    }

    /// Returns how many visitors are inside.
    pub fn inside(&self) -> u64 {
        self.inside
    }

    /// Counts a visitor who was called after a wait of `waited_s` seconds.
    pub fn called(&mut self, rank: u64, waited_s: f64) {
        let part = self.part(rank);
        self.waits_s[part].push(waited_s.max(0.0) as f32);
        self.under_way += 1;
    }

    /// Counts a visitor who enters. `first` is false for a visitor whose earlier pass ran out.
    pub fn entered(&mut self, now_ms: i64, first: bool) {
        self.entered += u64::from(first);
        self.inside += 1;
        self.inside_most = self.inside_most.max(self.inside);
        let second = now_ms / 1_000;
        match self.inside_since.back_mut() {
            Some((at, count)) if *at == second => *count += 1,
            _ => self.inside_since.push_back((second, 1)),
        }
    }

    /// Counts a visitor who is no longer inside: the visitor has tickets, or the pass ran out.
    pub fn no_longer_inside(&mut self, entered_ms: i64, ticketed: bool) {
        self.inside -= 1;
        if ticketed {
            self.done += 1;
        } else {
            self.passes_ended += 1;
        }
        let second = entered_ms / 1_000;
        if let Ok(at) = self
            .inside_since
            .binary_search_by_key(&second, |(at, _)| *at)
        {
            self.inside_since[at].1 -= 1;
        }
    }

    /// Counts a visitor inside who is told that there are no seats, or no longer counts one who
    /// holds seats now or is no longer inside.
    pub fn told_none(&mut self, entered_ms: i64, is_told: bool) {
        let count = self.told_none_since.entry(entered_ms / 1_000).or_default();
        if is_told {
            *count += 1;
        } else {
            *count -= 1;
        }
    }

    /// Counts the end of a visit.
    pub fn ended(&mut self, end: VisitEnd, now_ms: i64) {
        self.under_way -= 1;
        self.ends.add(end);
        if end == VisitEnd::NoSeats {
            *self.told_no.entry(now_ms / 1_000).or_default() += 1;
        }
    }

    /// Returns the visitors inside by the time since they entered.
    pub fn inside_by_age(&self, now_ms: i64) -> [u64; 4] {
        let newest_first = self.inside_since.iter().rev().copied();
        by_age(newest_first, self.inside, now_ms)
    }

    /// Returns the visitors inside who were told that there are no seats, by the time since they
    /// entered.
    pub fn told_none_by_age(&self, now_ms: i64) -> [u64; 4] {
        let newest_first = self.told_none_since.iter().rev();
        let newest_first = newest_first.map(|(at, count)| (*at, *count));
        by_age(newest_first, self.told_none_since.values().sum(), now_ms)
    }

    /// Returns how many visitors have entered with their first pass.
    pub fn claimed(&self) -> u64 {
        self.entered
    }

    /// Returns for each age, in seconds, how many visitors have been inside for less at `now_s`.
    pub fn inside_for_less(&self, now_s: i64, ages_s: &[u64]) -> Vec<u64> {
        let younger = |age_s: &u64| {
            let since = self
                .inside_since
                .partition_point(|(at, _)| *at <= now_s.saturating_sub_unsigned(*age_s));
            self.inside_since
                .range(since..)
                .map(|(_, count)| count)
                .sum()
        };
        ages_s.iter().map(younger).collect()
    }

    /// Adds the figures of one second. `fill` sets the figures that the tally does not know.
    pub fn add_second(&mut self, at_s: u32, joined: u64, fill: impl FnOnce(&mut SecondFigures)) {
        let mut figures = SecondFigures {
            at_s,
            joined,
            waiting: 0,
            released: 0,
            entered: self.entered,
            inside: self.inside,
            inside_max: 0,
            odds_of_last: 1.0,
            free: 0,
            held: 0,
            sold: 0,
            p99_ms: 0,
            calls: 0,
        };
        fill(&mut figures);
        let calls_before = self.seconds.last().map_or(0, |second| second.calls);
        self.calls_per_s_most = self.calls_per_s_most.max(figures.calls - calls_before);
        self.seconds.push(figures);
    }

    /// Counts the visitors behind the release counter when they are told that everything is sold or
    /// that the room is closed.
    pub fn told_waiting(
        &mut self,
        released: u64,
        now_s: f64,
        people_there: impl Fn(u64, u64) -> u64,
    ) {
        for part in 0..PARTS {
            let (from, to) = (self.first_rank(part), self.first_rank(part + 1));
            if to > released {
                let people = people_there(from.max(released), to);
                self.parts[part].people += people;
                *self.told_no.entry(now_s as i64).or_default() += people;
            }
        }
    }

    /// Counts what became of a visitor who was called.
    pub fn add_visit(&mut self, visit: &SimulatedVisit) {
        let part = self.part(visit.rank);
        let part = &mut self.parts[part];
        part.people += 1;
        part.seat_left += u64::from(visit.seat_left);
        part.ticketed += u64::from(visit.end == Some(VisitEnd::Ticketed));
        self.odds.note(visit.rank, visit.seat_left);
    }

    /// Returns the tenth of the line in which a rank is.
    fn part(&self, rank: u64) -> usize {
        let part = (rank * PARTS as u64 / self.ranks.max(1)) as usize;
        part.min(PARTS - 1)
    }

    /// Returns when one in ten, half and nine in ten of the visitors in [`SaleOutcome::told_no`]
    /// had learned it, in seconds after the start. Returns `None` if there are no such visitors.
    fn told_no_by_s(&self) -> Option<[f64; 3]> {
        let total: u64 = self.told_no.values().sum();
        let told_by_s = |share: f64| {
            let people_wanted = (share * total as f64).ceil().max(1.0) as u64;
            let mut people_told = 0;
            let mut seconds = self.told_no.iter();
            let second = seconds.find(|(_, people)| {
                people_told += **people;
                people_told >= people_wanted
            });
            second.map(|(at_s, _)| *at_s as f64)
        };
        Some([told_by_s(0.1)?, told_by_s(0.5)?, told_by_s(0.9)?])
    }

    fn first_rank(&self, part: usize) -> u64 {
        (self.ranks * part as u64).div_ceil(PARTS as u64)
    }

    /// Returns the outcome. `draw_s` is the beginning of the sale.
    pub fn into_outcome(mut self, draw_s: f64, seats: SeatEnds, waitlisted: u64) -> SaleOutcome {
        let told_no_by_s = self.told_no_by_s();
        let told_no_by_s = told_no_by_s.map(|by| by.map(|at_s| (at_s - draw_s).max(0.0)));
        for waits in &mut self.waits_s {
            waits.sort_unstable_by(f32::total_cmp);
        }
        let waits_by_part = self.waits_s.each_ref();
        let waits_by_part = waits_by_part
            .map(|waits| Some([percentile_of(waits, 0.5)?, percentile_of(waits, 0.9)?]));
        let mut waits_s = self.waits_s.concat();
        waits_s.sort_unstable_by(f32::total_cmp);
        let sold_99 = self.seconds.iter().find(|second| {
            let cells = second.free + second.held + second.sold;
            second.sold * 100 >= cells * 99
        });
        let sold_99_s = sold_99.map(|second| f64::from(second.at_s) - draw_s);
        SaleOutcome {
            seconds: self.seconds,
            sold_out_s: self
                .sold_out_ms
                .map(|at_ms| (at_ms as f64 / 1e3 - draw_s).max(0.0)),
            sold_99_s,
            waits_s,
            waits_by_part,
            parts: self.parts,
            ends: self.ends,
            odds_brier: self.odds.brier(),
            odds_told: self.odds.bins(),
            wishes_told: self.wishes.bins(),
            told_no: self.told_no.values().sum(),
            told_no_by_s,
            inside_most: self.inside_most,
            seats,
            waitlisted,
            calls_per_s_most: self.calls_per_s_most,
        }
    }
}

/// Sorts visitors into the groups of [`AGES_S`]. `newest_first` has the seconds in which visitors
/// entered and how many entered then, and `total` is the number of them all.
fn by_age(newest_first: impl Iterator<Item = (i64, u64)>, total: u64, now_ms: i64) -> [u64; 4] {
    let now = now_ms / 1_000;
    let oldest_s = AGES_S[AGES_S.len() - 1] as i64;
    let mut groups = [0; 4];
    for (at, count) in newest_first {
        let age = now - at;
        if age >= oldest_s {
            break;
        }
        let group = AGES_S.iter().position(|below| age < *below as i64);
        groups[group.unwrap_or(3)] += count;
    }
    groups[3] += total - groups.iter().sum::<u64>();
    groups
}
