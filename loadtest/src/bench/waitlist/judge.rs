//! Judges whether a waitlist was served correctly, from what its parties saw. Seats must go to a
//! party that is present and wants no more seats than there are. Of several such parties, the one
//! that joined first must get them. No seat may be offered to two parties at the same time, and no
//! party may be forgotten. The functions are pure. All times are milliseconds of the machine's
//! clock.

use std::collections::HashMap;

/// How long a party counts as present after it read its state, in milliseconds.
const HERE_MS: i64 = 15_000;
/// The longest time until the waitlist knows that a party has read its state, in milliseconds.
const KNOWN_WITHIN_MS: i64 = 4_000;

/// A span of time.
#[derive(Debug, Clone, Copy)]
pub struct WaitlistBenchSpan {
    pub from: i64,
    pub to: i64,
}

/// A party on the waitlist. Parties are listed in the order of joining.
#[derive(Debug, Clone)]
pub struct WaitlistBenchParty {
    /// How many seats the party wants. Any seats will do.
    pub size: u32,
    /// When the party got the answer to its join.
    pub joined: i64,
    /// The spans in which the party read its state, from the call to the answer.
    pub looks: Vec<WaitlistBenchSpan>,
    pub offers: Vec<WaitlistBenchOffer>,
    /// When the party asked to leave, if it did.
    pub left: Option<i64>,
    /// The server's word for how the party's waiting ended.
    pub end: Option<String>,
}

/// Seats that were held for a party.
#[derive(Debug, Clone)]
pub struct WaitlistBenchOffer {
    pub seats: Vec<String>,
    /// When the offer was made, computed from the end that the server named.
    pub made: i64,
    /// When the party learned of the offer.
    pub seen: i64,
    /// Until when the seats certainly belonged to the party. This is when the party declined the
    /// offer, or cancelled its order, or asked for an order and the hold was gone. Otherwise this
    /// is when the offer ran out.
    pub until: i64,
    pub fate: WaitlistBenchFate,
}

/// How an offer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitlistBenchFate {
    /// The party ordered the seats.
    Ordered,
    /// The party declined the offer or let it run out. From then on, all parties that had already
    /// joined come before this party.
    Passed,
    /// The offer was lost with the killed process, because no other process knew of it.
    Lost,
}

/// What the parties saw during the run.
#[derive(Debug)]
pub struct WaitlistBenchRun {
    pub parties: Vec<WaitlistBenchParty>,
    /// The span in which the killed process was gone.
    pub kill: WaitlistBenchSpan,
    /// Whether an offer survives the kill of the process that made it, because it is stored
    /// elsewhere.
    pub outlives: bool,
}

/// The findings of the judge, and how much it could check.
#[derive(Debug, Default)]
pub struct WaitlistBenchReport {
    pub findings: Vec<String>,
    /// The number of offers whose seats were also enough for a later party that waited.
    pub choices: usize,
}

/// Judges a run.
pub fn judge(run: &WaitlistBenchRun) -> WaitlistBenchReport {
    let mut judged = WaitlistBenchReport::default();
    run.offered_twice(&mut judged);
    run.passed_over(&mut judged);
    run.forgotten(&mut judged);
    run.judge_lost_offers(&mut judged);
    judged
}

impl WaitlistBenchRun {
    /// Finds seats that certainly belonged to two parties at the same time, and offers with too
    /// many or too few seats.
    fn offered_twice(&self, judged: &mut WaitlistBenchReport) {
        let mut by_seat: HashMap<&str, Vec<(i64, i64, usize)>> = HashMap::new();
        for (number, party) in self.parties.iter().enumerate() {
            for offer in &party.offers {
                let until = match offer.fate {
                    WaitlistBenchFate::Lost => offer.until.min(self.kill.from),
                    WaitlistBenchFate::Ordered | WaitlistBenchFate::Passed => offer.until,
                };
                for seat in &offer.seats {
                    let spans = by_seat.entry(seat).or_default();
                    spans.push((offer.seen, until, number));
                }
                if offer.seats.len() != party.size as usize {
                    let (offered, size) = (offer.seats.len(), party.size);
                    let finding = format!("party {number} of {size} was offered {offered} seats");
                    judged.findings.push(finding);
                }
            }
        }
        for (seat, mut spans) in by_seat {
            spans.sort_unstable();
            for pair in spans.windows(2) {
                if pair[1].0 < pair[0].1 {
                    let (one, other) = (pair[0].2, pair[1].2);
                    let text = format!("{seat} was party {one}'s and party {other}'s at one time");
                    judged.findings.push(text);
                }
            }
        }
    }

    /// Finds parties that were passed over. A party was passed over if another party got an offer
    /// although this party came first, was present and wanted no more seats. Also counts the
    /// choices.
    fn passed_over(&self, judged: &mut WaitlistBenchReport) {
        for (number, party) in self.parties.iter().enumerate() {
            for offer in &party.offers {
                let made = offer.made;
                let passed_ms = party.last_passed_before(made);
                let waits = |other: &usize| {
                    let rival = &self.parties[*other];
                    *other != number && rival.size <= party.size && self.surely_waits(rival, offer)
                };
                let comes_before = |other: &usize| match passed_ms {
                    // Everybody who had joined by then comes before this party.
                    Some(passed_ms) => self.parties[*other].joined < passed_ms,
                    None => *other < number,
                };
                let waiting: Vec<usize> = (0..self.parties.len()).filter(waits).collect();
                if let Some(first_waiting) = waiting.iter().find(|other| comes_before(other)) {
                    let after_s = (made - self.kill.from) as f64 / 1e3;
                    let finding = format!(
                        "party {first_waiting} was passed over for party {number}, {after_s:.1} s from the kill"
                    );
                    judged.findings.push(finding);
                }
                judged.choices += usize::from(waiting.iter().any(|other| !comes_before(other)));
            }
        }
    }

    /// Returns whether a party certainly waited and was present when another party's offer was
    /// made. Returns false if the party had got an offer by then, unless the kill lost that offer.
    fn surely_waits(&self, party: &WaitlistBenchParty, offer: &WaitlistBenchOffer) -> bool {
        let made = offer.made;
        let in_line = party.joined < made && party.left.is_none_or(|left| left > made);
        let is_lost = |offer: &WaitlistBenchOffer| {
            offer.fate == WaitlistBenchFate::Lost && self.kill.from <= made
        };
        let had_offer = party
            .offers
            .iter()
            .any(|offer| offer.made <= made && !is_lost(offer));
        let proves_presence = |look: &WaitlistBenchSpan| {
            let known_ms = look.to + KNOWN_WITHIN_MS;
            // A read that the killed process had not stored yet was lost.
            let forgotten = (look.from..=known_ms).contains(&self.kill.from);
            known_ms < made && look.from + HERE_MS > made && !forgotten
        };
        // Perhaps the waitlist made an offer to this party, too, and the kill lost it before the
        // party saw it. If the party read its state after the other party saw its offer and before
        // the kill, there was no such offer.
        let saw_none =
            |look: &WaitlistBenchSpan| look.from > offer.seen && look.to < self.kill.from;
        let is_sure = made >= self.kill.from || party.looks.iter().any(saw_none);
        in_line && !had_offer && is_sure && party.looks.iter().any(proves_presence)
    }

    /// Finds parties that lost an offer with the killed process, if offers survive the kill.
    fn judge_lost_offers(&self, judged: &mut WaitlistBenchReport) {
        for (number, party) in self.parties.iter().enumerate() {
            let mut lost_offers = party
                .offers
                .iter()
                .filter(|offer| offer.fate == WaitlistBenchFate::Lost);
            if let Some(offer) = lost_offers.next().filter(|_| self.outlives) {
                let finding = format!("party {number} lost its offer of {:?}", offer.seats);
                judged.findings.push(finding);
            }
        }
    }

    /// Returns the time from the kill to the first offer after it in milliseconds, or `None` if no
    /// offer came after the kill.
    pub fn stood_still_ms(&self) -> Option<i64> {
        let offers = self.parties.iter().flat_map(|party| &party.offers);
        let after_ms = offers.map(|offer| offer.made - self.kill.from);
        after_ms.filter(|after_ms| *after_ms >= 0).min()
    }

    /// Finds parties whose waiting did not end as expected. It must end as `left` if the party
    /// left, and otherwise as `taken`.
    fn forgotten(&self, judged: &mut WaitlistBenchReport) {
        for (number, party) in self.parties.iter().enumerate() {
            let expected = if party.left.is_some() {
                "left"
            } else {
                "taken"
            };
            if party.end.as_deref() != Some(expected) {
                let end = party.end.as_deref().unwrap_or("never");
                let finding =
                    format!("the waiting of party {number} ended as \"{end}\", not \"{expected}\"");
                judged.findings.push(finding);
            }
        }
    }
}

impl WaitlistBenchParty {
    /// Returns when the party last declined an offer or let one run out before `at`, or `None` if
    /// it never did.
    fn last_passed_before(&self, at: i64) -> Option<i64> {
        let passed = self
            .offers
            .iter()
            .filter(|offer| offer.fate == WaitlistBenchFate::Passed && offer.until < at);
        passed.map(|offer| offer.until).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a party that joined at that time and reads its state every two seconds for a minute.
    fn party(size: u32, joined: i64) -> WaitlistBenchParty {
        let look = |n: i64| WaitlistBenchSpan {
            from: joined + n * 2_000,
            to: joined + n * 2_000 + 5,
        };
        WaitlistBenchParty {
            size,
            joined,
            looks: (0..30).map(look).collect(),
            offers: Vec::new(),
            left: None,
            end: Some("taken".to_owned()),
        }
    }

    fn offer(seats: &[&str], made: i64, until: i64, fate: WaitlistBenchFate) -> WaitlistBenchOffer {
        WaitlistBenchOffer {
            seats: seats.iter().map(|seat| (*seat).to_owned()).collect(),
            made,
            seen: made + 500,
            until,
            fate,
        }
    }

    /// Makes a run without findings: three parties are served in the order of joining.
    fn clean() -> WaitlistBenchRun {
        let mut parties = vec![party(1, 0), party(2, 100), party(1, 200)];
        parties[0].offers = vec![offer(&["A-1"], 20_000, 22_000, WaitlistBenchFate::Ordered)];
        parties[1].offers = vec![offer(
            &["A-1", "A-2"],
            22_500,
            24_000,
            WaitlistBenchFate::Ordered,
        )];
        parties[2].offers = vec![offer(&["A-2"], 24_500, 26_000, WaitlistBenchFate::Ordered)];
        // Nobody had an offer at that time.
        let kill = WaitlistBenchSpan { from: 100, to: 200 };
        WaitlistBenchRun {
            parties,
            kill,
            outlives: false,
        }
    }

    fn check(run: &WaitlistBenchRun, expected: &[&str]) {
        let judged = judge(run);
        assert_eq!(judged.findings, expected);
    }

    #[test]
    fn a_waitlist_served_in_order_has_no_findings_and_two_choices() {
        let judged = judge(&clean());
        assert_eq!((judged.findings.len(), judged.choices), (0, 2));
    }

    #[test]
    fn a_seat_that_two_parties_had_at_the_same_time_is_found() {
        let mut run = clean();
        run.parties[1].offers[0].seen = 21_000;
        check(&run, &["A-1 was party 0's and party 1's at one time"]);
    }

    #[test]
    fn a_party_that_was_passed_over_is_found_unless_it_was_away_or_too_large() {
        let passed = |change: fn(&mut WaitlistBenchRun)| {
            let mut run = clean();
            run.parties[1].offers.clear();
            run.parties[1].offers = vec![offer(
                &["A-1", "A-2"],
                30_000,
                31_000,
                WaitlistBenchFate::Ordered,
            )];
            run.parties[2].size = 2;
            run.parties[2].offers[0].seats.push("A-3".to_owned());
            change(&mut run);
            judge(&run).findings
        };
        assert_eq!(
            passed(|_| {}),
            ["party 1 was passed over for party 2, 24.4 s from the kill"]
        );
        let away = passed(|run| run.parties[1].looks.retain(|look| look.from < 8_000));
        assert!(away.is_empty(), "{away:?}");
        let larger = passed(|run| {
            run.parties[1].size = 3;
            run.parties[1].offers[0].seats.push("A-4".to_owned());
        });
        assert!(larger.is_empty(), "{larger:?}");
    }

    #[test]
    fn a_party_that_declined_an_offer_comes_after_all_that_had_joined_by_then() {
        let mut run = clean();
        let first = offer(&["A-1"], 20_000, 22_000, WaitlistBenchFate::Passed);
        let again = offer(&["A-1"], 24_200, 24_300, WaitlistBenchFate::Ordered);
        run.parties[0].offers = vec![first, again];
        check(
            &run,
            &["party 2 was passed over for party 0, 24.1 s from the kill"],
        );
        run.parties[0].offers[1] = offer(&["A-1"], 26_500, 27_000, WaitlistBenchFate::Ordered);
        check(&run, &[]);
    }

    #[test]
    fn a_party_whose_offer_a_kill_lost_comes_first_again() {
        let mut run = clean();
        run.kill = WaitlistBenchSpan {
            from: 30_000,
            to: 31_000,
        };
        run.parties[0].offers = vec![
            offer(&["A-1"], 20_000, 80_000, WaitlistBenchFate::Lost),
            offer(&["A-1"], 40_000, 41_000, WaitlistBenchFate::Ordered),
        ];
        run.parties[1].offers = vec![offer(
            &["A-1", "A-2"],
            32_000,
            33_000,
            WaitlistBenchFate::Ordered,
        )];
        run.parties[2].offers = vec![offer(&["A-9"], 20_000, 21_000, WaitlistBenchFate::Ordered)];
        check(
            &run,
            &["party 0 was passed over for party 1, 2.0 s from the kill"],
        );
    }

    #[test]
    fn a_lost_offer_is_found_if_offers_survive_a_kill() {
        let mut run = clean();
        run.outlives = true;
        check(&run, &[]);
        let lost = offer(&["A-1"], 50, 19_000, WaitlistBenchFate::Lost);
        run.parties[0].offers.insert(0, lost);
        check(&run, &["party 0 lost its offer of [\"A-1\"]"]);
    }

    #[test]
    fn the_standstill_lasts_from_the_kill_to_the_next_offer() {
        let mut run = clean();
        assert_eq!(run.stood_still_ms(), Some(19_900));
        run.kill.from = 23_000;
        assert_eq!(run.stood_still_ms(), Some(1_500));
        run.kill.from = 25_000;
        assert_eq!(run.stood_still_ms(), None);
    }

    #[test]
    fn a_party_whose_waiting_did_not_end_as_expected_is_found() {
        let mut run = clean();
        run.parties[1].end = None;
        run.parties[2].left = Some(10_000);
        let told = [
            "the waiting of party 1 ended as \"never\", not \"taken\"",
            "the waiting of party 2 ended as \"taken\", not \"left\"",
        ];
        check(&run, &told);
    }
}
