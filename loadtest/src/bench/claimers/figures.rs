//! The figures of the parts: which thresholds they meet, and how they are printed.

use serde::Serialize;

use super::ClaimerBots;
use super::part::{ClaimersPart, ClaimersPartRun};
use crate::bench::report;

/// The largest allowed share of the seats that the bots hold at the end.
const SHARE_MAX: f64 = 0.05;
/// After how many lapsed baskets a visit ends, which is the room's default.
const LAPSES_MAX: u32 = 2;
/// The most findings that are printed.
const PRINTED_MAX: usize = 5;

/// The figures of one part.
#[derive(Debug, Serialize)]
pub struct ClaimersPartFigures {
    pub bots_are: ClaimerBots,
    /// Whether the programs are those of the build before.
    pub is_before: bool,
    pub bots: usize,
    pub people: usize,
    pub people_in: usize,
    pub people_bought: usize,
    /// When the last person entered, from the beginning of the sale, if all people did.
    pub last_person_in_s: Option<f64>,
    /// The latest allowed time for that, if it is known.
    pub last_person_in_max_s: Option<f64>,
    pub person_visit_s: Option<f64>,
    pub bot_visit_s: Option<f64>,
    pub second_entries: usize,
    /// When the first second entry was.
    pub first_again_s: Option<f64>,
    /// The second entries before somebody who stood in line was called.
    pub early_entries: Vec<String>,
    /// Why people did not buy.
    pub failures: Vec<String>,
    /// The most baskets that a bot got in one visit.
    pub baskets_most: u32,
    /// In how many visits a bot got more baskets than may lapse in one.
    pub visits_beyond: usize,
    /// The mean share of the seats that were held at the end. After all people bought, these are
    /// the bots'.
    pub held_share: f64,
    pub share_max: f64,
    pub held: bool,
}

/// The figures of the bench.
#[derive(Debug, Serialize)]
pub struct ClaimerBenchFigures {
    pub bench: &'static str,
    pub rig: String,
    pub max_inside: u32,
    pub pass_idle_s: u64,
    pub hold_s: u64,
    pub seats: u32,
    pub settle_s: u64,
    pub parts: Vec<ClaimersPartFigures>,
    pub held: bool,
}

fn seconds(ms: u64) -> f64 {
    ms as f64 / 1e3
}

fn shown_s(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "?".to_owned(), |seconds| format!("{seconds:.1}"))
}

impl ClaimersPartFigures {
    /// Judges a part. `times` says how many times the shortest possible time may pass until the
    /// last person is in. The figures of the build before are not judged.
    pub fn judge(
        bots: ClaimerBots,
        is_before: bool,
        part: &ClaimersPart,
        run: &ClaimersPartRun,
        times: f64,
    ) -> Self {
        let log = &run.log;
        let returns = log.returns();
        let (person_visit_s, bot_visit_s) = (log.mean_visit_s(false), log.mean_visit_s(true));
        let expected_bot_s = match bots {
            ClaimerBots::Idle => part.pass_idle_s.map(|idle_s| idle_s as f64),
            ClaimerBots::Lapsing => bot_visit_s,
        };
        let shortest_s = expected_bot_s.zip(person_visit_s).map(|(bot_s, person_s)| {
            (part.bots as f64 * bot_s + part.people as f64 * person_s) / f64::from(part.max_inside)
        });
        let mut figures = Self {
            bots_are: bots,
            is_before,
            bots: part.bots,
            people: part.people,
            people_in: log.entered(false),
            people_bought: log.bought(),
            last_person_in_s: log.last_person_in().map(seconds),
            last_person_in_max_s: shortest_s.map(|shortest_s| times * shortest_s),
            person_visit_s,
            bot_visit_s,
            second_entries: returns.entries,
            first_again_s: returns.first.map(seconds),
            early_entries: returns.early,
            failures: log.failures(),
            baskets_most: log.baskets_most(),
            visits_beyond: log.visits_with_more(LAPSES_MAX),
            held_share: run.held_share,
            share_max: SHARE_MAX,
            held: true,
        };
        figures.held = is_before || figures.judgements().into_iter().all(|held| held);
        figures
    }

    /// Returns whether each threshold holds: entries in turn, the time of the last person, the
    /// purchases, and the bots' share of the seats.
    fn judgements(&self) -> [bool; 4] {
        let in_time = self
            .last_person_in_s
            .zip(self.last_person_in_max_s)
            .is_some_and(|(last_s, max_s)| last_s <= max_s);
        [
            self.early_entries.is_empty() && self.second_entries > 0,
            in_time,
            self.people_bought == self.people,
            self.held_share < self.share_max,
        ]
    }

    fn lines(&self, seats: u32) -> Vec<String> {
        let word = |held: bool| match (self.is_before, held) {
            (true, _) => "not judged",
            (false, true) => "held",
            (false, false) => "failed",
        };
        let [in_turn, in_time, bought, few_seats] = self.judgements().map(word);
        let mut lines = vec![
            self.bots_are.title(self.bots, self.people, self.is_before),
            format!(
                "  second entries           {}, the first after {} s; {} before all in line were called (at least 1, and 0): {in_turn}",
                self.second_entries,
                shown_s(self.first_again_s),
                self.early_entries.len()
            ),
            format!(
                "  last person in           {} s, {} of {} people (at most {} s): {in_time}",
                shown_s(self.last_person_in_s),
                self.people_in,
                self.people,
                shown_s(self.last_person_in_max_s)
            ),
            format!(
                "  people who bought        {} of {}; a visit takes {} s, a bot's {} s: {bought}",
                self.people_bought,
                self.people,
                shown_s(self.person_visit_s),
                shown_s(self.bot_visit_s)
            ),
            format!(
                "  seats of the bots        {:.1} % of {seats} (under {:.0} %); at most {} baskets in a visit, more than {LAPSES_MAX} in {} visits: {few_seats}",
                self.held_share * 100.0,
                self.share_max * 100.0,
                self.baskets_most,
                self.visits_beyond
            ),
        ];
        let findings = self
            .early_entries
            .iter()
            .take(PRINTED_MAX)
            .chain(self.failures.iter().take(PRINTED_MAX));
        lines.extend(findings.map(|finding| format!("    {finding}")));
        lines
    }
}

impl report::BenchFigures for ClaimerBenchFigures {
    fn held(&self) -> bool {
        self.held
    }

    fn lines(&self) -> Vec<String> {
        let head = format!(
            "bots that keep people waiting; at most {} inside, pass_idle_s {}, hold_s {}, on {}",
            self.max_inside, self.pass_idle_s, self.hold_s, self.rig
        );
        let parts = self.parts.iter().flat_map(|part| part.lines(self.seats));
        std::iter::once(head).chain(parts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> ClaimersPartFigures {
        ClaimersPartFigures {
            bots_are: ClaimerBots::Idle,
            is_before: false,
            bots: 400,
            people: 40,
            people_in: 40,
            people_bought: 40,
            last_person_in_s: Some(400.0),
            last_person_in_max_s: Some(489.6),
            person_visit_s: Some(4.0),
            bot_visit_s: Some(20.0),
            second_entries: 3,
            first_again_s: Some(410.0),
            early_entries: Vec::new(),
            failures: Vec::new(),
            baskets_most: 2,
            visits_beyond: 0,
            held_share: 0.01,
            share_max: SHARE_MAX,
            held: true,
        }
    }

    #[test]
    fn each_threshold_is_judged_on_its_own() {
        let judged = |change: fn(&mut ClaimersPartFigures)| {
            let mut figures = figures();
            change(&mut figures);
            figures.judgements()
        };
        assert_eq!(judged(|_| {}), [true; 4]);
        let early = |figures: &mut ClaimersPartFigures| figures.early_entries.push("one".into());
        assert_eq!(judged(early), [false, true, true, true]);
        let unproven = |figures: &mut ClaimersPartFigures| figures.second_entries = 0;
        assert_eq!(judged(unproven), [false, true, true, true]);
        let late = |figures: &mut ClaimersPartFigures| figures.last_person_in_s = Some(489.7);
        assert_eq!(judged(late), [true, false, true, true]);
        let out = |figures: &mut ClaimersPartFigures| figures.last_person_in_s = None;
        assert_eq!(judged(out), [true, false, true, true]);
        let without = |figures: &mut ClaimersPartFigures| figures.people_bought = 39;
        assert_eq!(judged(without), [true, true, false, true]);
        let taken = |figures: &mut ClaimersPartFigures| figures.held_share = 0.05;
        assert_eq!(judged(taken), [true, true, true, false]);
    }

    #[test]
    fn each_line_says_whether_its_threshold_held() {
        let mut figures = figures();
        figures.people_bought = 39;
        figures.failures.push("the person of rank 7: gone".into());
        let lines = figures.lines(440);
        assert!(
            lines[2].ends_with("40 of 40 people (at most 489.6 s): held"),
            "{lines:?}"
        );
        assert!(lines[3].ends_with(": failed"), "{lines:?}");
        assert!(lines[5].contains("rank 7"), "{lines:?}");
    }
}
