//! Describes what visitors do, as probabilities and spans of time. Each visitor draws from its own
//! seeded generator.

use rand::{Rng, RngExt};
use serde::Deserialize;

use crate::crowd::SECONDS_MAX;

/// A range of seconds that includes both ends.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct SecondsRange(pub f64, pub f64);

impl SecondsRange {
    /// Draws a number of seconds from the range.
    pub fn draw(self, rng: &mut impl Rng) -> f64 {
        self.0 + (self.1 - self.0).max(0.0) * rng.random::<f64>()
    }
}

/// The section `[behaviour]`. Every share is 0 by default. The other defaults are in
/// [`VisitorBehaviour::default`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VisitorBehaviour {
    /// The weights of parties of 1, 2, 3 … people.
    pub party: Vec<f64>,
    /// The share of visitors who pick seats by label; the others ask for the best seats. Nobody
    /// picks seats of a train.
    pub by_seat: f64,
    /// The labels of the seats that every visitor asks for; if empty, visitors choose by
    /// themselves.
    pub wanted: Vec<String>,
    /// When all visitors make their first request for seats at the same time, in seconds after the
    /// draw; 0 means that each visitor asks as soon as it has chosen.
    pub together_s: f64,
    /// The share of visitors who say in the lobby which seats they would like, and hold them with
    /// one tap when their turn comes.
    pub wish: f64,
    /// The share of visitors who look around first: they read the show and, if they have a socket,
    /// watch its seats.
    pub browse: f64,
    /// The share of baskets that are changed. In half of these one seat is swapped; the other half
    /// are given back and filled again. A changed basket of a train is always given back.
    pub change: f64,
    /// The share of visitors whose payment is declined.
    pub decline: f64,
    /// The share of visitors who leave and abandon their basket.
    pub give_up: f64,
    /// The share of visitors who cancel an order instead of paying.
    pub cancel: f64,
    /// The share of visitors with tickets who give some or all of them back.
    pub give_back: f64,
    /// The share of visitors who exchange their tickets, among visitors with tickets who give none
    /// back.
    pub exchange: f64,
    /// The share of visitors who have their tickets scanned at the door, among visitors with
    /// tickets who neither give them back nor exchange them.
    pub scan: f64,
    /// The share of exchanges for which several calls are made at once, each with its own key.
    pub exchange_at_once: f64,
    /// The share of baskets whose visitor first tries to order another visitor's hold.
    pub foreign: f64,
    /// The share of holds for which two calls are made at once, at two gateways. The calls have
    /// different bodies and the same key. Holds of a train are never made in this way.
    pub two_bodies: f64,
    /// The share of visitors who pay with a card that other visitors also use.
    pub one_card: f64,
    /// The time from the tickets to a refund, an exchange or the first scan, and between two
    /// refunds, in seconds.
    pub give_back_s: SecondsRange,
    /// The share of visitors who leave the line early: within [`Self::MISHAP_WITHIN_S`] after the
    /// draw or after their join, whichever is later.
    pub leave: f64,
    /// The share of called visitors who leave the line instead of claiming their pass.
    pub leave_called: f64,
    /// The share of visitors who leave the line as soon as they have their pass.
    pub leave_inside: f64,
    /// The share of visitors whose place the promoter ends: half of them while they wait or are
    /// called, and the others when they have their pass.
    pub revoked: f64,
    /// How long visitors wait after the draw or after their join, whichever is later, in seconds.
    /// Then they leave the line. If it is `None`, they wait until the end.
    pub patience_s: Option<SecondsRange>,
    /// The share of visitors with a socket who lose it once while they wait, and connect again.
    pub drop_socket: f64,
    /// The time until a dropped socket connects again, in seconds.
    pub drop_s: SecondsRange,
    /// The share of visitors who join and then disappear.
    pub no_show: f64,
    /// Only no-shows with a rank below this disappear; 0 means that every no-show disappears.
    pub no_show_head: u64,
    /// The share of visitors who claim their pass only at `late_at_s`.
    pub late: f64,
    /// When all late visitors claim together, in seconds after the draw.
    pub late_at_s: f64,
    /// The time from the call to the claim, in seconds.
    pub claim_s: SecondsRange,
    /// The time that a visitor takes to choose seats, in seconds.
    pub choose_s: SecondsRange,
    /// The time from the basket to the order, in seconds.
    pub order_s: SecondsRange,
    /// The time from the order to the payment, in seconds.
    pub pay_s: SecondsRange,
    /// How many more rounds of choosing a visitor without seats makes before it gives up.
    pub tries: u32,
    /// The time between two rounds of choosing, in seconds.
    pub retry_s: SecondsRange,
    /// The share of visitors who join the show's waitlist when they find no seats.
    pub waitlist: f64,
    /// How long visitors stay on the waitlist before they leave it, in seconds; at most
    /// [`Self::WAITLIST_S_MAX`].
    pub waitlist_s: SecondsRange,
}

impl Default for VisitorBehaviour {
    fn default() -> Self {
        Self {
            party: vec![1.0],
            by_seat: 0.0,
            wanted: Vec::new(),
            together_s: 0.0,
            wish: 0.0,
            browse: 0.0,
            change: 0.0,
            decline: 0.0,
            give_up: 0.0,
            cancel: 0.0,
            give_back: 0.0,
            exchange: 0.0,
            scan: 0.0,
            exchange_at_once: 0.0,
            foreign: 0.0,
            two_bodies: 0.0,
            one_card: 0.0,
            give_back_s: SecondsRange(0.5, 2.0),
            leave: 0.0,
            leave_called: 0.0,
            leave_inside: 0.0,
            revoked: 0.0,
            patience_s: None,
            drop_socket: 0.0,
            drop_s: SecondsRange(1.0, 4.0),
            no_show: 0.0,
            no_show_head: 0,
            late: 0.0,
            late_at_s: 0.0,
            claim_s: SecondsRange(0.0, 0.5),
            choose_s: SecondsRange(0.2, 1.0),
            order_s: SecondsRange(0.2, 1.0),
            pay_s: SecondsRange(0.2, 1.0),
            tries: 3,
            retry_s: SecondsRange(1.0, 2.0),
            waitlist: 0.0,
            waitlist_s: SecondsRange(300.0, 1_800.0),
        }
    }
}

impl VisitorBehaviour {
    /// If a visitor leaves early or loses its socket, this happens within this time after the draw
    /// or after its join, whichever is later, in seconds.
    pub const MISHAP_WITHIN_S: f64 = 20.0;
    /// The longest time that booking lets a party wait, in seconds.
    pub const WAITLIST_S_MAX: f64 = 3_600.0;

    /// Returns true with the probability `share`.
    pub fn roll(share: f64, rng: &mut impl Rng) -> bool {
        share > 0.0 && rng.random::<f64>() < share
    }

    /// Draws the longest time that a visitor waits, in seconds after the draw or its join,
    /// whichever is later. `leaves` says whether the visitor leaves early. Returns `None` if the
    /// visitor waits until the end.
    pub fn leaves_after_s(&self, leaves: bool, rng: &mut impl Rng) -> Option<f64> {
        let mishap = SecondsRange(0.0, Self::MISHAP_WITHIN_S);
        let leaves_s = leaves.then(|| mishap.draw(rng));
        let patience_s = self.patience_s.map(|patience| patience.draw(rng));
        match (leaves_s, patience_s) {
            (Some(leaves), Some(patience)) => Some(leaves.min(patience)),
            (either, other) => either.or(other),
        }
    }

    /// Draws the size of a party.
    pub fn party(&self, rng: &mut impl Rng) -> usize {
        let total: f64 = self.party.iter().sum();
        let mut weight_left = rng.random::<f64>() * total;
        for (at, weight) in self.party.iter().enumerate() {
            weight_left -= weight;
            if weight_left < 0.0 {
                return at + 1;
            }
        }
        self.party.len()
    }

    /// Returns a message for every invalid value. The message names the values that are valid.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let mut faults = self.faults_of_shares();
        faults.extend(self.faults_of_times());
        let weights = &self.party;
        let are_weights = weights.iter().all(|weight| (0.0..=1e9).contains(weight));
        if !are_weights || weights.iter().sum::<f64>() <= 0.0 {
            faults.push(
                "behaviour.party: expected weights of parties of 1, 2, 3 … people, at least one above 0"
                    .to_owned(),
            );
        }
        faults
    }

    fn faults_of_shares(&self) -> Vec<String> {
        let shares = [
            ("by_seat", self.by_seat),
            ("wish", self.wish),
            ("browse", self.browse),
            ("change", self.change),
            ("decline", self.decline),
            ("give_up", self.give_up),
            ("cancel", self.cancel),
            ("give_back", self.give_back),
            ("exchange", self.exchange),
            ("scan", self.scan),
            ("exchange_at_once", self.exchange_at_once),
            ("foreign", self.foreign),
            ("two_bodies", self.two_bodies),
            ("one_card", self.one_card),
            ("leave", self.leave),
            ("leave_called", self.leave_called),
            ("leave_inside", self.leave_inside),
            ("revoked", self.revoked),
            ("drop_socket", self.drop_socket),
            ("no_show", self.no_show),
            ("late", self.late),
            ("waitlist", self.waitlist),
        ];
        let bad = shares.iter();
        let bad = bad.filter(|(_, share)| !(0.0..=1.0).contains(share));
        bad.map(|(name, share)| format!("behaviour.{name}: {share} is not a share between 0 and 1"))
            .collect()
    }

    fn faults_of_times(&self) -> Vec<String> {
        let spans = [
            (
                "patience_s",
                self.patience_s.unwrap_or(SecondsRange(0.0, 0.0)),
                SECONDS_MAX,
            ),
            ("drop_s", self.drop_s, SECONDS_MAX),
            ("claim_s", self.claim_s, SECONDS_MAX),
            ("choose_s", self.choose_s, SECONDS_MAX),
            ("order_s", self.order_s, SECONDS_MAX),
            ("pay_s", self.pay_s, SECONDS_MAX),
            ("give_back_s", self.give_back_s, SECONDS_MAX),
            ("retry_s", self.retry_s, SECONDS_MAX),
            ("waitlist_s", self.waitlist_s, Self::WAITLIST_S_MAX),
        ];
        let bad = spans.iter();
        let bad = bad.filter(|(_, span, most)| !(0.0..=span.1).contains(&span.0) || span.1 > *most);
        let mut faults: Vec<String> = bad
            .map(|(name, span, most)| {
                format!(
                    "behaviour.{name}: [{}, {}] is not a range of seconds; expected two numbers from 0 to {most}, the smaller one first",
                    span.0, span.1
                )
            })
            .collect();
        let times = [
            ("together_s", self.together_s),
            ("late_at_s", self.late_at_s),
        ];
        let bad = times.iter();
        let bad = bad.filter(|(_, time_s)| !(0.0..=SECONDS_MAX).contains(time_s));
        faults.extend(bad.map(|(name, time_s)| {
            format!("behaviour.{name}: {time_s} is not between 0 and {SECONDS_MAX} seconds")
        }));
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::Xoshiro256PlusPlus;

    #[test]
    fn parties_are_drawn_in_proportion_to_their_weights() {
        let behaviour = VisitorBehaviour {
            party: vec![1.0, 3.0],
            ..VisitorBehaviour::default()
        };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let pairs = (0..10_000)
            .filter(|_| behaviour.party(&mut rng) == 2)
            .count();
        assert!((7_200..7_800).contains(&pairs), "{pairs}");
    }

    #[test]
    fn times_and_weights_that_are_no_numbers_are_faults() {
        let behaviour = VisitorBehaviour {
            party: vec![1.0, f64::NAN],
            pay_s: SecondsRange(0.0, f64::INFINITY),
            claim_s: SecondsRange(3.0, 2.0),
            late_at_s: 1e12,
            ..VisitorBehaviour::default()
        };
        let faults = behaviour.faults().join("\n");
        for name in ["party", "pay_s", "claim_s", "late_at_s"] {
            assert!(faults.contains(name), "{faults}");
        }
    }

    #[test]
    fn a_share_above_one_is_a_fault() {
        let behaviour = VisitorBehaviour {
            late: 1.5,
            ..VisitorBehaviour::default()
        };
        assert_eq!(
            behaviour.faults(),
            ["behaviour.late: 1.5 is not a share between 0 and 1"]
        );
    }
}
