//! Decides what becomes of the showings of earlier programmes when a new one takes their place.
//! Nobody's seat may be sold again, and nobody's showing may vanish: what somebody has touched and
//! the new programme does not surely have, a person decides. The ledger knows what was touched, and
//! asks for these decisions inside the transaction that stores the programme.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use fairgate_model::counted::counted;
use fairgate_model::ids::ShowId;
use fairgate_model::shows::Show;
use jiff::{SignedDuration, Timestamp};

use super::free_id::free_id;
use super::matching::{
    APART_MAX, EarlierShowing, NewShowing, NewShowingIs, ShowingMatches, ShowingStanding,
    match_showings,
};
use super::{LeftOutShowing, Programme, Showing};
use crate::choices::ShowChoices;
use crate::ledger::{
    LeavingDecision, LeavingShowing, ProgrammeSuccession, SoldFigures, UndecidedShow,
};

/// Why a showing is cancelled, as its buyers read it.
const CANCELLED: &str = "The showing does not take place as it was sold.";

/// How many new showings an explanation names.
const NAMED_MAX: usize = 5;

/// What a new programme follows.
pub struct Succession<'a> {
    /// The programme in force.
    pub earlier: &'a Programme,
    /// Finds a stored show.
    pub stored: &'a dyn Fn(&ShowId) -> Option<Arc<Show>>,
    /// What a person decided.
    pub choices: &'a ShowChoices,
    /// The present moment.
    pub now: Timestamp,
}

/// A new programme whose showings have the ids of their shows, and what it changes.
#[derive(Debug)]
pub struct SucceededProgramme {
    /// The programme, without the showings that are not sold.
    pub programme: Programme,
    /// What becomes of the showings of earlier programmes.
    pub succession: ProgrammeSuccession,
    /// The showings that are not sold, because they may be earlier ones that go on.
    pub unsold: Vec<UnsoldShowing>,
}

/// A showing that is not sold, because it may be an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsoldShowing {
    /// Its path in the document.
    pub at: String,
    /// Its own id, or the id that is made from its hall and its beginning.
    pub name: ShowId,
    /// The show of the earlier one.
    pub goes_on: ShowId,
    /// Whether the earlier one is running now. Otherwise it goes on as it was sold.
    pub is_running: bool,
}

impl Succession<'_> {
    /// Decides about every showing of the earlier programmes, and gives each new one its show.
    ///
    /// # Errors
    /// Returns the choices that are about nothing.
    pub fn succeed(&self, new: Programme) -> Result<SucceededProgramme, Vec<UndecidedShow>> {
        let earlier = self.earlier_showings();
        let mut wrong = self.wrong_choices(&earlier, &new);
        wrong.extend(self.needless_cancels(&earlier, &new));
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let matches = match_showings(&earlier, &listed(&new), self.choices);
        let mut succession = ProgrammeSuccession::default();
        let found = matches.new.iter().filter_map(|is| match is {
            NewShowingIs::Same(at) => Some(*at),
            NewShowingIs::MayBe(_) | NewShowingIs::Other => None,
        });
        let found: HashSet<usize> = found.collect();
        for (is, showing) in matches.new.iter().zip(&new.showings) {
            if let NewShowingIs::Same(at) = is
                && earlier[*at].film != showing.film
            {
                succession.other_film.push(earlier[*at].show.clone());
            }
        }
        let mut left_out = Vec::new();
        for (at, showing) in earlier.iter().enumerate() {
            if found.contains(&at) {
                let is_to_come = showing.standing == ShowingStanding::OnSale
                    || showing.standing == ShowingStanding::Kept;
                succession
                    .going_on
                    .extend(is_to_come.then(|| showing.show.clone()));
                continue;
            }
            let becomes = self.becomes(showing, &matches.candidates[at], &new);
            left_out.extend(left_out_entry(showing, becomes.as_ref()));
            succession
                .leaving
                .extend(becomes.map(|becomes| LeavingShowing {
                    show: showing.show.clone(),
                    becomes,
                }));
        }
        let (showings, unsold) = self.named(&earlier, &matches, &new);
        Ok(SucceededProgramme {
            programme: Programme {
                showings,
                left_out,
                ..new
            },
            succession,
            unsold,
        })
    }

    /// Returns the showings of earlier programmes as they stand in the ledger.
    fn earlier_showings(&self) -> Vec<EarlierShowing> {
        let listed = self.earlier.showings.iter().filter_map(|showing| {
            let show = (self.stored)(&showing.show)?;
            let standing = self.standing(&show, ShowingStanding::OnSale);
            let listed_as = showing.listed_as.as_ref().unwrap_or(&showing.show);
            let listed = (listed_as, showing.film.as_str(), showing.starts_at);
            Some(earlier_showing(&show, listed, standing))
        });
        let left_out = self.earlier.left_out.iter().filter_map(|showing| {
            let show = (self.stored)(&showing.show)?;
            let standing = match showing.is_kept {
                true => ShowingStanding::Kept,
                false => ShowingStanding::LeftOut,
            };
            let standing = self.standing(&show, standing);
            let is_over = match standing {
                ShowingStanding::Cancelled | ShowingStanding::Begun => true,
                ShowingStanding::Kept => show.document.starts_at + APART_MAX < self.now,
                ShowingStanding::OnSale | ShowingStanding::LeftOut => false,
            };
            let film = showing.film.as_str();
            let listed = (&showing.listed_as, film, showing.listed_start);
            (!is_over).then(|| earlier_showing(&show, listed, standing))
        });
        listed.chain(left_out).collect()
    }

    /// Returns what a showing is now, if it is `otherwise` before it begins.
    fn standing(&self, show: &Show, otherwise: ShowingStanding) -> ShowingStanding {
        if show.is_cancelled() {
            ShowingStanding::Cancelled
        } else if show.document.starts_at <= self.now && otherwise != ShowingStanding::Kept {
            ShowingStanding::Begun
        } else {
            otherwise
        }
    }

    /// Returns the choices about showings that nobody needs to decide about.
    fn wrong_choices(&self, earlier: &[EarlierShowing], new: &Programme) -> Vec<UndecidedShow> {
        let is_to_come = |earlier: &&EarlierShowing| {
            !matches!(
                earlier.standing,
                ShowingStanding::Begun | ShowingStanding::Cancelled
            )
        };
        let to_come: HashSet<&ShowId> = earlier
            .iter()
            .filter(is_to_come)
            .map(|earlier| &earlier.show)
            .collect();
        let names: HashSet<&ShowId> = new.showings.iter().map(|showing| &showing.show).collect();
        let mut matched: BTreeMap<&ShowId, &ShowId> = BTreeMap::new();
        let mut wrong = Vec::new();
        for show in self.choices.shows() {
            let why = if to_come.contains(show) {
                let chosen = self.choices.matches.get(show);
                chosen.and_then(|chosen| match matched.insert(chosen, show) {
                    Some(other) => Some(format!(
                        "{chosen} of the new programme is the showing {other} already"
                    )),
                    None if names.contains(chosen) => None,
                    None => Some(format!("the new programme has no showing {chosen}")),
                })
            } else {
                let none = "no showing of an earlier programme that is still to come has this id, so there is nothing to decide; leave it out";
                Some(none.to_owned())
            };
            wrong.extend(why.map(|why| UndecidedShow {
                show: show.clone(),
                why,
                sold: SoldFigures::default(),
                currency: new.currency,
            }));
        }
        wrong
    }

    /// Returns the showings that are to be cancelled although the new programme surely has them as
    /// they are. They would be sold again at once, as other shows.
    fn needless_cancels(&self, earlier: &[EarlierShowing], new: &Programme) -> Vec<UndecidedShow> {
        let others = ShowChoices {
            cancel: BTreeSet::default(),
            ..self.choices.clone()
        };
        let matches = match_showings(earlier, &listed(new), &others);
        let found = matches.new.iter().zip(&new.showings);
        let needless = found.filter_map(|(is, showing)| {
            let NewShowingIs::Same(at) = is else {
                return None;
            };
            let earlier = &earlier[*at];
            let is_as_it_was = (&earlier.film, &earlier.hall, earlier.listed_start)
                == (&showing.film, &showing.hall, showing.starts_at);
            (is_as_it_was && self.choices.cancel.contains(&earlier.show)).then_some(&earlier.show)
        });
        let wrong = needless.map(|show| UndecidedShow {
            show: show.clone(),
            why: format!(
                "the new programme has this showing, so there is nothing to decide; leave it out. If it does not take place, cancel it by the call POST /v1/promoter/shows/{show}/cancel"
            ),
            sold: SoldFigures::default(),
            currency: new.currency,
        });
        wrong.collect()
    }

    /// Returns what becomes of a showing that was not found. Returns `None` if it is left alone.
    fn becomes(
        &self,
        showing: &EarlierShowing,
        candidates: &[usize],
        new: &Programme,
    ) -> Option<LeavingDecision> {
        match showing.standing {
            ShowingStanding::Begun | ShowingStanding::Cancelled => None,
            _ if self.choices.cancel.contains(&showing.show) => {
                Some(LeavingDecision::Cancelled(CANCELLED.to_owned()))
            }
            _ if self.choices.keep.contains(&showing.show) => Some(LeavingDecision::Kept),
            ShowingStanding::Kept => Some(LeavingDecision::Kept),
            ShowingStanding::OnSale | ShowingStanding::LeftOut => {
                Some(LeavingDecision::Withdrawn {
                    is_held: false,
                    why: unsure_why(candidates, new),
                })
            }
        }
    }

    /// Gives each new showing its show. Returns the showings that are sold, and those that are not.
    fn named(
        &self,
        earlier: &[EarlierShowing],
        matches: &ShowingMatches,
        new: &Programme,
    ) -> (Vec<Showing>, Vec<UnsoldShowing>) {
        let titles: HashMap<&str, &str> = new
            .films
            .iter()
            .map(|film| (film.id.as_str(), film.title.as_str()))
            .collect();
        let mut taken: HashSet<ShowId> = earlier.iter().map(|one| one.show.clone()).collect();
        let own_ids = new.showings.iter().filter(|showing| showing.has_own_id);
        let own_ids: HashSet<&ShowId> = own_ids.map(|showing| &showing.show).collect();
        let (mut sold, mut unsold) = (Vec::new(), Vec::new());
        for (showing, is) in new.showings.iter().zip(&matches.new) {
            let show = match is {
                NewShowingIs::Same(at) => earlier[*at].show.clone(),
                NewShowingIs::MayBe(at) => {
                    unsold.push(UnsoldShowing {
                        at: showing.at.clone(),
                        name: showing.show.clone(),
                        goes_on: earlier[*at].show.clone(),
                        is_running: earlier[*at].standing == ShowingStanding::Begun,
                    });
                    continue;
                }
                NewShowingIs::Other => {
                    let title = titles.get(showing.film.as_str()).copied();
                    free_id(&showing.show, &showing.film, |id| {
                        let is_other = !showing.has_own_id
                            && (own_ids.contains(id) || self.is_other_show(id, showing, title));
                        taken.contains(id) || is_other
                    })
                }
            };
            taken.insert(show.clone());
            sold.push(Showing {
                listed_as: (showing.has_own_id && show != showing.show)
                    .then(|| showing.show.clone()),
                show,
                ..showing.clone()
            });
        }
        (sold, unsold)
    }

    /// Returns whether an id that was made for a showing belongs to a show that is not this
    /// showing. Programmes that were stored by earlier versions do not say what they left out.
    fn is_other_show(&self, id: &ShowId, showing: &Showing, title: Option<&str>) -> bool {
        (self.stored)(id).is_some_and(|show| {
            let document = &show.document;
            let is_same = document.venue == showing.hall
                && Some(document.title.as_str()) == title
                && document.starts_at == showing.starts_at
                && !show.is_cancelled();
            !is_same
        })
    }
}

fn earlier_showing(
    show: &Show,
    (listed_as, film, listed_start): (&ShowId, &str, Timestamp),
    standing: ShowingStanding,
) -> EarlierShowing {
    EarlierShowing {
        show: show.id.clone(),
        listed_as: listed_as.clone(),
        film: film.to_owned(),
        hall: show.document.venue.clone(),
        listed_start,
        starts_at: show.document.starts_at,
        standing,
    }
}

/// Returns the showings of a document as they are matched.
fn listed(programme: &Programme) -> Vec<NewShowing<'_>> {
    let lengths: HashMap<&str, u32> = programme
        .films
        .iter()
        .map(|film| (film.id.as_str(), film.duration_s))
        .collect();
    let showings = programme.showings.iter().map(|showing| {
        let film = showing.film.as_str();
        let lasts_s = lengths.get(film).copied().unwrap_or_default();
        NewShowing {
            name: &showing.show,
            has_own_id: showing.has_own_id,
            film,
            hall: &showing.hall,
            starts_at: showing.starts_at,
            lasts: SignedDuration::from_secs(lasts_s.into()),
        }
    });
    showings.collect()
}

/// Returns what the new programme remembers of a showing that it does not have.
fn left_out_entry(
    showing: &EarlierShowing,
    becomes: Option<&LeavingDecision>,
) -> Option<LeftOutShowing> {
    let is_kept = match becomes? {
        LeavingDecision::Kept => true,
        LeavingDecision::Withdrawn { .. } => false,
        LeavingDecision::Cancelled(_) => return None,
    };
    Some(LeftOutShowing {
        show: showing.show.clone(),
        listed_as: showing.listed_as.clone(),
        film: showing.film.clone(),
        listed_start: showing.listed_start,
        is_kept,
    })
}

fn unsure_why(candidates: &[usize], new: &Programme) -> String {
    if candidates.is_empty() {
        return "the new programme has no showing that may be the same".to_owned();
    }
    let count = counted(candidates.len(), "showing", "showings");
    let named = candidates.iter().take(NAMED_MAX);
    let names = named.filter_map(|at| Some(new.showings.get(*at)?.show.as_str()));
    let names: Vec<&str> = names.collect();
    format!(
        "{count} of the new programme may be the same: {}",
        names.join(", ")
    )
}
