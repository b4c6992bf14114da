//! Which networks have shown which codes in the last minutes. While many wrong codes are shown,
//! codes are looked at one after another. A visitor shows one code, and shows it again until it is
//! looked at. Somebody who guesses shows many. So the networks that have shown the fewest codes
//! come first, and of those that have shown about as many the code that was shown first.

use std::collections::HashMap;

use fairgate_pass::Digest;

/// A network or a wider network around it: its bits in IPv6, and the length of its prefix.
pub type ShownBy = (u128, u8);

/// How long (ms) a shown code is remembered at least, unless very many are shown.
const REMEMBERED_MS: i64 = 60_000;
/// At most this many codes are remembered in each of two lists. This keeps the memory bounded.
const CODES_MAX: usize = 20_000;
/// A network that has shown at most this many codes counts as new: the one of its visitor, and one
/// with a wrong letter.
const NEW_CODES: u64 = 2;

/// When the code of a visitor is looked at, compared with the codes of others. Lower comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LookTurn {
    /// 0 if the visitor's networks have shown hardly any code. Otherwise it grows by 1 each time
    /// the number of their codes doubles.
    magnitude: u32,
    /// When the network first showed this code (ms).
    first_at: i64,
}

impl LookTurn {
    /// Returns whether the visitor's networks have shown hardly any code.
    #[must_use]
    pub const fn is_new(self) -> bool {
        self.magnitude == 0
    }
}

/// The codes that were shown in one room in the last minutes and were not right.
#[derive(Debug, Default)]
pub struct ShownCodes {
    newer: CodeList,
    /// The codes of the time before. They are forgotten as a whole.
    older: CodeList,
}

#[derive(Debug, Default)]
struct CodeList {
    begun: i64,
    /// When each network first showed each code.
    first_at: HashMap<(u128, u64), i64>,
    /// How many codes each network has shown that are counted in this list.
    networks: HashMap<ShownBy, u32>,
}

impl ShownCodes {
    /// Notes that a visitor shows a code at `now` (ms). `networks` are the visitor's network and
    /// the wider ones around it, the narrowest first.
    pub fn note_shown(&mut self, networks: &[ShownBy], code: Digest, now: i64) -> LookTurn {
        self.forget_old(now);
        let key = key_of(networks, code);
        let earlier = self.older.first_at.get(&key).copied();
        let first_at = match self.newer.first_at.get(&key).copied().or(earlier) {
            Some(at) => at,
            None => {
                self.newer.count(networks);
                now
            }
        };
        self.newer.first_at.insert(key, first_at);
        let codes = networks.iter().map(|network| self.codes_of(*network)).max();
        let is_new = codes.is_none_or(|codes| codes <= NEW_CODES);
        let doubled = codes.and_then(u64::checked_ilog2).unwrap_or_default();
        LookTurn {
            magnitude: if is_new { 0 } else { doubled },
            first_at,
        }
    }

    /// Notes that the code was right. It is no longer counted.
    pub fn note_right(&mut self, networks: &[ShownBy], code: Digest) {
        let key = key_of(networks, code);
        let is_newer = self.newer.first_at.remove(&key).is_some();
        // A code that is in both lists is counted in the older one.
        if self.older.first_at.remove(&key).is_some() {
            self.older.uncount(networks);
        } else if is_newer {
            self.newer.uncount(networks);
        }
    }

    /// Forgets the codes that were shown long before `now` (ms).
    pub fn forget_old(&mut self, now: i64) {
        let is_full = self.newer.first_at.len() >= CODES_MAX;
        if is_full || now.saturating_sub(self.newer.begun) >= REMEMBERED_MS {
            let begun = CodeList {
                begun: now,
                ..CodeList::default()
            };
            self.older = std::mem::replace(&mut self.newer, begun);
        }
    }

    /// Returns how many codes a network has shown. In a wider network more codes count as one.
    fn codes_of(&self, network: ShownBy) -> u64 {
        let codes = self.newer.codes_of(network) + self.older.codes_of(network);
        codes.div_ceil(codes_that_count_as_one(network))
    }
}

impl CodeList {
    fn codes_of(&self, network: ShownBy) -> u64 {
        self.networks
            .get(&network)
            .copied()
            .unwrap_or_default()
            .into()
    }

    fn count(&mut self, networks: &[ShownBy]) {
        for network in networks {
            *self.networks.entry(*network).or_default() += 1;
        }
    }

    fn uncount(&mut self, networks: &[ShownBy]) {
        for network in networks {
            if let Some(codes) = self.networks.get_mut(network) {
                *codes = codes.saturating_sub(1);
                if *codes == 0 {
                    self.networks.remove(network);
                }
            }
        }
    }
}

/// Returns the key of a code that a network has shown. The beginning of a digest is enough to tell
/// codes apart.
fn key_of(networks: &[ShownBy], code: Digest) -> (u128, u64) {
    let own = networks.first().map_or(0, |(bits, _)| *bits);
    let beginning = code.0.iter().take(8);
    let beginning = beginning.fold(0, |number, byte| number << 8 | u64::from(*byte));
    (own, beginning)
}

/// Returns how many codes of a network count as one. A wider network has more people, as in
/// [`crate::network_limits`].
const fn codes_that_count_as_one((_, prefix): ShownBy) -> u64 {
    match prefix {
        64 | 128 => 1,
        48 | 56 | 120 => 10,
        40 => 100,
        _ => 1_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The network of one IPv6 /64 and the wider ones around it.
    fn site(slash_32: u128, slash_48: u128, slash_64: u128) -> Vec<ShownBy> {
        let bits = slash_32 << 96 | slash_48 << 80 | slash_64 << 64;
        let wide = |prefix: u8| (bits >> (128 - prefix) << (128 - prefix), prefix);
        [64, 56, 48, 40, 32].map(wide).to_vec()
    }

    fn code(of: u32) -> Digest {
        Digest::of_bytes(&of.to_be_bytes())
    }

    #[test]
    fn a_network_that_shows_one_code_comes_before_one_that_shows_many() {
        let mut shown = ShownCodes::default();
        let (guesser, visitor) = (site(1, 1, 1), site(2, 1, 1));
        let mut last = None;
        for of in 0..50 {
            last = Some(shown.note_shown(&guesser, code(of), 0));
        }
        let last = last.expect("a turn");
        let own = shown.note_shown(&visitor, code(900), 5_000);
        assert!(own < last && own.is_new() && !last.is_new());
        let again = shown.note_shown(&visitor, code(900), 9_000);
        assert_eq!(again, own, "the same code counts once and keeps its turn");
        let mistyped = shown.note_shown(&visitor, code(901), 9_000);
        assert!(mistyped.is_new() && mistyped < last);
        assert!(!shown.note_shown(&visitor, code(902), 9_000).is_new());
    }

    #[test]
    fn many_networks_in_a_wide_one_count_together() {
        let mut shown = ShownCodes::default();
        let mut turns = Vec::new();
        for of in 0..300 {
            turns.push(shown.note_shown(&site(1, 1, of.into()), code(of), 0));
        }
        assert!(turns[0].is_new() && !turns[299].is_new());
        let (near, far) = (site(1, 1, 900), site(1, 0x900, 1));
        let near = shown.note_shown(&near, code(900), 0);
        let far = shown.note_shown(&far, code(900), 0);
        assert!(!near.is_new() && far.is_new() && far < near);
    }

    #[test]
    fn of_networks_that_have_shown_as_many_codes_the_first_one_comes_first() {
        let mut shown = ShownCodes::default();
        let one = shown.note_shown(&site(1, 1, 1), code(1), 0);
        let other = shown.note_shown(&site(2, 1, 1), code(1), 1);
        assert!(one < other);
        let mut guess = |slash_32, codes: std::ops::Range<u32>, now| {
            let guesses = codes.map(|of| shown.note_shown(&site(slash_32, 2, 1), code(of), now));
            guesses.last().expect("a turn")
        };
        let (some, about_as_many) = (guess(3, 0..40, 0), guess(4, 0..60, 1));
        assert!(some < about_as_many && about_as_many < guess(5, 0..70, 0));
    }

    #[test]
    fn a_right_code_does_not_count() {
        let mut shown = ShownCodes::default();
        let carrier = site(1, 1, 1);
        for of in 0..1_000 {
            assert!(shown.note_shown(&carrier, code(of), 0).is_new());
            shown.note_right(&carrier, code(of));
        }
        assert!(shown.newer.networks.is_empty() && shown.newer.first_at.is_empty());
        // The code is known from the time before, and right now.
        shown.note_shown(&carrier, code(1), 0);
        let again = shown.note_shown(&carrier, code(1), REMEMBERED_MS);
        assert_eq!(again.first_at, 0);
        shown.note_right(&carrier, code(1));
        assert!(shown.older.networks.is_empty() && shown.newer.networks.is_empty());
        shown.note_right(&carrier, code(7));
    }

    #[test]
    fn codes_are_forgotten_after_two_minutes_or_when_very_many_are_shown() {
        let mut shown = ShownCodes::default();
        let guesser = site(1, 1, 1);
        for of in 0..10 {
            shown.note_shown(&guesser, code(of), 0);
        }
        assert!(!shown.note_shown(&guesser, code(10), REMEMBERED_MS).is_new());
        shown.forget_old(2 * REMEMBERED_MS);
        assert!(
            shown
                .note_shown(&guesser, code(11), 2 * REMEMBERED_MS)
                .is_new()
        );
        let many = 5 * u32::try_from(CODES_MAX).expect("it fits");
        for of in 0..many {
            shown.note_shown(&guesser, code(of), 2 * REMEMBERED_MS);
            let stored = shown.newer.first_at.len().max(shown.older.first_at.len());
            assert!(stored <= CODES_MAX);
        }
    }
}
