//! Finds the showings of the programme in force in a new one. A showing that is found keeps its
//! show, so its seats are never sold a second time under another id.
//!
//! A showing with an id is the one that was listed under this id. Any other one is found by its
//! hall, its film and its beginning: first those that did not change at all, and then those that
//! begin at most [`APART_MAX`] earlier or later. Matches are one to one. Where two ways to match
//! are possible, none is taken: a person decides.

use std::collections::HashMap;

use fairgate_model::ids::{ShowId, VenueId};
use jiff::{SignedDuration, Timestamp};

use crate::choices::ShowChoices;

/// How far a showing may move and still be the same one.
pub const APART_MAX: SignedDuration = SignedDuration::from_hours(3);

/// A showing that an earlier programme had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierShowing {
    /// Its show.
    pub show: ShowId,
    /// The id under which programmes list it.
    pub listed_as: ShowId,
    /// Its film.
    pub film: String,
    /// Its hall.
    pub hall: VenueId,
    /// When it begins, as the earlier programme says.
    pub listed_start: Timestamp,
    /// When it begins. It may have been postponed.
    pub starts_at: Timestamp,
    /// Whether it is sold.
    pub standing: ShowingStanding,
}

/// Whether a showing of an earlier programme is still sold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShowingStanding {
    /// It is sold.
    OnSale,
    /// It has begun.
    Begun,
    /// It was cancelled.
    Cancelled,
    /// The programme in force leaves it out, and nobody had touched it.
    LeftOut,
    /// It goes on as it was sold, as somebody decided.
    Kept,
}

/// A showing of the new programme.
#[derive(Debug, Clone, Copy)]
pub struct NewShowing<'a> {
    /// Its own id or, if it has none, the id that is made from its hall and its beginning.
    pub name: &'a ShowId,
    /// Whether the programme gives it an id.
    pub has_own_id: bool,
    /// Its film.
    pub film: &'a str,
    /// Its hall.
    pub hall: &'a VenueId,
    /// When it begins.
    pub starts_at: Timestamp,
    /// How long its film lasts.
    pub lasts: SignedDuration,
}

/// What the new programme has of an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShowingMatches {
    /// What each new showing is, in their order.
    pub new: Vec<NewShowingIs>,
    /// For each earlier showing, the new ones that may be it and are not surely another one.
    pub candidates: Vec<Vec<usize>>,
}

/// What a new showing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewShowingIs {
    /// It is this earlier showing, by its index.
    Same(usize),
    /// It may be this earlier showing, by its index, or would need its hall at the same time. That
    /// one goes on as it was sold, or is running now, so this one must not be sold.
    MayBe(usize),
    /// It is another showing than all earlier ones.
    Other,
}

/// Finds the earlier showings in the new programme.
#[must_use]
pub fn match_showings(
    earlier: &[EarlierShowing],
    new: &[NewShowing<'_>],
    choices: &ShowChoices,
) -> ShowingMatches {
    let mut matching = Matching {
        earlier,
        new,
        choices,
        same: vec![None; new.len()],
        is_taken: vec![false; earlier.len()],
    };
    matching.take_chosen();
    matching.take_same_ids();
    matching.take_unchanged(|earlier| earlier.starts_at);
    matching.take_unchanged(|earlier| earlier.listed_start);
    matching.take_moved();
    matching.finish()
}

/// The matches so far.
struct Matching<'a> {
    earlier: &'a [EarlierShowing],
    new: &'a [NewShowing<'a>],
    choices: &'a ShowChoices,
    /// What each new showing is.
    same: Vec<Option<usize>>,
    /// Whether an earlier showing is one of the new ones.
    is_taken: Vec<bool>,
}

/// A hall and a film.
type Place<'a> = (&'a VenueId, &'a str);

impl Matching<'_> {
    fn take(&mut self, new: usize, earlier: usize) {
        self.same[new] = Some(earlier);
        self.is_taken[earlier] = true;
    }

    /// Returns whether an earlier showing may still become one of the new ones.
    fn is_open(&self, at: usize) -> bool {
        let earlier = &self.earlier[at];
        let is_decided =
            self.choices.has(&earlier.show) || earlier.standing == ShowingStanding::Kept;
        !self.is_taken[at] && !is_decided
    }

    /// Returns whether an earlier showing goes on as it was sold.
    fn is_kept(&self, at: usize) -> bool {
        let earlier = &self.earlier[at];
        let is_kept = earlier.standing == ShowingStanding::Kept
            && !self.choices.cancel.contains(&earlier.show);
        !self.is_taken[at] && (is_kept || self.choices.keep.contains(&earlier.show))
    }

    fn take_chosen(&mut self) {
        for (at, earlier) in self.earlier.iter().enumerate() {
            let chosen = self.choices.matches.get(&earlier.show);
            let chosen = chosen.and_then(|chosen| {
                let mut names = self.new.iter();
                names.position(|new| new.name == chosen)
            });
            if let Some(new) = chosen.filter(|new| self.same[*new].is_none()) {
                self.take(new, at);
            }
        }
    }

    fn take_same_ids(&mut self) {
        let mut listed: HashMap<&ShowId, usize> = HashMap::new();
        for (at, earlier) in self.earlier.iter().enumerate() {
            if self.is_open(at) {
                listed.entry(&earlier.listed_as).or_insert(at);
            }
        }
        for (at, new) in self.new.iter().enumerate() {
            let is_free = new.has_own_id && self.same[at].is_none();
            if let Some(earlier) = listed.get(new.name).filter(|_| is_free) {
                self.take(at, *earlier);
            }
        }
    }

    /// Matches the showings whose hall, film and beginning are the same. A hall shows one film at a
    /// time, so this is true of one showing only, even if it got another id.
    fn take_unchanged(&mut self, starts_at: impl Fn(&EarlierShowing) -> Timestamp) {
        let mut unchanged: HashMap<(Place<'_>, Timestamp), usize> = HashMap::new();
        for (at, earlier) in self.earlier.iter().enumerate() {
            if self.is_open(at) {
                let place = (&earlier.hall, earlier.film.as_str());
                unchanged.entry((place, starts_at(earlier))).or_insert(at);
            }
        }
        for (at, new) in self.new.iter().enumerate() {
            let found = unchanged.get(&((new.hall, new.film), new.starts_at));
            let found = found.filter(|earlier| self.same[at].is_none() && self.is_open(**earlier));
            if let Some(earlier) = found {
                self.take(at, *earlier);
            }
        }
    }

    /// Matches the showings that moved, where one has one candidate, and the candidate may be no
    /// other one.
    fn take_moved(&mut self) {
        let candidates = self.candidates();
        let mut rivals: HashMap<usize, usize> = HashMap::new();
        for (at, candidates) in candidates.iter().enumerate() {
            if self.is_searched(at) || self.is_kept(at) {
                for new in candidates {
                    *rivals.entry(*new).or_default() += 1;
                }
            }
        }
        for (at, candidates) in candidates.iter().enumerate() {
            if let [only] = candidates[..]
                && self.is_searched(at)
                && rivals.get(&only) == Some(&1)
                && !self.new[only].has_own_id
            {
                self.take(only, at);
            }
        }
    }

    /// Returns whether an earlier showing is on sale and was not found yet.
    fn is_searched(&self, at: usize) -> bool {
        self.is_open(at) && self.earlier[at].standing == ShowingStanding::OnSale
    }

    /// Returns for each earlier showing that was not found the new ones that are still open, have
    /// its hall and its film, and begin near it.
    fn candidates(&self) -> Vec<Vec<usize>> {
        let mut open: HashMap<Place<'_>, Vec<usize>> = HashMap::new();
        for (at, new) in self.new.iter().enumerate() {
            if self.same[at].is_none() {
                open.entry((new.hall, new.film)).or_default().push(at);
            }
        }
        let near = |(at, earlier): (usize, &EarlierShowing)| {
            let place = (&earlier.hall, earlier.film.as_str());
            let there = open.get(&place).filter(|_| !self.is_taken[at]);
            let there = there.map_or(&[][..], Vec::as_slice).iter().copied();
            let is_near = |new: &usize| is_near(earlier, &self.new[*new], APART_MAX);
            there.filter(is_near).collect()
        };
        self.earlier.iter().enumerate().map(near).collect()
    }

    /// Returns the new showings, of any film, that would begin in the hall of an earlier one while
    /// that one is shown. The length of the new film stands for both.
    fn in_its_hall(&self, earlier: &EarlierShowing) -> impl Iterator<Item = usize> {
        let is_there =
            |new: &NewShowing<'_>| *new.hall == earlier.hall && is_near(earlier, new, new.lasts);
        let new = self.new.iter().enumerate();
        new.filter_map(move |(at, new)| is_there(new).then_some(at))
    }

    fn finish(self) -> ShowingMatches {
        let candidates = self.candidates();
        let mut may_be: HashMap<usize, usize> = HashMap::new();
        let mut kept_ids: HashMap<&ShowId, usize> = HashMap::new();
        for (at, earlier) in self.earlier.iter().enumerate() {
            let is_kept = self.is_kept(at);
            if is_kept {
                kept_ids.entry(&earlier.listed_as).or_insert(at);
                for new in self.in_its_hall(earlier) {
                    may_be.entry(new).or_insert(at);
                }
            }
            for new in &candidates[at] {
                // A hall cannot show the film again before it is over.
                let is_running = earlier.standing == ShowingStanding::Begun
                    && is_near(earlier, &self.new[*new], self.new[*new].lasts);
                if is_kept || is_running {
                    may_be.entry(*new).or_insert(at);
                }
            }
        }
        let is = |(at, new): (usize, &NewShowing<'_>)| {
            let kept = || kept_ids.get(new.name).filter(|_| new.has_own_id);
            match (self.same[at], may_be.get(&at).or_else(kept)) {
                (Some(earlier), _) => NewShowingIs::Same(earlier),
                (None, Some(earlier)) => NewShowingIs::MayBe(*earlier),
                (None, None) => NewShowingIs::Other,
            }
        };
        ShowingMatches {
            new: self.new.iter().enumerate().map(is).collect(),
            candidates,
        }
    }
}

fn is_near(earlier: &EarlierShowing, new: &NewShowing<'_>, within: SignedDuration) -> bool {
    let apart = new.starts_at.duration_since(earlier.starts_at).abs();
    apart <= within
}

#[cfg(test)]
mod tests;
