//! Records what the bots and the people of a part saw, and judges it. The functions are pure. All
//! times are milliseconds since the sale began.

/// What one visitor saw.
#[derive(Debug, Clone, Default)]
pub struct ClaimerRecord {
    /// Whether the visitor is a bot. Otherwise it is a person.
    pub is_bot: bool,
    /// The rank in the line, once the visitor knows it.
    pub rank: Option<u64>,
    /// When the visitor last sent a read of its place whose answer said that the visitor had never
    /// been called.
    pub uncalled: Option<u64>,
    pub visits: Vec<ClaimerVisit>,
    /// Whether the person bought what it wanted, or why it did not. `None` while it tries, and for
    /// bots.
    pub bought: Option<Result<(), String>>,
}

/// The time that a visitor had a pass.
#[derive(Debug, Clone, Copy)]
pub struct ClaimerVisit {
    /// When the visitor got the pass.
    pub entered: u64,
    /// When the person had the ticket, or when the bot learned that its pass had ended. `None`
    /// before that.
    pub ended: Option<u64>,
    /// How many baskets the bot got in this visit.
    pub baskets: u32,
}

/// What all visitors of a part saw.
#[derive(Debug, Clone, Default)]
pub struct ClaimersLog {
    pub visitors: Vec<ClaimerRecord>,
}

/// The entries with a second or a later pass.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ClaimersReturns {
    /// How many there were.
    pub entries: usize,
    /// When the first was.
    pub first: Option<u64>,
    /// Those that came before somebody who stood in line had been called.
    pub early: Vec<String>,
}

impl ClaimersLog {
    fn of_kind(&self, is_bot: bool) -> impl Iterator<Item = &ClaimerRecord> {
        let visitors = self.visitors.iter();
        visitors.filter(move |visitor| visitor.is_bot == is_bot)
    }

    /// Returns how many bots or people have entered at least once.
    pub fn entered(&self, is_bot: bool) -> usize {
        let visitors = self.of_kind(is_bot);
        visitors
            .filter(|visitor| !visitor.visits.is_empty())
            .count()
    }

    /// Returns how many visitors have a pass.
    pub fn inside(&self) -> usize {
        let last = self
            .visitors
            .iter()
            .filter_map(|visitor| visitor.visits.last());
        last.filter(|visit| visit.ended.is_none()).count()
    }

    /// Returns how many people have bought.
    pub fn bought(&self) -> usize {
        let people = self.of_kind(false);
        let is_buyer = |person: &&ClaimerRecord| matches!(person.bought, Some(Ok(())));
        people.filter(is_buyer).count()
    }

    /// Returns how many people still try to buy.
    pub fn trying(&self) -> usize {
        let people = self.of_kind(false);
        people.filter(|person| person.bought.is_none()).count()
    }

    /// Returns why people did not buy what they wanted.
    pub fn failures(&self) -> Vec<String> {
        let of_person = |person: &ClaimerRecord| match &person.bought {
            Some(Err(why)) => Some(format!("the person of {}: {why}", person.rank_text())),
            _ => None,
        };
        self.of_kind(false).filter_map(of_person).collect()
    }

    /// Returns when the last person entered, if all people have.
    pub fn last_person_in(&self) -> Option<u64> {
        let first_entry = |person: &ClaimerRecord| person.visits.first().map(|visit| visit.entered);
        let entries: Option<Vec<u64>> = self.of_kind(false).map(first_entry).collect();
        entries?.into_iter().max()
    }

    /// Returns the mean length of the visits of bots or people that have ended, in seconds.
    pub fn mean_visit_s(&self, is_bot: bool) -> Option<f64> {
        let visits = self.of_kind(is_bot).flat_map(|visitor| &visitor.visits);
        let lengths: Vec<u64> = visits
            .filter_map(|visit| Some(visit.ended? - visit.entered))
            .collect();
        let total: u64 = lengths.iter().sum();
        (!lengths.is_empty()).then(|| total as f64 / 1e3 / lengths.len() as f64)
    }

    /// Returns the most baskets that a bot got in one visit.
    pub fn baskets_most(&self) -> u32 {
        let visits = self.of_kind(true).flat_map(|bot| &bot.visits);
        visits.map(|visit| visit.baskets).max().unwrap_or(0)
    }

    /// Returns in how many visits a bot got more baskets than `most`.
    pub fn visits_with_more(&self, most: u32) -> usize {
        let visits = self.of_kind(true).flat_map(|bot| &bot.visits);
        visits.filter(|visit| visit.baskets > most).count()
    }

    /// Finds the entries with a second or a later pass. Such an entry is early if somebody who
    /// stood in line asked afterwards and had never been called.
    pub fn returns(&self) -> ClaimersReturns {
        let mut returns = ClaimersReturns::default();
        let last_uncalled = self
            .visitors
            .iter()
            .filter_map(|visitor| Some((visitor.uncalled?, visitor)))
            .max_by_key(|(uncalled, _)| *uncalled);
        for visitor in &self.visitors {
            for visit in visitor.visits.iter().skip(1) {
                returns.entries += 1;
                let first = returns.first.get_or_insert(visit.entered);
                *first = visit.entered.min(*first);
                if let Some((uncalled, waiting)) =
                    last_uncalled.filter(|(uncalled, _)| *uncalled > visit.entered)
                {
                    returns.early.push(format!(
                        "{} entered again after {:.1} s, but {} was not called until {:.1} s",
                        visitor.rank_text(),
                        visit.entered as f64 / 1e3,
                        waiting.rank_text(),
                        uncalled as f64 / 1e3
                    ));
                }
            }
        }
        returns
    }
}

impl ClaimerRecord {
    fn rank_text(&self) -> String {
        self.rank.map_or_else(
            || "an unknown rank".to_owned(),
            |rank| format!("rank {rank}"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visitor(rank: u64, uncalled: Option<u64>, visits: &[(u64, Option<u64>)]) -> ClaimerRecord {
        let visits = visits.iter();
        ClaimerRecord {
            is_bot: rank < 2,
            rank: Some(rank),
            uncalled,
            visits: visits
                .map(|&(entered, ended)| ClaimerVisit {
                    entered,
                    ended,
                    baskets: 0,
                })
                .collect(),
            ..ClaimerRecord::default()
        }
    }

    /// Makes a run in which two bots enter, then two people, and then one bot again.
    fn run() -> ClaimersLog {
        ClaimersLog {
            visitors: vec![
                visitor(0, None, &[(100, Some(10_100)), (16_000, None)]),
                visitor(1, Some(50), &[(200, Some(12_200))]),
                visitor(2, Some(9_000), &[(11_000, Some(14_000))]),
                visitor(3, Some(14_500), &[(15_000, None)]),
            ],
        }
    }

    #[test]
    fn a_second_entry_is_early_while_somebody_in_line_was_never_called() {
        let mut run = run();
        let returns = run.returns();
        assert_eq!((returns.entries, returns.first), (1, Some(16_000)));
        assert_eq!(returns.early, Vec::<String>::new());
        run.visitors[0].visits[1].entered = 14_400;
        let early = ["rank 0 entered again after 14.4 s, but rank 3 was not called until 14.5 s"];
        assert_eq!(run.returns().early, early);
    }

    #[test]
    fn the_last_person_is_in_only_when_all_are() {
        let mut run = run();
        assert_eq!(run.last_person_in(), Some(15_000));
        assert_eq!((run.entered(true), run.entered(false)), (2, 2));
        assert_eq!(run.inside(), 2);
        run.visitors[2].visits.clear();
        assert_eq!(run.last_person_in(), None);
    }

    #[test]
    fn visits_that_still_last_do_not_count_in_the_mean() {
        let run = run();
        assert_eq!(run.mean_visit_s(true), Some(11.0));
        assert_eq!(run.mean_visit_s(false), Some(3.0));
        assert_eq!(ClaimersLog::default().mean_visit_s(true), None);
    }

    #[test]
    fn baskets_are_counted_for_each_visit_of_a_bot() {
        let mut run = run();
        run.visitors[0].visits[0].baskets = 2;
        run.visitors[0].visits[1].baskets = 3;
        run.visitors[2].visits[0].baskets = 4;
        assert_eq!((run.baskets_most(), run.visits_with_more(2)), (3, 1));
        assert_eq!(ClaimersLog::default().baskets_most(), 0);
    }

    #[test]
    fn a_person_who_did_not_buy_is_named() {
        let mut run = run();
        run.visitors[2].bought = Some(Ok(()));
        run.visitors[3].bought = Some(Err("its pass ended".to_owned()));
        assert_eq!((run.bought(), run.trying()), (1, 0));
        assert_eq!(run.failures(), ["the person of rank 3: its pass ended"]);
    }
}
